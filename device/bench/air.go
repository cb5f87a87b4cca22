package bench

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/device/wait"
)

// listener judges silence in the air: it listens to the bench's tone with the device's own microphone, so that everything is in
// the figure that a person would hear as well: the card's queue, the converter, the amplifier, the way through the room, and,
// on top, the microphone's own delay.
//
//	card ─> take (audio thread) ─> ring of frames, ring of (position, time) ─> lastAudible, after each press
//
// In a room a sound does not end with its source: it dies away over a few hundred milliseconds. What counts is the last
// millisecond in which the tone was within airDrop of its level before the press: that is when the direct sound ended. Where
// the background is digital silence (a loopback), every audible sample counts, as on the virtual card.
type listener struct {
	now   func() time.Duration
	floor float64 // RMS of the loudest background millisecond; owned by the bench's goroutine

	frames  [earFrames]int16
	blocks  [earBlocks]struct{ end, at int64 } // frames captured by the end of a callback, and when that was
	arrived atomic.Int64                       // callbacks so far; publishes both
}

const (
	earFrames = 4 * audio.CardRate     // twice what a measurement looks back, so that nobody reads what is being written
	earBlocks = 4096                   // at 2 ms a callback, twice that as well
	airWindow = audio.CardRate / 1000  // frames: one period of the tone
	airDrop   = 6                      // dB
	airLoud   = 12                     // dB above the background, or the microphone does not hear the loudspeaker
	airBefore = 60 * time.Millisecond  // of tone before the press, whose level is the measure
	airListen = 400 * time.Millisecond // of background
	digital   = 4                      // RMS; a background below is no sound at all
)

// take is the capture callback: no allocation, lock or log.
func (e *listener) take(in []int16) {
	n := e.arrived.Load()
	end := int64(0)
	if n > 0 {
		end = e.blocks[(n-1)%earBlocks].end
	}
	for i, x := range in {
		e.frames[(end+int64(i))%earFrames] = x
	}
	e.blocks[n%earBlocks].end = end + int64(len(in))
	e.blocks[n%earBlocks].at = int64(e.now())
	e.arrived.Store(n + 1)
}

// level is the RMS of the millisecond that ends with frame end.
func (e *listener) level(end int64) float64 {
	sum := 0.0
	for i := end - airWindow; i < end; i++ {
		x := float64(e.frames[(i+earFrames)%earFrames])
		sum += x * x
	}
	return math.Sqrt(sum / airWindow)
}

// windows calls f for each millisecond that arrived after since, with its level and the time of its end, oldest first. The
// time is the latest at which it can have sounded: that of the callback, less the frames that came behind it in the same one.
func (e *listener) windows(since time.Duration, f func(level float64, at time.Duration)) {
	n := e.arrived.Load()
	first := n
	for first > 1 && n-first < earBlocks/2 && e.blocks[(first-1)%earBlocks].at >= int64(since) {
		first--
	}
	for i := first; i < n; i++ {
		b, from := e.blocks[i%earBlocks], e.blocks[(i-1)%earBlocks].end
		for end := (from/airWindow + 1) * airWindow; end <= b.end; end += airWindow {
			f(e.level(end), time.Duration(b.at)-audio.CardDuration(int(b.end-end)))
		}
	}
}

// background measures the room while nothing sounds.
func (e *listener) background(ctx context.Context) error {
	from := e.now()
	if err := wait.For(ctx, airListen); err != nil {
		return err
	}
	heard := 0
	e.windows(from, func(level float64, _ time.Duration) { e.floor, heard = max(e.floor, level), heard+1 })
	if heard == 0 {
		return fmt.Errorf("no sound came from the microphone in %s: see conch audio test", airListen)
	}
	return nil
}

// lastAudible is when the tone was last heard at or after since, and whether it was.
func (e *listener) lastAudible(since time.Duration) (last time.Duration, heard bool) {
	tone, n := 0.0, 0
	e.windows(since-airBefore, func(level float64, at time.Duration) {
		if at <= since {
			tone, n = tone+level, n+1
		}
	})
	tone /= max(1, float64(n))
	least := tone / math.Pow(10, airDrop/20.0)
	if e.floor < digital {
		least = digital
	}
	if tone < least || tone < e.floor*math.Pow(10, airLoud/20.0) {
		return 0, false
	}
	e.windows(since, func(level float64, at time.Duration) {
		if level >= least {
			last, heard = at, true
		}
	})
	return last, heard
}

// overheard is a card whose microphone the listener hears as well.
type overheard struct {
	audio.Card
	ear *listener
}

func (o overheard) OpenCapture(c audio.StreamConfig, take func(in []int16)) (audio.Stream, error) {
	s, err := o.Card.OpenCapture(c, func(in []int16) {
		o.ear.take(in)
		take(in)
	})
	if err != nil {
		return nil, err
	}
	return restless{s}, nil
}

// restless is a stream that never rests: a resting microphone delivers late.
type restless struct{ audio.Stream }

func (restless) Rest(bool) {}

// inTheAir makes the device's own microphone the judge.
func (b *Silence) inTheAir() {
	if b.Now == nil {
		b.Now = clock()
	}
	e := &listener{now: b.Now}
	b.Card = overheard{b.Card, e}
	b.LastAudible, b.Prepare = e.lastAudible, e.background
	b.judge = fmt.Sprintf("heard by the device's own microphone, its delay included; the last millisecond within %d dB of the tone (on a "+
		"loopback: any audible sample)", airDrop)
}
