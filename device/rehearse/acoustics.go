package rehearse

import (
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// An airway carries what one device of a rehearsal plays to another's microphone. Sound that was played is on the tape of the
// one's card by the time that its clock says; the other's card may run ahead of it on a busy machine, so that everything is
// heard airLate after it sounded, as from a hundred metres away. For a code that makes no difference.
type airway struct {
	from *stage
	air  *twin.Air
}

const airLate = 300 * time.Millisecond

// hearing has the microphone hear another device from now on, or, with nil, nobody any more.
func (s *stage) hearing(from *stage, rt60 time.Duration, snr float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == nil {
		s.airways = nil
		return
	}
	w := airway{from, twin.NewAir(rt60, snr, uint64(len(s.airways)+1))}
	for i := range s.airways {
		if s.airways[i].from == from {
			s.airways[i] = w
			return
		}
	}
	s.airways = append(s.airways, w)
}

// overhear adds to a period of the microphone, which ended at the given time, what comes from other devices. It runs on the
// card's goroutine.
func (s *stage) overhear(in []int16, end time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.airways {
		until := end - airLate
		heard := w.from.card.Between(until-audio.CardDuration(len(in)), until)
		w.air.Through(heard)
		audio.Mix(in, heard[:min(len(in), len(heard))])
	}
}
