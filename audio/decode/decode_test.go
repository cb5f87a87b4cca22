package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/wav"
	"conch/device/benchtest"
)

// kinds are the files that people have, and with what they are made and decoded here.
var kinds = []struct {
	name, file string
	rate       int
	encode     []string // IN and OUT are put in
	decode     []string
	db         float64 // how much the difference to the other decoder is below the sound
}{
	{"mp3", "a.mp3", 44100, []string{"lame", "--quiet", "-b", "128", "IN", "OUT"}, []string{"lame", "--quiet", "--decode", "IN", "OUT"}, 60},
	{"mp3 of changing bitrate", "b.mp3", 44100, []string{"lame", "--quiet", "-V4", "IN", "OUT"}, []string{"lame", "--quiet", "--decode", "IN", "OUT"}, 60},
	{"mp3 of the second kind", "c.mp3", 22050, []string{"lame", "--quiet", "-b", "64", "IN", "OUT"}, []string{"lame", "--quiet", "--decode", "IN", "OUT"}, 60},
	{"mp3 of one channel", "d.mp3", 48000, []string{"lame", "--quiet", "-m", "m", "-b", "64", "IN", "OUT"}, []string{"lame", "--quiet", "--decode", "IN", "OUT"}, 60},
	{"flac", "a.flac", 44100, []string{"flac", "-s", "-f", "-o", "OUT", "IN"}, []string{"flac", "-s", "-d", "-f", "-o", "OUT", "IN"}, 80},
	{"flac at our rate", "b.flac", 24000, []string{"flac", "-s", "-f", "-o", "OUT", "IN"}, []string{"flac", "-s", "-d", "-f", "-o", "OUT", "IN"}, 80},
	{"vorbis", "a.ogg", 44100, []string{"oggenc", "-Q", "-q", "4", "-o", "OUT", "IN"}, []string{"oggdec", "-Q", "-o", "OUT", "IN"}, 60},
	{"vorbis of few samples", "b.ogg", 16000, []string{"oggenc", "-Q", "-q", "3", "-o", "OUT", "IN"}, []string{"oggdec", "-Q", "-o", "OUT", "IN"}, 60},
	{"opus", "a.opus", 48000, []string{"opusenc", "--quiet", "--bitrate", "96", "IN", "OUT"}, []string{"opusdec", "--quiet", "--no-dither", "IN", "OUT"}, 60},
	{"opus for speech", "b.opus", 16000, []string{"opusenc", "--quiet", "--speech", "--bitrate", "16", "IN", "OUT"}, []string{"opusdec", "--quiet", "--rate", "48000", "--no-dither", "IN", "OUT"}, 45},
}

const length = 12 // seconds of each

// sound is speech as far as a decoder can tell: a voice of many harmonics that glides, syllables, and breath.
func sound(rate, seconds int) []int16 {
	r := rand.New(rand.NewPCG(1, 2))
	pcm := make([]int16, 2*rate*seconds)
	phase, breath := 0.0, 0.0
	for i := range rate * seconds {
		t := float64(i) / float64(rate)
		phase += (140 + 60*math.Sin(2*math.Pi*0.37*t)) / float64(rate)
		x := 0.0
		for h := 1.0; h < 12; h++ {
			x += math.Sin(2*math.Pi*h*phase+h*h) / h
		}
		breath += 0.3 * (r.NormFloat64() - breath)
		x = (x*(0.6+0.4*math.Sin(2*math.Pi*3.1*t)) + 0.3*breath) * 4000
		pcm[2*i], pcm[2*i+1] = int16(x), int16(0.8*x)
	}
	return pcm
}

func writeStereo(t testing.TB, name string, rate int, pcm []int16) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := wav.NewFile(f, rate)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 2*len(pcm))
	for _, x := range pcm {
		b = append(b, byte(x), byte(uint16(x)>>8))
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var h [12]byte // two channels
	h[0] = 2
	for i, v := range []uint32{uint32(rate), uint32(4 * rate)} {
		for k := range 4 {
			h[2+4*i+k] = byte(v >> (8 * k))
		}
	}
	h[10] = 4
	if _, err := f.WriteAt(h[:], 22); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, args []string, in, out string) {
	t.Helper()
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.NewReplacer("IN", in, "OUT", out).Replace(a)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("%s is not installed", args[0])
	}
	if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, b)
	}
}

var (
	makeOnce sync.Mutex
	made     = map[string][]byte{}
)

