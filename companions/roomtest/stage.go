package roomtest

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"conch/companions"
	"conch/companions/round"
)

// Our choices, near to what people and models do.
const (
	thinkTime = 600 * time.Millisecond // from Prepare to the first sample that could be heard
	runeTime  = 65 * time.Millisecond  // of speech per character: 15 a second
)

// Fault is what goes wrong with an answer.
type Fault int

// Faults of a voice.
const (
	Fine   Fault = iota
	Fails        // no answer comes, and that is reported
	Hangs        // nothing is ever reported until it is abandoned
	Breaks       // the answer stops in its middle
	Panics       // in Prepare
)

// Stage is a device's voice: it answers after a while, for as long as the words take, and can be silenced.
type Stage struct {
	// Answer makes the words; nil: a sentence that opens nothing. Fixed before the room runs.
	Answer func(round.Prepare) string
	// Slow is how long each call of the stage takes, which it must not. Fixed before the room runs.
	Slow time.Duration

	device round.DeviceID
	house  *House
	room   *companions.Room

	mu         sync.Mutex
	fault      Fault
	jobs       []*job
	hushes     int
	lost       []string
	remembered map[round.CompanionID][]round.Message
	corrected  map[round.MessageID]string
	renamed    []round.Rename
	prepared   []round.Prepare
}

// job is one answer. Its goroutine lasts until its end is reported.
type job struct {
	prepare round.Prepare
	speak   chan struct{}
	end     chan string // why it is cut short; at most one
	spoken  bool
	sounds  bool // it can be heard; the stage's lock
}

// Utterance is what could be heard of one answer.
type Utterance struct {
	Device     round.DeviceID
	Companion  round.CompanionID
	Place      round.Place
	Text       string // all of it
	Heard      string // what of it could be heard
	Began, End time.Duration
	Over       bool // End is known
}

// SetFault counts for answers that are prepared from now on.
func (s *Stage) SetFault(f Fault) { s.mu.Lock(); s.fault = f; s.mu.Unlock() }

// Hush ends whatever there is.
func (s *Stage) Hush(why string) {
	s.mu.Lock()
	s.hushes++
	jobs := slices.Clone(s.jobs)
	s.mu.Unlock()
	for _, j := range jobs {
		s.cut(j, why)
	}
}

// Quiet ends what can be heard.
func (s *Stage) Quiet(why string) {
	s.mu.Lock()
	jobs := slices.DeleteFunc(slices.Clone(s.jobs), func(j *job) bool { return !j.sounds })
	s.mu.Unlock()
	for _, j := range jobs {
		s.cut(j, why)
	}
}

// Press is what the device does on its own button, before the room knows: it falls silent.
func (s *Stage) Press() {
	s.mu.Lock()
	jobs := slices.Clone(s.jobs)
	s.mu.Unlock()
	for _, j := range jobs {
		s.cut(j, "pressed here")
	}
}

func (s *Stage) cut(j *job, why string) {
	select {
	case j.end <- why:
	default: // it has a reason already
	}
}

// Prepare begins an answer.
func (s *Stage) Prepare(p round.Prepare) {
	s.slowly()
	s.mu.Lock()
	fault := s.fault
	s.prepared = append(s.prepared, p)
	if fault == Panics {
		s.mu.Unlock()
		panic("roomtest: the stage was told to panic") //nolint:forbidigo // that is the fault
	}
	j := &job{prepare: p, speak: make(chan struct{}), end: make(chan string, 1)}
	s.jobs = append(s.jobs, j)
	s.mu.Unlock()
	go s.perform(j, fault)
}

// sayings ask nothing and hand over to nobody, and no two are alike.
var sayings = []string{
	"Eight minutes in hot water, and then straight into a cold bowl.",
	"The blue coat hangs by the door, and the keys are in its left pocket.",
	"I would begin with the short chapters and leave the long ones for winter.",
	"It stays dry until noon, after that a hat does no harm.",
	"Half a spoon of salt is plenty for a pot of that size.",
	"The late train is slower, but there is always a seat in it.",
	"A candle and an old record make every evening longer.",
	"Put the heavy things at the bottom and the bread on top.",
	"My favourite is the one with the lighthouse and the three sisters.",
	"Two turns to the left, and the window opens without a sound.",
	"Leave it in the oven for a quarter of an hour, then look at the colour.",
	"On Sundays the market closes early, so go there before lunch.",
	"Breathe out slowly and count the steps of an imaginary staircase.",
}

// saying is the next of them, so that nobody repeats what was just said.
func (s *Stage) saying() string {
	s.house.mu.Lock()
	defer s.house.mu.Unlock()
	s.house.said++
	return sayings[s.house.said%len(sayings)]
}

func (s *Stage) slowly() {
	if s.Slow > 0 {
		time.Sleep(s.Slow)
	}
}

