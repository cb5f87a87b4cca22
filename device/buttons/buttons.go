// Package buttons chooses what a device is pressed with, and keeps it open.
//
// Buttons come and go: a chip is unbound and bound again, another program holds the pin and ends, a speakerphone is pulled out
// and put back. None of it is the end of the appliance, and all of it heals by itself.
//
//	        open fails: button.lost ┌──────┐
//	        ┌───────────────────────┤ wait │ 0.25 s, doubled up to 2 s
//	        v                       └──^───┘
//	──> opening ── opened ──> running ─┘ the line ends: button.lost, what was pressed is released
//	        ^                   │
//	        └── button.lost ends┘
package buttons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"conch/device/config"
	"conch/device/control"
	"conch/device/terminal"
	"conch/gpio"
)

// The pause before a button is opened again grows from the one to the other. Looking for a chip is a few dozen calls of the
// kernel, so a person need not wait longer for the button to come back.
const (
	reopenLeast = 250 * time.Millisecond
	ReopenMost  = 2 * time.Second
)

// Reopened is Events whose button is opened as often as it takes.
type Reopened struct {
	// fixed
	name string // before it was ever open
	open func() (*gpio.Button, error)
	// quiet: nobody asked for it by name, so that it was never there is no trouble.
	quiet bool
	Log   func(err error) // set before Run; nil error: it is open

	mu      sync.Mutex
	button  *gpio.Button // the one that runs
	waiting func()       // a Call that came while none did
	wake    chan struct{}
	lost    error // why there is none
}

// Reopen makes one; nothing is opened before Run.
func Reopen(name string, quiet bool, open func() (*gpio.Button, error)) *Reopened {
	return &Reopened{name: name, open: open, quiet: quiet, wake: make(chan struct{}, 1)}
}

func (r *Reopened) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.button != nil:
		return r.button.String()
	case r.lost != nil:
		return r.name + " (not there)"
	}
	return r.name
}

// CaptureEnded implements gpio.Events.
func (r *Reopened) CaptureEnded(press uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.button != nil {
		r.button.CaptureEnded(press)
	}
}

// Touchable implements gpio.Events.
func (*Reopened) Touchable() bool { return true }

// Call is a Button's: f is called by the loop, which goes round whether there is a button or not.
func (r *Reopened) Call(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.button != nil {
		return r.button.Call(f)
	}
	if r.waiting != nil {
		return false
	}
	r.waiting = f
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return true
}

// answer calls what waits.
func (r *Reopened) answer() {
	r.mu.Lock()
	f := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	if f != nil {
		f()
	}
}

// have notes the button that runs, or with nil that none does and why.
func (r *Reopened) have(b *gpio.Button, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b != nil {
		r.button, r.lost = b, nil
		if r.waiting != nil {
			b.Call(r.waiting)
			r.waiting = nil
		}
		return
	}
	if r.button != nil {
		r.waiting = r.button.Unanswered() // under the lock: a Call goes to one of the two
	}
	r.button, r.lost = nil, why
}

// Run implements gpio.Events. It ends with ctx only.
func (r *Reopened) Run(ctx context.Context, on func(gpio.Event)) error {
	pause, ever := reopenLeast, false
	for {
		b, err := r.open()
		if err == nil {
			r.have(b, nil)
			r.Log(nil)
			pause, ever = reopenLeast, true
			err = b.Run(ctx, on)
			r.have(nil, err)
			_ = b.Close()
		} else {
			r.have(nil, err)
		}
		if ctx.Err() != nil {
			r.answer()
			return nil //nolint:nilerr // the end of ctx is how one ends it
		}
		if !r.quiet || ever {
			r.Log(err)
		}
		r.answer()
		r.wait(ctx, pause)
		pause = min(2*pause, ReopenMost)
	}
}

// wait waits, and answers calls meanwhile.
func (r *Reopened) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case <-r.wake:
			r.answer()
		}
	}
}

// Remedy is what a person does about a button that is not there.
func Remedy(err error) string {
	const heals = "; it comes back by itself"
	switch {
	case errors.Is(err, gpio.ErrPinInUse):
		return "end what holds the pin, or set button.pin to the right one (conch gpio learn); see: conch gpio list" + heals
	case errors.Is(err, gpio.ErrNoRights):
		return "give the user conch runs as the group that the message names, and restart; the service: sudo systemctl daemon-reload && " +
			"sudo systemctl restart conch"
	case errors.Is(err, gpio.ErrPinTaken), errors.Is(err, gpio.ErrNoPin):
		return "set button.pin to the right one; conch gpio learn finds it"
	case errors.Is(err, gpio.ErrNoKeys):
		return "plug the device in, or name it in button.device; conch gpio list shows what there is" + heals
	case errors.Is(err, gpio.ErrNoChip), errors.Is(err, gpio.ErrGone):
		return "see that the chip is there (conch gpio list)" + heals + " when the chip does"
	}
	return "see: conch doctor" + heals
}

