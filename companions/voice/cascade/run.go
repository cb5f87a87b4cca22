package cascade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// conversation is what Run keeps. Everything in it is owned by the goroutine of Run; the others give it functions (do).
type conversation struct {
	c   *Client
	cfg *Config
	out voice.Outlet
	log *slog.Logger
	ctx context.Context
	wg  sync.WaitGroup
	do  chan func()

	alarm   time.Time
	chain   chain // whether there is anybody to ask
	mending mending
	history kit.History
	keeper  *kit.Keeper
	uttered []*utterance // latest last
	asked   []*asked
	answers map[turn.ResponseID]*answer
	spoken  []*spoken // that can still be cut, latest last
	number  int
	forgot  atomic.Bool // that the beginning of the talk is lost was said
}

// utterance is what a person said in a turn.
type utterance struct {
	turn   turn.ID
	item   turn.ItemID
	pcm    []int16
	stop   context.CancelFunc // nil: nobody listens to it now
	heard  bool
	tries  int
	commit time.Time
	took   time.Duration
}

// asked is an answer that is wanted, and has not begun.
type asked struct {
	turn.CreateResponse
	tries int
	at    time.Time
}

// Bounds; our choices.
const (
	minCommit    = kit.Rate / 10 // samples; less is no word
	mostUttered  = 4
	mostAsked    = 8
	mostTries    = 2 // of a stage in a turn, each within its own again()
	mostRemember = kit.MaxHistoryText / 4
)

func newConversation(ctx context.Context, c *Client, out voice.Outlet) *conversation {
	r := &conversation{c: c, cfg: &c.cfg, out: out, log: c.cfg.Log, ctx: ctx, do: make(chan func(), 16), answers: map[turn.ResponseID]*answer{},
		keeper: kit.NewKeeper(c.cfg.Keep, c.cfg.Log)}
	r.chain.told = kit.Told{Out: out}
	r.history.Recall(c.cfg.Recall)
	r.keeper.Start()
	return r
}

// later has Run do f; false: it has ended.
func (r *conversation) later(f func()) bool {
	select {
	case r.do <- f:
		return true
	case <-r.ctx.Done():
		return false
	}
}

func (r *conversation) wakeAt(t time.Time) {
	if t.Before(r.alarm) {
		r.alarm = t
	}
}

func (r *conversation) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.alarm = time.Now().Add(time.Hour)
		r.step()
		if later := r.keeper.Offer(&r.history, r.idle); !later.IsZero() {
			r.wakeAt(later)
		}
		timer.Reset(time.Until(r.alarm))
		select {
		case <-r.ctx.Done():
		case <-r.c.Wake:
		case f := <-r.do:
			f()
		case <-timer.C:
		}
	}
}

func (r *conversation) idle() bool { return len(r.answers) == 0 && len(r.asked) == 0 }

// step does all that can be done now.
func (r *conversation) step() {
	orders, overflow := r.c.Orders()
	for _, o := range orders {
		r.take(o)
	}
	if overflow { // what was lost may have been an end
		r.log.Error(logOverflow, "limit", kit.MaxOrders)
		r.forget("")
		for _, a := range r.answers {
			r.stop(a)
		}
		r.lose(turn.SessionLost{Say: turn.WordsOffline}, errors.New("orders came faster than they could be carried out"))
	}
	if r.c.Called() {
		r.nudge()
	}
	r.probe()
	r.mend()
	r.advance()
}

// take carries out an order, or notes what it asks for.
func (r *conversation) take(o turn.Order) {
	if r.chain.state != chainUp && turn.TurnOf(o) != "" {
		r.chain.told.TellOwed()
		r.hurry(turn.TurnOf(o))
	} else if turn.TurnOf(o) != "" {
		r.hurryMend(turn.TurnOf(o))
	}
	switch o := o.(type) {
	case turn.ClearInput:
		r.forget(o.Turn)
		r.warm()
	case turn.KeepInput:
		if o.Turn != "" {
			r.drop(o.Turn)
		}
	case turn.CommitInput:
		r.commit(o.Turn)
	case turn.AddText:
		text, role := o.Text, cmp.Or(o.Role, "user")
		if len(text) > mostRemember {
			text = strings.ToValidUTF8(text[:mostRemember], "") + " …"
		}
		if text != "" {
			r.history.Add(kit.Entry{Turn: o.Turn, Role: role, Text: text})
		}
	case turn.CreateResponse:
		r.want(o)
	case turn.CancelResponse:
		r.cancel(o)
	case turn.TruncateItem:
		r.truncate(o)
	case turn.DeleteItem:
		r.history.Remove(o.Item)
	case turn.SendToolOutput:
		r.history.Add(kit.Entry{Turn: o.Turn, Item: outputOf(o.Call), Role: roleOutput, Text: cmp.Or(shortened(o.Output), "(nothing)")})
	}
}

