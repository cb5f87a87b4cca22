package decode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

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
func NewLive(r io.Reader) (*Live, error) { return newLive(r, ffmpeg() != "") }

// NewSpeech is NewLive without another process, for short pieces that begin at once. It needs no Close.
func NewSpeech(r io.Reader) (*Live, error) { return newLive(r, false) }

func newLive(r io.Reader, child bool) (*Live, error) {
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
	l, kind := &Live{}, kindOf(head)
	if (kind == kindOther || kind == kindUnknown) && isADTS(b) { // of MP3 the first frame is enough: a sentence waits for no more
		return l.foreign(b, ForeignError{"AAC"}, child, "-f", "aac")
	}
	switch kind {
	case kindOgg:
		l.dec = &oggForward{pages: newOggPages(b, 0, maxLost), live: true}
	case kindMP3, kindUnknown: // it may begin in the middle of a frame
		frames := newMP3Frames(b, 0, mp3Head{}, maxLost)
		h, err := frames.find()
		if err != nil {
			if ended(err) || kind == kindUnknown {
				err = what(head)
			}
			return nil, err
		}
		frames.live = true
		if l.dec, err = newMP3Forward(mp3Source{frames, -1}, h, 0, forever, child); err != nil {
			return nil, err
		}
		if c, ok := l.dec.(*childForward); ok {
			c.c.wait = liveWait
		}
	case kindFLAC: // of which the beginning has to be there
		of, err := readFLAC(b)
		if err != nil {
			return nil, err
		}
		l.dec = &flacForward{of: of, r: b}
	default:
		return l.foreign(b, what(head), child)
	}
	return l, nil
}

// foreign has ffmpeg decode a stream, or says that it is not there.
func (l *Live) foreign(r io.Reader, is error, child bool, format ...string) (*Live, error) {
	if foreign := (ForeignError{}); !child || !errors.As(is, &foreign) {
		return nil, is
	}
	c, err := startChild(nil, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}, slices.Concat([]string{"-protocol_whitelist", "pipe", "-format_whitelist", childKinds}, childSoon, format,
		[]string{"-i", "pipe:0", "-map", "0:a:0", "-ac", "1", "-ar", strconv.Itoa(audio.Rate), "-f", "s16le", "pipe:1"})...)
	if err != nil {
		return nil, err
	}
	c.wait = liveWait
	l.dec = &childForward{c: c, hz: audio.Rate, end: forever}
	return l, nil
}

// isADTS says whether two frames of AAC follow each other at the beginning of a stream, which may begin in the middle of one.
func isADTS(r *bufio.Reader) bool {
	b, _ := r.Peek(4 << 10)
	for i := range b {
		n := adtsSize(b[i:])
		if n > 7 && i+n < len(b) && adtsSize(b[i+n:]) > 0 {
			return true
		}
	}
	return false
}

// adtsSize is the length of a frame of AAC with its head (ISO 14496-3, 1.A.2.2); 0: it is none.
func adtsSize(b []byte) int {
	if len(b) < 6 || b[0] != 0xff || b[1]&0xf6 != 0xf0 || b[2]&0x3c > 12<<2 {
		return 0
	}
	return int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
}

// Close ends the decoder. Its reader has to have been closed before.
func (l *Live) Close() { l.dec.close() }

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
