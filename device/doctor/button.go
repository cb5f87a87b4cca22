package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"conch/gpio"
)

// configTxt is where a Pi's overlays are named since bookworm; before that it was /boot/config.txt.
func (m *Machine) configTxt() string {
	if !m.Exists("/boot/firmware/config.txt") && m.Exists("/boot/config.txt") {
		return "/boot/config.txt"
	}
	return "/boot/firmware/config.txt"
}

// addLine is the command that adds a line to config.txt.
func (m *Machine) addLine(line string) string {
	return "echo '" + line + "' | sudo tee -a " + m.configTxt() + " && sudo reboot"
}

// pin finds a pin of the header; none where the header's chip cannot be seen.
func (s *Subject) pin(m *Machine, number int) (gpio.PinRow, bool) {
	all := s.pins(m).Pins
	i := slices.IndexFunc(all, func(r gpio.PinRow) bool { return r.Pin == number })
	if i < 0 {
		return gpio.PinRow{}, false
	}
	return all[i], true
}

// ours says whether a line is held by conch, which signs as conch@PID.
func ours(r gpio.PinRow) bool { return strings.HasPrefix(r.Consumer, "conch") }

// usesPins says whether the button is meant to be a pin: gpio is, auto is where there is a chip.
func (s *Subject) usesPins() bool { return s.Button.Source == "gpio" || s.Button.Source == "auto" }

// isPi says whether this is a Raspberry Pi, which has pins and no excuse.
func (m *Machine) isPi() bool {
	return strings.Contains(m.say("/proc/device-tree/model"), "Raspberry Pi")
}

func checkGPIO(_ context.Context, m *Machine, s *Subject) []Finding {
	if s.Button.Source == "evdev" {
		return checkInput(m, s)
	}
	if !s.usesPins() {
		return ok("", "not used: button.source = %q", s.Button.Source)
	}
	must := s.Button.Source == "gpio" || s.Board != "" || s.Unit != "" || m.isPi() // a service has no keyboard
	const none = "there is no GPIO chip (/dev/gpiochip*)"
	paths := m.glob("/dev/gpiochip*")
	switch {
	case len(paths) == 0 && must:
		return bad("", none, "this machine has none, or its driver was unloaded or is not in the kernel",
			"dmesg | grep -i pinctrl; on a machine without pins: button.source = \"evdev\" for a key of a USB device, or \"none\"")
	case len(paths) == 0:
		return note("", "%s: keyboard or lines on standard input are the button", none)
	}
	a := s.account(m)
	for _, p := range paths {
		if can, group, err := m.may(a, p, 6); err == nil && !can {
			do := "sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=gpio"
			if group != "" && m.groupID(group) >= 0 {
				do = a.rights(group)
			}
			return bad("", p+": "+a.String()+" may not open it", rightsCause(m, p), do)
		}
	}
	all := s.pins(m)
	var labels []string
	for _, c := range all.Chips {
		labels = append(labels, strconv.Quote(c.Label))
	}
	switch {
	case all.Header != "":
		return ok("", "%s, %s may open it", all.Header, a)
	case len(labels) == 0 && !m.callerMay(paths):
		return unknown("", "which chip has the header", "sudo conch doctor")
	case len(labels) == 0:
		return bad("", "no GPIO chip can be opened: "+all.Error, "its driver is gone or does not answer", "dmesg | grep -i gpio | tail")
	case s.Button.Chip != "":
		return bad("", fmt.Sprintf("no GPIO chip is labelled %q; there is %s", s.Button.Chip, named(labels)), "button.chip names another machine's chip",
			"set button.chip to one of these, or leave it empty on a Pi")
	case !must:
		return note("", "no chip here has a Raspberry Pi's header (there is %s): keyboard or lines on standard input are the button", named(labels))
	}
	return bad("", "no chip here has a Raspberry Pi's header; there is "+named(labels), "another board, or the header's driver was unloaded",
		"set button.chip to the one that has your button; dmesg | grep -i pinctrl")
}

// callerMay says whether whoever asks may open one of these.
func (m *Machine) callerMay(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		can, _, err := m.may(Account{UID: m.UID, Groups: m.Groups, Caller: true}, p, 6)
		return err == nil && can
	})
}