func shortened(text string) string {
	if len(text) > mostRemember {
		return strings.ToValidUTF8(text[:mostRemember], "") + " …"
	}
	return text
}

// forget is for a new utterance: nobody waits for what was asked before; what was said and is being heard remains part of the conversation.
func (r *conversation) forget(except turn.ID) {
	r.asked = nil
	for _, u := range slices.Clone(r.uttered) {
		if u.turn != except && !u.heard && u.stop == nil {
			r.log.Warn(logDropped, "turn", u.turn, "why", "a new one began before it could be heard")
			r.drop(u.turn)
		}
	}
}

// drop takes an utterance, and what was asked of it, back.
func (r *conversation) drop(t turn.ID) {
	r.asked = slices.DeleteFunc(r.asked, func(a *asked) bool { return a.Turn == t })
	r.uttered = slices.DeleteFunc(r.uttered, func(u *utterance) bool {
		if u.turn != t || u.heard {
			return false
		}
		if u.stop != nil {
			u.stop()
		}
		r.history.Remove(u.item)
		return true
	})
}

func (r *conversation) next(kind string) string {
	r.number++
	return fmt.Sprintf("%s-%d", kind, r.number)
}

func (r *conversation) commit(t turn.ID) {
	n, lost, ok := r.c.Said.Size(t)
	if !ok || n < minCommit {
		r.log.Info(logDropped, "turn", t, "samples", n, "why", "shorter than a word")
		r.refuseInput(t)
		return
	}
	if lost > 0 {
		r.log.Warn(logDropped, "turn", t, "samples", lost, "why", "longer than MaxUtterance")
	}
	pcm, _ := r.c.Said.From(t, 0, make([]int16, 0, n))
	u := &utterance{turn: t, item: turn.ItemID(r.next("heard")), pcm: pcm, commit: time.Now()}
	if len(r.uttered) == mostUttered {
		if old := r.uttered[0]; !old.heard {
			r.drop(old.turn)
		} else {
			r.uttered = r.uttered[1:]
		}
	}
	r.uttered = append(r.uttered, u)
	r.history.At(u.item, t, "user") // its place; the words come later
	r.c.usage.Count(t, voice.Counts{HeardSeconds: float64(n) / kit.Rate})
	r.out.Post(turn.InputCommitted{At: r.out.Now(), Turn: t, Item: u.item})
}

func (r *conversation) refuseInput(t turn.ID) {
	r.drop(t)
	r.out.Post(turn.InputRefused{At: r.out.Now(), Turn: t})
}

func (r *conversation) want(o turn.CreateResponse) {
	if why := r.c.usage.Refuses(); why != "" {
		r.log.Warn(logCeiling, "turn", o.Turn, "why", why)
		r.out.Post(turn.ResponseRefused{At: r.out.Now(), Turn: o.Turn, Say: turn.WordsCeiling})
		return
	}
	if len(r.asked) == mostAsked {
		r.asked = r.asked[1:]
	}
	r.asked = append(r.asked, &asked{CreateResponse: o, at: time.Now()})
}

// advance begins what can begin.
func (r *conversation) advance() {
	if r.chain.state != chainUp {
		return
	}
	for _, u := range r.uttered {
		if !u.heard && u.stop == nil {
			r.listen(u)
		}
	}
	for _, a := range slices.Clone(r.asked) {
		if !slices.ContainsFunc(r.uttered, func(u *utterance) bool { return u.turn == a.Turn && !u.heard }) {
			r.asked = slices.DeleteFunc(r.asked, func(b *asked) bool { return b == a })
			r.begin(a)
		}
	}
}

// listen has the ear write an utterance down.
func (r *conversation) listen(u *utterance) {
	ctx, stop := context.WithCancel(context.WithValue(r.ctx, turnKey{}, u.turn))
	u.stop = stop
	u.tries++
	names := r.c.Wished().Names
	r.wg.Go(func() {
		defer stop()
		text, err := r.hear(ctx, u, names)
		if ctx.Err() != nil && r.ctx.Err() == nil {
			return // taken back
		}
		r.later(func() { r.heard(u, text, err) })
	})
}

