package twin

import (
	"fmt"
	"math"
	"testing"
	"time"

	"conch/audio"
)

// A room in which a click dies away in the time it is said to, as strong in its walls as on the way.
func TestAcousticsDieAwayInTheirTime(t *testing.T) {
	for _, rt60 := range []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, time.Second} {
		t.Run(rt60.String(), func(t *testing.T) {
			a := NewAir(rt60, MaxSNR, 1)
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
			a := NewAir(DefaultRT60, snr, 7)
			tone := make([]int16, audio.CardFrames(time.Second))
			for i := range tone {
				tone[i] = int16(10000 * math.Sin(2*math.Pi*1000*float64(i)/audio.CardRate))
			}
			a.Through(tone)
			a.Through(make([]int16, audio.CardFrames(2*time.Second))) // the walls are silent
			rest := make([]int16, audio.CardFrames(time.Second))
			a.Through(rest)
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