// real is one of the kinds, as its own program makes it.
func real(t testing.TB, i int) (name string) {
	t.Helper()
	makeOnce.Lock()
	defer makeOnce.Unlock()
	k, dir := kinds[i], t.TempDir()
	name = filepath.Join(dir, k.file)
	if b := made[k.file]; b == nil {
		in := filepath.Join(dir, "in.wav")
		writeStereo(t, in, k.rate, sound(k.rate, length))
		run(t, k.encode, in, name)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		made[k.file] = b
	} else if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func opened(t testing.TB, name string) Long {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func all(t testing.TB, l Long) (pcm []int16) {
	t.Helper()
	for {
		more, err := l.From(len(pcm))
		if errors.Is(err, io.EOF) {
			return pcm
		} else if err != nil {
			t.Fatalf("at %d: %v", len(pcm), err)
		}
		pcm = append(pcm, more...)
	}
}

// loaded is a WAV by the filter of files: that of wav.Load is half a frame beside it where it halves.
func loaded(t *testing.T, name string) []int16 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := wav.Read(name, f)
	if err != nil {
		t.Fatal(err)
	}
	if w.Rate == audio.Rate {
		return w.Samples
	}
	r, err := audio.NewResampler(w.Rate, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	return r.Append(nil, append(w.Samples, make([]int16, r.Reach())...))
}

// below is by how many dB the difference of two sounds is below the first, at the lag at which they are most alike.
func below(a, b []int16, most int) (db float64, lag int) {
	const n = 4000
	from := len(a) / 2
	best := math.Inf(1)
	for l := -most; l <= most; l++ {
		off := 0.0
		for i := from; i < from+n; i++ {
			d := float64(a[i]) - float64(b[i+l])
			off += d * d
		}
		if off < best {
			best, lag = off, l
		}
	}
	var s, d float64
	for i := audio.Rate; i < len(a)-audio.Rate && i+lag < len(b)-audio.Rate; i++ {
		x, y := float64(a[i]), float64(b[i+lag])
		s, d = s+x*x, d+(x-y)*(x-y)
	}
	return 10 * math.Log10((s+1)/(d+1)), lag
}

func TestEachKindSoundsAsItsOwnDecoderHasIt(t *testing.T) {
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			name := real(t, i)
			other := filepath.Join(t.TempDir(), "other.wav")
			run(t, k.decode, name, other)
			want := loaded(t, other)
			l := opened(t, name)
			got := all(t, l)
			db, lag := below(got, want, 1500)
			t.Logf("%d samples of %d, said to be %d; %d later, %.0f dB", len(got), len(want), l.Samples(), lag, db)
			if db < k.db {
				t.Errorf("the difference is %.1f dB below the sound; want %.0f", db, k.db)
			}
			if s := float64(l.Samples()) / float64(len(got)); math.Abs(s-1) > 0.05 || math.Abs(float64(len(got)-length*audio.Rate)) > 3000 {
				t.Errorf("%d samples of %d; said to be %d", len(got), length*audio.Rate, l.Samples())
			}
		})
	}
}

// A bookmark is exact: what is sought is what is there, bit for bit.
func TestASampleIsTheSameHoweverOneCameToIt(t *testing.T) {
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			name := real(t, i)
			want := all(t, opened(t, name))
			l := opened(t, name)
			r := rand.New(rand.NewPCG(3, 4))
			for range 15 {
				at := r.IntN(len(want))
				for range 3 {
					pcm, err := l.From(at)
					if at == len(want) && errors.Is(err, io.EOF) {
						break
					}
					if err != nil || len(pcm) == 0 || len(pcm) > audio.Rate {
						t.Fatalf("from %d: %d samples, %v", at, len(pcm), err)
					}
					if !slices.Equal(pcm, want[at:at+len(pcm)]) {
						n := 0
						for n < len(pcm) && pcm[n] == want[at+n] {
							n++
						}
						t.Fatalf("from %d of %d: other samples from %d on", at, len(want), at+n)
					}
					at += len(pcm)
				}
			}
			if _, err := l.From(len(want)); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
			if _, err := l.From(len(want) + 100*audio.Rate); !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: %v", err)
			}
		})
	}
}

