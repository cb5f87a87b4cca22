package service

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// The watchdog (systemd.service(5), WatchdogSec=): systemd aborts a service that has not said WATCHDOG=1 for that long, and
// starts it again. It is said only while every loop that matters goes round (APPLIANCE.md 5):
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
// any more before the process begins anew (audio.Card.Spent) is one: a new process is the remedy.

// Log events of the watchdog.
const (
	logStuck = "watchdog.stuck" // loop, looks: the feed stops
	logLoose = "watchdog.loose" // it goes round again: the feed goes on
)

// Loop is something that must go round.
type Loop struct {
	Name string
	// Call puts a token into the loop, which is f; false: it did not go in. It never waits.
	Call func(f func()) bool
	// Patience is how many looks it may take.
	Patience int
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
	loops []Loop
	log   *slog.Logger
	feed  func()

	// owned by the goroutine that calls look
	w        watch
	patience []int
	refused  []bool // the token did not go in

	back []atomic.Bool
}

func newWatchdog(every time.Duration, loops []Loop, log *slog.Logger, feed func()) *watchdog {
	d := &watchdog{every: every, loops: loops, log: log, feed: feed, back: make([]atomic.Bool, len(loops)), refused: make([]bool, len(loops))}
	for _, l := range loops {
		d.patience = append(d.patience, l.Patience)
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
		d.log.Error(logStuck, "loop", d.loops[i].Name, "looks", d.patience[i], "every", d.every, "do",
			"the watchdog is not fed any more; the service manager ends and starts the service")
	}
	for _, i := range loose {
		d.log.Warn(logLoose, "loop", d.loops[i].Name)
	}
	if feed {
		d.feed()
	}
}

func (d *watchdog) ask(i int) bool { return d.loops[i].Call(func() { d.back[i].Store(true) }) }

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
