package wav

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/audio"
)

// wavOf makes a file with any header.
func wavOf(code, channels, rate, bits int, data []byte, promised int) []byte {
	u32, u16 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint16
	b := u32([]byte("RIFF"), uint32(36+promised))
	b = u32(append(b, "WAVEfmt "...), 16)
	b = u16(u16(b, uint16(code)), uint16(channels))
	b = u32(u32(b, uint32(rate)), uint32(rate*channels*bits/8))
	b = u16(u16(b, uint16(channels*bits/8)), uint16(bits))
	b = u32(append(b, "data"...), uint32(promised))
	return append(b, data...)
}

func TestWAVOfEveryWidth(t *testing.T) {
	f32 := func(x float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)) }
	for _, c := range []struct {
		name     string
		code     int
		channels int
		bits     int
		data     []byte
		want     []int16
	}{
		{"8 bit", 1, 1, 8, []byte{128, 255, 0}, []int16{0, 32512, -32768}},
		{"16 bit", 1, 1, 16, []byte{1, 0, 0xff, 0x7f, 0, 0x80}, []int16{1, 32767, -32768}},
		{"24 bit", 1, 1, 24, []byte{0, 1, 0, 0, 0, 0x80}, []int16{1, -32768}},
		{"32 bit", 1, 1, 32, []byte{0, 0, 2, 0}, []int16{2}},
		{"float", 3, 1, 32, append(f32(0.5), f32(9)...), []int16{16384, 32767}},
		{"not a number", 3, 1, 32, f32(float32(math.NaN())), []int16{0}},
		{"stereo", 1, 2, 16, []byte{10, 0, 20, 0}, []int16{15}},
		{"empty", 1, 1, 16, nil, nil},
	} {
		w, err := Read(c.name, bytes.NewReader(wavOf(c.code, c.channels, 16000, c.bits, c.data, len(c.data))))
		if err != nil || w.Rate != 16000 || len(w.Samples) != len(c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, w, err, c.want)
			continue
		}
		for i := range c.want {
			if w.Samples[i] != c.want[i] {
				t.Errorf("%s: %v; want %v", c.name, w.Samples, c.want)
				break
			}
		}
	}
}

func TestBrokenWAVNamesFileFaultAndRange(t *testing.T) {
	good := wavOf(1, 1, 24000, 16, make([]byte, 8), 8)
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "ends within the RIFF header"},
		{"an MP3", []byte("ID3\x04garbage garbage"), "only WAV files"},
		{"cut in fmt", good[:30], "ends within the fmt chunk"},
		{"cut in data", good[:47], "promises 8 bytes of sound and has 3"},
		{"no data", good[:36], "has no data chunk"},
		{"zero channels", wavOf(1, 0, 24000, 16, nil, 0), "0 channels: must be 1 to 8"},
		{"nine channels", wavOf(1, 9, 24000, 16, nil, 0), "9 channels: must be 1 to 8"},
		{"zero rate", wavOf(1, 1, 0, 16, nil, 0), "rate 0 Hz: must be one of"},
		{"twelve bits", wavOf(1, 1, 24000, 12, nil, 0), "must be PCM (1) with 8, 16, 24 or 32"},
		{"mu-law", wavOf(7, 1, 24000, 8, nil, 0), "format 7"},
		{"half a frame", wavOf(1, 2, 24000, 16, make([]byte, 6), 6), "not a whole number of frames"},
		{"huge", wavOf(1, 1, 24000, 16, nil, MaxBytes+2), "at most 115200000 are read"},
		{"lying align", append(append(bytes.Clone(good[:32]), 7, 0), good[34:]...), "7 bytes a frame"},
		{"data first", append(bytes.Clone(good[:12]), good[36:]...), "data before its fmt"},
		{"big chunk", append(bytes.Clone(good[:12]), "LIST\xff\xff\xff\x7f"...), "at most 16 MiB"},
	} {
		_, err := Read("kitchen.wav", bytes.NewReader(c.b))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kitchen.wav") {
			t.Errorf("%s: %v; want kitchen.wav and %q", c.name, err, c.want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.wav")); err == nil || !strings.Contains(err.Error(), "none.wav") {
		t.Errorf("no file: %v", err)
	}
}

func TestWAVFileThereAndBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.wav")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewFile(f, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	in := make([]int16, 1000)
	for i := range in {
		in[i] = int16(30 * i)
	}
	for _, s := range in {
		if _, err := w.Write([]byte{byte(s), byte(uint16(s) >> 8)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"before Close", "after Close"} { // a crash leaves a file that can be read
		got, err := Load(path)
		if err != nil || len(got) != len(in) || got[17] != in[17] {
			t.Errorf("%s: %d samples, %v; want %d", when, len(got), err, len(in))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	data, _ := binary.Append(nil, binary.LittleEndian, in)
	if b, _ := os.ReadFile(path); !bytes.Equal(b, wavOf(1, 1, audio.Rate, 16, data, len(data))) {
		t.Error("it is not a WAV with a complete header")
	}
}

func FuzzWAV(f *testing.F) {
	f.Add(wavOf(1, 1, 24000, 16, make([]byte, 8), 8))
	f.Add(wavOf(3, 2, 44100, 32, make([]byte, 16), 16))
	f.Add(wavOf(1, 1, 8000, 24, make([]byte, 9), -1))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := Read("fuzz", bytes.NewReader(b))
		if err != nil {
			if w.Samples != nil {
				t.Error("an error and samples")
			}
			return
		}
		if !slices.Contains(audio.Rates, w.Rate) || len(w.Samples) > len(b) {
			t.Errorf("%d samples at %d Hz out of %d bytes", len(w.Samples), w.Rate, len(b))
		}
	})
}
