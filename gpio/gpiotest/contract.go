// Package gpiotest has the contract that every button keeps, the twin as well as a real one.
package gpiotest

import (
	"context"
	"slices"
	"testing"
	"time"

	"conch/gpio"
	"conch/gpio/twin"
)

// Runner is the part of a button that its owner uses.
type Runner interface {
	Run(ctx context.Context, on func(gpio.Event)) error
}

// TestButton is the contract of a button in mode hold. open gives one whose contact is up, with a hand on it. around runs
// each case: synctest.Test for a twin, a plain call for a real one, where the same waits are real.
func TestButton(t *testing.T, around func(*testing.T, func(*testing.T)), open func(testing.TB) (Runner, twin.Hand)) {
	for _, c := range []struct {
		name string
		do   func(twin.Hand)
		want []gpio.Kind
	}{
		{"nothing happens by itself", func(twin.Hand) {}, nil},
		{"a press and a release", func(h twin.Hand) {
			h.Press()
			settle()
			h.Release()
		}, press},
		{"a bouncing press is one", func(h twin.Hand) {
			h.Press()
			h.Bounce(8)
			settle()
			h.Release()
			h.Bounce(8)
		}, press},
		{"a glitch is taken back", func(h twin.Hand) { h.Glitch() }, []gpio.Kind{gpio.Touched, gpio.Glitched}},
		{"bounces while it is held are nothing", func(h twin.Hand) {
			h.Press()
			settle()
			h.Bounce(3)
			settle()
			h.Release()
		}, press},
		{"two presses are two", func(h twin.Hand) {
			h.Press()
			settle()
			h.Release()
			settle()
			<-time.After(time.Second) // or it is a gesture
			h.Press()
			settle()
			h.Release()
		}, slices.Concat(press, press)},
	} {
		t.Run(c.name, func(t *testing.T) {
			around(t, func(t *testing.T) {
				button, hand := open(t)
				r := start(t, button)
				settle()
				c.do(hand)
				settle()
				r.stop()
				var got []gpio.Kind
				for i, ev := range r.events {
					got = append(got, ev.Kind)
					if i > 0 && ev.At < r.events[i-1].At {
						t.Errorf("event %d, %s, goes back in time: %v", i, ev.Kind, r.events)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got %v\nwant %v", got, c.want)
				}
			})
		})
	}
	t.Run("it ends with its context, and says nothing after", func(t *testing.T) {
		around(t, func(t *testing.T) {
			button, hand := open(t)
			r := start(t, button)
			settle()
			r.stop()
			hand.Press()
			settle()
			hand.Release()
			settle()
			if len(r.events) > 0 {
				t.Errorf("after Run returned: %v", r.events)
			}
		})
	})
}

var press = []gpio.Kind{gpio.Touched, gpio.Pressed, gpio.Released}

// settle is longer than every time in the debouncer.
func settle() { <-time.After(100 * time.Millisecond) }

type run struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	events []gpio.Event // owned by the button's goroutine until stop has returned
}

func start(t *testing.T, b Runner) *run {
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- b.Run(ctx, func(ev gpio.Event) { r.events = append(r.events, ev) }) }()
	t.Cleanup(cancel)
	return r
}

func (r *run) stop() {
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Run = %v; want nil", err)
		}
	case <-time.After(time.Second):
		r.t.Fatal("Run does not return though its context has ended")
	}
}
