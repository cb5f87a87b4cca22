package decode

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/audio"
)

// made3 is three seconds of the sound, in a file that programs make; they begin in its directory, with in.wav.
func made3(t testing.TB, rate int, file string, commands ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	writeStereo(t, filepath.Join(dir, "in.wav"), rate, sound(rate, 3))
	for _, line := range commands {
		args := strings.Fields(strings.ReplaceAll(line, "OUT", file))
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skipf("%s is not installed", args[0])
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, b)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func written(t testing.TB, b []byte) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// heardWell plays a file, says how long it is, and seeks in it: what is sought is what was played.
func heardWell(t *testing.T, b []byte) (seconds float64) {
	t.Helper()
	name := written(t, b)
	want := all(t, opened(t, name))
	l, r := opened(t, name), rand.New(rand.NewPCG(7, 8))
	for range 8 {
		at := r.IntN(len(want))
		got, err := l.From(at)
		if n := min(len(got), len(want)-at); err != nil || !slices.Equal(got[:n], want[at:at+n]) {
			t.Fatalf("from %d of %d: %d samples that are not those that were played, %v", at, len(want), len(got), err)
		}
	}
	return float64(len(want)) / audio.Rate
}

// Two files that somebody has joined are two sounds, whatever the first one says of its length.
func TestAJoinedFileIsHeardToItsEnd(t *testing.T) {
	lame := "lame --quiet -b 64 in.wav OUT"
	mp3, quiet := made3(t, 44100, "a.mp3", lame), made3(t, 44100, "a.mp3", "lame --quiet -t -b 64 in.wav OUT")
	other := made3(t, 24000, "a.mp3", lame)
	vorbis, opus := made3(t, 44100, "a.ogg", "oggenc -Q -o OUT in.wav"), made3(t, 48000, "a.opus", "opusenc --quiet in.wav OUT")
	flac := made3(t, 44100, "a.flac", "flac -s -o OUT in.wav")
	anew := func(b []byte) []byte { // with another number of its stream
		b = bytes.Clone(b)
		for at := 0; at+oggHead < len(b); {
			n := oggHead + int(b[at+26])
			for _, l := range b[at+oggHead : at+n] {
				n += int(l)
			}
			b[at+14]++
			binary.LittleEndian.PutUint32(b[at+22:], oggSum(b[at:at+n]))
			at += n
		}
		return b
	}
	for name, parts := range map[string][][]byte{
		"MP3":                                   {mp3, mp3},
		"MP3 without tags":                      {quiet, quiet},
		"MP3, a tag in the middle":              {quiet, mp3, quiet},
		"MP3 of two rates":                      {mp3, other},
		"MP3 of two rates, tags":                {other, append([]byte("ID3\x03\x00\x00\x00\x00\x04\x00"), make([]byte, 512)...), quiet},
		"Vorbis":                                {vorbis, anew(vorbis)},
		"Opus":                                  {opus, anew(opus), anew(anew(opus))},
		"Vorbis, of two rates":                  {vorbis, anew(made3(t, 16000, "a.ogg", "oggenc -Q -o OUT in.wav"))},
		"FLAC":                                  {flac, flac},
		"FLAC, the second is shorter":           {flac, made3(t, 44100, "a.flac", "sox in.wav cut.wav trim 0 1", "flac -s -o OUT cut.wav")},
		"FLAC, three, the last is the shortest": {flac, flac, made3(t, 44100, "a.flac", "sox in.wav cut.wav trim 0 0.1", "flac -s -o OUT cut.wav")},
		"FLAC, behind it another rate":          {flac, made3(t, 48000, "a.flac", "flac -s -o OUT in.wav")},
	} {
		t.Run(name, func(t *testing.T) {
			want := 0.0
			for _, p := range parts {
				if strings.HasPrefix(name, "FLAC") {
					want += float64(len(all(t, opened(t, written(t, p))))) / audio.Rate
				} else if len(p) > 1000 {
					want += 3
				}
			}
			try := func(t *testing.T) {
				if got := heardWell(t, bytes.Join(parts, nil)); got < want-0.05 || got > want+0.3 {
					t.Errorf("%.2f s; want %.0f", got, want)
				}
			}
			try(t)
			if !strings.HasPrefix(name, "MP3") {
				return
			}
			t.Run("without ffmpeg", func(t *testing.T) {
				t.Setenv("PATH", "")
				try(t)
			})
		})
	}
}

// A sound may begin late: behind zeros, a foreign tag, a picture.
func TestASoundMayBeginLate(t *testing.T) {
	mp3 := made3(t, 44100, "a.mp3", "lame --quiet -b 64 in.wav OUT")
	ape := append([]byte("APETAGEX\xd0\x07\x00\x00"), make([]byte, 20+300<<10)...)
	binary.LittleEndian.PutUint32(ape[12:], uint32(len(ape)-32))
	riff := made3(t, 44100, "in.wav")
	list := append([]byte("LIST\x00\x00\x20\x00"), make([]byte, 2<<20)...)
	for name, b := range map[string][]byte{
		"zeros":            append(make([]byte, 200<<10), mp3...),
		"zeros behind ID3": slices.Concat([]byte("ID3\x03\x00\x00\x00\x00\x00\x0a"), make([]byte, 10+200<<10), mp3),
		"an APE tag":       append(ape, mp3...),
		"a picture":        slices.Concat(riff[:36], list, riff[36:]),
	} {
		if got := float64(len(all(t, opened(t, written(t, b))))) / audio.Rate; got < 2.95 || got > 3.1 {
			t.Errorf("%s: %.2f s; want 3", name, got)
		}
	}
}

// Where a file does not say how long it is, many of its frames are asked: one of the silence at its beginning says three times too much.
func TestTheLengthOfChangingBitrates(t *testing.T) {
	b := made3(t, 44100, "a.mp3", "sox in.wav pad.wav pad 2 0", "lame --quiet -t -V2 pad.wav OUT")
	l := opened(t, written(t, b))
	if said := float64(l.Samples()) / audio.Rate; said < 4.5 || said > 5.6 {
		t.Errorf("said to be %.1f s; want 5", said)
	}
}

// What a head says wrongly is not believed: of how long the frames of FLAC are, how many frames an MP3 has, how much a WAV has.
func TestHeadsThatAreWrong(t *testing.T) {
	flac := made3(t, 44100, "a.flac", "flac -s -o OUT in.wav")
	mp3 := made3(t, 44100, "a.mp3", "lame --quiet -b 64 in.wav OUT")
	tag := bytes.Index(mp3, []byte("Info"))
	for name, edit := range map[string]func() []byte{
		"least block 0":       func() []byte { b := bytes.Clone(flac); b[8], b[9] = 0, 0; return b },
		"least block 16":      func() []byte { b := bytes.Clone(flac); b[8], b[9] = 0, 16; return b },
		"MP3 of 0 frames":     func() []byte { b := bytes.Clone(mp3); copy(b[tag+8:], "\x00\x00\x00\x00"); return b },
		"MP3 of all frames":   func() []byte { b := bytes.Clone(mp3); copy(b[tag+8:], "\xff\xff\xff\xff"); return b },
		"MP3 of seven":        func() []byte { b := bytes.Clone(mp3); copy(b[tag+8:], "\x00\x00\x00\x07"); return b },
		"WAV of nothing":      func() []byte { b := made3(t, 44100, "in.wav"); copy(b[40:], "\x00\x00\x00\x00"); return b },
		"WAV of all there is": func() []byte { b := made3(t, 44100, "in.wav"); copy(b[40:], "\xff\xff\xff\xff"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			b := edit()
			try := func(t *testing.T) {
				if got := heardWell(t, b); got < 2.95 || got > 3.1 {
					t.Errorf("%.2f s; want 3", got)
				}
			}
			try(t)
			if !strings.HasPrefix(name, "MP3") {
				return
			}
			t.Run("without ffmpeg", func(t *testing.T) {
				t.Setenv("PATH", "")
				try(t)
			})
		})
	}
}

// Other streams in Ogg are passed over, and FLAC in it is played.
func TestWhatElseIsInOgg(t *testing.T) {
	vorbis := made3(t, 44100, "a.ogg", "oggenc -Q -o OUT in.wav")
	page := func(flags byte, serial byte, body string) []byte {
		b := append([]byte("OggS\x00"), make([]byte, oggHead-5)...)
		b[5], b[14], b[26] = flags, serial, 1
		b = append(append(b, byte(len(body))), body...)
		binary.LittleEndian.PutUint32(b[22:], oggSum(b))
		return b
	}
	for name, b := range map[string][]byte{
		"a skeleton": slices.Concat(page(2, 77, "fishead\x00"+strings.Repeat("\x00", 56)), vorbis),
		"a picture":  slices.Concat(page(2, 77, "\x80theora"+strings.Repeat("\x00", 56)), vorbis),
		"FLAC":       made3(t, 44100, "a.oga", "flac -s --ogg -o OUT in.wav"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", "")
			if got := heardWell(t, b); got < 2.95 || got > 3.1 {
				t.Errorf("%.2f s; want 3", got)
			}
		})
	}
}

