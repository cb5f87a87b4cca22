package audio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Events of the keeper, as slog messages.
const (
	EventUp   = "audio.up"   // a device runs
	EventDown = "audio.down" // it does not (once per outage, and again when the reason changes)
	EventXrun = "audio.xrun" // it ran dry, or lost what it had captured (once a minute at most)
)

// Our choices.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second        // so a device that is plugged in again is back within this
	silentMin  = 200 * time.Millisecond // no callback for this long, for silentFor, or for what it holds: the device is dead
	silentFor  = 10                     // periods
	firstGrace = 3 * time.Second        // a sink that wakes up may take longer to its first callback
	steady     = 5 * time.Second        // a device that ran this long starts the next outage with the shortest retry
	betterTick = 5 * time.Second
	looks      = 4               // per silence limit
	restLook   = 2 * time.Second // between two looks at a device that rests: nobody waits for it
	xrunsTold  = time.Minute
)

// ErrNoCallbacks is why the keeper gave a device up: neither an unplugged USB card nor a dead sound server reports itself.
var ErrNoCallbacks = errors.New("the device stopped asking for sound (unplugged, or its sound server is gone)")

// KeeperConfig says what to keep open.
type KeeperConfig struct {
	Name string                             // "speaker" or "microphone", for logs
	Open func(StreamConfig) (Stream, error) // a closure over Card.OpenPlayback or OpenCapture
	// Stream is asked for every time. With an empty Device the Card takes the first that works, so another one may step in;
	// a Device that is named is waited for: a voice that turns up in another room is worse than none.
	Stream StreamConfig
	Up     func(Granted)      // a device runs
	Down   func(error)        // it does not any more, or not yet; once per outage
	Better func(Granted) bool // optional: something better could be opened now; see Card.Better
	Off    func(error)        // optional: SetOff has closed the device; an error says that it may not be closed
	Log    *slog.Logger
}

// Keeper holds one half of a card open as long as its context lives.
//
//	open ──ok──> watch ──no callback for max(200 ms, 10 periods, what it holds)──> close ─┐
//	  │error       └─ something better than null ─> close ─> open                         │
//	  └──────────> Down ─> wait 100 ms, 200 ms … 5 s <────────────────────────────────────┘
//
//	SetOff(true): from wherever it is ─> close ─> Off ─> wait for SetOff(false) ─> open
//
// Run is its only goroutine; Up, Down, Off and Better are called there and must not wait for it.
type Keeper struct {
	c KeeperConfig

	lost   atomic.Int64
	xruns  atomic.Uint64
	recent hour // of xruns
	up     atomic.Pointer[Granted]
	call   atomic.Pointer[func()]
	off    atomic.Bool
	turned chan struct{} // one token: off has changed
	unshut error         // owned by Run: why the last device may still be open
	told   time.Time     // owned by Run: when xruns were last told; and …
	untold uint64        // … how many have not been
}

