package join

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/discovery"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// How a device reaches the others:
//
//	room.broker    paired           broker here                    client
//	-              no               none: nothing listens          none
//	-              host             loopback, and TLS at room.port  loopback
//	-              member           none                           TLS, to wherever the host is found
//	URL, or nodes  no, or foreign   none                           the URL; who belongs: room.members and those that paired
//	embedded       (not by that)    as room.listen says            loopback

// Connect makes the way to the other devices, and the broker if it is to live here. nil: there is no way, and a condition says why.
func (l *Link) Connect(h Hearer) (*mqtt.Client, error) {
	l.hearer = h
	conds := l.o.Conditions
	bus := mqtt.Config{
		Room: l.o.Room.Name, Identity: l.id, Member: l.Belongs(), Log: l.o.Log, OnTrouble: l.trouble, OnFlood: l.flooded,
		OnPacket: func(from round.DeviceID, packet round.Packet) {
			l.met(from)
			if _, gone := packet.(round.Gone); !gone { // its last will says nothing of when it was here
				l.heard.Store(from, time.Now())
			}
			if l.nodes != nil {
				l.nodes.packet(from, packet)
			}
			if _, press := packet.(round.Press); press && l.members != nil {
				l.members.Pressed(from)
			}
			h.Deliver(from, packet)
		},
		OnNote: func(from round.DeviceID, n mqtt.Note) {
			if l.Calls != nil {
				l.Calls(from, n)
			}
			if l.members != nil {
				l.members.HandleNote(from, n)
			}
		},
		OnTaken: h.PressTaken, Near: l.Reachable, Listen: l.o.Listen,
		OnLink: func(up bool) {
			l.tellListed()
			h.LinkChanged(up)
			switch {
			case l.members == nil:
			case up:
				l.members.LinkUp()
			default:
				l.members.LinkDown()
			}
		},
	}
	switch room, host := l.Way(); {
	case room != nil && room.Foreign:
		conds.Set(condition.RoomBroker, "the room was paired over a broker, and room.broker names none",
			"set room.broker again and restart; until then this device works alone")
		return nil, nil //nolint:nilnil // no way to the others
	case room != nil && host:
		bus.Room = room.Topic()
		return l.keep(room, bus)
	case room != nil:
		bus.Room, bus.TLS, bus.Addresses, bus.OnReached = room.Topic(), l.members.ClientTLS, l.hostAddresses, l.members.Reached
		return l.reach(bus, make(chan struct{}))
	}
	at := brokerConfig(l.o)
	bus.URL, bus.More, bus.User, bus.PasswordFile, bus.CAFile = at.URL, at.More, at.User, at.PasswordFile, at.CAFile
	bus.CertFile, bus.KeyFile = at.CertFile, at.KeyFile
	if len(at.More) > 0 {
		l.nodes = newNodes(conds, l.deviceName)
		bus.OnReached = l.nodes.reached
	}
	served := make(chan struct{})
	if l.o.Room.Broker == "embedded" {
		b, err := broker.New(broker.Config{Listen: l.o.Room.Listen, Log: l.o.Log})
		if err != nil && l.o.Anyway {
			conds.Set(condition.RoomBroker, err.Error(), "free that port or set room.listen, then restart; until then this device works alone")
			return nil, nil //nolint:nilnil // as above
		}
		if err != nil {
			return nil, fmt.Errorf("%w: config: room.listen: %w", control.ErrRefused, err)
		}
		l.serve(b, served)
		bus.URL = b.URL()
	}
	return l.reach(bus, served)
}

// brokerConfig is what reaches the foreign broker, as this device is configured.
func brokerConfig(o LinkOptions) mqtt.Config {
	c := o.Room
	all := c.Brokers()
	return mqtt.Config{
		URL: all[0], More: all[1:], User: c.User, PasswordFile: c.PasswordFile, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, Log: o.Log,
	}
}

