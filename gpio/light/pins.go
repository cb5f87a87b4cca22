package light

import "errors"

// LEDs on pins are on or off. They are not dimmed by switching them fast: that would wake the processor hundreds of times a
// second, and whatever it does besides would be seen as flicker. Where the Pi's PWM has the pin, it dims (pwm.go).

// led is one LED on a pin.
type led struct {
	pin    pin
	invert bool
}

func openLED(c Config) (Driver, error) {
	if len(c.Pins) == 1 {
		if d, ok, err := openPWM(c, c.Pins[0]); ok {
			return d, err
		}
	}
	p, err := c.pins(1, "the LED's")
	if err != nil {
		return nil, err
	}
	return &led{p[0], c.Invert}, nil
}

func (l *led) Shape() Shape      { return Shape{Pixels: 1} }
func (l *led) Set(f Frame) error { return l.pin.Set(!f.Dark() != l.invert) }
func (l *led) Close() error      { return errors.Join(l.pin.Set(l.invert), l.pin.Close()) }
func (l *led) String() string    { return "LED on " + l.pin.String() }

// rgb is three LEDs of different colours in one, each on a pin: seven colours and dark.
type rgb struct {
	red, green, blue pin
	invert           bool
}

func openRGB(c Config) (Driver, error) {
	p, err := c.pins(3, "red, green, blue")
	if err != nil {
		return nil, err
	}
	return &rgb{p[0], p[1], p[2], c.Invert}, nil
}

func (l *rgb) Shape() Shape { return Shape{Pixels: 1, Colour: true} }

func (l *rgb) Set(f Frame) error {
	c := f.LEDs[0]
	if f.Dark() {
		c = Colour{}
	}
	half := c.brightest()/2 + 1 // a colour is made of its strong parts
	on := func(v uint8) bool { return (v >= half) != l.invert }
	return errors.Join(l.red.Set(on(c.R)), l.green.Set(on(c.G)), l.blue.Set(on(c.B)))
}

func (l *rgb) Close() error {
	err := l.Set(Frame{LEDs: make([]Colour, 1)})
	return errors.Join(err, l.red.Close(), l.green.Close(), l.blue.Close())
}

func (l *rgb) String() string {
	return "LED on " + l.red.String() + ", " + l.green.String() + " and " + l.blue.String()
}
