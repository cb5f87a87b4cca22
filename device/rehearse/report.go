package rehearse

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	clips "conch/audio/words"
	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device"
	"conch/device/control"
	"conch/device/language"
	"conch/device/room"
	"conch/device/terminal"
)

// What a rehearsal tells, as sentences or as one JSON object a line (APPLIANCE.md 4), whose first key is event:
//
//	turn.end       the summary of a turn, all of its fields (coordinator.Record)
//	round          who was selected for a message, why, every vote, why each of the others is silent, and who took the floor
//	said           who said what on which device, how much of it was heard, and whether that was all
//	instead        the one who had the floor failed, or is gone: who took over
//	outcome        what became of a person's message: answered, silent (deliberately nobody), superseded (ROOM.md 8, I2)
//	hush           a press or question silenced a device: milliseconds from the edge, wherever the finger was, to the device's
//	               last audible sample. Where that cannot be told from what the device said next, there is no such line
//	sounding       a press or question elsewhere has not silenced a device: milliseconds from the edge that it was listened to
//	control        somebody's manners were turned: "leave it to us", "Ada, be quiet"
//	member         somebody came, changed or went, as a device saw it
//	pairing        how far a device has come in pairing, as its control socket says it
//	fault          the script broke something
//	rehearsal.end  counts; ok says whether the exit status is 0
//
// at_ms counts from the rehearsal's beginning, which is also the beginning of every WAV of --out, on one clock for all devices.
// Devices have their names, a person is human:NAME of the device, companions have their ids.
type (
	roundLine struct {
		Event    string              `json:"event"`
		AtMS     float64             `json:"at_ms"`
		Device   string              `json:"device"` // whose view it is: the first that decided
		Message  messageOf           `json:"message"`
		Selected round.CompanionID   `json:"selected"` // empty: nobody
		Reason   string              `json:"reason"`
		Votes    []round.Vote        `json:"votes"`
		Absent   []round.CompanionID `json:"absent,omitempty"`
		Extras   []round.CompanionID `json:"extras,omitempty"`
		Silent   []round.Silent      `json:"silent,omitempty"`
		WaitedMS float64             `json:"waited_ms"`
		AtLimit  bool                `json:"at_limit,omitempty"`
		Ended    bool                `json:"ended,omitempty"`
		Claim    *claimOf            `json:"claim"` // null: the floor was not taken
	}
	messageOf struct {
		ID     round.MessageID `json:"id"`
		From   string          `json:"from"`
		To     []string        `json:"to,omitempty"`
		Text   string          `json:"text"`
		Number int             `json:"number"`
		Turn   string          `json:"turn,omitempty"`
	}
	claimOf struct {
		Companion round.CompanionID `json:"companion"`
		Device    string            `json:"device"`
		AfterMS   float64           `json:"after_ms"` // from the decision
	}
	saidLine struct {
		Event    string          `json:"event"`
		AtMS     float64         `json:"at_ms"` // the end
		Device   string          `json:"device"`
		Message  round.MessageID `json:"message"` // that it answers; empty: an announcement
		Who      string          `json:"who"`
		Text     string          `json:"text"` // what was heard of it
		HeardMS  float64         `json:"heard_ms"`
		Complete bool            `json:"complete"`
	}
	insteadLine struct {
		Event     string            `json:"event"`
		AtMS      float64           `json:"at_ms"`
		Device    string            `json:"device"`
		Message   round.MessageID   `json:"message,omitempty"`
		Companion round.CompanionID `json:"companion"`
		Failed    bool              `json:"failed"` // false: this one takes over
		Why       string            `json:"why,omitempty"`
	}
	outcomeLine struct {
		Event   string          `json:"event"`
		AtMS    float64         `json:"at_ms"`
		Device  string          `json:"device"` // the person's
		Message round.MessageID `json:"message"`
		Text    string          `json:"text"`
		Outcome round.EntryKind `json:"outcome"`
		Why     string          `json:"why,omitempty"`
	}
	hushLine struct {
		Event  string  `json:"event"`
		AtMS   float64 `json:"at_ms"` // the edge
		Device string  `json:"device"`
		Turn   turn.ID `json:"turn,omitempty"` // that was cut, when the finger was on the device itself
		By     string  `json:"by"`             // where the finger was
		What   string  `json:"what"`           // press, or question
		MS     float64 `json:"ms"`
	}
	memberLine struct {
		Event  string  `json:"event"`
		AtMS   float64 `json:"at_ms"`
		Device string  `json:"device"` // who saw it
		Who    string  `json:"who"`
		What   string  `json:"what"`
	}
	controlLine struct {
		Event  string  `json:"event"`
		AtMS   float64 `json:"at_ms"`
		Device string  `json:"device"` // where it was asked for
		Who    string  `json:"who"`
		What   string  `json:"what"`
	}
	faultLine struct {
		Event  string  `json:"event"`
		AtMS   float64 `json:"at_ms"`
		Device string  `json:"device"`
		What   string  `json:"what"`
	}
	endLine struct {
		Event      string  `json:"event"`
		AtMS       float64 `json:"at_ms"`
		Turns      int     `json:"turns"`
		Messages   int     `json:"messages"` // of people
		Rounds     int     `json:"rounds"`
		Said       int     `json:"said"`
		Answered   int     `json:"answered"`
		Silent     int     `json:"silent"`
		Superseded int     `json:"superseded"`
		Hushed     int     `json:"hushed"`
		Faults     int     `json:"faults"`
		Unanswered int     `json:"unanswered"` // people's messages that came to none of the three, or to two
		OK         bool    `json:"ok"`
		Error      string  `json:"error,omitempty"`
	}
)

