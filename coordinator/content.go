package coordinator

import (
	"context"
	"errors"
	"time"

	"conch/coordinator/turn"
)

// Content sounds through one source after the other: whatever silences it (a press, a turn, a call) ends its source, and when it
// comes back another one begins with the sample behind the last that was heard. So nothing that silences has to know of content,
// and it keeps no more than what a source holds.
//
//	producer ─ write, a piece at a time ─> content: kept, until it was heard ─> source, source, …
//	                                          ^ again: the runner opened another one

const contentPiece = rate / 10 // samples that a producer hands over at once; our choice

// playback is how a stream is played. It is owned by the goroutine that plays it, but for the channels.
type playback struct {
	live    bool
	clock   Clock
	wanting func() // called when it has lost its source and waits for another one
	told    func(heard int, paused bool)
	in      chan []int16  // from the producer …
	taken   chan struct{} // … which waits for this
	again   chan Source   // of one place: where it sounds from now on
	pauses  pauses        // has a lock of its own

	src   Source  // nil before the first
	done  int     // samples heard through earlier sources
	heard int     // of src, that are not in kept any more
	kept  []int16 // what has not been heard, …
	given int     // … of which so many are in src
}

func newPlayback(clock Clock, fn StreamFunc, wanting func()) *playback {
	told := fn.Heard
	if told == nil {
		told = func(int, bool) {}
	}
	return &playback{
		live: fn.Live, clock: clock, wanting: wanting, told: told,
		in: make(chan []int16), taken: make(chan struct{}), again: make(chan Source, 1),
	}
}

// write is what the producer writes with.
func (c *playback) write(ctx context.Context, pcm []int16) error {
	for len(pcm) > 0 {
		n := min(len(pcm), contentPiece)
		select {
		case c.in <- pcm[:n]:
		case <-ctx.Done():
			return errCut
		}
		select {
		case <-c.taken:
		case <-ctx.Done():
			return errCut
		}
		pcm = pcm[n:]
	}
	return nil
}

// play plays until the producer has returned and all of it was heard, or ctx ends; over says that the producer has returned.
func (c *playback) play(ctx context.Context, returned <-chan error) (how turn.EndedHow, over bool, err error) {
	for ctx.Err() == nil {
		var drained <-chan struct{}
		if over && c.src != nil && c.given == len(c.kept) {
			drained = c.src.Drained()
		}
		select {
		case pcm := <-c.in:
			c.pauses.wrote(c.done+c.heard+len(c.kept), pcm)
			c.kept = append(c.kept, pcm...)
			c.feed(ctx)
			select {
			case c.taken <- struct{}{}:
			case <-ctx.Done():
			}
			c.told(c.position(), false)
			continue
		case err = <-returned:
			over, returned = true, nil
		case src := <-c.again:
			c.move(src)
		case <-drained:
			if c.forget(); len(c.kept) <= roughly && errors.Is(err, ErrStopped) {
				return turn.EndedStopped, over, nil
			} else if len(c.kept) <= roughly && err != nil {
				return turn.EndedFailed, over, err
			} else if len(c.kept) <= roughly {
				return turn.EndedFinished, over, nil
			}
			c.wait(ctx, 0) // it was silenced in its last seconds
		case <-ctx.Done():
		}
		c.feed(ctx)
		if over && c.src != nil {
			c.src.Close()
		}
	}
	return turn.EndedStopped, over, nil
}

// feed gives the source what it does not have yet, and waits for another one where that ends meanwhile, or for the end of ctx.
func (c *playback) feed(ctx context.Context) {
	for c.given < len(c.kept) && ctx.Err() == nil {
		if c.src != nil {
			c.given += c.src.Write(ctx, c.kept[c.given:])
			c.forget()
		}
		if c.given < len(c.kept) {
			c.wait(ctx, len(c.kept)-c.given)
		}
	}
}

// wait waits for another source. Of what is live so many samples pass meanwhile.
func (c *playback) wait(ctx context.Context, passing int) {
	if c.src != nil && ctx.Err() == nil {
		c.wanting()
		c.told(c.position(), true)
	}
	var passed <-chan time.Time
	if c.live && passing > 0 {
		t := c.clock.NewTimer(samples(passing))
		defer t.Stop()
		passed = t.C()
	}
	select {
	case src := <-c.again:
		c.move(src)
	case <-passed:
		c.skip()
	case <-ctx.Done():
	}
}

// forget lets go of what was heard.
func (c *playback) forget() {
	if c.src == nil {
		return
	}
	n := min(max(c.src.Heard()-c.heard, 0), c.given)
	c.heard += n
	c.given -= n
	c.kept = c.kept[:copy(c.kept, c.kept[n:])]
}

// move goes on through src, from the sample behind the last one that was heard; what is live, from now.
func (c *playback) move(src Source) {
	if c.forget(); c.live {
		c.skip()
	}
	c.src, c.done, c.heard, c.given = src, c.done+c.heard, 0, 0
	c.pauses.moved(src, c.done)
}

// skip throws away what was not heard.
func (c *playback) skip() {
	c.forget()
	c.kept, c.given = c.kept[:0], 0
	c.pauses.skipped(c.done + c.heard)
}

// position is how many samples of it were heard.
func (c *playback) position() int {
	c.forget()
	return c.done + c.heard
}
