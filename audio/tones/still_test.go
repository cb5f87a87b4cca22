package tones

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"conch/audio"
	"conch/audio/wav"
)

var minutesFlag = flag.Int("tones.minutes", 2, "minutes of each kind of sound that holds no code; from 10 on, flite speaks anew")

// TestNothingIsHeardWhereNoCodeIs listens to what a room is full of while somebody waits for a code.
func TestNothingIsHeardWhereNoCodeIs(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(r *rand.Rand) []float64{ // a minute of it
		"white":  func(r *rand.Rand) []float64 { return noiseOf(r, "white", 60*simRate) },
		"pink":   func(r *rand.Rand) []float64 { return noiseOf(r, "pink", 60*simRate) },
		"babble": func(r *rand.Rand) []float64 { return noiseOf(r, "babble", 60*simRate) },
		"speech": talking(t, *minutesFlag),
		"music":  music,
		"signs":  signs,
	}
	for kind, minute := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(*seedFlag, uint64(len(kind))))
			d := NewDecoder(simRate)
			for range *minutesFlag {
				x := minute(r)
				scale := 32767 * math.Pow(10, -(3+r.Float64()*30)/20) / loudest(x)
				pcm := make([]int16, len(x))
				for i, v := range x {
					pcm[i] = int16(v * scale)
				}
				for _, code := range listen(d, pcm) {
					t.Errorf("%s was heard in %s (seed %d)", code, kind, *seedFlag)
				}
			}
			t.Logf("%d minutes, looked for a code %d times (seed %d)", *minutesFlag, d.searches, *seedFlag)
		})
	}
}

func loudest(x []float64) float64 {
	top := 1e-9
	for _, v := range x {
		top = math.Max(top, math.Abs(v))
	}
	return top
}

// talking is one voice at a time: for a short run the clips that conch ships, for a long one its own README, read by four voices.
func talking(t *testing.T, minutes int) func(*rand.Rand) []float64 {
	var clips [][]float64
	if minutes < 10 {
		clips = speech()
	} else {
		if _, err := exec.LookPath("flite"); err != nil {
			t.Skip("flite is missing: no speech of an hour")
		}
		text, err := os.ReadFile("../../README.md")
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ,.?\n", r) {
				return r
			}
			return ' '
		}, string(text)))
		for i, voice := range []string{"slt", "awb", "rms", "kal16"} {
			for at := i * 50; at+50 < len(words) && len(clips) < (i+1)*25; at += 100 {
				clips = append(clips, flite(t, voice, strings.Join(words[at:at+50], " ")))
			}
		}
	}
	return func(r *rand.Rand) []float64 {
		x := make([]float64, 60*simRate)
		pitch := 0.8 + 0.5*r.Float64()
		for at := 0; at < len(x); {
			clip := clips[r.IntN(len(clips))]
			for i := 0; float64(i)*pitch < float64(len(clip)-1) && at+i < len(x); i++ {
				x[at+i] += clip[int(float64(i)*pitch)]
			}
			at += int(float64(len(clip))/pitch) + r.IntN(simRate/2)
		}
		if r.IntN(2) == 0 {
			x = convolve(x, box(r, 0.5))
		}
		return x
	}
}