// report writes it. Its methods may be called from any goroutine.
type report struct {
	// fixed before use
	json, text io.Writer // json nil: text
	now        func() time.Duration
	person     *terminal.Screen // of somebody who reads along: no times, no counts

	mu      sync.Mutex // guards the writers and what follows
	silent  bool       // until the room is complete, nobody is told who came
	ledgers *ledgers
	counts  endLine
}

// line shows what is being done, so that a person sees what a long wait waits for.
func (r *report) line(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.person == nil {
		r.sentence("%7.2f s  %s\n", r.now().Seconds(), l.Source)
	}
}

// turn tells of a finished turn; edge is when the person there last pressed or asked, and cut says that this was what ended it.
// In no room a question is nobody's message.
func (r *report) turn(t control.Turn, edge time.Duration, cut, inRoom bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Turns++
	if inRoom {
		r.ledgers.turn(t)
	}
	r.put(t)
	if t.Reason == turn.TooShort.String() && r.person == nil {
		r.sentence(indent + "conch: that was too short to be a question\n")
	}
	if r.reads() && t.Said != "" && t.HeardMS > 0 {
		said := device.SpeechOf(t)
		said.Place = t.Device
		r.person.Said(said, t.Cut(language.English))
	}
	if t.Words != "" {
		r.sentence(indent+"%s: %s\n", t.Device, clips.Text(language.English, t.Words))
	}
	if t.Source == turn.SourceInject.String() && t.HeardMS > 0 { // an announcement answers nobody, so no ledger has it
		r.tell(saidLine{Event: "said", AtMS: milliseconds(t.Ended), Device: t.Device, Who: t.Who, Text: t.Said, HeardMS: t.HeardMS,
			Complete: t.Reason == turn.Done.String() || t.Whole})
	}
	if cut {
		what := byPress
		if t.Displaced {
			what = byQuestion
		}
		r.hushed(hushLine{"hush", milliseconds(edge), t.Device, t.Turn, t.Device, what, *t.PressToSilence})
	}
}

// What asks for silence.
const (
	byPress    = "press"
	byQuestion = "question"
)

// hush tells of a device that was silenced from elsewhere.
func (r *report) hush(device, by, what string, edge, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hushed(hushLine{Event: "hush", AtMS: milliseconds(edge), Device: device, By: by, What: what, MS: milliseconds(after)})
}

// sounds tells of a device that goes on, as long as it was listened to.
func (r *report) sounds(device, by, what string, edge, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(hushLine{Event: "sounding", AtMS: milliseconds(edge), Device: device, By: by, What: what, MS: milliseconds(after)})
	r.sentence(indent+"%s sounds on, %.0f ms after the %s in %s\n", device, milliseconds(after), what, by)
}

// hadFloor says that somebody was speaking at a device at a time, or pausing between two words.
func (r *report) hadFloor(device string, at time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, from := range r.ledgers.live {
		if s.device == device && from <= at {
			return true
		}
	}
	for _, t := range r.ledgers.talks {
		if t.device == device && t.from <= at && at <= t.to {
			return true
		}
	}
	return false
}

// hushed needs mu.
func (r *report) hushed(h hushLine) {
	r.counts.Hushed++
	r.put(h)
	r.sentence(indent+"%s is silent %.0f ms after the %s in %s\n", h.Device, h.MS, h.What, h.By)
}

func (r *report) fault(device, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Faults++
	r.put(faultLine{"fault", milliseconds(r.now()), device, what})
}

