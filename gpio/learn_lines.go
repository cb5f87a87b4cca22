package gpio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"
)

// LearnOptions say which pins may be watched and how to tell a person what happens.
type LearnOptions struct {
	Chip  string                                // label; empty: the header's
	Uses  map[int]string                        // pins that are something else, and what
	Board string                                // whose pins are left alone
	Watch func(pins []int, left map[int]string) // once: what is watched, and what is not and why
	Heard func(Heard)
}

// Learned is the button that somebody pressed.
type Learned struct {
	Pin        int
	ActiveHigh bool
	Bias       Bias // which it wants of the chip
}

// learnTurn is how long each resistor is tried while nobody presses: a button to ground shows with the one to 3.3 V, a button
// to 3.3 V with the one to ground, and a person presses for longer than that.
const (
	learnTurn = 3 * time.Second
	learnLook = 25 * time.Millisecond
)

// Learn watches all free lines until a button has been pressed twice, or ctx ends. It never drives a line.
func Learn(ctx context.Context, o LearnOptions) (Learned, error) { return host.learn(ctx, o) }

func (k *kernel) learn(ctx context.Context, o LearnOptions) (Learned, error) {
	chip, err := k.find(o.Chip)
	if err != nil {
		return Learned{}, fmt.Errorf("gpio: learn: %w", err)
	}
	defer chip.Close()
	pins, left, err := chip.candidates(o)
	if err != nil {
		return Learned{}, fmt.Errorf("gpio: learn: %w", err)
	}
	if len(pins) == 0 {
		o.Watch(nil, left)
		return Learned{}, fmt.Errorf("gpio: learn: %w: no line of %s is free", ErrPinInUse, chip.Label)
	}
	w := watcher{chip: chip, numbers: slices.Sorted(maps.Keys(pins)), offsets: pins, say: o.Heard}
	if err := w.calibrate(); err != nil {
		return Learned{}, fmt.Errorf("gpio: learn: %w", err)
	}
	o.Watch(w.numbers, left)
	for bias := BiasUp; ctx.Err() == nil; bias = BiasUp + BiasDown - bias {
		got, ok, err := w.watch(ctx, bias)
		if err != nil {
			return Learned{}, fmt.Errorf("gpio: learn: %w", err)
		}
		if ok {
			return got, nil
		}
	}
	return Learned{}, ctx.Err()
}

// candidates are the pins that may be watched, with their offsets.
func (c *Chip) candidates(o LearnOptions) (pins map[int]int, left map[int]string, err error) {
	pins, left = map[int]int{}, map[int]string{}
	for _, r := range c.pins(InventoryOptions{Uses: o.Uses, Board: o.Board}) {
		info, err := c.line(r.Pin)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case r.Use != "":
			left[r.Pin] = r.Use
		case r.Used:
			left[r.Pin] = busy(info) + " holds it"
		case info.Output: // the boot has made it one (config.txt, gpio=25=op,dh): something hangs on it
			left[r.Pin] = "is an output"
		default:
			pins[r.Pin] = info.Offset
		}
	}
	return pins, left, nil
}

// watcher holds the lines of one chip, with one resistor or the other.
type watcher struct {
	chip    *Chip
	numbers []int       // pins, sorted
	offsets map[int]int // by pin
	say     func(Heard)
	// what a wire is at rest, by resistor: a loose one follows it, one that the board pulls does not
	rest map[Bias]map[int]bool
}