// A stream is one of the same sounds, from wherever it is heard first.
func TestAStreamSoundsFromWhereItBegins(t *testing.T) {
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			name := real(t, i)
			want := all(t, opened(t, name))
			b, _ := os.ReadFile(name)
			if strings.HasPrefix(k.name, "mp3") {
				b = b[len(b)/3:]
			} else if !strings.HasPrefix(k.name, "flac") {
				b = append(b, b...) // one title behind another
			}
			l, err := NewLive(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			var got []int16
			for {
				pcm, err := l.Next()
				if ended(err) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, pcm...)
			}
			if strings.HasPrefix(k.name, "mp3") {
				db, _ := below(got, want[len(want)-len(got):], 3000)
				if n := float64(len(got)) / float64(len(want)); n < 0.6 || n > 0.7 || db < 15 { // it begins between two of the samples that it had
					t.Errorf("%.2f of it were heard, %.0f dB", n, db)
				}
				return
			}
			if strings.HasPrefix(k.name, "flac") { // there is one, from its beginning
				if db, _ := below(got, want[:len(got)], 10); len(got) < len(want)-100 || db < 40 {
					t.Errorf("%d of %d samples were heard, %.0f dB", len(got), len(want), db)
				}
				return
			}
			if n := float64(len(got)) / float64(len(want)); n < 1.99 || n > 2.01 {
				t.Errorf("%.2f of it were heard", n)
			}
		})
	}
}

func TestWhatCannotBePlayedSaysWhatItIs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", "")
	for _, row := range []struct{ bytes, says string }{
		{"", "it is empty"},
		{"hello, this is no sound at all", "it is no sound that conch knows"},
		{"\x00\x00\x00\x20ftypM4B \x00\x00\x00\x00", "it is AAC or ALAC (M4A, M4B), for which ffmpeg has to be installed"},
		{"\xff\xf1\x50\x80\x02\x1f\xfc", "it is AAC, for which ffmpeg"},
		{"\xff\xfd\xa4\x04" + strings.Repeat("\x00", 600), "it is MPEG sound of layer 2, for which"},
		{"RF64\xff\xff\xff\xffWAVEds64", "it is WAV of more than 4 GB, for which ffmpeg"},
		{"<!DOCTYPE html><title>404</title>", "it is a page of the web"},
		{"OggS\x00\x02", "EOF"},
		{"fLaC\x00\x00\x00\x22", "EOF"},
		{"RIFF\x00\x00\x00\x00WAVE", "has no data chunk"},
		{"ID3\x04\x00\x00\x7f\x7f\x7f\x7f", "its tag is of more than 256 MiB"},
		{"ID3\x04\x00\x00\x00\x7f\x7f\x7f", "it is empty"},
		{strings.Repeat("\xff", 4000), "it is no sound that conch knows"},
	} {
		name := filepath.Join(dir, "x.mp3")
		if err := os.WriteFile(name, []byte(row.bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%q: %v; want %q", row.bytes[:min(20, len(row.bytes))], err, row.says)
		}
		if _, err := f.Stat(); err == nil {
			t.Errorf("%q: the file is still open", row.bytes[:min(20, len(row.bytes))])
		}
	}
}

// What is damaged in the middle costs what is damaged, and what is behind it is there.
func TestDamageCostsWhatIsDamaged(t *testing.T) {
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			name := real(t, i)
			want := all(t, opened(t, name))
			b, _ := os.ReadFile(name)
			r := rand.New(rand.NewPCG(5, 6))
			for j := len(b) / 2; j < len(b)/2+300; j++ {
				b[j] = byte(r.Uint32())
			}
			if err := os.WriteFile(name, b[:len(b)-1000], 0o600); err != nil {
				t.Fatal(err)
			}
			l := opened(t, name)
			got := all(t, l)
			if lost := len(want) - len(got); lost > 4*audio.Rate || lost < 0 {
				t.Errorf("%d of %d samples", len(got), len(want))
			}
			if strings.HasPrefix(k.name, "mp3") { // a frame whose head is lost is lost, and nobody knows that it was there
				if db, _ := below(want[len(want)/2+audio.Rate:], got[len(want)/2+audio.Rate:], 3000); db < 15 {
					t.Errorf("behind the damage it sounds otherwise: %.0f dB", db)
				}
				return
			}
			at := len(want) * 3 / 4 / audio.Rate * audio.Rate
			pcm, err := l.From(at)
			if err != nil || !slices.Equal(pcm, want[at:at+len(pcm)]) {
				t.Errorf("behind the damage are other samples (%v)", err)
			}
		})
	}
}

