package room

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
	"conch/mqtt"
)

// Entry is an entry of the ledger.
type Entry = round.Entry

// MembersTold says that somebody came, changed or went.
func MembersTold(e Entry) bool {
	return e.Kind == round.EntryMember || e.Kind == round.EntryControl
}

// EntryText is an entry of the ledger for people: who spoke, why, and one reason for everybody who did not. members are
// those whose names can be known.
func EntryText(e Entry, members []round.Member) string {
	n := namer(members)
	switch e.Kind {
	case round.EntryRound:
		return n.round(e)
	case round.EntryPress:
		return fmt.Sprintf("press    in %s\n", n.device(e.By))
	case round.EntryClaim:
		return fmt.Sprintf("floor    %s takes it\n", n.companion(e.Companion))
	case round.EntryWithdraw:
		return fmt.Sprintf("floor    %s gives it up%s\n", n.companion(e.Companion), whyText(n.words(e.Why)))
	case round.EntrySpoke:
		end := ""
		if e.Why != "" && e.Why != turn.Done.String() {
			end = ", then it was cut" + whyText(e.Why)
		}
		return fmt.Sprintf("spoke    %s, %.1f s heard%s\n", n.companion(e.Companion), float64(e.HeardMS)/1000, end)
	case round.EntryFailed, round.EntryInstead:
		return fmt.Sprintf("%-8s %s%s\n", printable.Name(string(e.Kind)), n.companion(e.Companion), whyText(n.words(e.Why)))
	case round.EntryAnswered: // who did stands there already
		return fmt.Sprintf("%-8s %s\n", e.Kind, n.said(e.Message))
	case round.EntrySilent, round.EntrySuperseded, round.EntryEnded:
		return fmt.Sprintf("%-8s %s%s\n", e.Kind, n.said(e.Message), whyText(n.words(PlainReason(e.Why))))
	case round.EntryMember:
		return fmt.Sprintf("member   %s\n", n.words(e.Why))
	case round.EntryControl:
		return fmt.Sprintf("control  %s\n", n.control(e))
	}
	return fmt.Sprintf("%-8s %s\n", printable.Name(string(e.Kind)), printable.Text(e.Why))
}

// PlainReason is a reason without the word that says that nobody speaks, where that stands there already, and without each one's own, which
// stand below.
func PlainReason(why string) string {
	const enough = "nobody has enough to say"
	if strings.HasPrefix(why, enough+": ") {
		return enough
	}
	return strings.TrimPrefix(why, "nobody: ")
}

// control says whose manners were turned, how, and where.
func (n namer) control(e round.Entry) string {
	who := "everybody"
	if e.Companion != "" {
		who = n.companion(e.Companion)
	}
	return who + whyText(e.Why)
}

// cardName is what a companion is called, and what it was called where it comes from.
func cardName(c round.Card) string {
	name := printable.Name(c.Name)
	if c.Renamed != "" && c.Renamed != c.ID {
		name += fmt.Sprintf(" (in its card: %s)", printable.Name(string(c.Renamed)))
	}
	return name
}

// cardState is how a companion joins in, in a word.
func cardState(c round.Card) string {
	switch {
	case c.Muted:
		return "muted"
	case c.Involvement == "":
		return string(round.InvolvementMedium)
	}
	return printable.Name(string(c.Involvement))
}

func whyText(why string) string {
	if why == "" {
		return ""
	}
	return ": " + printable.Text(why)
}

type namer []round.Member

func (n namer) device(id round.DeviceID) string {
	for _, m := range n {
		if m.Device == id {
			return printable.Name(m.Name)
		}
	}
	return printable.Name(string(id))
}

func (n namer) companion(id round.CompanionID) string {
	for _, m := range n {
		for _, c := range m.Cards {
			if c.ID == id {
				return printable.Name(c.Name)
			}
		}
	}
	return printable.Name(string(id))
}

// words is a reason with names in the place of ids. What stands in quotation marks was said, and stays.
func (n namer) words(reason string) string {
	words := strings.Split(printable.Text(reason), " ")
	for i, w := range words {
		if id := strings.Trim(w, ",.;:()"); id != "" {
			words[i] = strings.Replace(w, id, n.companion(round.CompanionID(id)), 1)
		}
	}
	return strings.Join(words, " ")
}

// called is what to call somebody, in a language.
func (n namer) called(l language.Language) func(who string) string {
	return func(who string) string {
		device, person := strings.CutPrefix(who, string(round.Human("")))
		if person {
			return l.Phrase("room.person_in", "place", n.device(round.DeviceID(device)))
		}
		return n.companion(round.CompanionID(who))
	}
}

func (n namer) participant(p round.Participant) string {
	if c, ok := p.Companion(); ok {
		return n.companion(c)
	}
	for _, m := range n {
		if round.Human(m.Device) == p {
			return "person in " + printable.Name(m.Name)
		}
	}
	return printable.Name(string(p))
}

