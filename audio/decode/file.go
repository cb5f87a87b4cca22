package decode

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"conch/audio"
)

// file is a Long of what has to be decoded.
type file struct {
	f    *os.File
	of   container
	dec  forward          // nil: it has to be sought
	rs   *audio.Resampler // nil: it needs none
	next int              // the sample that out begins with
	out  []int16          // decoded and not asked for yet
	skip int              // samples that come before next
	end  error            // why there is no more behind out
}

func newFile(f *os.File, of container) (*file, error) {
	if err := fits(of.rate()); err != nil {
		return nil, err
	}
	return &file{f: f, of: of}, nil
}

func fits(rate int) error {
	if !slices.Contains(audio.Rates, rate) {
		return unfitError{fmt.Sprintf("it has %d samples a second, at which conch plays nothing", rate), "ffmpeg -i IN -ar 44100 OUT.mp3"}
	}
	return nil
}

// Samples is how many there are, about; 0: nobody knows.
func (f *file) Samples() int {
	n := f.of.frames()
	if n < 0 || n > math.MaxInt32 { // what no file holds
		return 0
	}
	return int(min(n*audio.Rate/int64(f.of.rate()), math.MaxInt32))
}

// Close closes the file.
func (f *file) Close() error { return f.f.Close() }

// From gives what is decoded of the second behind a sample.
func (f *file) From(sample int) ([]int16, error) {
	if sample < 0 {
		return nil, io.EOF
	}
	err := safely(func() error {
		if f.dec == nil || sample != f.next {
			if err := f.seek(sample); err != nil {
				return err
			}
		}
		for len(f.out) == 0 && f.end == nil {
			f.end = f.more()
		}
		return nil
	})
	switch {
	case err == nil && len(f.out) > 0:
		pcm := f.out[:min(len(f.out), audio.Rate)]
		f.out, f.next = f.out[len(pcm):], f.next+len(pcm)
		return slices.Clone(pcm), nil
	case err == nil:
		err = f.end
	}
	f.dec = nil
	if ended(err) {
		return nil, io.EOF
	}
	return nil, fmt.Errorf("audio: decode %q: %w", f.f.Name(), err)
}

// seek has the next sample be this one. The filter begins where a whole stretch of it does, so far before that it has all of the past
// that counts: so a sample is the same, whether it was sought or not.
func (f *file) seek(sample int) error {
	rate := f.of.rate()
	f.out, f.end, f.rs, f.dec = f.out[:0], nil, nil, nil
	from, first := int64(sample), sample // frame and sample that are made first
	if rate != audio.Rate {
		rs, err := audio.NewResampler(rate, audio.Rate)
		if err != nil {
			return err
		}
		in, out := rs.Whole()
		whole := max(0, sample/out-(rs.Reach()+in-1)/in)
		f.rs, from, first = rs, int64(whole)*int64(in), whole*out
	}
	dec, err := f.of.seek(from)
	if err != nil {
		return err
	}
	f.next, f.skip = sample, sample-first
	for began := time.Now(); time.Since(began) <= maxWait; {
		pcm, at, err := dec.next()
		if err != nil {
			return err
		}
		if at+int64(len(pcm)) <= from {
			continue
		}
		f.dec = dec
		f.add(pcm[min(max(0, from-at), int64(len(pcm))):])
		return nil
	}
	return errSlow
}

// more decodes a piece.
func (f *file) more() error {
	pcm, _, err := f.dec.next()
	switch {
	case err == nil && f.dec.rate() != f.of.rate():
		return unfitError{say: "its rate changes in the middle"}
	case err == nil:
		f.add(pcm)
	case ended(err) && f.rs != nil:
		f.add(make([]int16, f.rs.Reach()))
	}
	return err
}

func (f *file) add(pcm []int16) {
	if f.rs == nil {
		f.out = append(f.out[:0], pcm...)
	} else {
		f.out = f.rs.Append(f.out[:0], pcm)
	}
	n := min(f.skip, len(f.out))
	f.out, f.skip = f.out[n:], f.skip-n
}

// bisect is where a decoder has to begin to come to a place: probe says where the next piece behind an offset is, and which place it
// is at; none, if there is none before to.
func bisect(from, to, place int64, probe func(offset, to int64) (piece, at int64, ok bool)) int64 {
	best := from
	for to-from > 1<<14 {
		middle := from + (to-from)/2
		piece, at, ok := probe(middle, to)
		if !ok || at > place {
			to = middle
		} else {
			best, from = piece, max(piece, middle)
		}
	}
	return best
}
