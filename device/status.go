package device

import (
	"fmt"
	"strings"

	"conch/device/buttons"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/join"
	"conch/device/language"
	"conch/device/printable"
)

// status is the device in words and numbers: what it says of itself to people, to the service manager (package service) and at the
// control socket.
type status struct{ *Device }

// Chosen says in a line each what was chosen for button, sound, voice and room.
func (d status) Chosen(l language.Language) string {
	names := d.buttonNames()
	if len(names) == 0 {
		names = []string{l.Phrase("status.socket_only")}
	}
	button := l.Retell("value", strings.Join(names, "; "))
	rows := [][2]string{{l.Phrase("status.button"), button}, {l.Phrase("status.sound"), l.Retell("value", d.sound.Words())},
		{l.Phrase("status.voice"), l.Retell("value", d.voiceLine())}}
	if room := d.roomLine(l); room != "" {
		rows = append(rows, [2]string{l.Phrase("status.room"), room})
	}
	if d.page != nil {
		if pages := d.page.Pages(); len(pages) > 0 {
			rows = append(rows, [2]string{l.Phrase("status.page"), strings.Join(pages, " ")})
		}
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, printable.Width(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(printable.Pad(r[0], wide+2) + r[1] + "\n")
	}
	return b.String()
}

func (d status) voiceLine() string {
	if d.answers.more != "" {
		return d.answers.called() + "; " + d.answers.more
	}
	return d.answers.called()
}

// roomLine says which room this is and how it is reached; empty without one.
func (d status) roomLine(l language.Language) string {
	if d.room.Room == nil {
		return ""
	}
	var names []string
	for _, c := range d.room.Cards {
		names = append(names, c.Name)
	}
	way, c := l.Phrase("status.here_alone"), d.cfg.Room
	paired, host := d.link.Way()
	switch {
	case host:
		way = l.Phrase("status.kept_here", "port", d.link.Port())
	case paired != nil:
		way = l.Phrase("status.kept_by", "device", join.HostName(paired))
	case c.Broker == "embedded":
		way = l.Phrase("status.broker_here", "address", c.Listen)
	case c.Broker != "":
		way = l.Phrase("status.broker", "address", c.Broker)
	}
	switch {
	case c.Broker == "" && paired == nil:
	case d.conds.Holds(condition.RoomCut):
		way += " (" + l.Phrase("status.no_connection") + ")"
	case paired == nil && d.link.Room() == nil && len(c.IDs()) == 0 && d.opts.Room.Member == nil:
		way += ", " + l.Phrase("status.nobody_heard")
	}
	return fmt.Sprintf("%s, %s; %s", d.link.RoomName(), way, l.Phrase("status.here", "names", strings.Join(names, ", "), "id", d.self))
}

// RoomStatus tells who is in the room, and how it is reached.
func (d status) RoomStatus() (control.RoomStatus, error) {
	s, err := d.room.Status()
	if err != nil {
		return s, err
	}
	s.Room, s.Broker, s.Pairing, s.Paired = d.link.RoomName(), d.link.Broker(), d.pairing.Now(), d.link.Status(s.Members)
	if paired, host := d.link.Way(); host {
		s.Broker = "embedded"
	} else if paired != nil {
		s.Broker = "of " + join.HostName(paired)
	}
	if d.bus != nil {
		wire := d.bus.Stats()
		s.Wire, s.Connected = &wire, wire.Up
	}
	return s, nil
}

// StatusLine is the device in one line: what it does, what it is made of, what is wrong.
func (d status) StatusLine() string {
	var b strings.Builder
	b.WriteString(d.voiceShort())
	held := d.conds.List()
	switch len(held) {
	case 0:
		b.WriteString("; all is well")
	case 1:
		fmt.Fprintf(&b, "; 1 condition: %s", held[0].Code)
	default:
		fmt.Fprintf(&b, "; %d conditions:", len(held))
		for i, c := range held {
			if i == 5 {
				fmt.Fprintf(&b, " and %d more", len(held)-i)
				break
			}
			b.WriteString(" " + string(c.Code))
		}
	}
	if len(held) > 0 {
		b.WriteString(" (conch doctor)")
	}
	return brief(b.String())
}

func (d status) voiceShort() string {
	buttons := d.buttonNames()
	if len(buttons) == 0 {
		buttons = []string{"no button"}
	}
	sound := "no loudspeaker"
	if g, ok := d.sound.Audible(); ok {
		sound = g.Name
	}
	voice, _, _ := strings.Cut(d.answers.called(), " (") // why is for who starts it by hand
	return fmt.Sprintf("%s; %s; %s", strings.Join(buttons, ", "), sound, voice)
}

// brief keeps a text on one line of at most 200 runes: a name of a card is not ours, and a line break would begin another
// assignment of the datagram.
func brief(s string) string {
	s = strings.Join(strings.Fields(printable.Text(s)), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:199]) + "…"
	}
	return s
}

// buttonNames are the buttons, but for those that nobody asked for and that are not there.
func (d status) buttonNames() []string {
	var names []string
	for _, b := range d.opts.Buttons {
		if r, ok := b.(*buttons.Reopened); ok && !r.Wanted() {
			continue
		}
		names = append(names, b.String())
	}
	return names
}
