package cascade

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// standin is a stage that cannot do its part, and what of this machine does it meanwhile. Its methods may be called from any goroutine.
//
//	well ──(a probe or a turn finds that it cannot)──> out: this machine does it ──(it was looked at again, and is well)──> well
type standin struct {
	setting string // who names the stage: voice.hear

	mu       sync.Mutex
	err      error // why it cannot; nil: it can
	answered bool  // since then: whether it can is to be seen
}

// why it is out; nil: it is not.
func (s *standin) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// set notes that it is out because of err, or well; turned: that is new.
func (s *standin) set(err error) (turned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turned = (err == nil) != (s.err == nil)
	s.err, s.answered = err, false
	return turned
}

// answers notes that it is there.
func (s *standin) answers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
}

// gone says that it is out, and does not even answer.
func (s *standin) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil && !s.answered
}

// without: a stage that this machine can do keeps nobody from asking, whatever is wrong with it.
func (c *Client) without(s *standin, err error, here fmt.Stringer) error {
	if err == nil {
		s.answers()
		return nil
	}
	if here == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if s.set(err) {
		c.cfg.Log.Warn(logLocal, "for", s.setting, "by", here.String(), "err", err)
	}
	return nil
}

// well notes that a stage does its part.
func (c *Client) well(s *standin) {
	if s.set(nil) {
		c.cfg.Log.Info(logMended, "for", s.setting)
	}
}

// byEar and byMouth are what of this machine hears and speaks in place of the others; nil: there is nothing.
func (c *Client) byEar() fmt.Stringer {
	if c.heres == nil {
		return nil
	}
	return c.heres
}

func (c *Client) byMouth() fmt.Stringer {
	if c.here == nil {
		return nil
	}
	return c.here
}

// earWarm has who hears made ready, within the patience of a turn where this machine can do it meanwhile.
func (c *Client) earWarm(ctx context.Context) error {
	if c.heres == nil {
		return c.ear.warm(ctx)
	}
	limit := c.cfg.first()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &slow{"a transcript", limit, false})
	defer cancel()
	return c.warmed(ctx, &c.deaf, c.ear, c.byEar())
}

func (c *Client) mouthWarm(ctx context.Context) error {
	if c.here == nil {
		return c.mouth.warm(ctx)
	}
	return c.warmed(ctx, &c.mute, c.mouth, c.byMouth())
}

// warmed has a stage made ready that this machine can do.
func (c *Client) warmed(ctx context.Context, s *standin, of stage, here fmt.Stringer) error {
	if s.gone() {
		return nil // this probe has just found that
	}
	err := of.warm(ctx)
	if err != nil {
		return c.without(s, err, here)
	}
	c.well(s)
	return nil
}

// mending looks at the stages that are out, until they are well. Owned by Run.
type mending struct {
	kit.Backoff
	looking context.CancelFunc // nil: not now
	keys    string
}

// mend looks at the stages that are out when its time has come.
func (r *conversation) mend() {
	m, c := &r.mending, r.c
	deaf, mute := c.deaf.why(), c.mute.why()
	if r.chain.state != chainUp || m.looking != nil || deaf == nil && mute == nil {
		return
	}
	if wait := time.Until(m.At); wait > 0 {
		if !m.Slow || c.keys() == m.keys {
			r.wakeAt(time.Now().Add(min(wait, kit.KeyLook)))
			return
		}
		m.Slow = false // somebody mended the key
	}
	m.keys, m.Last = c.keys(), time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, loadLimit)
	m.looking = cancel
	r.wg.Go(func() {
		defer cancel()
		err := all(func() error { return c.mended(ctx, &c.deaf, c.ear) }, func() error { return c.mended(ctx, &c.mute, c.mouth) })
		r.later(func() {
			m.looking = nil
			if err == nil {
				m.Lasted(time.Hour)
			}
			r.tellOut()
		})
	})
}

// mended looks whether a stage that is out is well, and notes it.
func (c *Client) mended(ctx context.Context, s *standin, of stage) error {
	if s.why() == nil {
		return nil
	}
	err := of.ready(ctx)
	if err == nil {
		err = of.warm(ctx)
	}
	switch {
	case err == nil:
		c.well(s)
	case !errors.Is(err, context.Canceled):
		s.set(reason(ctx, err))
	}
	return err
}

// hurryMend is for a person who waits, as hurry is for a chain that is down.
func (r *conversation) hurryMend(t turn.ID) {
	m := &r.mending
	m.Hurry(t)
	if m.looking != nil && time.Since(m.Last) >= hangs {
		m.looking() // it may be one that was lost in a server which is well by now
	}
}

// tellOut tells what is out, beside what the conversation goes without, and when that is looked at again.
func (r *conversation) tellOut() {
	if r.chain.state != chainUp {
		return
	}
	parts, why := r.c.mind.lacks()
	fatal := false
	for _, x := range []struct {
		*standin
		by fmt.Stringer
	}{{&r.c.deaf, r.c.byEar()}, {&r.c.mute, r.c.byMouth()}} {
		err := x.why()
		if err == nil || x.by == nil {
			continue
		}
		parts = append(parts, x.setting+" (done by "+x.by.String()+" of this machine)")
		if why != "" {
			why += "; "
		}
		why += readable(err)
		say, only := kit.WordsOf(err, r.cfg.Wall())
		fatal = fatal || only || kit.Waits(say)
	}
	if r.c.deaf.why() != nil || r.c.mute.why() != nil {
		r.mending.Fail(time.Now(), fatal, rand.N)
		r.mending.keys = r.c.keys()
		r.wakeAt(r.mending.At)
	}
	if r.cfg.Omitted != nil {
		r.cfg.Omitted(parts, why)
	}
}
