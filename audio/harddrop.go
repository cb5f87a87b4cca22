package audio

import "time"

// A card that refuses small periods holds more sound than a press may leave (audio/FACTS.md 4.1): 20 ms x 3 go on for 83 ms.
// On such a card what waits in it is thrown away (snd_pcm_drop, by stopping and starting the device): a hard cut, with a
// click, instead of a fade that comes too late.
//
//	Drop ──> Watch, at most 5 ms later: still audible ──> Flush ──> the stream's owner: Stop, Start ──> callbacks, which fade
//
// Silence comes 3 ms after that Stop, whatever the period. What may be late is the two ordinary goroutines on the way to it: of
// 60 drops on a machine with six runnable threads a processor the slowest Stop came after 18 ms, where an idle one takes 6.
//
// Nothing of it is on the way of a press or in the callback. A Hush, which may turn out to be a glitch, flushes nothing. Never
// on PulseAudio or PipeWire, where what was stopped is heard after the next start (audio/FACTS.md 4.3).

// tooLong is the longest that a card may go on by itself after a press (APPLIANCE.md 2).
const tooLong = 30 * time.Millisecond

// hardCut is a card that was emptied: what was handed over before generation gen never sounded after at, but for a fade that
// the next callback began.
type hardCut struct {
	gen uint64
	at  time.Duration
}

// least is when a sound of a generation was over that by its hand-over would be at.
func (e *hardCut) least(gen uint64, at, fade time.Duration) time.Duration {
	if e == nil || gen >= e.gen {
		return at
	}
	return min(at, e.at+fade)
}

// flushes decides whether a stream needs it. Needs mu.
func (s *Speaker) flushes(stream Stream) {
	g := stream.Granted()
	s.flushedGen = s.gen.Load()
	s.hard.Store(g.Backend == BackendALSA && !g.Rewinds() && g.Bound(s.fade) > tooLong)
}

// flush throws away what a Drop has left in the card, once for each. Needs mu.
func (s *Speaker) flush(now time.Duration, gen uint64) {
	if !s.hard.Load() || gen == s.flushedGen {
		return
	}
	s.flushedGen = gen
	if s.LastAudible() > now {
		s.card.Flush(func() { s.emptied.Store(&hardCut{gen, s.now()}) })
	}
}

// HardDrops says whether a drop cuts hard, because the card's buffer is too long for a fade.
func (s *Speaker) HardDrops() bool { return s.hard.Load() }
