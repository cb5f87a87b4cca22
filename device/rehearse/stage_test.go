package rehearse

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"conch/device/config"
)

// A rehearsal may end, or its script kill a device, at the very moment at which that one begins anew: that is no failure, and no
// device lives on.
func TestEndWhileADeviceBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*run, func() error) error{
		"the rehearsal ends": func(_ *run, stop func() error) error { return stop() },
		"it is killed": func(p *run, stop func() error) error {
			if err := p.stages[0].kill(); err != nil {
				return err
			}
			return stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &amid{at: "device.restart", reached: make(chan struct{}), on: make(chan struct{})}
			room := DefaultRoom()
			room.Devices, room.Strangers = room.Devices[:1], true
			p, stop, err := Rehearsal{Config: config.Default(), Room: room, Log: slog.New(log)}.raise(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			l := p.stages[0].instance.Load()
			context.AfterFunc(l.ctx, func() { close(log.on) })
			if err := p.wait(l.ctx, time.Minute, p.idle, "idle"); err != nil {
				t.Fatal(err)
			}
			l.device.Pairing().Restart(l.ctx)
			<-log.reached
			if p.idle() {
				t.Error("the room is idle while a device begins anew")
			}
			if err := end(p, stop); err != nil {
				t.Errorf("ended with: %v", err)
			}
			if l := p.stages[0].instance.Load(); l != nil {
				t.Error("a device lives on")
			}
		})
	}
}

// amid is a log that stops whoever writes one event, until on is closed.
type amid struct {
	slog.Handler // none: what is not overridden is not called
	at           string
	once         sync.Once
	reached, on  chan struct{}
}

func (a *amid) Enabled(context.Context, slog.Level) bool { return true }
func (a *amid) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a *amid) WithGroup(string) slog.Handler            { return a }
func (a *amid) Handle(_ context.Context, r slog.Record) error {
	if r.Message == a.at {
		a.once.Do(func() { close(a.reached) })
		<-a.on
	}
	return nil
}
