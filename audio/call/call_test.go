package call

import (
	"math"
	"math/rand/v2"
	"testing"
)

// tone is what a card captures from one sample on. A voice of 100 Hz is the same in each frame, wherever a frame was made up.
func tone(hz float64, from int) (f [Frame]int16) {
	for i := range f {
		x := 2 * math.Pi * hz * float64(from+i) / 24000
		f[i] = int16(8000 * (0.5*math.Sin(x) + 0.3*math.Sin(3*x) + 0.2*math.Sin(4*x)))
	}
	return f
}

// A line is two ends in virtual time: a frame is sent each 10 ms of the sender's clock, and pulled each 10 ms of the receiver's.
type line struct {
	delay func(n int) (ms float64, lost bool)
	drift float64 // by how much the sender's clock is faster
}

type heardFrame struct {
	pcm  [Frame]int16
	real bool
}

func (l line) run(j *Jitter, seconds int) (heard []heardFrame, depths []int) {
	type flight struct {
		at     float64
		number int
	}
	var air []flight
	sent := 0
	for n := range seconds * 100 {
		now := float64(n) * 10
		for ; float64(sent)*10/(1+l.drift) <= now; sent++ {
			if ms, lost := l.delay(sent); !lost {
				air = append(air, flight{float64(sent)*10/(1+l.drift) + ms, sent})
			}
		}
		rest := air[:0]
		for _, f := range air {
			if f.at > now {
				rest = append(rest, f)
				continue
			}
			pcm := tone(100, f.number*Frame)
			j.Put(uint16(65000+f.number), pcm[:])
		}
		air = rest
		var out heardFrame
		out.real = j.Pull(&out.pcm)
		heard, depths = append(heard, out), append(depths, j.Depth())
	}
	return heard, depths
}

// snr compares what was heard from the first real frame on with the tone.
func snr(heard []heardFrame) float64 {
	first := 0
	for !heard[first].real {
		first++
	}
	first++ // it rises
	var signal, noise float64
	for n, h := range heard[first:] {
		want := tone(100, n*Frame)
		for i := range want {
			d := float64(h.pcm[i]) - float64(want[i])
			signal, noise = signal+float64(want[i])*float64(want[i]), noise+d*d
		}
	}
	return 10 * math.Log10(signal/(noise+1e-9))
}

// On a good line everything is heard, in order, 20 ms late and no more.
func TestAGoodLine(t *testing.T) {
	j := NewJitter()
	heard, depths := line{delay: func(int) (float64, bool) { return 1, false }}.run(j, 20)
	if got := snr(heard); got < 80 || j.Lost+j.Late+j.Dry+j.Dropped > 0 {
		t.Errorf("SNR %.0f dB, lost %d, late %d, dry %d, dropped %d", got, j.Lost, j.Late, j.Dry, j.Dropped)
	}
	if d := depths[len(depths)-1]; d > leastTarget {
		t.Errorf("%d frames wait", d)
	}
}

// Of 5 % that are lost hardly anything is heard, and nothing waits for them.
func TestLossIsConcealed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	j := NewJitter()
	heard, _ := line{delay: func(int) (float64, bool) { return 1, r.Float64() < 0.05 }}.run(j, 60)
	made := 0
	for _, h := range heard[10:] {
		if !h.real {
			made++
		}
	}
	t.Logf("SNR %.1f dB, lost %d, made up %d, dry %d, target %d", snr(heard), j.Lost, made, j.Dry, j.Target())
	if got := snr(heard); got < 20 || made > 500 || j.Dry > 200 {
		t.Errorf("SNR %.1f dB, made up %d of %d, dry %d", got, made, len(heard), j.Dry)
	}
	if j.Lost < 150 {
		t.Errorf("%d frames were lost: this test would prove nothing", j.Lost)
	}
}

// A line that is uneven is waited for, 100 ms at most, and less again when it is calm.
func TestTheBufferFollowsTheLine(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	j := NewJitter()
	uneven := line{delay: func(n int) (float64, bool) {
		if n < 2000 {
			return r.Float64() * 60, false
		}
		return 1, false
	}}
	heard, depths := uneven.run(j, 120)
	late := 0
	for _, h := range heard[1000:2000] {
		if !h.real {
			late++
		}
	}
	most := 0
	for _, d := range depths {
		most = max(most, d)
	}
	t.Logf("made up %d of 1000, deepest %d, at the end %d", late, most, depths[len(depths)-1])
	if late > 50 || most > mostDepth || depths[len(depths)-1] > leastTarget+1 {
		t.Errorf("of an uneven line %d of 1000 frames are made up; at most %d waited, at the end %d", late, most, depths[len(depths)-1])
	}
}

// Two cards are never of one mind: 200 ppm in either direction, for ten minutes.
func TestClocksThatDiffer(t *testing.T) {
	for _, drift := range []float64{200e-6, -200e-6} {
		j := NewJitter()
		heard, depths := line{delay: func(int) (float64, bool) { return 1, false }, drift: drift}.run(j, 600)
		made, most := 0, 0
		for _, h := range heard[10:] {
			if !h.real {
				made++
			}
		}
		for _, d := range depths {
			most = max(most, d)
		}
		t.Logf("drift %v: dropped %d, made up %d, at most %d waited", drift, j.Dropped, made, most)
		if most > leastTarget+1 || made > 60 || j.Dropped > 60 {
			t.Errorf("drift %v: dropped %d, made up %d, at most %d waited", drift, j.Dropped, made, most)
		}
		if drift > 0 && j.Dropped < 8 || drift < 0 && made < 8 {
			t.Errorf("drift %v: dropped %d, made up %d: it does not follow", drift, j.Dropped, made)
		}
	}
}

