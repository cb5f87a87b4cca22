// Package world watches what a voice needs of the world around the box, besides a server: a key that can be read, a clock that is
// right (a Pi has none that goes on without power, and no certificate is valid in 1970), a network. One goroutine looks every two
// seconds, and when the kernel says that links, addresses or routes have changed (the addresses themselves are counted then, and
// seldom besides); each trouble is a condition, and each end of one is a nudge for whoever waits for its next attempt.
//
//	rtnetlink ──> settled for netSettle ──┐
//	wall clock against the monotonic one ─┼──> nudge: voices and room try at once
//	key file, interfaces, year ───────────┘    conditions key.broken, clock.wrong, network.lost
//
// All times in conch are monotonic but those that a person or another machine reads (the day of the usage, a ledger's line, an
// id): a clock that jumps by 56 years moves no deadline, no back-off and no limit.
package world

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/provider"
	"conch/device/system"
)

// Log events of the world.
const (
	logClockSet = "clock.set"       // by: how far it jumped
	logNetwork  = "network.changed" // addresses: how many
	logWatch    = "network.unwatched"
)

const (
	tick      = 2 * time.Second
	netSettle = 200 * time.Millisecond // a link that comes up says so in several steps
	netMost   = time.Second            // and one that never rests is looked at all the same
	recount   = 15                     // looks after which addresses are counted though the kernel told of no change
	clockJump = time.Minute            // smaller steps are how a clock is kept right

	// An interface that flaps must neither have a server asked all the time nor give up each attempt before it is through: so
	// many nudges in such a span. A link, its address and the time come within seconds; what is beyond waits.
	nudgeBurst = 3
	nudgeSpan  = 15 * time.Second
)

// ClockFloor: whoever runs this lives after it.
var ClockFloor = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Options are what a World is made of.
type Options struct {
	Config     *config.Config // not changed while it runs
	Given      bool           // the voice is none of the configuration's
	Nudge      func()         // has everything that waits for another attempt try now
	Conditions *condition.Book
	Log        *slog.Logger
	Now        func() time.Duration
}

// World is what surrounds the box, as far as somebody watches it.
type World struct {
	o     Options     // fixed
	early atomic.Bool // no certificate is valid yet, by our clock
}

// New makes one; nobody watches before Run.
func New(o Options) *World { return &World{o: o} }

// Early says whether a certificate was not valid yet, by our clock.
func (w *World) Early(yes bool) { w.early.Store(yes) }

// memory is what the goroutine remembers.
type memory struct {
	nudges [nudgeBurst]time.Duration // when, oldest first; zero: none yet
	owed   bool                      // a nudge that is due, or was beyond the bound

	offset    time.Duration // of the wall clock to the monotonic one
	addresses int
	known     bool
	uncounted int // looks since addresses were counted
}

// count says whether to count addresses at this look: to ask the kernel for all of them costs more than everything else that
// an idle appliance does in these seconds. At the first two looks it may not have begun to tell of changes.
func (m *memory) count(changed bool) bool {
	m.uncounted++
	switch {
	case !m.known:
		m.uncounted = recount - 1
	case changed, m.addresses < 0, m.uncounted >= recount:
		m.uncounted = 0
	default:
		return false
	}
	return true
}

// seen is what it looks at.
type seen struct {
	wall      time.Time
	mono      time.Duration
	addresses int    // that are not of this machine alone; -1: nobody knows
	key       string // what is wrong with it
}

// compare compares; it is pure. jumped says by how much the clock was set, connected that there are addresses that were not there.
func (m *memory) compare(s seen) (jumped time.Duration, connected bool) {
	offset := time.Duration(s.wall.UnixNano()) - s.mono
	if m.known {
		if d := offset - m.offset; d > clockJump || d < -clockJump {
			jumped = d
		}
		connected = s.addresses > m.addresses && m.addresses >= 0
	}
	m.known, m.offset, m.addresses = true, offset, s.addresses
	return jumped, connected
}

// may says whether to nudge now; one that may not be is owed.
func (m *memory) may(now time.Duration, want bool) bool {
	m.owed = m.owed || want
	if !m.owed || m.nudges[0] > 0 && now-m.nudges[0] < nudgeSpan {
		return false
	}
	copy(m.nudges[:], m.nudges[1:])
	m.nudges[nudgeBurst-1], m.owed = now, false
	return true
}

// Run watches until ctx ends.
func (w *World) Run(ctx context.Context) error {
	changes := make(chan struct{}, 1)
	watching := make(chan struct{})
	go func() { // awaited below
		defer close(watching)
		if err := watchNetwork(ctx, changes); err != nil && ctx.Err() == nil {
			w.o.Log.Warn(logWatch, "err", err, "do", "nothing: it is looked at every "+tick.String())
		}
	}()
	defer func() { <-watching }()
	every := time.NewTicker(tick)
	defer every.Stop()
	m, changed := &memory{}, false
	for {
		select {
		case <-watching:
			changed = true // nobody tells
		default:
		}
		w.look(m, changed)
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			changed = false
		case <-changes:
			settled(ctx, changes)
			changed, m.owed = true, true
		}
	}
}

