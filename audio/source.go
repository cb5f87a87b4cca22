package audio

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Source is one producer's way to the speaker. Samples are 24 kHz, mono. All methods may be called from any goroutine;
// writers take turns.
type Source struct {
	// fixed after Open
	speaker *Speaker
	kind    SourceKind
	gen     uint64
	serial  uint64  // no two of a speaker have the same
	limit   int     // samples queued at most
	clip    []int16 // instead of a ring, for a cue
	loop    bool
	opened  time.Duration
	writer  chan struct{} // held by who writes, and by who takes the ring away
	space   chan struct{} // Watch to a waiting writer
	dead    chan struct{} // closed with drained
	drained chan struct{}
	endTold sync.Once

	ring *ring // writer and callback, until finished; then Watch

	// atomic
	closed    atomic.Bool   // by Close
	paused    atomic.Bool   // by Pause
	ducked    atomic.Bool   // by Duck
	held      atomic.Bool   // by Hold, until Release
	released  atomic.Int64  // by Release: when
	stop      atomic.Bool   // by StopLoop: end softly
	live      atomic.Bool   // by Live
	waiting   atomic.Bool   // by Write: wants space
	cut       atomic.Bool   // by Cut, and by Watch when the card stands still
	dry       atomic.Bool   // by the callback: somewhere in what the card holds it had too little
	rendered  atomic.Uint64 // by the callback: samples handed over at full level, from the beginning, without those skipped
	end       atomic.Uint64 // by the callback, before finished: where in the mix the last one is
	lastSound atomic.Int64  // by the callback: when what it handed over last leaves the card
	finished  atomic.Bool   // by the callback: it will never touch this source again, unless it goes back
	left      atomic.Bool   // by Watch: nor then
	faded     atomic.Uint64 // by the callback: samples there were when the source ran dry; the last of them sounded fading
	fadedEnd  atomic.Uint64 // by the callback, before faded: where in the mix that was over
	heard     atomic.Uint64 // Heard never goes back
	holes     atomic.Uint32 // by the callback
	placed    placements

	play playState // owned by the callback
	came arrivals  // likewise; as it was, wherever the callback goes back to
}

func (s *Speaker) newSource(kind SourceKind, gen uint64) *Source {
	return &Source{
		speaker: s, kind: kind, gen: gen, serial: s.serials.Add(1),
		writer:  make(chan struct{}, 1),
		space:   make(chan struct{}, 1),
		dead:    make(chan struct{}),
		drained: make(chan struct{}),
	}
}

// over says that nothing of this source will sound any more.
func (c *Source) over() bool { return c.gen != c.speaker.gen.Load() || c.cut.Load() }

// settled says that what the card holds of this source was rendered after the last change.
func (c *Source) settled() bool { return c.left.Load() || c.speaker.settled() }

// untried has f look at what the callback says of its sources, and not while it tries what it may not keep: until it has
// done so in peace, though a thread that stands still there is not waited for.
func (s *Speaker) untried(f func()) {
	for range 100 {
		n := s.trials.Load()
		if f(); n%2 == 0 && s.trials.Load() == n {
			return
		}
		runtime.Gosched()
	}
}

// Write blocks while the buffer is full; it returns the samples accepted, fewer than len(pcm) only when the source is
// dead, closed, or ctx ended.
func (c *Source) Write(ctx context.Context, pcm []int16) int {
	select {
	case c.writer <- struct{}{}:
	case <-c.dead:
		return 0
	case <-ctx.Done():
		return 0
	}
	defer func() { <-c.writer }()
	for done := 0; ; {
		if c.over() || c.closed.Load() || c.ring == nil {
			return done
		}
		done += c.ring.write(pcm[done:], c.limit)
		if c.dry.Load() { // the callback could have used it
			c.speaker.change()
		}
		if done == len(pcm) {
			return done
		}
		c.waiting.Store(true)
		if c.hasRoom() { // it may have come before we said that we wait
			c.waiting.Store(false)
			continue
		}
		select {
		case <-c.space:
		case <-c.dead:
			return done
		case <-ctx.Done():
			return done
		}
	}
}

// hasRoom: enough to be worth waking a writer for.
func (c *Source) hasRoom() bool { return c.limit-c.ring.queued() >= c.limit/16 }

// wakeWriter is called by Watch.
func (c *Source) wakeWriter() {
	if c.waiting.Load() && c.hasRoom() {
		c.waiting.Store(false)
		select {
		case c.space <- struct{}{}:
		default:
		}
	}
}

// takeRing is called by Watch after finished; false if somebody is inside Write.
func (c *Source) takeRing() (*ring, bool) {
	select {
	case c.writer <- struct{}{}:
		r := c.ring
		c.ring = nil
		<-c.writer
		return r, true
	default:
		return nil, false
	}
}

