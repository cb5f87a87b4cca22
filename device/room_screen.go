package device

import (
	"context"
	"fmt"
	"strings"

	"conch/companions/round"
	"conch/device/condition"
)

// What a person at the terminal of an appliance sees of the room, besides the turns of the device itself.

// roomLine says which room this is and how it is reached; empty without one.
func (d *Device) roomLine() string {
	if d.room == nil {
		return ""
	}
	var names []string
	for _, c := range d.cards {
		names = append(names, c.Name)
	}
	way, c := "on this device alone", d.cfg.Room
	paired, host := d.link.Way()
	switch {
	case host:
		way = fmt.Sprintf("paired, kept here (port %d)", d.link.Port())
	case paired != nil:
		way = "paired, kept by " + HostName(paired)
	case c.Broker == "embedded":
		way = "broker embedded at " + c.Listen
	case c.Broker != "":
		way = "broker " + c.Broker
	}
	switch {
	case c.Broker == "" && paired == nil:
	case d.conds.Holds(condition.RoomCut):
		way += " (no connection; conch doctor says why)"
	case paired == nil && d.link.Room() == nil && len(c.IDs()) == 0 && d.opts.Room.Member == nil:
		way += ", but room.members is empty and nothing was paired: nobody will be heard"
	}
	return fmt.Sprintf("room    %s, %s; here %s; this device is %s\n", d.link.RoomName(), way, strings.Join(names, ", "), d.self)
}

// troubles is what is wrong with the room from the start: a person at the terminal has no log to see it in.
func (d *Device) troubles() string {
	var b strings.Builder
	for _, c := range d.conds.List() {
		if strings.HasPrefix(string(c.Code), "room.") {
			fmt.Fprintf(&b, "conch: %s\n       -> %s\n", strings.ReplaceAll(c.Text, "\n", "\n       "), c.Do)
		}
	}
	return b.String()
}

// overhear shows what happens in the room until ctx ends; then the channel is closed.
func (d *Device) overhear(ctx context.Context, say func(string)) <-chan struct{} {
	done := make(chan struct{})
	if d.room == nil {
		close(done)
		return done
	}
	entries := d.room.Watch(ctx)
	go func() { // ends with the room's channel
		defer close(done)
		for e := range entries {
			say(d.overheard(e))
		}
	}()
	return done
}

// overheard is an entry of the ledger for a person who reads along; empty: nothing that is not on the screen already.
func (d *Device) overheard(e round.Entry) string {
	n := namer(d.room.Members())
	switch e.Kind {
	case round.EntryRound: // each message opens one
		m := e.Message
		if m == nil || m.Metadata.Silence || m.From == round.Human(d.self) || m.Text == "" {
			return ""
		}
		if c, ok := m.From.Companion(); ok {
			who, place := n.companion(c), n.home(c)
			if place == d.cfg.Device.Name && d.voices.of[c] != nil {
				return "" // its turn was shown
			}
			return fmt.Sprintf("%s (%s): %s\n", who, place, m.Text)
		}
		return fmt.Sprintf("%s: %s\n", n.participant(m.From), m.Text)
	case round.EntrySilent:
		if e.Message != nil && e.Message.From == round.Human(d.self) {
			return fmt.Sprintf("(nobody answers: %s)\n", n.words(plainReason(e.Why)))
		}
	case round.EntryMember:
		return fmt.Sprintf("(%s)\n", n.words(e.Why))
	case round.EntryControl:
		return fmt.Sprintf("(%s)\n", n.control(e))
	}
	return ""
}

// home is the name of the device where a companion lives.
func (n namer) home(id round.CompanionID) string {
	for _, m := range n {
		for _, c := range m.Cards {
			if c.ID == id {
				return m.Name
			}
		}
	}
	return "elsewhere"
}
