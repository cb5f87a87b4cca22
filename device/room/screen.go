package room

import (
	"context"
	"fmt"
	"strings"

	"conch/companions/round"
)

// What a person at the terminal of an appliance sees of the room, besides the turns of the device itself.

// Troubles are what is wrong with the room from the start: a person at the terminal has no log to see it in.
func (d *Driver) Troubles() string {
	var b strings.Builder
	for _, c := range d.o.Conditions.List() {
		if strings.HasPrefix(string(c.Code), "room.") {
			fmt.Fprintf(&b, "conch: %s\n       -> %s\n", strings.ReplaceAll(c.Text, "\n", "\n       "), c.Do)
		}
	}
	return b.String()
}

// Overhear shows what happens in the room until ctx ends; then the channel is closed.
func (d *Driver) Overhear(ctx context.Context, say func(string)) <-chan struct{} {
	done := make(chan struct{})
	if d.Room == nil {
		close(done)
		return done
	}
	entries := d.Room.Watch(ctx)
	go func() { // ends with the room's channel
		defer close(done)
		for e := range entries {
			say(d.overheard(e))
		}
	}()
	return done
}

// overheard is an entry of the ledger for a person who reads along; empty: nothing that is not on the screen already.
func (d *Driver) overheard(e round.Entry) string {
	n := namer(d.Room.Members())
	switch e.Kind {
	case round.EntryRound: // each message opens one
		m := e.Message
		if m == nil || m.Metadata.Silence || m.From == round.Human(d.o.Self) || m.Text == "" {
			return ""
		}
		if c, ok := m.From.Companion(); ok {
			who, place := n.companion(c), n.home(c)
			if place == d.o.Config.Device.Name && d.Houses(c) {
				return "" // its turn was shown
			}
			return fmt.Sprintf("%s (%s): %s\n", who, place, m.Text)
		}
		return fmt.Sprintf("%s: %s\n", n.participant(m.From), m.Text)
	case round.EntrySilent:
		if e.Message != nil && e.Message.From == round.Human(d.o.Self) {
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
