package audio

import "slices"

// A microphone that is lent: a call has it. It is open as for an utterance, and nothing is kept for one.

// lentFrame is what a borrower gets at a time, in frames of CardRate: 10 ms, of which a call is as much later.
const lentFrame = CardRate / 100

// loan is to whom the microphone is lent.
type loan struct {
	sink  func(pcm []int16)
	read  uint64 // what lies before was given to sink
	down  Downsampler
	frame []int16
}

// Lend gives what is captured from now on to sink, 10 ms of 24 kHz at a time, on the goroutine of Run, until back is called: nothing is given
// after that, unless sink is being called just then. The slice is the sink's to keep. While an utterance is open that has the frames, and while
// the microphone is muted there are none. Whoever borrows last has it.
func (m *Mic) Lend(sink func(pcm []int16)) (back func()) {
	m.mu.Lock()
	m.forgets.Store(false)
	now := m.conf.Now()
	kept := m.endRest(now)
	l := &loan{sink: sink, read: m.position(now)} // the next callback may bring a second of what was said before
	if now-m.captured.lastCall() > micStale+kept || m.isMuted.Load() {
		l.read = m.ring.written()
	}
	m.lent = l
	m.mu.Unlock()
	m.poke()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.lent == l {
			m.lent = nil
		}
	}
}

// lend gives away what has been captured since. Needs mu, lets go of it for the sink.
func (m *Mic) lend() {
	l := m.lent
	l.read = max(l.read, m.read, m.ring.released()) // what an utterance has had is its own
	for m.lent == l && !m.now.open {
		w := m.ring.written()
		if m.isMuted.Load() {
			l.read, l.frame = w, l.frame[:0] // it was captured by a device that is closed
		}
		if l.read >= w {
			break
		}
		piece := m.ring.at(l.read, int(min(w-l.read, lentFrame)))
		l.frame = l.down.Append(l.frame, piece)
		l.read += uint64(len(piece))
		for n := lentFrame / 2; len(l.frame) >= n; {
			pcm := slices.Clone(l.frame[:n])
			l.frame = append(l.frame[:0], l.frame[n:]...)
			m.unlocked(func() { l.sink(pcm) })
		}
	}
	m.keep(min(l.read, m.ring.written()), m.reserve())
}
