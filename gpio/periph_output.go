package gpio

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	periph "periph.io/x/conn/v3/gpio"
	"periph.io/x/host/v3/gpioioctl"
)

// Output is a pin that conch drives: a light's, or one that a board wants held at a level. Not for two goroutines at once.
type Output struct {
	line *gpioioctl.GPIOLine
	name string
}

// OpenOutput takes a pin and drives it, at level high at once. chip is a label; empty means the header's.
//
// What fails tells itself apart as with OpenButton: ErrPinInUse is also what two uses of one pin come to.
func OpenOutput(number int, chip string, high bool) (*Output, error) {
	if _, err := pinNumber(strconv.Itoa(number)); err != nil {
		return nil, err
	}
	c, err := findChip(chip)
	if err != nil {
		return nil, fmt.Errorf("gpio: open GPIO%d: %w", number, err)
	}
	o := &Output{name: fmt.Sprintf("GPIO%d on %s", number, c.Label())}
	o.line = c.ByName(fmt.Sprintf("GPIO%d", number))
	if o.line == nil && number < c.LineCount() {
		o.line = c.ByNumber(number)
	}
	if o.line == nil {
		return nil, fmt.Errorf("gpio: open %s: %w: the chip has lines 0 to %d", o.name, ErrNoPin, c.LineCount()-1)
	}
	user := o.line.Consumer()
	if strings.HasSuffix(user, fmt.Sprintf("@%d", os.Getpid())) {
		// The library would make an output of a line that is open already: our own button.
		return nil, fmt.Errorf("gpio: open %s: %w: conch itself uses it already, for another purpose", o.name, ErrPinInUse)
	}
	if err := o.Set(high); err != nil {
		o.line.Close() // it believes to be an output now, and would write to whatever has its descriptor
		if errors.Is(err, syscall.EBUSY) {
			if user == "" {
				user = "another program"
			}
			return nil, fmt.Errorf("gpio: open %s: %w: %s holds it (see gpioinfo); end that, or take another pin", o.name, ErrPinInUse, user)
		}
		return nil, err
	}
	return o, nil
}

// Set drives the pin.
func (o *Output) Set(high bool) error {
	if err := o.line.Out(periph.Level(high)); err != nil {
		return fmt.Errorf("gpio: drive %s: %w", o.name, err)
	}
	return nil
}

func (o *Output) String() string { return o.name }

// Close gives the pin back. On a Pi it becomes an input then: whatever hangs on it goes dark.
func (o *Output) Close() error {
	o.line.Close()
	return nil
}
