package audio

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// SourceKind is what a source carries; it decides mixing.
type SourceKind uint8

// Kinds of sources, in the order of the coordinator's words for them.
const (
	SourceSpeech  SourceKind = iota // the companion; ducks content, ends a repeating cue
	SourceContent                   // a stream: a book, a radio
	SourceWords                     // local words for a failure; ducks like speech
	SourceCue                       // an earcon, started by Play
	SourceCall                      // somebody who speaks just now; ducks like speech, and waits for nothing
)

// Bounds of the speaker. What happens at each is said where it is enforced.
const (
	Slots          = 16               // sources at once; beyond, Open returns a dead one
	SpeechBuffer   = 60 * time.Second // a cloud voice speaks several times faster than a person listens
	ContentBuffer  = 2 * time.Second
	wordsBuffer    = 6 * time.Second
	callBuffer     = 40 * time.Millisecond // of a call: it is as much later than it could be
	callPrime      = 15 * time.Millisecond // and it begins with so much; whoever writes it has waited for what comes late
	maxFade        = 5 * time.Millisecond
	watchPeriod    = 5 * time.Millisecond
	stalledCard    = 100 * time.Millisecond // without a callback, or what the card holds: dead sources are taken away from it by force
	abandonedAfter = 5 * time.Second        // without a callback, a closed source is given up: nobody can hear it
)

// SpeakerConfig says how a speaker behaves. Zero values mean the defaults.
type SpeakerConfig struct {
	Fade     time.Duration        // from the callback that sees a Drop to its last non-zero frame; 1..5 ms, default 3 ms
	Prime    time.Duration        // queued before a source starts; default 80 ms
	Rebuffer time.Duration        // queued before it goes on after an underrun; default 80 ms
	Now      func() time.Duration // the clock of all facts; default: time since NewSpeaker
	Volume   *int                 // 0..100, default 70
	Cues     *int                 // volume of cues, 0..100, default 60
}

// Speaker is the loudspeaker: up to Slots sources mixed into one stream.
//
//	Write ─> ring of the source ─┐
//	Play  ─> clip ───────────────┤ Render: the card's audio thread ─> x2 ─> card
//	Drop  ─> generation + 1 ─────┘ (renders only sources of the current generation)
//	Watch <─ finished, played: wakes writers, closes Drained, frees slots (Run's goroutine, every 5 ms while sources exist)
//
// How the callback gets along without a lock: a slot is one atomic pointer. Open publishes a source; the callback plays
// it until it is over, sets finished as the last thing it ever does with it, and passes over finished sources from then
// on; only then does Watch empty the slot and give the ring to the next source. A callback that still holds the old
// pointer reads finished and nothing else.
type Speaker struct {
	// fixed after NewSpeaker
	now      func() time.Duration
	fade     time.Duration
	fadeStep int32
	prime    int // samples
	rebuffer int
	wake     chan struct{}

	// atomic, set by anyone
	gen       atomic.Uint64 // only sources of this generation sound
	hushed    atomic.Uint64 // the generation that Hush holds; another one is not held
	volume    atomic.Uint32 // gain as float bits
	cueVolume atomic.Uint32
	queued    atomic.Int64 // ns from the callback to the air
	slots     [Slots]atomic.Pointer[Source]

	// atomic, set by the callback
	clock       playedClock
	callbacks   atomic.Uint64
	underruns   atomic.Uint64
	lastAudible atomic.Int64
	level       atomic.Int32
	silent      atomic.Bool // the last callback was: nothing sounded, and nothing rang on

	// atomic; see rewind.go
	changes        atomic.Uint64 // of anything but the generation and the volumes; set by anyone
	rewinds        atomic.Bool
	period, margin atomic.Int64  // of the card, in ns
	reach          atomic.Uint64 // the callback goes back to no earlier place in the mix
	settledGen     atomic.Uint64 // what the callback had seen of gen and changes when it last rendered
	settledChanges atomic.Uint64
	trials         atomic.Uint64          // odd: the callback tries what may not be kept
	waker          atomic.Pointer[Stream] // nil: the card calls back in its own time

	render renderer // owned by the callback

	serials atomic.Uint64 // of sources

	mu      sync.Mutex // Open, Play, Watch; never the callback
	spare   *ring      // of speech; the others are small enough to make anew
	down    bool       // Run has ended
	since   time.Duration
	refused atomic.Uint64
	gaveUp  atomic.Uint64

	// guarded by mu; see rest.go
	card      Stream // nil: none was opened by OpenOn
	resting   bool
	restFrom  uint64 // callbacks when the last source was opened or left
	restTried int

	// guarded by mu; see harddrop.go
	flushedGen uint64

	// atomic; see harddrop.go
	hard    atomic.Bool // what is dropped fades too late: it is flushed
	emptied atomic.Pointer[hardCut]
	newest  atomic.Uint64 // generation of the source that was opened last
}

