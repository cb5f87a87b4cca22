package stretch

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

const rate = 24000

var speeds = []int{75, 90, 125, 150, 200}

func tone(hz float64, samples int) []int16 {
	pcm := make([]int16, samples)
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*hz*float64(i)/rate))
	}
	return pcm
}

// power of a pitch in a sound, as the amplitude of a sine (Goertzel).
func power(pcm []int16, hz float64) float64 {
	var a, b float64
	k := 2 * math.Cos(2*math.Pi*hz/rate)
	for _, x := range pcm {
		a, b = float64(x)+k*a-b, a
	}
	return 2 * math.Sqrt(max(0, a*a+b*b-k*a*b)) / float64(len(pcm))
}

func whole(percent int, pcm []int16) []int16 {
	s := New(percent)
	return append(slices.Clone(s.Step(pcm)), s.End()...)
}

func TestAToneKeepsItsPitch(t *testing.T) {
	for _, percent := range speeds {
		for _, hz := range []float64{90, 220, 440, 1000, 3100} {
			t.Run(fmt.Sprintf("%d percent of %.0f Hz", percent, hz), func(t *testing.T) {
				in := tone(hz, 3*rate)
				out := whole(percent, in)
				if want := float64(len(in)) * 100 / float64(percent); math.Abs(float64(len(out))-want) > 1 {
					t.Errorf("%d samples; want %.0f", len(out), want)
				}
				middle := out[rate/4 : rate/4+rate]
				if p := power(middle, hz); p < 10500 {
					t.Errorf("it has %.0f of its own pitch; want 12000", p)
				}
				if p := power(middle, hz*float64(percent)/100); p > 600 {
					t.Errorf("it has %.0f of the pitch of a tape that runs at another speed", p)
				}
				// No click: no step that the tone itself does not have, or hardly.
				most := 12000 * 2 * math.Pi * hz / rate * 1.1
				for i := 1; i < len(out)-2*hop; i++ {
					if d := math.Abs(float64(out[i]) - float64(out[i-1])); d > most+40 {
						t.Fatalf("a step of %.0f at %d; want %.0f at most", d, i, most)
					}
				}
			})
		}
	}
}

// The sample that is heard is the book's one at that time: a burst is found where it must be.
func TestWhatIsHeardIsWhereItMustBe(t *testing.T) {
	in := make([]int16, 20*rate)
	for second := 1; second < 20; second++ {
		copy(in[second*rate:], tone(440, rate/20))
	}
	for _, percent := range speeds {
		out := whole(percent, in)
		for second := 1; second < 20; second++ {
			want := second * rate * 100 / percent
			at := want - rate/5
			for out[at] > -2000 && out[at] < 2000 && at < want+rate/5 {
				at++
			}
			if d := at - want; d < -search-hop || d > search+hop {
				t.Errorf("%d percent: second %d is heard %d ms late", percent, second, d*1000/rate)
			}
		}
	}
}

func TestAtNormalSpeedNothingChanges(t *testing.T) {
	in := tone(440, 1000)
	if out := whole(100, in); !slices.Equal(in, out) {
		t.Error("it does")
	}
}

func TestSilenceStaysSilence(t *testing.T) {
	if out := whole(150, make([]int16, rate)); len(out) != rate*2/3 || slices.Max(out) != 0 || slices.Min(out) != 0 {
		t.Errorf("%d samples, %d to %d", len(out), slices.Min(out), slices.Max(out))
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, percent := range speeds {
		s := New(percent)
		for range 600 {
			if s.Step(tone(440, rate/10)); len(s.in) > rate/10 {
				t.Fatalf("%d percent: %d samples stay behind", percent, len(s.in))
			}
		}
		if cap(s.in) > 4*rate/10 {
			t.Errorf("%d percent: room for %d samples", percent, cap(s.in))
		}
	}
}

func TestBeyondWhatMayBeAskedFor(t *testing.T) {
	in := tone(440, rate)
	for percent, nearest := range map[int]int{-1: Slowest, Slowest - 1: Slowest, Fastest + 1: Fastest} {
		if !slices.Equal(whole(percent, in), whole(nearest, in)) {
			t.Errorf("%d percent is not %d", percent, nearest)
		}
	}
}

// However a sound is cut, it comes out the same, and as long as it must be. A byte is ten milliseconds, of a height and a pitch: so a
// short input is a long sound, and the fuzzer, which tries each byte of what it finds by itself, does not spend its time on one.
func FuzzAnyCuts(f *testing.F) {
	f.Add([]byte("aaaaAAAAqqqq"), uint8(50), uint16(7))
	f.Add([]byte("a bird sings"), uint8(0), uint16(479))
	f.Add([]byte{1}, uint8(125), uint16(1))
	f.Add([]byte{}, uint8(25), uint16(1))
	f.Add([]byte("000"), uint8(125), uint16(1))         // ended where a block had already taken more time than there was
	f.Add([]byte("00\xc1000"), uint8(0xdf), uint16(58)) // what was still there of the past was heard or not, as it was cut
	f.Fuzz(func(t *testing.T, b []byte, faster uint8, piece uint16) {
		percent := Slowest + int(faster)%(Fastest-Slowest+1)
		var pcm []int16
		for _, x := range b[:min(len(b), 40)] {
			for i := range 240 - int(x)%5 {
				pcm = append(pcm, int16(i*int(x)*97%(1+200*int(x>>3)))-int16(x)*13)
			}
		}
		want := whole(percent, pcm)
		if n := (len(pcm)*100 + percent/2) / percent; percent != 100 && len(want) != n {
			t.Fatalf("%d samples at %d percent become %d; want %d", len(pcm), percent, len(want), n)
		}
		s := New(percent)
		var got []int16
		for c := range slices.Chunk(pcm, 1+int(piece)) {
			got = append(got, s.Step(c)...)
		}
		if got = append(got, s.End()...); !slices.Equal(got, want) {
			t.Fatalf("%d percent in pieces of %d: another sound", percent, 1+int(piece))
		}
	})
}

// BenchmarkStretch says how much faster than it is heard a sound is stretched.
func BenchmarkStretch(b *testing.B) {
	in := tone(220, rate)
	for i := range in {
		in[i] += int16((i * 7919) % 4001)
	}
	for _, percent := range speeds {
		b.Run(fmt.Sprint(percent), func(b *testing.B) {
			s, heard := New(percent), 0
			for b.Loop() {
				heard += len(s.Step(in))
			}
			b.ReportMetric(float64(heard)/rate/b.Elapsed().Seconds(), "×realtime")
		})
	}
}
