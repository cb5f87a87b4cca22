package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"conch/companions/skills"
	"conch/device/condition"
)

// What a skill does beside its tools (a timer that rings) is supervised: where it fails it begins anew, and meanwhile its tools refuse,
// because what they promise would not come.

// Log events of skills.
const (
	logSkillEnded = "skill.ended" // skill, err: its work beside its tools has failed
	logSkillAnew  = "skill.anew"  // skill: it works again
)

// Our choices.
const (
	skillWait   = time.Second      // until it begins anew; twice as long each time
	skillMost   = 10 * time.Minute // and no longer
	skillSteady = 10 * time.Second // one that has worked for so long works
)

// worker is the work of one skill.
type worker struct {
	// fixed
	name  string
	run   func(context.Context) error
	log   *slog.Logger
	conds *condition.Book

	down atomic.Pointer[string] // why it does not work now; nil: it does
}

// work works until ctx ends.
func (w *worker) work(ctx context.Context) {
	code := condition.Code(string(condition.SkillDown) + "." + w.name)
	for wait := skillWait; ; wait = min(2*wait, skillMost) {
		steady := time.AfterFunc(skillSteady, func() {
			if w.down.Swap(nil) != nil {
				w.conds.Clear(code)
				w.log.Info(logSkillAnew)
			}
		})
		began := time.Now()
		err := w.once(ctx)
		steady.Stop()
		if ctx.Err() != nil || err == nil {
			return
		}
		if time.Since(began) >= skillSteady {
			wait = skillWait
		}
		why := err.Error()
		w.down.Store(&why)
		w.conds.Set(code, fmt.Sprintf("the skill %s does not work: %s", w.name, why),
			"it is tried again by itself; if this stays, restart conch, and send in what conch report writes")
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// once works until ctx ends or it fails.
func (w *worker) once(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			w.log.Error(logSkillEnded, "err", err, "stack", string(debug.Stack()))
		}
	}()
	if err = w.run(ctx); err != nil && ctx.Err() == nil {
		w.log.Error(logSkillEnded, "err", err)
	}
	return err
}

// supervised is a skill whose tools refuse while its work has failed.
type supervised struct {
	skills.Skill
	of *worker
}

// Tools lists them.
func (s supervised) Tools() []skills.Tool {
	tools := s.Skill.Tools()
	for i := range tools {
		handle := tools[i].Handler
		tools[i].Handler = func(ctx skills.Context, args json.RawMessage) (skills.Result, error) {
			if s.of.down.Load() != nil {
				return skills.Result{}, errors.New("this does not work at the moment: the device has a fault (conch doctor)")
			}
			return handle(ctx, args)
		}
	}
	return tools
}
