package audio

import "time"

// A card that plays nothing still asks for sound two hundred times a second. One that can rest plays silence by itself
// meanwhile:
//
//	publish (a source is opened) ─> Rest(false) ─> the next callback renders
//	Watch: no source is left, two callbacks since were pure silence ─> Rest(true)
//
// Resting adds nothing between a source and its sound (the flag is looked at in each callback), and nothing between an edge
// and silence: while anything can sound the card does not rest.

// A microphone that nobody listens to goes on capturing for the pre-roll. One that can rest keeps back a piece of it at a
// time; with Open the next callback hands over all that was kept, in one piece with its own.

// restPiece is how much of a microphone is kept back while it rests. Our choice: each piece enters Go, which costs more than
// the callback itself, since the runtime's monitor wakes up some dozens of times until it has seen that nothing goes on.
const restPiece = time.Second

// restTries bounds how long Run looks for the silence after the last source (250 ms): a card that stands still has none.
const restTries = 50

// OpenOn opens playback on a card, and lets the card rest whenever nothing sounds.
func (s *Speaker) OpenOn(card Card, c StreamConfig) (Stream, error) {
	c.Back = s
	s.Keep(Granted{})
	stream, err := card.OpenPlayback(c, s.Render)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.SetQueued(stream.Granted().Queued())
	s.flushes(stream)
	s.card = stream
	s.wakes(stream)
	s.resting = false
	s.restless()
	s.poke()
	return stream, nil
}

// OpenOn opens capture on a card, and lets the card rest while nobody listens.
func (m *Mic) OpenOn(card Card, c StreamConfig) (Stream, error) {
	stream, err := card.OpenCapture(c, m.Take)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.card = stream
	m.resting, m.restFrom = false, m.calls.Load()
	m.poke()
	return stream, nil
}

// rest lets the microphone rest, once it has delivered. Needs mu.
func (m *Mic) rest() {
	if m.card != nil && !m.resting && m.calls.Load() >= m.restFrom+2 {
		m.resting = true
		m.card.Rest(true)
	}
}

// nap is how long Run need not look if nobody pokes: of what comes while it rests the callback forgets the old itself, and a
// microphone that was flat shows that it has stirred a piece at a time.
func (m *Mic) nap() time.Duration {
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

// rouse ends a rest and tells how old the latest delivery may be because of it. Needs mu.
func (m *Mic) rouse(now time.Duration) (kept time.Duration) {
	if m.resting {
		m.resting, m.roused = false, now
		m.restFrom = m.calls.Load()
		m.card.Rest(false)
	}
	if m.roused > 0 && m.captured.last() <= m.roused { // the callback that hands them over has not come
		kept = restPiece
	}
	return kept
}

// restless begins to look for silence anew. Needs mu.
func (s *Speaker) restless() { s.restFrom, s.restTried = s.callbacks.Load(), 0 }

// rest lets the card rest if nothing sounds; false: look again in a while.
func (s *Speaker) rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.card == nil || s.resting {
		return true
	}
	for i := range s.slots {
		if s.slots[i].Load() != nil {
			return false
		}
	}
	if s.silent.Load() && s.callbacks.Load() >= s.restFrom+2 {
		s.resting = true
		s.card.Rest(true)
		return true
	}
	s.restTried++
	return s.restTried > restTries
}

// rouse makes the card ask for sound again: a source was opened. Needs mu.
func (s *Speaker) rouse() {
	if s.resting {
		s.resting = false
		s.since = s.now() // there was no callback, and none was missing
		s.card.Rest(false)
	}
	s.restless()
}

func (s *Speaker) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
