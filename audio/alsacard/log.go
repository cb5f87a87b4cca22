package alsacard

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// SpanKind says what a stretch of the log is.
type SpanKind uint32

// The kinds, as the plug-in writes them.
const (
	Started   SpanKind = iota + 1
	Stopped            // by the application, or by draining
	Played             // frames that had been written for this moment
	Replayed           // an underrun: the stale ring once more
	Silent             // an underrun, where the card plays silence
	Unplugged          // nothing sounds from here on
)

func (k SpanKind) String() string {
	return [...]string{"?", "started", "stopped", "played", "replayed", "silent", "unplugged"}[min(int(k), 6)]
}

// Span is a stretch of frames that sounded one after the other.
type Span struct {
	Kind    SpanKind
	At      time.Time // of its first frame
	Rate    int
	Frames  int
	Samples []int16 // channel 0; nil unless Played or Replayed
}

// Time is when frame i sounded.
func (s Span) Time(i int) time.Time {
	return s.At.Add(time.Duration(i) * time.Second / time.Duration(s.Rate))
}

// Log reads what a card has played. Update takes in what came since; the methods that ask call it. Not for several goroutines.
type Log struct {
	Spans []Span

	path   string
	offset int64
}

const (
	magic      = 0x48434e43
	headerSize = 24
	maxFrames  = 1 << 16
)

// Update reads what the card has appended. A record still being written is left for the next time.
func (l *Log) Update() error {
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("alsacard: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	for len(data) >= headerSize {
		s := Span{Kind: SpanKind(le.Uint32(data[4:])), At: Time(int64(le.Uint64(data[8:]))), Frames: int(le.Uint32(data[16:])), Rate: int(le.Uint32(data[20:]))}
		if le.Uint32(data) != magic || s.Frames > maxFrames || s.Kind < Started || s.Kind > Unplugged {
			return fmt.Errorf("alsacard: %s: no record at byte %d", l.path, l.offset)
		}
		size := headerSize
		if s.Kind == Played || s.Kind == Replayed {
			size += 2 * s.Frames
			if len(data) < size {
				break
			}
			s.Samples = make([]int16, s.Frames)
			for i := range s.Samples {
				s.Samples[i] = int16(le.Uint16(data[headerSize+2*i:]))
			}
		}
		data = data[size:]
		l.offset += int64(size)
		l.Spans = append(l.Spans, s)
	}
	return nil
}

// LastAudible is when the last sample louder than threshold sounded, not before from and before to (zero: until the end of
// the log); ok is false when there was none. An underrun that repeats old sound counts: it is heard.
func (l *Log) LastAudible(from, to time.Time, threshold int) (at time.Time, ok bool) {
	_ = l.Update()
	for i := len(l.Spans) - 1; i >= 0; i-- {
		s := l.Spans[i]
		if end := s.Time(s.Frames); end.Before(from) {
			break
		}
		for j := len(s.Samples) - 1; j >= 0; j-- {
			if loud(s.Samples[j], threshold) {
				if t := s.Time(j); !t.Before(from) && (to.IsZero() || t.Before(to)) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// FirstAudible is when the first sample louder than threshold sounded at or after from.
func (l *Log) FirstAudible(from time.Time, threshold int) (at time.Time, ok bool) {
	return l.First(from, func(v int16) bool { return loud(v, threshold) })
}

// First is when the first sample of a kind sounded at or after from.
func (l *Log) First(from time.Time, is func(v int16) bool) (at time.Time, ok bool) {
	_ = l.Update()
	begin, _ := slices.BinarySearchFunc(l.Spans, from, func(s Span, t time.Time) int { return s.Time(s.Frames).Compare(t) })
	for _, s := range l.Spans[begin:] {
		for j, v := range s.Samples {
			if is(v) {
				if t := s.Time(j); !t.Before(from) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// End is the time up to which the log reaches: what is later has not been worked out yet.
func (l *Log) End() time.Time {
	_ = l.Update()
	if len(l.Spans) == 0 {
		return time.Time{}
	}
	s := l.Spans[len(l.Spans)-1]
	return s.Time(s.Frames)
}

// Samples is everything that was played as written, in order, underruns left out.
func (l *Log) Samples() []int16 {
	return l.Since(time.Time{})
}

// Since is what was played as written in what began to sound at or after from.
func (l *Log) Since(from time.Time) []int16 {
	_ = l.Update()
	var all []int16
	for _, s := range l.Spans {
		if s.Kind == Played && !s.At.Before(from) {
			all = append(all, s.Samples...)
		}
	}
	return all
}

// AfterSilence counts the frames that sounded between from and to after so many frames of silence there.
func (l *Log) AfterSilence(from, to time.Time, silence int) (n int) {
	_ = l.Update()
	quiet := 0
	for _, s := range l.Spans {
		if s.Samples == nil || !s.At.Before(to) || s.Time(s.Frames).Before(from) {
			continue
		}
		for i, v := range s.Samples {
			switch t := s.Time(i); {
			case t.Before(from) || !t.Before(to):
			case v == 0:
				quiet++
			case quiet >= silence:
				n++
			default:
				quiet = 0
			}
		}
	}
	return n
}

func loud(v int16, threshold int) bool { return int(v) > threshold || int(v) < -threshold }
