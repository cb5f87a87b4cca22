package companions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"conch/companions/round"
)

const maxRecentEntries = 256 // of the ledger that Why looks back on

// history is what happened lately and how everybody is called.
type recentEntries struct {
	mu      sync.Mutex
	entries []round.Entry // oldest first
	names   map[round.CompanionID]string
	places  map[round.DeviceID]string
}

const maxNames = 512 // names that are known; a room has at most 128 companions and 64 devices at a time

func (h *recentEntries) add(e round.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.entries) >= maxRecentEntries {
		h.entries = append(h.entries[:0], h.entries[1:]...)
	}
	h.entries = append(h.entries, e)
}

// know notes names, and keeps those of members that have gone.
func (h *recentEntries) know(members []round.Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil || len(h.names) > maxNames || len(h.places) > maxNames {
		h.names, h.places = map[round.CompanionID]string{}, map[round.DeviceID]string{}
	}
	for _, m := range members {
		h.places[m.Device] = m.Name
		for _, c := range m.Cards {
			h.names[c.ID] = c.Name
		}
	}
}

// Why says in plain sentences who spoke last and why, why the others stayed silent, or why nobody spoke: from the ledger's
// last decision.
func (r *Room) Why() string { return r.entries.why() }

// WhyOf says why a companion spoke last, or, if it has not spoken lately, why it stayed silent. A round that is still
// about the question "why did you speak?" is not what was meant, so what has not ended does not count as spoken.
func (r *Room) WhyOf(c round.CompanionID) string { return r.entries.whyOf(c) }

// MembersText says who is in the room.
func (r *Room) MembersText() string { return membersText(r.Members(), r.o.Self) }

// story is everything the history knows of one round.
type story struct {
	place   round.MessageID
	round   *round.Entry // the last decision on the message
	claimed round.CompanionID
	failed  []round.Entry
	instead round.CompanionID
	spoke   []round.Entry
	end     *round.Entry
	message *round.Message
}

// of collects what belongs to a message; needs mu.
func (h *recentEntries) of(id round.MessageID) story {
	s := story{place: id}
	for i := range h.entries {
		e := &h.entries[i]
		if placeOf(*e) != id {
			continue
		}
		if e.Message != nil {
			s.message = e.Message
		}
		switch e.Kind {
		case round.EntryRound:
			s.round = e
		case round.EntryClaim:
			s.claimed = e.Companion
		case round.EntryFailed:
			s.failed = append(s.failed, *e)
		case round.EntryInstead:
			s.instead = e.Companion
		case round.EntrySpoke:
			s.spoke = append(s.spoke, *e)
		case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded:
			s.end = e
		}
	}
	return s
}

func placeOf(e round.Entry) round.MessageID {
	switch {
	case e.Place != nil:
		return e.Place.Message
	case e.Message != nil:
		return e.Message.ID
	}
	return ""
}

func (h *recentEntries) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.entries) {
		if e.Kind == round.EntryRound && e.Decision != nil && !idle(e) {
			return h.tell(h.of(placeOf(e)))
		}
	}
	return "Nobody has said anything here yet."
}

// idle is a round after a silence or a companion's words in which nobody spoke: nobody would ask about it.
func idle(e round.Entry) bool {
	return e.Decision.Winner == "" && !e.Decision.Ended && e.Message != nil && (e.Message.Metadata.Silence || !e.Message.From.Human())
}

func (h *recentEntries) whyOf(c round.CompanionID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.entries) {
		if e.Kind == round.EntrySpoke && e.Companion == c {
			return h.tell(h.of(placeOf(e)))
		}
	}
	for _, e := range slices.Backward(h.entries) {
		if e.Kind != round.EntryRound || e.Decision == nil || idle(e) {
			continue
		}
		for _, x := range e.Decision.Silent {
			if x.Companion == c {
				return fmt.Sprintf("%s has not spoken lately; the last time it stayed silent%s: %s", h.name(c), h.after(h.of(placeOf(e))),
					sentence(h.plain(x.Reason)))
			}
		}
	}
	return fmt.Sprintf("%s has not spoken lately.", h.name(c))
}

// tell makes sentences of a story; needs mu.
func (h *recentEntries) tell(s story) string {
	if s.round == nil || s.round.Decision == nil {
		return "I only know that somebody spoke, not how that was decided."
	}
	d := s.round.Decision
	var b strings.Builder
	switch {
	case len(s.spoke) > 0:
		first := s.spoke[0]
		fmt.Fprintf(&b, "%s spoke%s%s", h.name(first.Companion), h.after(s), h.because(s, first.Companion))
		for _, more := range s.spoke[1:] {
			fmt.Fprintf(&b, " Then %s added something%s", h.name(more.Companion), h.because(s, more.Companion))
		}
	case d.Winner != "" && s.end != nil && s.end.Kind == round.EntrySuperseded:
		fmt.Fprintf(&b, "%s was to speak%s%s But somebody pressed a button first, and that comes before everything.", h.name(d.Winner), h.after(s),
			h.because(s, d.Winner))
	case d.Winner != "" && s.end != nil && s.end.Kind == round.EntrySilent:
		fmt.Fprintf(&b, "%s was to speak%s%s But nothing could be heard.", h.name(d.Winner), h.after(s), h.because(s, d.Winner))
	case d.Winner != "":
		fmt.Fprintf(&b, "%s is to speak%s%s", h.name(d.Winner), h.after(s), h.because(s, d.Winner))
	case d.Ended:
		fmt.Fprintf(&b, "Nobody spoke%s, because everybody has said goodbye. The next thing a person says opens the conversation again.", h.after(s))
	default:
		fmt.Fprintf(&b, "Nobody spoke%s: %s", h.after(s), sentence(h.plain(d.Reason)))
	}
	for _, f := range s.failed {
		who := f.Companion
		fmt.Fprintf(&b, " %s could not: %s", h.name(who), sentence(h.plain(orElse(f.Why, "no answer came"))))
	}
	for _, x := range d.Silent {
		spoke := slices.ContainsFunc(s.spoke, func(e round.Entry) bool { return e.Companion == x.Companion })
		said := d.Winner == "" && h.plain(x.Reason) == h.plain(d.Reason) // as the reason why nobody spoke
		if !spoke && !said {
			b.WriteString(" " + h.silent(x))
		}
	}
	return b.String()
}

