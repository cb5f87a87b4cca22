package tones

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEveryRateIsUnderstood(t *testing.T) {
	for _, rate := range []int{8000, 11025, 16000, 22050, 24000, 44100, 48000, 96000} {
		for _, code := range []string{"000000", "999999", "482915", "007300"} {
			pcm := append(make([]int16, rate/7), Encode(code, rate)...)
			pcm = append(pcm, make([]int16, rate)...)
			if got := listen(NewDecoder(rate), pcm); len(got) != 1 || got[0] != code {
				t.Errorf("%s at %d Hz was heard as %v", code, rate, got)
			}
		}
	}
}

func TestWhatIsNoCodeSoundsNothing(t *testing.T) {
	for _, code := range []string{"", "12345", "1234567", "12345x", "-12345", "+12345", " 12345", "１２"} {
		if pcm := Encode(code, 24000); pcm != nil {
			t.Errorf("Encode(%q) gives %d samples", code, len(pcm))
		}
	}
	if Encode("123456", 4000) != nil {
		t.Error("Encode at 4000 Hz gives samples, and cannot")
	}
}

func TestFrame(t *testing.T) {
	pcm := Encode("482915", 24000)
	if got, want := len(pcm), int(Length.Seconds()*24000); got != want || Length.Seconds() > 3.5 {
		t.Errorf("a frame is %d samples, want %d, and at most 3.5 s", got, want)
	}
	peak, jump := 0, 0
	for i, s := range pcm {
		peak = max(peak, int(s), -int(s))
		if i > 0 {
			jump = max(jump, int(s)-int(pcm[i-1]), int(pcm[i-1])-int(s))
		}
	}
	if peak > 27000 || peak < 20000 {
		t.Errorf("its peak is %d", peak)
	}
	if limit := int(math.Ceil(2 * math.Pi * 2300 / 24000 * 27000)); jump > limit {
		t.Errorf("two neighbouring samples are %d apart: a click (tones do %d)", jump, limit)
	}
}

// TestCodesAreFarApart: two codes have at most so many tones in common that hearing one as the other takes as many errors as
// chance does not bring about.
func TestCodesAreFarApart(t *testing.T) {
	// The code is linear: what two have in common is what their difference has in common with nothing.
	var zero, word [slots]byte
	codeword(0, &zero)
	most, which := 0, 0
	for code := 1; code < 1<<20; code++ {
		codeword(code, &word)
		same := 0
		for i := range word {
			if !known(i) {
				same += agree([2]uint8{word[i] >> 4, word[i] & 15}, zero[i])
			}
		}
		if same > most {
			most, which = same, code
		}
	}
	t.Logf("at most %d of the 40 tones that carry a code are also another's (difference %#x)", most, which)
	if most > 16 {
		t.Errorf("%d of 40 tones are those of another code; want at most 16", most)
	}
}

func TestSolveFindsEveryCodeFromAnyThreePoints(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		code := r.IntN(limit)
		var word [slots]byte
		codeword(code, &word)
		var xs, ys []byte
		for i := range word {
			if !known(i) {
				xs, ys = append(xs, byte(len(xs)+1)), append(ys, div(word[i]^scramble[i], stretch[i]))
			}
		}
		p := r.Perm(datas)
		got, ok := solve([symbols]byte{xs[p[0]], xs[p[1]], xs[p[2]]}, [symbols]byte{ys[p[0]], ys[p[1]], ys[p[2]]})
		if !ok || got != code {
			t.Fatalf("solve of %06d at %v = %06d, %v", code, p[:3], got, ok)
		}
	}
}

// TestPiecesDoNotMatter: the same sound in any pieces is heard the same.
func TestPiecesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	pcm := draw(r, 0.5, 10).through(r, Encode("482915", simRate))
	pcm = append(pcm, draw(r, 0.5, 10).through(r, Encode("000001", simRate))...)
	for _, size := range []int{1, 7, 160, 4096, len(pcm)/2 + simRate/2} {
		d, got := NewDecoder(simRate), []string(nil)
		for rest := pcm; len(rest) > 0; {
			n := min(size, len(rest))
			if code, ok := d.Feed(rest[:n]); ok {
				got = append(got, code)
			}
			rest = rest[n:]
		}
		if strings.Join(got, " ") != "482915 000001" {
			t.Errorf("in pieces of %d: heard %v", size, got)
		}
	}
	if code, ok := NewDecoder(simRate).Feed(pcm); !ok || code != "000001" {
		t.Errorf("in one piece: heard %q, want the last one", code)
	}
}

func TestFeedAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	pcm := make([]int16, 480)
	d := NewDecoder(24000)
	if n := testing.AllocsPerRun(200, func() {
		for i := range pcm {
			pcm[i] = int16(r.IntN(65536) - 32768)
		}
		d.Feed(pcm)
	}); n != 0 {
		t.Errorf("Feed allocates %g times", n)
	}
}

// FuzzFeed: whatever is heard, in whatever pieces, a code is six digits and the pieces do not matter.
func FuzzFeed(f *testing.F) {
	frame := Encode("482915", 8000)
	b := make([]byte, 2*len(frame))
	for i, s := range frame {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(s))
	}
	f.Add(b, uint16(160), uint32(8000))
	f.Add([]byte{1, 2, 3}, uint16(1), uint32(24000))
	f.Add(make([]byte, 9000), uint16(7), uint32(44100))
	f.Fuzz(func(t *testing.T, b []byte, size uint16, rate uint32) {
		pcm := make([]int16, len(b)/2)
		for i := range pcm {
			pcm[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		whole, _ := NewDecoder(int(rate % 200_000)).Feed(pcm)
		d, last := NewDecoder(int(rate%200_000)), ""
		for len(pcm) > 0 {
			n := min(int(size)+1, len(pcm))
			if code, ok := d.Feed(pcm[:n]); ok {
				if last = code; parse(code) < 0 {
					t.Fatalf("heard %q", code)
				}
			}
			pcm = pcm[n:]
		}
		if last != whole {
			t.Fatalf("in one piece %q, in pieces of %d %q", whole, int(size)+1, last)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	d := NewDecoder(24000)
	pcm := make([]int16, 24000)
	for i := range pcm {
		pcm[i] = int16(i * i * 7919)
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Feed(pcm)
	}
}

// BenchmarkSearch is what a look costs at most.
func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 9))
	var heard [slots][2]uint8
	for i := range heard {
		heard[i] = [2]uint8{uint8(r.IntN(alphabet)), uint8(r.IntN(alphabet))}
	}
	b.ReportAllocs()
	for b.Loop() {
		search(&heard)
	}
}