// Choose makes the sources that the configuration and the machine offer. None of them has to be there yet. volume is told of the volume
// keys of a device that is the button; nil: they are nobody's.
func Choose(cfg config.Config, in *os.File, console terminal.Options, volume func(gpio.Volume)) ([]gpio.Events, error) {
	now := console.Clock
	var sources []gpio.Events
	pin, quiet := wantsPin(&cfg, in)
	if pin {
		o, err := Options(&cfg, now)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", control.ErrRefused, err)
		}
		sources = append(sources, Reopen(fmt.Sprintf("GPIO%d", cfg.Button.Pin), quiet, func() (*gpio.Button, error) {
			return gpio.OpenButton(strconv.Itoa(cfg.Button.Pin), o)
		}))
	}
	switch cfg.Button.Source {
	case "auto":
		if !terminal.Nobody(in) {
			sources = append(sources, terminal.Open(in, console))
		}
	case "evdev":
		o, err := Options(&cfg, now)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", control.ErrRefused, err)
		}
		keys := gpio.KeysOptions{Device: cfg.Button.Device, Keys: cfg.Button.Keys, Button: o, Volume: volume}
		sources = append(sources, Reopen(keys.String(), false, func() (*gpio.Button, error) { return gpio.OpenKeys(keys) }))
	case "keyboard":
		sources = append(sources, terminal.NewKeyboard(in, console))
	case "lines":
		sources = append(sources, terminal.NewLines(in, console))
	}
	return sources, nil
}

// wantsPin says whether a pin is a button here, and whether its absence would surprise nobody. With source auto that is: a
// machine without the header's chip, unless a person has named chip, pin or board. A person at a terminal of such a machine
// has the keyboard.
func wantsPin(c *config.Config, in *os.File) (pin, quiet bool) {
	switch {
	case c.NoPin:
		return false, false
	case c.Button.Source == "gpio":
		return true, false
	case c.Button.Source != "auto":
		return false, false
	case slices.ContainsFunc([]string{"button.pin", "button.chip"}, func(key string) bool { return !c.Unset(key) }), gpio.HasHeader():
		return true, false
	}
	return terminal.Nobody(in), true
}

// Options are those of a pin or a key.
func Options(c *config.Config, now func() time.Duration) (gpio.ButtonOptions, error) {
	bias, err := gpio.ParseBias(c.Button.Bias)
	if err != nil {
		return gpio.ButtonOptions{}, err
	}
	mode, err := gpio.ParseMode(c.Button.Mode)
	if err != nil {
		return gpio.ButtonOptions{}, err
	}
	return gpio.ButtonOptions{
		Chip: c.Button.Chip, ActiveHigh: c.Button.Active == "high", Bias: bias, Mode: mode, Clock: now,
		Press: c.Button.Press, Stuck: StuckAfter(c),
	}, nil
}

// StuckAfter is how long a press may be: the turn's own limit comes first, with a cue.
func StuckAfter(c *config.Config) time.Duration { return c.Turn.Listen + 5*time.Second }

// Check looks whether the button that the configuration asks for by name can be had: an error of conch check. That
// conch itself has it already is well.
func Check(cfg config.Config) error {
	if cfg.Button.Source == "evdev" {
		if err := gpio.FindKeys(gpio.KeysOptions{Device: cfg.Button.Device, Keys: cfg.Button.Keys}); err != nil {
			return fmt.Errorf("%w: config: button.source = \"evdev\"; set by %s: %w; %s", control.ErrRefused, cfg.Origin("button.source"), err,
				Remedy(err))
		}
		return nil
	}
	if cfg.Button.Source != "gpio" && (cfg.Button.Source != "auto" || cfg.Button.Chip == "") {
		return nil
	}
	if fitting, _ := cfg.Fitting(); fitting.NoPin {
		return nil // said already, and better
	}
	who, err := gpio.Holder(cfg.Button.Pin, cfg.Button.Chip)
	switch {
	case err != nil:
		return fmt.Errorf("%w: config: button.pin = %d; set by %s: %w", control.ErrRefused, cfg.Button.Pin, cfg.Origin("button.pin"), err)
	case who != "" && !strings.HasPrefix(who, "conch@"):
		return fmt.Errorf("%w: config: button.pin = %d; set by %s: %w: %s holds it (see conch gpio list); end that, or take another pin",
			control.ErrRefused, cfg.Button.Pin, cfg.Origin("button.pin"), gpio.ErrPinInUse, who)
	}
	return nil
}

// Wanted says that the button is one to speak of: it is there, or was asked for by name.
func (r *Reopened) Wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.quiet || r.button != nil
}

// Known says whether the button is there, or why it is not is known.
func (r *Reopened) Known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.button != nil || r.lost != nil
}
