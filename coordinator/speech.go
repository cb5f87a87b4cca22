package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"conch/coordinator/turn"
)

// settle is how long a source that ended before all of it was heard may take to turn out to have been dropped: whoever
// dropped it posts at once. Our choice.
const settle = 50 * time.Millisecond

// roughly is how many samples a speaker may fall short of the truth: 50 ms. What a card that died did not play is more.
const roughly = rate / 20

// speech is the way of one turn's speech to the speaker. Voices write from their own goroutine, past the inbox; sounds
// of tools are put between in the order of the orders.
//
//	Audio (voice) ──┐ waits for the sounds queued before it
//	sound, sound ───┴─> one at a time ─> Source
type speech struct {
	// fixed after open
	turn    turn.ID
	src     Source
	writing chan struct{} // holds a token while somebody writes

	// atomic
	before  atomic.Pointer[chan struct{}] // closed when the last queued sound is written; nil: none was
	written atomic.Int64                  // samples accepted

	// owned by runner
	closed bool
	held   bool // nothing of it sounds
}

func newSpeech(id turn.ID, src Source) *speech {
	return &speech{turn: id, src: src, writing: make(chan struct{}, 1)}
}

// write hands pcm over after all sounds queued before. It returns the samples accepted.
func (s *speech) write(ctx context.Context, pcm []int16) int {
	if !s.waitFor(ctx, s.before.Load()) {
		return 0
	}
	return s.writeNow(ctx, pcm)
}

func (s *speech) waitFor(ctx context.Context, before *chan struct{}) bool {
	if before == nil {
		return true
	}
	select {
	case <-*before:
		return true
	case <-s.src.Drained(): // dropped
		return false
	case <-ctx.Done():
		return false
	}
}

func (s *speech) writeNow(ctx context.Context, pcm []int16) int {
	select {
	case s.writing <- struct{}{}:
	default:
		select {
		case s.writing <- struct{}{}:
		case <-ctx.Done():
			return 0
		}
	}
	n := s.src.Write(ctx, pcm)
	s.written.Add(int64(n))
	<-s.writing
	return n
}

// openSpeech makes a source the one that Audio writes to.
func (r *runner) openSpeech(id turn.ID, held bool) {
	heard := 0
	if r.speech != nil {
		if r.speech.turn == id { // a second source of the same turn: what the first one played counts
			heard = r.heardBefore + r.speech.src.Heard()
		}
		r.closeSpeech()
	}
	r.heardBefore = heard
	r.speech = newSpeech(id, r.outputs.open(SourceSpeech))
	if r.speech.held = held; held {
		r.speech.src.Hold() // before anybody can write
	}
	r.c.speech.Store(r.speech)
}

// releaseSpeech lets held speech be heard.
func (r *runner) releaseSpeech(id turn.ID) {
	if s := r.speech; s != nil && s.turn == id && s.held {
		s.held = false
		s.src.Release()
	}
}

// cutSpeech throws the speech of id away, and leaves alone what else sounds: content goes on under a turn that was only
// prepared.
func (r *runner) cutSpeech(id turn.ID) {
	s := r.speech
	if s == nil || s.turn != id {
		return
	}
	s.closed = true
	r.c.speech.CompareAndSwap(s, nil)
	s.src.Cut()
	s.src.Close()
	r.outputs.over(s.src)
}

// closeSpeech lets no more in; what was accepted still plays.
func (r *runner) closeSpeech() {
	s := r.speech
	if s == nil || s.closed {
		return
	}
	s.closed = true
	r.c.speech.CompareAndSwap(s, nil)
	before := s.before.Load()
	if before == nil {
		s.src.Close()
		return
	}
	r.spawn(func() {
		s.waitFor(r.ctx, before)
		s.src.Close()
	})
}

// drainSpeech closes the speech of id and reports when its last sample was played.
func drainSpeech(r *runner, id turn.ID) {
	s := r.speech
	if s == nil || s.turn != id || s.closed {
		r.self(turn.SpeechDrained{At: r.now(), Turn: id}) // nothing was ever opened, or it is being drained
		return
	}
	r.closeSpeech()
	r.spawn(func() {
		if !r.drained(s.src, s.written.Load) {
			return
		}
		unheard := int(s.written.Load()) - s.src.Heard()
		if unheard < roughly {
			unheard = 0
		}
		r.c.inbox.put(entry{ev: turn.SpeechDrained{At: r.now(), Turn: id, Unheard: unheard}, of: s})
	})
}

// drained waits until src is over. A press drops the source just before its fact arrives, so a source that ended before
// all of it was heard gets a moment for that fact to overtake. It reports false when the runner stops.
func (r *runner) drained(src Source, written func() int64) bool {
	select {
	case <-src.Drained():
	case <-r.ctx.Done():
		return false
	}
	if int64(src.Heard()) >= written() {
		return true
	}
	return r.pause(settle)
}

// holes is how often the speech of a turn ran dry.
func (s *speech) holes(id turn.ID) int {
	if s != nil && s.turn == id {
		return s.src.Holes()
	}
	return 0
}

// pause waits for d; false when the runner stops.
func (r *runner) pause(d time.Duration) bool {
	t := r.c.o.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-r.ctx.Done():
		return false
	}
}

// playSound queues a tool's sound between what the voice wrote and what it will write.
func (r *runner) playSound(e turn.PlaySound) {
	h := r.handles.release(e.Handle)
	s := r.speech
	if h == nil || s == nil || s.turn != e.Turn || s.closed {
		r.self(turn.SoundQueued{At: r.now(), Turn: e.Turn})
		return
	}
	before, written := s.before.Load(), make(chan struct{})
	s.before.Store(&written)
	pcm := h.result.Sound
	r.spawn(func() {
		defer close(written)
		n := 0
		if s.waitFor(r.ctx, before) {
			n = s.writeNow(r.ctx, pcm)
		}
		r.c.inbox.put(entry{ev: turn.SoundQueued{At: r.now(), Turn: e.Turn, Samples: n}})
	})
}

// wordsPause is between two sentences of local words; our choice.
const wordsPause = rate / 4

// sayWords plays local words. WordsSaid follows exactly once, when they were heard or dropped, and at the latest some
// seconds after they should have ended: a dead card must not keep the machine from being quiet.
func (r *runner) sayWords(e turn.SayWords) {
	r.log.Info(logWordsSaid, "turn", e.Turn, "words", string(e.Words))
	if e.Owed {
		r.c.o.OnWords(e.Turn, e.Words)
	}
	pcm := r.c.o.Phrases.Phrase(e.Words)
	if len(pcm) == 0 {
		r.log.Warn(logWordsMissing, "turn", e.Turn, "words", string(e.Words))
	}
	if e.Then != "" {
		pcm = slices.Concat(pcm, make([]int16, wordsPause), r.c.o.Phrases.Phrase(e.Then))
	}
	src := r.outputs.open(SourceWords)
	r.spawn(func() {
		limit := time.Duration(len(pcm))*time.Second/rate + 5*time.Second
		ctx, cancel := context.WithTimeout(r.ctx, limit)
		defer cancel()
		src.Write(ctx, pcm)
		src.Close()
		select {
		case <-src.Drained():
		case <-ctx.Done(): // words that come minutes late, when the card is back, would be about nothing
			src.Cut()
		}
		r.c.inbox.put(entry{ev: turn.WordsSaid{At: r.now()}, of: said{src}})
	})
}

// said goes with WordsSaid: the source that is over.
type said struct{ src Source }
