package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"conch/device/config"
	"conch/gpio"
)

// lookPin says which button is configured, and by what.
func (w *wizard) lookPin() (string, bool) {
	b, origin := w.cfg.Button, w.cfg.Origin("button.pin")
	if b.Source != "auto" && b.Source != "gpio" {
		return w.lang.Phrase("setup.source_is", "source", b.Source), true
	}
	text := w.lang.Phrase("setup.pin_pressed", "pin", b.Pin, "level", b.Active)
	switch {
	case strings.HasPrefix(origin, "board "):
		return text + ", " + w.lang.Phrase("setup.by_board"), true
	case strings.HasPrefix(origin, "default"):
		return text + ", " + w.lang.Phrase("setup.by_nobody"), false
	}
	return text, true
}

// askPin learns the button by its being pressed.
func (w *wizard) askPin(ctx context.Context) error {
	if w.Pin >= 0 || w.Active != "" {
		return w.namedPin(ctx)
	}
	w.question, w.answer = w.lang.Phrase("setup.press_button"), ""
	if w.nobody {
		w.now.Text, _ = w.lookPin()
		return nil
	}
	if err := w.pause(ctx); err != nil {
		return err
	}
	uses := pinUses(&w.cfg)
	if pin := w.cfg.Button.Pin; strings.HasPrefix(uses[pin], "button") {
		delete(uses, pin) // that is what is asked
	}
	found, err := w.listen(ctx, uses)
	switch {
	case err != nil && (errors.Is(err, errLeft) || errors.Is(err, errSkip)):
		return err
	case err != nil:
		w.fail(err.Error(), w.lang.Phrase("setup.usb_button"))
		return nil
	}
	w.say("  %s", w.lang.Phrase("setup.your_button", "pin", learntText(found, w.lang)))
	edits, why := learnt(&w.cfg, w.lang, found, gpio.Detect(gpio.DetectOptions{Root: w.Root}))
	for _, line := range why {
		w.say("  %s", line)
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	if w.now.State != Skipped {
		w.now.Text, _ = w.lookPin()
		w.with(w.now.State, "%s", w.now.Text)
	}
	return nil
}

// namedPin takes what a flag says.
func (w *wizard) namedPin(ctx context.Context) error {
	var edits []config.Edit
	if w.Pin >= 0 {
		edits = append(edits, config.Edit{Key: "button.pin", Value: fmt.Sprint(w.Pin)})
	}
	if w.Active != "" {
		edits = append(edits, config.Edit{Key: "button.active", Value: config.Quote(w.Active)})
	}
	if _, err := w.set(ctx, edits); err != nil {
		return err
	}
	w.now.Text, _ = w.lookPin()
	return nil
}

// listen waits for a button, or for Enter, which keeps what is.
func (w *wizard) listen(ctx context.Context, uses map[int]string) (gpio.Learned, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel(nil)
	begin := func(pins []int, left map[int]string) {
		for _, p := range sortedKeys(left) {
			if strings.HasPrefix(left[p], "conch@") {
				w.say("  %s", w.lang.Phrase("setup.left_out", "pin", p, "why", left[p]))
			}
		}
		w.say("  %s", w.lang.Phrase("setup.listening_on", "pins", pinNames(pins)))
		asked.Go(func() { // ends with its line, or ctx
			_, err := w.line(ctx, w.lang.Phrase("setup.press_button"), "")
			if err == nil {
				err = errSkip
			}
			cancel(err)
		})
	}
	found, err := w.Listen(ctx, gpio.LearnOptions{Chip: w.cfg.Button.Chip, Uses: uses, Watch: begin,
		Heard: func(h gpio.Heard) { w.say("\n  %s", heardText(h, w.lang)) }})
	if cause := context.Cause(ctx); cause != nil && err != nil {
		if errors.Is(cause, context.Canceled) {
			return found, errLeft
		}
		return found, cause
	}
	return found, err
}
