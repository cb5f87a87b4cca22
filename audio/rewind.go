package audio

import (
	"time"
)

// What waits in a card is a copy of the mix, and a card that can be rewound can be given another one. So whatever changes the
// mix (a press, a source that begins, a duck, a volume) makes the copy stale, and the next callback, which a press need not wait
// for (hurry), takes back what has not been played, goes back by as much itself, and renders it anew:
//
//	played │ margin │<──────────── taken back ────────────>│ to be filled
//	       now      └ Rewind: every source, fade and filter is as it was here; Render goes on from here
//
// Silence, and whatever begins, is then as far from the change as the margin, however much the card holds; as the margin and a
// period where the card cannot be told to call back at once.
// Nothing is lost or played twice by it: a mark is the whole state before a stretch of the mix, and what a source has given is
// not returned to its writer before it is out of reach. What was to be taken back may have been played by the time that it is; then
// it has sounded, and everything goes on from there (Settle).

const markStep = RewindStep / 2 // samples: 0.5 ms

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
	trial    trial
}

// trial is what is rendered between Rewind and Settle, and what it may have to give way to.
type trial struct {
	on   bool
	back int    // frames
	from uint64 // the mark gone back to …
	kept []mark // … and those from it on, whose place in the ring it takes, …
	n    uint64 // … to before this one …
	end  mark   // … where the mix ended
	// Watch may take a source away while the thread stands still, but what became of it is told to the end.
	sources [Slots]*Source
}

// state is what others may change under the callback, as it was when Stale looked.
type state struct {
	gen, hushed, changes uint64
	volume, cues         uint32
}

