package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/device/control"
	"conch/device/language"
)

// end has the service take what was written, and a person talk to it.
func end(ctx context.Context, w *wizard) error {
	wanted, named := w.wants(trial)
	if w.boot && w.now.Step == "board" && len(w.Only) > 0 { // nothing to try before the boot
		return nil
	}
	w.now = Step{Step: trial, State: Unchanged}
	w.question, w.choices, w.answer = "", nil, ""
	if err := w.take(ctx); err != nil {
		return err
	}
	if !wanted && !w.changed || w.dry() && !named {
		return nil
	}
	err := w.listenTo(ctx, named)
	if e := w.told(); err == nil {
		err = e
	}
	if err == nil && w.now.State == Failed {
		err = fmt.Errorf("setup: %s", w.now.Text)
	}
	return err
}

// take starts the service with what was written.
func (w *wizard) take(ctx context.Context) error {
	if w.dry() || !w.changed && !w.paused {
		return nil
	}
	state := ServiceState(ctx)
	if state == "" || state == "inactive" && !w.paused { // somebody has stopped it, and it is theirs to start
		return nil
	}
	w.say("\n%s", w.lang.Phrase("setup.starts"))
	w.started = true
	err := restart(ctx, w.lang)
	if err == nil || ctx.Err() == nil { // else somebody has left meanwhile, and resume sees to what stands still
		w.paused = false
	}
	return err
}

// talkLimit is how long somebody may think about what to say.
const talkLimit = 90 * time.Second

// listenTo waits for a turn that a person makes, and says what came of it.
func (w *wizard) listenTo(ctx context.Context, named bool) error {
	var s control.Status
	r, err := w.running(ctx, &s)
	if err != nil {
		text := w.lang.Phrase("setup.nothing_runs", "why", err)
		if named {
			w.fail(text, "sudo systemctl start conch")
			return nil
		}
		w.with(Unchanged, "%s", text)
		return nil
	}
	defer r.Close()
	w.question = held(w.lang, s.Button)
	if w.nobody {
		w.with(Unchanged, "%s", runs(w.lang, s))
		return nil
	}
	for _, c := range s.Conditions {
		w.say("  %s; %s", c.Text, c.Do)
	}
	w.say("\n%s", held(w.lang, s.Button))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	left := make(chan error, 1)
	go func() { // ends with its line, or ctx
		_, err := typed(ctx, w.in)
		left <- err
		cancel(err)
	}()
	t, err := w.turn(ctx, r, s)
	cancel(nil)
	switch enter := <-left; {
	case err == nil:
		judge(w, t)
	case enter == nil:
		w.skip("%s", w.lang.Phrase("setup.not_tried"))
	case errors.Is(err, errSilent):
		w.fail(w.lang.Phrase("setup.not_heard", "time", talkLimit), w.lang.Phrase("setup.try_pin"))
	default:
		return errLeft
	}
	return nil
}

// held asks for a press of the button, by its name where it has one.
func held(l language.Language, button string) string {
	if button == "" {
		return l.Phrase("setup.hold_any")
	}
	return l.Phrase("setup.hold", "button", button)
}

// runs says what is there of an appliance that runs.
func runs(l language.Language, s control.Status) string {
	there := slices.DeleteFunc([]string{s.Button, s.Sound, s.Voice}, func(part string) bool { return part == "" })
	if len(there) == 0 {
		return l.Phrase("setup.runs_bare")
	}
	return l.Phrase("setup.runs", "what", strings.Join(there, "; "))
}

var errSilent = errors.New("silence")

// running waits for an appliance that is being started, by setup or by somebody else.
func (w *wizard) running(ctx context.Context, s *control.Status) (*control.Remote, error) {
	starting := w.started || up(ctx)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		r, err := control.Dial(w.cfg)
		if err == nil {
			if err = r.Do(ctx, "GET", "/status", nil, s); err == nil && (s.Ready || !w.started) {
				return r, nil
			}
			r.Close()
		}
		if !starting && err != nil {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err == nil {
				return control.Dial(w.cfg) // up, and its trouble is known
			}
			return nil, err
		}
	}
}

// turn waits for one to end, and shows what goes on meanwhile.
func (w *wizard) turn(ctx context.Context, r *control.Remote, before control.Status) (t control.Turn, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, talkLimit, errSilent)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	doing := before.Doing(w.cfg.Device.Language)
	for {
		select {
		case <-ctx.Done():
			return t, context.Cause(ctx)
		case <-tick.C:
		}
		var s control.Status
		if err := r.Do(ctx, "GET", "/status", nil, &s); err != nil {
			if ctx.Err() != nil {
				return t, context.Cause(ctx)
			}
			return t, err
		}
		if now := s.Doing(w.cfg.Device.Language); now != doing && s.State != before.State {
			w.say("  %s", now)
		}
		doing = s.Doing(w.cfg.Device.Language)
		if s.Turns > before.Turns {
			var last json.RawMessage
			if err := r.Do(ctx, "GET", "/last", nil, &last); err != nil {
				return t, err
			}
			return t, json.Unmarshal(last, &t)
		}
	}
}

// judge says whether that worked: something was heard, and something was said.
func judge(w *wizard, t control.Turn) {
	told := strings.TrimRight(t.Sentence(w.cfg.Device.Language, t.Who), "\n")
	if told != "" {
		w.say("%s", told)
	}
	voice := w.lang.Phrase("setup.from_the_top")
	switch {
	case t.Said != "":
		w.with(Changed, "%s", w.lang.Phrase("setup.works"))
	case t.Asked != "":
		w.fail(w.lang.Phrase("setup.heard_only"), voice)
	case !t.Unheard():
		w.fail(w.lang.Phrase("setup.pressed_only"), voice)
	default:
		text := w.lang.Phrase("setup.unheard")
		if told == "" {
			text += ": " + strings.TrimSuffix(t.Why(w.lang), ".")
		}
		w.fail(text, w.lang.Phrase("setup.hold_while"))
	}
}
