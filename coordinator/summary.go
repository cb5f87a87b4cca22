package coordinator

import (
	"math"
	"time"

	"conch/coordinator/turn"
)

// staleEvery is how often a line tells of stale facts.
const staleEvery = time.Second

const (
	silenceWait = 100 * time.Millisecond // how long the line waits for the card to tell when silence was heard
	silencePoll = 2 * time.Millisecond
)

// Record is the summary of one turn, as the line turn.end, --json and the benchmarks have it. Milliseconds of things
// that did not happen are zero.
type Record struct {
	Turn               turn.ID       `json:"turn"`
	Who                turn.Who      `json:"-"`      // whose turn it was; people are told by name
	Reason             string        `json:"reason"` // done, interrupted, too_short, lost_vote, expired, failed, empty, silenced
	Source             string        `json:"source"` // button, room, inject
	Cause              string        `json:"cause"`  // whose words stood before the model at its end
	ListenMS           float64       `json:"listen_ms"`
	CommitToFirstAudio float64       `json:"commit_to_first_audio_ms"`
	PressToSilence     *float64      `json:"press_to_silence_ms,omitempty"` // of the press that cut the turn, or else that began it: first edge to the last audible sample of whatever sounded; absent: nothing did
	Elsewhere          bool          `json:"elsewhere,omitempty"`           // the press was at another device: the figure begins when this one knew of it
	HeardMS            float64       `json:"heard_ms"`
	Tools              int           `json:"tools"`
	Responses          int           `json:"responses"`
	Words              string        `json:"words,omitempty"`          // what was said locally when it failed
	Then               string        `json:"then,omitempty"`           // and behind that, of what becomes of the question
	InterruptedIn      string        `json:"interrupted_in,omitempty"` // the state at the cut
	DurationMS         float64       `json:"duration_ms"`
	Asked              string        `json:"asked,omitempty"`     // what the person said or typed, as far as the voice wrote it down
	Said               string        `json:"said,omitempty"`      // what the answer says; beyond HeardMS nobody heard it
	HeardText          string        `json:"heard,omitempty"`     // what of it was heard, to the last whole word
	SpeechMS           float64       `json:"speech_ms"`           // how long the answer is, as far as it came
	Audible            bool          `json:"audible"`             // something of it was heard
	Whole              bool          `json:"whole,omitempty"`     // interrupted, but in a silence: all that was said was heard
	Displaced          bool          `json:"displaced,omitempty"` // interrupted by a newer question
	Holes              int           `json:"holes,omitempty"`     // how often its speech ran dry in the middle
	Ended              time.Duration `json:"ended"`               // on the clock of all facts
}

// pending is the line of a turn whose press silenced something; it waits for the card.
type pending struct {
	record Record
	hushed hushed
	until  time.Duration
}

// hushed is what sounded when somebody asked for silence.
type hushed struct {
	turn      turn.ID // the one to tell it of
	edge      time.Duration
	sources   []Source // speech, words, content, cues
	elsewhere bool     // who asked is at another device
}

// silence is what sounds at the last gesture, or sounded.
func (r *runner) silence(id turn.ID) hushed {
	h := r.outputs.silence(id, r.edge)
	h.elsewhere = r.elsewhere
	return h
}

func (h *hushed) nothing() bool { return len(h.sources) == 0 }

// endTurn makes the one line of a turn: at once, or when it is known when silence was heard.
func (r *runner) endTurn(e turn.EndTurn) {
	s := e.Summary
	rec := Record{
		Turn: e.Turn, Who: s.Who, Reason: s.Reason.String(), Source: s.Source.String(), Cause: s.Cause.String(),
		ListenMS: ms(s.Listen), CommitToFirstAudio: ms(s.ToFirstAudio), HeardMS: ms(samples(s.Heard)),
		Tools: s.Tools, Responses: s.Responses, Words: string(s.Words), Then: string(s.Then),
		DurationMS: ms(s.Ended - s.Began), Ended: s.Ended,
	}
	rec.Asked, rec.Said = r.texts.take(e.Turn)
	rec.HeardText, rec.SpeechMS, rec.Audible = r.texts.heard(e.Turn, s.Heard), ms(samples(s.Speech)), s.Heard > 0
	rec.Whole = s.Whole
	rec.Holes = r.speech.holes(e.Turn)
	r.toolCalls.leave(func(c *toolCall) bool { return c.Turn == e.Turn })
	r.tellEnded(e.Turn, s)
	p := pending{record: rec, until: r.now() + silenceWait}
	if s.Reason == turn.InterruptedByPress {
		p.record.InterruptedIn = s.InterruptedIn.String()
		_, p.record.Displaced = r.last.(turn.Asked)
		p.hushed = r.silence(e.Turn)
	}
	if r.hushed.turn == e.Turn {
		if p.hushed.nothing() { // of two presses, the one that cut it counts
			p.hushed = r.hushed
		}
		r.hushed = hushed{}
	}
	r.injections.turnEnded(e.Turn, s)
	r.summaries = append(r.summaries, p)
	r.summarise(false)
}