// settled waits until nothing changes any more, within bounds.
func settled(ctx context.Context, changes <-chan struct{}) {
	most := time.NewTimer(netMost)
	defer most.Stop()
	for {
		quiet := time.NewTimer(netSettle)
		select {
		case <-ctx.Done():
		case <-most.C:
		case <-quiet.C:
		case <-changes:
			quiet.Stop()
			continue
		}
		quiet.Stop()
		return
	}
}

// look looks once. changed: addresses may be others than before.
func (w *World) look(m *memory, changed bool) {
	before := m.addresses
	s := seen{wall: time.Now(), mono: w.o.Now(), addresses: before, key: w.o.Config.KeyTrouble()}
	if m.count(changed) {
		s.addresses = addresses()
	}
	jumped, connected := m.compare(s)
	if jumped != 0 {
		w.o.Log.Info(logClockSet, "by", jumped.Round(time.Second).String(), "to", s.wall.UTC().Format(time.RFC3339))
	}
	if s.addresses != before {
		w.o.Log.Info(logNetwork, "addresses", s.addresses)
	}
	w.judge(s)
	if m.may(s.mono, jumped != 0 || connected) {
		w.o.Nudge()
	}
}

// judge makes conditions of what was seen.
func (w *World) judge(s seen) {
	switch {
	case s.key != "":
		w.o.Conditions.Set(condition.KeyBroken, s.key, "mend that file, or put the key in anew: sudo conch key; it is read again by itself")
	default:
		w.o.Conditions.Clear(condition.KeyBroken)
	}
	switch {
	case s.wall.Before(ClockFloor):
		w.o.Conditions.Set(condition.ClockWrong, "the clock says "+s.wall.UTC().Format(time.DateOnly)+
			", which is long ago: no server can be trusted before it is right",
			"set it (timedatectl set-time), or see that time comes by the network; it is noticed by itself")
	case w.early.Load():
		w.o.Conditions.Set(condition.ClockWrong,
			"the clock says "+s.wall.UTC().Format(time.DateOnly)+", when the certificate of "+provider.Host(w.o.Config.Voice.URL)+
				" was not valid yet", "set it (timedatectl set-time), or see that time comes by the network; it is noticed by itself")
	default:
		w.o.Conditions.Clear(condition.ClockWrong)
	}
	if s.addresses == 0 && w.needsNetwork() {
		w.o.Conditions.Set(condition.NetworkLost, "no network: no interface has an address",
			"plug the cable in or mend the Wi-Fi (nmtui, raspi-config); it connects again by itself")
	} else {
		w.o.Conditions.Clear(condition.NetworkLost)
	}
}

// needsNetwork says whether anything that this box talks to is on another machine.
func (w *World) needsNetwork() bool {
	kind, _ := provider.Kind(w.o.Config)
	elsewhere := func(address string) bool {
		host := provider.Host(address)
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(host)
		return host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback())
	}
	if !kind.Local && !w.o.Given && elsewhere(w.o.Config.Voice.URL) {
		return true
	}
	return slices.ContainsFunc(w.o.Config.Room.Brokers(), func(s string) bool { return s != "" && s != "embedded" && elsewhere(s) })
}

// Hold is a reason to make no attempt at a session now.
func (w *World) Hold() turn.Words {
	if w.o.Config.KeyTrouble() != "" {
		return turn.WordsKeyBroken
	}
	return ""
}

// addresses counts those of interfaces that are up, other than this machine's own; -1: it cannot be said.
func addresses() int {
	all, err := net.Interfaces()
	if err != nil {
		return -1
	}
	n := 0
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagRunning == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		list, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range list {
			if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
				n++
			}
		}
	}
	return n
}

// watchNetwork tells of every change of links, addresses and routes (rtnetlink(7)), until ctx ends. A message that was lost
// because too many came is a change as well.
func watchNetwork(ctx context.Context, changes chan<- struct{}) error {
	socket, err := system.Network(true)
	if err != nil {
		return err
	}
	return readNetwork(ctx, socket, changes)
}

// readNetwork reads until ctx ends, and closes the socket.
func readNetwork(ctx context.Context, socket *os.File, changes chan<- struct{}) error {
	stop := context.AfterFunc(ctx, func() { _ = socket.SetReadDeadline(time.Unix(1, 0)) }) // wakes the read below
	defer socket.Close()
	defer stop()
	buf := make([]byte, 8<<10)
	for ctx.Err() == nil {
		if _, err := socket.Read(buf); err != nil && !errors.Is(err, syscall.ENOBUFS) {
			return err
		}
		select {
		case changes <- struct{}{}:
		default: // one waits already
		}
	}
	return nil
}
