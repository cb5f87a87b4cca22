package gpio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OpenButton takes a pin: "17" or "GPIO17", numbered as BCM does. Close it after Run has returned.
func OpenButton(pin string, o ButtonOptions) (*Button, error) { return host.openButton(pin, o) }

func (k *kernel) openButton(pin string, o ButtonOptions) (*Button, error) {
	chip, info, name, err := k.pin(pin, o.Chip)
	if err != nil {
		return nil, err
	}
	if k == host { // the library knows no other
		line, err := openPeriph(chip, info, name, o)
		if err == nil {
			return NewButton(line, o), nil
		}
	}
	defer chip.Close()
	flags := uint64(flagInput | flagRising | flagFalling)
	switch {
	case o.Bias == BiasOff:
		flags |= flagNoPull
	case o.Bias == BiasDown, o.Bias == BiasAuto && o.ActiveHigh:
		flags |= flagPullDown
	default:
		flags |= flagPullUp
	}
	file, err := chip.take(info, name, flags, 0, "set button.pin to another one")
	if err != nil {
		return nil, err
	}
	return NewButton(&pinLine{file: file, name: name, high: o.ActiveHigh}, o), nil
}

// pin finds a pin on its chip, which is the caller's to close.
func (k *kernel) pin(pin, label string) (*Chip, LineInfo, string, error) {
	number, err := pinNumber(pin)
	if err != nil {
		return nil, LineInfo{}, "", err
	}
	chip, err := k.find(label)
	if err != nil {
		return nil, LineInfo{}, "", fmt.Errorf("gpio: open GPIO%d: %w", number, err)
	}
	name := fmt.Sprintf("GPIO%d on %s", number, chip.Label)
	info, err := chip.line(number)
	if err != nil {
		chip.Close()
		return nil, LineInfo{}, "", fmt.Errorf("gpio: open %s: %w", name, err)
	}
	return chip, info, name, nil
}

// take requests one line. elsewhere is what else to do about one that is in use than to end what uses it.
func (c *Chip) take(info LineInfo, name string, flags, values uint64, elsewhere string) (*lineFile, error) {
	file, err := c.request([]int{info.Offset}, flags, values)
	switch {
	case errors.Is(err, syscall.EBUSY):
		return nil, fmt.Errorf("gpio: open %s: %w: %s holds it (see conch gpio list); end that, or %s", name, ErrPinInUse, busy(info), elsewhere)
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("gpio: open %s: %w: %w", name, ErrNoRights, err)
	case err != nil:
		return nil, fmt.Errorf("gpio: open %s: %w", name, err)
	}
	return file, nil
}

// pinNumber reads "17" or "GPIO17" and refuses what cannot carry a button.
func pinNumber(pin string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(pin), "GPIO"))
	if err != nil || n < 0 || n >= headerPins {
		return 0, fmt.Errorf("gpio: pin %q: %w: must be 0 to 27, as BCM numbers them, with or without GPIO in front", pin, ErrNoPin)
	}
	if use, taken := SoundPin(n); taken {
		return 0, fmt.Errorf("gpio: pin %d: %w: it is the %s on boards that carry sound; take another one (conch gpio list shows them)", n, ErrPinTaken, use)
	}
	return n, nil
}

// pinLine is a pin as a Line, without the library. For one goroutine, but for close.
type pinLine struct {
	real

	// fixed
	file *lineFile
	name string
	high bool // pressed is high

	// owned by Run
	down bool // the last level that could be read
	buf  [eventsAtOnce * eventSize]byte
}

func (p *pinLine) String() string { return p.name }

// Wait takes all edges that are queued for one: the level is read after it, and counts.
func (p *pinLine) Wait(timeout time.Duration) bool {
	if p.failed != nil {
		return false
	}
	if err := p.file.file.SetReadDeadline(time.Now().Add(within(timeout))); err != nil {
		p.failed = err
		return false
	}
	n, err := p.file.file.Read(p.buf[:])
	switch {
	case n >= eventSize:
		return true
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false
	case err == nil, errors.Is(err, io.EOF):
		err = ErrGone
	}
	// A chip that was unbound: newer kernels wake the reader with an error, older ones (6.1) do not, and Down finds it.
	p.failed = gone(unwrapPath(err))
	return false
}

// Down keeps the last level when there is none to be read: a chip that is gone has not been pressed.
func (p *pinLine) Down() bool {
	if p.failed != nil {
		return p.down
	}
	bits, err := p.file.read()
	if err != nil {
		p.failed = err
		return p.down
	}
	p.down = (bits&1 == 1) == p.high
	return p.down
}

// Close implements Line.
func (p *pinLine) Close() error { return p.file.file.Close() }

// unwrapPath leaves out "read gpio lines": the caller knows better what it is.
func unwrapPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Output is a pin that conch drives: a light's, or one that a board wants held at a level. Not for two goroutines at once.
type Output struct {
	file *lineFile
	name string
}

// OpenOutput takes a pin and drives it, at level high from the first moment on. chip is a label; empty means the header's.
//
// What fails tells itself apart as with OpenButton: ErrPinInUse is also what two uses of one pin come to.
func OpenOutput(number int, chip string, high bool) (*Output, error) {
	return host.openOutput(number, chip, high)
}

func (k *kernel) openOutput(number int, chip string, high bool) (*Output, error) {
	c, info, name, err := k.pin(strconv.Itoa(number), chip)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	file, err := c.take(info, name, flagOutput, bit(high), "take another pin")
	if err != nil {
		return nil, err
	}
	return &Output{file: file, name: name}, nil
}

// Set drives the pin.
func (o *Output) Set(high bool) error {
	if err := o.file.write(bit(high)); err != nil {
		return fmt.Errorf("gpio: drive %s: %w", o.name, err)
	}
	return nil
}

func (o *Output) String() string { return o.name }

// Close gives the pin back. On a Pi it becomes an input then: whatever hangs on it goes dark.
func (o *Output) Close() error {
	return o.file.file.Close()
}

func bit(high bool) uint64 {
	if high {
		return 1
	}
	return 0
}

// HasHeader says whether a chip of a Raspberry Pi's header is here.
func HasHeader() bool {
	chip, err := host.find("")
	if err != nil {
		return errors.Is(err, ErrNoRights) // somebody has one, and may not use it: that is worth hearing of
	}
	chip.Close()
	return true
}

// Holder says who has a pin; empty: nobody.
func Holder(number int, chip string) (string, error) { return host.holder(number, chip) }

func (k *kernel) holder(number int, label string) (string, error) {
	chip, err := k.find(label)
	if err != nil {
		return "", err
	}
	defer chip.Close()
	info, err := chip.line(number)
	switch {
	case err != nil:
		return "", err
	case !info.Used:
		return "", nil
	case info.Consumer == "":
		return "the kernel", nil
	}
	return info.Consumer, nil
}
