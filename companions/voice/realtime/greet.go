package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/voice/kit"
)

// A session is described, without a part that the server refuses and conversation does not need:
//
//	session.created ──> session.update ──> session.updated                                     a session
//	     error that names it, or that nothing follows for refusalWait ──> again, without …     once each
//
// … the part that is named; then every part that is optional; then all but who it is and that the button decides.

// greeting is a session that is being described.
type greeting struct {
	cfg           *Config
	l             *link
	d             Dialect
	wished        kit.Wishes
	used, without parts
	id            string // of the latest description
	described     bool
	last          *wireError // since the session was described the last time
	answered      *refused   // what the present description answers: who hangs up all the same may take it from the beginning
	others        int        // messages about other things
	silence       time.Duration
	patience      *time.Timer
}

// greet waits for the first event, which may tell the dialect, describes the session and waits for session.updated: for each at most silence.
func (cfg *Config) greet(ctx context.Context, l *link, wished kit.Wishes, without parts, silence time.Duration) error {
	g := &greeting{cfg: cfg, l: l, d: cfg.Dialect, wished: wished, used: cfg.used(&cfg.Dialect, wished),
		silence: silence, patience: time.NewTimer(silence)}
	g.without = without & g.used
	l.omitted.parts = g.without
	defer g.patience.Stop()
	for {
		var m message
		select {
		case m = <-l.in:
		case <-ctx.Done():
			return fmt.Errorf("wait for the session: %w", ctx.Err())
		case <-g.patience.C:
			if g.last == nil {
				return fmt.Errorf("wait for the session: nothing of it for %v: %w", silence, context.DeadlineExceeded)
			}
			if err := g.describeLess(ctx, g.last, false); err != nil {
				return err
			}
			continue
		case <-l.ctx.Done():
			select {
			case m = <-l.in: // its last words
			default:
				return g.hungUp(ctx)
			}
		}
		if done, err := g.hear(ctx, m); done || err != nil {
			return err
		}
	}
}

// hear acts on a message; done: the session is there.
func (g *greeting) hear(ctx context.Context, m message) (done bool, err error) {
	defer putBuf(m.buf)
	switch ev := m.ev; {
	case m.err == nil && !g.described && slices.Contains(g.d.FirstEvents, ev.Type):
		g.d = g.d.guessed(m.buf)
		return false, g.describe(ctx)
	case m.err == nil && ev.Type == "error":
		e := ev.Error
		if e == nil {
			e = &wireError{}
		}
		g.others++
		switch {
		case g.others > maxGarbage, e.final():
			return false, &refused{RefusalError: kit.RefusalError{Code: e.Code, Kind: e.Type, Text: e.Message}}
		case g.described && e.EventID == g.id:
			return false, g.describeLess(ctx, e, g.l.ctx.Err() != nil)
		case g.last == nil: // it may be about anything: what follows tells
			g.last = e
			g.patience.Reset(refusalWait)
		}
	case m.err == nil && g.described && ev.Type == "session.updated":
		g.l.dialect = g.d
		return true, nil
	default:
		if g.others++; g.others > maxGarbage {
			return false, errors.New("wait for the session: the server talks of other things")
		}
	}
	return false, nil
}

// hungUp is why a server that has gone may have gone.
func (g *greeting) hungUp(ctx context.Context) error {
	if g.last != nil {
		return g.describeLess(ctx, g.last, true)
	}
	if g.answered != nil {
		return g.answered
	}
	if no := closing(context.Cause(g.l.ctx)); no != nil {
		return no
	}
	return fmt.Errorf("wait for the session: %w", context.Cause(g.l.ctx))
}

func (g *greeting) describe(ctx context.Context) error {
	g.id = fmt.Sprintf("conch_session_%d", g.without)
	b, err := json.Marshal(g.without.strip(g.cfg.session(&g.d, g.id, g.wished)))
	if err == nil {
		select {
		case g.l.out <- b:
		case <-g.l.ctx.Done():
			err = context.Cause(g.l.ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("describe the session: %w", err)
	}
	g.described, g.last = true, nil
	g.patience.Reset(g.silence)
	return nil
}

// describeLess describes it again with less, or gives up.
func (g *greeting) describeLess(ctx context.Context, e *wireError, onlyNext bool) error {
	no := &refused{RefusalError: kit.RefusalError{Code: e.Code, Kind: e.Type, Text: e.Message}}
	more, ok := g.without.beyond(e, g.used)
	if !ok || !g.described || e.final() {
		return no
	}
	no.omit = more
	if onlyNext { // the connection is gone
		return no
	}
	g.without, g.answered = more, no
	g.l.omitted = omitted{more, strings.TrimSpace(e.code() + " " + e.Message)}
	if err := g.describe(ctx); g.l.ctx.Err() == nil {
		return err
	}
	return no
}
