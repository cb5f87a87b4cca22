package decode

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"conch/audio"
)

// Live is a stream: what comes is decoded, in the order in which it comes.
type Live struct {
	dec forward
	hz  int
	rs  *audio.Resampler // nil: it needs none
	out []int16
}

// NewLive waits for the beginning of a stream. Its reader's errors come out as they are.
func NewLive(r io.Reader) (*Live, error) {
	b := bufio.NewReaderSize(r, 4<<10)
	head, err := b.Peek(512)
	if len(head) < 4 {
		if err == nil || ended(err) {
			err = what(head)
		}
		return nil, err
	}
	if size, ok := tagSize(head); ok {
		if _, err := io.CopyN(io.Discard, b, min(size, maxGarbage)); err != nil {
			return nil, err
		}
		if head, err = b.Peek(512); len(head) < 4 {
			return nil, err
		}
	}
	l := &Live{}
	switch kind := kindOf(head); kind {
	case kindOgg:
		l.dec = &oggForward{pages: newOggPages(b, 0, sniffed), live: true}
	case kindMP3, kindUnknown: // it may begin in the middle of a frame
		frames := newMP3Frames(b, 0, mp3Head{}, sniffed)
		h, err := frames.find()
		if err != nil {
			if ended(err) || kind == kindUnknown {
				err = what(head)
			}
			return nil, err
		}
		l.dec = &mp3Forward{frames: frames, of: h, end: math.MaxInt64}
	case kindFLAC: // of which the beginning has to be there
		of, err := readFLAC(b)
		if err != nil {
			return nil, err
		}
		l.dec = &flacForward{of: of, r: b}
	default:
		return nil, what(head)
	}
	return l, nil
}

// Next gives the samples that come next, at least one; io.EOF where the stream has ended.
func (l *Live) Next() (pcm []int16, err error) {
	for len(pcm) == 0 {
		if err := safely(func() error { return l.more(&pcm) }); err != nil {
			return nil, err
		}
	}
	return pcm, nil
}

func (l *Live) more(pcm *[]int16) error {
	in, _, err := l.dec.next()
	if err != nil {
		return err
	}
	if hz := l.dec.rate(); hz != l.hz {
		if err := fits(hz); err != nil {
			return fmt.Errorf("audio: decode: %w", err)
		}
		l.hz, l.rs = hz, nil
		if hz != audio.Rate {
			if l.rs, err = audio.NewResampler(hz, audio.Rate); err != nil {
				return err
			}
		}
	}
	if l.rs == nil {
		*pcm = in
		return nil
	}
	l.out = l.rs.Append(l.out[:0], in)
	*pcm = l.out
	return nil
}