// hear asks, again where that makes sense, and a program of this machine where it does not.
func (r *conversation) hear(ctx context.Context, u *utterance, names string) (text string, err error) {
	if why := r.c.deaf.why(); why != nil && r.c.heres != nil {
		return r.c.heres.hear(ctx, u.pcm, names)
	}
	for try := (tries{}); ; {
		text, err = r.c.ear.hear(ctx, u.pcm, names)
		if r.cfg.ear.url != nil && bought(err) {
			r.c.usage.Count(u.turn, r.cfg.Prices.Hearing(float64(len(u.pcm))/kit.Rate))
		}
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		wait, ok := try.again(err)
		if !ok {
			break
		}
		r.log.Info(logAgain, "turn", u.turn, "stage", "hear", "err", err, "in", wait)
		if !pause(ctx, wait) {
			return "", ctx.Err()
		}
	}
	return r.hearHere(ctx, u, names, err)
}

// hearHere has this machine write an utterance down, where the ear cannot because of err.
func (r *conversation) hearHere(ctx context.Context, u *utterance, names string, err error) (string, error) {
	if r.c.heres == nil {
		return "", err
	}
	text, local := r.c.heres.hear(ctx, u.pcm, names)
	if local != nil || text == "" && r.c.deaf.why() == nil {
		return "", err
	}
	if r.c.without(&r.c.deaf, err, r.c.byEar()) == nil {
		r.later(r.tellOut)
	}
	return text, nil
}

// pause waits; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// heard takes a transcript, or what kept it from coming.
func (r *conversation) heard(u *utterance, text string, err error) {
	if !slices.Contains(r.uttered, u) {
		return
	}
	u.stop, u.took = nil, time.Since(u.commit)
	if err != nil {
		r.deaf(u, err)
		return
	}
	u.pcm = nil
	r.log.Info(logHeard, "turn", u.turn, "by", r.by().String(), "ms", u.took.Milliseconds(), "letters", len(text))
	if text == "" { // nobody spoke
		r.refuseInput(u.turn)
		return
	}
	u.heard = true
	r.history.Replace(u.item, text)
	r.history.Trim()
	r.out.Post(turn.Transcribed{At: r.out.Now(), Turn: u.turn, Text: text})
}

// by is who hears now.
func (r *conversation) by() ear {
	if r.c.deaf.why() != nil && r.c.heres != nil {
		return r.c.heres
	}
	return r.c.ear
}

// deaf is for an utterance that nobody could write down.
func (r *conversation) deaf(u *utterance, err error) {
	lost := r.lostBy(err)
	if r.waits(err, lost.Say) && u.tries < mostTries { // until the chain is there again
		r.lose(lost, err)
		return
	}
	wanted := slices.ContainsFunc(r.asked, func(a *asked) bool { return a.Turn == u.turn })
	switch {
	case wanted:
		r.refuse(u.turn, lost.Say)
	case !lost.Fatal: // else SessionLost tells it, in the right words
		r.refuseInput(u.turn)
	}
	r.drop(u.turn)
	r.lose(lost, err)
}

// refuse tells that there will be no answer.
func (r *conversation) refuse(t turn.ID, say turn.Words) {
	r.asked = slices.DeleteFunc(r.asked, func(a *asked) bool { return a.Turn == t })
	r.log.Warn(logFailed, "turn", t, "say", say)
	r.out.Post(turn.ResponseRefused{At: r.out.Now(), Turn: t, Say: say})
}

// cancel closes whatever runs for a turn. Orders that were not carried out are forgotten.
func (r *conversation) cancel(o turn.CancelResponse) {
	r.asked = slices.DeleteFunc(r.asked, func(a *asked) bool { return a.Turn == o.Turn })
	r.drop(o.Turn) // unless its words are known
	for _, a := range r.answers {
		if a.turn == o.Turn && (o.Response == "" || a.id == o.Response) {
			r.stop(a)
		}
	}
}

// truncate keeps of an answer what was heard.
func (r *conversation) truncate(o turn.TruncateItem) {
	for _, s := range r.spoken {
		if s.item == o.Item {
			s.cut = true
			r.history.Replace(o.Item, s.heard(o.Heard))
		}
	}
}
