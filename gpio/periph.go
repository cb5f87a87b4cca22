package gpio

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"periph.io/x/conn/v3/driver/driverreg"
	periph "periph.io/x/conn/v3/gpio"
	"periph.io/x/host/v3/gpioioctl"
)

// A button's pin is periph.io's. Only its character-device driver is used: host.Init would look for /dev/gpiomem and, as
// root, reach for an address of a Pi 4 on every other board (gpio/FACTS.md 8).
//
// What the library (v3.8.5, read for this) does not do stands around it:
//
//	it looks for chips once in the life of a process     a chip that came later, or came back, is spoken to directly (chip.go)
//	Read says Low when the chip is gone: "pressed"       a descriptor of our own says whether the chip is there, and counts
//	Float sends no flag: the last resistor stays         a board with its own resistor (Whisplay) is spoken to directly
//	an open line can be configured once more by us       the line's info is asked first: in use is in use
//	WaitForEdge(0) waits for ever, -1 not at all         positive timeouts only

// errPassed says that the library cannot have this line, and chip.go may.
var errPassed = errors.New("not by periph")

// initialise lets the library look for chips: once, since its registry is global and a second look finds nothing new.
var initialise = sync.OnceValue(func() error {
	_, err := driverreg.Init()
	return err
})

// periphLine is a pin as a Line, by the library. For one goroutine; close only when nobody waits, or it is a data race there.
type periphLine struct {
	real

	// fixed
	line *gpioioctl.GPIOLine
	chip *Chip // is it still there?
	name string
	high bool // pressed is high

	// owned by Run
	down bool // the last level that could be read
}

// openPeriph takes a line of a chip by the library, and keeps the chip. errPassed: by chip.go, then; the chip is the caller's.
func openPeriph(chip *Chip, info LineInfo, name string, o ButtonOptions) (Line, error) {
	if o.Bias == BiasOff || initialise() != nil || info.Used {
		return nil, errPassed
	}
	for _, c := range gpioioctl.Chips {
		if c.Name() != chip.Name || c.Label() != chip.Label || info.Offset >= c.LineCount() {
			continue
		}
		pull := periph.PullUp
		if o.Bias == BiasDown || o.Bias == BiasAuto && o.ActiveHigh {
			pull = periph.PullDown
		}
		line := c.ByNumber(info.Offset)
		if err := line.In(pull, periph.BothEdges); err != nil {
			line.Close() // half configured, perhaps; and the chip may be one that was here before
			return nil, fmt.Errorf("%w: %w", errPassed, err)
		}
		return &periphLine{line: line, chip: chip, name: name, high: o.ActiveHigh}, nil
	}
	return nil, errPassed
}

func (p *periphLine) String() string { return p.name }

// Wait implements Line. An edge that came is an edge, whatever has become of the chip since: Down tells.
func (p *periphLine) Wait(timeout time.Duration) bool {
	if p.failed != nil {
		return false
	}
	if p.line.WaitForEdge(within(timeout)) {
		return true
	}
	p.failed = p.chip.there()
	return false
}

// Down reads the level, and believes it only of a chip that is there after it. A chip that is gone has not been pressed.
func (p *periphLine) Down() bool {
	if p.failed != nil {
		return p.down
	}
	level := p.line.Read()
	if p.failed = p.chip.there(); p.failed == nil {
		p.down = bool(level) == p.high
	}
	return p.down
}

// Close implements Line.
func (p *periphLine) Close() error {
	p.chip.Close()
	p.line.Close()
	return nil
}
