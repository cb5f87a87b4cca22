package room

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/round"
	"conch/device/control"
	"conch/device/printable"
)

// A paired room for people: who belongs to it, since when, who is here and who was when.

// pairedHeader says what the room is, who keeps it, and whether this device reaches it.
func pairedHeader(s control.RoomStatus) string {
	p := s.Paired
	keeper := ""
	for _, m := range p.Members {
		if m.Host {
			keeper = ", kept by " + printable.Name(m.Name)
		}
	}
	if p.Succeeded != "" {
		keeper += ", in place of " + printable.Name(nameOf(p, p.Succeeded))
		if !p.KeptSince.IsZero() {
			keeper += " since " + day(p.KeptSince, time.Now())
		}
	}
	if p.Foreign {
		keeper = ", broker " + s.Broker
	}
	head := fmt.Sprintf("room %s (%s)%s", printable.Name(p.Name), p.ID, keeper)
	if s.Connected {
		return head + "\n"
	}
	if head += ": not connected\n"; s.Trouble != "" {
		head += "  " + printable.Text(s.Trouble) + "\n"
	}
	return head
}

// nameOf is what the room calls a device, which need not be in it any more.
func nameOf(p *control.PairedRoom, id round.DeviceID) string {
	for _, m := range p.Members {
		if m.Device == id {
			return m.Name
		}
	}
	return string(id)
}

// pairedTable has a line for each member, and one for each companion that is here; now tells today from other days.
func pairedTable(s control.RoomStatus, now time.Time) string {
	p := s.Paired
	rows := [][]string{{"DEVICE", "ID", "SINCE", "LAST SEEN", "COMPANION", "JOINS IN", ""}}
	for _, m := range p.Members {
		seen := day(m.Seen, now)
		switch {
		case m.Here || m.Device == s.Device:
			seen = "here"
		case m.Pending:
			seen = "not yet"
		}
		var notes []string
		if m.Device == s.Device {
			notes = append(notes, "this device")
		}
		if m.Host && !p.Foreign {
			notes = append(notes, "keeps the room")
		}
		switch {
		case m.Pending && m.By != "":
			notes = append(notes, "was let in by "+m.By+", and has not come yet")
		case m.Pending:
			notes = append(notes, "was let in, and has not come yet")
		case m.By != "":
			notes = append(notes, "let in by "+m.By)
		}
		row := []string{printable.Name(m.Name), string(m.Device), day(m.Since, now), seen}
		rows = append(rows, cardRows(row, livingAt(s.Members, m.Device), strings.Join(notes, ", "))...)
	}
	for _, m := range s.Members { // room.members counts as well
		if !slices.ContainsFunc(p.Members, func(x control.PairedMember) bool { return x.Device == m.Device }) {
			rows = append(rows, cardRows([]string{printable.Name(m.Name), string(m.Device), "-", "here"}, m.Cards, "by room.members")...)
		}
	}
	var b strings.Builder
	writeTable(&b, rows)
	for _, g := range p.Removed {
		fmt.Fprintf(&b, "removed: %s (%s) by %s, %s; only the device that keeps the room lets it in again\n", g.Name, g.Device, g.By, day(g.At, now))
	}
	if p.Expires != nil {
		fmt.Fprintf(&b, "this device's certificate is good until %s; it is renewed by itself before\n", p.Expires.Format(time.DateOnly))
	}
	return b.String()
}

// cardRows are a member's lines: one, or one for each companion.
func cardRows(row []string, cards []round.Card, note string) (rows [][]string) {
	if len(cards) == 0 {
		return [][]string{append(row, "-", "", note)}
	}
	for _, c := range cards {
		rows = append(rows, append(slices.Clone(row), cardName(c), cardState(c), note))
		row, note = []string{"", "", "", ""}, ""
	}
	return rows
}

func livingAt(members []round.Member, id round.DeviceID) []round.Card {
	for _, m := range members {
		if m.Device == id {
			return m.Cards
		}
	}
	return nil
}

// day is a date, or the time of day for today's; a host without a clock writes none down.
func day(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly):
		return t.Local().Format("15:04")
	}
	return t.Local().Format(time.DateOnly)
}