// summarise writes the lines that are complete or have waited long enough, in the order of the turns. With all set it
// writes every line as it is. At most 64 wait: then the oldest goes out as it is.
func (r *runner) summarise(all bool) {
	for len(r.summaries) > 0 {
		p := &r.summaries[0]
		silence, known := p.hushed.silence()
		if !known && !all && r.now() < p.until && len(r.summaries) <= 64 {
			return
		}
		if !math.IsNaN(silence) {
			p.record.PressToSilence, p.record.Elsewhere = &silence, p.hushed.elsewhere
		}
		rec := p.record
		r.summaries[0] = pending{}
		r.summaries = r.summaries[1:]
		r.log.Info(logTurnEnd, rec.attributes()...)
		r.c.o.OnEnd(rec)
	}
	r.summaries = nil
}

// silence is the time in milliseconds from the edge to the last audible sample of all that sounded, NaN when nothing told; and
// whether all of it told.
func (h *hushed) silence() (took float64, known bool) {
	last, sounded := time.Duration(0), false
	known = true
	for _, src := range h.sources { // one that was pausing, or over, was silent before the edge
		at, ok := src.Silenced()
		if ok && at > h.edge {
			last, sounded = max(last, at-h.edge), true
		}
		known = known && ok
	}
	if !sounded {
		return math.NaN(), known
	}
	return ms(last), known
}

// attributes are the fields of the line in a fixed order.
func (rec Record) attributes() []any {
	a := []any{
		"turn", string(rec.Turn), "reason", rec.Reason, "source", rec.Source, "cause", rec.Cause,
		"listen_ms", rec.ListenMS, "commit_to_first_audio_ms", rec.CommitToFirstAudio,
	}
	if rec.PressToSilence != nil {
		a = append(a, "press_to_silence_ms", *rec.PressToSilence)
	}
	a = append(a, "heard_ms", rec.HeardMS, "tools", rec.Tools, "responses", rec.Responses)
	if rec.Holes > 0 {
		a = append(a, "holes", rec.Holes)
	}
	if rec.Words != "" {
		a = append(a, "words", rec.Words)
	}
	if rec.Then != "" {
		a = append(a, "then", rec.Then)
	}
	if rec.InterruptedIn != "" {
		a = append(a, "interrupted_in", rec.InterruptedIn)
	}
	return append(a, "duration_ms", rec.DurationMS)
}

// staleCount adds up stale facts between two lines.
type staleCount struct {
	n    int
	last turn.DropStale
	line time.Duration // when the last line was written
	some bool          // a line was written before
}

func (s *staleCount) due() time.Duration {
	if s.n == 0 {
		return never
	}
	return s.line + staleEvery
}

func (s *staleCount) add(e turn.DropStale) {
	s.n++
	s.last = e
}

// report writes at most one line a second about facts and audio that came too late, and about refused places.
func (s *staleCount) report(r *runner, all bool) {
	if !all && s.some && r.now() < s.line+staleEvery {
		return
	}
	wrote := false
	if s.n > 0 {
		r.log.Info(logFactStale, "turn", s.last.Turn, "fact", s.last.Event, "why", s.last.Why, "dropped", s.n)
		s.n, wrote = 0, true
	}
	if n := r.c.audioStale.Swap(0); n > 0 {
		r.log.Info(logAudioStale, "turn", *r.c.audioOf.Load(), "dropped_ms", ms(samples(int(n))))
		wrote = true
	}
	if n := r.inbox.refused.Swap(0); n > 0 {
		r.log.Error(logInboxRefused, "dropped", n)
		wrote = true
	}
	if wrote {
		s.line, s.some = r.now(), true
	}
}
