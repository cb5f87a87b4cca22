package twin

import (
	"encoding/binary"
	"slices"
	"time"

	"conch/audio"
)

// hear puts a period that begins to sound now on the tape. Several playback devices sound together. Needs mu.
func (c *Card) hear(frames []int16, now time.Duration) {
	if len(c.tape) == 0 {
		c.tapeFrom = now
	}
	// A gap (nothing was open) is silence; an overlap (a second device) is mixed.
	at := frameAt(now - c.tapeFrom)
	if gap := at - len(c.tape); gap > c.keep {
		c.tape, c.tapeFrom, at = c.tape[:0], now, 0
	} else if gap > 0 {
		c.tape = append(c.tape, make([]int16, gap)...)
	}
	if missing := at + len(frames) - len(c.tape); missing > 0 {
		c.tape = append(c.tape, make([]int16, missing)...)
	}
	audio.Mix(c.tape[at:], frames)
	if over := len(c.tape) - c.keep - len(frames); over > c.keep/4 { // in big pieces, to move little
		c.tape = append(c.tape[:0], c.tape[over:]...)
		c.tapeFrom += audio.CardDuration(over)
	}
	for missing := frameAt(now-c.recordAt) - c.recorded; missing > 0 && c.record != nil; {
		n := min(missing, audio.CardRate) // a second at a time
		c.write(make([]int16, n))
		missing -= n
	}
	c.write(frames)
}

// write appends to the record. Needs mu.
func (c *Card) write(frames []int16) {
	if c.record == nil {
		return
	}
	b, _ := binary.Append(nil, binary.LittleEndian, frames) // int16s always fit
	c.recorded += len(frames)
	if _, err := c.record.Write(b); err != nil {
		c.record, c.recordErr = nil, err
	}
}

// frameAt is the frame nearest to d; times of ticks are rounded to nanoseconds.
func frameAt(d time.Duration) int { return audio.CardFrames(d + audio.CardDuration(1)/2) }

// Tape is what has sounded, and when its first frame did. It is a copy.
func (c *Card) Tape() (frames []int16, from time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sounded()), c.tapeFrom
}

// sounded is the tape up to now. Needs mu.
func (c *Card) sounded() []int16 {
	return c.tape[:min(len(c.tape), frameAt(max(0, c.clock.Now()-c.tapeFrom)))]
}

// Between is what sounded from a to b; silence where the tape has nothing.
func (c *Card) Between(a, b time.Duration) []int16 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]int16, audio.CardFrames(b-a))
	tape := c.sounded()
	if len(tape) == 0 {
		return out
	}
	if a >= c.tapeFrom {
		if i := frameAt(a - c.tapeFrom); i < len(tape) {
			copy(out, tape[i:])
		}
	} else if i := frameAt(c.tapeFrom - a); i < len(out) {
		copy(out[i:], tape)
	}
	return out
}

// LastAudible is when the last frame after the given time that is not zero ended; after itself if there is none.
func (c *Card) LastAudible(after time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	tape := c.sounded()
	for i := len(tape) - 1; i >= 0; i-- {
		end := c.tapeFrom + audio.CardDuration(i+1)
		if end <= after {
			break
		}
		if tape[i] != 0 {
			return end
		}
	}
	return after
}

// Feed lets the virtual microphone hear pcm (24 kHz), after what was fed before; otherwise it hears silence.
func (c *Card) Feed(pcm []int16) {
	frames := audio.Upsample(pcm)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.air = append(c.air, frames...)
}

// Fed is how long the microphone still has something to hear.
func (c *Card) Fed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return audio.CardDuration(len(c.air))
}

// Hush ends what was fed.
func (c *Card) Hush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.air = nil
}
