package device

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"conch/companions"
	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt"
	"conch/mqtt/discovery"
	"conch/mqtt/membership"
)

// How a device reaches the others:
//
//	room.broker    paired           broker here                    client
//	-              no               none: nothing listens          none
//	-              host             loopback, and TLS at room.port  loopback
//	-              member           none                           TLS, to wherever the host is found
//	URL            no, or foreign   none                           the URL; who belongs: room.members and those that paired
//	embedded       (not by that)    as room.listen says            loopback
//
// What a person has written down goes before what was paired.

// openRoom reads which room this device is in, before anything is made that depends on it. A device that cannot pair works
// nevertheless.
func (d *Device) openRoom() error {
	p := &pairer{}
	d.pairing = p
	c := d.cfg.Room
	id := d.opts.Room.Identity
	if id.ID() == "" {
		var err error
		if id, err = d.identity(); err != nil && (c.Broker != "" || !errors.Is(err, control.ErrRefused)) {
			return err
		} else if err != nil { // alone, it needs none
			p.cannot = err
			return nil //nolint:nilerr // it says so when it is asked to pair
		}
	}
	p.id, d.self = id, id.ID()
	switch {
	case d.memory.Dir() == "" || d.opts.Room.Volatile:
		p.cannot = errors.New("it has no state directory to remember its room in (set state.dir)")
		return nil
	case d.conds.Holds(condition.RoomIdentity):
		p.cannot = errors.New("its key cannot be used (see: conch doctor)")
		return nil
	}
	m, err := membership.Open(d.memory.Dir(), id, membership.Clock{Floor: clockFloor})
	if err != nil {
		p.cannot = err
		d.conds.Set(condition.RoomDamaged, err.Error(), "mend what it names and restart, or restore it from a backup; conch room leave gives it up, and then pair again; until then this device works alone")
		return nil
	}
	m.LogWith(d.log)
	m.ReachableAt(func() []string { return d.reachable(d.networkPort()) })
	p.members = m
	p.find = d.opts.Room.Finder
	if p.find == nil {
		p.find = discovery.New(discovery.Config{How: c.Discovery, Device: d.self, Log: d.log})
	}
	if room := m.Room(); room != nil && room.Called != "" {
		d.cfg.Device.Name = room.Called // names of a room differ, and this is what the others call it
	}
	return nil
}

// roomWay says what the table above has for this device.
func (d *Device) roomWay() (room *membership.Room, host bool) {
	room = d.pairing.room()
	if d.cfg.Room.Broker != "" || room == nil {
		return nil, false
	}
	return room, d.pairing.members.IsHost()
}

// networked says whether there is a way to other devices.
func (d *Device) networked() bool { return d.cfg.Room.Broker != "" || d.pairing.room() != nil }

// foreignBroker says that room.broker names one that is none of the devices.
func (d *Device) foreignBroker() bool {
	return d.cfg.Room.Broker != "" && d.cfg.Room.Broker != "embedded"
}

// topic is the room's name in topics, and roomName the one for people.
func (d *Device) topic() string {
	if room, _ := d.roomWay(); room != nil {
		return room.Topic()
	}
	return d.cfg.Room.Name
}

func (d *Device) roomName() string {
	if room := d.pairing.room(); room != nil {
		return room.Name
	}
	return d.cfg.Room.Name
}

// memoryName is the room's name for what this device remembers of it: two rooms never mix (ROOM.md 7), and people call most of
// theirs the same.
func (d *Device) memoryName() string {
	if room := d.pairing.room(); room != nil {
		return room.ID
	}
	return d.cfg.Room.Name
}

// busConfig is what every client of this device needs.
func (d *Device) busConfig(id mqtt.Identity) mqtt.Config {
	p := d.pairing
	return mqtt.Config{
		Room: d.topic(), Identity: id, Member: d.belongs(id.ID()), Log: d.log,
		OnPacket: func(from round.DeviceID, packet round.Packet) {
			p.met(from)
			d.room.Deliver(from, packet)
		},
		OnNote: func(from round.DeviceID, n mqtt.Note) {
			if p.members != nil {
				p.members.HandleNote(from, n)
			}
		},
		OnLink: func(up bool) {
			d.room.LinkChanged(up)
			if up && p.members != nil {
				p.members.LinkUp()
			}
		},
		OnTrouble: d.busTrouble,
	}
}

