package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// headers are the labels of the chips with a Raspberry Pi's header (facts/hats.md).
var headers = []string{"pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835"}

// header is the chip that carries the pins of the configuration.
func (s *Subject) header(m *Machine) (chip Chip, found bool) {
	for _, c := range s.chips(m) {
		if c.Err == nil && (c.Label == s.Button.Chip || s.Button.Chip == "" && slices.Contains(headers, c.Label)) {
			return c, true
		}
	}
	return Chip{}, false
}

// line finds a pin by its BCM number: on a Pi's chip the offset is the number, whatever the names say.
func (c Chip) line(pin int) (Line, bool) {
	for _, l := range c.Lines {
		if l.Name == "GPIO"+strconv.Itoa(pin) {
			return l, true
		}
	}
	if pin < len(c.Lines) {
		return c.Lines[pin], true
	}
	return Line{}, false
}

// ours says whether a line is held by conch: the library writes PROGRAM@PID as its name.
func (l Line) ours() bool { return strings.HasPrefix(l.Consumer, "conch") }

// usesPins says whether the button is meant to be a pin: gpio is, auto is where there is a chip.
func (s *Subject) usesPins() bool { return s.Button.Source == "gpio" || s.Button.Source == "auto" }

func checkGPIO(_ context.Context, m *Machine, s *Subject) []Finding {
	if !s.usesPins() {
		return ok("", "not used: button.source = %q", s.Button.Source)
	}
	chips := s.chips(m)
	must := s.Button.Source == "gpio" || s.Board != "" || strings.Contains(m.say("/proc/device-tree/model"), "Raspberry Pi")
	const none = "there is no GPIO chip (/dev/gpiochip*)"
	switch {
	case len(chips) == 0 && must:
		return bad("", none, "this machine has none, or its driver was unloaded or is not in the kernel", "dmesg | grep -i pinctrl; on a machine without pins: button.source = \"keyboard\", or a USB button")
	case len(chips) == 0:
		return note("", "%s: keyboard or lines on standard input are the button", none)
	}
	var labels []string
	a := s.account(m)
	for _, c := range chips {
		if errors.Is(c.Err, fs.ErrPermission) {
			if a.Caller {
				return bad("", c.Path+": this user may not open it", rightsCause(m, c.Path), a.rights("gpio"))
			}
			continue // the caller may not, the service may: judged below by the file's mode
		}
		if c.Err != nil {
			return bad("", c.Path+" cannot be opened: "+c.Err.Error(), "its driver is gone or does not answer", "dmesg | grep -i gpio | tail")
		}
		labels = append(labels, strconv.Quote(c.Label))
	}
	for _, c := range chips {
		if can, group, err := m.may(a, c.Path, 6); err == nil && !can {
			do := "sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=gpio"
			if group != "" && m.groupID(group) >= 0 {
				do = a.rights(group)
			}
			return bad("", c.Path+": "+a.String()+" may not open it", rightsCause(m, c.Path), do)
		}
	}
	chip, found := s.header(m)
	switch {
	case found:
		return ok("", "%s (%s), %s may open it", chip.Path, chip.Label, a)
	case len(labels) == 0:
		return unknown("", "which chip has the header", "sudo conch doctor")
	case s.Button.Chip != "":
		return bad("", fmt.Sprintf("no GPIO chip is labelled %q; there is %s", s.Button.Chip, named(labels)), "button.chip names another machine's chip", "set button.chip to one of these, or leave it empty on a Pi")
	case !must:
		return note("", "no chip here has a Raspberry Pi's header (there is %s): keyboard or lines on standard input are the button", named(labels))
	}
	return bad("", "no chip here has a Raspberry Pi's header; there is "+named(labels), "another board, or the header's driver was unloaded", "set button.chip to the one that has your button; dmesg | grep -i pinctrl")
}

// rightsCause says who may open a device.
func rightsCause(m *Machine, p string) string {
	info, err := m.stat(p)
	if err != nil {
		return "its mode does not allow it"
	}
	return fmt.Sprintf("its mode is %04o: the group that may is %s", info.Mode().Perm(), groupOf(m, p))
}

func groupOf(m *Machine, p string) string {
	if _, g, err := m.may(Account{UID: -1}, p, 6); err == nil && g != "" {
		return g
	}
	return "none (no udev rule gave the device to one)"
}

// board finds a preset by name.
func (s *Subject) board(name string) (gpio.Board, bool) {
	i := slices.IndexFunc(s.Boards, func(b gpio.Board) bool { return b.Name == name })
	if i < 0 {
		return gpio.Board{}, false
	}
	return s.Boards[i], true
}

// plugged is the board that the EEPROM of a HAT names, if it has one.
func (s *Subject) plugged(m *Machine) (product string, b gpio.Board, known bool) {
	product = m.say("/proc/device-tree/hat/product")
	vendor, id := m.say("/proc/device-tree/hat/vendor"), m.say("/proc/device-tree/hat/product_id")
	if product == "" {
		product = vendor
	}
	if product == "" {
		return "", b, false
	}
	for _, b := range s.Boards {
		if e := b.EEPROM; e != (gpio.EEPROM{}) && within(vendor, e.Vendor) && within(product, e.Product) && (e.ID == "" || strings.EqualFold(e.ID, id)) {
			return product, b, true
		}
	}
	return product, b, false
}

