package device

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"conch/coordinator/turn"
)

// What a rehearsal tells, as sentences or as one JSON object a line (appliance.md 4), whose first key is event:
//
//	turn.end       the summary of a turn, all of its fields (coordinator.Record)
//	said           who said what on which device, how much of it was heard, and whether that was all
//	hush           a press or question silenced the device: milliseconds from the edge to the last audible sample
//	fault          the script broke something
//	rehearsal.end  counts; ok says whether the exit status is 0
//
// at_ms counts from the rehearsal's beginning, which is also the beginning of the WAV of --out.
type (
	saidLine struct {
		Event    string  `json:"event"`
		AtMS     float64 `json:"at_ms"` // the end of the turn
		Device   string  `json:"device"`
		Turn     turn.ID `json:"turn"`
		Who      string  `json:"who"`
		Text     string  `json:"text"` // what the answer says; of one that was cut, HeardMS were heard
		HeardMS  float64 `json:"heard_ms"`
		Complete bool    `json:"complete"`
	}
	hushLine struct {
		Event  string  `json:"event"`
		AtMS   float64 `json:"at_ms"` // the edge
		Device string  `json:"device"`
		Turn   turn.ID `json:"turn"` // that was cut
		MS     float64 `json:"ms"`
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
		Said       int     `json:"said"`
		Hushed     int     `json:"hushed"`
		Faults     int     `json:"faults"`
		Unanswered int     `json:"unanswered"`
		OK         bool    `json:"ok"`
		Error      string  `json:"error,omitempty"`
	}
)

var (
	reasonDone        = turn.Done.String()
	reasonInterrupted = turn.InterruptedByPress.String()
	reasonTooShort    = turn.TooShort.String()
)

// report writes it. Its methods may be called from any goroutine.
type report struct {
	// fixed before use
	json, text io.Writer // json nil: text
	companion  string
	now        func() time.Duration

	mu     sync.Mutex // guards the writers and what follows
	counts endLine
	lost   []string // turns that ended in nothing
}

// line shows what is being done, so that a person sees what a long wait waits for.
func (r *report) line(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json == nil && r.text != nil {
		fmt.Fprintf(r.text, "%7.2f s  %s\n", r.now().Seconds(), l.Source)
	}
}

// turn tells of a finished turn; acted is when the person last did something.
func (r *report) turn(t TurnRecord, acted time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Turns++
	r.put(t)
	if r.json == nil && r.text != nil {
		for line := range strings.Lines(t.Sentence(r.companion)) {
			fmt.Fprintf(r.text, "           %s", line)
		}
	}
	if t.PressToSilence != nil {
		r.counts.Hushed++
		r.put(hushLine{"hush", ms(acted), t.Device, t.Turn, *t.PressToSilence})
	}
	if t.HeardMS > 0 || t.Said != "" {
		r.counts.Said++
		r.put(saidLine{"said", ms(t.Ended), t.Device, t.Turn, r.companion, t.Said, t.HeardMS, t.Reason == reasonDone})
	}
	if t.Source == turn.SourceButton.String() && !settled(t) {
		r.counts.Unanswered++
		r.lost = append(r.lost, string(t.Turn)+" "+t.Reason)
	}
}

// settled says that a person's turn came to one of the ends that are no failure: answered (in sound, or by a tool that did
// what was asked), cut by the person, or too short to be a message at all.
func settled(t TurnRecord) bool {
	switch t.Reason {
	case reasonDone:
		return t.HeardMS > 0 || t.Tools > 0
	case reasonInterrupted, reasonTooShort:
		return true
	}
	return false
}

func (r *report) fault(device, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Faults++
	r.put(faultLine{"fault", ms(r.now()), device, what})
}

// unanswered is the error of a rehearsal in which a question came to nothing.
func (r *report) unanswered() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lost) == 0 {
		return nil
	}
	return fmt.Errorf("rehearse: %d of %d turns ended without an answer: %s", len(r.lost), r.counts.Turns, strings.Join(r.lost[:min(5, len(r.lost))], ", "))
}

func (r *report) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Event, r.counts.AtMS, r.counts.OK = "rehearsal.end", ms(r.now()), err == nil
	if err != nil {
		r.counts.Error = err.Error()
	}
	r.put(r.counts)
	if r.json == nil && r.text != nil {
		fmt.Fprintf(r.text, "%7.2f s  end: %d turns, %d said, %d hushed, %d unanswered\n", r.now().Seconds(), r.counts.Turns, r.counts.Said, r.counts.Hushed, r.counts.Unanswered)
	}
}

// put writes one object. Needs mu.
func (r *report) put(v any) {
	if r.json != nil {
		_ = json.NewEncoder(r.json).Encode(v) // the reader went away: the play goes on
	}
}
