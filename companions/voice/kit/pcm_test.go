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

// Whatever pieces a stream comes in, it is the same as the whole, sample by sample.
func TestPiecesAreResampledAsTheWhole(t *testing.T) {
	for _, r := range [][2]int{{16000, 24000}, {22050, 24000}, {24000, 24000}, {44100, 24000}, {48000, 24000}, {8000, 24000}} {
		in := make([]int16, r[0]/2)
		for i := range in {
			in[i] = int16(9000 * math.Sin(2*math.Pi*440*float64(i)/float64(r[0])))
		}
		whole := Resample(in, r[0], r[1])
		if len(whole) != len(in)*r[1]/r[0] {
			t.Errorf("%v: %d samples of %d", r, len(whole), len(in))
		}
		s := NewResampler(r[0], r[1])
		var got []int16
		for at, n := 0, 1; at < len(in); at, n = at+n, n*7%997+1 {
			got = append(got, s.Write(in[at:min(len(in), at+n)])...)
		}
		got = append(got, s.Flush()...)
		if len(got) != len(whole) {
			t.Fatalf("%v: %d samples in pieces, %d at once", r, len(got), len(whole))
		}
		for i := range got {
			if got[i] != whole[i] {
				t.Fatalf("%v: sample %d is %d in pieces, %d at once", r, i, got[i], whole[i])
			}
		}
	}
}