// checkInput: the button is a key of an input device.
func checkInput(m *Machine, s *Subject) []Finding {
	a := s.account(m)
	if f := mayRead(m, a); f != nil {
		return f
	}
	all, denied := m.Inputs()
	var names []string
	for _, d := range all {
		names = append(names, strconv.Quote(d.Name))
		if within(d.Name, s.Button.Device) || within(d.Link, s.Button.Device) {
			return ok("", "%q is there", d.Name)
		}
	}
	if denied > 0 {
		return unknown("", "which input devices there are", "sudo conch doctor")
	}
	return bad("", fmt.Sprintf("no input device is called %q; there is %s", s.Button.Device, orNone(names)), "it is unplugged, or has another name",
		"plug it in, or set button.device: conch gpio list names them")
}

// mayRead looks whether the user may read input devices; nil: it may.
func mayRead(m *Machine, a Account) []Finding {
	for _, p := range m.glob("/dev/input/event*") {
		if can, group, err := m.may(a, p, 4); err == nil && !can {
			group = cmp.Or(group, "input")
			return bad("", p+": "+a.String()+" may not read it", rightsCause(m, p), a.rights(group))
		}
	}
	return nil
}

// rightsCause says who may open a device.
func rightsCause(m *Machine, p string) string {
	info, err := m.stat(p)
	if err != nil {
		return "its mode does not allow it"
	}
	group := "none (no udev rule gave the device to one)"
	if _, g, err := m.may(Account{UID: -1}, p, 6); err == nil && g != "" {
		group = g
	}
	return fmt.Sprintf("its mode is %04o: the group that may is %s", info.Mode().Perm(), group)
}

// within says whether part is in text, whatever the case; an empty part is in every text.
func within(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// plugged is the board that says itself who it is; says is what its memory says, known or not.
func (s *Subject) plugged(m *Machine) (says string, b gpio.Board, known bool) {
	seen := s.pins(m).Seen
	if len(seen.Proposals) > 0 && seen.Proposals[0].Sure {
		b, known = gpio.FindBoard(seen.Proposals[0].Board)
	}
	return seen.EEPROM.String(), b, known
}

func checkBoard(_ context.Context, m *Machine, s *Subject) []Finding {
	if f := s.misfit("board"); f != nil {
		return f
	}
	says, is, known := s.plugged(m)
	set, have := gpio.FindBoard(s.Board)
	switch {
	case s.Board != "" && !have:
		return bad("", fmt.Sprintf("device.board = %q: there is no such preset", s.Board), "a slip, or a board of another version of conch",
			"conch gpio list names the boards")
	case s.Board != "" && known && is.Name != set.Name && is.EEPROM != set.EEPROM:
		return warn("", fmt.Sprintf("the HAT says it is %q, and device.board = %q", says, s.Board), "another board is plugged in than is configured",
			"set device.board = \""+is.Name+"\", or unplug the other")
	case s.Board != "" && says != "" && known:
		return ok("", "%s, as the HAT says (%s)", set.Title, says)
	case s.Board != "":
		return ok("", "%s (as configured; the board itself does not say)", set.Title)
	case known:
		return tip("", fmt.Sprintf("the HAT says it is %q, which conch knows as %s; no board is configured", says, is.Name),
			"set device.board = \""+is.Name+"\" in /etc/conch/conch.toml")
	case says != "":
		return note("", "the HAT says it is %q, which conch has no preset for", says)
	}
	if all := s.pins(m).Seen.Proposals; len(all) > 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Board)
		}
		return tip("", "no board is configured; this could be "+strings.Join(names, " or ")+" ("+named(all[0].Evidence)+")",
			"conch gpio list says more; then set device.board")
	}
	return ok("", "none is configured, and no HAT says what it is")
}

// misfit is what the configuration itself says cannot be: a pin of the sound board, one pin for two things.
func (s *Subject) misfit(part string) (out []Finding) {
	for _, x := range s.Misfits {
		if x.Part == part {
			why := "one pin does one thing, and the board's own come first"
			if part == "board" {
				why = "a board's name stands for its button, its light and its sound"
			}
			out = append(out, bad("", x.Text, why, x.Do)...)
		}
	}
	return out
}

func checkPin(_ context.Context, m *Machine, s *Subject) []Finding {
	if !s.usesPins() {
		return nil
	}
	if f := s.misfit("button"); f != nil {
		return f
	}
	pin := s.Button.Pin
	line, there := s.pin(m, pin)
	switch {
	case s.pins(m).Header == "":
		return nil // the check of the chip says so
	case !there:
		return bad("", fmt.Sprintf("%s has no line GPIO%d", s.pins(m).Header, pin), "the chip is not a Pi's header", "set button.pin")
	case !line.Used:
		return ok("", "GPIO%d is free", pin)
	case ours(line):
		return ok("", "GPIO%d is held by conch", pin)
	}
	return bad("", fmt.Sprintf("GPIO%d is in use by %s", pin, consumer(line)), busyCause(line), busyRemedy("button.pin"))
}

