package gpio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"periph.io/x/conn/v3/driver/driverreg"
	periph "periph.io/x/conn/v3/gpio"
	"periph.io/x/host/v3/gpioioctl"
)

// Why a button could not be opened; errors.Is tells them apart, the message says what to do.
var (
	ErrNoChip   = errors.New("no GPIO chip")
	ErrNoRights = errors.New("no right to use the GPIO chip")
	ErrNoPin    = errors.New("no such pin")
	ErrPinInUse = errors.New("pin in use")
	ErrPinTaken = errors.New("pin belongs to the sound board")
)

// headers are the labels of the chips that carry a Raspberry Pi's header (facts/hats.md). Labels, because the numbers moved
// with the kernel more than once; a list, because a laptop has GPIO chips too, and its pins are not for buttons.
var headers = []string{"pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835"}

// OpenButton takes a pin: "17" or "GPIO17", numbered as BCM does. Close it after Run has returned.
//
// Only the character device is used (host/v3/gpioioctl): host.Init would look for /dev/gpiomem and, as root, reach for an
// address of a Pi 4 on every other board (facts/audio.md 8).
func OpenButton(pin string, o ButtonOptions) (*Button, error) {
	number, err := pinNumber(pin)
	if err != nil {
		return nil, err
	}
	chip, err := findChip(o.Chip)
	if err != nil {
		return nil, fmt.Errorf("gpio: open GPIO%d: %w", number, err)
	}
	where := fmt.Sprintf("GPIO%d on %s", number, chip.Label())
	line := chip.ByName(fmt.Sprintf("GPIO%d", number))
	if line == nil && number < chip.LineCount() {
		line = chip.ByNumber(number) // on a Pi's chip the offset is the BCM number, whatever the names say
	}
	if line == nil {
		return nil, fmt.Errorf("gpio: open %s: %w: the chip has lines 0 to %d", where, ErrNoPin, chip.LineCount()-1)
	}
	pull := periph.PullUp
	switch {
	case o.Bias == BiasOff:
		pull = periph.Float
	case o.Bias == BiasDown, o.Bias == BiasAuto && o.ActiveHigh:
		pull = periph.PullDown
	}
	user := line.Consumer() // before In, which puts our own name there
	if err := line.In(pull, periph.BothEdges); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			if user == "" {
				user = "another program"
			}
			return nil, fmt.Errorf("gpio: open %s: %w: %s holds it (see gpioinfo); end that, or set button.pin to another one", where, ErrPinInUse, user)
		}
		return nil, fmt.Errorf("gpio: open %s: %w", where, err)
	}
	return NewButton(&pinLine{line: line, name: where, pressed: periph.Level(o.ActiveHigh)}, o), nil
}

// Close gives the pin back. Only after Run has returned: the library has a data race otherwise (facts/audio.md 8).
func (b *Button) Close() error {
	if p, ok := b.line.(*pinLine); ok {
		p.line.Close()
	}
	return nil
}

// pinNumber reads "17" or "GPIO17" and refuses what cannot carry a button.
func pinNumber(pin string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(pin), "GPIO"))
	if err != nil || n < 0 || n > 27 {
		return 0, fmt.Errorf("gpio: pin %q: %w: must be 0 to 27, as BCM numbers them, with or without GPIO in front", pin, ErrNoPin)
	}
	if use, taken := SoundPin(n); taken {
		return 0, fmt.Errorf("gpio: pin %d: %w: it is the %s on boards that carry sound; take another one, 17 on most boards", n, ErrPinTaken, use)
	}
	return n, nil
}

// initialise lets periph look for chips once; its registries are global, so a second look would find nothing new.
var initialise = sync.OnceValue(func() error {
	_, err := driverreg.Init()
	return err
})

// findChip finds a chip by label; an empty one means the header's.
func findChip(label string) (*gpioioctl.GPIOChip, error) {
	if err := reachable("/dev/gpiochip*"); err != nil {
		return nil, err
	}
	if err := initialise(); err != nil {
		return nil, fmt.Errorf("look for GPIO chips: %w", err)
	}
	var labels []string
	for _, chip := range gpioioctl.Chips {
		if chip.Label() == label || label == "" && slices.Contains(headers, chip.Label()) {
			return chip, nil
		}
		labels = append(labels, strconv.Quote(chip.Label()))
	}
	what := "with the label " + strconv.Quote(label)
	if label == "" {
		what = "of a Raspberry Pi's header"
	}
	return nil, fmt.Errorf("%w %s; there is %s (set button.chip to one of them if it has your button)", ErrNoChip, what, strings.Join(labels, ", "))
}

// reachable looks at the device files first: periph only writes to the log that it may not open them.
func reachable(pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("%w: there is no %s; this is not a Pi, or its kernel has no GPIO character device", ErrNoChip, pattern)
	}
	for _, path := range paths {
		f, openErr := os.Open(path)
		if openErr == nil {
			return f.Close()
		}
		err = openErr
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: %w; join the group gpio (sudo usermod -aG gpio $USER) and log in again", ErrNoRights, err)
	}
	return err
}

// pinLine is a pin as a Line.
type pinLine struct {
	line    *gpioioctl.GPIOLine
	name    string
	pressed periph.Level
}

func (p *pinLine) String() string { return p.name }

func (p *pinLine) Down() bool { return p.line.Read() == p.pressed }

// Wait keeps to positive timeouts: here 0 waits for ever and -1 not at all, against the contract (style.md 1.11, T1).
func (p *pinLine) Wait(timeout time.Duration) bool {
	return p.line.WaitForEdge(max(timeout, lookLeast))
}