// met: a device that was let in has come. A broker of one's own tells that by itself.
func (p *pairer) met(id round.DeviceID) {
	room := p.room()
	if room == nil || !room.Foreign {
		return
	}
	if m, ok := room.Member(id); ok && m.Pending {
		p.members.Confirm(id)
	}
}

// belongs says who belongs to the room: whoever was paired, and whoever room.members names.
func (d *Device) belongs(self round.DeviceID) func(round.DeviceID) bool {
	if d.opts.Room.Member != nil {
		return d.opts.Room.Member
	}
	named, p := d.members(self), d.pairing
	if room, _ := d.roomWay(); room != nil && !room.Foreign {
		return p.members.Member
	}
	return func(id round.DeviceID) bool { return named(id) || p.members != nil && p.members.Member(id) }
}

// busTrouble makes a condition of a room that cannot be reached.
func (d *Device) busTrouble(err error) {
	p := d.pairing
	if err == nil {
		d.conds.Clear(condition.RoomCut)
		d.conds.Clear(condition.RoomCertificate)
		return
	}
	room, _ := d.roomWay()
	if room == nil {
		d.conds.Set(condition.RoomCut, "no connection to the room: "+err.Error(), "check room.broker and the network; this device works alone meanwhile, and comes back by itself")
		return
	}
	p.members.Refused(err)
	if code, text, do := pairedTrouble(err, d.hostName(room)); code != condition.RoomCut {
		d.conds.Set(code, text, do)
	} else {
		d.conds.Clear(condition.RoomCertificate)
	}
	_, text, do := pairedTrouble(err, d.hostName(room))
	d.conds.Set(condition.RoomCut, text, do)
}

// pairedTrouble is why the host of a paired room is not reached, in words.
func pairedTrouble(err error, host string) (code condition.Code, text, do string) {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, mqtt.ErrNotMember):
		return condition.RoomCut, host + " says that this device is no longer in the room", "pair it again: hold the button of both for five seconds"
	case errors.Is(err, membership.ErrOtherHost), errors.Is(err, membership.ErrOtherRoom), errors.Is(err, membership.ErrNotItsName):
		return condition.RoomCut, "where " + host + " was, another device answers: " + err.Error(), "switch " + host + " on, in the same network; it is looked for all the time"
	case errors.As(err, &invalid):
		return condition.RoomCertificate, "the certificates of this device and of " + host + " do not fit: " + err.Error(),
			"see that both have the right time (timedatectl); if that does not help, pair this device again"
	case errors.Is(err, mqtt.ErrNoAddress):
		return condition.RoomCut, "nobody knows where " + host + " is", "switch it on, in the same network; it is looked for all the time (room.discovery); " + forGood
	}
	return condition.RoomCut, host + ", which keeps the room, does not answer: " + err.Error(), "switch it on, in the same network; this device works alone meanwhile, and comes back by itself; " + forGood
}

func (d *Device) hostName(room *membership.Room) string {
	if m, ok := room.Member(room.Host); ok && m.Name != "" {
		return m.Name
	}
	return string(room.Host)
}

// forGood is what to do when the device that keeps a room is broken or was given away: nobody else can keep that room.
const forGood = "if it is gone for good, leave the room at each device (hold its button for ten seconds, or: conch room leave) and pair them anew"

// wireHost makes the broker of a paired room, and this device's own way to it.
func (d *Device) wireHost(room *membership.Room, id mqtt.Identity) (companions.Bus, error) {
	p := d.pairing
	config := func(port int) mqtt.BrokerConfig {
		return mqtt.BrokerConfig{Room: room.Topic(), Admit: p.members.Admits, Log: d.log, Network: &mqtt.Network{
			Listen: net.JoinHostPort(d.opts.Room.Listen, strconv.Itoa(port)), TLS: p.members.BrokerTLS(), Pairing: p.pairDoor, Pair: p.pairConn,
		}}
	}
	broker, err := mqtt.NewBroker(config(d.cfg.Room.Port))
	if err != nil && d.cfg.Room.Port != 0 { // the others look for it: another port is better than none
		d.conds.Set(condition.RoomPort, err.Error(), "end what has that port, or set room.port, then restart; until then another port is used, and the others must find it by themselves")
		broker, err = mqtt.NewBroker(config(0))
	}
	if err != nil {
		d.conds.Set(condition.RoomBroker, err.Error(), "mend what it says and restart; until then the room's devices work alone")
		return nil, nil //nolint:nilnil // no way to the others
	}
	d.broker = broker
	served := d.serveBroker(broker, id)
	c := d.busConfig(id)
	c.URL = broker.URL()
	c.User, c.Password = p.members.Loopback()
	return d.runBus(c, served)
}

