package audio

// A card that plays nothing still asks for sound two hundred times a second. One that can rest plays silence by itself
// meanwhile:
//
//	publish (a source is opened) ─> Rest(false) ─> the next callback renders
//	Watch: no source is left, two callbacks since were pure silence ─> Rest(true)
//
// Resting adds nothing between a source and its sound (the flag is looked at in each callback), and nothing between an edge
// and silence: while anything can sound the card does not rest.

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

// endRest makes the card ask for sound again: a source was opened. Needs mu.
func (s *Speaker) endRest() {
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
