// Package twin is a button without a wire, and the hand that presses it: for rehearsals, benchmarks and tests, and for presses that
// come over the control socket.
//
// It differs from a real one below gpio.Line only: debouncing, modes and the loop are those that run on a Pi. Inside a
// synctest bubble its time is virtual.
package twin

import (
	"time"

	"conch/gpio"
)

// Hand is what a finger, or a bad wire, does to a button. Each returns when it is done.
type Hand interface {
	Press()
	Release()
	// Bounce moves the contact away and back n times, 0.2 ms each.
	Bounce(n int)
	// Glitch closes the contact for 20 ms, as a click of the mains does.
	Glitch()
}

// Contact is a wire that a hand can move: a Line, or a line of the kernel's gpio-sim.
type Contact interface {
	Set(down bool)
	Down() bool
}

// On is a Hand on a contact.
func On(c Contact) Hand { return hand{c} }

type hand struct{ Contact }

func (h hand) Press()   { h.Set(true) }
func (h hand) Release() { h.Set(false) }

func (h hand) Bounce(n int) {
	level := h.Down()
	for range n {
		h.Set(!level)
		<-time.After(200 * time.Microsecond)
		h.Set(level)
		<-time.After(200 * time.Microsecond)
	}
}

func (h hand) Glitch() {
	h.Set(true)
	<-time.After(20 * time.Millisecond)
	h.Set(false)
}

// Button is the twin: a real gpio.Button on a virtual line, and the hand on it.
type Button struct {
	*gpio.Button
	Hand
}

// NewButton makes a twin whose contact is up. Run it as any button.
func NewButton(o gpio.ButtonOptions) *Button {
	line := NewLine("twin")
	return &Button{gpio.NewButton(line, o), On(line)}
}
