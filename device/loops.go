package device

import (
	"fmt"
	"strings"
	"time"

	"conch/device/config"
	"conch/device/service"
)

// What the service manager is told of the device, and the loops that its watchdog asks (package service).

// Patience: two looks, and at least this. A button looks round every 250 ms. The keepers of the card may be busy with a sound
// system that does not answer: three seconds to open, one to close, and five between two attempts (package audio).
const (
	loopPatience = time.Second
	cardPatience = 12 * time.Second
)

// A source of presses that has no loop of its own (standard input, where a read waits
// for a person) is not watched.
// Loops implements service.Host.
func (d *Device) Loops(every time.Duration) []service.Loop {
	looks := func(patience time.Duration) int { return max(2, int((patience+every-1)/every)) }
	most, card := looks(loopPatience), looks(cardPatience)
	loops := []service.Loop{{Name: "coordinator", Call: d.coordinator.Call, Patience: most}, {Name: "playback", Call: d.sound.CallPlayback, Patience: card},
		{Name: "capture", Call: d.sound.CallCapture, Patience: card}}
	for _, b := range d.buttons {
		if c, ok := b.(interface{ Call(f func()) bool }); ok {
			loops = append(loops, service.Loop{Name: "button " + b.String(), Call: c.Call, Patience: most})
		}
	}
	for id, v := range d.room.Voices.All() {
		loops = append(loops, service.Loop{Name: "voice " + string(id), Call: v.Call, Patience: most})
	}
	if d.room.Room != nil {
		loops = append(loops, service.Loop{Name: "room", Call: d.room.Room.Call, Patience: most})
	}
	if d.bus != nil {
		loops = append(loops, service.Loop{Name: "mqtt", Call: d.bus.Call, Patience: most})
	}
	return loops
}

// buttonNames are the buttons, but for those that nobody asked for and that are not there.
func (d *Device) buttonNames() []string {
	var names []string
	for _, b := range d.opts.Buttons {
		if r, ok := b.(*reopened); ok && r.quiet && !r.here() {
			continue
		}
		names = append(names, b.String())
	}
	return names
}

// here says that the button is there.
func (r *reopened) here() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.button != nil
}

// known says whether the button is there, or why it is not is known.
func (r *reopened) known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.button != nil || r.lost != nil
}

// StatusLine is the device in one line: what it does, what it is made of, what is wrong.
func (d *Device) StatusLine() string {
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

func (d *Device) voiceShort() string {
	buttons := d.buttonNames()
	if len(buttons) == 0 {
		buttons = []string{"no button"}
	}
	sound := "no loudspeaker"
	if g, ok := d.sound.Audible(); ok {
		sound = g.Name
	}
	voice, _, _ := strings.Cut(d.answers.called, " (") // why is for who starts it by hand
	return fmt.Sprintf("%s; %s; %s", strings.Join(buttons, ", "), sound, voice)
}

// brief keeps a text on one line of at most 200 runes: a name of a card is not ours, and a line break would begin another
// assignment of the datagram.
func brief(s string) string {
	s = strings.Join(strings.Fields(config.Printable(s)), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:199]) + "…"
	}
	return s
}
