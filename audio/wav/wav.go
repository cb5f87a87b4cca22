// Package wav reads WAV files of any common kind, and writes them.
package wav

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"syscall"

	"conch/audio"
)

// MaxBytes is the most audio data a WAV may have: ten minutes of stereo at 48 kHz, 16 bit.
const MaxBytes = 10 * 60 * 48000 * 2 * 2

// Sound is a decoded file, mixed to mono.
type Sound struct {
	Rate    int
	Samples []int16
}

// Load reads a file and gives its sound at Rate.
func Load(path string) ([]int16, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
	if err != nil {
		return nil, fmt.Errorf("audio: read WAV: %w", err)
	}
	defer f.Close()
	if err := regular(path, f); err != nil {
		return nil, err
	}
	w, err := Read(path, f)
	if err != nil {
		return nil, err
	}
	return audio.Resample(w.Samples, w.Rate, audio.Rate)
}

func regular(path string, f *os.File) error {
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("audio: read WAV %q: not a regular file", path)
	}
	return nil
}

// Read decodes PCM of 8, 16, 24 or 32 bit or 32 bit float, 1 to 8 channels (averaged), at one of Rates. It is strict:
// a size that is not kept is an error. Only a data size of 0xFFFFFFFF is taken as "to the end", as programs write it
// that do not know the length yet. name is for the errors.
func Read(name string, r io.Reader) (Sound, error) {
	w, err := readWAV(r)
	if err != nil {
		return Sound{}, fmt.Errorf("audio: read WAV %q: %w", name, err)
	}
	return w, nil
}

type wavFormat struct {
	code, channels, bits, align int
	rate                        int
}

func readWAV(r io.Reader) (Sound, error) {
	f, size, err := readHead(r)
	if err != nil {
		return Sound{}, err
	}
	return readData(r, size, f)
}

// maxChunk is how many bytes may stand before the data: a cover.
const maxChunk = 16 << 20

// readHead reads up to the first sample.
func readHead(r io.Reader) (of wavFormat, size int64, err error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return of, 0, short("the RIFF header", err)
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WAVE" {
		return of, 0, fmt.Errorf("begins with %q, not RIFF....WAVE: only WAV files are read (convert it: sox IN OUT.wav)", head[:])
	}
	var format *wavFormat
	for chunks := 0; chunks < 64; chunks++ {
		var h [8]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return of, 0, errors.New("has no data chunk")
			}
			return of, 0, short("a chunk header", err)
		}
		id, size := string(h[:4]), int64(binary.LittleEndian.Uint32(h[4:]))
		switch id {
		case "fmt ":
			if format != nil {
				return of, 0, errors.New("has two fmt chunks")
			}
			f, err := readFormat(r, size)
			if err != nil {
				return of, 0, err
			}
			format = &f
		case "data":
			if format == nil {
				return of, 0, errors.New("has its data before its fmt chunk")
			}
			return *format, size, nil
		default: // LIST, fact, bext, ...; chunks are padded to even sizes
			if size > maxChunk {
				return of, 0, fmt.Errorf("chunk %q of %d bytes: at most %d MiB may stand before the data", id, size, maxChunk>>20)
			}
			if _, err := io.CopyN(io.Discard, r, size+size&1); err != nil {
				return of, 0, short(fmt.Sprintf("chunk %q of %d bytes", id, size), err)
			}
		}
	}
	return of, 0, errors.New("has more than 64 chunks before its data")
}

func short(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("ends within %s (truncated?)", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ErrKind is a WAV file, of a kind that is not read.
var ErrKind = errors.New("a kind that is not read")

// kindError says which.
type kindError struct{ error }

func (kindError) Is(target error) bool { return target == ErrKind }

func readFormat(r io.Reader, size int64) (f wavFormat, err error) {
	if size < 16 || size > 1024 {
		return f, fmt.Errorf("fmt chunk of %d bytes: must be 16 to 1024", size)
	}
	b := make([]byte, size+size&1)
	if _, err := io.ReadFull(r, b); err != nil {
		return f, short("the fmt chunk", err)
	}
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(b[i:])) }
	f = wavFormat{code: u16(0), channels: u16(2), align: u16(12), bits: u16(14)}
	rate := binary.LittleEndian.Uint32(b[4:])
	if f.code == 0xFFFE { // WAVE_FORMAT_EXTENSIBLE: the code begins the sub-format's GUID
		if size < 40 {
			return f, fmt.Errorf("extensible fmt chunk of %d bytes: must be at least 40", size)
		}
		f.code = u16(24)
	}
	switch {
	case f.channels < 1 || f.channels > 8:
		return f, kindError{fmt.Errorf("%d channels: must be 1 to 8", f.channels)}
	case rate > math.MaxInt32 || !slices.Contains(audio.Rates, int(rate)):
		return f, kindError{fmt.Errorf("rate %d Hz: must be one of %v", rate, audio.Rates)}
	case f.code == 1 && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32):
	case f.code == 3 && f.bits == 32:
	default:
		return f, kindError{fmt.Errorf("format %d with %d bits: must be PCM (1) with 8, 16, 24 or 32 bits or float (3) with 32", f.code, f.bits)}
	}
	f.rate = int(rate)
	if f.align != f.channels*f.bits/8 {
		return f, fmt.Errorf("%d bytes a frame: %d channels of %d bits take %d", f.align, f.channels, f.bits, f.channels*f.bits/8)
	}
	return f, nil
}

