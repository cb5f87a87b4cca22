package kit

import (
	"bytes"
	"math"
	"testing"
)

func TestResampleKeepsATone(t *testing.T) {
	for _, r := range [][2]int{{24000, 16000}, {16000, 24000}, {22050, 24000}, {8000, 24000}} {
		from, to := r[0], r[1]
		in := make([]int16, from)
		for i := range in {
			in[i] = int16(10000 * math.Sin(2*math.Pi*1000*float64(i)/float64(from)))
		}
		out := Resample(in, from, to)
		if len(out) != to {
			t.Errorf("%d to %d Hz: %d samples", from, to, len(out))
		}
		worst := 0.0
		for i := 200; i < to-200; i++ {
			worst = max(worst, math.Abs(float64(out[i])-10000*math.Sin(2*math.Pi*1000*float64(i)/float64(to))))
		}
		if worst > 100 {
			t.Errorf("%d to %d Hz: off by %.0f of 10000", from, to, worst)
		}
	}
}

func FuzzParseWAV(f *testing.F) {
	f.Add(WAV([]int16{1, -1, 3}, 16000))
	f.Add(append([]byte("RIFF\xff\xff\xff\x7fWAVEfmt \xff\xff\xff\xff"), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		pcm, rate, err := ParseWAV(b)
		if err == nil && (rate < 4000 || len(pcm)*2 > len(b)) {
			t.Errorf("%d samples at %d Hz from %d bytes", len(pcm), rate, len(b))
		}
		if w := WAV(pcm, 16000); err == nil {
			if again, _, err := ParseWAV(w); err != nil || !bytes.Equal(WAV(again, 16000), w) {
				t.Errorf("does not come back: %v", err)
			}
		}
	})
}
