package device

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"conch/device/config"
)

// What the service manager is told (sd_notify(3)), by datagrams to NOTIFY_SOCKET; without one nothing is done and nothing
// said:
//
//	READY=1      button, sound and voice are up, or what is wrong with each is known: at the latest after readyLimit
//	STATUS=      one line for systemctl status, whenever it changes
//	WATCHDOG=1   see watchdog.go
//	RELOADING=1  with MONOTONIC_USEC (Type=notify-reload wants it), and READY=1 when the reload is over, refused or not
//	             the same when the process becomes itself anew (ErrRestart): READY=1 is then the new one's, and it is fed in between
//	STOPPING=1   at once when the device ends; the rest takes less than shutdownPatience of systemd, so no time is asked for

// notifier tells the service manager; nil tells nobody.
type notifier struct {
	send func(state string) error // nil: there is no service manager
	log  *slog.Logger

	failed atomic.Bool // it was said that nobody could be told
}

// logNotify: the service manager could not be told; once.
const logNotify = "notify.failed"

// systemd is the notifier of this process, and how long its watchdog waits; zero: there is none.
func systemd(log *slog.Logger) (*notifier, time.Duration) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn(logNotify, "err", err, "do", "WATCHDOG_USEC is the service manager's to set; without it there is no watchdog")
	}
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return &notifier{log: log}, 0
	}
	return &notifier{log: log, send: func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}}, watchdog
}

func (n *notifier) tell(lines ...string) {
	if n == nil || n.send == nil {
		return
	}
	if err := n.send(strings.Join(lines, "\n")); err != nil && !n.failed.Swap(true) {
		n.log.Warn(logNotify, "err", err)
	}
}

// serviceTick is how often the status line is looked at.
const serviceTick = 2 * time.Second

// service is the goroutine that speaks with the service manager, until ctx ends; limit is that of its watchdog.
func (d *Device) service(n *notifier, limit time.Duration) actor {
	d.manager = n
	return actor{"service", func(ctx context.Context) error {
		defer func() {
			if d.restarting.Load() {
				n.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()), "STATUS=beginning anew", daemon.SdNotifyWatchdog)
				return
			}
			n.tell(daemon.SdNotifyStopping, "STATUS=stopping")
		}()
		_ = d.WaitReady(ctx, readyLimit) // Appliance logs what is missing
		if ctx.Err() != nil {
			return nil
		}
		status := d.statusLine()
		n.tell(daemon.SdNotifyReady, "STATUS="+status)
		d.announced.Store(true)
		if limit > 0 {
			every := min(limit/4, 5*time.Second)
			dog := newWatchdog(every, d.watchedLoops(every), d.log, func() { n.tell(daemon.SdNotifyWatchdog) })
			done := make(chan struct{})
			go func() { defer close(done); dog.Run(ctx) }() // awaited below
			defer func() { <-done }()
		}
		tick := time.NewTicker(serviceTick)
		defer tick.Stop()
		if n.send == nil { // nobody reads it
			tick.Stop()
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				if now := d.statusLine(); now != status {
					status = now
					n.tell("STATUS=" + status)
				}
			}
		}
	}}
}

// buttonNames are the buttons, but for those that nobody asked for and that are not there.
func (d *Device) buttonNames() []string {
	var names []string
	for _, b := range d.opts.Buttons {
		if r, ok := b.(*reopened); ok && r.quiet && !r.here() {
			continue
		}
		names = append(names, b.String())
	}
	return names
}

// here says that the button is there.
func (r *reopened) here() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.button != nil
}

// known says whether the button is there, or why it is not is known.
func (r *reopened) known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.button != nil || r.lost != nil
}

// reloading tells that a reload begins; call what it returns when that is over. Before the device is ready there is nothing
// to tell: READY=1 would end the start.
func (d *Device) reloading() (over func()) {
	if !d.announced.Load() {
		return func() {}
	}
	d.manager.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	return func() { d.manager.tell(daemon.SdNotifyReady) }
}

// statusLine is the device in one line: what it does, what it is made of, what is wrong.
func (d *Device) statusLine() string {
	var b strings.Builder
	b.WriteString(d.voiceShort())
	held := d.conds.List()
	switch len(held) {
	case 0:
		b.WriteString("; all is well")
	case 1:
		fmt.Fprintf(&b, "; 1 condition: %s", held[0].Code)
	default:
		fmt.Fprintf(&b, "; %d conditions:", len(held))
		for i, c := range held {
			if i == 5 {
				fmt.Fprintf(&b, " and %d more", len(held)-i)
				break
			}
			b.WriteString(" " + string(c.Code))
		}
	}
	if len(held) > 0 {
		b.WriteString(" (conch doctor)")
	}
	return brief(b.String())
}

func (d *Device) voiceShort() string {
	buttons := d.buttonNames()
	if len(buttons) == 0 {
		buttons = []string{"no button"}
	}
	sound := "no loudspeaker"
	if p := d.playback.Load(); p != nil && p.err == nil && p.granted.Backend != "null" {
		sound = p.granted.Name
	}
	voice, _, _ := strings.Cut(d.voiceWords, " (") // why is for who starts it by hand
	return fmt.Sprintf("%s; %s; %s", strings.Join(buttons, ", "), sound, voice)
}

// brief keeps a text on one line of at most 200 runes: a name of a card is not ours, and a line break would begin another
// assignment of the datagram.
func brief(s string) string {
	s = strings.Join(strings.Fields(config.Printable(s)), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:199]) + "…"
	}
	return s
}
