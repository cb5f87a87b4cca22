package audio

import (
	"fmt"
	"time"
)

// Rate is the sample rate inside conch: 24 kHz, mono, signed 16 bit. CardRate is what cards run at.
const (
	Rate     = 24000
	CardRate = 48000
)

// A Card opens the two halves of a sound device. MalgoCard is the real one; package twin has one made of a clock and a tape.
type Card interface {
	// OpenPlayback starts a playback device that calls render from its own audio thread to fill out (mono, CardRate).
	// render must not allocate, lock or log. It is never called after Close has returned.
	OpenPlayback(c StreamConfig, render func(out []int16)) (Stream, error)
	// OpenCapture starts a capture device that calls take with what it captured (mono, CardRate).
	OpenCapture(c StreamConfig, take func(in []int16)) (Stream, error)
	// Better says whether something better than g could be opened now: there was nothing else, and now there is. From any goroutine.
	Better(g Granted) bool
	// Spent says that nothing will be opened any more before the process has begun anew. From any goroutine.
	Spent() bool
}

// StreamConfig asks for a device. Zero values mean the defaults: 5 ms x 3, the system's device.
type StreamConfig struct {
	Device  string        // stable identity as Card lists it; empty: the first that works
	Period  time.Duration // of one callback
	Periods int
	// Back is whoever renders, if it can go back; a card that can be rewound then takes back what is stale (Granted.Rewinds).
	Back Rewinder
}

// Rewinder is whoever fills a card and can go back. All calls come from the card's audio thread, between two of Render.
type Rewinder interface {
	// Keep says, before the first Render, what was granted: how far back, if at all, it may be asked to go.
	Keep(g Granted)
	// Stale says whether something has changed since it was last asked, so that what was rendered is not what should sound.
	Stale() bool
	// Rewind goes back by at most as many of the frames rendered last, and returns by how many. What is then rendered, one period at
	// most, is tried: if it is not 0, Settle comes next.
	Rewind(frames int) int
	// Settle tells how many of the frames that Rewind went back by have been taken out of the card. If all were, what was tried is
	// what sounds. If not, the first of them have been played as they were: it goes forward again, to where as many as possible
	// are left to be rendered, though no more than that, and returns how many; what was tried never was.
	Settle(frames int) int
	// SetQueued tells how long the next frame rendered will wait before it sounds.
	SetQueued(d time.Duration)
}

// RewindStep is the length of a stretch, in frames: a card that rewinds asks Render for whole ones.
const RewindStep = CardRate / 2000 // 0.5 ms

// ThreadName is what the threads of open devices are called, where the system has names for threads (top -H; /proc/PID/task/TID/comm).
const ThreadName = "conch-card"

// Stream is an open device. Its methods may be called from any goroutine.
type Stream interface {
	// Granted is what the device really gave.
	Granted() Granted
	// Stats is what it has counted; the watchdog reads it (a dead device does not report itself).
	Stats() StreamStats
	// Rest lets it play silence by itself, or keep back what it captures for a while, until it is told otherwise. One that cannot
	// goes on calling.
	Rest(on bool)
	// Wake has it call back at once. It never waits; false: it calls in its own time only.
	Wake() bool
	// Flush throws away what waits in it, and does not wait for that: emptied is called when it is empty, and before it asks for
	// sound again. One that takes back what is stale (Granted.Rewinds) need not, and does nothing.
	Flush(emptied func())
	// Close stops the device. It returns within a second even if the device hangs.
	Close() error
}

// StreamStats is what an open device has counted.
type StreamStats struct {
	Callbacks uint64 // those that it answered by itself while it rests, too
	Xruns     uint64 // how often it ran dry, or lost what it had captured; while it rests, too
	Lates     uint64 // how often something was played that should have been taken back, because the thread was late
	Resting   bool
}

// restPiece is how much of a microphone is kept back while it rests. Our choice: each piece enters Go, which costs more than
// the callback itself, since the runtime's monitor wakes up some dozens of times until it has seen that nothing goes on.
const restPiece = time.Second

// Granted is what a device gave, which may not be what was asked for.
type Granted struct {
	Backend string // "alsa", "pulseaudio", "null", "twin"
	Device  string // stable identity
	Name    string // for people
	Rate    int    // Hz, the card's own
	Period  int    // frames at Rate
	Periods int
	Margin  int    // frames that cannot be taken back any more; 0: nothing can
	Kept    string `json:",omitempty"` // why nothing can, where it was tried
}

// Rewinds says whether what waits in the card can be taken back.
func (g Granted) Rewinds() bool { return g.Margin > 0 }

// Bound is the longest time from a change to the end of a fade that it begins: up to a period until the callback, then what
// cannot be taken back, then the fade.
func (g Granted) Bound(fade time.Duration) time.Duration {
	if g.Rate == 0 {
		return 0
	}
	period := time.Duration(g.Period) * time.Second / time.Duration(g.Rate)
	if g.Rewinds() {
		if g.Period%RewindStep != 0 { // what is written ends between two wakes
			period *= 2
		}
		return period + time.Duration(g.Margin+RewindStep)*time.Second/time.Duration(g.Rate) + fade
	}
	return g.Queued() + period + fade
}

// Buffer says for people what the device holds, where that is not what was asked for, and whether it gives it back.
func (g Granted) Buffer(asked StreamConfig) string {
	text := fmt.Sprintf("%d frames x %d at %d Hz", g.Period, g.Periods, g.Rate)
	period := time.Duration(0)
	if g.Rate > 0 {
		period = time.Duration(g.Period) * time.Second / time.Duration(g.Rate)
	}
	off := max(period-asked.Period, asked.Period-period)
	if asked.Period > 0 && off > asked.Period/20 || asked.Periods > 0 && asked.Periods != g.Periods { // a twentieth: other rates
		text += fmt.Sprintf(" (asked for %v", asked.Period)
		if asked.Periods > 0 {
			text += fmt.Sprintf(" x %d", asked.Periods)
		}
		text += ")"
	}
	switch {
	case g.Rewinds():
		return text + fmt.Sprintf(", of which it gives back what it has not played, but for %.3g ms", float64(g.Margin)/float64(g.Rate)*1000)
	case g.Kept != "":
		return text + ", which it keeps (" + g.Kept + ")"
	}
	return text + ", which it keeps"
}

// Queued is the longest time a sample handed over in the callback waits before it sounds: Period x Periods.
func (g Granted) Queued() time.Duration {
	if g.Rate == 0 {
		return 0
	}
	return time.Duration(g.Period*g.Periods) * time.Second / time.Duration(g.Rate)
}
