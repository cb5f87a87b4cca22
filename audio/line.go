package audio

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a line. Our choices: what waits for a reader for half a second is late whatever becomes of it; a wireless network holds 10 ms of
// sound back for some tens, and a hole in a word costs more than that it is later; more than linePlenty is a clock that runs ahead, or a network
// that stood still.
const (
	lineBuffer  = 500 * time.Millisecond
	linePiece   = CardRate / 100 // frames: what goes at once
	lineReserve = 50 * time.Millisecond
	linePlenty  = 200 * time.Millisecond
)

// Line leads to a loudspeaker and a microphone that are elsewhere: in a browser. What a card's callback has rendered goes there, and what
// is said there comes in place of what the card hears. All frames are CardRate, mono.
//
//	Play (audio thread) ─> ring ─> Run ─> sound, drop
//	Hear ─> ring ─> Mix (audio thread)
//
// Play and Mix allocate, lock, log and wait for nothing. One callback calls each.
type Line struct {
	out, in *ring
	wake    chan struct{}

	cutAt atomic.Uint64 // position in out: what lies before it must not sound any more …
	cuts  atomic.Uint64 // … for the so-many-th time
	seen  uint64        // what has silenced the speaker, as Play last saw; owned by it
	ready bool          // the reserve is there; owned by Mix

	hearing sync.Mutex // of those who call Hear
}

// NewLine makes one that leads nowhere yet.
func NewLine() *Line {
	n := CardFrames(lineBuffer)
	return &Line{out: newWholeRing(n), in: newWholeRing(n), wake: make(chan struct{}, 1)}
}

// Play sends what was rendered. silenced is Speaker.Silenced, never 0: if it is another number than before,
// what the other end still has must not sound.
func (l *Line) Play(frames []int16, silenced uint64) {
	l.out.write(frames, l.out.size()) // what does not fit, nobody fetches
	before := l.seen
	if l.seen = silenced; before != silenced && before != 0 {
		l.cut() // with the fade: of sound that is gone there, it would be a click
		return
	}
	l.poke()
}

// cut has what was played so far not sound any more.
func (l *Line) cut() {
	l.cutAt.Store(l.out.written())
	l.cuts.Add(1)
	l.poke()
}

func (l *Line) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run gives sound what was played, 10 ms at a time, but for silence, and calls drop when what was given must not sound any more, until ctx
// ends. What was played before it begins is left out. Only one Run at a time.
func (l *Line) Run(ctx context.Context, sound func(frames []int16), drop func()) {
	cuts, buf := l.cuts.Load(), make([]int16, linePiece)
	l.out.release(l.out.written())
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		for {
			if n := l.cuts.Load(); n != cuts {
				cuts = n
				l.out.release(max(l.cutAt.Load(), l.out.released()))
				drop()
			}
			if l.out.queued() < linePiece {
				break
			}
			from := l.out.released()
			for n := 0; n < linePiece; {
				n += copy(buf[n:], l.out.at(from+uint64(n), linePiece-n))
			}
			l.out.release(from + linePiece)
			if Peak(buf) > 0 {
				sound(buf)
			}
		}
	}
}

// Hear takes what was said at the other end.
func (l *Line) Hear(frames []int16) {
	l.hearing.Lock()
	defer l.hearing.Unlock()
	l.in.write(frames, l.in.size())
}

// Mix adds what was said at the other end to what a card has captured.
func (l *Line) Mix(frames []int16) {
	queued := l.in.queued()
	if queued > CardFrames(linePlenty) {
		l.in.release(l.in.released() + uint64(queued-CardFrames(lineReserve)))
		queued = CardFrames(lineReserve)
	}
	if !l.ready && queued < CardFrames(lineReserve) {
		return
	}
	from := l.in.released()
	n := min(queued, len(frames))
	l.ready = n == len(frames) // else it runs dry: wait for another reserve
	if len(frames) > CardFrames(linePlenty) {
		frames = frames[len(frames)-n:] // the card has rested, and brings what was long before
	}
	for done := 0; done < n; {
		piece := l.in.at(from+uint64(done), n-done)
		Mix(frames[done:], piece)
		done += len(piece)
	}
	l.in.release(from + uint64(n))
}

// Elsewhere is a card whose sound is now and then at the other end of a line. What the card would have played then is silence, and what it
// hears is nobody's.
type Elsewhere struct {
	Card
	// Silenced is Speaker.Silenced of whoever plays on the card. Set it before the card is opened.
	Silenced func() uint64
	Now      func() time.Duration

	line  atomic.Pointer[Line] // nil: the sound is here
	since atomic.Int64         // when that was last another one
}

// Lead leads the sound to a line; nil: back to the card. The line that had it sounds no more.
func (e *Elsewhere) Lead(to *Line) {
	from := e.line.Swap(to)
	if from == to {
		return
	}
	e.since.Store(int64(e.Now()))
	if from != nil {
		from.cut()
	}
}

// At is where the sound is; nil: at the card.
func (e *Elsewhere) At() *Line { return e.line.Load() }

// Since is when the microphone was last another one: what was captured before that, somebody else has said.
func (e *Elsewhere) Since() time.Duration { return time.Duration(e.since.Load()) }

// OpenPlayback implements Card.
func (e *Elsewhere) OpenPlayback(conf StreamConfig, render func(out []int16)) (Stream, error) {
	if conf.Back != nil {
		conf.Back = &awayRewinder{Rewinder: conf.Back, e: e}
	}
	return e.Card.OpenPlayback(conf, func(out []int16) {
		render(out)
		if line := e.line.Load(); line != nil {
			line.Play(out, e.Silenced())
			clear(out)
		}
	})
}

// OpenCapture implements Card.
func (e *Elsewhere) OpenCapture(conf StreamConfig, take func(in []int16)) (Stream, error) {
	return e.Card.OpenCapture(conf, func(in []int16) {
		if line := e.line.Load(); line != nil {
			clear(in)
			line.Mix(in)
		}
		take(in)
	})
}

// awayRewinder goes back, while the sound is elsewhere, for silence alone: what is rendered anew of anything else has gone to the line before.
type awayRewinder struct {
	Rewinder
	e        *Elsewhere
	silenced uint64 // as last seen
}

// Stale implements Rewinder.
func (r *awayRewinder) Stale() bool {
	stale, silenced := r.Rewinder.Stale(), r.e.Silenced()
	anew := silenced != r.silenced
	r.silenced = silenced
	return stale && (anew || r.e.line.Load() == nil)
}
