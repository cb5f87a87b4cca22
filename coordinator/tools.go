package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"conch/coordinator/turn"
)

const (
	toolOutputLimit = 64 << 10               // bytes of output a model is given; our choice
	toolGrace       = 100 * time.Millisecond // from the deadline until a tool that was told to stop is given up
)

// Bounds of tools that are left behind: their turn is over or their deadline has passed, they were told, and they work on.
// They hold no place that a live turn needs, so that only a tool that is left behind itself is ever refused for it. Our
// choices; each costs two goroutines.
const (
	leftOfOne = 64  // of the same name
	leftOfAll = 256 // beyond it, only tools of which none is left behind run: one more of each name
)

// What a model is told when a tool cannot answer; it says it in its own words.
const (
	sorryPanic    = "The tool failed unexpectedly. Say that it did not work, and offer to try again."
	sorryDeadline = "The tool did not answer in time. Say that it took too long, and offer to try again."
	sorryCut      = "The person interrupted, and the tool did not end in time. Nobody knows whether it worked."
	sorryBusy     = "Too many tools are running. Say that it did not work right now, and offer to try again."
	sorryFull     = "\n[The effect was not carried out: too many are waiting.]"
)

// errTurnOver is why the context of a tool ends when it does so before its deadline.
var errTurnOver = errors.New("coordinator: the turn is over")

// toolDone is how a tool's goroutine reports; the runner keeps the effect and tells the machine.
type toolDone struct {
	call   turn.CallTool
	result ToolResult
}

// toolCall is a call at work.
type toolCall struct {
	turn.CallTool
	began    time.Duration
	ctx      context.Context // ends with its turn, or when it is left behind
	cancel   context.CancelCauseFunc
	answered atomic.Bool // by the tool, or in its place
	left     bool        // guarded by toolCalls.mu: its turn is over, or its deadline
}

// toolCalls are all calls at work.
type toolCalls struct {
	mu   sync.Mutex
	busy []*toolCall
}

// admit takes c among the calls at work. Else it says why not.
func (t *toolCalls) admit(c *toolCall, limit int) (why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	live, left, same := 0, 0, 0
	for _, o := range t.busy {
		switch {
		case !o.left:
			live++
		case o.Name == c.Name:
			same++
			left++
		default:
			left++
		}
	}
	switch {
	case live >= limit:
		return fmt.Sprintf("%d tools run", live)
	case same >= leftOfOne, same > 0 && left >= leftOfAll:
		return fmt.Sprintf("%d calls of it ignore that they are over, of %d in all", same, left)
	}
	t.busy = append(t.busy, c)
	return ""
}

// leave tells those calls that they are over, and gives their places back. They work on, if they ignore that.
func (t *toolCalls) leave(over func(*toolCall) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.busy {
		if !c.left && over(c) {
			c.left = true
			c.cancel(errTurnOver)
		}
	}
}

// gone forgets a call that has returned.
func (t *toolCalls) gone(c *toolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = slices.DeleteFunc(t.busy, func(o *toolCall) bool { return o == c })
}

// callTool runs a tool on its own goroutine (TURNS.md 3). Its context ends at its deadline and with its turn; what it
// returns until its deadline answers the call in any case (TURNS.md 8.2).
func (r *runner) callTool(e turn.CallTool) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	c := &toolCall{CallTool: e, began: r.now(), ctx: ctx, cancel: cancel}
	if why := r.toolCalls.admit(c, r.c.o.ToolLimit); why != "" {
		cancel(nil)
		r.log.Warn(logToolRefused, "turn", e.Turn, "tool", e.Name, "why", why)
		r.self(turn.ToolReturned{At: r.now(), Turn: e.Turn, Call: e.Call, Output: sorryBusy})
		return
	}
	r.log.Debug(logToolCall, "turn", e.Turn, "tool", e.Name)
	returned := make(chan struct{})
	r.spawn(func() {
		defer close(returned)
		defer r.toolCalls.gone(c)
		ctx, stop := context.WithTimeout(ctx, r.c.o.ToolDeadline)
		defer stop()
		var res ToolResult
		if err := guard(func() error { res = r.c.o.Tools.Call(ctx, e); return nil }); err != nil {
			r.log.Error(logToolPanic, "turn", e.Turn, "tool", e.Name, "err", err)
			res = ToolResult{Output: sorryPanic}
		}
		cancel(nil)
		if c.answered.CompareAndSwap(false, true) {
			r.report(c, res)
			return
		}
		r.log.Warn(logToolLate, "turn", e.Turn, "tool", e.Name, "took_ms", ms(r.now()-c.began), "effect", res.Effect.String())
		r.lose(c, res)
	})
	r.spawn(func() { r.mind(c, returned) })
}

