package cascade

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
)

// A length that was written before it was known is not believed where more comes; one that is true is, and what stands behind the sound is
// not said.
func TestTheLengthOfAWAV(t *testing.T) {
	pcm := cascadetest.Sound(1, kit.Rate)
	wav := func(claims uint32, of []int16, behind ...byte) []byte {
		b := kit.WAV(of, kit.Rate)
		binary.LittleEndian.PutUint32(b[40:], claims)
		return append(b, behind...)
	}
	list := append([]byte("LIST\x04\x00\x00\x00"), "INFO"...)
	for _, row := range []struct {
		name string
		wav  []byte
		want int // samples
	}{
		{"the truth", wav(uint32(2*len(pcm)), pcm), len(pcm)},
		{"nothing", wav(0, pcm), len(pcm)},
		{"more than there is", wav(0xffffffff, pcm), len(pcm)},
		{"ten bytes", wav(10, pcm), len(pcm)},
		{"nine bytes", wav(9, pcm), len(pcm)},
		{"a moment", wav(4798, pcm), len(pcm)},
		{"the truth, and a list behind it", wav(uint32(2*len(pcm)), pcm, list...), len(pcm)},
		{"a truth of ten bytes", wav(10, pcm[:5]), 5},
		{"a truth of ten bytes, and a list behind it", wav(10, pcm[:5], list...), 5},
		{"a truth of ten bytes, and one more", wav(10, pcm[:5], 0), 5},
		{"two files", slices.Concat(wav(uint32(2*len(pcm)), pcm), wav(uint32(2*len(pcm)), pcm)), 2 * len(pcm)},
		{"three whose lengths were not known", slices.Concat(wav(0xffffffff, pcm), wav(0, pcm), wav(0xffffffff, pcm)), 3 * len(pcm)},
		{"two files, and a list behind the first", slices.Concat(wav(uint32(2*len(pcm)), pcm, list...), wav(uint32(2*len(pcm)), pcm)), 2 * len(pcm)},
		{"two of a moment", slices.Concat(wav(4798, pcm[:2399]), wav(4798, pcm[:2399])), 4798},
		{"a sample that reads RIFF", wav(uint32(2*len(pcm)), slices.Concat(pcm[:100], []int16{0x4952, 0x4646}, pcm[102:])), len(pcm)},
		{"it ends with RI", wav(0, slices.Concat(pcm[:len(pcm)-1], []int16{0x4952})), len(pcm)},
		{"half of it", wav(uint32(len(pcm)), pcm), len(pcm) / 2},
	} {
		for _, from := range []io.Reader{bytes.NewReader(row.wav), iotest.OneByteReader(bytes.NewReader(row.wav))} {
			s, err := newSound(from, "audio/wav", 0, nil)
			var got []int16
			for err == nil {
				var more []int16
				more, err = s.next()
				got = append(got, more...)
			}
			if !errors.Is(err, io.EOF) || len(got) != row.want || !slices.Equal(got[:min(5, len(got))], pcm[:min(5, len(got))]) {
				t.Errorf("%s: %d samples (%v); want %d", row.name, len(got), err, row.want)
			}
		}
	}
}

// A file behind another may have another rate; there is no click between them.
func TestWAVsOfTwoRates(t *testing.T) {
	low, high := kit.WAV(cascadetest.Sound(1, 16000), 16000), kit.WAV(cascadetest.Sound(1, 48000), 48000)
	s, err := newSound(iotest.HalfReader(bytes.NewReader(slices.Concat(low, high))), "audio/wav", 0, nil)
	var got []int16
	for err == nil {
		var more []int16
		more, err = s.next()
		got = append(got, more...)
	}
	if !errors.Is(err, io.EOF) || len(got) < 2*kit.Rate-100 || len(got) > 2*kit.Rate+100 {
		t.Errorf("%d samples, %v", len(got), err)
	}
	for i, v := range got[kit.Rate-1000 : kit.Rate+1000] { // the quiet between the two tones
		if v > 50 || v < -50 {
			t.Fatalf("a click of %d at %d", v, i)
		}
	}
}

// heldOpen is a body that a server sends whole, and does not end until the client has gone.
type heldOpen struct {
	io.Reader
	gone <-chan struct{}
}

func (h heldOpen) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		<-h.gone
		return 0, context.Canceled
	}
	return n, err
}

func (heldOpen) Close() error { return nil }

// Speech that has come in its whole length is said at once, however long the server keeps the body open.
func TestAWAVWhoseBodyIsHeldOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pcm := cascadetest.Sound(1, kit.Rate)
		ctx, p := patient(t.Context(), "speech", time.Minute, 10*time.Second)
		defer p.over()
		began, got, last := time.Now(), 0, time.Duration(0)
		m := &mouthAt{web: &web{}}
		err := m.read(&http.Response{Header: http.Header{}, Body: heldOpen{bytes.NewReader(kit.WAV(pcm, kit.Rate)), ctx.Done()}}, p, func(pcm []int16) bool {
			got, last = got+len(pcm), time.Since(began)
			return true
		})
		if err != nil || got != len(pcm) || last > tailWait || time.Since(began) > tailWait {
			t.Errorf("%d samples after %v, %v, over after %v", got, last, err, time.Since(began))
		}
	})
}
