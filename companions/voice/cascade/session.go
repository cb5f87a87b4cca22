package cascade

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// chain says whether there is anybody to ask, and when that is looked at again.
//
//	down ──(probe)──> all three answer, and have loaded what they need ──> up ──(a stage fails)──> down
//
// A probe that fails tells why, once, and is made again after a while, for ever (kit.Backoff). What a stage refused in a turn is tried by
// the probe in the same way, so that a chain which cannot answer does not look as if it could.
type chain struct {
	kit.Backoff
	state   chainState
	told    kit.Told
	probing context.CancelFunc // nil: not now
	usedKey string
	failing turn.Words
	failed  int
	again   bool               // the probe was given up for the sake of a new one
	well    bool               // the probe was given up because the one beside it found all well
	beside  context.CancelFunc // of a second probe; nil: there is none
	besides turn.ID            // for which it was made
	warming bool               // a press has it made warm
}

type chainState uint8

const (
	chainDown chainState = iota
	chainUp
)

// probe looks whether the chain is there, when its time has come.
func (r *conversation) probe() {
	c := &r.chain
	if c.state == chainUp || c.probing != nil {
		return
	}
	if wait := time.Until(c.At); wait > 0 {
		if !c.Slow || r.c.keys() == c.usedKey {
			r.wakeAt(time.Now().Add(min(wait, kit.KeyLook)))
			return
		}
		c.Slow = false // somebody mended the key
	}
	if r.cfg.Hold != nil {
		if say := r.cfg.Hold(); say != "" {
			c.told.Lost(turn.SessionLost{At: r.out.Now(), Say: say, Fatal: true})
			r.wakeAt(time.Now().Add(kit.KeyLook))
			return
		}
	}
	c.usedKey, c.Last = r.c.keys(), time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, loadLimit)
	c.probing = cancel
	r.try(ctx, cancel, r.probed)
}

// try has all three asked for a little, and tells what came of it.
func (r *conversation) try(ctx context.Context, cancel context.CancelFunc, then func(error)) {
	messages, tools := chatOf(r.cfg.Instructions, r.history.Entries, "", r.c.mind.traits().System), r.c.Wished().Tools
	r.wg.Go(func() {
		defer cancel()
		err := r.c.look(ctx)
		if err == nil {
			err = all(func() error { return r.c.mind.warmWith(ctx, messages, tools) }, func() error { return r.c.earWarm(ctx) },
				func() error { return r.c.mouthWarm(ctx) })
		}
		r.later(func() { then(err) })
	})
}

// hangs is how long a probe gets no answer before it may be one that was lost in a server which is well by now.
const hangs = 30 * time.Second

// hurry is for a person who waits: the next probe is made at once. Where one has been waiting for long, a second is made beside it, once a
// turn: it is not given up for that, since some servers give up loading a model with the request that wanted it.
func (r *conversation) hurry(t turn.ID) {
	c := &r.chain
	c.Hurry(t)
	if c.probing == nil || c.beside != nil || c.besides == t || time.Since(c.Last) < hangs {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, hangs)
	c.beside, c.besides = cancel, t
	r.try(ctx, cancel, func(err error) {
		c.beside = nil
		if err == nil && c.probing != nil {
			c.well = true
			c.probing()
		}
	})
}

// nudge: the world has changed. What waits for the next probe is tried at once, and one that was made into the world before is given up.
func (r *conversation) nudge() {
	c := &r.chain
	c.Anew(time.Now())
	r.mending.Anew(time.Now())
	if c.probing != nil {
		c.again = true
		c.probing()
	}
}

