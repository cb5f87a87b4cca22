package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"conch/coordinator/turn"
)

// Log events of this package.
const (
	logReady      = "session.ready"
	logLost       = "session.lost"
	logRenewed    = "session.renewed"
	logRetry      = "session.retry"
	logGarbage    = "wire.garbage"
	logUnknown    = "wire.unknown"
	logError      = "server.error"
	logStale      = "delta.stale"
	logUtterance  = "utterance.dropped"
	logResent     = "utterance.resent"
	logImpatient  = "create.impatient"
	logUnbidden   = "response.unbidden"
	logTooLong    = "response.too_long"
	logFailed     = "response.failed"
	logCall       = "call.unknown"
	logUsage      = "usage.turn"
	logCeiling    = "usage.ceiling"
	logSave       = "usage.save"
	logTruncate   = "truncate.skipped"
	logTranscribe = "transcription.failed"
	logOverflow   = "orders.overflow"
)

// run is the conversation. Everything in it is owned by the goroutine of Run.
type run struct {
	c   *Client
	cfg *Config
	out Outlet
	log *slog.Logger
	ctx context.Context
	wg  sync.WaitGroup // openers, pumps, closers, the saver

	// The connection.
	link     *link // nil while there is none
	spare    *link // a renewed session, until the conversation rests
	opened   chan opening
	opening  bool
	retryAt  time.Time
	attempt  int
	slow     bool   // the last attempt was refused
	usedKey  string // at the last attempt
	ready    bool   // SessionReady was the last thing told
	lastLost *turn.SessionLost
	owed     *turn.SessionLost // told when the answer that is complete has been spoken, unless mended before
	active   time.Time         // something of a conversation happened
	alarm    time.Time         // when step must run again without a cause

	// What the turn asked for: plan[:next] was sent in this session.
	plan    []op
	next    int
	resend  bool    // a part of the plan went out in a session that was lost
	settled turn.ID // the latest turn whose answer was heard of, or was refused: it is not asked for again
	gate    time.Time
	voice   turn.ID // whose utterance is being sent
	spoken  int     // samples of it already sent
	down    *down
	history history

	// This session's wire.
	pending   [][]byte // encoded, in order, for the writer
	seen      seen
	sent      sentEvents
	commits   []turn.ID // sent, not acknowledged
	creates   []create  // sent, no response.created yet
	calls     map[turn.CallID]callInfo
	items     map[turn.ItemID]*itemInfo
	responses map[turn.ResponseID]*response
	finished  chan *response
	counts    Counters

	scratch []int16
	raw     []byte
	eventNo uint64
}

// Counters are of what was passed over, since Run began.
type Counters struct{ Garbage, Unknown, Duplicate, Stale int }

type op struct {
	order turn.Order
	tries int
}

// opening is what an opener brings back.
type opening struct {
	link *link
	err  error
}

func newRun(ctx context.Context, c *Client, out Outlet) *run {
	r := &run{
		c: c, cfg: &c.cfg, out: out, log: c.log, ctx: ctx,
		opened: make(chan opening, 1), finished: make(chan *response, 8),
		responses: map[turn.ResponseID]*response{}, scratch: make([]int16, 0, rate/10), active: time.Now(),
	}
	if c.cfg.Dialect.Rate != rate {
		r.down = newDown()
	}
	r.forget()
	r.wg.Go(func() { c.saver(ctx) })
	return r
}

// forget begins an empty session.
func (r *run) forget() {
	r.pending, r.commits, r.creates = nil, nil, nil
	r.seen, r.sent = seen{}, sentEvents{}
	r.calls, r.items = map[turn.CallID]callInfo{}, map[turn.ItemID]*itemInfo{}
	r.voice, r.spoken, r.gate = "", 0, time.Time{}
	r.counts.Garbage = 0
}

func (r *run) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.step()
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
	for _, l := range []*link{r.link, r.spare} {
		if l != nil {
			l.close()
		}
	}
	r.wg.Wait()
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
	r.connect()
	r.renew()
	if r.link != nil {
		if specs, version := r.c.currentTools(); r.link.tools != version {
			r.link.tools = version
			r.send(sentEvent{kind: sentSession}, func(id string) any { return r.cfg.retool(id, specs) })
		}
	}
	r.advance()
}

