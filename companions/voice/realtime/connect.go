package realtime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// connector opens sessions: one at a time, when backoff says so. Why there is none it tells the coordinator.
//
//	next ──> open ──> a goroutine: dial, greet ──> opened ──> attempted ─┬─> the session, or the spare one
//	  ^                                                                 └─> backoff
//	  └── nudge: the world has changed. A network is there, or the clock was set: what waits for the next attempt is tried at
//	      once, and an attempt that was made into the world before is given up for it.
//
// All but the goroutine of open belongs to Run.
type connector struct {
	cfg    *Config
	log    *slog.Logger
	ctx    context.Context
	wg     *sync.WaitGroup
	wished func() kit.Wishes
	clock  *clock
	told   kit.Told
	kit.Backoff

	opened  chan openResult
	opening bool
	giveUp  context.CancelFunc // of the attempt under way
	again   bool               // it was given up for the sake of a new one
	spare   *link              // a renewed session, until the conversation rests
	without parts              // what the next attempt leaves out
	usedKey string             // at the last attempt
	failing turn.Words         // why attempts fail, and how many of them in a row did for that
	failed  int
}

// openResult is what an opener brings back.
type openResult struct {
	link *link
	err  error
}

// next is the session to change over to where there is none, if one is ready. Otherwise one is opened when its time has come.
func (c *connector) next() *link {
	if c.opening {
		return nil
	}
	if l := c.spare; l != nil {
		c.spare = nil
		return l
	}
	if wait := time.Until(c.At); wait > 0 {
		switch {
		case !c.Slow:
			c.clock.wakeAt(c.At)
			return nil
		case c.cfg.Key() == c.usedKey:
			c.clock.wakeAt(time.Now().Add(min(wait, kit.KeyLook)))
			return nil
		}
		c.Slow = false // somebody mended the key
	}
	if !c.held() {
		c.open()
	}
	return nil
}

// held is asked before each attempt whether there is a reason to make none; if so it is told, and looked at again soon.
func (c *connector) held() bool {
	if c.cfg.Hold == nil {
		return false
	}
	say := c.cfg.Hold()
	if say == "" {
		return false
	}
	if c.failing != say {
		c.failing, c.failed = say, 0
		c.log.Warn(logRetry, "held", say)
	}
	c.told.Lost(turn.SessionLost{At: c.told.Out.Now(), Say: say, Fatal: true})
	c.clock.wakeAt(time.Now().Add(kit.KeyLook))
	return true
}

func (c *connector) open() {
	c.opening, c.usedKey, c.Last = true, c.cfg.Key(), time.Now()
	key := c.usedKey
	wished := c.wished()
	without := c.without
	silence := min(firstSilence*time.Duration(1+c.Failed()), handshakeTimeout)
	ctx, giveUp := context.WithCancel(c.ctx)
	c.giveUp = giveUp
	c.wg.Go(func() {
		defer giveUp()
		l, err := c.cfg.open(ctx, key, wished, without, silence)
		if l != nil {
			l.wished = wished
		}
		c.opened <- openResult{l, err} // of one, and one opener at a time
	})
}

// attempted takes the end of an attempt, and returns what there is to tell where that leaves no session.
func (c *connector) attempted(o openResult) (lost *turn.SessionLost) {
	c.opening = false
	again := c.again
	c.again = false
	if o.err != nil && again {
		return nil // step begins the next
	}
	c.without = 0
	if o.err == nil || c.ctx.Err() != nil {
		return nil
	}
	lost = &turn.SessionLost{At: c.told.Out.Now()}
	lost.Say, lost.Fatal = kit.WordsOf(o.err, c.cfg.Wall())
	var no *refused
	if errors.As(o.err, &no) && no.omit != 0 { // it hung up on what it refused; the next attempt leaves that out
		c.without = no.omit
		c.Fail(time.Now(), false, rand.N)
		c.retrying(lost.Say, o.err)
		return nil
	}
	hinted := no != nil && no.After > 0 && !lost.Fatal
	c.Fail(time.Now(), !hinted && (lost.Fatal || kit.Waits(lost.Say)), rand.N)
	if hinted {
		c.Hint(time.Now(), no.After, rand.N)
	}
	c.retrying(lost.Say, o.err)
	return lost
}

// retrying says why an attempt failed: when a person would be told something new, then at the 2nd, 4th, 8th … alike. A
// week without a network is some twenty lines, not a hundred thousand. (The text itself differs each time, by a port.)
func (c *connector) retrying(say turn.Words, err error) {
	if say != c.failing {
		c.failing, c.failed = say, 0
	}
	if c.failed++; c.failed&(c.failed-1) == 0 {
		c.log.Warn(logRetry, "err", err, "times", c.failed, "in", time.Until(c.At).Round(time.Millisecond))
	}
}

// broke says what is told about a session that was lost, and when the next one is tried.
func (c *connector) broke(age time.Duration, why error) turn.SessionLost {
	c.Lasted(age)
	c.Fail(time.Now(), false, rand.N)
	lost := turn.SessionLost{At: c.told.Out.Now(), Say: turn.WordsOffline}
	no := closing(why)
	if no != nil || errors.As(why, &no) {
		lost.Say, lost.Fatal = no.Words()
		if no.Code == codeExpired {
			lost.Say = turn.WordsOffline
			c.At = time.Now()
		}
		if lost.Fatal || kit.Waits(lost.Say) {
			c.Fail(time.Now(), true, rand.N)
		}
	}
	c.clock.wakeAt(c.At) // step may be beyond next
	c.log.Warn(logLost, "err", why, "age", age.Round(time.Second), "in", time.Until(c.At).Round(time.Millisecond))
	return lost
}

// nudge is for the time without a session: see above.
func (c *connector) nudge() {
	c.Anew(time.Now())
	if c.opening && c.giveUp != nil {
		c.again = true
		c.giveUp()
	}
}
