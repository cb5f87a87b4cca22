package discovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// Names and numbers of avahi's D-Bus interface (org.freedesktop.Avahi.*.xml, avahi-common/defs.h).
const (
	avahiName    = "org.freedesktop.Avahi"
	avahiServer  = avahiName + ".Server"
	avahiGroup   = avahiName + ".EntryGroup"
	avahiBrowser = avahiName + ".ServiceBrowser"

	avahiAny      = int32(-1) // interface or protocol
	serverRunning = int32(2)

	groupEstablished = int32(2)
	groupCollision   = int32(3)
	groupFailure     = int32(4)
)

const (
	callTime = time.Second      // for one call; avahi answers these from memory
	distrust = 60 * time.Second // how long an avahi that failed is not asked to announce again
	lookBus  = 30 * time.Second // for a bus that is not there
)

var (
	errNoAvahi   = errors.New("discovery: avahi does not run here (room.discovery = \"own\" does without)")
	errAvahiGone = errors.New("discovery: avahi went away")
)

// avahi is a connection of our own to the system bus: when it is closed, avahi drops what was announced over it, and so it
// does when this process dies.
type avahi struct {
	*dbus.Conn
	signals chan *dbus.Signal // closed with the connection
}

// dialBus connects, within callTime. Signals come in order and none is dropped: avahi bounds how many there can be.
func dialBus(ctx context.Context) (*avahi, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late, stopLate := context.WithTimeout(ctx, callTime)
	defer stopLate()
	stop := context.AfterFunc(late, cancel)
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(life), dbus.WithSignalHandler(dbus.NewSequentialSignalHandler()))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%w: %w", errNoAvahi, err)
	}
	if !stop() { // too late after all
		return nil, fmt.Errorf("%w: the system bus is slow", errNoAvahi)
	}
	a := &avahi{Conn: conn, signals: make(chan *dbus.Signal, 64)}
	conn.Signal(a.signals)
	return a, nil
}

// dialAvahi connects to an avahi that runs. One that is installed and was stopped is not started.
func dialAvahi(ctx context.Context) (*avahi, error) {
	a, err := dialBus(ctx)
	if err != nil {
		return nil, err
	}
	err = a.matchOwner(ctx)
	if err == nil {
		for _, i := range []string{avahiServer, avahiGroup, avahiBrowser} {
			if err = a.match(ctx, dbus.WithMatchSender(avahiName), dbus.WithMatchInterface(i)); err != nil {
				break
			}
		}
	}
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	if runs, err := a.runs(ctx); err != nil || !runs {
		_ = a.Close()
		return nil, errors.Join(errNoAvahi, err)
	}
	return a, nil
}

func (a *avahi) match(ctx context.Context, options ...dbus.MatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := a.AddMatchSignalContext(ctx, options...); err != nil {
		return fmt.Errorf("discovery: listen for avahi's signals: %w", err)
	}
	return nil
}

func (a *avahi) matchOwner(ctx context.Context) error {
	return a.match(ctx, dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, avahiName))
}

func (a *avahi) runs(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var runs bool
	err := a.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, avahiName).Store(&runs)
	return runs, err
}

// call calls a method of avahi's; out may be left out.
func (a *avahi) call(ctx context.Context, path dbus.ObjectPath, method string, args []any, out ...any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c := a.Object(avahiName, path).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
	if c.Err != nil {
		return fmt.Errorf("discovery: %s: %w", method, c.Err)
	}
	if len(out) > 0 {
		return c.Store(out...)
	}
	return nil
}

// owner is the new owner of avahi's name, where a signal tells of one; empty: it went away.
func owner(s *dbus.Signal) (string, bool) {
	if s.Name != "org.freedesktop.DBus.NameOwnerChanged" || len(s.Body) != 3 {
		return "", false
	}
	now, ok := s.Body[2].(string)
	return now, ok
}

// awaitAvahi returns true when an avahi runs, after hold at the soonest, and false when ctx ends.
func awaitAvahi(ctx context.Context, hold time.Duration) bool {
	for wait := hold; ; wait = lookBus {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		if appeared(ctx) {
			return true
		}
	}
}

// appeared waits for an avahi on the bus as long as there is a bus.
func appeared(ctx context.Context) bool {
	a, err := dialBus(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = a.Close() }()
	if err := a.matchOwner(ctx); err != nil {
		return false
	}
	if runs, err := a.runs(ctx); err != nil || runs {
		return runs
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case s, ok := <-a.signals:
			if !ok {
				return false
			}
			if now, is := owner(s); is && now != "" {
				return true
			}
		}
	}
}
