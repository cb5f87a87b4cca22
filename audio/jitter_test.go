package audio_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"conch/audio"
)

// arrival tells when the i-th piece of 40 ms of an answer arrives, counted from the first.
type arrival func(i int) time.Duration

const jitterPiece = 40 * time.Millisecond

// paced is a line that carries speech at a multiple of real time.
func paced(pace float64) arrival {
	return func(i int) time.Duration { return time.Duration(float64(i) * float64(jitterPiece) / pace) }
}

// jittery is one on which a piece is up to d late; pieces do not overtake each other (TCP).
func jittery(seed uint64, d time.Duration) arrival {
	rng := rand.New(rand.NewPCG(seed, 1))
	var at []time.Duration
	return func(i int) time.Duration {
		for len(at) <= i {
			next := time.Duration(len(at))*jitterPiece + time.Duration(rng.Int64N(int64(d)))
			if n := len(at); n > 0 {
				next = max(next, at[n-1])
			}
			at = append(at, next)
		}
		return at[i] - at[0]
	}
}

// wandering is one on which the next piece of 100 ms comes up to d after the one before: in the mean in real time.
func wandering(seed uint64, d time.Duration) arrival {
	rng := rand.New(rand.NewPCG(seed, 2))
	at := []time.Duration{0}
	return func(i int) time.Duration {
		i = i * int(jitterPiece/time.Millisecond) / 100
		for len(at) <= i {
			at = append(at, at[len(at)-1]+time.Duration(rng.Int64N(int64(d))))
		}
		return at[i]
	}
}

// answered is how an answer was heard.
type answered struct {
	holes  int           // silences of 10 ms and more between its first sample and its last
	early  int           // of these, in its first 5 s
	silent time.Duration // all of them
	start  time.Duration // from its first piece to its first sample, what the card queues included
}

// listen plays an answer that comes over a line and listens on the tape.
func (r *rig) listen(line arrival, length time.Duration) answered {
	r.t.Helper()
	began, tick := r.now(), 5*time.Millisecond
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(audio.Samples(length), 7)
	n := audio.Samples(jitterPiece)
	for i := 0; len(pcm) > 0; {
		for len(pcm) > 0 && line(i) <= r.now()-began {
			r.write(src, pcm[:min(n, len(pcm))])
			pcm = pcm[min(n, len(pcm)):]
			i++
		}
		r.c.Advance(tick)
	}
	src.Close()
	for !drained(src) {
		r.c.Advance(tick)
	}
	if src.Heard() != audio.Samples(length) {
		r.t.Errorf("%d samples were heard; want %d: a hole is none", src.Heard(), audio.Samples(length))
	}
	var a answered
	frames, from := r.c.Tape()
	frames = frames[max(0, audio.CardFrames(began-from)):]
	last := -1
	for i, x := range frames {
		if x == 0 {
			continue
		}
		if gap := audio.CardDuration(i - last - 1); last >= 0 && gap >= 10*time.Millisecond {
			a.holes++
			a.silent += gap
			if audio.CardDuration(i)-a.start < 5*time.Second {
				a.early++
			}
		}
		if last < 0 {
			a.start = audio.CardDuration(i)
		}
		last = i
	}
	if src.Holes() != a.holes {
		r.t.Errorf("%d holes were counted; the tape has %d", src.Holes(), a.holes)
	}
	return a
}