func consumer(r gpio.PinRow) string {
	if r.Consumer == "" {
		return "somebody who gave no name"
	}
	return strconv.Quote(r.Consumer)
}

// kernelUsers are consumers that are no program: drivers and overlays of config.txt.
var kernelUsers = []string{"spi", "i2c", "w1", "gpio-", "gpio_", "lirc", "reset", "cs", "sysfs", "interrupt", "led", "hog"}

func busyCause(l gpio.PinRow) string {
	for _, k := range kernelUsers {
		if strings.HasPrefix(strings.ToLower(l.Consumer), k) || strings.Contains(l.Consumer, " CS") {
			return "a driver of the kernel has it, most likely because of a dtoverlay or dtparam in config.txt"
		}
	}
	return "another program has asked for the pin"
}

func busyRemedy(key string) string {
	return "end that program (sudo fuser -v /dev/gpiochip* shows it), or remove the overlay, or set " + key +
		" to another pin (conch gpio list shows who has which)"
}

func checkLight(_ context.Context, m *Machine, s *Subject) []Finding {
	l, a := s.Light, s.account(m)
	if f := s.misfit("light"); f != nil {
		return f
	}
	switch l.Driver {
	case "", gpio.LightNone:
		return ok("", "none")
	case gpio.LightAPA102:
		device := "/dev/spidev" + l.SPI
		if !m.Exists(device) {
			return bad("", "the light is on SPI "+l.SPI+", and there is no "+device, "SPI is off", "sudo raspi-config nonint do_spi 0 && sudo reboot")
		}
		if can, group, err := m.may(a, device, 6); err == nil && !can {
			group = cmp.Or(group, "spi")
			return bad("", device+": "+a.String()+" may not open it", rightsCause(m, device), a.rights(group))
		}
		return ok("", "on %s", device)
	case gpio.LightSysfs:
		found := m.glob("/sys/class/leds/" + l.Sysfs)
		if l.Sysfs == "" || len(found) == 0 {
			return bad("", fmt.Sprintf("no LED is called %q below /sys/class/leds", l.Sysfs),
				"the driver of the light is not loaded, or light.sysfs is a slip", "ls /sys/class/leds, and set light.sysfs")
		}
		for _, led := range found {
			if can, group, err := m.may(a, led+"/brightness", 2); err == nil && !can {
				do := "sudo udevadm trigger --subsystem-match=leds"
				if group != "" {
					do = a.rights(group)
				}
				return bad("", path.Base(led)+": "+a.String()+" may not set it", "its mode does not allow it", do)
			}
		}
		return ok("", "%d LEDs of the kernel", len(found))
	}
	for _, pin := range l.Pins {
		if line, there := s.pin(m, pin); there && line.Used && !ours(line) {
			return bad("", fmt.Sprintf("GPIO%d, of the light, is in use by %s", pin, consumer(line)), busyCause(line), busyRemedy("light.pins"))
		}
	}
	if s.pins(m).Header == "" {
		if paths := m.glob("/dev/gpiochip*"); len(paths) > 0 && !m.callerMay(paths) {
			return unknown("", "who has the light's pins", "sudo conch doctor")
		}
		return bad("", "the light is on pins, and the chip with the header cannot be used", "see gpio", "see gpio; without a light: light.driver = \"none\"")
	}
	return ok("", "%s on %s", l.Driver, pins(l.Pins))
}

func pins(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, "GPIO"+strconv.Itoa(n))
	}
	return named(out)
}

func checkBuses(_ context.Context, m *Machine, s *Subject) []Finding {
	if !m.isPi() {
		return nil
	}
	have := "I2C on"
	if len(m.glob("/dev/i2c-*")) == 0 {
		have = "I2C off"
		if b, is := gpio.FindBoard(s.Board); is && b.EEPROM == (gpio.EEPROM{}) && len(b.I2C) > 0 {
			return tip("", "I2C is off: conch cannot see by itself which board is plugged in", "sudo raspi-config nonint do_i2c 0 && sudo reboot")
		}
	}
	if len(m.glob("/dev/spidev*")) == 0 {
		return ok("", "%s, SPI off (no light configured needs it)", have)
	}
	return ok("", "%s, SPI on", have)
}
