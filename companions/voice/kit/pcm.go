package kit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// WAV wraps mono 16 bit samples.
func WAV(pcm []int16, rate int) []byte {
	u32, u16 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint16
	b := u32(append(make([]byte, 0, 44+2*len(pcm)), "RIFF"...), uint32(36+2*len(pcm)))
	b = u32(append(b, "WAVEfmt "...), 16)
	b = u16(u16(b, 1), 1) // PCM, mono
	b = u32(u32(b, uint32(rate)), uint32(2*rate))
	b = u32(append(u16(u16(b, 2), 16), "data"...), uint32(2*len(pcm)))
	for _, s := range pcm {
		b = u16(b, uint16(s))
	}
	return b
}

// ParseWAV reads what a synthesizer writes to a pipe: mono, 16 bit; a data length that cannot be true (written before
// the length was known) means the rest.
func ParseWAV(b []byte) (pcm []int16, rate int, err error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, 0, errors.New("not a WAV")
	}
	for b = b[12:]; len(b) >= 8; {
		kind, size := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		b = b[8:]
		body := b[:min(size, int64(len(b)))]
		switch kind {
		case "fmt ":
			if len(body) < 16 {
				return nil, 0, errors.New("WAV: format chunk too short")
			}
			format, channels, bits := binary.LittleEndian.Uint16(body), binary.LittleEndian.Uint16(body[2:]), binary.LittleEndian.Uint16(body[14:])
			rate = int(binary.LittleEndian.Uint32(body[4:]))
			if format != 1 || channels != 1 || bits != 16 || rate < 4000 || rate > 192000 {
				return nil, 0, fmt.Errorf("WAV: format %d, %d channels, %d bit, %d Hz: want PCM, mono, 16 bit", format, channels, bits, rate)
			}
		case "data":
			if rate == 0 {
				return nil, 0, errors.New("WAV: data before format")
			}
			pcm = make([]int16, len(body)/2)
			for i := range pcm {
				pcm[i] = int16(binary.LittleEndian.Uint16(body[2*i:]))
			}
			return pcm, rate, nil
		}
		b = b[min(size+size%2, int64(len(b))):]
	}
	return nil, 0, errors.New("WAV: no data")
}

// Resample converts between rates with a windowed sinc, cut off below the lower of the two Nyquist frequencies: enough
// for speech, not meant for music.
func Resample(pcm []int16, from, to int) []int16 {
	if from == to || len(pcm) == 0 {
		return pcm
	}
	r := NewResampler(from, to)
	out := append([]int16(nil), r.Write(pcm)...)
	return append(out, r.Flush()...)
}

// filter is its table: the phases repeat after to/gcd outputs, a row for each.
func filter(from, to int) (table []float64, taps int) {
	const zeros = 8 // zero crossings on each side
	cut := min(1, float64(to)/float64(from)) * 0.95
	half := zeros / cut
	g := gcd(from, to)
	phases, stride := to/g, from/g
	taps = 2 * (int(half) + 1)
	table = make([]float64, phases*taps)
	for p := range phases {
		frac := float64(p*stride%phases) / float64(phases)
		sum := 0.0
		row := table[p*taps : (p+1)*taps]
		for k := range row {
			d := float64(k-taps/2+1) - frac
			if math.Abs(d) < half {
				row[k] = cut * sinc(cut*d) * (0.5 + 0.5*math.Cos(math.Pi*d/half))
				sum += row[k]
			}
		}
		for k := range row {
			row[k] /= sum
		}
	}
	return table, taps
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
