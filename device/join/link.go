package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/discovery"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// LinkOptions are what a Link is made of.
type LinkOptions struct {
	Name       string            // of this device, as it is configured
	Language   language.Language // of what is said and shown
	Room       config.Room       // as it is configured
	Dir        string            // of the state; empty: nothing survives
	Floor      time.Time         // it is later than that, whatever the clock says
	Missing    time.Duration     // how long the room's keeper must be gone until this device may take its place; 0: as membership says
	Anyway     bool              // what cannot be used is a condition and no error
	Log        *slog.Logger
	Conditions *condition.Book

	Identity  mqtt.Identity             // zero: the one in Dir
	Member    func(round.DeviceID) bool // who belongs to the room; nil: who was paired, and whom Room names
	Finder    Finder                    // nil: DNS-SD, as Room says
	Listen    string                    // host that the port is opened on; empty: all of this machine's
	Reachable func(port int) []string   // host:port at which the others reach that port; nil: this machine's own addresses
}

// A Finder finds the devices of a network and makes this one found; *discovery.Discovery is one. A rehearsal's devices are on
// a network of their own.
type Finder interface {
	Announce(s *discovery.Service)
	Find(ctx context.Context, wait time.Duration, enough func(discovery.Found) bool) ([]discovery.Found, error)
	Run(ctx context.Context) error
}

// Hearer is the room behind the way to it. Nothing of it waits.
type Hearer interface {
	Deliver(from round.DeviceID, p round.Packet)
	LinkChanged(up bool)          // the way opens and closes
	PressTaken(round.Epoch)       // the broker has acknowledged a press of this device
	MembersListed([]round.Listed) // who belongs to the room, before the way opens and at each change
}

// A Part is a goroutine for the device to run. The first that returns an error ends all.
type Part struct {
	Name string
	Run  func(context.Context) error
}

// Link is what this device is among others: its key, the room that it was paired into, and the way to the devices of its room
// (Connect).
type Link struct {
	// fixed after OpenLink
	o       LinkOptions
	id      mqtt.Identity
	members *membership.Membership // nil: this device cannot pair, and cannot says why
	cannot  error
	Finder  Finder
	Calls   func(from round.DeviceID, n mqtt.Note) // each note, before Connect; it never waits. nil: nobody asks

	// fixed after Connect
	parts  []Part
	client *mqtt.Client   // nil: no broker
	broker *broker.Broker // of a paired room that this device keeps; else nil
	nodes  *nodes         // nil: there is one address at most
	hearer Hearer

	callers  pairing.Door // those that want to pair, over TLS
	offences sync.Map     // by device: the timer that ends its condition
	heard    sync.Map     // by device: when it was heard last

	// atomic
	door    atomic.Pointer[pairing.Window] // the one behind the broker's door to the network
	port    atomic.Int64                   // that the window of this device is at, if it has one of its own; 0: none
	settles atomic.Int64                   // connections about who keeps the room
	hurried atomic.Bool                    // the host was looked for where it was, without asking the network
	salt    salt                           // of what is announced
}

// OpenLink reads which room this device is in, before anything is made that depends on it. A device that cannot pair works
// nevertheless.
func OpenLink(o LinkOptions) (*Link, error) {
	l := &Link{o: o, id: o.Identity}
	l.callers.Blamed = l.blamed
	if l.id.ID() == "" {
		var err error
		if l.id, err = identity(o); err != nil && (o.Room.Broker != "" || !errors.Is(err, control.ErrRefused)) {
			return nil, err
		} else if err != nil { // alone, it needs none
			l.id, l.cannot = mqtt.Identity{}, err
			return l, nil //nolint:nilerr // it says so when it is asked to pair
		}
	}
	switch {
	case o.Dir == "":
		l.cannot = errors.New("it has no state directory to remember its room in (set state.dir)")
		return l, nil
	case o.Conditions.Holds(condition.RoomIdentity):
		l.cannot = errors.New("its key cannot be used (see: conch doctor)")
		return l, nil
	}
	m, err := membership.Open(o.Dir, l.id, membership.Clock{Floor: o.Floor, Missing: o.Missing})
	if err != nil {
		l.cannot = err
		o.Conditions.Set(condition.RoomDamaged, err.Error(), "mend what it names and restart, or restore it from a backup; conch room leave "+
			"gives it up, and then pair again; until then this device works alone")
		return l, nil
	}
	m.LogWith(o.Log)
	m.ReachableAt(func() []string { return l.Reachable(l.Port()) })
	l.members = m
	l.Finder = o.Finder
	if l.Finder == nil {
		l.Finder = discovery.New(discovery.Config{How: o.Room.Discovery, Device: l.Self(), Log: o.Log})
	}
	return l, nil
}