// What a library says of itself into everybody's log is not for a household.
func TestFLACSaysNothingOfItself(t *testing.T) {
	var b bytes.Buffer
	quiet := log.Writer()
	log.SetOutput(unsaid{&b})
	defer log.SetOutput(quiet)
	if _, ok := quiet.(unsaid); !ok {
		t.Errorf("the log is written to %T", quiet)
	}
	all(t, opened(t, real(t, 5)))
	log.Print("something else")
	if s := b.String(); strings.Contains(s, "flac") || !strings.Contains(s, "something else") {
		t.Errorf("it says %q", s)
	}
}

// FuzzOpen has any bytes played, from some place on and from another one.
func FuzzOpen(f *testing.F) {
	seeds(f)
	f.Setenv("PATH", "") // a process for each input finds nothing
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(file)
		if err != nil {
			return
		}
		defer l.Close()
		if l.Samples() < 0 {
			t.Errorf("%d samples", l.Samples())
		}
		for _, from := range []int{0, int(at)} {
			for range 50 {
				pcm, err := l.From(from)
				if err != nil {
					break
				}
				if len(pcm) == 0 || len(pcm) > audio.Rate {
					t.Fatalf("%d samples", len(pcm))
				}
				from += len(pcm)
			}
		}
	})
}

// FuzzLive has any bytes come as a stream.
func FuzzLive(f *testing.F) {
	seeds(f)
	f.Setenv("PATH", "") // a process for each input finds nothing
	f.Fuzz(func(t *testing.T, b []byte, _ uint16) {
		l, err := NewLive(bytes.NewReader(b))
		if err != nil {
			return
		}
		for range 200 {
			if pcm, err := l.Next(); err != nil {
				break
			} else if len(pcm) == 0 {
				t.Fatal("no samples, and no error")
			}
		}
	})
}

func seeds(f *testing.F) {
	f.Add([]byte("\xff\xfb\x90\x00"), uint16(0))
	for i, k := range kinds {
		if _, err := exec.LookPath(k.encode[0]); err != nil {
			continue
		}
		b, err := os.ReadFile(real(f, i))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 12000)], uint16(1000))
	}
}

// BenchmarkDecode says how many seconds of sound are decoded in one.
func BenchmarkDecode(b *testing.B) {
	for i, k := range kinds {
		b.Run(strings.ReplaceAll(k.name, " ", "-"), func(b *testing.B) {
			name := real(b, i)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += len(all(b, opened(b, name)))
			}
			b.ReportMetric(float64(n)/audio.Rate/b.Elapsed().Seconds(), "x-real-time")
		})
	}
}

// BenchmarkFirstSample is how long a file takes until its first samples are there, and what the child takes of memory while it decodes all.
//
//	go test -run '^$' -bench FirstSample -benchtime 1x ./audio/decode    50 files of each kind
func BenchmarkFirstSample(b *testing.B) {
	for range b.N {
		fmt.Println("method: Open and the first From of a file of three seconds, 50 times; the most memory of the child (VmHWM) over one whole file")
		mp3, m4a := made3(b, 44100, "a.mp3", "lame --quiet -b 128 in.wav OUT"), made3(b, 44100, "a.m4a", "ffmpeg -loglevel error -i in.wav -c:a aac OUT")
		programs := os.Getenv("PATH")
		for _, k := range []struct {
			name, path string
			file       []byte
		}{{"MP3, by the library", "", mp3}, {"MP3, by ffmpeg", programs, mp3}, {"AAC in MP4, by ffmpeg", programs, m4a}} {
			b.Setenv("PATH", programs)
			name, watch := written(b, k.file), benchtest.Start(b)
			b.Setenv("PATH", k.path)
			var took benchtest.Figures
			for range 50 {
				began := time.Now()
				if _, err := opened(b, name).From(0); err != nil {
					b.Fatal(err)
				}
				took = append(took, benchtest.Sample{At: benchtest.Now(), MS: float64(time.Since(began)) / 1e6})
			}
			benchtest.Judge(b, took, watch.Stop(), benchtest.Promise{What: "first sample, " + k.name, Bound: 1000, Share: 0.05})
			l := opened(b, name).(*file)
			_, _ = l.From(0)
			c, child := l.dec.(*childForward)
			all(b, l)
			if child {
				c.close()
				fmt.Printf("  %s: the child takes at most %d MiB\n", k.name, c.c.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
			}
		}
	}
}
