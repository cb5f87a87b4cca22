package cascade

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

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