func (r *run) at(t time.Time) {
	if t.Before(r.alarm) {
		r.alarm = t
	}
}

// connect opens a session when there is none and its time has come.
func (r *run) connect() {
	if r.link != nil || r.opening {
		return
	}
	if r.spare != nil {
		l := r.spare
		r.spare = nil
		r.begin(l)
		return
	}
	if wait := time.Until(r.retryAt); wait > 0 {
		if r.slow && r.cfg.Key() != r.usedKey { // somebody mended the key
			r.slow = false
		} else {
			if r.slow {
				r.at(time.Now().Add(min(wait, keyLook)))
			} else {
				r.at(r.retryAt)
			}
			return
		}
	}
	r.open()
}

func (r *run) open() {
	r.opening, r.usedKey = true, r.cfg.Key()
	key := r.usedKey
	specs, version := r.c.currentTools()
	r.wg.Go(func() {
		l, err := r.cfg.open(r.ctx, key, specs)
		if l != nil {
			l.tools = version
		}
		r.opened <- opening{l, err} // of one, and one opener at a time
	})
}

func (r *run) adopt(o opening) {
	r.opening = false
	if o.err == nil {
		if r.link != nil {
			r.spare = o.link
		} else {
			r.begin(o.link)
		}
		return
	}
	if r.ctx.Err() != nil {
		return
	}
	lost := turn.SessionLost{At: r.out.Now(), Say: turn.WordsOffline}
	var no *refused
	if errors.As(o.err, &no) {
		lost.Say, lost.Fatal = no.words()
	}
	r.backoff(lost.Fatal || lost.Say == turn.WordsQuota)
	r.log.Warn(logRetry, "err", o.err, "in", time.Until(r.retryAt).Round(time.Millisecond))
	if r.link == nil {
		r.tell(lost)
	}
}

// backoff sets the next attempt: 150 ms to 5 s, doubled each time, half of it by chance (turns.md 6).
func (r *run) backoff(slow bool) {
	wait := min(backoffMin<<min(r.attempt, 10), backoffMax)
	r.attempt++
	if r.slow = slow; slow {
		wait = backoffRefused
	}
	r.retryAt = time.Now().Add(wait/2 + rand.N(wait/2))
}

// begin makes l the session: what was said before, then what the turn still asks for.
func (r *run) begin(l *link) {
	r.forget()
	r.link = l
	r.owed = nil
	again := map[turn.ID]bool{}
	for _, o := range r.plan {
		again[turnOf(o.order)] = true
	}
	r.history.carry(again)
	for _, e := range r.history.entries {
		r.send(sentEvent{kind: sentHistory}, func(id string) any { return r.cfg.text(id, e.role, e.text) })
	}
	if r.resend {
		r.log.Info(logResent, "turn", turnOf(r.plan[len(r.plan)-1].order), "requests", len(r.plan))
	}
	r.next, r.resend = 0, false
	r.log.Info(logReady, "server", r.cfg.URL, "carried", len(r.history.entries))
	if !r.ready {
		r.ready, r.lastLost = true, nil
		r.out.Post(turn.SessionReady{At: r.out.Now()})
	}
}

// died hears the link's last messages, then lets it go.
func (r *run) died() {
	l := r.link
	for r.link == l {
		select {
		case m := <-l.in:
			r.receive(m)
			continue
		default:
		}
		r.drop(context.Cause(l.ctx))
	}
}