// because is why a companion was to speak; needs mu.
func (h *recentEntries) because(s story, c round.CompanionID) string {
	d := s.round.Decision
	reason := d.Reason
	for _, v := range d.Votes {
		if v.From == c && c != d.Winner {
			reason = v.Reason
		}
	}
	for _, f := range s.failed {
		if f.Companion == d.Winner && c != d.Winner {
			return fmt.Sprintf(" in place of %s, who was chosen: %s", h.name(d.Winner), sentence(h.plain(orElse(reason, "it was next"))))
		}
	}
	return ": " + sentence(h.plain(reason))
}

// after says what a round was about; needs mu.
func (h *recentEntries) after(s story) string {
	m := s.message
	switch {
	case m == nil:
		return ""
	case m.Metadata.Silence:
		return " after a silence"
	}
	who := "a person"
	if c, ok := m.From.Companion(); ok {
		who = h.name(c)
	} else if place := h.places[round.DeviceID(strings.TrimPrefix(string(m.From), string(round.Human(""))))]; place != "" {
		who = "a person in " + place
	}
	if to, ok := m.Whisper(); ok { // why may be asked by anybody
		return " after " + who + " spoke to " + h.name(to) + " alone"
	}
	if m.Private() {
		return " after " + who + " answered a person alone"
	}
	if m.Text == "" {
		return " after " + who + " spoke"
	}
	return fmt.Sprintf(" after %s said “%s”", who, quoted(m.Text))
}

// quoted keeps a quotation short, at a border between words where there is one.
func quoted(text string) string {
	const most = 60
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	head := string(runes[:most])
	if i := strings.LastIndex(head, " "); i > most/2 {
		head = head[:i]
	}
	return head + " …"
}

func (h *recentEntries) silent(s round.Silent) string {
	return fmt.Sprintf("%s stayed silent: %s", h.name(s.Companion), sentence(h.plain(s.Reason)))
}

// name is how people call a companion; needs mu.
func (h *recentEntries) name(c round.CompanionID) string {
	if n := h.names[c]; n != "" {
		return n
	}
	return string(c)
}

// The numbers of the score are in the ledger; who asks in a kitchen wants words.
var (
	numberAside = regexp.MustCompile(` ?\(importance[^)]*\)`)
	tooLittle   = regexp.MustCompile(`importance [0-9.]+ is below [0-9.]+`)
)

// plain puts names in the place of ids, and words in the place of numbers; needs mu.
func (h *recentEntries) plain(reason string) string {
	reason = strings.TrimPrefix(orElse(reason, "nobody wrote down why"), "nobody: ")
	reason = tooLittle.ReplaceAllString(numberAside.ReplaceAllString(reason, ""), "that was not reason enough to speak")
	words := strings.Split(reason, " ")
	for i, w := range words {
		core := strings.Trim(w, ",.;:!?()")
		if n := h.names[round.CompanionID(core)]; n != "" && core != "" {
			words[i] = strings.Replace(w, core, n, 1)
		}
	}
	return strings.Join(words, " ")
}

// sentence ends a reason like one.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

func orElse(s, d string) string {
	if strings.TrimSpace(s) == "" {
		return d
	}
	return s
}

// membersText says who is in the room.
func membersText(members []round.Member, self round.DeviceID) string {
	var parts []string
	for _, m := range members {
		name := orElse(m.Name, string(m.Device))
		if m.Device == self {
			name += " (this device)"
		}
		var who []string
		for _, c := range m.Cards {
			n := c.Name
			switch {
			case c.Muted:
				n += ", who is muted"
			case c.Involvement == round.InvolvementOff:
				n += ", who speaks only when asked"
			}
			who = append(who, n)
		}
		switch len(who) {
		case 0:
			parts = append(parts, name+" without a companion")
		default:
			parts = append(parts, name+" with "+listed(who))
		}
	}
	if len(parts) == 1 {
		return "Nobody else is here: only " + parts[0] + "."
	}
	return fmt.Sprintf("%d devices are in the room: %s.", len(parts), strings.Join(parts, "; "))
}

// listed joins names as people do.
func listed(s []string) string {
	if len(s) < 2 {
		return strings.Join(s, "")
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}
