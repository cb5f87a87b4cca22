package companions

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"conch/companions/round"
	"conch/companions/round/because"
	"conch/device/language"
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
func (r *Room) Why(l language.Language) string { return (&teller{&r.entries, l}).why() }

// WhyOf says why a companion spoke last, or, if it has not spoken lately, why it stayed silent. A round that is still
// about the question "why did you speak?" is not what was meant, so what has not ended does not count as spoken.
func (r *Room) WhyOf(l language.Language, c round.CompanionID) string {
	return (&teller{&r.entries, l}).whyOf(c)
}

// MembersText says who is in the room.
func (r *Room) MembersText() string { return membersText(r.Members(), r.o.Self) }

// Sentence is a reason in a language; name is what to call a companion or a person. Text stands where an older device, a later one or a
// model gave no code that is known: it is shown as it is, with names in the place of ids.
func Sentence(l language.Language, why because.Reason, text string, name func(who string) string) string {
	if !language.Has("why." + why.Code()) {
		words := strings.Split(strings.TrimPrefix(text, "nobody: "), " ")
		for i, w := range words {
			if core := strings.Trim(w, ",.;:!?()"); core != "" {
				words[i] = strings.Replace(w, core, name(core), 1)
			}
		}
		return strings.TrimSuffix(strings.TrimSpace(strings.Join(words, " ")), ".")
	}
	var args []any
	for pair := range slices.Chunk(why.Args(), 2) {
		value := pair[1]
		if who, ok := because.People(pair[0], value); ok {
			names := make([]string, len(who))
			for i, w := range who {
				names[i] = name(w)
			}
			value = listedIn(l, names)
		}
		args = append(args, pair[0], value)
	}
	return l.Phrase("why."+why.Code(), args...)
}

// listedIn joins names as people of a language do.
func listedIn(l language.Language, names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return l.Phrase("told.and", "first", strings.Join(names[:len(names)-1], ", "), "last", names[len(names)-1])
}

// teller tells what happened lately, in a language.
type teller struct {
	*recentEntries
	in language.Language
}

// story is everything the history knows of one round.
type story struct {
	place   round.MessageID
	round   *round.Entry // the last decision on the message
	claimed round.CompanionID
	failed  []round.Entry
	instead round.CompanionID
	spoke   []round.Entry
	end     *round.Entry
	pressed bool // a button, anywhere in the room, since the last decision
	message *round.Message
}

// of collects what belongs to a message; needs mu.
func (h *recentEntries) of(id round.MessageID) story {
	s := story{place: id}
	for i := range h.entries {
		e := &h.entries[i]
		if e.Kind == round.EntryPress {
			s.pressed = s.round != nil
		}
		if placeOf(*e) != id {
			continue
		}
		if e.Message != nil {
			s.message = e.Message
		}
		switch e.Kind {
		case round.EntryRound:
			s.round, s.pressed = e, false
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

func (h *teller) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.entries) {
		if e.Kind == round.EntryRound && e.Decision != nil && !idle(e) {
			return h.tell(h.of(placeOf(e)))
		}
	}
	return h.in.Phrase("told.nobody_yet")
}

// idle is a round after a silence or a companion's words in which nobody spoke: nobody would ask about it.
func idle(e round.Entry) bool {
	return e.Decision.Winner == "" && !e.Decision.Ended && e.Message != nil && (e.Message.Metadata.Silence || !e.Message.From.Human())
}

func (h *teller) whyOf(c round.CompanionID) string {
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
				return h.in.Phrase("told.last_silent", "name", h.name(c), "after", h.after(h.of(placeOf(e))), "why", h.reason(x.Because, x.Reason))
			}
		}
	}
	return h.in.Phrase("told.not_lately", "name", h.name(c))
}

