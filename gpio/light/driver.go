package light

import (
	"errors"
	"fmt"

	"conch/gpio"
)

// Driver is one light. Not for two goroutines at once.
type Driver interface {
	// Shape is what it can show; it does not change.
	Shape() Shape
	// Set shows a frame of as many LEDs as Shape has.
	Set(Frame) error
	// Close leaves it dark and gives it back.
	Close() error
	// String names it for people: "LED on GPIO25 on pinctrl-rp1".
	String() string
}

// Config says which light there is.
type Config struct {
	Driver gpio.LightDriver
	Chip   string // label of the GPIO chip; empty: the one with the header
	Pins   []int  // BCM: of the LED; red, green, blue; data, clock
	SPI    string // "0.0": bus and chip select
	Sysfs  string // pattern of names below /sys/class/leds
	Count  int    // LEDs in a row
	Invert bool   // lit when low
	Power  int    // pin that must be high for the LEDs to have power; 0: none
	Root   string // where /sys and /dev are; empty: /
}

// ErrConfig: the configuration says nothing that could be a light. It does not heal by itself.
var ErrConfig = errors.New("not a light")

// Open takes the light. LightNone has no driver: there is nothing to open.
func Open(c Config) (Driver, error) {
	d, err := openDriver(c)
	if err != nil || c.Power == 0 {
		return d, err
	}
	on, err := gpio.OpenOutput(c.Power, c.Chip, true)
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("light: power of the LEDs: %w", err)
	}
	return &powered{d, on}, nil
}

func openDriver(c Config) (Driver, error) {
	switch c.Driver {
	case gpio.LightGPIO:
		return openLED(c)
	case gpio.LightRGB:
		return openRGB(c)
	case gpio.LightAPA102:
		return openAPA102(c)
	case gpio.LightAPA102GPIO:
		return openAPA102GPIO(c)
	case gpio.LightSysfs:
		return openSysfs(c)
	}
	return nil, fmt.Errorf("light: driver %q: %w", c.Driver, ErrConfig)
}

// powered is a light whose LEDs get their power from a pin.
type powered struct {
	Driver
	on pin
}

func (p *powered) Close() error { return errors.Join(p.Driver.Close(), p.on.Set(false), p.on.Close()) }

// pin is what drives a wire. gpio.Output is one.
type pin interface {
	Set(high bool) error
	Close() error
	String() string
}

// pins wants exactly n pins, opens them dark and closes them all if one fails.
func (c Config) pins(n int, what string) ([]pin, error) {
	if len(c.Pins) != n {
		return nil, fmt.Errorf("light: driver %s: %w: light.pins must name %d (%s), not %d", c.Driver, ErrConfig, n, what, len(c.Pins))
	}
	var out []pin
	for _, number := range c.Pins {
		p, err := gpio.OpenOutput(number, c.Chip, c.Invert)
		if err != nil {
			for _, o := range out {
				_ = o.Close()
			}
			return nil, fmt.Errorf("light: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}
