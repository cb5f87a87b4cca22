package device

import (
	"fmt"
	"math"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/audiotest"
)

// A room in which a click dies away in the time it is said to, as strong in its walls as on the way.
func TestAcousticsDieAwayInTheirTime(t *testing.T) {
	for _, rt60 := range []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, time.Second} {
		t.Run(rt60.String(), func(t *testing.T) {
			a := newAcoustics(rt60, maxSNR, 1)
			n := audio.CardFrames(2 * rt60)
			energy := make([]float64, n) // of what comes after each frame: Schroeder's integral (ISO 3382-2, 5.3.3)
			for i := range energy {
				energy[i] = square(a.late(impulseAt(i)))
			}
			walls := 0.0
			for i := n - 1; i >= 0; i-- {
				walls += energy[i]
				energy[i] = walls
			}
			if db := 10 * math.Log10(walls); math.Abs(db) > 1 {
				t.Errorf("the walls are %.1f dB from the direct sound", db)
			}
			level := func(i int) float64 { return 10 * math.Log10(energy[i]/walls) }
			from, to := 0, 0 // T30: from -5 to -35 dB
			for i := range energy {
				if level(i) > -5 {
					from = i
				}
				if level(i) > -35 {
					to = i
				}
			}
			got := 2 * audio.CardDuration(to-from)
			if ratio := float64(got) / float64(rt60); ratio < 0.85 || ratio > 1.15 {
				t.Errorf("60 dB in %s", got)
			}
		})
	}
}

func square(x float64) float64 { return x * x }

func impulseAt(i int) float64 {
	if i == 0 {
		return 1
	}
	return 0
}

// The noise lies as far below the loudest of what was heard as it is said to.
func TestAcousticsAreAsNoisyAsTheySay(t *testing.T) {
	for _, snr := range []float64{0, 5, 20} {
		t.Run(fmt.Sprint(snr, " dB"), func(t *testing.T) {
			a := newAcoustics(defaultRT60, snr, 7)
			tone := make([]int16, audio.CardFrames(time.Second))
			for i := range tone {
				tone[i] = int16(10000 * math.Sin(2*math.Pi*1000*float64(i)/audio.CardRate))
			}
			a.through(tone)
			a.through(make([]int16, audio.CardFrames(2*time.Second))) // the walls are silent
			rest := make([]int16, audio.CardFrames(time.Second))
			a.through(rest)
			sum := 0.0
			for _, x := range rest {
				sum += square(float64(x))
			}
			got := 20 * math.Log10(airGain*10000/math.Sqrt2/math.Sqrt(sum/float64(len(rest))))
			if math.Abs(got-snr) > 0.3 {
				t.Errorf("the noise is %.2f dB below", got)
			}
		})
	}
}

// What a device's card plays reaches the microphone of the one that hears it, whole and once, and nobody else's.
func TestAirwayCarriesEachFrameOnce(t *testing.T) {
	clock := audiotest.NewClock()
	p := &play{clock: clock}
	from, to := &stage{play: p, name: "kitchen", card: audiotest.New(clock)}, &stage{play: p, name: "bedroom"}
	to.hearing(from, defaultRT60, maxSNR)
	n := 0
	out, err := from.card.OpenPlayback(audio.StreamConfig{Period: 10 * time.Millisecond}, func(out []int16) {
		for i := range out {
			n++
			out[i] = int16(n % 20000)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var plain []int16 // before the air makes anything of it
	for range 300 {
		from.card.Advance(10 * time.Millisecond)
		until := clock.Now() - airLate
		plain = append(plain, from.card.Between(until-10*time.Millisecond, until)...)
		in := make([]int16, audio.CardFrames(10*time.Millisecond))
		to.overhear(in, clock.Now())
		if clock.Now() > time.Second && audio.Peak(in) < 300 {
			t.Fatalf("at %s the microphone hears nothing", clock.Now())
		}
	}
	first := -1
	for i, x := range plain {
		if x != 0 && first < 0 {
			first = i
		}
		if first >= 0 && int(x) != (i-first+1)%20000 {
			t.Fatalf("frame %d is %d, want %d", i, x, (i-first+1)%20000)
		}
	}
	if first < 0 || first > audio.CardFrames(2*airLate) {
		t.Errorf("the first frame is heard after %s", audio.CardDuration(max(0, first)))
	}
	to.hearing(nil, 0, 0)
	in := make([]int16, 480)
	if to.overhear(in, clock.Now()); audio.Peak(in) != 0 {
		t.Error("it hears somebody after it was told to hear nobody")
	}
}
