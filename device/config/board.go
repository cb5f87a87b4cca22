package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"conch/device/condition"
	"conch/device/printable"
	"conch/gpio"
)

// The board of device.board fills what nobody has set: stronger than a default, weaker than everything a person has said
// (APPLIANCE.md 1, gpio/FACTS.md). What does not go together is found here as well, after all is known; it keeps nothing from
// loading, for an appliance starts with what works.

// board applies the preset. It comes after file, environment and flags.
func (l *loader) board() {
	c := l.config
	if c.Device.Board == "" {
		return
	}
	b, ok := gpio.FindBoard(c.Device.Board)
	if !ok {
		return // its key has refused it
	}
	origin := "board " + b.Name
	set := func(key string, v any) {
		if !c.Unset(key) {
			return
		}
		if err := l.keys[key].set(v); err != nil { // the table is checked by a test: every row loads
			l.problem("%s: the board %s has %v here, which is not allowed", key, b.Name, v)
			return
		}
		c.setOrigin(key, origin)
	}
	if b.Keys {
		set("button.source", "evdev")
	}
	if p := b.Button; p != nil && c.Unset("button.pin") { // another pin is another button, with a level of its own
		set("button.active", map[bool]string{true: "high", false: "low"}[p.ActiveHigh])
		set("button.bias", p.Bias.String())
		set("button.pin", int64(p.Pin))
	}
	l.boardLight(b, set)
	l.boardSound(b, set)
}

// boardLight: whoever names a driver means a light of their own, unless it is the board's.
func (l *loader) boardLight(b gpio.Board, set func(string, any)) {
	c, light := l.config, b.Light
	if light.Driver == "" {
		return
	}
	if c.Light.Driver == "auto" {
		c.setOrigin("light.driver", "default") // "auto" in the file asks for just this
	}
	set("light.driver", string(light.Driver))
	if c.Light.Driver != string(light.Driver) {
		return
	}
	pins := make([]string, len(light.Pins))
	for i, p := range light.Pins {
		pins[i] = strconv.Itoa(p)
	}
	if len(pins) > 0 && c.Unset("light.pins") { // other pins are other lights: their polarity is not the board's
		set("light.invert", light.Invert)
		set("light.pins", strings.Join(pins, ","))
	}
	if light.SPI != "" {
		set("light.spi", light.SPI)
	}
	if light.Sysfs != "" {
		set("light.sysfs", light.Sysfs)
	}
	if light.Count > 0 {
		set("light.count", int64(light.Count))
	}
}

// boardSound names the board's card where it is up, so that a second card does not come before it. A card that is not there
// is not named: then any card is better than none, and doctor says what brings the board's up.
func (l *loader) boardSound(b gpio.Board, set func(string, any)) {
	if backend := l.config.Audio.Backend; backend != "auto" && backend != "alsa" {
		return
	}
	here := gpio.SoundCards(l.root)
	i := slices.IndexFunc(b.Cards, func(card string) bool { return slices.Contains(here, card) })
	if i < 0 {
		return
	}
	id := "alsa:CARD=" + b.Cards[i] + ",DEV=0"
	if !b.NoSpeaker {
		set("audio.playback", id)
	}
	if !b.NoMic {
		set("audio.capture", id)
	}
}

// boardWords are the boards that somebody has named in one value.
func boardWords(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", ;", r) })
}

// checkBoard is what device.board may be.
func checkBoard(name string) error {
	if name == "" {
		return nil
	}
	if _, ok := gpio.FindBoard(name); ok {
		return nil
	}
	if words := boardWords(name); len(words) > 1 {
		for _, w := range words {
			if err := checkBoard(w); err != nil {
				return err
			}
		}
		return nil // for Misfits to say: the appliance starts without a board
	}
	names := gpio.BoardNames()
	hint := ""
	if near := Nearest(strings.ToLower(name), names); near != "" {
		hint = " (did you mean " + near + "?)"
	}
	return refusedError{fmt.Sprintf("no such board%s; there are %s", hint, strings.Join(names, ", "))}
}

// A Misfit is a setting that is allowed by itself and cannot be with the others: a condition of the appliance, an error of
// conch check.
type Misfit struct {
	Code condition.Code
	Part string // button, light, knob or board: what has to stay away
	Text string
	Do   string
}

func (m Misfit) String() string { return m.Text + "; " + m.Do }