func (n namer) said(m *round.Message) string {
	if m == nil {
		return ""
	}
	if m.Metadata.Silence {
		return "silence"
	}
	if m.Private() {
		return n.participant(m.From) + " (private)"
	}
	return n.participant(m.From) + ": " + printable.Quote(printable.Cut(m.Text, mostShown))
}

// mostShown keeps a story from filling the screen, in characters; the ledger has all of it.
const mostShown = 200

// round is one line for the winner and one for everybody who stays silent, each behind the layer that says so (ROOM.md 3.2).
func (n namer) round(e round.Entry) string {
	d := e.Decision
	if d == nil {
		return "round\n"
	}
	var b strings.Builder
	line := func(l round.Layer, format string, args ...any) {
		if l != round.LayerOwed && l != round.LayerWorth && l != round.LayerForbidden {
			l = ""
		}
		fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{l}, args...)...)
	}
	fmt.Fprintf(&b, "round    %s\n", n.said(e.Message))
	alone := d.Winner == "" && len(d.Silent) == 1 && d.Silent[0].Reason == PlainReason(d.Reason) // it stands there
	switch {
	case d.Winner != "":
		line(d.Layer, "%s speaks: %s (%sdecided after %.0f ms)", n.companion(d.Winner), n.words(d.Reason), importance(d), d.Waited)
	case alone:
		line(d.Silent[0].Layer, "nobody speaks: %s (decided after %.0f ms)", n.words(PlainReason(d.Reason)), d.Waited)
		return b.String()
	default:
		line("", "nobody speaks: %s (decided after %.0f ms)", n.words(PlainReason(d.Reason)), d.Waited)
	}
	for _, s := range d.Silent {
		line(s.Layer, "%s does not: %s", n.companion(s.Companion), n.words(s.Reason))
	}
	return b.String()
}

// importance is the winner's, and what it is made of.
func importance(d *round.Decision) string {
	for _, v := range d.Votes {
		if v.From != d.Winner || len(v.Terms) == 0 {
			continue
		}
		var terms []string
		for _, t := range v.Terms {
			terms = append(terms, fmt.Sprintf("%s %+g", printable.Name(t.Name), t.Value))
		}
		return fmt.Sprintf("importance %g = %s; ", v.Importance, strings.Join(terms, ", "))
	}
	return ""
}

// Header is who is in the room, in one line.
func Header(s control.RoomStatus) string {
	var who []string
	for _, m := range s.Members {
		var names []string
		for _, c := range m.Cards {
			names = append(names, printable.Name(c.Name))
		}
		if len(names) == 0 {
			names = []string{"nobody"}
		}
		who = append(who, fmt.Sprintf("%s (%s)", printable.Name(m.Name), strings.Join(names, ", ")))
	}
	return fmt.Sprintf("room %s: %s\n", s.Room, strings.Join(who, ", "))
}