// gone notes that a device was killed.
func (r *report) gone(device string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledgers.gone(device, r.now())
}

// open says that somebody is about to speak, or that the room is still writing.
func (r *report) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledgers.open(r.now())
}

// entry takes a line of a device's ledger; text is what was heard, of an answer that has ended.
func (r *report) entry(device string, e round.Entry, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.ledgers.entry(device, r.now(), e, text) {
		r.tell(line)
	}
}

// begin says that the room is complete.
func (r *report) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = false
}

// tell writes what the book made of an entry. Needs mu.
func (r *report) tell(line any) {
	if _, came := line.(memberLine); came && r.silent {
		return
	}
	r.put(line)
	switch l := line.(type) {
	case roundLine:
		r.counts.Rounds++
		r.round(r.ledgers.roundText(l, r.person))
	case saidLine:
		r.counts.Said++
		if r.reads() {
			return // its turn shows it
		}
		cut := ""
		if !l.Complete {
			cut = fmt.Sprintf(" … (cut after %.1f s)", l.HeardMS/1000)
		}
		r.sentence(indent+"%s (%s): %s%s\n", l.Who, l.Device, l.Text, cut)
	case insteadLine:
		what := "takes over"
		if l.Failed {
			what = "lost the floor"
		}
		r.sentence(indent+"%s %s%s\n", r.ledgers.room.called(l.Companion), what, because(l.Why))
	case outcomeLine:
		switch l.Outcome {
		case round.EntryAnswered:
			r.counts.Answered++
		case round.EntrySilent:
			r.counts.Silent++
			if x := r.ledgers.rounds[l.Message]; x != nil && x.line.Selected != "" { // somebody was to answer, and nobody could
				r.sentence(indent+"(%s: %s) gets no answer%s\n", l.Device, l.Text, because(l.Why))
			}
		case round.EntrySuperseded:
			r.counts.Superseded++
			r.sentence(indent+"(%s: %s) is superseded%s\n", l.Device, l.Text, because(l.Why))
		}
	case controlLine:
		r.sentence(indent+"(%s, %s)\n", l.Who, room.Settled(language.English, l.What))
	case memberLine:
		if r.person == nil || l.Device == r.ledgers.room.Devices[0].Name { // one view is enough for who reads along
			r.sentence(indent+"in %s: %s\n", l.Device, l.What)
		}
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// end closes the book and returns the error of a rehearsal in which a person's message came to nothing.
func (r *report) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.ledgers.rest(r.now()) {
		r.tell(line)
	}
	lost := r.ledgers.unsettled()
	r.counts.Messages, r.counts.Unanswered = len(r.ledgers.people), len(lost)
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("rehearse: %d of %d messages of people came to no clear end: %s", len(lost), r.counts.Messages,
			strings.Join(lost[:min(5, len(lost))], "; "))
	}
	c := &r.counts
	c.Event, c.AtMS, c.OK = "rehearsal.end", milliseconds(r.now()), err == nil
	if err != nil {
		c.Error = err.Error()
	}
	r.put(*c)
	if r.person == nil {
		r.sentence("%7.2f s  end: %d messages of people, %d answered, %d not (see why), %d superseded, %d without an end; %d said, %d hushed\n",
			r.now().Seconds(), c.Messages, c.Answered, c.Silent, c.Superseded, c.Unanswered, c.Said, c.Hushed)
	}
	return err
}

// reads says that somebody sees words as they are said.
func (r *report) reads() bool { return r.person != nil && r.person.Draws() }

// sentence is for people. Needs mu.
func (r *report) sentence(format string, args ...any) {
	switch text := fmt.Sprintf(format, args...); {
	case r.person != nil:
		r.person.Say(unindented(text))
	case r.json == nil && r.text != nil:
		_, _ = io.WriteString(r.text, text)
	}
}

// say tells people something that is no event.
func (r *report) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sentence("%s", text)
}

// round tells who speaks and why, which can wait until it is read. Needs mu.
func (r *report) round(text string) {
	if r.person == nil {
		r.sentence("%s", text)
		return
	}
	for line := range strings.Lines(unindented(text)) {
		if strings.HasPrefix(line, " ") { // why
			r.person.Note(line)
		} else {
			r.person.Say(line)
		}
	}
}

// unindented is text for who needs no times before it.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, indent))
	}
	return b.String()
}

// indent is the width of a script's times.
const indent = "           "

// put writes one object. Needs mu.
func (r *report) put(v any) {
	if r.json != nil {
		_ = json.NewEncoder(r.json).Encode(v) // the reader went away: the play goes on
	}
}
