package twin_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/gpio"
	"conch/gpio/twin"
)

// What a button keeps, whoever presses it.
func TestButton(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*twin.Button)
		want []gpio.Kind
	}{
		{"nothing happens by itself", func(*twin.Button) {}, nil},
		{"a press and a release", func(h *twin.Button) {
			h.Press()
			settle()
			h.Release()
		}, press},
		{"a bouncing press is one", func(h *twin.Button) {
			h.Press()
			bounce(8, h.Release, h.Press)
			settle()
			h.Release()
			bounce(8, h.Press, h.Release)
		}, press},
		{"a glitch is taken back", glitch, []gpio.Kind{gpio.Touched, gpio.Glitched}},
		{"bounces while it is held are nothing", func(h *twin.Button) {
			h.Press()
			settle()
			bounce(3, h.Release, h.Press)
			settle()
			h.Release()
		}, press},
		{"two presses are two", func(h *twin.Button) {
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
			synctest.Test(t, func(t *testing.T) {
				button := twin.NewButton(gpio.ButtonOptions{})
				r := start(t, button)
				settle()
				c.do(button)
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
		synctest.Test(t, func(t *testing.T) {
			button := twin.NewButton(gpio.ButtonOptions{})
			r := start(t, button)
			settle()
			r.stop()
			button.Press()
			settle()
			button.Release()
			settle()
			if len(r.events) > 0 {
				t.Errorf("after Run returned: %v", r.events)
			}
		})
	})
}

var press = []gpio.Kind{gpio.Touched, gpio.Pressed, gpio.Released}

// bounce moves the contact away and back n times, 0.2 ms each.
func bounce(n int, away, back func()) {
	for range n {
		away()
		<-time.After(200 * time.Microsecond)
		back()
		<-time.After(200 * time.Microsecond)
	}
}

// glitch closes the contact for 20 ms, as a click of the mains does.
func glitch(b *twin.Button) {
	b.Press()
	<-time.After(20 * time.Millisecond)
	b.Release()
}

// settle is longer than every time in the debouncer.
func settle() { <-time.After(100 * time.Millisecond) }

type run struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	events []gpio.Event // owned by the button's goroutine until stop has returned
}

func start(t *testing.T, b *twin.Button) *run {
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
