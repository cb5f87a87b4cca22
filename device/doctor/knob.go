package doctor

import (
	"context"
	"fmt"
	"strconv"

	"conch/gpio"
)

// checkKnob looks at how the volume is changed without a word.
func checkKnob(ctx context.Context, m *Machine, s *Subject) []Finding {
	if s.Knob.Encoder == "" && !s.Knob.Keys {
		return ok("", "none")
	}
	var out []Finding
	if s.Knob.Encoder != "" {
		out = checkEncoder(ctx, m, s)
	}
	if s.Knob.Keys {
		out = append(out, checkVolumeKeys(m, s)...)
	}
	return out
}

func checkEncoder(ctx context.Context, m *Machine, s *Subject) []Finding {
	if f := s.misfit("knob"); f != nil {
		return f
	}
	a, b, err := gpio.EncoderPins(s.Knob.Encoder)
	if err != nil {
		return nil // the loader has refused it
	}
	on := "encoder on " + pins([]int{a, b})
	if s.pins(m).Header == "" {
		if paths := m.glob("/dev/gpiochip*"); len(paths) > 0 && !m.callerMay(paths) {
			return unknown("", "who has the encoder's pins", "sudo conch doctor")
		}
		return bad("", on+": the chip with the header cannot be used", "see gpio", "see gpio; without an encoder: knob.encoder = []")
	}
	held := 0
	for _, pin := range []int{a, b} {
		line, there := s.pin(m, pin)
		switch {
		case !there:
			return bad("", fmt.Sprintf("%s has no line GPIO%d, of the encoder", s.pins(m).Header, pin), "the chip is not a Pi's header", "set knob.encoder")
		case line.Used && !ours(line):
			return bad("", fmt.Sprintf("GPIO%d, of the encoder, is in use by %s", pin, consumer(line)), busyCause(line), busyRemedy("knob.encoder"))
		case line.Used:
			held++
		}
	}
	if held == 2 {
		return ok("", "%s, held by conch", on)
	}
	if _, here, err := s.running(ctx); here && err == nil {
		return warn("", on+": conch runs and does not hold it", "it was started before the setting, or cannot open the pins (event volume.lost of its log)",
			"sudo systemctl restart conch; then journalctl -u conch | grep volume.")
	}
	return ok("", "%s, free", on)
}

// checkVolumeKeys names the devices whose keys count.
func checkVolumeKeys(m *Machine, s *Subject) []Finding {
	if f := mayRead(m, s.account(m)); f != nil {
		if s.Button.Source == "evdev" {
			return nil // the check of the button's device says so
		}
		return f
	}
	all, denied := m.Inputs()
	var names []string
	for _, d := range all {
		mine := s.Button.Source == "evdev" && (within(d.Name, s.Button.Device) || within(d.Link, s.Button.Device))
		if d.Volume && (!d.Typed || mine) { // of a keyboard only where it is the button
			names = append(names, strconv.Quote(d.Name))
		}
	}
	switch {
	case len(names) > 0:
		return ok("", "volume keys of %s", named(names))
	case denied > 0:
		return unknown("", "which devices have volume keys", "sudo conch doctor")
	}
	return tip("", "volume keys count, and no device here has any", "plug one in; conch gpio list names them (keys of a keyboard with letters do not count)")
}