// Text is the room for people: the way to it, who is there, who is not, and what was ignored.
func Text(s control.RoomStatus) string {
	var b strings.Builder
	switch {
	case s.Paired != nil:
		b.WriteString(pairedHeader(s))
	case s.Broker == "":
		fmt.Fprintf(&b, "room %s, on this device alone: it has no broker\n", s.Room)
	case s.Connected:
		fmt.Fprintf(&b, "room %s, broker %s\n", s.Room, s.Broker)
	default:
		fmt.Fprintf(&b, "room %s, broker %s: not connected\n", s.Room, s.Broker)
		if s.Trouble != "" {
			fmt.Fprintf(&b, "  %s\n", printable.Text(s.Trouble))
		}
	}
	if s.Paired != nil {
		b.WriteString(pairedTable(s, time.Now()))
	} else {
		b.WriteString(membersTable(s))
	}
	for _, m := range s.Members {
		if m.Version > 0 && m.Version < round.Version {
			fmt.Fprintf(&b, "%s runs an older conch (turn-taking %d, here %d): they hush and converse by what both know; upgrade it\n",
				printable.Name(m.Name), m.Version, round.Version)
		}
	}
	if s.Setting.Muted {
		b.WriteString("everybody is muted; to undo: conch room control --unmute\n")
	}
	if i := s.Setting.Involvement; i != "" && i != round.InvolvementMedium {
		fmt.Fprintf(&b, "the whole room is set to involvement %s; to undo: conch room control medium\n", i)
	}
	ignored := s.Ignored()
	for _, why := range slices.Sorted(maps.Keys(ignored)) {
		if ignored[why] == 0 {
			continue
		}
		fmt.Fprintf(&b, "ignored  %d x %s", ignored[why], why)
		if s.Wire != nil && s.Wire.Last[mqtt.Reason(why)] != "" {
			fmt.Fprintf(&b, "; the last: %s", printable.Text(s.Wire.Last[mqtt.Reason(why)]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// membersTable is a room that a person has written down.
func membersTable(s control.RoomStatus) string {
	var b strings.Builder
	rows := [][]string{{"DEVICE", "ID", "COMPANION", "JOINS IN", ""}}
	for _, m := range s.Members {
		here := ""
		if m.Device == s.Device {
			here = "this device"
		}
		if len(m.Cards) == 0 {
			rows = append(rows, []string{printable.Name(m.Name), string(m.Device), "-", "", here})
		}
		for _, c := range m.Cards {
			rows = append(rows, []string{printable.Name(m.Name), string(m.Device), cardName(c), cardState(c), here})
		}
	}
	for _, id := range s.Missing {
		rows = append(rows, []string{"?", string(id), "-", "", "not here (room.members)"})
	}
	writeTable(&b, rows)
	return b.String()
}

// writeTable pads columns and leaves no space at the end of a line.
func writeTable(b *strings.Builder, rows [][]string) {
	width := map[int]int{}
	for _, r := range rows {
		for i, cell := range r {
			r[i] = printable.Text(cell)
			width[i] = max(width[i], printable.Width(r[i]))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			line.WriteString(printable.Pad(cell, width[i]+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// What a person at the terminal of an appliance sees of the room, besides the turns of the device itself.

// Troubles are what is wrong with the room from the start: a person at the terminal has no log to see it in.
func (d *Driver) Troubles() string {
	var b strings.Builder
	for _, c := range d.o.Conditions.List() {
		if strings.HasPrefix(string(c.Code), "room.") {
			fmt.Fprintf(&b, "conch: %s\n       -> %s\n", strings.ReplaceAll(c.Text, "\n", "\n       "), printable.Text(c.Do))
		}
	}
	return b.String()
}

// Screen is where a person reads along.
type Screen interface {
	Say(text string)              // whole lines
	Says(who, place, text string) // what a companion said on another device
}

// Overhear shows what happens in the room until ctx ends; then the channel is closed.
func (d *Driver) Overhear(ctx context.Context, screen Screen) <-chan struct{} {
	done := make(chan struct{})
	if d.Room == nil {
		close(done)
		return done
	}
	entries := d.Room.Watch(ctx)
	told := make(map[round.DeviceID]string)
	members := d.Room.Members()
	for _, m := range members { // who came before anybody read along
		if m.Device == d.o.Self || len(m.Cards) == 0 {
			continue
		}
		names := make([]string, len(m.Cards))
		for i, c := range m.Cards {
			names[i] = namer(members).companion(c.ID)
		}
		told[m.Device] = fmt.Sprintf("(%s brings %s)\n", printable.Name(m.Name), strings.Join(names, ", "))
		screen.Say(told[m.Device])
	}
	go func() { // ends with the room's channel
		defer close(done)
		for e := range entries {
			line := told[e.By]
			delete(told, e.By)
			if e.Kind != round.EntryMember || line != memberText(namer(d.Room.Members()), e) { // else it was on its way
				overheard(d, e, screen)
			}
		}
	}()
	return done
}

func memberText(n namer, e round.Entry) string { return fmt.Sprintf("(%s)\n", n.words(e.Why)) }

// overheard shows an entry of the ledger to a person who reads along, unless it is on the screen already.
func overheard(d *Driver, e round.Entry, screen Screen) {
	n, l := namer(d.Room.Members()), d.o.Config.Device.Language
	switch e.Kind {
	case round.EntryRound: // each message opens one
		m := e.Message
		if m == nil || m.Metadata.Silence || m.From == round.Human(d.o.Self) || m.Text == "" {
			return
		}
		if c, ok := m.From.Companion(); ok {
			who, place := n.companion(c), n.home(c)
			if place == d.o.Config.Device.Name && d.Houses(c) {
				return // its turn was shown
			}
			screen.Says(who, place, m.Text)
			return
		}
		who := l.Phrase("room.person")
		for _, member := range n {
			if round.Human(member.Device) == m.From {
				who = l.Phrase("room.person_in", "place", printable.Name(member.Name))
			}
		}
		screen.Say(fmt.Sprintf("%s: %s\n", who, printable.Text(m.Text)))
	case round.EntrySilent:
		if e.Message != nil && e.Message.From == round.Human(d.o.Self) {
			why := companions.Sentence(l, e.Because, PlainReason(e.Why), n.called(l))
			screen.Say("(" + l.Phrase("room.nobody_answers", "why", printable.Text(why)) + ")\n")
		}
	case round.EntryMember:
		screen.Say(memberText(n, e))
	case round.EntryControl:
		e.Why = Settled(l, e.Why)
		who := l.Phrase("room.everybody")
		if e.Companion != "" {
			who = n.companion(e.Companion)
		}
		screen.Say("(" + who + whyText(e.Why) + ")\n")
	}
}

// home is the name of the device where a companion lives.
func (n namer) home(id round.CompanionID) string {
	for _, m := range n {
		for _, c := range m.Cards {
			if c.ID == id {
				return printable.Name(m.Name)
			}
		}
	}
	return "elsewhere"
}
