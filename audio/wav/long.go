package wav

import (
	"errors"
	"fmt"
	"io"
	"os"

	"conch/audio"
)

// Long is a WAV file that is read piece by piece, however long it is. Its sound is that of Load, to its end; what a header promises
// and the file does not have is not missed, since a copy that was cut off is worth hearing as far as it goes.
type Long struct {
	f     *os.File
	of    wavFormat
	data  int64 // where in the file the first frame is
	count int64 // frames
}

// Pieces are resampled a second at a time, with so much of their neighbours that nobody hears where they meet. Each of audio.Rates is
// whole at either length.
const around = 5 // parts of a second

// NewLong reads the head of f, which it closes when it is closed.
func NewLong(f *os.File) (*Long, error) {
	if err := regular(f.Name(), f); err != nil {
		return nil, err
	}
	of, size, err := readHead(f)
	if err != nil {
		return nil, fmt.Errorf("audio: read WAV %q: %w", f.Name(), err)
	}
	data, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("audio: read WAV: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("audio: read WAV: %w", err)
	}
	if size == 0 { // the program that wrote it ended before it could say how much there is
		size = st.Size()
	}
	return &Long{f: f, of: of, data: data, count: max(0, min(size, st.Size()-data)) / int64(of.align)}, nil
}

// Samples is how many there are, at audio.Rate.
func (l *Long) Samples() int { return int(l.count * audio.Rate / int64(l.of.rate)) }

// From gives the samples from one of them on, at least one and a second at most; none and io.EOF at the end.
func (l *Long) From(sample int) ([]int16, error) {
	if sample < 0 || sample >= l.Samples() {
		return nil, io.EOF
	}
	rate, second := int64(l.of.rate), int64(sample/audio.Rate)
	begin := max(0, second*rate-rate/around)
	end := min(l.count, (second+1)*rate+rate/around)
	b := make([]byte, (end-begin)*int64(l.of.align))
	if n, err := l.f.ReadAt(b, l.data+begin*int64(l.of.align)); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = errors.New("it has become shorter")
		}
		return nil, fmt.Errorf("audio: read WAV %q: %w", l.f.Name(), err)
	}
	pcm, err := audio.Resample(l.of.mono(b), l.of.rate, audio.Rate)
	if err != nil {
		return nil, err
	}
	from := sample - int(begin*audio.Rate/rate)
	to := int((second+1)*audio.Rate - begin*audio.Rate/rate)
	if to = min(to, len(pcm)); from >= to {
		return nil, io.EOF // a file of less than a sample of ours
	}
	return pcm[from:to], nil
}

// Close closes the file.
func (l *Long) Close() error { return l.f.Close() }
