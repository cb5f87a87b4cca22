package audio

import "math"

// What the callback does with one source. Like all of render.go it runs on the card's audio thread.

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
	if c.kind == SourceCall {
		need = min(need, Samples(callPrime))
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

// instant is what others have said of a source, as the callback finds it at the beginning of a chunk.
type instant struct {
	dead    bool // dropped, or cut
	ending  bool // a loop that is over
	held    bool
	hold    bool // it stands still: hushed, paused or held
	closed  bool
	written uint64
}

func (c *Source) look(r *renderer) (n instant) {
	p := &c.play
	p.over = p.over || c.loop && r.speech // for good: thinking is over
	n.dead = c.gen != r.gen || c.cut.Load()
	n.ending = c.loop && (c.stop.Load() && !r.awaits || p.over)
	n.held = c.held.Load()
	n.hold = r.hush || c.paused.Load() || n.held
	n.closed = c.closed.Load() // before written: once closed, written is final
	n.written = c.written()
	if c.kind == SourceSpeech {
		if p.begin == beginDry && n.written != c.came.seen && c.came.at <= p.dryAt && r.mixed-p.dryAt > pauseAfter {
			p.begin = beginPaused
		}
		c.came = c.came.saw(r.now, n.written)
	}
	return n
}

// begins has a source play that did not, and says whether it does.
func (c *Source) begins(r *renderer, now instant, samples int) bool {
	p, written := &c.play, now.written
	from := p.skipped + c.rendered.Load()
	need, wait := c.enough(r)
	switch {
	case now.dead || now.ending:
		c.finishAt(r, 0)
		return false
	case now.hold:
		if now.held && !r.hush && written-from >= 1 { // it has had its time to become more
			p.saw, p.waited, p.begin = written, waitedEnough, beginAgain
		}
		if now.held {
			c.lacks(written)
		} else if c.live.Load() {
			c.skip(min(written, from+uint64(samples)))
		}
		return false
	case now.closed && written <= max(from, p.peeked):
		c.rendered.Store(written - p.skipped) // the rest has sounded, fading
		c.finishAt(r, 0)
		return false
	case !now.closed && written-from < uint64(need):
		if written != p.saw {
			p.saw, p.waited = written, 0
		}
		p.waited += samples
		if p.waited < wait || written-min(written, max(from, p.peeked)) <= underrunTail {
			r.awaits = r.awaits || c.kind == SourceSpeech && p.waited < wait && written > max(from, p.peeked)
			c.lacks(written)
			return false
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
	c.placed.push(uint32(r.mixed), uint32(c.rendered.Load()))
	return true
}

// mixInto mixes the source into mix and returns for how many samples it sounded.
//
// A fade out reads ahead without consuming: when it ends (hush, pause, underrun), the position is back where the fade
// began, and what comes next fades in from there; nothing is lost.
func (c *Source) mixInto(r *renderer, mix []float32, g, dg float32) int {
	p, now := &c.play, c.look(r)
	if !p.playing && !c.begins(r, now, len(mix)) {
		return 0
	}
	level, down := len(mix), int32(0) // samples to play at level (or rising to it), step of the fade that follows
	switch {
	case now.dead || now.hold:
		level, down = 0, -c.speaker.fadeStep
	case now.ending:
		level, down = 0, -loopStep
	case !now.closed:
		if left := int(now.written - p.read); left < len(mix)+underrunTail {
			level, down = max(0, left-underrunTail), -underrunStep
			c.lacks(now.written)
		}
	}

	n := 0
	tail := uint64(math.MaxUint64) // where the data ends, once that is known
	if now.closed {
		tail = now.written
	}
	if level > 0 {
		n = c.run(mix[:min(level, len(mix))], c.speaker.fadeStep, g, dg, min(tail, now.written), tail)
		c.consume(p.read)
	}
	if now.closed && p.read >= now.written {
		c.sounded(r, n)
		c.consume(now.written)
		c.placed.push(uint32(r.mixed)+uint32(len(mix)), uint32(c.rendered.Load()))
		c.finishAt(r, n)
		return n
	}
	if down != 0 && n < len(mix) {
		from := float32(n)
		n += c.run(mix[n:], down, g+dg*from, dg, now.written, tail)
		p.peeked = max(p.peeked, p.read)
		if p.env == 0 || p.read >= now.written {
			p.playing, p.begin, p.env = false, beginAgain, 0
			switch {
			case now.dead || now.ending:
				c.sounded(r, n)
				c.finishAt(r, n)
				return n
			case !now.hold:
				p.begin, p.dryAt = beginDry, r.mixed
				c.speaker.underruns.Add(1)
				if p.read >= now.written {
					c.fadedEnd.Store(r.mixed + uint64(n))
					c.faded.Store(p.read - p.skipped)
				}
			case c.live.Load() && !now.held:
				c.skip(min(now.written, p.read+uint64(len(mix)-n))) // the rest of the chunk, too
			}
		}
	}
	c.placed.push(uint32(r.mixed)+uint32(len(mix)), uint32(c.rendered.Load()))
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