// Whoever falls silent fades, and is not repeated for ever; whoever begins anew is heard at once.
func TestSilenceAndAgain(t *testing.T) {
	j := NewJitter()
	var out [Frame]int16
	n := 0
	say := func(frames int) {
		for range frames {
			f := tone(100, n*Frame)
			j.Put(uint16(n), f[:])
			n++
			j.Pull(&out)
		}
	}
	say(50)
	for range 12 {
		j.Pull(&out)
	}
	if level(out[:]) != 0 {
		t.Errorf("120 ms after the last frame it still sounds: %.0f", level(out[:]))
	}
	n += 1000 // muted meanwhile
	say(leastTarget + 2)
	if level(out[:]) < 1000 {
		t.Error("whoever begins anew is not heard")
	}
}

// Whatever comes in whatever order: no panic, and never more than the buffer holds.
func FuzzJitter(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 255, 255, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		j := NewJitter()
		var out [Frame]int16
		for ; len(b) >= 3; b = b[3:] {
			j.Put(uint16(b[0])<<8|uint16(b[1]), make([]int16, int(b[2])))
			if b[2]%3 == 0 {
				j.Pull(&out)
			}
			if d := j.Depth(); d < 0 || d > slots || j.Target() < leastTarget || j.Target() > mostTarget {
				t.Fatalf("depth %d, target %d", d, j.Target())
			}
		}
	})
}

// howl couples two hands-free devices by a line of 100 ms and loudspeakers that the microphones hear 6 dB louder than they are, one frame later,
// has somebody speak for a second, and tells how loud it is a second and two later.
func howl(near, far func(end int, pcm []int16)) (after []float64) {
	const lag = 10
	var way [2][][]int16 // to each end
	var room [2][]float64
	for e := range 2 {
		for range lag {
			way[e] = append(way[e], make([]int16, Frame))
		}
		room[e] = make([]float64, Frame)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		for e := range 2 {
			heard := make([]int16, Frame)
			for i := range heard {
				x := room[e][i] + 20*(r.Float64()-0.5) // the room is never silent
				if e == 0 && n < 100 {
					x += 3000 * math.Sin(2*math.Pi*300*float64(n*Frame+i)/24000)
				}
				heard[i] = clip(x)
			}
			near(e, heard)
			way[1-e] = append(way[1-e], heard)
		}
		loud := 0.0
		for e := range 2 {
			plays := way[e][0]
			way[e] = way[e][1:]
			far(e, plays)
			for i := range plays {
				room[e][i] = 2 * float64(plays[i])
			}
			loud = max(loud, level(plays))
		}
		if n == 250 || n == 399 {
			after = append(after, loud)
		}
	}
	return after
}

// Two loudspeakers and two microphones do not howl, though each microphone hears its loudspeaker louder than it is; without the switch they do.
func TestNothingHowls(t *testing.T) {
	var ends [2]Switch
	with := howl(func(e int, pcm []int16) { ends[e].Near(pcm) }, func(e int, pcm []int16) { ends[e].Far(pcm) })
	without := howl(func(int, []int16) {}, func(int, []int16) {})
	t.Logf("with it %.0f, without %.0f", with, without)
	for _, l := range with {
		if l > openLevel {
			t.Errorf("it howls: %.0f", with)
		}
	}
	if without[0] < 10000 {
		t.Errorf("without the switch it does not howl either (%.0f): this test would prove nothing", without)
	}
}

// Who speaks is heard as loudly as they are, whether the other end is silent or speaks, softly, at the same time.
func TestWhoSpeaksIsHeard(t *testing.T) {
	var s Switch
	for n := range 100 {
		quiet := make([]int16, Frame)
		s.Far(quiet)
		f := tone(100, n*Frame)
		before := level(f[:])
		s.Near(f[:])
		if n > 5 && level(f[:]) < 0.99*before {
			t.Fatalf("frame %d: %.0f of %.0f", n, level(f[:]), before)
		}
	}
	for n := range 100 { // and now the other end begins, and is not heard loudly by whoever speaks
		f := tone(100, n*Frame)
		s.Far(f[:])
		if n > 10 && level(f[:]) > 0.3*level(tone2(n)) {
			t.Fatalf("frame %d: the far end has %.0f while somebody speaks here", n, level(f[:]))
		}
		g := tone(100, n*Frame)
		s.Near(g[:])
	}
	for range hangFrames + 5 {
		s.Near(make([]int16, Frame))
		f := tone(100, 0)
		s.Far(f[:])
	}
	f, g := tone(100, 0), tone(100, 0)
	s.Far(f[:])
	for i := range g {
		g[i] /= 2 // what the microphone hears of the loudspeaker
	}
	before := level(g[:])
	s.Near(g[:])
	if level(f[:]) < 0.99*level(tone2(0)) || level(g[:]) > 0.05*before {
		t.Errorf("the far end speaks: it has %.0f, and %.0f goes back to it of %.0f", level(f[:]), level(g[:]), before)
	}
}

func tone2(n int) []int16 {
	f := tone(100, n*Frame)
	return f[:]
}