// take requests all lines and waits until the wires have followed the resistor.
func (w *watcher) take(bias Bias) (*lineFile, error) {
	flags := uint64(flagInput | flagRising | flagFalling)
	if bias == BiasUp {
		flags |= flagPullUp
	} else {
		flags |= flagPullDown
	}
	var offsets []int
	for _, pin := range w.numbers {
		offsets = append(offsets, w.offsets[pin])
	}
	file, err := w.chip.request(offsets, flags, 0)
	if errors.Is(err, syscall.EBUSY) {
		return nil, fmt.Errorf("%w: another program has just taken one of the lines; try again", ErrPinInUse)
	} else if err != nil {
		return nil, err
	}
	buf := make([]byte, 64*eventSize)
	for until := time.Now().Add(learnLook); err == nil; {
		if err = file.file.SetReadDeadline(until); err == nil {
			_, err = file.file.Read(buf) // what the change of the resistor made
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		file.close()
		return nil, gone(unwrapPath(err))
	}
	return file, nil
}

func (w *watcher) levels(file *lineFile) (map[int]bool, error) {
	bits, err := file.read()
	all := make(map[int]bool, len(w.numbers))
	for i, pin := range w.numbers {
		all[pin] = bits>>i&1 == 1
	}
	return all, err
}

// calibrate finds what is rest, before anybody is asked to press: a button that is pressed while the resistor changes would
// else be seen upside down.
func (w *watcher) calibrate() error {
	w.rest = map[Bias]map[int]bool{}
	for _, bias := range []Bias{BiasDown, BiasUp} {
		file, err := w.take(bias)
		if err != nil {
			return err
		}
		w.rest[bias], err = w.levels(file)
		file.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// watch listens with one resistor until it is the other's turn.
func (w *watcher) watch(ctx context.Context, bias Bias) (Learned, bool, error) {
	file, err := w.take(bias)
	if err != nil {
		return Learned{}, false, err
	}
	defer file.close()
	byOffset := map[uint32]int{}
	for pin, offset := range w.offsets {
		byOffset[uint32(offset)] = pin
	}
	began := time.Now()
	now := func() time.Duration { return time.Since(began) }
	first, err := w.levels(file)
	if err != nil {
		return Learned{}, false, err
	}
	learner := StartLearner(now(), w.rest[bias], first)
	hear := func(all []Heard) {
		for _, h := range all {
			w.say(h)
		}
	}
	buf := make([]byte, 64*eventSize)
	for ctx.Err() == nil && (now() < learnTurn || learner.Waiting(now())) {
		if err := file.file.SetReadDeadline(time.Now().Add(learnLook)); err != nil {
			return Learned{}, false, err
		}
		n, err := file.file.Read(buf)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return Learned{}, false, gone(unwrapPath(err))
		}
		at := now()
		for got := buf[:n]; len(got) >= eventSize; got = got[eventSize:] { // whole events only (gpiolib-cdev.c)
			ev := (*lineEvent)(unsafe.Pointer(&got[0]))
			hear(learner.Edge(at, byOffset[ev.Offset], ev.Id == risingEdge))
		}
		if err != nil { // nothing came: look whether something was lost
			all, err := w.levels(file)
			if err != nil {
				return Learned{}, false, err
			}
			for _, pin := range w.numbers {
				hear(learner.Level(at, pin, all[pin]))
			}
		}
		if p, ok := learner.Found(); ok {
			got := Learned{Pin: p.Pin, ActiveHigh: p.High, Bias: bias}
			if p.High == (bias == BiasUp) { // it rests against our resistor: the board has a stronger one
				got.Bias = BiasOff
			}
			return got, true, nil
		}
	}
	return Learned{}, false, nil
}

// FittingBoards are the boards with this button. A board whose resistor nobody knows fits with any.
func (l Learned) FittingBoards() []Board {
	return slices.DeleteFunc(slices.Clone(Boards), func(b Board) bool {
		return b.Button == nil || b.Button.Pin != l.Pin || b.Button.ActiveHigh != l.ActiveHigh
	})
}

func (l Learned) String() string {
	level := "low"
	if l.ActiveHigh {
		level = "high"
	}
	text := fmt.Sprintf("GPIO%d, %s when pressed", l.Pin, level)
	if l.Bias == BiasOff {
		text += ", with a resistor of its own"
	}
	return text
}
