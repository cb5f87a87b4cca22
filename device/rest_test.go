package device

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is returned once each time that the device begins to idle, and never beside a turn.
func TestMemoryIsReturnedWhenTheDeviceIdles(t *testing.T) {
	type step struct {
		quiet bool
		turns uint64
		freed int // in all, after that look
	}
	for name, steps := range map[string][]step{
		"a start":                    {{true, 0, 0}, {true, 0, 1}, {true, 0, 1}, {true, 0, 1}},
		"a start with a turn":        {{false, 0, 0}, {false, 0, 0}, {true, 1, 0}, {true, 1, 1}, {true, 1, 1}},
		"a turn between two looks":   {{true, 0, 0}, {true, 0, 1}, {true, 1, 1}, {true, 1, 2}, {true, 1, 2}},
		"sound that is no turn":      {{true, 0, 0}, {true, 0, 1}, {false, 0, 1}, {true, 0, 1}, {true, 0, 2}},
		"turns that do not let rest": {{true, 1, 0}, {true, 2, 0}, {true, 3, 0}, {true, 4, 0}, {true, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var now step
				freed := 0
				r := rest{quiet: func() bool { return now.quiet }, turns: func() uint64 { return now.turns }, free: func() { freed++ }}
				ended := make(chan error)
				go func() { ended <- r.run(ctx) }()
				for i, s := range steps {
					synctest.Wait()
					now = s
					time.Sleep(restTick)
					synctest.Wait()
					if freed != s.freed {
						t.Errorf("look %d: returned %d times; want %d", i+1, freed, s.freed)
					}
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