// within says whether part is in text, whatever the case; an empty part is in every text.
func within(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func checkBoard(_ context.Context, m *Machine, s *Subject) []Finding {
	product, is, known := s.plugged(m)
	set, have := s.board(s.Board)
	switch {
	case s.Board != "" && !have && len(s.Boards) > 0:
		return bad("", fmt.Sprintf("device.board = %q: there is no such preset", s.Board), "a slip, or a board of another version of conch", "conch gpio list names the boards")
	case product == "" && s.Board == "":
		return ok("", "none is configured, and no HAT says what it is")
	case product == "":
		return ok("", "%s (as configured; the board itself does not say)", set.Title)
	case s.Board == "" && known:
		return []Finding{{Level: Note, Text: fmt.Sprintf("the HAT says it is %q, which conch knows as %s; no board is configured", product, is.Name), Do: "set device.board = \"" + is.Name + "\" in /etc/conch/conch.toml"}}
	case s.Board == "":
		return note("", "the HAT says it is %q, which conch has no preset for", product)
	case known && is.Name != s.Board && is.EEPROM != set.EEPROM:
		return warn("", fmt.Sprintf("the HAT says it is %q, and device.board = %q", product, s.Board), "another board is plugged in than is configured", "set device.board = \""+is.Name+"\", or unplug the other")
	}
	return ok("", "%s, as the HAT says (%s)", set.Title, product)
}

// misfit is what the configuration itself says cannot be: a pin of the sound board, one pin for two things.
func (s *Subject) misfit(part string) (out []Finding) {
	for _, x := range s.Misfits {
		if x.Part == part {
			out = append(out, bad("", x.Text, "one pin does one thing, and the board's own come first", x.Do)...)
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
	chip, found := s.header(m)
	if !found {
		return nil // the check of the chip says so
	}
	line, there := chip.line(pin)
	switch {
	case !there:
		return bad("", fmt.Sprintf("%s has no line GPIO%d", chip.Path, pin), "the chip is not a Pi's header", "set button.pin")
	case !line.Used:
		return ok("", "GPIO%d is free", pin)
	case line.ours():
		return ok("", "GPIO%d is held by conch", pin)
	}
	return bad("", fmt.Sprintf("GPIO%d is in use by %s", pin, consumer(line)), busyCause(line), busyRemedy(chip, "button.pin"))
}

func consumer(l Line) string {
	if l.Consumer == "" {
		return "somebody who gave no name"
	}
	return strconv.Quote(l.Consumer)
}

// kernelUsers are consumers that are no program: drivers and overlays of config.txt.
var kernelUsers = []string{"spi", "i2c", "w1", "gpio-", "gpio_", "lirc", "reset", "cs", "sysfs", "interrupt", "led", "hog"}

func busyCause(l Line) string {
	for _, k := range kernelUsers {
		if strings.HasPrefix(strings.ToLower(l.Consumer), k) || strings.Contains(l.Consumer, " CS") {
			return "a driver of the kernel has it, most likely because of a dtoverlay or dtparam in config.txt"
		}
	}
	return "another program has asked for the pin"
}

func busyRemedy(c Chip, key string) string {
	return "end that program (gpioinfo shows it; sudo fuser -v " + c.Path + "), or remove the overlay, or set " + key + " to another pin"
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
			if group == "" {
				group = "spi"
			}
			return bad("", device+": "+a.String()+" may not open it", rightsCause(m, device), a.rights(group))
		}
		return ok("", "on %s", device)
	case gpio.LightSysfs:
		found := m.glob("/sys/class/leds/" + l.Sysfs)
		if l.Sysfs == "" || len(found) == 0 {
			return bad("", fmt.Sprintf("no LED is called %q below /sys/class/leds", l.Sysfs), "the driver of the light is not loaded, or light.sysfs is a slip", "ls /sys/class/leds, and set light.sysfs")
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
	chip, found := s.header(m)
	for _, pin := range l.Pins {
		if line, there := chip.line(pin); found && there && line.Used && !line.ours() {
			return bad("", fmt.Sprintf("GPIO%d, of the light, is in use by %s", pin, consumer(line)), busyCause(line), busyRemedy(chip, "light.pins"))
		}
	}
	if !found {
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
	if !strings.Contains(m.say("/proc/device-tree/model"), "Raspberry Pi") {
		return nil
	}
	have := "I2C on"
	if len(m.glob("/dev/i2c-*")) == 0 {
		have = "I2C off"
		if b, is := s.board(s.Board); is && b.EEPROM == (gpio.EEPROM{}) && len(b.I2C) > 0 {
			return []Finding{{Level: Note, Text: "I2C is off: conch cannot see by itself which board is plugged in", Do: "sudo raspi-config nonint do_i2c 0 && sudo reboot"}}
		}
	}
	if len(m.glob("/dev/spidev*")) == 0 {
		return ok("", "%s, SPI off (no light configured needs it)", have)
	}
	return ok("", "%s, SPI on", have)
}
