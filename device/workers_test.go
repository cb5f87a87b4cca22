package device

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/skills"
	"conch/device/condition"
)

// tooled is a skill of one tool.
type tooled struct{}

func (tooled) Tools() []skills.Tool {
	return []skills.Tool{{Name: "set", Handler: func(skills.Context, json.RawMessage) (skills.Result, error) { return skills.Result{Output: "set"}, nil }}}
}

// What a skill does beside its tools begins anew where it fails. Meanwhile its tools refuse, and a condition says so; another skill's do not.
func TestTheWorkOfASkillBeginsAnew(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("no station") },
		"panic": func() error { panic("a bug") },
		"none":  nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			log := slog.New(slog.NewTextHandler(&said, nil))
			fails := 2
			d := &Device{log: log, conds: condition.NewBook(log)}
			w := d.skillWorker("timers", func(ctx context.Context) error {
				if fails--; fails >= 0 && fail != nil {
					time.Sleep(time.Second)
					return fail()
				}
				<-ctx.Done()
				return ctx.Err()
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { w.work(ctx); close(done) }()
			tool := supervised{tooled{}, w}.Tools()[0]
			is := func(works bool) {
				t.Helper()
				synctest.Wait()
				r, err := tool.Handler(skills.Context{}, nil)
				if (err == nil && r.Output == "set") != works || w.conds.Holds("skill.timers") == works {
					t.Errorf("%s: works %v, the condition holds %v; want works %v", name, err == nil, w.conds.Holds("skill.timers"), works)
				}
			}
			is(true)
			time.Sleep(1500 * time.Millisecond) // it has failed, and waits
			is(fail == nil)
			time.Sleep(time.Second) // it works, and may fail again
			is(fail == nil)
			time.Sleep(time.Minute)
			is(true)
			cancel()
			<-done
			want := 2
			if fail == nil {
				want = 0
			}
			if n := strings.Count(said.String(), logWorkerFailed); n != want {
				t.Errorf("%s: %d lines; want %d\n%s", name, n, want, said.String())
			}
		})
	}
}

// TestAPartThatFailsEndsNothingElse: a part without which the device still converses begins anew, and a condition that is said aloud holds
// meanwhile.
func TestAPartThatFailsEndsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		d := &Device{log: log, conds: condition.NewBook(log)}
		begun := 0
		part := d.tended("hours", func(ctx context.Context) error {
			if begun++; begun < 3 {
				panic("a bug")
			}
			<-ctx.Done()
			return nil
		})
		other := actor{"coordinator", func(ctx context.Context) error { <-ctx.Done(); return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.together(ctx, cancel, []actor{part, other}, nil) }()
		synctest.Wait()
		if held := d.conds.List(); len(held) != 1 || held[0].Code != "part.hours" || held[0].Text != "the part hours does not work: panic: a bug" {
			t.Errorf("conditions %+v", held)
		}
		var c condition.Announcer
		c.Look(0, []condition.Code{"part.hours"}, true)
		if clip, _ := c.Look(time.Minute, []condition.Code{"part.hours"}, true); clip != "part_failed" {
			t.Errorf("what is said of it: %q", clip)
		}
		time.Sleep(time.Minute)
		if held := d.conds.List(); begun != 3 || len(held) > 0 || len(ended) > 0 {
			t.Errorf("begun %d times; conditions %+v; ended %d", begun, held, len(ended))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%v", err)
		}
	})
}