// NewKeeper prepares; Run does it.
func NewKeeper(c KeeperConfig) *Keeper {
	if c.Up == nil {
		c.Up = func(Granted) {}
	}
	if c.Down == nil {
		c.Down = func(error) {}
	}
	if c.Off == nil {
		c.Off = func(error) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{c: c, turned: make(chan struct{}, 1), recent: hour{began: time.Now()}}
}

// Granted is what runs now; ok is false during an outage.
func (k *Keeper) Granted() (g Granted, ok bool) {
	if p := k.up.Load(); p != nil {
		return *p, true
	}
	return Granted{}, false
}

// Lost counts how often a running device died.
func (k *Keeper) Lost() int { return int(k.lost.Load()) }

// Xruns counts how often the device ran dry, or lost what it had captured, since the keeper was made.
func (k *Keeper) Xruns() uint64 { return k.xruns.Load() }

// XrunsLastHour counts those of the last hour.
func (k *Keeper) XrunsLastHour() uint64 { return k.recent.sum() }

// late takes note of new xruns, and tells of them when there has been no word for a while.
func (k *Keeper) late(g Granted, n uint64) {
	if n > 0 {
		k.xruns.Add(n)
		k.recent.add(n)
	}
	if k.untold += n; k.untold == 0 || !k.told.IsZero() && time.Since(k.told) < xrunsTold {
		return
	}
	k.c.Log.Warn(EventXrun, "what", k.c.Name, "device", g.Device, "times", k.untold, "since_start", k.xruns.Load(),
		"queued_ms", float64(g.Queued().Microseconds())/1000, "do", "the audio thread came too late: see conch doctor")
	k.told, k.untold = time.Now(), 0
}

// Call has f called by Run, as a sign that it still sees to the device: at the next look that finds its callbacks moving, or
// before the next attempt to open it. It never waits; false: one waits already.
func (k *Keeper) Call(f func()) bool { return k.call.CompareAndSwap(nil, &f) }

// SetOff closes the device by wish and keeps it closed, or opens it again. It does not wait: Off and Up are told.
func (k *Keeper) SetOff(off bool) {
	if k.off.Swap(off) != off {
		select {
		case k.turned <- struct{}{}:
		default:
		}
	}
}

// rest waits while the device is off by wish.
func (k *Keeper) rest(ctx context.Context) {
	k.c.Off(k.unshut)
	for k.off.Load() && ctx.Err() == nil {
		k.called()
		select {
		case <-ctx.Done():
		case <-k.turned:
		case <-time.After(retryMost): // to be called
		}
	}
}

func (k *Keeper) called() {
	if f := k.call.Swap(nil); f != nil {
		(*f)()
	}
}

// Run keeps the device open until ctx ends; then it closes it and returns. No callback comes after that, and neither Up nor Down.
func (k *Keeper) Run(ctx context.Context) {
	retry := retryFirst
	told := "" // the reason last reported in this outage
	for ctx.Err() == nil {
		k.called()
		if k.off.Load() {
			k.rest(ctx)
			retry, told = retryFirst, ""
			continue
		}
		stream, err := k.c.Open(k.c.Stream)
		if err == nil {
			began := time.Now()
			err = k.watch(ctx, stream, func() { told = "" })
			if time.Since(began) >= steady || err == nil {
				retry = retryFirst
			}
			if err == nil { // the context ended, it is to be off, or there is something better to open
				continue
			}
		}
		if ctx.Err() != nil {
			return
		}
		if told == "" {
			k.c.Down(err)
		}
		if reason := err.Error(); reason != told {
			told = reason
			k.c.Log.Warn(EventDown, "what", k.c.Name, "err", err, "retry_ms", retry.Milliseconds())
		}
		select {
		case <-ctx.Done():
			return
		case <-k.turned:
		case <-time.After(retry):
		}
		retry = min(2*retry, retryMost)
	}
}

// watch looks at the callback counter until it stands still, and closes the stream. nil: nothing is wrong with the device.
// It counts looks and not time, so that a process that was itself frozen does not blame the card.
func (k *Keeper) watch(ctx context.Context, s Stream, up func()) (err error) {
	g := s.Granted()
	defer func() {
		k.up.Store(nil)
		k.unshut = s.Close()
		if cerr := k.unshut; cerr != nil && ctx.Err() == nil {
			k.c.Log.Warn(EventDown, "what", k.c.Name, "err", cerr)
		}
	}()
	limit := max(silentMin, g.Queued()) // a sink may take all that it holds at once, and asks again when that is played
	if g.Rate > 0 {
		limit = max(limit, silentFor*time.Duration(g.Period)*time.Second/time.Duration(g.Rate))
	}
	tick := time.NewTimer(limit / looks)
	defer tick.Stop()
	better := time.NewTicker(betterTick)
	defer better.Stop()

	counted := uint64(0) // xruns
	seen := s.Stats().Callbacks
	still, allowed := 0, int(firstGrace/(limit/looks))
	running := false
	for {
		if k.off.Load() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.turned:
			continue
		case <-better.C:
			if k.c.Better != nil && k.c.Better(g) {
				return nil
			}
			continue
		case <-tick.C:
		}
		n := s.Stats()
		k.late(g, n.Xruns-counted)
		counted = n.Xruns
		next := limit / looks // of a device that may be dead, soon
		if n.Resting && n.Callbacks != seen {
			next = restLook
		}
		tick.Reset(next)
		if n.Callbacks != seen || (!running && n.Callbacks > 0) {
			seen, still = n.Callbacks, 0
			if !running {
				running, allowed = true, looks
				k.up.Store(&g)
				up()
				k.c.Log.Info(EventUp, "what", k.c.Name, "backend", g.Backend, "device", g.Device, "name", g.Name,
					"rate_hz", g.Rate, "period_frames", g.Period, "periods", g.Periods, "queued_ms", float64(g.Queued().Microseconds())/1000,
					"buffer", g.Buffer(k.c.Stream))
				k.c.Up(g)
			}
			k.called()
			continue
		}
		if still++; still > allowed {
			if running {
				k.lost.Add(1)
			}
			return fmt.Errorf("audio: %s %q: %w", k.c.Name, g.Device, ErrNoCallbacks)
		}
	}
}
