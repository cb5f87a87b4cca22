package device

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A server ends once those who talk to it have ended, so that they lose nothing; where it fails, all end.
func TestAServerEndsLast(t *testing.T) {
	broken := errors.New("no port is free")
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &Device{log: slog.New(slog.DiscardHandler)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			left := false
			client := actor{"client", func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second) // it says goodbye
				left = true
				return ctx.Err()
			}}
			quick := actor{"quick", func(context.Context) error { return nil }}
			server := actor{"server", func(ctx context.Context) error {
				if fails {
					return broken
				}
				<-ctx.Done()
				if !left {
					t.Error("the server has ended before its client")
				}
				return nil
			}}
			if !fails {
				time.AfterFunc(time.Minute, cancel)
			}
			err := d.together(ctx, cancel, []actor{quick, client}, []actor{server})
			if want := map[bool]error{true: broken}[fails]; !errors.Is(err, want) || !left {
				t.Errorf("ended with %v, the client with it: %v; want %v", err, left, want)
			}
		})
	}
}