// NewSpeaker makes a speaker. Give its Render to Card.OpenPlayback, tell it SetQueued what was granted, and start Run.
func NewSpeaker(c SpeakerConfig) *Speaker {
	c.Fade = cmp.Or(c.Fade, 3*time.Millisecond)
	c.Prime = cmp.Or(c.Prime, 80*time.Millisecond)
	c.Rebuffer = cmp.Or(c.Rebuffer, 80*time.Millisecond)
	if c.Now == nil {
		start := time.Now()
		c.Now = func() time.Duration { return time.Since(start) }
	}
	// The filter goes on for halfSpan frames after the last sample that is not zero: that much is not ours to fade.
	fade := max(500*time.Microsecond, min(maxFade, c.Fade)-CardDuration(halfSpan))
	s := &Speaker{
		now:      c.Now,
		fade:     c.Fade,
		fadeStep: int32(math.Ceil(envelopeTop / float64(Samples(fade)))),
		prime:    Samples(c.Prime),
		rebuffer: Samples(c.Rebuffer),
		wake:     make(chan struct{}, 1),
		spare:    newRing(Samples(SpeechBuffer)),
	}
	s.gen.Store(1)
	s.since = s.now()
	s.queued.Store(int64(15 * time.Millisecond))
	volume, cues := 70, 60
	if c.Volume != nil {
		volume = *c.Volume
	}
	if c.Cues != nil {
		cues = *c.Cues
	}
	s.SetVolume(volume)
	s.SetCueVolume(cues)
	s.render.start(s)
	return s
}

// Drop silences everything written so far, for good, and returns the new generation. It is one atomic operation, and a sign to a
// card that takes one, and may be called from any goroutine. The next callback fades what still sounds (see SpeakerConfig.Fade); after a Hush there
// is nothing left to fade and the silence simply continues.
func (s *Speaker) Drop() uint64 {
	g := s.gen.Add(1)
	s.hurry()
	return g
}

// Generation is the current generation.
func (s *Speaker) Generation() uint64 { return s.gen.Load() }

// Flush is a Drop on behalf of anything but a press (a deadline, a lost session): a Hush in force stays in force, so that
// the words and cues which follow wait for what the edge turns out to be.
func (s *Speaker) Flush() uint64 {
	g := s.gen.Add(1)
	s.hushed.CompareAndSwap(g-1, g)
	s.hurry()
	return g
}

// Hush is the first edge of the button: everything fades out and stands still, nothing is consumed. It holds the current
// generation, and those that a Flush begins meanwhile; what is opened after the next Drop sounds at once.
func (s *Speaker) Hush() {
	for g := s.gen.Load(); ; g = s.gen.Load() {
		s.hushed.Store(g)
		if s.gen.Load() == g { // else somebody dropped in between, and g holds nothing
			s.hurry()
			return
		}
	}
}

// Unhush takes a Hush back, because the edge was a glitch: everything fades in again where it was. After a Drop it
// does nothing.
func (s *Speaker) Unhush() {
	s.hushed.Store(0)
	s.hurry()
}

// Silenced is another number than before whenever a Drop, a Flush, a Hush or an Unhush came between.
func (s *Speaker) Silenced() uint64 { return s.gen.Load()<<32 | s.hushed.Load()&math.MaxUint32 }

// SetVolume takes 0..100 for everything but cues; SetCueVolume is theirs. Both glide.
func (s *Speaker) SetVolume(percent int) { s.volume.Store(math.Float32bits(Gain(percent))) }

// SetCueVolume takes 0..100 for cues.
func (s *Speaker) SetCueVolume(percent int) { s.cueVolume.Store(math.Float32bits(Gain(percent))) }

// SetQueued tells how long a frame waits in the card before it sounds: Granted.Queued of the open device.
func (s *Speaker) SetQueued(d time.Duration) { s.queued.Store(int64(d)) }

// Open starts a source of the given generation. If that is not the current one, or Slots sources are alive already, or
// Run has ended, the source is born dead: it swallows what is written, and Drained is closed.
func (s *Speaker) Open(kind SourceKind, generation uint64) *Source {
	length := SpeechBuffer
	switch kind {
	case SourceContent:
		length = ContentBuffer
	case SourceWords:
		length = wordsBuffer
	case SourceCall:
		length = callBuffer
	}
	src := s.newSource(kind, generation)
	src.limit = Samples(length)
	s.publish(src, func() {
		if kind == SourceSpeech && s.spare != nil {
			src.ring, s.spare = s.spare, nil
		} else {
			src.ring = newRing(src.limit)
		}
	})
	return src
}

