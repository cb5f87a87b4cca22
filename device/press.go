package device

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/buttons"
	"conch/device/condition"
	"conch/gpio"
)

// presses make silence, and facts for the coordinator, of what the buttons tell. Its methods are called by the goroutine of the
// button that they are about.
type presses struct {
	// fixed before Run
	speaker *audio.Speaker
	mic     *audio.Mic
	turns   *coordinator.Coordinator
	room    pressRoom
	conds   *condition.Book
	log     *slog.Logger
	now     func() time.Duration
	ended   func(*contact)   // by each press: what is being paired, a page that has the sound
	let     func()           // by each release; nil: nobody asks
	gesture func(gpio.Event) // of the touchable button that was pressed last
	told    func(gpio.Event) // what else any button tells; nil: nobody asks

	// atomic
	touches atomic.Int32 // of buttons, that are not settled yet

	recording recording // has its own lock

	fingering sync.Mutex // guards what follows
	fingers   gpio.Fingers
}

// pressRoom is what a press or a typed question is to the room. None of it waits.
type pressRoom interface {
	Alone() bool
	Pressed(at time.Duration, id turn.ID, alone bool)
	Put(text string, to ...round.Participant)
}

// contact is one button as the press sees it. It is owned by the goroutine that runs the button.
type contact struct {
	gpio.Events
	button  turn.Button // which one, for the coordinator
	touched bool        // an edge has been seen, and nobody knows yet of what
	held    bool        // pressed, and not released yet
	latches bool        // a tap begins a recording, and the next ends it
}

// press is everything that stands between the finger and silence. It runs in the goroutine that saw the edge; Hush and
// Drop are an atomic store or two each, and a press has a reserved place in the coordinator's inbox (TURNS.md 2, step 1).
func (p *presses) press(e gpio.Event, c *contact) {
	switch e.Kind {
	case gpio.Touched: // the first edge: quiet at once, whatever it turns out to be
		p.speaker.Hush()
		p.touch(c)
	case gpio.Pressed: // the contact was closed for long enough: what was heard so far is over for good
		generation := p.speaker.Drop()
		if c.held && p.let != nil { // its release was lost
			p.let()
		}
		p.pressed(e, generation, c)
		c.held = true
		p.settled(c)
		p.counts(e, c)
	case gpio.Glitched: // a noisy wire: go on where we were
		p.unhush(c)
	case gpio.Released:
		p.unhush(c) // of a tap that ended a recording; nothing after a press
		c.held = false
		p.turns.Release(e.At, p.mic.Held(e.At), c.button)
		if p.let != nil {
			p.let()
		}
	case gpio.Vanished: // nobody meant to send what was said until the wire came off
		p.unhush(c)
		c.held = false
		p.turns.Post(turn.Released{At: e.At, Button: c.button, Gone: true})
	default:
		p.notPress(e, c)
	}
}

// pressed tells the coordinator and the room of a press; neither ever makes the button wait. Alone in the room there is nobody
// to wait for: the answer begins as soon as the question has ended, before its words are known.
func (p *presses) pressed(e gpio.Event, generation uint64, c *contact) {
	defer p.ended(c) // after everything that is in a hurry
	alone, press := p.room.Alone(), p.turns.Press
	if alone {
		press = p.turns.PressAlone
	}
	id := p.recording.begin(c, e.Press, func() turn.ID { return press(e.At, generation, c.button) })
	p.room.Pressed(e.At, id, alone)
}

// touch counts an open touch. Another button may have taken the Hush back before it counted: so it is made once more.
func (p *presses) touch(c *contact) {
	if !c.touched {
		c.touched = true
		p.touches.Add(1)
	}
	p.speaker.Hush()
}

// settled ends a touch, if c has one open.
func (p *presses) settled(c *contact) {
	if c.touched {
		c.touched = false
		p.touches.Add(-1)
	}
}

// unhush gives the sound back, unless another button is being touched.
func (p *presses) unhush(c *contact) {
	p.settled(c)
	p.speaker.Unhush()
	if p.touches.Load() > 0 {
		p.speaker.Hush()
	}
}

// letGo settles what a button that is not there any more has left open: a touch was none, and a press is not to be committed.
func (p *presses) letGo(c *contact) {
	if c.touched {
		p.press(gpio.Event{Kind: gpio.Glitched}, c)
	}
	if c.held {
		p.press(gpio.Event{Kind: gpio.Vanished, At: p.now()}, c)
	}
}

// notPress is what else a button or the console says. None of it is urgent.
func (p *presses) notPress(e gpio.Event, c *contact) {
	switch e.Kind {
	case gpio.Asked:
		p.room.Put(e.Text)
	case gpio.Stuck:
		p.conds.Set(condition.ButtonStuck, "the button "+c.String()+" is held down", "let it go; if nobody holds it, check the wire")
	case gpio.Freed:
		p.conds.Clear(condition.ButtonStuck)
	}
	if p.counts(e, c) {
		p.gesture(e)
	}
	if p.told != nil {
		p.told(e)
	}
}

// counts says whether an event is a gesture that counts.
func (p *presses) counts(e gpio.Event, c *contact) (yes bool) {
	p.fingering.Lock()
	defer p.fingering.Unlock()
	p.fingers, yes = p.fingers.Step(e, int(c.button), c.Touchable())
	return yes
}

// run serves one button. A button that fails is a condition, not the end: the others still work.
func (p *presses) run(ctx context.Context, c *contact) error {
	if r, ok := c.Events.(*buttons.Reopened); ok {
		r.Log = func(err error) { p.report(c, err) }
	}
	err := c.Run(ctx, func(e gpio.Event) { p.press(e, c) })
	p.letGo(c)
	if err != nil && ctx.Err() == nil {
		p.conds.Set(condition.ButtonLost, err.Error(), "check the wire and the pin, then restart; see: conch doctor")
	}
	return nil
}

// report keeps the condition of a button that may come and go.
func (p *presses) report(c *contact, err error) {
	if err == nil {
		p.conds.Clear(condition.ButtonLost)
		p.conds.Clear(condition.ButtonStuck) // of the one before; this one has not been seen down
		p.log.Info("button.open", "button", c.String())
		return
	}
	p.letGo(c)
	p.conds.Set(condition.ButtonLost, err.Error(), buttons.Remedy(err))
}
