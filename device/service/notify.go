package service

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"conch/device/redact"
)

// What the service manager is told (sd_notify(3)), by datagrams to NOTIFY_SOCKET; without one nothing is done and nothing
// said:
//
//	READY=1      button, sound and voice are up, or what is wrong with each is known: at the latest after ReadyLimit
//	STATUS=      one line for systemctl status, whenever it changes
//	WATCHDOG=1   see watchdog.go
//	RELOADING=1  with MONOTONIC_USEC (Type=notify-reload wants it), and READY=1 when the reload is over, refused or not
//	             the same when the process becomes itself anew (Restarting): READY=1 is then the new one's, and it is fed in between
//	STOPPING=1   at once when the device ends; the rest takes less than shutdownPatience of systemd, so no time is asked for

// Notifier tells the service manager; nil tells nobody.
type Notifier struct {
	send func(state string) error // nil: there is no service manager
	log  *slog.Logger

	failed    atomic.Bool // it was said that nobody could be told
	announced atomic.Bool // READY=1 was said
}

// logNotify: the service manager could not be told; once.
const logNotify = "notify.failed"

// Systemd is the notifier of this process, and how long its watchdog waits; zero: there is none.
func Systemd(log *slog.Logger) (*Notifier, time.Duration) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn(logNotify, "err", err, "do", "WATCHDOG_USEC is the service manager's to set; without it there is no watchdog")
	}
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return &Notifier{log: log}, 0
	}
	return &Notifier{log: log, send: func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}}, watchdog
}

func (n *Notifier) tell(lines ...string) {
	if n == nil || n.send == nil {
		return
	}
	if err := n.send(redact.Text(strings.Join(lines, "\n"))); err != nil && !n.failed.Swap(true) {
		n.log.Warn(logNotify, "err", err)
	}
}

// Our choices.
const (
	ReadyLimit = 5 * time.Second // how long a start may take before the device says what it has so far and goes on
	tick       = 2 * time.Second // between two looks at the status line
)

// Host is what runs.
type Host interface {
	WaitReady(ctx context.Context, limit time.Duration) error
	StatusLine() string // for systemctl status, of one line
	Restarting() bool   // it is about to begin anew
	Loops(every time.Duration) []Loop
}

// Run speaks with the service manager until ctx ends; watchdog is how long its watchdog waits, 0: there is none.
func (n *Notifier) Run(ctx context.Context, h Host, watchdog time.Duration) {
	defer func() {
		if h.Restarting() {
			n.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()), "STATUS=beginning anew", daemon.SdNotifyWatchdog)
			return
		}
		n.tell(daemon.SdNotifyStopping, "STATUS=stopping")
	}()
	_ = h.WaitReady(ctx, ReadyLimit) // whoever runs it logs what is missing
	if ctx.Err() != nil {
		return
	}
	status := h.StatusLine()
	n.tell(daemon.SdNotifyReady, "STATUS="+status)
	n.announced.Store(true)
	if watchdog > 0 {
		every := min(watchdog/4, 5*time.Second)
		dog := newWatchdog(every, h.Loops(every), n.log, func() { n.tell(daemon.SdNotifyWatchdog) })
		done := make(chan struct{})
		go func() { defer close(done); dog.Run(ctx) }() // awaited below
		defer func() { <-done }()
	}
	look := time.NewTicker(tick)
	defer look.Stop()
	if n.send == nil { // nobody reads it
		look.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if now := h.StatusLine(); now != status {
				status = now
				n.tell("STATUS=" + status)
			}
		}
	}
}

// Reloading tells that a reload begins; call what it returns when that is over. Before the device is ready there is nothing to
// tell: READY=1 would end the start.
func (n *Notifier) Reloading() (over func()) {
	if n == nil || !n.announced.Load() {
		return func() {}
	}
	n.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	return func() { n.tell(daemon.SdNotifyReady) }
}
