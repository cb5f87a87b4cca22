package audio

import (
	"context"
	"slices"
	"time"
)

// What the microphone does between two presses and during one: Run looks, frames go to the sink, and what nobody wants is forgotten.
//
// A microphone that nobody listens to goes on capturing for the pre-roll. One that can rest keeps back a piece of it at a
// time; with Open the next callback hands over all that was kept, in one piece with its own.

// Run carries frames and events until ctx ends.
func (m *Mic) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := micPoll
		if !m.Poll() {
			wait = m.untilNextLook()
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-m.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Poll does what Run does every few milliseconds, once, and says whether an utterance is open. A card whose time does
// not pass by itself calls it after each period.
func (m *Mic) Poll() bool {
	m.polling.Lock()
	defer m.polling.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		for len(m.todo) > 0 { // events before frames: they are about what went before
			f := m.todo[0]
			m.todo = m.todo[1:]
			m.unlocked(f)
		}
		if m.flat && m.stirs.Load() != m.was {
			m.flat = false
			m.unlocked(m.conf.Stirred)
			continue
		}
		if !m.now.open && m.lent != nil {
			if m.lend(); m.lent != nil && !m.now.open && len(m.todo) == 0 {
				return true
			}
			continue
		}
		if !m.now.open {
			m.forget()
			m.rest()
			m.forgets.Store(m.resting)
			return false
		}
		if !m.listen(&m.now) {
			return m.now.open || len(m.todo) > 0
		}
	}
}

// unlocked calls f without mu, so that it may call us.
func (m *Mic) unlocked(f func()) {
	m.mu.Unlock()
	defer m.mu.Lock()
	f()
}

// forget drops what is older than the pre-roll. Reader side, needs mu.
func (m *Mic) forget() {
	w := m.ring.written()
	if m.isMuted.Load() {
		m.ring.release(w)
		return
	}
	m.keep(w, m.reserve())
}

// reserve is how much is kept in any case, in frames.
func (m *Mic) reserve() uint64 { return m.preroll + uint64(CardFrames(micLate)) }

// keep gives back what lies more than n frames before position p. Reader side, or the callback while nobody reads.
func (m *Mic) keep(p, n uint64) {
	if p-min(p, n) > m.ring.released() {
		m.ring.release(p - n)
	}
}

// listen does one step of the open utterance; true: there may be more to do. Needs mu, lets go of it for the sink.
func (m *Mic) listen(u *utterance) bool {
	now, w := m.conf.Now(), m.ring.written()
	if w != u.written {
		u.seen, u.written, u.looks = now, w, 0
	}
	id := u.id
	if !u.started && w > u.edge {
		u.started = true
		m.unlocked(func() { m.conf.Started(id) })
		return true
	}
	if !u.begun && u.started {
		u.begun = true
		m.read = max(m.ring.released(), min(u.from, w))
		m.down, m.frame = Downsampler{}, m.frame[:0]
	}
	upto := w
	if u.ending {
		upto = min(w, u.end)
	}
	if u.begun && m.read < upto {
		piece := m.ring.at(m.read, int(min(upto-m.read, uint64(CardFrames(micFrame)))))
		for _, x := range piece {
			u.least, u.most = min(u.least, x), max(u.most, x)
		}
		m.frame = m.down.Append(m.frame, piece)
		m.read += uint64(len(piece))
		m.keep(m.read, uint64(CardFrames(micLate))) // a press meanwhile begins at its own edge
		if full := Samples(micFrame); len(m.frame) >= full {
			m.send(u, full)
		}
		return true
	}
	// The clock alone is no witness: when the whole process stood still, time passed and frames could not come.
	u.looks++
	looked := u.looks >= micLooks
	switch {
	case u.ending && (w >= u.end || now >= u.giveUp && looked):
		if len(m.frame) > 0 {
			m.send(u, len(m.frame)) // mu was given away: look again
			return true
		}
		u.open = false
		m.last = *u
		m.ended(*u)
		return true
	case !u.ending && now-u.seen >= micLost && looked:
		u.open, u.lost = false, true
		m.last = *u
		m.unlocked(func() { m.conf.Lost(id) })
		return true
	}
	return false
}

// send gives n samples of the frame to the sink, without mu. Needs mu.
func (m *Mic) send(u *utterance, n int) {
	id, pcm := u.id, slices.Clone(m.frame[:n])
	m.frame = append(m.frame[:0], m.frame[n:]...)
	u.sent += n
	m.unlocked(func() { m.conf.Sink(id, pcm) })
}

// rest lets the microphone rest, once it has delivered. Needs mu.
func (m *Mic) rest() {
	if m.card != nil && !m.resting && m.calls.Load() >= m.restFrom+2 {
		m.resting = true
		m.card.Rest(true)
	}
}

// untilNextLook is how long Run need not look if nobody pokes: of what comes while it rests the callback forgets the old itself, and a
// microphone that was flat shows that it has stirred a piece at a time.
func (m *Mic) untilNextLook() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.resting && !m.isMuted.Load():
		return micIdle
	case m.flat:
		return restPiece
	}
	return time.Hour
}

// endRest ends a rest and tells how old the latest delivery may be because of it. Needs mu.
func (m *Mic) endRest(now time.Duration) (kept time.Duration) {
	if m.resting {
		m.resting, m.restEnded = false, now
		m.restFrom = m.calls.Load()
		m.card.Rest(false)
	}
	if m.restEnded > 0 && m.captured.lastCall() <= m.restEnded { // the callback that hands them over has not come
		kept = restPiece
	}
	return kept
}
