package join

import (
	"fmt"
	"slices"
	"strings"

	"conch/device/control"
	"conch/device/printable"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// The room that this device is in, as pairing needs it.

// opens is the room that the window leads into.
func (l *Link) opens() (id, name string) {
	room := l.Room()
	if room == nil {
		room = l.members.Founding()
	}
	if room == nil {
		return "", ""
	}
	return room.ID, room.Name
}

// offers is what the network is told of that: a device that is in no room, or alone in its own, gives way to others, and names none.
func (l *Link) offers() (id, name string) {
	room := l.Room()
	if room == nil || l.alone() {
		return "", ""
	}
	return room.ID, room.Name
}

// alone says that this device is in a room of its own in which nobody else is, nor expected.
func (l *Link) alone() bool {
	room := l.Room()
	return room != nil && room.Alone(l.Self())
}

// peer is a device that was let in, as the room calls it.
func (l *Link) peer(party pairing.Party) *Peer {
	peer := &Peer{Device: party.Device, Name: party.Name}
	if room := l.Room(); room != nil {
		peer.Room = room.Name
		if m, ok := room.Member(party.Device); ok {
			peer.Name = m.Name
		}
	}
	return peer
}

// joined is who let this device in; it came under a name that may be taken there.
func (l *Link) joined(host pairing.Party, as string) Peer {
	peer := *l.peer(host)
	if room := l.Room(); room != nil && room.Called != as {
		peer.Called = room.Called
	}
	return peer
}

// able says why this device cannot pair; nil: it can.
func (l *Link) able() error {
	switch {
	case l.members == nil:
		return fmt.Errorf("%w: this device cannot pair: %w", control.ErrRefused, l.cannot)
	case l.Room() != nil && l.Room().Foreign != (l.o.Room.Broker != ""):
		return fmt.Errorf("%w: this device's room was paired %s, and room.broker is %q: a window would lead to where nobody is; change "+
			"room.broker back, or leave the room (conch room leave)",
			control.ErrRefused, map[bool]string{true: "over a broker", false: "without a broker"}[l.Room().Foreign], l.o.Room.Broker)
	case l.o.Room.Broker == "embedded":
		return fmt.Errorf("%w: room.broker = \"embedded\" is for devices that are configured by hand; take it out, and paired devices find "+
			"each other without it", control.ErrRefused)
	}
	return nil
}

// missing says whether the device that keeps the room has been gone for so long that this one may take its place.
func (l *Link) missing() bool {
	room, host := l.Way()
	if room == nil || host {
		return false
	}
	gone, left := l.members.Missing()
	return gone > 0 && left == 0
}

// member finds a device of the room by its id or by its name.
func (l *Link) member(who string) (membership.Member, error) {
	room := l.Room()
	if room == nil {
		return membership.Member{}, fmt.Errorf("%w: this device is in no room that was paired", control.ErrRefused)
	}
	var names []string
	for _, m := range room.Members {
		names = append(names, m.Name)
	}
	i := slices.IndexFunc(room.Members, func(m membership.Member) bool { return string(m.ID) == who })
	if i < 0 {
		i = printable.Find(names, who)
	}
	if i < 0 {
		return membership.Member{}, fmt.Errorf("%w: no device %q in the room: there are %s", control.ErrRefused, who, strings.Join(names, ", "))
	}
	return room.Members[i], nil
}