// Close says that no more comes. It does not wait; see Drained.
func (c *Source) Close() {
	c.closed.Store(true)
	c.speaker.change() // what was faded, or waited, because more might come
}

// Cut silences this source alone, for good, what is buffered included, as Drop does all of them: the next callback fades
// it out, a waiting writer is let go, and Drained is closed. It never waits.
func (c *Source) Cut() {
	c.cut.Store(true)
	c.speaker.change()
	c.tellOver()
}

// Pause fades the source out where it is (content that cannot be ducked), Resume fades it in there.
func (c *Source) Pause() {
	c.paused.Store(true)
	c.speaker.change()
}

// Resume: see Pause.
func (c *Source) Resume() {
	c.paused.Store(false)
	c.speaker.change()
}

// Duck has content sound softly, or as it is again, whether anybody speaks over it or not; it gets there within 100 ms. All content
// is as loud as the softest of it.
func (c *Source) Duck(on bool) {
	if c.ducked.Swap(on) != on {
		c.speaker.change()
	}
}

// Hold keeps a source silent from its beginning: its buffer fills, nothing of it sounds and Heard stays 0, until Release.
// Call it before anything is written. A Drop, a Flush and Cut end a held source like any other, for good. It is for an
// answer that is made ready while somebody else still speaks.
func (c *Source) Hold() { c.held.Store(true) }

// Live says that this source goes on whether it is heard or not, as a radio or a call does: what it brings while it is hushed
// or paused is skipped, not kept, and counts as not heard. Call it before anything is written.
func (c *Source) Live() { c.live.Store(true) }

// Release ends a Hold: what is buffered begins to sound with the next callback, without waiting for more. After a Drop it
// does nothing.
func (c *Source) Release() {
	if c.held.Load() {
		c.released.Store(int64(c.speaker.now()))
		c.held.Store(false)
		c.speaker.change()
	}
}

// waitedFor tells since when somebody has been waiting to hear the source: Watch gives up a card that stands still, and
// what is held stands still by itself.
func (c *Source) waitedFor(now time.Duration) time.Duration {
	if c.held.Load() {
		return 0
	}
	return now - max(c.opened, time.Duration(c.released.Load()))
}

// Heard is the number of samples that have left the card, by the played clock: what was handed over, less what the card
// still holds. Once the source is over it is what was handed over at full level (the fade does not count), because the
// card plays that whatever happens. Of a source that has run dry all that there was has been heard, though its last 5 ms
// sound once more, rising, when more comes.
func (c *Source) Heard() int {
	var heard uint64
	c.speaker.untried(func() { heard = c.heardNow() })
	for {
		old := c.heard.Load()
		if heard <= old {
			return int(old)
		}
		if c.heard.CompareAndSwap(old, heard) {
			return int(heard)
		}
	}
}

// heardNow is Heard, though it may go back.
func (c *Source) heardNow() uint64 {
	s := c.speaker
	heard, faded := c.rendered.Load(), c.faded.Load()
	switch over := c.over(); {
	case over && c.settled():
	default:
		pos, delay := s.clock.at(s.now(), s.queued.Load()), uint64(filterDelay)
		if over { // the callback has not gone back yet
			pos, delay = s.cutAt(), 0
		} else if c.finished.Load() && pos >= c.end.Load()+halfSpan/2 {
			return heard
		}
		if h, ok := c.placed.at(uint32(pos-min(pos, delay)), uint32(heard)); ok && heard > 0 {
			heard -= min(heard, h)
		}
		if pos < c.fadedEnd.Load()+halfSpan/2 {
			faded = 0 // not yet
		}
	}
	return max(heard, faded)
}

// Holes is how often it ran dry in the middle of what it had to say.
func (c *Source) Holes() int { return int(c.holes.Load()) }

// Drained is closed when the last sample has been played after Close, or when the source was dropped or cut, or when the
// card has stood still for five seconds with the source closed. Run (or Watch) closes it; Cut does so itself.
func (c *Source) Drained() <-chan struct{} { return c.drained }

// Silenced tells when the last audible sample leaves the card, once the source is over or played out and the callback has
// seen that; zero, false while it still sounds or if it never did. On a card that is cut off hard nobody knows before it is so.
func (c *Source) Silenced() (time.Duration, bool) {
	s := c.speaker
	if !c.finished.Load() || c.over() && !c.settled() {
		return 0, false
	}
	at := s.emptied.Load().least(c.gen, time.Duration(c.lastSound.Load()), s.fade)
	if s.hard.Load() && c.over() && at > s.now() {
		return 0, false
	}
	return at, at != 0
}

// tellOver tells everybody who waits that it is over.
func (c *Source) tellOver() {
	c.endTold.Do(func() {
		close(c.dead)
		close(c.drained)
	})
}