// Misfits looks at the pins of button, light, knob and board together.
func (c *Config) Misfits() []Misfit {
	var all []Misfit
	from := func(key string) string { return "; set by " + c.Origin(key) }
	board, _ := gpio.FindBoard(c.Device.Board)
	if len(boardWords(c.Device.Board)) > 1 {
		all = append(all, Misfit{condition.BoardMisfit, "board",
			fmt.Sprintf("config: device.board = %s: is more than one board, and the buttons and lights of two cannot both be the ones%s",
				Quote(c.Device.Board), from("device.board")),
			"name one, and set what the other has by hand below [button] and [light]; until then there is none"})
	}
	button := -1
	if c.Button.Source == "gpio" || c.Button.Source == "auto" {
		button = c.Button.Pin
		text := ""
		if use, taken := gpio.SoundPin(button); taken {
			text = fmt.Sprintf("is the %s on boards that carry sound", use)
		} else if use, taken := board.Uses(button); taken {
			text = fmt.Sprintf("is in use on the board %s (%s)", board.Name, use)
		} else if use, taken := gpio.SPIPin(button); taken && c.Light.Driver == string(gpio.LightAPA102) {
			text = fmt.Sprintf("is the %s, which light.driver = apa102 needs", use)
		}
		if text != "" {
			all = append(all, Misfit{condition.ButtonMisfit, "button", fmt.Sprintf("config: button.pin = %d: %s%s", button, text, from("button.pin")),
				buttonElsewhere(board)})
		}
	}
	misfit := func(do, format string, args ...any) {
		all = append(all, Misfit{condition.LightMisfit, "light", "config: " + fmt.Sprintf(format, args...), do})
	}
	driver := gpio.LightDriver(c.Light.Driver)
	pins, err := ParsePins(c.Light.Pins)
	if want := gpio.LightPins(driver); err == nil && want > 0 && len(pins) != want {
		misfit(fmt.Sprintf("give it %s", pinsOf(driver)), "light.pins = %s: light.driver = %s needs %s, not %d%s",
			Quote(c.Light.Pins), driver, printable.Count(want, "pin"), len(pins), from("light.pins"))
	} else if want > 0 {
		for i, p := range pins {
			use, taken := gpio.SoundPin(p)
			boards, onBoard := board.Uses(p)
			switch {
			case taken:
				misfit("take a free one; conch gpio list shows them", "light.pins = %s: %d is the %s on boards that carry sound%s", Quote(c.Light.Pins), p,
					use, from("light.pins"))
			case onBoard:
				misfit("take a free one; conch gpio list shows them", "light.pins = %s: %d is in use on the board %s (%s)%s", Quote(c.Light.Pins), p,
					board.Name, boards, from("light.pins"))
			case p == button:
				misfit("give one of them another pin; until then the button has it", "light.pins = %s: %d is the button's pin as well (button.pin%s)%s",
					Quote(c.Light.Pins), p, strings.Replace(from("button.pin"), ";", ",", 1), from("light.pins"))
			case slices.Contains(pins[:i], p):
				misfit("give each colour a pin of its own", "light.pins = %s: %d is in it twice%s", Quote(c.Light.Pins), p, from("light.pins"))
			}
		}
	} else {
		pins = nil // nobody uses them
	}
	return append(all, c.knobMisfits(board, button, pins)...)
}

// encoder is two pins. Whether they are free is for Misfits to say.
func encoder(name string, field *string, about string) key {
	const allowed = `empty, or two different pins, 0 to 27 without the button's and without 2, 3 and 18 to 21 (those are of sound boards), as in ["GPIO5", "GPIO6"]`
	k := checkedText(name, field, maxLine, allowed, about, oneLine)
	check := k.set
	k.set = func(v any) error {
		if err := check(v); err != nil || *field == "" {
			return err
		}
		if _, _, err := gpio.EncoderPins(*field); err != nil {
			why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "gpio: "), ": must be ") // one pin; here they are two
			why, _, _ = strings.Cut(why, "; take ")
			return refusedError{why + "; must be " + allowed}
		}
		return nil
	}
	return list(k, field)
}

// knobMisfits looks at the encoder's pins: the button, the light and the board were there first.
func (c *Config) knobMisfits(board gpio.Board, button int, light []int) (all []Misfit) {
	a, b, err := gpio.EncoderPins(c.Knob.Encoder)
	if err != nil {
		return nil // there is none; its key has refused what is wrong by itself
	}
	for _, p := range []int{a, b} {
		text := ""
		if use, taken := board.Uses(p); taken {
			text = fmt.Sprintf("is in use on the board %s (%s)", board.Name, use)
		} else if use, taken := gpio.SPIPin(p); taken && c.Light.Driver == string(gpio.LightAPA102) {
			text = fmt.Sprintf("is the %s, which light.driver = apa102 needs", use)
		} else if p == button {
			text = "is the button's pin as well (button.pin, set by " + c.Origin("button.pin") + ")"
		} else if slices.Contains(light, p) {
			text = "is the light's pin as well (light.pins, set by " + c.Origin("light.pins") + ")"
		}
		if text != "" {
			all = append(all, Misfit{condition.KnobMisfit, "knob", fmt.Sprintf("config: knob.encoder = %s: %d %s; set by %s",
				Quote(c.Knob.Encoder), p, text, c.Origin("knob.encoder")),
				"take two pins that nothing else has, other than 2, 3 and 18 to 21; conch gpio list shows them; until then there is no encoder"})
		}
	}
	return all
}

// buttonElsewhere is what to do about a button on a pin that it cannot have.
func buttonElsewhere(b gpio.Board) string {
	if b.Button != nil {
		return fmt.Sprintf("take another one; the board's own button is %d (remove button.pin), conch gpio learn finds any", b.Button.Pin)
	}
	return "take another one, 17 on most boards; conch gpio learn finds it"
}

func pinsOf(d gpio.LightDriver) string {
	return map[gpio.LightDriver]string{gpio.LightGPIO: "the LED's pin", gpio.LightRGB: "red, green and blue, as in 25,24,23",
		gpio.LightAPA102GPIO: "data and clock, as in 5,6"}[d]
}

// Fitting is the configuration without the parts that do not fit, and what these are. The appliance starts with it.
func (c Config) Fitting() (Config, []Misfit) {
	misfits := c.Misfits()
	for _, m := range misfits {
		switch m.Part {
		case "light":
			c.Light.Driver = string(gpio.LightNone)
		case "button":
			c.NoPin = true
		case "knob":
			c.Knob.Encoder = ""
		case "board":
			c.Device.Board = ""
		}
	}
	return c, misfits
}