// Keep implements Rewinder.
func (s *Speaker) Keep(g Granted) {
	m := &s.render.marks
	s.endTrial()
	m.ring, m.first, m.n, m.trial = nil, 0, 0, trial{}
	if g.Rewinds() {
		m.ring = make([]mark, g.Period*g.Periods/RewindStep+2)
		m.trial.kept = make([]mark, g.Period/RewindStep+1)
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
	to, t := r.marks.at(n), &r.marks.trial
	s.trials.Add(1)
	for i := range s.slots {
		t.sources[i] = s.slots[i].Load()
	}
	t.on, t.back, t.from, t.n = true, int(2*(r.mixed-to.mixed)), n, r.marks.n
	s.note(&t.end)
	for i := range t.kept[:min(uint64(len(t.kept)), t.n-n)] {
		t.kept[i] = *r.marks.at(n + uint64(i))
	}
	r.marks.n = n
	s.restore(to)
	return t.back
}

// Settle implements Rewinder.
func (s *Speaker) Settle(frames int) int {
	m := &s.render.marks
	t := &m.trial
	defer s.endTrial()
	if frames >= t.back {
		s.settle()
		return t.back
	}
	for i := range t.kept[:min(uint64(len(t.kept)), t.n-t.from)] {
		*m.at(t.from + uint64(i)) = t.kept[i]
	}
	n := t.n
	for n > t.from && 2*(t.end.mixed-m.at(n-1).mixed) <= uint64(max(0, frames)) {
		n--
	}
	s.recall(n)
	to := &t.end
	if n < t.n {
		to = m.at(n)
	}
	m.n = n
	s.restore(to)
	return int(2 * (t.end.mixed - to.mixed))
}

func (s *Speaker) endTrial() {
	t := &s.render.marks.trial
	if t.on {
		t.on = false
		clear(t.sources[:])
		s.trials.Add(1)
	}
}

// tried are those in the slots, and those that have left them since the trial began.
func (s *Speaker) tried(f func(c *Source, i int)) {
	for i := range s.slots {
		c, was := s.slots[i].Load(), s.render.marks.trial.sources[i]
		if c != nil {
			f(c, i)
		}
		if was != nil && was != c {
			f(was, i)
		}
	}
}

// recall writes the sources' placements anew from the mark that was gone back to, up to mark n: the trial took their place.
func (s *Speaker) recall(n uint64) {
	m := &s.render.marks
	s.tried(func(c *Source, i int) {
		c.placed.n.Store(0)
		for j := m.trial.from; j <= n; j++ {
			to := &m.trial.end
			if j < m.trial.n {
				to = m.at(j)
			}
			switch k := &to.sources[i]; {
			case k.serial != c.serial: // it was not there yet
			case j == m.trial.from:
				c.placed.n.Store(k.pushed)
			default:
				c.placed.push(uint32(to.mixed), uint32(k.rendered))
				k.pushed = c.placed.n.Load()
			}
		}
	})
}

// restore makes everything what it was at a mark.
func (s *Speaker) restore(to *mark) {
	r := &s.render
	r.mixed, r.quiet, r.spoke = to.mixed, to.quiet, to.spoke
	r.volume, r.cues, r.duck, r.line = to.volume, to.cues, to.duck, to.line
	copy(r.up.past[:], to.past[:])
	s.underruns.Store(to.underruns)
	s.lastAudible.Store(to.lastAudible)
	s.tried(func(c *Source, i int) { c.rewind(&to.sources[i]) })
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
	c.placed.n.Store(was.pushed)
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
	s.note(m)
	oldest := r.marks.at(r.marks.first)
	for i := range s.slots {
		c, k, o := s.slots[i].Load(), &m.sources[i], &oldest.sources[i]
		// Watch may take the ring of one that has finished.
		if c != nil && !k.finished && o.serial == c.serial && k.serial == c.serial && c.ring != nil {
			c.ring.release(o.play.skipped + o.rendered)
		}
	}
	s.reach.Store(oldest.mixed)
}

// note makes a mark of everything as it is.
func (s *Speaker) note(m *mark) {
	r := &s.render
	m.mixed, m.quiet, m.spoke = r.mixed, r.quiet, r.spoke
	m.volume, m.cues, m.duck, m.line = r.volume, r.cues, r.duck, r.line
	m.underruns, m.lastAudible = s.underruns.Load(), s.lastAudible.Load()
	copy(m.past[:], r.up.past[:])
	for i := range s.slots {
		c := s.slots[i].Load()
		if c == nil {
			m.sources[i].serial = 0
			continue
		}
		m.sources[i] = sourceMark{serial: c.serial, play: c.play, rendered: c.rendered.Load(), end: c.end.Load(), holes: c.holes.Load(),
			pushed: c.placed.n.Load(), lastSound: c.lastSound.Load(), fadedEnd: c.fadedEnd.Load(), faded: c.faded.Load(), finished: c.finished.Load()}
	}
}

// outOfReach says that the callback will never go back to before end. Where a card cannot be rewound, that is so at once.
func (s *Speaker) outOfReach(end uint64) bool { return !s.rewinds.Load() || end < s.reach.Load() }

// settle says that what the card holds was rendered with what Stale saw last.
func (s *Speaker) settle() {
	seen := &s.render.marks.seen
	s.settledGen.Store(seen.gen)
	s.settledChanges.Store(seen.changes)
}

// settled says that what the card holds was rendered after the last change.
func (s *Speaker) settled() bool {
	return !s.rewinds.Load() || s.settledGen.Load() == s.gen.Load() && s.settledChanges.Load() == s.changes.Load()
}

// cutAt is where in the mix the next callback will go back to, as far as one can tell before.
func (s *Speaker) cutAt() uint64 {
	at := max(s.now(), s.clock.lastCall()+time.Duration(s.period.Load()))
	return s.clock.at(at+time.Duration(s.margin.Load()), s.queued.Load()) + 1 // at rounds down
}

// change makes what waits in the card stale.
func (s *Speaker) change() {
	s.changes.Add(1)
	s.hurry()
}

// wakes makes use of a stream that can be told that something is stale; then nothing waits for the end of a period.
func (s *Speaker) wakes(stream Stream) {
	if !s.rewinds.Load() || !stream.Wake() {
		s.waker.Store(nil)
		return
	}
	s.waker.Store(&stream)
	s.period.Store(0)
}

// hurry has the card call back at once, where it can. It never waits.
func (s *Speaker) hurry() {
	if w := s.waker.Load(); w != nil {
		(*w).Wake()
	}
}