// drop gives the session up.
func (r *run) drop(why error) {
	l := r.link
	if l == nil {
		return
	}
	r.link = nil
	r.wg.Go(l.close)
	say := turn.WordsOffline
	speaking := false
	for id, resp := range r.responses {
		switch {
		case resp.ended:
			speaking = true // the answer is complete and is still being spoken
		default:
			if !resp.cancelled && resp.begun() {
				say = turn.WordsLostMidway
				r.answerBegan(resp.turn)
				r.cutShort(resp)
			}
			resp.stopPump()
			delete(r.responses, id)
		}
	}
	// What the answer of a turn still wanted (tool outputs, a further answer) went with the session.
	keep := r.plan[:0]
	for _, o := range r.plan {
		if t := turnOf(o.order); t != r.settled || t == "" {
			keep = append(keep, o)
		}
	}
	r.resend = r.next > 0 && len(keep) > 0
	r.plan, r.next = keep, 0
	if time.Since(l.born) >= stableAfter {
		r.attempt = 0
	}
	r.backoff(false)
	lost := turn.SessionLost{At: r.out.Now(), Say: say}
	var no *refused
	if errors.As(why, &no) {
		lost.Say, lost.Fatal = no.words()
		if no.code == codeExpired {
			lost.Say = turn.WordsOffline
			r.retryAt = time.Now()
		}
		if lost.Fatal || lost.Say == turn.WordsQuota {
			r.backoff(true)
		}
	}
	r.log.Warn(logLost, "err", why, "age", time.Since(l.born).Round(time.Second), "in", time.Until(r.retryAt).Round(time.Millisecond))
	r.forget()
	if speaking && !lost.Fatal {
		r.owed = &lost
		return
	}
	r.tell(lost)
}

// cutShort keeps of an answer that broke off no more words than were handed to the speaker.
func (r *run) cutShort(p *response) {
	if p.pump == nil {
		return
	}
	for id, it := range r.items {
		if it.turn == p.turn && it.received > 0 {
			r.history.cut(id, int(p.pump.handed.Load()), it.received)
		}
	}
}

// tell posts SessionLost, once until something changes.
func (r *run) tell(lost turn.SessionLost) {
	if l := r.lastLost; l != nil && (l.Say == lost.Say || l.Say == turn.WordsLostMidway && lost.Say == turn.WordsOffline) {
		return
	}
	r.owed = nil
	r.ready, r.lastLost = false, &lost
	r.out.Post(lost)
}

// renew opens the next session while nothing happens, long before the server ends this one (60 min), and changes over.
func (r *run) renew() {
	if r.link == nil {
		return
	}
	due := r.link.born.Add(r.cfg.RenewAfter)
	if wait := time.Until(due); wait > 0 {
		r.at(due)
		return
	}
	if !r.idle() {
		if time.Since(r.active) > abandonAfter && len(r.pending) == 0 {
			r.log.Warn(logImpatient, "busy", r.busy())
			r.abandon()
			r.commits = nil
		}
		r.at(time.Now().Add(time.Second))
		return
	}
	if quiet := time.Until(r.active.Add(renewQuiet)); quiet > 0 {
		r.at(r.active.Add(renewQuiet))
		return
	}
	switch {
	case r.spare != nil:
		old := r.link
		l := r.spare
		r.spare = nil
		if l.ctx.Err() != nil {
			r.wg.Go(l.close)
			return
		}
		r.plan, r.next = nil, 0
		r.wg.Go(old.close)
		r.begin(l)
		r.log.Info(logRenewed, "age", time.Since(old.born).Round(time.Second))
	case !r.opening && time.Now().After(r.retryAt):
		r.open()
	default:
		r.at(time.Now().Add(time.Second))
	}
}

func (r *run) idle() bool {
	return len(r.responses) == 0 && len(r.creates) == 0 && len(r.commits) == 0 && r.next == len(r.plan) && len(r.pending) == 0
}

// send encodes an event under a new id. A writer that takes nothing any more costs the session.
func (r *run) send(s sentEvent, encode func(id string) any) {
	if r.link == nil {
		return
	}
	r.eventNo++
	s.id = "conch_" + strconv.FormatUint(r.eventNo, 10)
	b, err := json.Marshal(encode(s.id))
	if err != nil {
		r.log.Error(logGarbage, "err", fmt.Errorf("encode: %w", err))
		return
	}
	if len(r.pending) >= maxPending {
		r.drop(errors.New("the server does not read"))
		return
	}
	r.sent.add(s)
	r.pending = append(r.pending, b)
}