// all runs these at once, and gives the first error in their order.
func all(of ...func() error) error {
	errs := make([]error, len(of))
	var wg sync.WaitGroup
	for i, f := range of {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// look asks all servers for their lists of models: they answer, they take the key, and what they have is known.
func (c *Client) look(ctx context.Context) error {
	return all(func() error {
		l, err := c.mind.list(ctx)
		if err != nil {
			return err
		}
		c.learn(l)
		return nil
	}, func() error { return c.without(&c.deaf, c.ear.ready(ctx), c.byEar()) }, func() error { return c.without(&c.mute, c.mouth.ready(ctx), c.byMouth()) })
}

// learn takes from a list of models what nobody has configured.
func (c *Client) learn(l listed) {
	if c.cfg.Model == "" && len(l.models) > 0 {
		model := chatModel(l.models)
		c.model.Store(&model)
	}
	if room := l.rooms[c.mind.model()]; room > 0 {
		c.mind.fits(room)
	} else if len(l.models) == 1 { // llama-server takes any name for its own
		c.mind.fits(l.rooms[l.models[0]])
	}
	if c.cfg.chat.guessed {
		if p, ok := profileByName(evidence(l.owners, l.server)); ok && p.Name != c.mind.traits().Name {
			c.mind.learn(p)
		}
	}
}

// probed is the end of a probe.
func (r *conversation) probed(err error) {
	c := &r.chain
	c.probing = nil
	again := c.again
	if c.well {
		err = nil
	}
	c.again, c.well = false, false
	if c.beside != nil {
		c.beside()
	}
	if err != nil && again {
		return // step begins the next
	}
	if err == nil {
		c.state, c.failing, c.failed = chainUp, "", 0
		c.Lasted(time.Hour)
		parts, _ := r.c.mind.lacks()
		r.log.Info(logReady, "model", r.c.mind.model(), "profile", r.c.mind.traits().Name, "without", parts)
		r.tellOut()
		c.told.Ready()
		return
	}
	r.fail(r.lostBy(err), err)
}

// lostBy is what is told about a chain that failed so.
func (r *conversation) lostBy(err error) turn.SessionLost {
	l := turn.SessionLost{At: r.out.Now()}
	l.Say, l.Fatal = kit.WordsOf(err, r.cfg.Wall())
	l.Why, l.Do = readable(err), remedy(err, l.Say)
	return l
}

// remedy is what to do about an error, where it shows more than the words do; "": it does not.
func remedy(err error, say turn.Words) string {
	var (
		late *slow
		gone *missing
		bare *keyless
		bad  *unusable
	)
	switch {
	case kit.Loading(err):
		return "wait: the server loads its model; it is asked again by itself"
	case say == turn.WordsNoAnswer && errors.As(err, &late):
		return "wait: the server is slow, or loads its model; if it is always as slow, raise turn.commit_s (see: conch doctor)"
	case say == turn.WordsNoAnswer:
		return "look at the server: its answers break off, or have nothing in them (see: conch doctor); it is tried again by itself"
	case say == turn.WordsServerError && errors.As(err, &gone):
		return "install it, or set " + gone.setting + " to another (see: conch doctor); it is looked for again by itself"
	case say == turn.WordsServerError && errors.As(err, &bad):
		return "what comes cannot be used: look at that server or program, or name another (see: conch doctor); it is tried again by itself"
	case say == turn.WordsKeyRefused && errors.As(err, &bare):
		return bare.do()
	}
	return ""
}

// lose gives the chain up until a probe finds it well.
func (r *conversation) lose(l turn.SessionLost, err error) {
	if r.chain.state == chainUp {
		r.log.Warn(logLost, "err", err, "say", l.Say)
	}
	r.chain.state = chainDown
	r.fail(l, err)
}

func (r *conversation) fail(l turn.SessionLost, err error) {
	c := &r.chain
	var no *kit.RefusalError
	hinted := errors.As(err, &no) && no.After > 0 && !l.Fatal
	c.Fail(time.Now(), !hinted && (l.Fatal || kit.Waits(l.Say)), rand.N)
	if hinted {
		c.Hint(time.Now(), no.After, rand.N)
	}
	if l.Say != c.failing {
		c.failing, c.failed = l.Say, 0
	}
	if c.failed++; c.failed&(c.failed-1) == 0 {
		r.log.Warn(logRetry, "err", err, "times", c.failed, "in", time.Until(c.At).Round(time.Millisecond))
	}
	r.wakeAt(c.At)
	if l.Say.Unreached() && r.cfg.ear.url == nil { // who hears is this machine
		l.Say = turn.WordsHearOnly
	}
	c.told.Lost(l)
}

// waits says that a question which failed so is asked again once the chain is there: nobody was reached, or a model is being loaded.
func (r *conversation) waits(err error, say turn.Words) bool {
	var late *slow
	var no *kit.RefusalError
	switch {
	case errors.As(err, &late):
		return !late.begun && !r.c.mind.profile.Vendor
	case errors.As(err, &no):
		return no.Status == 503
	}
	return say.Unreached() && !errors.Is(err, context.Canceled)
}

// warm has stages that may have been forgotten made ready while a person speaks.
func (r *conversation) warm() {
	now := time.Now()
	mind, ear, mouth := r.c.mind.cold(now), r.c.deaf.why() == nil && r.c.ear.cold(now), r.c.mute.why() == nil && r.c.mouth.cold(now)
	if r.chain.state != chainUp || r.chain.warming || !mind && !ear && !mouth {
		return
	}
	r.chain.warming = true
	messages, tools := chatOf(r.cfg.Instructions, r.history.Entries, "", r.c.mind.traits().System), r.c.Wished().Tools
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(r.ctx, loadLimit)
		defer cancel()
		// In the order in which they are needed; what fails here will be told when it is asked in earnest.
		_ = all(func() error {
			if ear {
				return r.c.ear.warm(ctx)
			}
			return nil
		}, func() error {
			if mind {
				return r.c.mind.warmWith(ctx, messages, tools)
			}
			return nil
		}, func() error {
			if mouth {
				return r.c.mouth.warm(ctx)
			}
			return nil
		})
		r.later(func() { r.chain.warming = false })
	})
}
