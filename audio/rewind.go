package audio

import (
	"time"
)

// What waits in a card is a copy of the mix, and a card that can be rewound can be given another one. So whatever changes the
// mix (a press, a source that begins, a duck, a volume) makes the copy stale, and the next callback takes back what has not
// been played, goes back by as much itself, and renders it anew:
//
//	played │ margin │<──────────── taken back ────────────>│ to be filled
//	       now      └ Rewind: every source, fade and filter is as it was here; Render goes on from here
//
// Silence, and whatever begins, is then as far from the change as one period and the margin, however much the card holds.
// Nothing is lost or played twice by it: a mark is the whole state before a stretch of the mix, and what a source has given is
// not returned to its writer before it is out of reach.

// Rewinder is whoever fills a card and can go back. All calls come from the card's audio thread, between two of Render.
type Rewinder interface {
	// Keep says, before the first Render, what was granted: how far back, if at all, it may be asked to go.
	Keep(g Granted)
	// Stale says whether something has changed since it was last asked, so that what was rendered is not what should sound.
	Stale() bool
	// Rewind goes back by at most as many of the frames rendered last, and returns by how many.
	Rewind(frames int) int
	// SetQueued tells how long the next frame rendered will wait before it sounds.
	SetQueued(d time.Duration)
}

// RewindStep is the length of a stretch, in frames: a card that rewinds asks Render for whole ones.
const RewindStep = 2 * markStep

const markStep = Rate / 2000 // samples: 0.5 ms

// mark is what the callback knew before a stretch.
type mark struct {
	mixed, underruns   uint64
	past               [halfTaps - 1]float32
	quiet, spoke       int
	volume, cues, duck ramp
	line               jitter
	lastAudible        int64
	sources            [Slots]sourceMark
}

type sourceMark struct {
	serial                uint64 // of the source; 0: none
	play                  playState
	rendered, end, pushed uint64
	lastSound             int64
	faded, fadedEnd       uint64
	holes                 uint32
	finished              bool
}

// marks is owned by the callback.
type marks struct {
	ring     []mark // empty: never
	first, n uint64 // those that can be gone back to: from first to before n
	seen     state
}

// state is what others may change under the callback, as it was when Stale looked.
type state struct {
	gen, hushed, changes uint64
	volume, cues         uint32
}

// Keep implements Rewinder.
func (s *Speaker) Keep(g Granted) {
	m := &s.render.marks
	m.ring, m.first, m.n = nil, 0, 0
	if g.Rewinds() {
		m.ring = make([]mark, g.Period*g.Periods/RewindStep+2)
		s.period.Store(int64(CardDuration(g.Period)))
		s.margin.Store(int64(CardDuration(g.Margin)))
	}
	s.rewinds.Store(g.Rewinds())
	s.reach.Store(s.render.mixed)
}

// Stale implements Rewinder.
func (s *Speaker) Stale() bool {
	now := state{s.gen.Load(), s.hushed.Load(), s.changes.Load(), s.volume.Load(), s.cueVolume.Load()}
	old := s.render.marks.seen
	s.render.marks.seen = now
	return now != old
}

// Rewind implements Rewinder.
func (s *Speaker) Rewind(frames int) int {
	r := &s.render
	n := r.marks.n
	for n > r.marks.first && 2*(r.mixed-r.marks.at(n-1).mixed) <= uint64(max(0, frames)) {
		n--
	}
	if n == r.marks.n {
		return 0
	}
	to := r.marks.at(n)
	back := 2 * (r.mixed - to.mixed)
	r.marks.n = n
	r.mixed, r.quiet, r.spoke = to.mixed, to.quiet, to.spoke
	r.volume, r.cues, r.duck, r.line = to.volume, to.cues, to.duck, to.line
	copy(r.up.past[:], to.past[:])
	s.underruns.Store(to.underruns)
	s.lastAudible.Store(to.lastAudible)
	for i := range s.slots {
		if c := s.slots[i].Load(); c != nil {
			c.rewind(&to.sources[i])
		}
	}
	return int(back)
}

func (m *marks) at(i uint64) *mark { return &m.ring[i%uint64(len(m.ring))] }

// rewind makes the source what it was at the mark; one that did not exist then has not begun.
func (c *Source) rewind(to *sourceMark) {
	was := *to
	if was.serial != c.serial {
		was = sourceMark{}
	}
	c.play = was.play
	c.dry.Store(false)
	c.history.n.Store(was.pushed)
	c.rendered.Store(was.rendered)
	c.lastSound.Store(was.lastSound)
	c.end.Store(was.end)
	c.holes.Store(was.holes)
	c.fadedEnd.Store(was.fadedEnd)
	c.faded.Store(was.faded)
	c.finished.Store(was.finished)
}

// setMark is called before each stretch. What falls out of reach is given back to its writers, and may be taken away by Watch.
func (s *Speaker) setMark() {
	r := &s.render
	m := r.marks.at(r.marks.n)
	r.marks.n++
	r.marks.first = max(r.marks.first, r.marks.n-min(r.marks.n, uint64(len(r.marks.ring))))
	m.mixed, m.quiet, m.spoke = r.mixed, r.quiet, r.spoke
	m.volume, m.cues, m.duck, m.line = r.volume, r.cues, r.duck, r.line
	m.underruns, m.lastAudible = s.underruns.Load(), s.lastAudible.Load()
	copy(m.past[:], r.up.past[:])
	oldest := r.marks.at(r.marks.first)
	for i := range s.slots {
		k := &m.sources[i]
		c := s.slots[i].Load()
		if c == nil {
			k.serial = 0
			continue
		}
		*k = sourceMark{serial: c.serial, play: c.play, rendered: c.rendered.Load(), end: c.end.Load(), holes: c.holes.Load(),
			pushed: c.history.n.Load(), lastSound: c.lastSound.Load(), fadedEnd: c.fadedEnd.Load(), faded: c.faded.Load(), finished: c.finished.Load()}
		if o := &oldest.sources[i]; o.serial == c.serial && c.ring != nil && !k.finished {
			c.ring.release(o.rendered)
		}
	}
	s.reach.Store(oldest.mixed)
}

// outOfReach says that the callback will never go back to before end. Where a card cannot be rewound, that is so at once.
func (s *Speaker) outOfReach(end uint64) bool { return !s.rewinds.Load() || end < s.reach.Load() }

// settled says that what the card holds was rendered after the last change.
func (s *Speaker) settled() bool {
	return !s.rewinds.Load() || s.settledGen.Load() == s.gen.Load() && s.settledChanges.Load() == s.changes.Load()
}

// cutAt is where in the mix the next callback will go back to, as far as one can tell before.
func (s *Speaker) cutAt() uint64 {
	at := max(s.now(), s.clock.last()+time.Duration(s.period.Load()))
	return s.clock.at(at+time.Duration(s.margin.Load()), s.queued.Load()) + 1 // at rounds down
}

// change makes what waits in the card stale.
func (s *Speaker) change() { s.changes.Add(1) }