func readData(r io.Reader, size int64, f wavFormat) (Sound, error) {
	open := size == math.MaxUint32
	if !open && size > MaxBytes {
		return Sound{}, fmt.Errorf("%d bytes of sound: at most %d are read (ten minutes of stereo)", size, MaxBytes)
	}
	if open {
		size = MaxBytes + 1
	}
	var data bytes.Buffer // grows with what is really there, not with what the header promises
	n, err := io.CopyN(&data, r, size)
	if err != nil && !errors.Is(err, io.EOF) {
		return Sound{}, err
	}
	switch {
	case !open && n < size:
		return Sound{}, fmt.Errorf("promises %d bytes of sound and has %d (truncated?)", size, n)
	case open && n > MaxBytes:
		return Sound{}, fmt.Errorf("more than %d bytes of sound: at most that many are read (ten minutes of stereo)", MaxBytes)
	case n%int64(f.align) != 0:
		return Sound{}, fmt.Errorf("%d bytes of sound: not a whole number of frames of %d bytes", n, f.align)
	}
	return Sound{Rate: f.rate, Samples: f.mono(data.Bytes())}, nil
}

// mono is whole frames, decoded and averaged.
func (f wavFormat) mono(b []byte) []int16 {
	out, width := make([]int16, 0, len(b)/f.align), f.bits/8
	for ; len(b) >= f.align; b = b[f.align:] {
		var sum float64
		for c := range f.channels {
			sum += sampleOf(b[c*width:], f)
		}
		out = append(out, audio.Saturate(float32(sum/float64(f.channels))))
	}
	return out
}

// sampleOf scales one value to 16 bits.
func sampleOf(b []byte, f wavFormat) float64 {
	switch f.bits {
	case 8:
		return (float64(b[0]) - 128) * 256
	case 16:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case 24:
		return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / 65536
	}
	u := binary.LittleEndian.Uint32(b)
	if f.code == 1 {
		return float64(int32(u)) / 65536
	}
	x := float64(math.Float32frombits(u))
	if math.IsNaN(x) {
		return 0
	}
	return max(-32768, min(32767, x*32768))
}

const wavHeader = 44

func header(rate int, size uint32) []byte {
	b := make([]byte, 0, wavHeader)
	u32, u16 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint16
	b = u32(append(b, "RIFF"...), size+wavHeader-8)
	b = u32(append(b, "WAVEfmt "...), 16)
	b = u16(u16(b, 1), 1)
	b = u32(u32(b, uint32(rate)), uint32(2*rate))
	b = u16(u16(b, 2), 16)
	return u32(append(b, "data"...), size)
}

// File is a mono WAV of 16 bits that is written while its length is not known. Until Close puts the sizes in, the
// header says "to the end", so that a file cut off by a crash can still be read.
type File struct {
	f    io.WriteSeeker
	rate int
	size int64
}

// NewFile writes the header.
func NewFile(f io.WriteSeeker, rate int) (*File, error) {
	if _, err := f.Write(header(rate, math.MaxUint32)); err != nil {
		return nil, fmt.Errorf("audio: write WAV: %w", err)
	}
	return &File{f: f, rate: rate}, nil
}

// Write takes samples as bytes, signed 16 bit little endian, as a tape records them. A WAV ends at 4 GiB (12 hours):
// what would go beyond is refused.
func (w *File) Write(b []byte) (int, error) {
	if w.size+int64(len(b)) > math.MaxUint32-wavHeader-1 {
		return 0, errors.New("audio: write WAV: full (4 GiB)")
	}
	n, err := w.f.Write(b)
	w.size += int64(n)
	return n, err
}

// Close puts the sizes into the header. It does not close the file below.
func (w *File) Close() error {
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("audio: write WAV: %w", err)
	}
	if _, err := w.f.Write(header(w.rate, uint32(w.size))); err != nil {
		return fmt.Errorf("audio: write WAV: %w", err)
	}
	_, err := w.f.Seek(0, io.SeekEnd)
	return err
}