// foreign are sounds that ffmpeg alone decodes.
var foreign = []struct{ name, file, command string }{
	{"AAC", "a.aac", "ffmpeg -loglevel error -i in.wav -c:a aac OUT"},
	{"AAC in MP4", "a.m4a", "ffmpeg -loglevel error -i in.wav -c:a aac OUT"},
	{"ALAC", "a.m4b", "ffmpeg -loglevel error -i in.wav -c:a alac OUT"},
	{"WMA", "a.wma", "ffmpeg -loglevel error -i in.wav OUT"},
	{"AIFF", "a.aiff", "ffmpeg -loglevel error -i in.wav OUT"},
	{"MPEG of layer II", "a.mp2", "ffmpeg -loglevel error -i in.wav OUT"},
	{"Matroska", "a.mka", "ffmpeg -loglevel error -i in.wav -c:a libopus OUT"},
	{"WavPack", "a.wv", "ffmpeg -loglevel error -i in.wav OUT"},
	{"Vorbis of six channels", "a.ogg", "ffmpeg -loglevel error -i in.wav -ac 6 -c:a libvorbis OUT"},
	{"Opus of six channels", "a.opus", "ffmpeg -loglevel error -i in.wav -ac 6 -c:a libopus OUT"},
	{"a WAV of 64 bits", "a.wav", "ffmpeg -loglevel error -i in.wav -c:a pcm_f64le OUT"},
}