// perform is the goroutine of one answer.
func (s *Stage) perform(j *job, fault Fault) {
	p := j.prepare
	end := round.SpeechEnded{Place: p.Place, Companion: p.Companion}
	defer func() {
		s.mu.Lock()
		s.jobs = slices.DeleteFunc(s.jobs, func(o *job) bool { return o == j })
		s.mu.Unlock()
		s.room.SpeechEnded(end)
	}()
	text := s.saying()
	if s.Answer != nil {
		text = s.Answer(p)
	}
	think := time.NewTimer(thinkTime)
	defer think.Stop()
	ready := think.C
	if fault == Hangs {
		think.Stop() // ready never comes
	}
	for speak := j.speak; ready != nil || speak != nil; {
		select {
		case <-ready:
			ready = nil
			if fault == Fails || text == "" {
				end.Why = "no answer came"
				return
			}
		case <-speak:
			speak = nil
		case end.Why = <-j.end:
			return
		case <-s.house.done:
			return
		}
	}
	whole := time.Duration(utf8.RuneCountInString(text)) * runeTime
	began := s.house.Now()
	u := s.house.began(Utterance{Device: s.device, Companion: p.Companion, Place: p.Place, Text: text, Began: began})
	end.Said = text
	s.mu.Lock()
	j.sounds = true
	s.mu.Unlock()
	s.room.SpeechBegan(p.Place, p.Companion)
	known := time.NewTimer(whole / 3) // a model writes faster than it speaks
	defer known.Stop()
	stop := whole
	if fault == Breaks {
		stop = whole / 2
	}
	last := time.NewTimer(stop)
	defer last.Stop()
	for end.Text == "" {
		select {
		case <-known.C:
			s.room.SpeechKnown(p.Place, p.Companion, text, whole-(s.house.Now()-began))
		case <-last.C:
			end.OK, end.Text, end.Heard = true, text, whole
			if fault == Breaks {
				end.Cut, end.Why, end.Heard, end.Text = true, "the connection broke", stop, part(text, stop)
			}
		case end.Why = <-j.end:
			end.OK, end.Cut = true, true
			end.Heard = s.house.Now() - began
			end.Text = part(text, end.Heard)
			if end.Text == "" {
				end.OK = false
				s.house.ended(u, "")
				return
			}
		case <-s.house.done:
			return
		}
	}
	s.house.ended(u, end.Text)
}

// part is what of a text can be said in a time.
func part(text string, heard time.Duration) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), int(heard/runeTime))])
}

func (s *Stage) find(p round.Place, c round.CompanionID) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.prepare.Place == p && j.prepare.Companion == c {
			return j
		}
	}
	return nil
}

// Speak lets an answer be heard.
func (s *Stage) Speak(p round.Place, c round.CompanionID) {
	s.slowly()
	if j := s.find(p, c); j != nil && !j.spoken {
		j.spoken = true
		close(j.speak)
	}
}

// Abandon ends an answer.
func (s *Stage) Abandon(p round.Place, c round.CompanionID, why string) {
	s.slowly()
	if j := s.find(p, c); j != nil {
		s.cut(j, why)
	}
}

// Lost notes a turn of the button that gets no answer from here.
func (s *Stage) Lost(turn, why string) {
	s.slowly()
	s.mu.Lock()
	s.lost = append(s.lost, turn+": "+why)
	s.mu.Unlock()
}

// Remember notes what the companions were told.
func (s *Stage) Remember(m round.Message, to []round.CompanionID) {
	s.slowly()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range to {
		if have := s.remembered[c]; len(have) >= 100 { // an hour of talk is no memory of the test
			s.remembered[c] = slices.Clone(have[1:])
		}
		s.remembered[c] = append(s.remembered[c], m)
	}
}

// Correct notes what of a message was heard.
func (s *Stage) Correct(id round.MessageID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.corrected) >= 100 {
		clear(s.corrected)
	}
	s.corrected[id] = text
}

// Renamed notes a new name.
func (s *Stage) Renamed(r round.Rename) {
	s.mu.Lock()
	s.renamed = append(s.renamed, r)
	s.mu.Unlock()
}

// Told are the texts that a companion was told, oldest first.
func (s *Stage) Told(c round.CompanionID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, m := range s.remembered[c] {
		texts = append(texts, m.Text)
	}
	return texts
}

// Corrected is what of a message was heard, as the stage was told.
func (s *Stage) Corrected(id round.MessageID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.corrected[id]
}

// Hushes counts them.
func (s *Stage) Hushes() int { s.mu.Lock(); defer s.mu.Unlock(); return s.hushes }

// Lost turns, with why.
func (s *Stage) LostTurns() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.lost) }

// Prepared are the orders to prepare, oldest first.
func (s *Stage) Prepared() []round.Prepare {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prepared)
}

// Jobs counts answers that have not ended.
func (s *Stage) Jobs() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.jobs) }

var _ companions.Stage = (*Stage)(nil)
