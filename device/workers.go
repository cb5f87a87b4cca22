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

// The work of a skill beside its tools (a timer that rings), and each part of the device without which it still converses, is supervised:
// where it fails it begins anew. The tools of a skill refuse meanwhile, because what they promise would not come.
// A part that the conversation needs (sound, turns, the room) ends conch instead, and systemd starts it.

// Log events of workers.
const (
	logWorkerFailed = "worker.failed" // worker, err
	logWorkerAnew   = "worker.anew"   // worker: it works again
)

// Our choices.
const (
	workerWait   = time.Second      // until it begins anew; twice as long each time
	workerMost   = 10 * time.Minute // and no longer
	workerSteady = 10 * time.Second // one that has worked for so long works
)

// worker is a part of the device that begins anew where it fails.
type worker struct {
	// fixed
	name  string // for people
	code  condition.Code
	run   func(context.Context) error
	log   *slog.Logger
	conds *condition.Book

	down atomic.Pointer[string] // why it does not work now; nil: it does
}

// work works until ctx ends.
func (w *worker) work(ctx context.Context) {
	for wait := workerWait; ; wait = min(2*wait, workerMost) {
		steady := time.AfterFunc(workerSteady, func() {
			if w.down.Swap(nil) != nil {
				w.conds.Clear(w.code)
				w.log.Info(logWorkerAnew, "worker", w.name)
			}
		})
		began := time.Now()
		err := w.once(ctx)
		steady.Stop()
		if ctx.Err() != nil || err == nil {
			return
		}
		if time.Since(began) >= workerSteady {
			wait = workerWait
		}
		why := err.Error()
		w.down.Store(&why)
		w.conds.Set(w.code, fmt.Sprintf("%s does not work: %s", w.name, why),
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
			w.log.Error(logWorkerFailed, "worker", w.name, "err", err, "stack", string(debug.Stack()))
		}
	}()
	if err = w.run(ctx); err != nil && ctx.Err() == nil {
		w.log.Error(logWorkerFailed, "worker", w.name, "err", err)
	}
	return err
}

// skillWorker is the work of a skill.
func (d *Device) skillWorker(name string, run func(context.Context) error) *worker {
	return &worker{name: "the skill " + name, code: condition.SkillDown.Of(name), run: run, log: d.log, conds: d.conds}
}

// tended is an actor whose failure ends nothing else.
func (d *Device) tended(name string, run func(context.Context) error) actor {
	w := &worker{name: "the part " + name, code: condition.PartDown.Of(name), run: run, log: d.log, conds: d.conds}
	return w.actor(name)
}

func (w *worker) actor(name string) actor {
	return actor{name, func(ctx context.Context) error {
		w.work(ctx)
		return nil
	}}
}

// supervised is a skill whose tools refuse while its work has failed.
type supervised struct {
	skills.Skill
	of *worker
}

// Brief is that of the skill.
func (s supervised) Brief() string {
	if b, ok := s.Skill.(skills.Brief); ok {
		return b.Brief()
	}
	return ""
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
