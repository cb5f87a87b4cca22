package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt"
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
//	URL            no, or foreign   none                           the URL; who belongs: room.members and those that paired
//	embedded       (not by that)    as room.listen says            loopback

// Connect makes the way to the other devices, and the broker if it is to live here. heard is told each packet, and linked when the
// way opens and closes. nil: there is no way, and a condition says why.
func (l *Link) Connect(heard func(round.DeviceID, round.Packet), linked func(up bool)) (*mqtt.Client, error) {
	l.heard = heard
	conds := l.o.Conditions
	bus := mqtt.Config{
		Room: l.o.Room.Name, Identity: l.id, Member: l.Belongs(), Log: l.o.Log, OnTrouble: l.trouble,
		OnPacket: func(from round.DeviceID, packet round.Packet) {
			l.met(from)
			heard(from, packet)
		},
		OnNote: func(from round.DeviceID, n mqtt.Note) {
			if l.members != nil {
				l.members.HandleNote(from, n)
			}
		},
		OnLink: func(up bool) {
			linked(up)
			if up && l.members != nil {
				l.members.LinkUp()
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
	bus.URL, bus.User, bus.PasswordFile, bus.CAFile, bus.CertFile, bus.KeyFile = at.URL, at.User, at.PasswordFile, at.CAFile, at.CertFile, at.KeyFile
	served := make(chan struct{})
	if l.o.Room.Broker == "embedded" {
		broker, err := mqtt.NewBroker(mqtt.BrokerConfig{Listen: l.o.Room.Listen, Log: l.o.Log})
		if err != nil && l.o.Anyway {
			conds.Set(condition.RoomBroker, err.Error(), "free that port or set room.listen, then restart; until then this device works alone")
			return nil, nil //nolint:nilnil // as above
		}
		if err != nil {
			return nil, fmt.Errorf("%w: config: room.listen: %w", control.ErrRefused, err)
		}
		l.serve(broker, served)
		bus.URL = broker.URL()
	}
	return l.reach(bus, served)
}

// brokerConfig is what reaches the foreign broker, as this device is configured.
func brokerConfig(o LinkOptions) mqtt.Config {
	c := o.Room
	return mqtt.Config{URL: c.Broker, User: c.User, PasswordFile: c.PasswordFile, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, Log: o.Log}
}

// keep makes the broker of a paired room, and this device's own way to it.
func (l *Link) keep(room *membership.Room, bus mqtt.Config) (*mqtt.Client, error) {
	config := func(port int) mqtt.BrokerConfig {
		return mqtt.BrokerConfig{Room: room.Topic(), Admit: l.members.Admits, Log: l.o.Log, Network: &mqtt.Network{
			Listen: net.JoinHostPort(l.o.Listen, strconv.Itoa(port)), TLS: l.members.BrokerTLS(), Pairing: l.pairTLS, Pair: l.pairConn,
		}}
	}
	broker, err := mqtt.NewBroker(config(l.o.Room.Port))
	if err != nil && l.o.Room.Port != 0 { // the others look for it: another port is better than none
		l.o.Conditions.Set(condition.RoomPort, err.Error(),
			"end what has that port, or set room.port, then restart; until then another port is used, and the others must find it by themselves")
		broker, err = mqtt.NewBroker(config(0))
	}
	if err != nil {
		l.o.Conditions.Set(condition.RoomBroker, err.Error(), "mend what it says and restart; until then the room's devices work alone")
		return nil, nil //nolint:nilnil // no way to the others
	}
	l.broker = broker
	served := make(chan struct{})
	l.serve(broker, served)
	bus.URL = broker.URL()
	bus.User, bus.Password = l.members.Loopback()
	return l.reach(bus, served)
}

// serve runs the broker of this device until its own client needs it no more, which closes the channel.
func (l *Link) serve(broker *mqtt.Broker, served <-chan struct{}) {
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
		return client.Run(ctx)
	}})
	return client, nil
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
	if l.heard != nil { // its goodbye would be a stranger's by now
		l.heard(id, round.Gone{})
	}
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
	is := func(f discovery.Found) bool { return f.RoomID == room.ID && f.Device == room.Host }
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
	ch, err := pairing.Accept(conn)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pairing.RunLength)
	defer cancel()
	_ = w.Serve(ctx, ch) // what came of it is told by the window
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

// forGood is what to do when the device that keeps a room is broken or was given away: nobody else can keep that room.
const forGood = "if it is gone for good, leave the room at each device (hold its button for ten seconds, or: conch room leave) and pair them anew"
