package decode

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"conch/audio"
)

// part is one of the sounds that a file has, one behind the other.
type part struct {
	of    container
	first int // its first sample, of those of the file
}

// file is a Long of what has to be decoded.
type file struct {
	f     *os.File
	size  int64
	parts []part // those that are known: each begins where the one before it ends
	now   int    // the part that dec decodes
	dec   forward
	rs    *audio.Resampler // nil: it needs none
	next  int              // the sample that out begins with
	out   []int16          // decoded and not asked for yet
	skip  int              // samples that come before next
	then  *partError       // what comes behind out
	end   error            // why there is no more behind out
}

// newFile reads the head of a file and its first samples; nil: it is a WAV.
func newFile(f *os.File, size int64) (l Long, err error) {
	err = safely(func() error {
		of, err := open(f, 0, size)
		if err != nil || of == nil {
			return err
		}
		l, err = begin(&file{f: f, size: size, parts: []part{{of: of}}})
		return err
	})
	return l, err
}

// begin has a file decode its first samples: what opens is played. Of MP3 three frames in a row were found, which do not need a process.
func begin(f *file) (Long, error) {
	err := fits(f.parts[0].of.rate())
	if _, frames := f.parts[0].of.(*mp3File); err == nil && !frames {
		_, err = f.peek(0)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errSilent
	case err == nil:
		return f, nil
	}
	f.stop()
	return nil, err
}

func fits(rate int) error {
	if !slices.Contains(audio.Rates, rate) {
		return ForeignError{fmt.Sprintf("of %d samples a second", rate)}
	}
	return nil
}

// Samples is how many there are, about; 0: nobody knows.
func (f *file) Samples() int {
	last := f.parts[len(f.parts)-1]
	n := last.of.frames()
	if n <= 0 || n/int64(last.of.rate()) > maxHours*3600 {
		return last.first
	}
	return last.first + atRate(n, last.of.rate())
}

// atRate is how many samples become of so many frames.
func atRate(frames int64, rate int) int {
	return int(min((frames*audio.Rate+int64(rate)-1)/int64(rate), math.MaxInt32))
}

// Close closes the file.
func (f *file) Close() error {
	f.stop()
	return f.f.Close()
}

func (f *file) stop() {
	if f.dec != nil {
		f.dec.close()
		f.dec = nil
	}
}

// From gives what is decoded of the second behind a sample.
func (f *file) From(sample int) ([]int16, error) {
	pcm, err := f.peek(sample)
	if err != nil {
		return nil, err
	}
	f.out, f.next = f.out[len(pcm):], f.next+len(pcm)
	return slices.Clone(pcm), nil
}

// peek is From, and leaves what it gives to be taken.
func (f *file) peek(sample int) ([]int16, error) {
	if sample < 0 {
		return nil, io.EOF
	}
	err := safely(func() error {
		if f.dec == nil || sample != f.next {
			if err := f.seek(sample); err != nil {
				return err
			}
		}
		for began := time.Now(); len(f.out) == 0 && f.end == nil; {
			if f.end = f.more(); f.end == nil && len(f.out) == 0 && time.Since(began) > 2*childWait { // thousands of empty parts
				f.end = errSlow
			}
			if errors.Is(f.end, errRested) {
				if err := f.seek(sample); err != nil {
					return err
				}
			}
		}
		return nil
	})
	switch {
	case err == nil && len(f.out) > 0:
		return f.out[:min(len(f.out), audio.Rate)], nil
	case err == nil:
		err = f.end
	}
	f.stop()
	if ended(err) {
		return nil, io.EOF
	}
	return nil, fmt.Errorf("audio: decode %q: %w", f.f.Name(), err)
}

// seek has the next sample be this one. The filter begins where a whole stretch of it does, so far before that it has all of the past
// that counts: so a sample is the same, whether it was sought or not.
func (f *file) seek(sample int) error {
	f.stop()
	for began := time.Now(); time.Since(began) <= maxWait; {
		f.now = len(f.parts) - 1
		for f.parts[f.now].first > sample {
			f.now--
		}
		err := f.seekPart(f.parts[f.now], sample)
		p := partError{}
		if !errors.As(err, &p) {
			return err
		}
		if err := f.join(p); err != nil {
			return err
		}
		if f.parts[f.now].first > sample { // the part before it has become shorter than it said
			return f.seekPart(f.parts[f.now], f.parts[f.now].first)
		}
	}
	return errSlow
}

// join makes what begins at a place of the file its next part.
func (f *file) join(p partError) error {
	f.stop()
	last := f.parts[f.now]
	if f.now++; f.now < len(f.parts) {
		return nil
	}
	of, err := open(f.f, p.offset, f.size)
	if err == nil && (of == nil || len(f.parts) == maxParts) {
		err = io.EOF
	}
	if err == nil {
		err = fits(of.rate())
	}
	if err != nil {
		return err
	}
	f.parts = append(f.parts, part{of, last.first + atRate(p.frames, last.of.rate())})
	return nil
}

func (f *file) seekPart(p part, sample int) error {
	rate := p.of.rate()
	f.out, f.end, f.rs, f.then = f.out[:0], nil, nil, nil
	from, first := int64(sample-p.first), sample-p.first // frame and sample that are made first
	if rate != audio.Rate {
		rs, err := audio.NewResampler(rate, audio.Rate)
		if err != nil {
			return err
		}
		in, out := rs.Whole()
		whole := max(0, first/out-(rs.Reach()+in-1)/in)
		f.rs, from, first = rs, int64(whole)*int64(in), whole*out
	}
	dec, err := p.of.seek(from)
	if err != nil {
		return err
	}
	f.next, f.skip = sample, sample-p.first-first
	for began := time.Now(); time.Since(began) <= maxWait; {
		pcm, at, err := dec.next()
		if err == nil && at+int64(len(pcm)) <= from {
			continue
		}
		f.dec = dec
		if err == nil {
			f.add(pcm[min(max(0, from-at), int64(len(pcm))):])
		}
		return err
	}
	dec.close()
	return errSlow
}

// more decodes a piece.
func (f *file) more() error {
	if f.then != nil {
		if err := f.join(*f.then); err != nil {
			return err
		}
		err := f.seekPart(f.parts[f.now], f.parts[f.now].first)
		if p := (partError{}); errors.As(err, &p) { // it is empty
			f.then, err = &p, nil
		}
		return err
	}
	pcm, _, err := f.dec.next()
	p := partError{}
	switch {
	case err == nil && f.dec.rate() != f.parts[f.now].of.rate():
		return unfitError{"its rate changes in the middle"}
	case err == nil:
		f.add(pcm)
	case ended(err) && f.rs != nil:
		f.add(make([]int16, f.rs.Reach()))
	case errors.As(err, &p):
		f.then, err = &p, nil
		if f.rs != nil {
			f.add(make([]int16, f.rs.Reach()))
		}
		now := f.parts[f.now]
		f.out = f.out[:max(0, min(len(f.out), now.first+atRate(p.frames, now.of.rate())-f.next))]
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
