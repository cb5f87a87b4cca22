package wav

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"conch/audio"
)

// tune is a mono file of two seconds and a bit.
func tune(t *testing.T, rate int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprint(rate, ".wav"))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewFile(f, rate)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 5*rate)
	for i := range 2*rate + rate/3 {
		x := uint16(int16(9000 * math.Sin(2*math.Pi*440*float64(i)/float64(rate))))
		b = append(b, byte(x), byte(x>>8))
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func long(t *testing.T, path string) *Long {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLong(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Piece by piece it is the same sound as at once, at each rate, wherever one begins.
func TestALongFileSoundsAsAShortOne(t *testing.T) {
	for _, rate := range audio.Rates {
		path := tune(t, rate)
		want, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		l := long(t, path)
		if d := l.Samples() - len(want); d < -1 || d > 0 {
			t.Errorf("%d Hz: %d samples; want %d", rate, l.Samples(), len(want))
		}
		for _, from := range []int{0, 1, 23999, 24000, 30001} {
			at := from
			for {
				pcm, err := l.From(at)
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil || len(pcm) == 0 {
					t.Fatalf("%d Hz: at %d: %d samples, %v", rate, at, len(pcm), err)
				}
				for i, x := range pcm {
					if d := int(x) - int(want[at+i]); d < -2 || d > 2 {
						t.Fatalf("%d Hz from %d: sample %d is %d; want %d", rate, from, at+i, x, want[at+i])
					}
				}
				at += len(pcm)
			}
			if at < len(want)-1 {
				t.Errorf("%d Hz from %d: it ends at %d of %d", rate, from, at, len(want))
			}
		}
	}
}

func TestALongFileThatIsBroken(t *testing.T) {
	path := tune(t, 24000)
	if err := os.Truncate(path, 44+2*30000+1); err != nil { // a copy that was cut off is heard as far as it goes
		t.Fatal(err)
	}
	l := long(t, path)
	if l.Samples() != 30000 {
		t.Errorf("%d samples of a file that has 30000", l.Samples())
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := l.From(0); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("of a file that became shorter: %v", err)
	}
	text := filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(text, []byte("no sound at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, t.TempDir()} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewLong(f); err == nil {
			t.Errorf("%s was read as a WAV", path)
		}
	}
}

// Whatever a file holds, it is refused, or can be heard to an end that it tells before.
func FuzzLong(f *testing.F) {
	f.Add(wavOf(1, 1, 24000, 16, make([]byte, 8), 8))
	f.Add(wavOf(3, 2, 44100, 32, make([]byte, 16), 16))
	f.Add(wavOf(1, 1, 8000, 24, make([]byte, 9), -1))
	f.Add(wavOf(1, 8, 8000, 8, make([]byte, 24000), 1<<30))
	path := filepath.Join(f.TempDir(), "fuzz.wav")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLong(file)
		if err != nil {
			return
		}
		defer l.Close()
		at := 0
		for {
			pcm, err := l.From(at)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || len(pcm) == 0 || len(pcm) > audio.Rate {
				t.Fatalf("at %d of %d: %d samples, %v", at, l.Samples(), len(pcm), err)
			}
			at += len(pcm)
		}
		if at < l.Samples()-1 || at > l.Samples()+1 {
			t.Errorf("it ends at %d of %d", at, l.Samples())
		}
	})
}
