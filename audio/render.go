package audio

import (
	"math"
	"time"
)

// What the callback does. Everything here runs on the card's audio thread: no allocation, lock, channel, log or format.
//
//	for each 5 ms or less:  generation, hush ─> speech, words ─> content (ducked) ─> cues ─> x2 ─> frames
//
// The mix is made at Rate, and raised to CardRate once, whatever the number of sources.

const (
	filterDelay = 11 // samples of Rate from the mix to the middle of the filter

	envelopeTop  = 960        // full level; steps are per sample
	underrunTail = Rate / 200 // 5 ms: the fade before an underrun
	underrunStep = envelopeTop / underrunTail
	waitAtMost   = Rate / 5 // 200 ms without more: what is there is played, though it is little
	waitedEnough = 1 << 30
	loopStep     = envelopeTop / (Rate / 25) // 40 ms, under the 50 of TURNS.md 6

	duckLevel = 0.3                           // TURNS.md 4
	duckSlew  = (1 - duckLevel) / (Rate / 10) // within 100 ms
	duckHold  = Rate * 3 / 10                 // samples after the last speech: a breath does not bring content back
	gainSlew  = 1.0 / (Rate / 50)             // a volume changes from end to end in 20 ms
)

// envelope is the shape of every fade: half a cosine.
var envelope = func() (e [envelopeTop + 1]float32) {
	for i := range e {
		e[i] = raisedCosine(float64(i) / envelopeTop)
	}
	return e
}()

// renderer is the callback's own memory.
type renderer struct {
	mixed uint64 // samples of the mix so far
	mix   [mixChunk]float32
	out   [2 * mixChunk]float32
	up    up2
	spare int    // frames left over in out, 0 or 1: a card may ask for an odd number
	quiet int    // samples of pure silence that went into the filter
	now   uint64 // where in the mix the card plays, of the current callback; it never goes back
	line  jitter

	volume, cues, duck ramp
	spoke              int // samples since speech last sounded
	marks              marks

	// of the current chunk
	base   time.Duration // when the chunk's first frame leaves the card
	gen    uint64
	hush   bool
	speech bool // speech sounds in this chunk
	awaits bool // speech is here, and waits for more of it before it sounds
}

func (r *renderer) start(s *Speaker) {
	r.volume.now = math.Float32frombits(s.volume.Load())
	r.cues.now = math.Float32frombits(s.cueVolume.Load())
	r.duck.now = 1
	r.spoke = duckHold
	r.quiet = halfTaps
}

// ramp is a gain on its way.
type ramp struct{ now float32 }

// next moves by n samples and returns the gain before the first of them and its change per sample.
func (r *ramp) next(target, slew float32, n int) (g, dg float32) {
	g = r.now
	most := slew * float32(n)
	r.now += max(-most, min(most, target-g))
	return g, (r.now - g) / float32(n)
}

// Render fills out (CardRate, mono). It is the callback: give it to Card.OpenPlayback. One thread at a time.
func (s *Speaker) Render(out []int16) {
	r := &s.render
	now := s.now()
	queued := time.Duration(s.queued.Load())
	started := r.mixed
	r.now = max(r.now, started-min(started, uint64(samplesAt(queued, Rate))))
	peak := int16(0)
	stretch := mixChunk
	if len(r.marks.ring) > 0 {
		stretch = markStep
	}
	silent := r.spare == 0
	for done := 0; done < len(out); {
		if r.spare > 0 {
			out[done] = Saturate(r.out[0])
			r.spare = 0
			if out[done] != 0 {
				s.lastAudible.Store(int64(now + queued + CardDuration(done+1)))
			}
			done++
			continue
		}
		n := min(stretch, (len(out)-done+1)/2)
		if len(r.marks.ring) > 0 {
			s.setMark()
		}
		r.base = now + queued + CardDuration(done)
		if !s.mixNext(r.mix[:n]) {
			clear(out[done:min(len(out), done+2*n)])
			r.out[2*n-1] = 0 // it may become the spare frame, which must not be one of an old sound
		} else {
			silent = false
			r.up.process(r.out[:2*n], r.mix[:n])
			last := -1
			for i, v := range r.out[:min(2*n, len(out)-done)] {
				x := Saturate(v)
				out[done+i] = x
				if x != 0 {
					last = done + i
					peak = max(peak, x, -x-1)
				}
			}
			if last >= 0 {
				s.lastAudible.Store(int64(now + queued + CardDuration(last+1)))
			}
		}
		if done+2*n > len(out) {
			r.out[0], r.spare = r.out[2*n-1], 1
		}
		done += 2 * n
	}
	s.level.Store(int32(peak))
	s.silent.Store(silent)
	s.callbacks.Add(1)
	s.clock.set(now, started, r.mixed)
	if !r.marks.trial.on {
		s.settle()
	}
}

// mixNext mixes the next samples of all sources into mix; false: nothing sounds and nothing rings on in the filter.
func (s *Speaker) mixNext(mix []float32) bool {
	r, n := &s.render, len(mix)
	clear(mix)
	r.gen = s.gen.Load()
	r.hush = s.hushed.Load() == r.gen
	g, dg := r.volume.next(math.Float32frombits(s.volume.Load()), gainSlew, n)
	any := false

	r.speech, r.awaits = false, false
	ducked := false
	for i := range s.slots {
		c := s.slots[i].Load()
		if c == nil || c.finished.Load() {
			continue
		}
		switch c.kind {
		case SourceSpeech, SourceWords, SourceCall:
			if c.mixInto(r, mix, g, dg) > 0 {
				any, r.speech = true, true
			}
		case SourceContent:
			ducked = ducked || c.ducked.Load() && c.gen == r.gen && !c.cut.Load()
		}
	}
	target := float32(1)
	if r.spoke += n; r.speech {
		r.spoke = 0
	}
	if r.spoke < duckHold || ducked {
		target = duckLevel
	}
	d, dd := r.duck.next(target, duckSlew, n)
	cg, cdg := r.cues.next(math.Float32frombits(s.cueVolume.Load()), gainSlew, n)
	for i := range s.slots {
		c := s.slots[i].Load()
		if c == nil || c.finished.Load() {
			continue
		}
		switch c.kind {
		case SourceContent: // the product of two slow ramps is close enough to a ramp
			any = c.mixInto(r, mix, g*d, (g+dg*float32(n))*(d+dd*float32(n))/float32(n)-g*d/float32(n)) > 0 || any
		case SourceCue:
			any = c.mixInto(r, mix, cg, cdg) > 0 || any
		}
	}
	r.mixed += uint64(n)
	if any {
		r.quiet = 0
		return true
	}
	if r.quiet >= halfTaps {
		return false
	}
	r.quiet += n
	return true
}
