package gpio

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// watched is a button that runs.
type watched struct {
	t      *testing.T
	button *Button
	cancel context.CancelFunc
	events chan Event
	ended  chan error
}

func observe(t *testing.T, b *Button) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{t: t, button: b, cancel: cancel, events: make(chan Event, 64), ended: make(chan error, 1)}
	go func() { w.ended <- b.Run(ctx, func(e Event) { w.events <- e }) }()
	t.Cleanup(func() {
		cancel()
		_ = w.end()
		_ = b.Close()
	})
	return w
}

// next waits for the event; a deadline bounds it.
func (w *watched) next(kind Kind) {
	w.t.Helper()
	select {
	case e := <-w.events:
		if e.Kind != kind {
			w.t.Fatalf("%s; want %s", e.Kind, kind)
		}
	case err := <-w.ended: // what it said before comes first
		w.ended <- err
		select {
		case e := <-w.events:
			if e.Kind == kind {
				return
			}
		default:
		}
		w.t.Fatalf("Run = %v; want %s", err, kind)
	case <-time.After(5 * time.Second):
		w.t.Fatalf("no %s", kind)
	}
}

func (w *watched) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		w.ended <- err
		return err
	case <-time.After(5 * time.Second):
		w.t.Fatal("Run does not end")
		return nil
	}
}

// settled waits until the button has seen its contact at rest, so that a press is one.
func (w *watched) settled() {
	w.t.Helper()
	for range 2 { // the first may be answered before the level has been up for 25 ms
		done := make(chan struct{})
		for !w.button.Call(func() { close(done) }) {
		}
		<-done
	}
}

func openOn(t *testing.T, f *fakeKernel, o ButtonOptions) *Button {
	t.Helper()
	b, err := f.openButton("17", o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPinIsFoundByLabelAndAsksForItsBias(t *testing.T) {
	for _, c := range []struct {
		o    ButtonOptions
		want uint64
	}{
		{ButtonOptions{}, flagPullUp},
		{ButtonOptions{ActiveHigh: true}, flagPullDown},
		{ButtonOptions{Bias: BiasDown}, flagPullDown},
		{ButtonOptions{ActiveHigh: true, Bias: BiasUp}, flagPullUp},
		{ButtonOptions{Bias: BiasOff}, flagNoPull},
	} {
		f := newFakeKernel(t)
		f.plug(0, "raspberrypi-exp-gpio", 8)
		f.plug(10, "pinctrl-other", 32)
		pi := f.plug(4, "pinctrl-rp1", 54)
		b := openOn(t, f, c.o)
		if got, want := b.String(), "GPIO17 on pinctrl-rp1"; got != want {
			t.Errorf("%s; want %s", got, want)
		}
		if got, want := f.flags(pi, 17), c.want|flagInput|flagRising|flagFalling|flagUsed; got != want {
			t.Errorf("%+v: flags %#x; want %#x", c.o, got, want)
		}
		_ = b.Close()
	}
}

func TestPinRefusals(t *testing.T) {
	f := newFakeKernel(t)
	refused := func(pin, chip string, is error, want string) {
		t.Helper()
		_, err := f.openButton(pin, ButtonOptions{Chip: chip})
		if !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Errorf("pin %s on %q: %v\nwant %v: %s", pin, chip, err, is, want)
		}
	}
	refused("17", "", ErrNoChip, "this is not a Pi")
	f.plug(0, "INT34C6:00", 320)
	refused("17", "", ErrNoChip, `no GPIO chip of a Raspberry Pi's header; there is "INT34C6:00" (set button.chip to one of them if it has your button)`)
	pi := f.plug(1, "pinctrl-bcm2835", 54)
	refused("28", "", ErrNoPin, "must be 0 to 27")
	refused("18", "", ErrPinTaken, "it is the I2S bit clock")
	refused("17", "pinctrl-rp1", ErrNoChip, `with the label "pinctrl-rp1"`)
	f.plug(2, "small", 8)
	refused("17", "small", ErrNoPin, "the chip has lines 0 to 7")
	f.holds(pi, 17, "gpiozero")
	refused("17", "", ErrPinInUse, "gpiozero holds it (see conch gpio list); end that, or set button.pin to another one")
	f.holds(pi, 17, "")
	b := openOn(t, f, ButtonOptions{})
	defer b.Close()
	refused("17", "", ErrPinInUse, "conch itself, for another purpose holds it")
	if _, err := f.openOutput(17, "", true); !errors.Is(err, ErrPinInUse) {
		t.Errorf("a light on the button's pin: %v", err)
	}
}

func TestPressOnAPin(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	w := observe(t, openOn(t, f, ButtonOptions{}))
	w.settled()
	f.set(pi, 17, false)
	w.next(Touched)
	w.next(Pressed)
	f.set(pi, 17, true)
	w.next(Released)
}

// A chip that goes while nobody presses: no press is seen, though the level of a line that cannot be read is low for whoever
// does not ask whether it could be read.
func TestChipThatGoesIsNoPress(t *testing.T) {
	for name, quiet := range map[string]bool{"the reader is woken": false, "nobody is woken (Linux 6.1)": true} {
		t.Run(name, func(t *testing.T) {
			f := newFakeKernel(t)
			pi := f.plug(0, "pinctrl-rp1", 54)
			w := observe(t, openOn(t, f, ButtonOptions{}))
			w.settled()
			f.mu.Lock()
			for _, l := range f.lines {
				l.quiet = quiet
			}
			f.mu.Unlock()
			f.unplug(pi)
			if err := w.end(); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "GPIO17 on pinctrl-rp1: the GPIO chip is gone") {
				t.Errorf("Run = %v; want the chip is gone", err)
			}
			if n := len(w.events); n > 0 {
				t.Errorf("%d events, the first %s; want none", n, (<-w.events).Kind)
			}
		})
	}
}

