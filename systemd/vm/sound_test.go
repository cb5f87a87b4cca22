package vm

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"testing"

	"conch/audio/words"
	"conch/device/language"
)

// coarse is the rate at which recordings are compared: 4 kHz has enough of a voice, and little to compute.
const coarse = 4000

// samples reads one of hand's recordings: mono, 16 bit, a header of 44 bytes.
func samples(t *testing.T, path string) []int16 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 44 {
		t.Fatalf("%s: %v, %d bytes", path, err, len(data))
	}
	data = data[44:]
	out := make([]int16, len(data)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return out
}

// thin takes the mean of every n samples.
func thin(in []int16, n int) []float64 {
	out := make([]float64, len(in)/n)
	for i := range out {
		for _, s := range in[i*n : (i+1)*n] {
			out[i] += float64(s) / float64(n)
		}
	}
	return out
}

// likeness is the highest correlation of a piece with any place of a recording, -1 to 1.
func likeness(in, piece []float64) (best float64) {
	var energy float64
	for _, v := range piece {
		energy += v * v
	}
	for at := 0; at+len(piece) <= len(in); at++ {
		var product, power float64
		for i, v := range piece {
			x := in[at+i]
			product += x * v
			power += x * x
		}
		if power > 0 {
			best = max(best, product/math.Sqrt(power*energy))
		}
	}
	return best
}

// said is how sure it is that a recording of 48 kHz holds one of the clips that conch says: the best of the likenesses of
// its seconds, since one lost period shifts the rest.
func said(t *testing.T, recording []int16, clip string) (best float64) {
	t.Helper()
	pcm, err := words.Samples(language.English, clip)
	if err != nil {
		t.Fatal(err)
	}
	in, want := thin(recording, 48000/coarse), thin(pcm, 24000/coarse)
	const piece = coarse // a second: half of one is a vowel, and those are all alike
	for at := 0; at+piece <= len(want) && at < 3*coarse; at += piece {
		if loud(want[at : at+piece]) {
			best = max(best, likeness(in, want[at:at+piece]))
		}
	}
	return best
}

func loud(in []float64) bool {
	var energy float64
	for _, v := range in {
		energy += v * v
	}
	return math.Sqrt(energy/float64(len(in))) > 500
}

// says fails unless the clip is in a recording.
func (b *box) says(path, clip string) {
	b.t.Helper()
	kept := b.get(path)
	sure := said(b.t, samples(b.t, kept), clip)
	b.t.Logf("%q is said (likeness %.2f)", words.Text(language.English, clip), sure)
	if sure < 0.6 {
		b.t.Errorf("%q is not in %s: likeness %.2f, want 0.6; a recogniser makes of it: %s", words.Text(language.English, clip), kept, sure, b.heard(path))
	}
}

// TestLikeness: a clip is found in itself, at another loudness and among noise, and not in another one.
func TestLikeness(t *testing.T) {
	pcm, err := words.Samples(language.English, "offline")
	if err != nil {
		t.Fatal(err)
	}
	recording := slices.Repeat([]int16{0}, 48000)
	for i, s := range pcm {
		recording = append(recording, s/2+int16(i%97-48), s/2-int16(i%89-44))
	}
	if got := said(t, recording, "offline"); got < 0.9 {
		t.Errorf("the clip is in its own recording with a likeness of %.2f; want 0.9", got)
	}
	if got := said(t, recording, "disk_full"); got > 0.45 {
		t.Errorf("another clip is in the recording with a likeness of %.2f; want less than 0.45", got)
	}
}
