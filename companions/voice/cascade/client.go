package cascade

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"conch/companions/voice"
	"conch/companions/voice/kit"
)

// Client is a voice. Its methods may be called from any goroutine, at any time; Run once at a time.
type Client struct {
	*kit.Inbox
	cfg   Config // fixed after New
	usage *kit.Meter
	model atomic.Pointer[string] // the one that was found, where none is named

	ear   ear
	mind  *mind
	mouth mouth
	here  mouth // of this machine, where the other one cannot; nil: there is none
	heres ear
	deaf  standin // for the ear
	mute  standin // for the mouth

	running atomic.Bool
}

// New checks the configuration. Nothing is asked before Run.
func New(cfg Config) (*Client, error) {
	if cfg.chat.url == nil {
		return nil, errors.New("cascade: a program cannot think: voice.url has to be an address")
	}
	cfg.defaults()
	c := &Client{Inbox: cfg.Inbox, cfg: cfg, usage: cfg.Meter}
	if c.Inbox == nil {
		c.Inbox = kit.NewInbox(samples(cfg.MaxUtterance))
	}
	if c.usage == nil {
		m, err := kit.NewMeter(cfg.Metering())
		if err != nil {
			return nil, fmt.Errorf("cascade: %w", err)
		}
		c.usage = m
	}
	c.model.Store(&cfg.Model)
	c.build()
	return c, nil
}

// build makes the stages. Those at one server share its way, so that one that serves one request at a time gets no second.
func (c *Client) build() {
	cfg, ways := &c.cfg, map[string]*web{}
	way := func(t target, stage string, own voice.Secret) *web {
		k := cfg.keyOf(t, stage, own)
		name := t.profile.Name + " " + t.url.String() + " " + k.from
		if ways[name] == nil {
			ways[name] = newWeb(t, cfg.Client, k)
		}
		return ways[name]
	}
	c.mind = newMind(way(cfg.chat, "", voice.Secret{}), func() string { return *c.model.Load() }, cfg.first(), idleLimit)
	c.deaf.setting, c.mute.setting = settingHear, settingSpeak
	if cfg.ear.url == nil {
		c.ear = newEarHere(cfg.ear, cfg.Languages)
	} else {
		c.ear = newEar(way(cfg.ear, "hear", cfg.EarKey), cfg.EarModel, cfg.Languages, cfg.first())
	}
	heard := english
	if len(cfg.Languages) > 0 {
		heard = cfg.Languages[0]
	}
	if t, ok := installed(hearing, cfg.ear.program, heard); ok {
		c.heres = newEarHere(t, cfg.Languages)
	}
	if cfg.mouth.url == nil {
		c.mouth = newMouthHere(cfg.mouth, cfg.Voice)
	} else {
		c.mouth = newMouth(way(cfg.mouth, "speak", cfg.MouthKey), cfg.MouthModel, cfg.Voice, cfg.first(), idleLimit, cfg.Decode)
	}
	if t, ok := installed(speaking, cfg.mouth.program, cfg.Language); ok {
		c.here = newMouthHere(t, t.voice(openAIVoices[0]))
	}
}

var errTwice = errors.New("cascade: Run was called while it runs")

// Run converses until ctx ends, after all it started has ended.
func (c *Client) Run(ctx context.Context, out voice.Outlet) error {
	if !c.running.CompareAndSwap(false, true) {
		return errTwice
	}
	defer c.running.Store(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newConversation(ctx, c, out)
	var wg sync.WaitGroup
	wg.Go(func() { c.usage.Run(ctx) })
	r.loop()
	cancel()
	r.wg.Wait()
	r.keeper.Last(&r.history)
	wg.Wait()
	c.cfg.Client.CloseIdleConnections()
	return nil
}
