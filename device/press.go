package device

import (
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/gpio"
)

// contact is one button as the press sees it. It is owned by the goroutine that runs the button.
type contact struct {
	gpio.Events
	button  turn.Button // which one, for the coordinator
	touched bool        // an edge has been seen, and nobody knows yet of what
	held    bool        // pressed, and not released yet
	press   uint64      // its latest, counted over all buttons
}

// press is everything that stands between the finger and silence. It runs in the goroutine that saw the edge; Hush and
// Drop are an atomic store or two each, and a press has a reserved place in the coordinator's inbox (TURNS.md 2, step 1).
func (d *Device) press(e gpio.Event, c *contact) {
	switch e.Kind {
	case gpio.Touched: // the first edge: quiet at once, whatever it turns out to be
		d.speaker.Hush()
		d.touch(c)
	case gpio.Pressed: // the contact was closed for long enough: what was heard so far is over for good
		d.pressed(e, d.speaker.Drop(), c)
		c.held = true
		d.settled(c)
		c.press = d.presses.Add(1)
	case gpio.Glitched: // a noisy wire: go on where we were
		d.unhush(c)
	case gpio.Released:
		d.unhush(c) // of a tap that ended a recording; nothing after a press
		c.held = false
		d.coordinator.Release(e.At, d.sound.Mic.Held(e.At), c.button)
	case gpio.Vanished: // nobody meant to send what was said until the wire came off
		d.unhush(c)
		c.held = false
		d.coordinator.Post(turn.Released{At: e.At, Button: c.button, Gone: true})
	default:
		d.notPress(e, c)
	}
}

// touch counts an open touch. Another button may have taken the Hush back before it counted: so it is made once more.
func (d *Device) touch(c *contact) {
	if !c.touched {
		c.touched = true
		d.touches.Add(1)
	}
	d.speaker.Hush()
}

// settled ends a touch, if c has one open.
func (d *Device) settled(c *contact) {
	if c.touched {
		c.touched = false
		d.touches.Add(-1)
	}
}

// unhush gives the sound back, unless another button is being touched.
func (d *Device) unhush(c *contact) {
	d.settled(c)
	d.speaker.Unhush()
	if d.touches.Load() > 0 {
		d.speaker.Hush()
	}
}

// letGo settles what a button that is not there any more has left open: a touch was none, and a press is not to be committed.
func (d *Device) letGo(c *contact) {
	if c.touched {
		d.press(gpio.Event{Kind: gpio.Glitched}, c)
	}
	if c.held {
		d.press(gpio.Event{Kind: gpio.Vanished, At: d.now()}, c)
	}
}

// notPress is what else a button or the console says. None of it is urgent.
func (d *Device) notPress(e gpio.Event, c *contact) {
	switch e.Kind {
	case gpio.Asked:
		d.room.Put(e.Text)
	case gpio.Stuck:
		d.conds.Set(condition.ButtonStuck, "the button "+c.String()+" is held down", "let it go; if nobody holds it, check the wire")
	case gpio.Freed:
		d.conds.Clear(condition.ButtonStuck)
	}
	if d.presses.Load() == c.press { // else another button has been pressed since: what that one began is not this one's to end
		d.gesture(e)
	}
	if d.opts.OnEvent != nil {
		d.opts.OnEvent(e)
	}
}