// mind answers a call in the place of a tool that does not return in its time, and leaves the tool behind.
func (r *runner) mind(c *toolCall, returned <-chan struct{}) {
	t := r.c.o.Clock.NewTimer(r.c.o.ToolDeadline + toolGrace)
	defer t.Stop()
	select {
	case <-returned:
		return
	case <-r.ctx.Done():
		return
	case <-t.C():
	}
	if !c.answered.CompareAndSwap(false, true) {
		return
	}
	sorry := sorryDeadline
	if errors.Is(context.Cause(c.ctx), errTurnOver) {
		sorry = sorryCut
	}
	r.toolCalls.leave(func(o *toolCall) bool { return o == c })
	r.log.Warn(logToolAbandoned, "turn", c.Turn, "tool", c.Name, "after_ms", ms(r.now()-c.began))
	r.c.inbox.put(entry{of: toolDone{c.CallTool, ToolResult{Output: sorry}}})
}

// lose ends a result that comes to nobody: a claim that exists ends once.
func (r *runner) lose(c *toolCall, res ToolResult) {
	if res.Effect == turn.EffectInputClaim {
		callback(r.log, c.Turn, func() { res.Claim.over(turn.EndedStopped) })
	}
}

func (r *runner) report(c *toolCall, res ToolResult) {
	if n := len(res.Output); n > toolOutputLimit {
		r.log.Warn(logToolCut, "turn", c.Turn, "tool", c.Name, "bytes", n, "limit", toolOutputLimit)
		res.Output = truncated(res.Output)
	}
	r.log.Info(logToolReturn, "turn", c.Turn, "tool", c.Name, "effect", res.Effect.String(), "took_ms", ms(r.now()-c.began))
	if !r.c.inbox.put(entry{of: toolDone{c.CallTool, res}}) {
		r.lose(c, res)
	}
}

// truncated cuts an output between two characters and says so.
func truncated(s string) string {
	note := fmt.Sprintf("\n[Cut: the tool returned %d bytes, more than %d.]", len(s), toolOutputLimit)
	keep := toolOutputLimit - len(note)
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return strings.Clone(s[:keep]) + note
}

// returned makes the fact of a tool's result and keeps its effect under a handle.
func (r *runner) returned(d toolDone) turn.ToolReturned {
	res := d.result
	ev := turn.ToolReturned{
		At: r.now(), Turn: d.call.Turn, Call: d.call.Call,
		Output: res.Output, Effect: res.Effect, Volume: min(max(res.Volume, 0), 100), Quotes: res.Quotes,
	}
	switch res.Effect {
	case turn.EffectAudioStream, turn.EffectPlaySound, turn.EffectInputClaim:
		if ev.Handle = r.handles.keep(d.call.Turn, res); ev.Handle == 0 {
			r.log.Warn(logHandleFull, "turn", d.call.Turn, "tool", d.call.Name, "limit", handleLimit)
			ev.Effect, ev.Output = turn.EffectNone, ev.Output+sorryFull
			if res.Effect == turn.EffectInputClaim {
				r.spawn(func() { callback(r.log, d.call.Turn, func() { res.Claim.over(turn.EndedFailed) }) })
			}
		}
	}
	return ev
}