// keep makes the broker of a paired room, and this device's own way to it.
func (l *Link) keep(room *membership.Room, bus mqtt.Config) (*mqtt.Client, error) {
	config := func(port int) broker.Config {
		return broker.Config{Room: room.Topic(), Admit: l.members.Admits, Log: l.o.Log, OnOffender: l.offended, Network: &broker.Network{
			Listen: net.JoinHostPort(l.o.Listen, strconv.Itoa(port)), TLS: l.members.BrokerTLS(), Pairing: l.pairTLS, Pair: l.pairConn,
			KeepTLS: l.keeperTLS(), Keep: l.keeperConn,
		}}
	}
	b, err := broker.New(config(l.o.Room.Port))
	if err != nil && l.o.Room.Port != 0 { // the others look for it: another port is better than none
		l.o.Conditions.Set(condition.RoomPort, err.Error(),
			"end what has that port, or set room.port, then restart; until then another port is used, and the others must find it by themselves")
		b, err = broker.New(config(0))
	}
	if err != nil {
		l.o.Conditions.Set(condition.RoomBroker, err.Error(), "mend what it says and restart; until then the room's devices work alone")
		return nil, nil //nolint:nilnil // no way to the others
	}
	l.broker = b
	served := make(chan struct{})
	l.serve(b, served)
	bus.URL = b.URL()
	bus.User, bus.Password = l.members.Loopback()
	return l.reach(bus, served)
}

// serve runs the broker of this device until its own client needs it no more, which closes the channel.
func (l *Link) serve(broker *broker.Broker, served <-chan struct{}) {
	l.parts = append(l.parts, Part{"broker", func(ctx context.Context) error {
		<-served // the broker goes last, so that the others hear the goodbye
		broker.Outlast(l.Self())
		return broker.Run(ctx)
	}})
}

// reach makes the client and runs it; then served is closed.
func (l *Link) reach(bus mqtt.Config, served chan struct{}) (*mqtt.Client, error) {
	client, err := mqtt.NewClient(bus)
	if err != nil && l.o.Anyway {
		close(served)
		l.o.Conditions.Set(condition.RoomBroker, err.Error(), "mend the [room] section and restart; until then this device works alone")
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, fmt.Errorf("%w: config: room: %w", control.ErrRefused, err)
	}
	l.client = client
	if l.members != nil {
		l.members.SendWith(client.SendNote)
	}
	l.parts = append(l.parts, Part{"mqtt", func(ctx context.Context) error {
		defer close(served)
		if l.nodes != nil {
			defer l.nodes.stop()
		}
		return client.Run(ctx)
	}})
	return client, nil
}

// Broker is what the way to the others leads through: of a cluster the node that was reached last.
func (l *Link) Broker() string {
	if l.nodes != nil {
		return cmp.Or(l.nodes.address(), l.o.Room.Broker)
	}
	return l.o.Room.Broker
}

func (l *Link) deviceName(id round.DeviceID) string {
	if room := l.Room(); room != nil {
		if m, ok := room.Member(id); ok {
			return m.Name
		}
	}
	return ""
}

// Parts are what serves the way to the other devices, after Connect.
func (l *Link) Parts() []Part { return l.parts }