// Play plays pcm (24 kHz) in the given generation, at the volume of cues; with loop it repeats until StopLoop or until
// speech sounds. pcm must not be changed afterwards.
func (s *Speaker) Play(pcm []int16, loop bool, generation uint64) *Source {
	src := s.newSource(SourceCue, generation)
	src.clip, src.loop = pcm, loop && len(pcm) > 0
	src.closed.Store(true)
	s.publish(src, func() {})
	return src
}

// StopLoop fades every repeating cue out within 50 ms.
func (s *Speaker) StopLoop() {
	for i := range s.slots {
		if src := s.slots[i].Load(); src != nil && src.loop {
			src.stop.Store(true)
		}
	}
	s.change()
}

// publish puts src into a free slot after equip has given it its buffer, or makes it dead.
func (s *Speaker) publish(src *Source, equip func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || src.gen != s.gen.Load() {
		src.tellOver()
		return
	}
	slot := s.freeSlot()
	if slot == nil {
		s.watch(true) // under pressure: what is dead gives way even if its fade has not been rendered
		slot = s.freeSlot()
	}
	if slot == nil {
		s.refused.Add(1)
		src.tellOver()
		return
	}
	equip()
	src.opened = s.now()
	s.newest.Store(src.gen)
	slot.Store(src)
	s.change()
	s.endRest()
	s.poke()
}

func (s *Speaker) freeSlot() *atomic.Pointer[Source] {
	for i := range s.slots {
		if s.slots[i].Load() == nil {
			return &s.slots[i]
		}
	}
	return nil
}

// Run watches over the sources until ctx ends; then everything is dropped and every source opened later is dead.
func (s *Speaker) Run(ctx context.Context) error {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		if s.Watch() == 0 && s.rest() { // nothing to watch: sleep until something is opened
			tick.Stop()
			select {
			case <-s.wake:
				tick.Reset(watchPeriod)
				continue
			case <-ctx.Done():
			}
		} else {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
		}
		break
	}
	s.Drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	s.watch(true)
	return nil
}

// Watch does what Run does every 5 ms, once: it closes Drained of what has been played or dropped, wakes writers, frees
// slots, and returns how many sources are left. A card whose time does not pass by itself calls it after each period.
func (s *Speaker) Watch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch(false)
}

// watch needs mu. With force, dead sources leave even before the callback has let go of them.
func (s *Speaker) watch(force bool) int {
	now, gen, left := s.now(), s.gen.Load(), 0
	s.flush(now, gen)
	silent := now - max(s.clock.lastCall(), s.since) // for how long there was no callback
	stalled := silent >= max(stalledCard, time.Duration(s.queued.Load()))
	for i := range s.slots {
		src := s.slots[i].Load()
		if src == nil {
			continue
		}
		finished, dead := src.finished.Load(), src.gen != gen || src.cut.Load()
		switch {
		case dead:
			src.tellOver() // nobody needs to wait for the fade
			if (!finished || !s.outOfReach(src.end.Load())) && !force && !stalled {
				left++
				continue
			}
		case finished:
			if s.clock.at(now, s.queued.Load()) < src.end.Load()+halfSpan/2 && !stalled {
				left++
				continue // handed over, not yet heard
			}
			src.tellOver()
			if !s.outOfReach(src.end.Load()) && !stalled {
				left++
				continue
			}
		case src.closed.Load() && min(silent, src.waitedFor(now)) >= abandonedAfter:
			s.gaveUp.Add(1)
			src.Cut()
		default:
			src.wakeWriter()
			left++
			continue
		}
		if finished && src.kind == SourceSpeech && s.spare == nil && s.outOfReach(src.end.Load()) {
			r, ok := src.takeRing()
			if !ok && !force {
				left++
				continue // somebody is still inside Write, on the way out
			}
			if r != nil {
				r.reset()
				s.spare = r
			}
		}
		s.slots[i].Store(nil)
		src.left.Store(true)
		s.restless()
	}
	if s.spare == nil && left == 0 {
		s.spare = newRing(Samples(SpeechBuffer))
	}
	return left
}

// Stats is what the speaker has counted.
type Stats struct {
	Callbacks uint64
	Underruns uint64 // a source had nothing to play before it was closed
	Refused   uint64 // sources born dead because all slots were taken
	Abandoned uint64 // sources given up because the card stood still
}

// Stats may be called from any goroutine.
func (s *Speaker) Stats() Stats {
	return Stats{
		Callbacks: s.callbacks.Load(),
		Underruns: s.underruns.Load(),
		Refused:   s.refused.Load(),
		Abandoned: s.gaveUp.Load(),
	}
}

// LastAudible is when the last non-zero frame handed to the card so far leaves it, or when it was thrown away there; zero when
// there was none.
func (s *Speaker) LastAudible() time.Duration {
	return s.emptied.Load().least(s.newest.Load(), time.Duration(s.lastAudible.Load()), s.fade)
}

// Level is the peak of the last callback, 0..32767, for lights.
func (s *Speaker) Level() int { return int(s.level.Load()) }