// Speech that comes unevenly is buffered as much as its unevenness asks for (TURNS.md 6).
func TestUnevenSpeechIsBufferedAsMuchAsItAsksFor(t *testing.T) {
	for _, c := range []struct {
		name          string
		line          func(seed uint64) arrival
		seeds         uint64
		first, second int // holes at most, in the first 5 s of one and in all of the other
	}{
		{"0.7 x real time", func(uint64) arrival { return paced(0.7) }, 1, 4, 0},
		{"0.9 x real time", func(uint64) arrival { return paced(0.9) }, 1, 4, 0},
		{"0-200 ms of jitter", func(seed uint64) arrival { return jittery(seed, 200*time.Millisecond) }, 20, 1, 0},
		{"gaps of 0-200 ms", func(seed uint64) arrival { return wandering(seed, 200*time.Millisecond) }, 20, 4, 2},
		{"0-400 ms of jitter", func(seed uint64) arrival { return jittery(seed, 400*time.Millisecond) }, 20, 2, 0},
	} {
		for seed := range c.seeds {
			r := newRig(t)
			first := r.listen(c.line(seed), 7*time.Second)
			r.c.Advance(3 * time.Second)
			second := r.listen(c.line(seed+100), 7*time.Second)
			t.Logf("%s: %d holes in the first 5 s, %d in all (%v), begins after %v; then %d (%v), begins after %v",
				c.name, first.early, first.holes, first.silent, first.start, second.holes, second.silent, second.start)
			most := c.second
			if first.holes == 0 {
				most = c.first // there was nothing to learn of yet
			}
			if first.early > c.first || second.holes > most {
				t.Errorf("%s: %d holes in the first 5 s of the first answer, %d in the second; want at most %d and %d", c.name, first.early, second.holes, c.first, most)
			}
		}
	}
}

// late tells that an answer began later than another one, but for the period in which it was asked for.
func late(a, than answered) bool { return a.start > than.start+10*time.Millisecond }

func TestALineThatIsEvenCostsNothing(t *testing.T) {
	r := newRig(t)
	clean := r.listen(paced(1.5), 2*time.Second)
	for range 3 {
		r.c.Advance(time.Second)
		if again := r.listen(paced(1.5), 2*time.Second); late(again, clean) || again.holes != 0 {
			t.Errorf("an answer on an even line begins after %v with %d holes; the first one after %v", again.start, again.holes, clean.start)
		}
	}
	r.listen(paced(0.7), 5*time.Second)
	if slow := r.listen(paced(1.5), 2*time.Second); slow.start <= clean.start {
		t.Error("nothing was learned of the slow line")
	}
	r.c.Advance(time.Minute)
	if again := r.listen(paced(1.5), 2*time.Second); late(again, clean) {
		t.Errorf("after a clean minute an answer begins after %v; want %v", again.start, clean.start)
	}
}

// A tool that runs in the middle of an answer, and a server that is late with the end, are no holes.
func TestAPauseIsNoHole(t *testing.T) {
	r := newRig(t)
	tool := func(i int) time.Duration {
		if i >= 20 {
			return 3 * time.Second
		}
		return 0
	}
	clean := r.listen(paced(1.5), 2*time.Second)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	began := r.now()
	for i, n := 0, audio.Samples(jitterPiece); i < 40; {
		if tool(i) <= r.now()-began {
			r.write(src, noise(n, i))
			i++
			continue
		}
		r.c.Advance(5 * time.Millisecond)
	}
	r.c.Advance(3 * time.Second) // its end comes late
	src.Close()
	r.c.Advance(100 * time.Millisecond)
	if n := src.Holes(); n != 0 {
		t.Errorf("%d holes; want 0", n)
	}
	if again := r.listen(paced(1.5), 2*time.Second); late(again, clean) {
		t.Errorf("the answer after it begins after %v; want %v", again.start, clean.start)
	}
}

// The thinking cue goes on until speech sounds, also where speech waits for more.
func TestTheCueLastsWhileSpeechIsBuffered(t *testing.T) {
	r := newRig(t)
	r.listen(paced(0.7), 5*time.Second)
	r.s.Play(steady(2400), true, r.s.Generation())
	r.c.Advance(200 * time.Millisecond)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	for i := range 10 {
		r.write(src, noise(audio.Samples(jitterPiece), i))
		r.s.StopLoop()
		r.c.Advance(50 * time.Millisecond)
	}
	now := r.now()
	if src.Heard() != 0 || level(t, r, now-100*time.Millisecond, now-50*time.Millisecond) == 0 {
		t.Errorf("%d samples of speech were heard, and the cue has ended: there is silence", src.Heard())
	}
	src.Cut()
	r.c.Advance(200 * time.Millisecond)
	if now = r.now(); level(t, r, now-50*time.Millisecond, now) != 0 {
		t.Error("the cue goes on for speech that never comes")
	}
}