// ffmpeg decodes what this package cannot; where it is not installed, its name and the command are the answer.
func TestFFmpegDecodesTheRest(t *testing.T) {
	for _, k := range foreign {
		t.Run(k.name, func(t *testing.T) {
			name := written(t, made3(t, 44100, k.file, k.command))
			sounds(t, name, strings.Replace(byFFmpeg, "-c:a", "-ac 1 -c:a", 1))
			l := opened(t, name)
			want := all(t, l)
			if got, err := l.From(30000); err != nil || !near(got, want[30000:]) {
				t.Errorf("what was sought is not what was played: %v", err)
			}
			if said := float64(l.Samples()) / audio.Rate; said < 2.5 || said > 3.5 {
				t.Errorf("said to be %.2f s", said)
			}
			t.Setenv("PATH", "")
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(f); err == nil || Remedy(err) != "sudo apt install ffmpeg" {
				t.Errorf("without ffmpeg: %v; %q", err, Remedy(err))
			}
		})
	}
}

func near(a, b []int16) bool {
	off, sum := 0.0, 1.0
	for i := range min(len(a), len(b)) {
		d := float64(a[i]) - float64(b[i])
		off, sum = off+d*d, sum+float64(a[i])*float64(a[i])
	}
	return off < sum/1e4
}

// slow gives what comes at the pace of a station that sends no more at first than later.
type slow struct {
	b    []byte
	rate int // bytes a second
	gave int
	from time.Time
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 512)], s.b)
	s.b, s.gave = s.b[n:], s.gave+n
	<-time.After(time.Until(s.from.Add(time.Duration(s.gave) * time.Second / time.Duration(s.rate))))
	return n, nil
}

// A station that sends as fast as it is played is heard after a second or two of it, whatever decodes it.
func TestASlowStationIsHeardSoon(t *testing.T) {
	for name, b := range map[string][]byte{
		"MP3": made3(t, 44100, "a.mp3", "lame --quiet -t -b 64 in.wav OUT"),
		"AAC": made3(t, 44100, "a.aac", "ffmpeg -loglevel error -i in.wav -c:a aac -b:a 64k OUT"),
	} {
		s := &slow{b: slices.Concat(b, b, b, b), rate: 8000, from: time.Now()}
		l, err := NewLive(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Next(); err != nil || s.gave > 20000 {
			t.Errorf("%s: %.1f s of it had come, %v", name, float64(s.gave)/8000, err)
		}
		l.Close()
	}
}

// A station of AAC sounds from where it is joined.
func TestAStreamOfAAC(t *testing.T) {
	b := made3(t, 44100, "a.aac", "ffmpeg -loglevel error -i in.wav -c:a aac OUT")
	for _, from := range []int{0, 3001} {
		l, err := NewLive(bytes.NewReader(b[from:]))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for err == nil {
			var pcm []int16
			pcm, err = l.Next()
			n += len(pcm)
		}
		l.Close()
		if seconds := float64(n) / audio.Rate; seconds < 2.5 || !ended(err) {
			t.Errorf("from byte %d: %.2f s, %v", from, seconds, err)
		}
	}
}

// The program of a file that is paused ends, and the file goes on where it was.
func TestAPausedFileTakesNoProcess(t *testing.T) {
	for name, b := range map[string][]byte{
		"MP3":  made3(t, 44100, "a.mp3", "lame --quiet -b 64 in.wav OUT"),
		"AIFF": made3(t, 44100, "a.aiff", "ffmpeg -loglevel error -i in.wav OUT"),
	} {
		want := all(t, opened(t, written(t, b)))
		l := opened(t, written(t, b)).(*file)
		var got []int16
		for {
			pcm, err := l.From(len(got))
			if err != nil {
				if !ended(err) {
					t.Errorf("%s: after %d samples: %v", name, len(got), err)
				}
				break
			}
			got = append(got, pcm...)
			if dec, ok := l.dec.(*childForward); ok && len(got) < 30000 {
				dec.c.rest.Reset(0)
				_, _ = dec.c.cmd.Process.Wait()
			}
		}
		if len(got) != len(want) || !near(want, got) {
			t.Errorf("%s: %d samples of %d, or others", name, len(got), len(want))
		}
	}
}

// A decoder that was taken over, and stays behind the end of its output, keeps no press and no Close waiting: without the bound this hangs.
func TestADecoderThatStaysIsEnded(t *testing.T) {
	name := written(t, made3(t, 44100, "a.mp3", "lame --quiet -b 320 in.wav OUT"))
	dir := t.TempDir()
	for _, script := range []string{"exec >&-; exec sleep 1000", "exec >&-; sleep 1000 & exec sleep 1000"} {
		if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		if _, err := opened(t, name).From(0); err == nil {
			t.Errorf("%s: it plays", script)
		}
	}
}
