package cascade

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
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
			s, err := newSound(from, kind, rate)
			if err != nil {
				continue
			}
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

// Whatever comes as a stream: lines of data in its frame come out, and nothing without an end.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"data: {\"a\":1}\n\ndata: [DONE]\n", ": x\ndata:{}\n", "{\"error\":\"x\"}", "data: nonsense\n", "\r\ndata: {\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var done atomic.Bool
		out, err := io.ReadAll(newLines(io.NopCloser(iotest.OneByteReader(bytes.NewReader(b))), &done))
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