func TestPressEndsWithItsChip(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	w := observe(t, openOn(t, f, ButtonOptions{}))
	w.settled()
	f.set(pi, 17, false)
	w.next(Touched)
	w.next(Pressed)
	f.unplug(pi)
	w.next(Vanished)
	if err := w.end(); !errors.Is(err, ErrGone) {
		t.Errorf("Run = %v", err)
	}
}

// The chip comes back under another number, as another chip: the next open finds it.
func TestChipThatComesBackIsFound(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	b := openOn(t, f, ButtonOptions{})
	f.unplug(pi)
	if _, err := f.openButton("17", ButtonOptions{}); !errors.Is(err, ErrNoChip) {
		t.Errorf("without a chip: %v", err)
	}
	_ = b.Close()
	again := f.plug(3, "pinctrl-rp1", 54)
	w := observe(t, openOn(t, f, ButtonOptions{}))
	w.settled()
	f.set(again, 17, false)
	w.next(Touched)
}

// Close while Run waits ends it; under -race this is also the proof that they may meet.
func TestCloseDuringRun(t *testing.T) {
	f := newFakeKernel(t)
	f.plug(0, "pinctrl-rp1", 54)
	w := observe(t, openOn(t, f, ButtonOptions{}))
	w.settled()
	_ = w.button.Close()
	if err := w.end(); err == nil {
		t.Error("Run = nil; want why it ended")
	}
}

// More edges than the queue holds: what counts is the level in the end.
func TestQueueThatOverflowsEndsRight(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	w := observe(t, openOn(t, f, ButtonOptions{}))
	w.settled()
	stand, go_ := make(chan struct{}), make(chan struct{})
	for !w.button.Call(func() { close(stand); <-go_ }) {
	}
	<-stand
	for range 5000 { // more than a socket holds
		f.set(pi, 17, false)
		f.set(pi, 17, true)
	}
	f.set(pi, 17, false)
	close(go_)
	for last := Touched; last != Pressed; { // the fake's queue is longer than Linux's: there may be a glitch first
		select {
		case e := <-w.events:
			last = e.Kind
		case <-time.After(5 * time.Second):
			t.Fatal("the press at the end was never seen")
		}
	}
	f.set(pi, 17, true)
	w.next(Released)
}

func TestOutputDrivesFromTheFirstMoment(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	f.set(pi, 25, false)
	o, err := f.openOutput(25, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if !f.level(pi, 25) || f.flags(pi, 25)&flagOutput == 0 {
		t.Error("the pin is not driven high")
	}
	if err := o.Set(false); err != nil || f.level(pi, 25) {
		t.Errorf("Set(false) = %v, level %v", err, f.level(pi, 25))
	}
	f.unplug(pi)
	if err := o.Set(true); !errors.Is(err, ErrGone) {
		t.Errorf("Set on a chip that is gone = %v", err)
	}
	_ = o.Close()
}

// Between the edge and the first word of it nothing is allocated.
func TestEdgeAllocatesNothing(t *testing.T) {
	f := newFakeKernel(t)
	pi := f.plug(0, "pinctrl-rp1", 54)
	b := openOn(t, f, ButtonOptions{})
	defer b.Close()
	line := b.line.(*pinLine)
	high := true
	n := testing.AllocsPerRun(100, func() {
		high = !high
		f.set(pi, 17, high)
		if !line.Wait(time.Second) || line.Down() == high {
			t.Fatal("the edge was not seen")
		}
	})
	if n > 0 {
		t.Errorf("%.1f allocations an edge", n)
	}
}
