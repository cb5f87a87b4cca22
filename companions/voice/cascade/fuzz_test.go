package cascade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
)

// Whatever a server sends as sound: it ends, in samples or an error, and in no more of them than there were bytes for.
func FuzzSound(f *testing.F) {
	f.Add(kit.WAV(cascadetest.Sound(0.2, 16000), 16000), "audio/wav", 0)
	f.Add([]byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x03\x00\x02\x00\x40\x1f\x00\x00\x00\x00\x00\x00\x08\x00\x20\x00data\x00\x00\x00\x00\x00\x00\x80\x7f"), "", 0)
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVELIST\xff\xff\xff\x7f"), "", 24000)
	f.Add([]byte("{\"error\":\"no\"}"), "application/json", 24000)
	f.Add([]byte("\x01"), "audio/L16;rate=44100", 0)
	f.Fuzz(func(t *testing.T, b []byte, kind string, rate int) {
		if len(b) > 1<<16 {
			t.Skip("longer than what is looked at here")
		}
		for _, from := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b))} {
			any, err := newSound(from, kind, rate, nil)
			if err != nil {
				continue
			}
			s := any.(*bare)
			n := 0
			for range len(b) + 16 {
				pcm, err := s.next()
				if n += len(pcm); err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
			}
			if !s.ended {
				t.Fatalf("%d samples of %d bytes, and no end", n, len(b))
			}
			if n > 3*len(b)+100 { // from 8 kHz
				t.Errorf("%d samples of %d bytes", n, len(b))
			}
		}
	})
}

// Whatever comes compressed ends, in samples or in words, and in one way, however it is cut into reads.
func FuzzPacked(f *testing.F) {
	for _, k := range packings {
		if b, ok := k.make(); ok {
			f.Add(b)
			f.Add(b[:len(b)/2])
			f.Add(append(b[:len(b)/3:len(b)/3], b[len(b)/2:]...))
		}
	}
	f.Add([]byte("ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x00"))
	f.Add([]byte("fLaC\x00\x00\x00\x22"))
	f.Add([]byte("OggS\x00\x02"))
	f.Add([]byte("\xff\xf1\x50\x80\x02\x1f\xfc\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<15 {
			t.Skip("longer than what is looked at here")
		}
		var ends [2]string
		for i, from := range []io.Reader{bytes.NewReader(b), iotest.HalfReader(bytes.NewReader(b))} {
			n := 0
			s, err := newSound(from, "audio/mpeg", kit.Rate, decoded)
			for pulls := 0; err == nil; pulls++ {
				var pcm []int16
				if pcm, err = s.next(); pulls > 8*len(b)+16 {
					t.Fatalf("no end of %d bytes", len(b))
				}
				if n += len(pcm); n > leastSound { // nobody plays more of a word: silence is 65536 samples in some ten bytes of FLAC
					err = io.EOF
				}
			}
			var bad *unusable
			var no *kit.RefusalError
			if !errors.Is(err, io.EOF) && !errors.As(err, &bad) && !errors.As(err, &no) {
				t.Fatalf("no words: %v", err)
			}
			ends[i] = fmt.Sprint(n, " ", err)
		}
		if ends[0] != ends[1] {
			t.Errorf("%s, and read in halves %s", ends[0], ends[1])
		}
	})
}

// Whatever comes as a stream: lines of data in its frame come out, and nothing without an end.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"data: {\"a\":1}\n\ndata: [DONE]\n", ": x\ndata:{}\n", "{\"error\":\"x\"}", "data: nonsense\n", "\r\ndata: {\n", "[{\"a\":\n1},{}]", "\ufeff{\n\"a\":1}x", "{\"a\":1}\n{\"b\":2}\n", "[1, 2]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var n notes
		out, err := io.ReadAll(newLines(io.NopCloser(iotest.OneByteReader(bytes.NewReader(b))), &n))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			if l := bytes.TrimSpace(line); len(l) > 0 && !bytes.HasPrefix(l, []byte("data: {")) && string(l) != "data: [DONE]" {
				t.Errorf("%q comes of %q", l, b)
			}
		}
	})
}