// Port is where others reach the broker of this device; 0: they do not.
func (l *Link) Port() int {
	if l.broker == nil {
		return 0
	}
	if a, ok := l.broker.NetworkAddr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// up says whether the room can be asked something.
func (l *Link) up() bool { return l.client != nil && l.client.Stats().Up }

// drop sends away a device that is no longer of the room.
func (l *Link) drop(id round.DeviceID) {
	if l.broker != nil {
		l.broker.Drop(id)
	}
	l.pardon(id)
	if l.hearer != nil { // its goodbye would be a stranger's by now
		l.hearer.Deliver(id, round.Gone{})
	}
}

// tellListed says who belongs to the room, if a list does.
func (l *Link) tellListed() {
	if l.hearer == nil {
		return
	}
	var list []round.Listed
	if room := l.Room(); room != nil {
		list = room.Listed
	}
	l.hearer.MembersListed(list)
}

// met: a device that was let in has come. A broker of one's own tells that by itself.
func (l *Link) met(id round.DeviceID) {
	room := l.Room()
	if room == nil || !room.Foreign {
		return
	}
	if m, ok := room.Member(id); ok && m.Pending {
		l.members.Confirm(id)
	}
}

// belongs says who belongs to the room: whoever was paired, and whoever room.members names.
func (l *Link) Belongs() func(round.DeviceID) bool {
	if l.o.Member != nil {
		return l.o.Member
	}
	if room, _ := l.Way(); room != nil && !room.Foreign {
		return l.members.Member
	}
	named := map[round.DeviceID]bool{l.Self(): true}
	for _, id := range l.o.Room.IDs() {
		named[id] = true
	}
	return func(id round.DeviceID) bool { return named[id] || l.members != nil && l.members.Member(id) }
}

// hostAddresses are where the host may be: where it last was, where it says it is, where it was before that.
func (l *Link) hostAddresses(ctx context.Context) []string {
	room := l.Room()
	if room == nil {
		return nil
	}
	var found []string
	is := func(f discovery.Found) bool { return f.IsRoom(room.ID) && f.IsDevice(room.Host) }
	if l.hurried.Swap(true) || len(room.Addresses) == 0 { // the first time it is probably where it was
		all, err := l.Finder.Find(ctx, lookEvery, is)
		if err != nil && ctx.Err() == nil {
			l.o.Log.Warn(logPairErr, "err", err)
		}
		for _, f := range all {
			if is(f) {
				found = append(found, f.Addresses...)
			}
		}
	}
	return room.Candidates(found)
}

// pairTLS is what the broker's door asks for who wants to pair; nil: no window is open.
func (l *Link) pairTLS() *tls.Config {
	if l.door.Load() == nil {
		return nil
	}
	return pairing.TLS(l.id)
}

// pairConn is one who came through the broker's door.
func (l *Link) pairConn(c net.Conn) {
	w := l.door.Load()
	conn, ok := c.(*tls.Conn)
	if w == nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pairing.RunLength)
	defer cancel()
	_ = l.callers.Serve(ctx, conn, w) // what came of it is told by the window
}

// trouble makes a condition of a room that cannot be reached.
func (l *Link) trouble(err error) {
	conds := l.o.Conditions
	if err == nil {
		conds.Clear(condition.RoomCut)
		conds.Clear(condition.RoomCertificate)
		return
	}
	room, _ := l.Way()
	if room == nil {
		if errors.Is(err, mqtt.ErrTaken) {
			conds.Set(condition.RoomCut, "the broker keeps closing the connection: it seems that two devices have the identity of this one", ofACopy)
			return
		}
		conds.Set(condition.RoomCut, "no connection to the room: "+err.Error(),
			"check room.broker and the network; this device works alone meanwhile, and comes back by itself")
		return
	}
	l.members.Refused(err)
	code, text, do := pairedTrouble(err, HostName(room))
	if code != condition.RoomCut {
		conds.Set(code, text, do)
	} else {
		conds.Clear(condition.RoomCertificate)
	}
	conds.Set(condition.RoomCut, text, do)
}

// pairedTrouble is why the host of a paired room is not reached, in words.
func pairedTrouble(err error, host string) (code condition.Code, text, do string) {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, mqtt.ErrTaken):
		return condition.RoomCut, "two devices have the identity of this one, and take the connection to " + host + " from each other", ofACopy
	case errors.Is(err, mqtt.ErrNotMember):
		return condition.RoomCut, host + " says that this device is no longer in the room", "pair it again: hold the button of both for five seconds"
	case errors.Is(err, membership.ErrOtherHost), errors.Is(err, membership.ErrOtherRoom), errors.Is(err, membership.ErrNotItsName):
		return condition.RoomCut, "where " + host + " was, another device answers: " + err.Error(),
			"switch " + host + " on, in the same network; it is looked for all the time"
	case errors.As(err, &invalid):
		return condition.RoomCertificate, "the certificates of this device and of " + host + " do not fit: " + err.Error(),
			"see that both have the right time (timedatectl); if that does not help, pair this device again"
	case errors.Is(err, mqtt.ErrNoAddress):
		return condition.RoomCut, "nobody knows where " + host + " is",
			"switch it on, in the same network; it is looked for all the time (room.discovery); " + forGood
	}
	return condition.RoomCut, host + ", which keeps the room, does not answer: " + err.Error(),
		"switch it on, in the same network; this device works alone meanwhile, and comes back by itself; " + forGood
}

// forGood is what to do when the device that keeps a room is broken or was given away.
const forGood = "if it is gone for good, let this device keep the room: hold its button for five seconds, and once more when it says so, or: conch room keep"
