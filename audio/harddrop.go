package audio

import "time"

// A card that refuses small periods holds more sound than a press may leave (facts/audio.md 4.1): 20 ms x 3 go on for 83 ms.
// On such a card what waits in it is thrown away (snd_pcm_drop, by stopping and starting the device): a hard cut, with a
// click, instead of a fade that comes too late.
//
//	Drop ──> Watch, at most 5 ms later: still audible ──> Flush ──> the stream's owner: Stop, Start ──> callbacks, which fade
//
// Nothing of it is on the way of a press or in the callback. A Hush, which may turn out to be a glitch, flushes nothing. Never
// on PulseAudio or PipeWire, where what was stopped is heard after the next start (facts/audio.md 4.3).

// tooLong is the longest that a card may go on by itself after a press (appliance.md 2).
const tooLong = 30 * time.Millisecond

// flusher is a Stream that can throw away what waits in it. Flush does not wait.
type flusher interface{ Flush() }

// flushes decides whether a stream needs it. Needs mu.
func (s *Speaker) flushes(stream Stream) {
	s.flusher = nil
	g := stream.Granted()
	f, ok := stream.(flusher)
	if ok && g.Backend == BackendALSA && g.Queued()+g.Queued()/time.Duration(max(1, g.Periods))+s.fade > tooLong {
		s.flusher, s.flushedGen = f, s.gen.Load()
	}
}

// flush throws away what a Drop has left in the card, once for each. Needs mu.
func (s *Speaker) flush(now time.Duration, gen uint64) {
	if s.flusher == nil || gen == s.flushedGen {
		return
	}
	s.flushedGen = gen
	if s.LastAudible() > now {
		s.flusher.Flush()
	}
}

// HardDrops says whether a drop cuts hard, because the card's buffer is too long for a fade.
func (s *Speaker) HardDrops() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flusher != nil
}