// identity is the key of this device, made at its first start. Without a state directory it lasts as long as the process.
func identity(o LinkOptions) (mqtt.Identity, error) {
	if o.Dir == "" {
		return mqtt.NewIdentity()
	}
	id, err := mqtt.OpenIdentity(o.Dir)
	switch {
	case err == nil:
		return id, nil
	case o.Anyway: // the key that is there is not touched: the others know this device by it
		o.Conditions.Set(condition.RoomIdentity, err.Error(),
			"mend the file and restart, or delete it and pair again; until then the other devices do not know this one")
		return mqtt.NewIdentity()
	}
	return id, fmt.Errorf("%w: %w", control.ErrRefused, err)
}

// Self is this device's id; empty: it has none.
func (l *Link) Self() round.DeviceID { return l.id.ID() }

// Identity is this device's key.
func (l *Link) Identity() mqtt.Identity { return l.id }

// Name is what this device is called: by its room, for names of a room differ and any member may give another one; or else as it is configured.
func (l *Link) Name() string {
	if room := l.Room(); room != nil && room.Called != "" {
		return room.Called
	}
	return l.o.Name
}

// Room is the paired room; nil: this device is in none.
func (l *Link) Room() *membership.Room {
	if l.members == nil {
		return nil
	}
	return l.members.Room()
}

// Way is the paired room, where that is how the others are reached, and whether this device keeps it. What a person has written
// down as room.broker goes before what was paired.
func (l *Link) Way() (room *membership.Room, host bool) {
	if room = l.Room(); room == nil || l.o.Room.Broker != "" {
		return nil, false
	}
	return room, l.members.IsHost()
}

// Networked says whether there is a way to other devices.
func (l *Link) Networked() bool { return l.o.Room.Broker != "" || l.Room() != nil }

// foreign says that this device's room is at a broker that is none of the devices.
func (l *Link) foreign() bool {
	if room := l.Room(); room != nil {
		return room.Foreign
	}
	return l.o.Room.Broker != "" && l.o.Room.Broker != "embedded"
}

// RoomName is the room's name for people.
func (l *Link) RoomName() string {
	if room := l.Room(); room != nil {
		return room.Name
	}
	return l.o.Room.Name
}

// MemoryName is the room's name for what this device remembers of it: two rooms never mix (ROOM.md 7), and people call most of
// theirs the same.
func (l *Link) MemoryName() string {
	if room := l.Room(); room != nil {
		return room.ID
	}
	return l.o.Room.Name
}

// HostName is what the device that keeps the room is called.
func HostName(room *membership.Room) string {
	if m, ok := room.Member(room.Host); ok && m.Name != "" {
		return m.Name
	}
	return string(room.Host)
}

