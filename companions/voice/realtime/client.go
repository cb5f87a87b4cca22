package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"conch/companions/voice"
	"conch/companions/voice/kit"
)

// Client is a voice. Its methods may be called from any goroutine, at any time; Run once at a time. More orders at once than an Inbox has room
// for, and the session is begun anew, which the coordinator hears as SessionLost.
type Client struct {
	*kit.Inbox
	cfg   Config // fixed after New
	log   *slog.Logger
	usage *kit.Meter

	running atomic.Bool
}

// New checks the configuration. Nothing is dialled before Run.
func New(cfg Config) (*Client, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	c := &Client{Inbox: cfg.Inbox, cfg: cfg, log: cfg.Log, usage: cfg.Meter}
	if c.Inbox == nil {
		c.Inbox = kit.NewInbox(samples(cfg.MaxUtterance))
	}
	if c.usage == nil {
		m, err := kit.NewMeter(c.cfg.metering())
		if err != nil {
			return nil, fmt.Errorf("realtime: %w", err)
		}
		c.usage = m
	}
	return c, nil
}

// Usage tells what was used today and in the latest turn.
func (c *Client) Usage() voice.Usage { return c.usage.Usage() }

// ResetUsage counts the day from zero, so that a ceiling that was reached gives way; when it returns nil, also after a restart.
func (c *Client) ResetUsage() error { return c.usage.Reset() }

var errTwice = errors.New("realtime: Run was called while it runs")

// Run connects, converses, and connects again for ever; it returns nil when ctx ends, after all it started has ended.
func (c *Client) Run(ctx context.Context, out voice.Outlet) error {
	if !c.running.CompareAndSwap(false, true) {
		return errTwice
	}
	defer c.running.Store(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRun(ctx, c, out)
	defer r.shutdown(cancel)
	r.loop()
	return nil
}
