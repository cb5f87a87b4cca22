package device

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/provider"
)

// What a voice needs of the world around the box, besides a server: a key that can be read, a clock that is right (a Pi has
// none that goes on without power, and no certificate is valid in 1970), a network. One goroutine looks every worldTick, and
// when the kernel says that links, addresses or routes have changed (the addresses themselves are counted then, and seldom
// besides); each trouble is a Condition, and each end of one is a nudge for whoever waits for its next attempt.
//
//	rtnetlink ──> settled for netSettle ──┐
//	wall clock against the monotonic one ─┼──> nudge: voices and room try at once
//	key file, interfaces, year ───────────┘    conditions key.broken, clock.wrong, network.lost
//
// All times in conch are monotonic but those that a person or another machine reads (the day of the usage, a ledger's line, an
// id): a clock that jumps by 56 years moves no deadline, no back-off and no limit.

// Conditions of the world.
const ()

// Log events of the world.
const (
	logClockSet = "clock.set"       // by: how far it jumped
	logNetwork  = "network.changed" // addresses: how many
	logWatch    = "network.unwatched"
)

const (
	worldTick = 2 * time.Second
	netSettle = 200 * time.Millisecond // a link that comes up says so in several steps
	netMost   = time.Second            // and one that never rests is looked at all the same
	recount   = 15                     // looks after which addresses are counted though the kernel told of no change
	clockJump = time.Minute            // smaller steps are how a clock is kept right

	// An interface that flaps must neither have a server asked all the time nor give up each attempt before it is through: so
	// many nudges in such a span. A link, its address and the time come within seconds; what is beyond waits.
	nudgeBurst = 3
	nudgeSpan  = 15 * time.Second
)

// clockFloor: whoever runs this lives after it.
var clockFloor = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is what the goroutine remembers.
type world struct {
	nudges [nudgeBurst]time.Duration // when, oldest first; zero: none yet
	owed   bool                      // a nudge that is due, or was beyond the bound

	offset    time.Duration // of the wall clock to the monotonic one
	addresses int
	known     bool
	uncounted int // looks since addresses were counted
}