// wireMember makes the way to the host of a paired room, wherever that is.
func (d *Device) wireMember(id mqtt.Identity) (companions.Bus, error) {
	p := d.pairing
	c := d.busConfig(id)
	c.TLS, c.Addresses, c.OnReached = p.members.ClientTLS, p.hostAddresses, p.members.Reached
	return d.runBus(c, make(chan struct{}))
}

// hostAddresses are where the host may be: where it last was, where it says it is, where it was before that.
func (p *pairer) hostAddresses(ctx context.Context) []string {
	room := p.room()
	if room == nil {
		return nil
	}
	var found []string
	is := func(f discovery.Found) bool { return f.RoomID == room.ID && f.Device == room.Host }
	if p.hurried.Swap(true) || len(room.Addresses) == 0 { // the first time it is probably where it was
		all, err := p.find.Find(ctx, lookEvery, is)
		if err != nil && ctx.Err() == nil {
			p.d.log.Warn(logPairErr, "err", err)
		}
		for _, f := range all {
			if is(f) {
				found = append(found, f.Addresses...)
			}
		}
	}
	return room.Candidates(found)
}

// changed is told what has become of the room. It must not wait.
func (p *pairer) changed(c membership.Change) {
	switch c.What {
	case membership.Removed:
		if p.d.broker != nil {
			p.d.broker.Drop(c.Device)
		}
		if p.d.room != nil { // its goodbye would be a stranger's by now
			p.d.room.Deliver(c.Device, round.Gone{})
		}
	case membership.Out:
		if !errors.Is(c.Why, membership.ErrLeft) {
			p.d.coordinator.HushRoom(p.d.now(), p.d.speaker.Drop()) // nobody here is of that room any more
			p.post(wayOut{p.d.now()})
		}
	case membership.Stuck: // it would begin anew as a member, be refused, and so on for ever
		p.d.coordinator.HushRoom(p.d.now(), p.d.speaker.Drop())
		p.d.conds.Set(condition.RoomStuck, "this device was removed from its room, and that cannot be written down: "+c.Why.Error(),
			"make the state directory writable (is the card worn out, and can only be read?); this device works alone meanwhile")
	case membership.Admitted, membership.Renamed:
		p.announce()
	}
}

// networkPort is where others reach the broker of this device; 0: they do not.
func (d *Device) networkPort() int {
	if d.broker == nil {
		return 0
	}
	if a, ok := d.broker.NetworkAddr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// linked says whether the room can be asked something.
func (d *Device) linked() bool { return d.bus != nil && d.bus.Stats().Up }

// reachable are the addresses at which others reach a port of this device, IPv4 first: people read them aloud.
func (d *Device) reachable(port int) []string {
	if port == 0 {
		port = d.cfg.Room.Port
	}
	if d.opts.Room.Reachable != nil {
		return d.opts.Room.Reachable(port)
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

// brokerConfig is what reaches the foreign broker, as this device is configured.
func (d *Device) brokerConfig() mqtt.Config {
	c := d.cfg.Room
	return mqtt.Config{URL: c.Broker, User: c.User, PasswordFile: c.PasswordFile, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, Log: d.log}
}

// pairedStatus is the paired room for those who ask.
func (d *Device) pairedStatus() *control.PairedRoom {
	room := d.pairing.room()
	if room == nil {
		return nil
	}
	s := &control.PairedRoom{ID: room.ID, Name: room.Name, Called: room.Called, Host: room.Host, Foreign: room.Foreign}
	if !room.CertificateUntil.IsZero() {
		s.Expires = &room.CertificateUntil
	}
	var here []round.Member
	if d.room != nil {
		here = d.room.Members()
	}
	for _, m := range room.Members {
		one := control.PairedMember{Device: m.ID, Name: m.Name, Since: m.Since, Seen: m.Seen, Host: m.ID == room.Host, Pending: m.Pending}
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
		case a.Device == d.self:
			return -1
		case b.Device == d.self:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// forgetDamaged gives up a room whose files are damaged.
func (d *Device) forgetDamaged() error {
	if d.memory.Dir() == "" {
		return errors.New("there is no state directory")
	}
	if err := membership.Forget(d.memory.Dir()); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
