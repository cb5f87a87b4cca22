package coordinator

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"conch/coordinator/turn"
)

const (
	toolOutputLimit = 64 << 10               // bytes of output a model is given; our choice
	toolGrace       = 100 * time.Millisecond // from the deadline until a tool that was told to stop is given up
)

// What a model is told when a tool cannot answer; it says it in its own words.
const (
	sorryPanic    = "The tool failed unexpectedly. Say that it did not work, and offer to try again."
	sorryDeadline = "The tool did not answer in time. Say that it took too long, and offer to try again."
	sorryBusy     = "Too many tools are running. Say that it did not work right now, and offer to try again."
	sorryFull     = "\n[The effect was not carried out: too many are waiting.]"
)

// toolDone is how a tool's goroutine reports; the runner keeps the effect and tells the machine.
type toolDone struct {
	call   turn.CallTool
	result ToolResult
}

// callTool runs a tool on its own goroutine under the deadline (turns.md 3). An interrupted turn does not stop its
// tools: their output still answers the call (turns.md 8.2).
func (r *runner) callTool(e turn.CallTool) {
	if !r.takeSlot(r.toolSlots) {
		r.log.Warn(logToolRefused, "turn", e.Turn, "tool", e.Name)
		r.self(turn.ToolReturned{At: r.now(), Turn: e.Turn, Call: e.Call, Output: sorryBusy})
		return
	}
	r.log.Debug(logToolCall, "turn", e.Turn, "tool", e.Name)
	began := r.now()
	ctx, cancel := context.WithTimeout(r.ctx, r.c.o.ToolDeadline)
	result := make(chan ToolResult, 1)
	r.spawn(func() {
		defer r.freeSlot(r.toolSlots)
		var res ToolResult
		if err := guard(func() error { res = r.c.o.Tools.Call(ctx, e.Turn, e.Name, e.Args); return nil }); err != nil {
			r.log.Error(logToolPanic, "turn", e.Turn, "tool", e.Name, "err", err)
			res = ToolResult{Output: sorryPanic}
		}
		result <- res
		if late := r.now() - began - r.c.o.ToolDeadline - toolGrace; late > 0 {
			r.log.Warn(logToolLate, "turn", e.Turn, "tool", e.Name, "late_ms", ms(late), "effect", res.Effect.String())
		}
	})
	r.spawn(func() {
		defer cancel()
		select {
		case res := <-result:
			r.report(e, res, began)
			return
		case <-ctx.Done():
		}
		t := r.c.o.Clock.NewTimer(toolGrace)
		defer t.Stop()
		select {
		case res := <-result:
			r.report(e, res, began)
		case <-t.C():
			r.log.Warn(logToolAbandoned, "turn", e.Turn, "tool", e.Name, "after_ms", ms(r.now()-began))
			r.c.inbox.put(entry{of: toolDone{e, ToolResult{Output: sorryDeadline}}})
			r.abandoned.Add(1)
			if res, ok := r.later(result); ok && res.Effect == turn.EffectInputClaim {
				r.callback(e.Turn, func() { res.Claim.over(turn.EndedInterrupted) }) // it exists, so it ends once
			}
		}
	})
}

// later waits for the result of an abandoned tool.
func (r *runner) later(result <-chan ToolResult) (ToolResult, bool) {
	select {
	case res := <-result:
		return res, true
	case <-r.ctx.Done():
		return ToolResult{}, false
	}
}

func (r *runner) report(e turn.CallTool, res ToolResult, began time.Duration) {
	if n := len(res.Output); n > toolOutputLimit {
		r.log.Warn(logToolCut, "turn", e.Turn, "tool", e.Name, "bytes", n, "limit", toolOutputLimit)
		res.Output = truncated(res.Output)
	}
	r.log.Info(logToolReturn, "turn", e.Turn, "tool", e.Name, "effect", res.Effect.String(), "took_ms", ms(r.now()-began))
	r.c.inbox.put(entry{of: toolDone{e, res}})
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
		Output: res.Output, Effect: res.Effect, Volume: min(max(res.Volume, 0), 100),
	}
	switch res.Effect {
	case turn.EffectAudioStream, turn.EffectPlaySound, turn.EffectInputClaim:
		if ev.Handle = r.handles.keep(d.call.Turn, res); ev.Handle == 0 {
			r.log.Warn(logHandleFull, "turn", d.call.Turn, "tool", d.call.Name, "limit", handleLimit)
			ev.Effect, ev.Output = turn.EffectNone, ev.Output+sorryFull
			if res.Effect == turn.EffectInputClaim {
				r.spawn(func() { r.callback(d.call.Turn, func() { res.Claim.over(turn.EndedFailed) }) })
			}
		}
	}
	return ev
}
