package realtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// run is the conversation. Everything in it is owned by the goroutine of Run.
type run struct {
	c   *Client
	cfg *Config
	out voice.Outlet
	log *slog.Logger
	ctx context.Context
	wg  sync.WaitGroup // openers, pumps, closers, the saver

	// The connection.
	link      *link   // nil while there is none
	d         Dialect // of the present session
	spare     *link   // a renewed session, until the conversation rests
	opened    chan opening
	opening   bool
	giveUp    context.CancelFunc // of the attempt under way
	again     bool               // it was given up for the sake of a new one
	retryAt   time.Time
	tried     time.Time // the last attempt began
	notBefore time.Time // the server wants none earlier
	hurried   turn.ID   // the turn for which one was made at once
	attempt   int
	without   parts      // what the next attempt leaves out
	slow      bool       // the last attempt was refused
	usedKey   string     // at the last attempt
	failing   turn.Words // why attempts fail, and how many of them in a row did for that
	failed    int
	ready     bool // SessionReady was the last thing told
	lastLost  *turn.SessionLost
	toldAt    time.Time
	owed      *turn.SessionLost // told when what came of the answer has been handed over, unless mended before
	active    time.Time         // something of a conversation happened
	alarm     time.Time         // when step must run again without a cause

	// What the turn asked for: plan[:next] was sent in this session.
	plan    []op
	next    int
	resend  bool    // a part of the plan went out in a session that was lost
	resent  turn.ID // the latest turn whose requests were sent again: not a third time
	settled turn.ID // the latest turn whose answer was heard of, or was refused: it is not asked for again
	gate    time.Time
	voice   turn.ID // whose utterance is being sent
	spoken  int     // samples of it already sent
	down    *down
	history history
	lost    map[turn.ItemID]*itemInfo // of sessions that are gone: speech that may still be playing; see broken.go
	kept    uint64                    // changes of the history that were handed over
	keptAt  time.Time                 // when
	toKeep  chan []voice.Line
	keepers sync.WaitGroup

	// This session's wire.
	pending   [][]byte // encoded, in order, for the writer
	seen      seen
	sent      sentEvents
	commits   []turn.ID // sent, not acknowledged
	unheard   []unheard // acknowledged, not transcribed
	silence   silence
	creates   []create // sent, no response.created yet
	calls     map[turn.CallID]callInfo
	items     map[turn.ItemID]*itemInfo
	born      uint64 // how many of these three there have been
	responses map[turn.ResponseID]*response
	finished  chan *response
	counts    Counters
	garbled   [maxGarbage]time.Time // when the latest that cannot be read came; by their count

	scratch []int16
	raw     []byte
	eventNo uint64
}

// Counters are of what was passed over, since Run began.
type Counters struct{ Garbage, Unknown, Duplicate, Stale, Errors, Unbidden int }

func newRun(ctx context.Context, c *Client, out voice.Outlet) *run {
	r := &run{
		c: c, cfg: &c.cfg, out: out, log: c.log, ctx: ctx,
		opened: make(chan opening, 1), finished: make(chan *response, 8),
		responses: map[turn.ResponseID]*response{}, scratch: make([]int16, 0, rate/10), active: time.Now(),
	}
	r.speaking(c.cfg.Dialect)
	r.forget()
	r.history.recall(c.cfg.Recall)
	r.toKeep = make(chan []voice.Line, 1)
	if c.cfg.Keep != nil {
		r.keepers.Go(r.keeper)
	}
	r.wg.Go(func() { c.saver(ctx) })
	return r
}

// forget begins an empty session.
func (r *run) forget() {
	r.pending, r.commits, r.creates, r.unheard = nil, nil, nil, nil
	r.seen, r.sent = seen{}, sentEvents{}
	r.calls, r.items = map[turn.CallID]callInfo{}, map[turn.ItemID]*itemInfo{}
	r.voice, r.spoken, r.gate = "", 0, time.Time{}
	r.counts.Garbage, r.counts.Unbidden = 0, 0
	clear(r.garbled[:])
}

func (r *run) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.step()
		r.keep()
		timer.Reset(time.Until(r.alarm))
		var in <-chan message
		var dead <-chan struct{}
		var out chan<- []byte
		var frame []byte
		if r.link != nil {
			in, dead = r.link.in, r.link.ctx.Done()
			if len(r.pending) > 0 {
				out, frame = r.link.out, r.pending[0]
			}
		}
		select {
		case <-r.ctx.Done():
		case <-r.c.wake:
		case m := <-in:
			r.receive(m)
		case out <- frame:
			r.pending = r.pending[:copy(r.pending, r.pending[1:])]
		case <-dead:
			r.died()
		case o := <-r.opened:
			r.adopt(o)
		case resp := <-r.finished:
			resp.pumped, r.active = true, time.Now()
			r.settle(resp)
		case <-timer.C:
		}
	}
}

// shutdown ends everything that was started and waits for it.
func (r *run) shutdown(cancel context.CancelFunc) {
	cancel()
	if r.cfg.Keep != nil && r.history.changes != r.kept {
		r.keepNow()
	}
	close(r.toKeep)
	for _, l := range []*link{r.link, r.spare} {
		if l != nil {
			l.close()
		}
	}
	r.wg.Wait()
	r.keepers.Wait()
	select {
	case o := <-r.opened:
		if o.link != nil {
			o.link.close()
		}
	default:
	}
}

// step does all that can be done now.
func (r *run) step() {
	r.alarm = time.Now().Add(time.Hour)
	orders, overflow := r.c.takeOrders()
	for _, o := range orders {
		r.take(o)
	}
	if overflow {
		r.log.Error(logOverflow, "limit", maxOrders)
		r.plan, r.next = nil, 0
		r.drop(errors.New("orders came faster than they could be carried out"))
	}
	r.nudge()
	r.connect()
	r.renew()
	if r.link != nil {
		if specs, version := r.c.currentTools(); r.link.tools != version {
			r.link.tools = version
			r.send(sentEvent{kind: sentSession}, func(id string) any { return r.d.retool(id, specs) })
		}
	}
	r.advance()
	r.sendSilence()
}

func (r *run) at(t time.Time) {
	if t.Before(r.alarm) {
		r.alarm = t
	}
}
