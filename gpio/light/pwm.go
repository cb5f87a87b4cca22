package light

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A pin that the Pi's PWM drives is an LED that can be dimmed, and costs nothing while it shines. Which pins those are the
// device tree knows: dtoverlay=pwm,pin=12,func=4 in config.txt makes one of pin 12 (overlays/README of the firmware).

// pwmChannels are the pins that sound boards leave free, and their channels, the same on a BCM2835 to 2711 (peripherals'
// manual, 6.2) and on an RP1 (its manual, table of functions).
var pwmChannels = map[int]int{12: 0, 13: 1}

// pwmPeriod, in ns, is short enough for the eye and long enough for every clock of a Pi.
const pwmPeriod = 1_000_000

// pwm is an LED on such a pin.
type pwm struct {
	dir    string // of the channel
	chip   string
	name   string
	number int // of the channel
	invert bool
}

// openPWM takes the pin's channel. ok: the pin is a PWM's, whatever comes of it.
func openPWM(c Config, pin int) (d Driver, ok bool, err error) {
	number, known := pwmChannels[pin]
	if !known {
		return nil, false, nil
	}
	chip := pwmChip(filepath.Join("/", c.Root), pin)
	if chip == "" {
		return nil, false, nil
	}
	p := &pwm{
		dir: filepath.Join(chip, fmt.Sprintf("pwm%d", number)), chip: chip, number: number, invert: c.Invert,
		name: fmt.Sprintf("LED on GPIO%d (PWM, %s)", pin, filepath.Base(chip)),
	}
	if err := p.take(); err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			err = fmt.Errorf("%w; this user may not use the PWM: join the group gpio, or leave out dtoverlay=pwm for an LED that is on or off", err)
		}
		return nil, true, fmt.Errorf("light: %w", err)
	}
	return p, true, nil
}

func (p *pwm) take() error {
	if _, err := os.Stat(p.dir); errors.Is(err, fs.ErrNotExist) {
		if err := put(p.chip, "export", strconv.Itoa(p.number)); err != nil {
			return err
		}
	}
	return errors.Join(put(p.dir, "period", strconv.Itoa(pwmPeriod)), p.power(0), put(p.dir, "enable", "1"))
}

func (p *pwm) Shape() Shape   { return Shape{Pixels: 1, Dim: true} }
func (p *pwm) String() string { return p.name }

func (p *pwm) Set(f Frame) error {
	if err := p.power(Linear(f.LEDs[0].brightest(), f.Brightness)); err != nil {
		return fmt.Errorf("light: %w", err)
	}
	return nil
}

func (p *pwm) power(share float64) error {
	if p.invert {
		share = 1 - share
	}
	return put(p.dir, "duty_cycle", strconv.Itoa(int(math.Round(pwmPeriod*share))))
}

// Close leaves it dark; an LED that is lit when low needs the PWM for that.
func (p *pwm) Close() error {
	err := p.power(0)
	if p.invert {
		return err
	}
	return errors.Join(err, put(p.dir, "enable", "0"), put(p.chip, "unexport", strconv.Itoa(p.number)))
}

// pwmChip is the chip in /sys/class/pwm whose pins in the device tree are this one among others; empty: there is none.
func pwmChip(root string, pin int) string {
	chips, _ := filepath.Glob(filepath.Join(root, "sys/class/pwm/pwmchip*")) // the pattern is right
	for _, chip := range chips {
		handles, err := os.ReadFile(filepath.Join(chip, "device/of_node/pinctrl-0"))
		if err != nil {
			continue
		}
		if slices.ContainsFunc(cells(handles), func(h uint32) bool { return slices.Contains(pinsOf(root, h), uint32(pin)) }) {
			return chip
		}
	}
	return ""
}

// pinsOf are the pins of a node of the device tree: the overlays call it pwm_pins.
func pinsOf(root string, handle uint32) (pins []uint32) {
	base := filepath.Join(root, "sys/firmware/devicetree/base") // where /proc/device-tree leads, which a sandbox may hide
	_ = filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || !strings.Contains(e.Name(), "pwm") {
			return nil //nolint:nilerr // what cannot be read is not the node
		}
		phandle, err := os.ReadFile(filepath.Join(path, "phandle"))
		if err != nil || !slices.Contains(cells(phandle), handle) {
			return nil //nolint:nilerr // as above
		}
		numbers, _ := os.ReadFile(filepath.Join(path, "brcm,pins")) // or none
		pins = append(pins, cells(numbers)...)
		names, _ := os.ReadFile(filepath.Join(path, "pins")) // "gpio12", zero, "gpio13", zero
		for name := range strings.SplitSeq(string(names), "\x00") {
			if n, err := strconv.ParseUint(strings.TrimPrefix(name, "gpio"), 10, 8); err == nil {
				pins = append(pins, uint32(n))
			}
		}
		return nil
	})
	return pins
}

// cells are the numbers of a property.
func cells(b []byte) (all []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		all = append(all, binary.BigEndian.Uint32(b))
	}
	return all
}