// count says whether to count addresses at this look: to ask the kernel for all of them costs more than everything else that
// an idle appliance does in these seconds. At the first two looks it may not have begun to tell of changes.
func (w *world) count(changed bool) bool {
	w.uncounted++
	switch {
	case !w.known:
		w.uncounted = recount - 1
	case changed, w.addresses < 0, w.uncounted >= recount:
		w.uncounted = 0
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

// look compares; it is pure. jumped says by how much the clock was set, connected that there are addresses that were not there.
func (w *world) look(s seen) (jumped time.Duration, connected bool) {
	offset := time.Duration(s.wall.UnixNano()) - s.mono
	if w.known {
		if d := offset - w.offset; d > clockJump || d < -clockJump {
			jumped = d
		}
		connected = s.addresses > w.addresses && w.addresses >= 0
	}
	w.known, w.offset, w.addresses = true, offset, s.addresses
	return jumped, connected
}

// may says whether to nudge now; one that may not be is owed.
func (w *world) may(now time.Duration, want bool) bool {
	w.owed = w.owed || want
	if !w.owed || w.nudges[0] > 0 && now-w.nudges[0] < nudgeSpan {
		return false
	}
	copy(w.nudges[:], w.nudges[1:])
	w.nudges[nudgeBurst-1], w.owed = now, false
	return true
}

// watchWorld is the goroutine.
func (d *Device) watchWorld(ctx context.Context) error {
	changes := make(chan struct{}, 1)
	watching := make(chan struct{})
	go func() { // awaited below
		defer close(watching)
		if err := watchNetwork(ctx, changes); err != nil && ctx.Err() == nil {
			d.log.Warn(logWatch, "err", err, "do", "nothing: it is looked at every "+worldTick.String())
		}
	}()
	defer func() { <-watching }()
	tick := time.NewTicker(worldTick)
	defer tick.Stop()
	w, changed := &world{}, false
	for {
		select {
		case <-watching:
			changed = true // nobody tells
		default:
		}
		d.lookAtWorld(w, changed)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			changed = false
		case <-changes:
			settled(ctx, changes)
			changed, w.owed = true, true
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

// lookAtWorld looks once. changed: addresses may be others than before.
func (d *Device) lookAtWorld(w *world, changed bool) {
	before := w.addresses
	s := seen{wall: time.Now(), mono: d.now(), addresses: before, key: d.cfg.KeyTrouble()}
	if w.count(changed) {
		s.addresses = addresses()
	}
	jumped, connected := w.look(s)
	if jumped != 0 {
		d.log.Info(logClockSet, "by", jumped.Round(time.Second).String(), "to", s.wall.UTC().Format(time.RFC3339))
	}
	if s.addresses != before {
		d.log.Info(logNetwork, "addresses", s.addresses)
	}
	d.judge(s)
	if w.may(s.mono, jumped != 0 || connected) {
		d.nudge()
	}
}

// judge makes conditions of what was seen.
func (d *Device) judge(s seen) {
	switch {
	case s.key != "":
		d.conds.Set(condition.KeyBroken, s.key, "mend that file, or put the key in anew: sudo conch key; it is read again by itself")
	default:
		d.conds.Clear(condition.KeyBroken)
	}
	switch {
	case s.wall.Before(clockFloor):
		d.conds.Set(condition.ClockWrong, "the clock says "+s.wall.UTC().Format(time.DateOnly)+
			", which is long ago: no server can be trusted before it is right",
			"set it (timedatectl set-time), or see that time comes by the network; it is noticed by itself")
	case d.certainlyEarly.Load():
		d.conds.Set(condition.ClockWrong, "the clock says "+s.wall.UTC().Format(time.DateOnly)+", when the certificate of "+provider.Host(d.cfg.Voice.URL)+
			" was not valid yet", "set it (timedatectl set-time), or see that time comes by the network; it is noticed by itself")
	default:
		d.conds.Clear(condition.ClockWrong)
	}
	if s.addresses == 0 && d.needsNetwork() {
		d.conds.Set(condition.NetworkLost, "no network: no interface has an address",
			"plug the cable in or mend the Wi-Fi (nmtui, raspi-config); it connects again by itself")
	} else {
		d.conds.Clear(condition.NetworkLost)
	}
}

// needsNetwork says whether anything that this box talks to is on another machine.
func (d *Device) needsNetwork() bool {
	kind, _ := provider.Kind(&d.cfg)
	elsewhere := func(address string) bool {
		host := provider.Host(address)
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(host)
		return host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback())
	}
	broker := d.cfg.Room.Broker
	return kind == "realtime" && d.opts.Voice == nil && elsewhere(d.cfg.Voice.URL) || broker != "" && broker != "embedded" && elsewhere(broker)
}

// nudge has everything that waits for another attempt try now.
func (d *Device) nudge() {
	for _, v := range d.room.Voices.All() {
		v.Nudge()
	}
	if d.bus != nil {
		d.bus.Nudge()
	}
}

// rehearsing says that a rehearsal voice answers because there is no key: where a person is, the prompt says so.
func (d *Device) rehearsing() {
	if kind, _ := provider.Kind(&d.cfg); kind == "rehearsal" && d.cfg.Voice.Kind == "auto" {
		d.conds.Set(condition.KeyMissing, "there is no key: a rehearsal voice answers, on this machine",
			"sudo conch key (or set OPENAI_API_KEY or voice.key_file), then restart")
	}
}

// holdVoice is a reason to make no attempt at a session now.
func (d *Device) holdVoice() turn.Words {
	if d.cfg.KeyTrouble() != "" {
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
	socket, err := openNetwork()
	if err != nil {
		return err
	}
	return readNetwork(ctx, socket, changes)
}

func openNetwork() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_IFADDR | unix.RTMGRP_IPV6_ROUTE)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(fd), "rtnetlink"), nil
}

// readNetwork reads until ctx ends, and closes the socket.
func readNetwork(ctx context.Context, socket *os.File, changes chan<- struct{}) error {
	stop := context.AfterFunc(ctx, func() { _ = socket.SetReadDeadline(time.Unix(1, 0)) }) // wakes the read below
	defer socket.Close()
	defer stop()
	buf := make([]byte, 8<<10)
	for ctx.Err() == nil {
		if _, err := socket.Read(buf); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return err
		}
		select {
		case changes <- struct{}{}:
		default: // one waits already
		}
	}
	return nil
}
