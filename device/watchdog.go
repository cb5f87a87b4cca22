package device

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"conch/gpio"
)

// The watchdog (systemd.service(5), WatchdogSec=): systemd aborts a service that has not said WATCHDOG=1 for that long, and
// starts it again. It is said only while every loop that matters goes round (appliance.md 5):
//
//	coordinator   the turn machine         room      the round machine
//	playback      the loudspeaker's keeper mqtt      what delivers the room's packets
//	capture       the microphone's keeper  button …  one per button with a contact
//	voice …       one per session with a server
//
// Each is asked to call back from inside its loop, and is stuck when it has not for so many looks in a row:
//
//	look 1   ask ──> token into the loop
//	look 2   it is back: ask again       it is not: 1
//	look 3                               it is not: 2, which is patience: watchdog.stuck, and no feed until it is back
//
// Looks are counted and not time, and the next look is due a whole interval after the last one: a process that was itself
// stopped (SIGSTOP, a suspended machine, a long collection) finds its loops late by one look at most, however long it was.
// A card that is lost is no hang: its keeper calls back between its attempts to open it. A sound system that cannot be asked
// any more before the process begins anew (audio.MalgoCard.Spent) is one: a new process is the remedy.

// Log events of the watchdog.
const (
	logStuck = "watchdog.stuck" // loop, looks: the feed stops
	logLoose = "watchdog.loose" // it goes round again: the feed goes on
)

// loop is something that must go round.
type loop struct {
	name string
	// call puts a token into the loop, which is f; false: it did not go in. It never waits.
	call func(f func()) bool
	// patience is how many looks it may take.
	patience int
}

// watch decides. It is pure: who looks, and when, is not its business.
type watch struct {
	loops []loopState
}

type loopState struct {
	asked bool // a token is on its way
	still int  // looks since it was sent
	stuck bool
}

// look takes what came back since the last look, and says whom to ask, who has just got stuck, who is loose again, and
// whether the watchdog may be fed.
func (w *watch) look(patience []int, back []bool) (ask, stuck, loose []int, feed bool) {
	if w.loops == nil {
		w.loops = make([]loopState, len(patience))
	}
	feed = true
	for i := range w.loops {
		l := &w.loops[i]
		switch {
		case !l.asked:
		case back[i]:
			if l.stuck {
				loose = append(loose, i)
			}
			*l = loopState{}
		default:
			if l.still++; l.still == patience[i] {
				l.stuck = true
				stuck = append(stuck, i)
			}
		}
		if !l.asked {
			l.asked = true
			ask = append(ask, i)
		}
		feed = feed && !l.stuck
	}
	return ask, stuck, loose, feed
}

// watchdog is the thin driver: it looks, every so often, and feeds.
type watchdog struct {
	// fixed
	every time.Duration
	loops []loop
	log   *slog.Logger
	feed  func()

	// owned by the goroutine that calls look
	w        watch
	patience []int
	refused  []bool // the token did not go in

	back []atomic.Bool
}

func newWatchdog(every time.Duration, loops []loop, log *slog.Logger, feed func()) *watchdog {
	d := &watchdog{every: every, loops: loops, log: log, feed: feed, back: make([]atomic.Bool, len(loops)), refused: make([]bool, len(loops))}
	for _, l := range loops {
		d.patience = append(d.patience, l.patience)
	}
	return d
}

// look looks once.
func (d *watchdog) look() {
	back := make([]bool, len(d.loops))
	for i := range back {
		back[i] = d.back[i].Swap(false)
		if d.refused[i] { // it could not be asked, because what waits in front of it does not go away: ask again
			d.refused[i] = !d.ask(i)
		}
	}
	ask, stuck, loose, feed := d.w.look(d.patience, back)
	for _, i := range ask {
		d.refused[i] = !d.ask(i)
	}
	for _, i := range stuck {
		d.log.Error(logStuck, "loop", d.loops[i].name, "looks", d.patience[i], "every", d.every, "do", "the watchdog is not fed any more; the service manager ends and starts the service")
	}
	for _, i := range loose {
		d.log.Warn(logLoose, "loop", d.loops[i].name)
	}
	if feed {
		d.feed()
	}
}

func (d *watchdog) ask(i int) bool { return d.loops[i].call(func() { d.back[i].Store(true) }) }

// Run looks until ctx ends.
func (d *watchdog) Run(ctx context.Context) {
	t := time.NewTimer(d.every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			d.look()
			t.Reset(d.every) // not a ticker: after a stop it would make up for the time, with two looks close together
		}
	}
}

// Patience: two looks, and at least this. A button looks round every 250 ms. The keepers of the card may be busy with a sound
// system that does not answer: three seconds to open, one to close, and five between two attempts (package audio).
const (
	loopPatience = time.Second
	cardPatience = 12 * time.Second
)

// watchedLoops are the loops of this device. A source of presses that has no loop of its own (standard input, where a read waits
// for a person) is not watched.
func (d *Device) watchedLoops(every time.Duration) []loop {
	looks := func(patience time.Duration) int { return max(2, int((patience+every-1)/every)) }
	most, card := looks(loopPatience), looks(cardPatience)
	loops := []loop{{"coordinator", d.coordinator.Call, most}, {"playback", d.callKeeper("speaker"), card}, {"capture", d.callKeeper("microphone"), card}}
	for _, b := range d.buttons {
		if c, ok := b.(interface{ Call(f func()) bool }); ok {
			loops = append(loops, loop{"button " + b.String(), c.Call, most})
		}
	}
	for _, id := range d.voices.ids {
		if c, ok := d.voices.of[id].(interface{ Call(f func()) bool }); ok {
			loops = append(loops, loop{"voice " + string(id), c.Call, most})
		}
	}
	if d.room != nil {
		loops = append(loops, loop{"room", d.room.Call, most})
	}
	if d.bus != nil {
		loops = append(loops, loop{"mqtt", d.bus.Call, most})
	}
	return loops
}

// callKeeper is Call of the keeper that there is by then.
func (d *Device) callKeeper(what string) func(func()) bool {
	return func(f func()) bool {
		if c, ok := d.card.(interface{ Spent() bool }); ok && c.Spent() {
			return false
		}
		keeper := d.keepers.of(what).Load()
		return keeper != nil && keeper.Call(f)
	}
}

var _ interface{ Call(func()) bool } = (*gpio.Button)(nil)
