package device

import (
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
)

// roomVoice is a home's voice: it thinks and speaks for tens of milliseconds, and can be silenced.
type roomVoice struct {
	x *roomHome

	mu        sync.Mutex
	answer    func(round.Prepare) string // nil: a sentence that opens nothing; empty: no answer comes
	length    time.Duration              // of an answer
	mute      bool                       // nothing ever comes
	atPrepare func(round.Prepare)        // must not block
	jobs      []*speech
	prepared  []round.Prepare
	told      map[round.CompanionID][]round.Message
	corrected map[round.MessageID]string
	hushes    []string
	lost      []string
	renamed   []round.Rename
}

const (
	roomThink  = 10 * time.Millisecond
	roomLength = 40 * time.Millisecond
)

func newRoomVoice(x *roomHome) *roomVoice {
	return &roomVoice{x: x, length: roomLength, told: map[round.CompanionID][]round.Message{}, corrected: map[round.MessageID]string{}}
}

// speech is one answer. Its goroutine lasts until its end is reported.
type speech struct {
	p      round.Prepare
	speak  chan struct{}
	end    chan string // why it is cut; at most one
	spoken bool
	sounds bool // it can be heard; the voice's lock
}

// utterance is what could be heard of an answer.
type utterance struct {
	home         *roomHome
	who          round.CompanionID
	place        round.Place
	text, heard  string
	began, ended time.Duration
	over         bool
}

// set changes how it speaks from now on.
func (v *roomVoice) set(f func(*roomVoice)) { v.mu.Lock(); defer v.mu.Unlock(); f(v) }

// says lets it say this, and nothing else.
func (v *roomVoice) says(text string) {
	v.set(func(v *roomVoice) { v.answer = func(round.Prepare) string { return text } })
}

func (v *roomVoice) busy() bool { v.mu.Lock(); defer v.mu.Unlock(); return len(v.jobs) > 0 }

// cut ends whatever there is.
func (v *roomVoice) cut(why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		j.cut(why)
	}
}

func (j *speech) cut(why string) {
	select {
	case j.end <- why:
	default: // it has a reason already
	}
}

func (v *roomVoice) find(p round.Place, c round.CompanionID) *speech {
	for _, j := range v.jobs {
		if j.p.Place == p && j.p.Companion == c {
			return j
		}
	}
	return nil
}

func (v *roomVoice) Hush(why string) {
	v.set(func(v *roomVoice) { v.hushes = append(v.hushes, why) })
	v.cut(why)
}

// Quiet ends what can be heard.
func (v *roomVoice) Quiet(why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		if j.sounds {
			j.cut(why)
		}
	}
}

func (v *roomVoice) Prepare(p round.Prepare) {
	j := &speech{p: p, speak: make(chan struct{}), end: make(chan string, 1)}
	v.mu.Lock()
	v.prepared = append(v.prepared, p)
	v.jobs = append(v.jobs, j)
	answer, length, mute, at := v.answer, v.length, v.mute, v.atPrepare
	v.mu.Unlock()
	if at != nil {
		at(p)
	}
	text := v.x.h.sentence()
	if answer != nil {
		text = answer(p)
	}
	v.x.h.wait.Go(func() { v.perform(j, text, length, mute) })
}

// sentences ask nothing, hand over to nobody, are in nobody's field, and are not alike.
var sentences = []string{
	"Eight minutes, and not one more.", "The blue one hangs there, with everything in its pocket.",
	"The short chapters are for summer, the others for winter.", "It stays dry until noon, after that a hat does no harm.",
	"Half a spoon is plenty for somebody of that size.", "The late one is slower, but there is always a seat.",
	"A candle and an old record make every evening longer.", "Heavy things at the bottom, feathers on top.",
	"My favourite has a lighthouse and three sisters in it.", "Two turns to the left, and it opens without a sound.",
	"After a quarter of an hour the colour is right.", "On Sundays the market closes early.",
	"One slow breath for every step of the staircase.", "The fence is painted first, the gate can wait.",
}

func (h *roomHouse) sentence() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said++
	return sentences[h.said%len(sentences)]
}

// perform is the goroutine of one answer.
func (v *roomVoice) perform(j *speech, text string, length time.Duration, mute bool) {
	end := round.SpeechEnded{Place: j.p.Place, Companion: j.p.Companion}
	defer func() {
		v.set(func(v *roomVoice) { v.jobs = slices.DeleteFunc(v.jobs, func(o *speech) bool { return o == j }) })
		v.x.SpeechEnded(end)
	}()
	think := time.NewTimer(roomThink)
	defer think.Stop()
	ready := think.C
	if mute {
		think.Stop() // it never comes
	}
	for speak := j.speak; ready != nil || speak != nil; {
		select {
		case <-ready:
			if ready = nil; text == "" {
				end.Why = "no answer came"
				return
			}
		case <-speak:
			speak = nil
		case end.Why = <-j.end:
			return
		case <-v.x.h.done:
			return
		}
	}
	u := &utterance{home: v.x, who: j.p.Companion, place: j.p.Place, text: text}
	h := v.x.h
	h.mu.Lock()
	if v.x.dead {
		h.mu.Unlock()
		return
	}
	u.began = time.Since(h.start)
	h.utterances = append(h.utterances, u)
	h.mu.Unlock()
	end.Said = text
	v.set(func(*roomVoice) { j.sounds = true })
	v.x.SpeechBegan(j.p.Place, j.p.Companion)
	v.x.SpeechKnown(j.p.Place, j.p.Companion, text, length)
	last := time.NewTimer(length)
	defer last.Stop()
	select {
	case <-last.C:
		end.Text = text
	case end.Why = <-j.end:
		end.Cut, end.Text = true, firstWords(text)
	case <-h.done:
		end.Cut, end.Text = true, firstWords(text)
	}
	h.mu.Lock()
	u.ended, u.heard, u.over = time.Since(h.start), end.Text, true
	end.OK, end.Heard = true, u.ended-u.began
	h.mu.Unlock()
}

// firstWords are what could be heard of an answer that was cut.
func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(2, len(words))], " ")
}

func (v *roomVoice) Speak(p round.Place, c round.CompanionID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if j := v.find(p, c); j != nil && !j.spoken {
		j.spoken = true
		close(j.speak)
	}
}

func (v *roomVoice) Abandon(p round.Place, c round.CompanionID, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if j := v.find(p, c); j != nil {
		j.cut(why)
	}
}

func (v *roomVoice) Lost(turn, why string) {
	v.set(func(v *roomVoice) { v.lost = append(v.lost, turn+": "+why) })
}

func (v *roomVoice) Remember(m round.Message, to []round.CompanionID) {
	v.set(func(v *roomVoice) {
		for _, c := range to {
			v.told[c] = append(v.told[c], m)
		}
	})
}

func (v *roomVoice) Correct(id round.MessageID, text string) {
	v.set(func(v *roomVoice) { v.corrected[id] = text })
}

func (v *roomVoice) Renamed(r round.Rename) {
	v.set(func(v *roomVoice) { v.renamed = append(v.renamed, r) })
}

// knows are the texts that a companion was told, oldest first.
func (v *roomVoice) knows(c round.CompanionID) (texts []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.told[c] {
		texts = append(texts, m.Text)
	}
	return texts
}

// grants are the orders to prepare, oldest first.
func (v *roomVoice) grants() []round.Prepare {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.prepared)
}

var _ companions.Stage = (*roomVoice)(nil)
