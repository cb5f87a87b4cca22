package audio

import (
	"math"
	"sync/atomic"
	"time"
)

// What the callback does. Everything here runs on the card's audio thread: no allocation, lock, channel, log or format.
//
//	for each 5 ms or less:  generation, hush ─> speech, words ─> content (ducked) ─> cues ─> x2 ─> frames
//
// The mix is made at Rate, and raised to CardRate once, whatever the number of sources.

const (
	mixChunk    = Rate / 200 // samples mixed at a time: the generation is looked at anew for each
	filterDelay = 11         // samples of Rate from the mix to the middle of the filter

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
	s.frames.Add(uint64(len(out)))
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
	for i := range s.slots {
		if c := s.slots[i].Load(); c != nil && !c.finished.Load() && (c.kind == SourceSpeech || c.kind == SourceWords) {
			if c.render(r, mix, g, dg) > 0 {
				any, r.speech = true, true
			}
		}
	}
	target := float32(1)
	if r.spoke += n; r.speech {
		r.spoke = 0
	}
	if r.spoke < duckHold {
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
			any = c.render(r, mix, g*d, (g+dg*float32(n))*(d+dd*float32(n))/float32(n)-g*d/float32(n)) > 0 || any
		case SourceCue:
			any = c.render(r, mix, cg, cdg) > 0 || any
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

// playState is what the callback knows of a source.
type playState struct {
	playing bool
	begin   beginning
	dryAt   uint64 // when it ran dry
	read    uint64 // next sample to play
	skipped uint64 // samples that a live source let pass
	peeked  uint64 // samples before this have sounded at some level
	saw     uint64 // written, when last seen to grow
	waited  int    // samples since
	env     int32  // 0..envelopeTop
	over    bool   // a loop: speech has sounded
}

// beginning is how a source that does not play begins to.
type beginning uint8

const (
	beginFirst  beginning = iota // for the first time
	beginAgain                   // where it stood still: hushed, paused, held
	beginDry                     // it ran dry: if more comes soon, that was a hole
	beginPaused                  // more came after a pause of its own
)

// enough is how many samples it begins with, and how long it waits at most, in samples, for another one.
func (c *Source) enough(r *renderer) (need, wait int) {
	p := &c.play
	need, wait = c.speaker.rebuffer, waitAtMost
	if p.begin == beginFirst {
		need = c.speaker.prime
	}
	if c.kind != SourceSpeech || p.begin == beginAgain {
		return need, wait
	}
	line := r.line
	if p.begin == beginDry {
		line = line.hole(r.base, c.came.need)
	}
	extra := line.now(r.base)
	return need + extra, wait + min(extra, extraHole)
}

// hole: it ran dry in the middle of what it had to say.
func (c *Source) hole(r *renderer) {
	if c.kind == SourceSpeech {
		c.holes.Add(1)
		r.line = r.line.hole(r.base, c.came.need)
	}
}

// render mixes the source into mix and returns for how many samples it sounded.
//
// A fade out reads ahead without consuming: when it ends (hush, pause, underrun), the position is back where the fade
// began, and what comes next fades in from there; nothing is lost.
func (c *Source) render(r *renderer, mix []float32, g, dg float32) int {
	p := &c.play
	dead := c.gen != r.gen || c.cut.Load()
	p.over = p.over || c.loop && r.speech // for good: thinking is over
	ending := c.loop && (c.stop.Load() && !r.awaits || p.over)
	held := c.held.Load()
	hold := r.hush || c.paused.Load() || held
	closed := c.closed.Load() // before written: once closed, written is final
	written := c.written()
	if c.kind == SourceSpeech {
		if p.begin == beginDry && written != c.came.seen && c.came.at <= p.dryAt && r.mixed-p.dryAt > pauseAfter {
			p.begin = beginPaused
		}
		c.came = c.came.saw(r.now, written)
	}

	if !p.playing {
		from := p.skipped + c.rendered.Load()
		need, wait := c.enough(r)
		switch {
		case dead || ending:
			c.finish(r)
			return 0
		case hold:
			if held && !r.hush && written-from >= 1 { // it has had its time to become more
				p.saw, p.waited, p.begin = written, waitedEnough, beginAgain
			}
			if held {
				c.lacks(written)
			} else if c.live.Load() {
				c.skip(min(written, from+uint64(len(mix))))
			}
			return 0
		case closed && written <= max(from, p.peeked):
			c.rendered.Store(written - p.skipped) // the rest has sounded, fading
			c.finish(r)
			return 0
		case !closed && written-from < uint64(need):
			if written != p.saw {
				p.saw, p.waited = written, 0
			}
			p.waited += len(mix)
			if p.waited < wait || written-min(written, max(from, p.peeked)) <= underrunTail {
				r.awaits = r.awaits || c.kind == SourceSpeech && p.waited < wait && written > max(from, p.peeked)
				c.lacks(written)
				return 0
			}
		}
		if p.begin == beginDry {
			c.hole(r)
		}
		p.waited = 0
		p.playing, p.read, p.env = true, from, 0
		if c.clip != nil && p.begin == beginFirst {
			p.env = envelopeTop // a cue has its own attack
		}
		c.history.push(uint32(r.mixed), uint32(c.rendered.Load()))
	}

	level, down := len(mix), int32(0) // samples to play at level (or rising to it), step of the fade that follows
	switch {
	case dead || hold:
		level, down = 0, -c.speaker.fadeStep
	case ending:
		level, down = 0, -loopStep
	case !closed:
		if left := int(written - p.read); left < len(mix)+underrunTail {
			level, down = max(0, left-underrunTail), -underrunStep
			c.lacks(written)
		}
	}

	n := 0
	tail := uint64(math.MaxUint64) // where the data ends, once that is known
	if closed {
		tail = written
	}
	if level > 0 {
		n = c.run(mix[:min(level, len(mix))], c.speaker.fadeStep, g, dg, min(tail, written), tail)
		c.consume(p.read)
	}
	if closed && p.read >= written {
		c.sounded(r, n)
		c.consume(written)
		c.history.push(uint32(r.mixed)+uint32(len(mix)), uint32(c.rendered.Load()))
		c.finishAt(r, n)
		return n
	}
	if down != 0 && n < len(mix) {
		from := float32(n)
		n += c.run(mix[n:], down, g+dg*from, dg, written, tail)
		p.peeked = max(p.peeked, p.read)
		if p.env == 0 || p.read >= written {
			p.playing, p.begin, p.env = false, beginAgain, 0
			switch {
			case dead || ending:
				c.sounded(r, n)
				c.finishAt(r, n)
				return n
			case !hold:
				p.begin, p.dryAt = beginDry, r.mixed
				c.speaker.underruns.Add(1)
				if p.read >= written {
					c.fadedEnd.Store(r.mixed + uint64(n))
					c.faded.Store(p.read - p.skipped)
				}
			case c.live.Load() && !held:
				c.skip(min(written, p.read+uint64(len(mix)-n))) // the rest of the chunk, too
			}
		}
	}
	c.history.push(uint32(r.mixed)+uint32(len(mix)), uint32(c.rendered.Load()))
	c.sounded(r, n)
	return n
}

// consume gives what was played back to the writer.
func (c *Source) consume(to uint64) {
	c.rendered.Store(to - c.play.skipped)
	c.release(to)
}

// skip lets pass what nobody hears, up to position to.
func (c *Source) skip(to uint64) {
	c.play.skipped = to - c.rendered.Load()
	c.release(to)
}

func (c *Source) release(to uint64) {
	if c.ring != nil && len(c.speaker.render.marks.ring) == 0 { // else setMark does, when it is out of reach
		c.ring.release(to)
	}
}

// lacks notes that the source had too little to go on with, of which it had found so many written: what comes later changes
// the mix, up to where it was so (Rewind forgets it).
func (c *Source) lacks(written uint64) {
	if !c.dry.Load() {
		c.dry.Store(true)
	}
	if c.written() != written { // it came meanwhile, from somebody who had not seen it
		c.speaker.changes.Add(1) // this is the callback: it looks again by itself
	}
}

// sounded notes when the last of n samples of this chunk leaves the card, the filter's tail included.
func (c *Source) sounded(r *renderer, n int) {
	if n > 0 {
		c.lastSound.Store(int64(r.base + CardDuration(2*n-1+halfSpan)))
	}
}

func (c *Source) finish(r *renderer) { c.finishAt(r, 0) }

// finishAt is the last thing the callback does with a source: it ends n samples into this chunk.
func (c *Source) finishAt(r *renderer, n int) {
	if c.kind == SourceSpeech {
		r.line = r.line.learn(r.base, c.came.need, c.speaker.prime)
	}
	c.end.Store(r.mixed + uint64(n))
	c.finished.Store(true)
}

// written is the position after the last sample there is.
func (c *Source) written() uint64 {
	switch {
	case c.loop:
		return math.MaxUint64 / 2
	case c.ring != nil:
		return c.ring.written()
	}
	return uint64(len(c.clip))
}

// at returns up to n samples from position p, at least one.
func (c *Source) at(p uint64, n int) []int16 {
	if c.ring != nil {
		return c.ring.at(p, n)
	}
	seg := c.clip[p%uint64(len(c.clip)):]
	return seg[:min(n, len(seg))]
}

// run plays from p.read into mix until mix is full, end is reached, or a falling envelope is at 0. The envelope moves by
// step a sample; before tail, if that is known, it comes down by itself, because data that ends anywhere clicks.
func (c *Source) run(mix []float32, step int32, g, dg float32, end, tail uint64) int {
	p, n := &c.play, 0
	tailSamples := uint64(envelopeTop / c.speaker.fadeStep)
	for n < len(mix) && p.read < end && (step > 0 || p.env > 0) {
		seg := c.at(p.read, min(len(mix)-n, int(min(end-p.read, mixChunk))))
		if p.env == envelopeTop && step > 0 && dg == 0 && tail-p.read >= uint64(len(seg))+tailSamples {
			for i, x := range seg {
				mix[n+i] += float32(x) * g
			}
			n += len(seg)
			p.read += uint64(len(seg))
			continue
		}
		for _, x := range seg {
			p.env = max(0, min(envelopeTop, p.env+step))
			e := p.env
			if left := tail - p.read; left <= tailSamples {
				e = min(e, int32(left)*c.speaker.fadeStep)
			}
			mix[n] += float32(x) * envelope[e] * (g + dg*float32(n))
			n++
			p.read++
			if p.env == 0 {
				break
			}
		}
	}
	return n
}

// playedClock relates the mix to time: at callback time t the card was handed the mix from position a to b.
// One writer (the callback), any number of readers (seqlock: odd while it is being written).
type playedClock struct {
	seq  atomic.Uint32
	t    atomic.Int64
	a, b atomic.Uint64
}

func (k *playedClock) set(t time.Duration, a, b uint64) {
	k.seq.Add(1)
	k.t.Store(int64(t))
	k.a.Store(a)
	k.b.Store(b)
	k.seq.Add(1)
}

// last is the time of the last callback; zero before the first.
func (k *playedClock) last() time.Duration { return time.Duration(k.t.Load()) }

// at is the position in the mix that leaves the card at now, if a frame waits there for queued ns.
func (k *playedClock) at(now time.Duration, queued int64) uint64 {
	for try := 0; ; try++ {
		seq := k.seq.Load()
		t, a, b := k.t.Load(), k.a.Load(), k.b.Load()
		if (seq&1 != 0 || k.seq.Load() != seq) && try < 100 {
			continue // the callback is between two stores: nanoseconds. At the bound we may be wrong by a period.
		}
		since := int64(now) - t - queued
		if since < 0 {
			back := uint64(samplesAt(time.Duration(-since), Rate)) + 1
			return a - min(a, back)
		}
		return min(b, a+uint64(samplesAt(time.Duration(since), Rate)))
	}
}

// history remembers which of a source's samples went where in the mix: after each chunk, (position in the mix, samples
// rendered). The oldest are overwritten: 256 chunks are 128 ms at 0.5 ms, more than any card queues.
type history struct {
	n    atomic.Uint64
	ring [256]atomic.Uint64
}

func (h *history) push(mix, rendered uint32) {
	n := h.n.Load()
	h.ring[n%uint64(len(h.ring))].Store(uint64(mix)<<32 | uint64(rendered))
	h.n.Store(n + 1)
}

// at tells how many of the rendered samples come after position pos of the mix; false when it does not know any more.
// Positions are compared modulo 2^32 (49 hours).
func (h *history) at(pos, rendered uint32) (behind uint64, ok bool) {
	n := h.n.Load()
	var newer uint64
	have := false
	for i := n; i > 0 && n-i < uint64(len(h.ring))-2; i-- {
		e := h.ring[(i-1)%uint64(len(h.ring))].Load()
		if ahead := int32(pos - uint32(e>>32)); ahead >= 0 {
			played := uint32(e)
			if have { // a run begins where a chunk begins
				played += min(uint32(ahead), uint32(newer)-uint32(e))
			}
			return uint64(rendered - played), true
		}
		newer, have = e, true
	}
	if n > 0 && n < uint64(len(h.ring))-2 {
		return uint64(rendered), true // nothing of it has left the card
	}
	return 0, false
}