// tell makes sentences of a story; needs mu.
func (h *teller) tell(s story) string {
	if s.round == nil || s.round.Decision == nil {
		return h.in.Phrase("told.unknown")
	}
	d, after := s.round.Decision, h.after(s)
	var told []string
	switch {
	case len(s.spoke) > 0:
		first := s.spoke[0].Companion
		told = append(told, h.in.Phrase("told.spoke", "name", h.name(first), "after", after, "why", h.because(s, first)))
		for _, more := range s.spoke[1:] {
			told = append(told, h.in.Phrase("told.added", "name", h.name(more.Companion), "why", h.because(s, more.Companion)))
		}
	case d.Winner != "" && s.end != nil && s.end.Kind == round.EntryAnswered: // elsewhere, and cut before its words came
		told = append(told, h.in.Phrase("told.spoke", "name", h.name(d.Winner), "after", after, "why", h.because(s, d.Winner)))
	case d.Winner != "" && (s.end == nil && s.pressed || s.end != nil && (s.end.Kind == round.EntrySuperseded || s.end.Kind == round.EntrySilent)):
		told = append(told, h.in.Phrase("told.was_to_speak", "name", h.name(d.Winner), "after", after, "why", h.because(s, d.Winner)))
		if s.end == nil || s.end.Kind == round.EntrySuperseded {
			told = append(told, h.in.Phrase("told.pressed_first"))
		} else {
			told = append(told, h.in.Phrase("told.unheard"))
		}
	case d.Winner != "":
		told = append(told, h.in.Phrase("told.to_speak", "name", h.name(d.Winner), "after", after, "why", h.because(s, d.Winner)))
	case d.Ended:
		told = append(told, h.in.Phrase("told.ended", "after", after))
	default:
		told = append(told, h.in.Phrase("told.nobody", "after", after, "why", h.reason(d.Because, d.Reason)))
	}
	for _, f := range s.failed {
		told = append(told, h.in.Phrase("told.failed", "name", h.name(f.Companion), "why", h.reason(f.Because, orElse(f.Why, h.in.Phrase("told.no_answer")))))
	}
	for _, x := range d.Silent {
		spoke := slices.ContainsFunc(s.spoke, func(e round.Entry) bool { return e.Companion == x.Companion })
		why := h.reason(x.Because, x.Reason)
		said := d.Winner == "" && (why == h.reason(d.Because, d.Reason) || d.Ended) // as the reason why nobody spoke
		if !spoke && !said {
			told = append(told, h.in.Phrase("told.silent", "name", h.name(x.Companion), "why", why))
		}
	}
	return strings.Join(told, " ")
}

// because is why a companion was to speak; needs mu.
func (h *teller) because(s story, c round.CompanionID) string {
	d := s.round.Decision
	why := h.reason(d.Because, d.Reason)
	for _, v := range d.Votes {
		if v.From == c && c != d.Winner {
			why = h.reason(v.Because, v.Reason)
		}
	}
	for _, f := range s.failed {
		if f.Companion == d.Winner && c != d.Winner {
			return h.in.Phrase("told.in_place", "name", h.name(d.Winner), "why", why)
		}
	}
	return why
}

// after says what a round was about, with the space before it; needs mu.
func (h *teller) after(s story) string {
	if s.message == nil {
		return ""
	}
	return " " + h.about(s.message)
}

// about says what a message was; needs mu.
func (h *teller) about(m *round.Message) string {
	switch {
	case m.Metadata.Silence:
		return h.in.Phrase("told.after_silence")
	}
	who := h.called(string(m.From))
	if to, ok := m.Whisper(); ok { // why may be asked by anybody
		return h.in.Phrase("told.after_whisper", "who", who, "name", h.name(to))
	}
	if m.Private() {
		return h.in.Phrase("told.after_private", "who", who)
	}
	if m.Text == "" {
		return h.in.Phrase("told.after_spoke", "who", who)
	}
	return h.in.Phrase("told.after_said", "who", who, "text", quoted(m.Text))
}

// reason is a sentence without its end; needs mu.
func (h *teller) reason(why because.Reason, text string) string {
	if text == "" && why == "" {
		return h.in.Phrase("told.no_reason")
	}
	return Sentence(h.in, why, strings.TrimPrefix(text, "model: "), h.called)
}

// called is what to call a companion or a person; needs mu.
func (h *teller) called(who string) string {
	device, person := strings.CutPrefix(who, string(round.Human("")))
	switch place := h.places[round.DeviceID(device)]; {
	case !person:
		return h.name(round.CompanionID(who))
	case place != "":
		return h.in.Phrase("told.person_in", "place", place)
	}
	return h.in.Phrase("told.person")
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

// name is how people call a companion; needs mu.
func (h *recentEntries) name(c round.CompanionID) string {
	if n := h.names[c]; n != "" {
		return n
	}
	return string(c)
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