func flite(t *testing.T, voice, text string) []float64 {
	path := filepath.Join(t.TempDir(), "said.wav")
	if out, err := exec.CommandContext(t.Context(), "flite", "-voice", voice, "-t", text, "-o", path).CombinedOutput(); err != nil {
		t.Fatalf("flite: %v: %s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := wav.Read(path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	pcm, err := audio.Resample(w.Samples, w.Rate, simRate)
	if err != nil {
		t.Fatal(err)
	}
	clip := make([]float64, len(pcm))
	for i, s := range pcm {
		clip[i] = float64(s) / 32768
	}
	return clip
}

// music is a minute of chords, a melody and a beat, in a tempo and a key of its own.
func music(r *rand.Rand) []float64 {
	x := make([]float64, 60*simRate)
	scale := []int{0, 2, 4, 5, 7, 9, 11}
	key, beat := r.IntN(12), 60.0/(60+140*r.Float64())/float64(1+r.IntN(4))
	note := func(at, seconds, semitone, gain float64, harmonics int) {
		hz := 110 * math.Pow(2, (semitone+float64(key))/12)
		vibrato := 0.01 * r.Float64()
		for i := range int(seconds * 1.5 * simRate) {
			k := int(at*simRate) + i
			if k >= len(x) {
				return
			}
			s := float64(i) / simRate
			for h := 1; h <= harmonics; h++ {
				x[k] += gain / float64(h) * math.Exp(-3*s/seconds) *
					math.Sin(2*math.Pi*float64(h)*hz*(s+vibrato*math.Sin(30*s)/30))
			}
		}
	}
	degree := func() float64 { return float64(scale[r.IntN(len(scale))]) }
	for at := 0.0; at < 60; at += beat {
		note(at, beat*(0.5+r.Float64()), degree()+12*float64(1+r.IntN(4)), 1, 1+r.IntN(6))
		if r.IntN(4) == 0 {
			for range 3 {
				note(at, 4*beat, degree()+12*float64(r.IntN(4)), 0.5, 4)
			}
		}
		if r.IntN(2) == 0 {
			for i := range simRate / 20 {
				if k := int(at*simRate) + i; k < len(x) {
					x[k] += r.NormFloat64() * math.Exp(-float64(i)/400)
				}
			}
		}
	}
	return x
}

// signs are tones that machines make: pairs of a telephone, alarms, sweeps, and whatever else steps like a code does.
func signs(r *rand.Rand) []float64 {
	x := make([]float64, 60*simRate)
	low, high := []float64{697, 770, 852, 941}, []float64{1209, 1336, 1477, 1633}
	for at := 0; at < len(x); {
		length := simRate * (40 + r.IntN(200)) / 1000
		if r.IntN(2) == 0 {
			length = int(Slot.Seconds() * simRate)
		}
		a, b := low[r.IntN(4)], high[r.IntN(4)]
		sweep := 0.0
		switch r.IntN(4) {
		case 0: // the very tones of a code, in no order
			set := r.IntN(sets)
			a, b = frequency(bin(set, 0, r.IntN(alphabet))), frequency(bin(set, 1, r.IntN(alphabet)))
		case 1:
			a, b = 700+1800*r.Float64(), 700+1800*r.Float64()
		case 2:
			sweep = 4000 * r.Float64()
		}
		for i := range min(length, len(x)-at) {
			s := float64(i) / simRate
			x[at+i] = math.Sin(2*math.Pi*s*(a+sweep*s)) + math.Sin(2*math.Pi*s*b)
		}
		at += length
		if r.IntN(3) == 0 {
			at += r.IntN(simRate / 10)
		}
	}
	return x
}

// TestTwoCodesAtOnceAreNoThird: two rooms pair next to each other.
func TestTwoCodesAtOnceAreNoThird(t *testing.T) {
	heard := 0
	for i := range 60 {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(i)))
		a, b := fmt.Sprintf("%06d", r.IntN(limit)), fmt.Sprintf("%06d", r.IntN(limit))
		x, y := Encode(a, simRate), Encode(b, simRate)
		sum := make([]int16, len(x)+2*simRate)
		late, share := r.IntN(simRate), 0.3+0.4*r.Float64()
		for i := range x {
			sum[i] += int16(share * float64(x[i]))
			sum[i+late] += int16((1 - share) * float64(y[i]))
		}
		for _, code := range listen(NewDecoder(simRate), sum) {
			heard++
			if code != a && code != b {
				t.Errorf("%s and %s at once were heard as %s (seed %d, %d)", a, b, code, *seedFlag, i)
			}
		}
	}
	t.Logf("of 60 pairs of codes %d were heard", heard)
}

// TestAFrameHeardFromItsMiddle: whoever begins to listen while it sounds, or is interrupted by a door.
func TestAFrameHeardFromItsMiddle(t *testing.T) {
	for _, cut := range []float64{0.1, 0.2, 0.3} {
		pcm := Encode("482915", 24000)
		n := int(cut * float64(len(pcm)))
		tail := make([]int16, 12000)
		if got := listen(NewDecoder(24000), append(append([]int16{}, pcm[n:]...), tail...)); len(got) != 1 || got[0] != "482915" {
			t.Errorf("without its first %.0f %% it was heard as %v", 100*cut, got)
		}
		noisy := append([]int16{}, pcm...)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			noisy[len(noisy)/3+i] = int16(r.IntN(65536) - 32768)
		}
		if got := listen(NewDecoder(24000), append(noisy, tail...)); len(got) != 1 || got[0] != "482915" {
			t.Errorf("with noise over %.0f %% of it it was heard as %v", 100*cut, got)
		}
	}
	pcm := Encode("482915", 24000)
	if got := listen(NewDecoder(24000), append(pcm[len(pcm)*7/10:], make([]int16, 24000)...)); len(got) != 0 {
		t.Errorf("its last 30 %% were heard as %v", got)
	}
}
