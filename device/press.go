package device

import "conch/gpio"

// press is everything that stands between the finger and silence. It runs in the goroutine that saw the edge; Hush and
// Drop are an atomic store or two each, and a press has a reserved place in the coordinator's inbox (turns.md 2, step 1).
func (d *Device) press(e gpio.Event, b gpio.Source) {
	switch e.Kind {
	case gpio.Touched: // the first edge: quiet at once, whatever it turns out to be
		d.speaker.Hush()
	case gpio.Pressed: // still down 4 ms after the last bounce: what was heard so far is over for good
		d.pressed(e.At, d.speaker.Drop())
	case gpio.Glitched: // a noisy wire: go on where we were
		d.speaker.Unhush()
	case gpio.Released:
		d.speaker.Unhush() // of a tap that ended a recording; nothing after a press
		d.coordinator.Release(e.At, d.mic.Held(e.At))
	default:
		d.notPress(e, b)
	}
}

// notPress is what else a button or the console says. None of it is urgent.
func (d *Device) notPress(e gpio.Event, b gpio.Source) {
	switch e.Kind {
	case gpio.Asked:
		d.ask(newTurn(), e.Text)
	case gpio.Stuck:
		d.conds.set("button.stuck", "the button "+b.String()+" is held down", "let it go; if nobody holds it, check the wire")
	case gpio.Freed:
		d.conds.clear("button.stuck")
	}
	d.gesture(e)
	if d.opts.OnEvent != nil {
		d.opts.OnEvent(e)
	}
}