// Status is the paired room for those who ask; here are the devices that are in it now.
func (l *Link) Status(here []round.Member) *control.PairedRoom {
	room := l.Room()
	if room == nil {
		return nil
	}
	s := &control.PairedRoom{ID: room.ID, Name: room.Name, Called: room.Called, Host: room.Host, Foreign: room.Foreign,
		Succeeded: room.Succeeded, KeptSince: room.KeptSince}
	if !room.CertificateUntil.IsZero() {
		s.Expires = &room.CertificateUntil
	}
	called := func(id round.DeviceID) string {
		if m, ok := room.Member(id); ok {
			return m.Name
		}
		for _, g := range room.Removed {
			if g.ID == id {
				return g.Name
			}
		}
		return string(id)
	}
	for _, g := range room.Removed {
		s.Removed = append(s.Removed, control.PairedGone{Device: g.ID, Name: g.Name, By: called(g.By), At: g.At})
	}
	for _, m := range room.Members {
		one := control.PairedMember{Device: m.ID, Name: m.Name, Since: m.Since, Seen: l.seen(m), Host: m.ID == room.Host, Pending: m.Pending,
			By: called(m.By)}
		if i := slices.IndexFunc(here, func(o round.Member) bool { return o.Device == m.ID }); i >= 0 {
			one.Here = true
			for _, c := range here[i].Cards {
				one.Companions = append(one.Companions, c.Name)
			}
		}
		s.Members = append(s.Members, one)
	}
	slices.SortStableFunc(s.Members, func(a, b control.PairedMember) int { // this device first
		switch {
		case a.Device == l.Self():
			return -1
		case b.Device == l.Self():
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// seen is when a member was here last: what the room's record says is from when it connected.
func (l *Link) seen(m membership.Member) time.Time {
	if at, ok := l.heard.Load(m.ID); ok && at.(time.Time).After(m.Seen) {
		return at.(time.Time)
	}
	return m.Seen
}

// logGuessed: an address that has closed windows by wrong codes waits.
const logGuessed = "pairing.guessed"

// blamed: an address has closed three windows by wrong codes.
func (l *Link) blamed(from netip.Addr) {
	l.o.Log.Warn(logGuessed, "from", from.String(), "windows", 3, "waits", "10m")
	l.o.Conditions.Set(condition.RoomGuessed, from.String()+" has closed three windows by wrong codes; it has no try for ten minutes",
		"find out whose that is; where a code was only mistyped, hold the button of the device that keeps the room: that forgives it")
}

// forgiven: a person has held the button of this device.
func (l *Link) forgiven() {
	if room := l.Room(); room == nil || room.Host == l.Self() {
		l.callers.Forgive()
		l.o.Conditions.Clear(condition.RoomGuessed)
	}
}

// forget gives up a room whose files are damaged.
func (l *Link) forget() error {
	if l.o.Dir == "" {
		return errors.New("there is no state directory")
	}
	if err := membership.Forget(l.o.Dir); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// announce says on the network what there is to be found: the host of a paired room, always; any device while its window is
// open; a device that is in no room and pairs with nobody: nothing.
func (l *Link) announce() {
	if l.members == nil || l.foreign() {
		return
	}
	room, port := l.Room(), int(l.port.Load())
	open := port != 0
	if room != nil && l.members.IsHost() && l.Port() != 0 {
		port = l.Port()
		open = l.door.Load() != nil
	}
	if port == 0 {
		l.Finder.Announce(nil)
		return
	}
	s := &discovery.Service{Name: l.Name(), Device: l.Self(), Pairing: open, Port: port}
	if room != nil {
		s.Room, s.RoomID = room.Name, room.ID
	}
	if open {
		s.RoomID, s.Room = l.offers()
	} else { // while a window is open they are said at its door as well, and a joiner or a member of an older version looks for them
		veiled := s.Veiled(l.salt.now(time.Now()))
		s = &veiled
	}
	l.Finder.Announce(s)
}

// saltLife is how long an announcement stays the same for strangers. Our choice.
const saltLife = 24 * time.Hour

// salt is what this device's announcements are veiled with.
type salt struct {
	mu    sync.Mutex // guards what follows
	drawn time.Time
	text  string
}

func (s *salt) now(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := now.Sub(s.drawn); s.text == "" || age >= saltLife || age < 0 {
		s.drawn, s.text = now, discovery.NewSalt()
	}
	return s.text
}

// renew has the next announcement be another one.
func (s *salt) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = ""
}

// reachable are the addresses at which others reach a port of this device, IPv4 first: people read them aloud.
func (l *Link) Reachable(port int) []string {
	if port == 0 {
		port = l.o.Room.Port
	}
	if l.o.Reachable != nil {
		return l.o.Reachable(port)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var v4, v6 []string
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		at := net.JoinHostPort(n.IP.String(), strconv.Itoa(port))
		if n.IP.To4() != nil {
			v4 = append(v4, at)
		} else {
			v6 = append(v6, at)
		}
	}
	all := append(v4, v6...)
	return all[:min(len(all), maxReachable)]
}

// maxReachable addresses are told (membership bounds them as well).
const maxReachable = 8
