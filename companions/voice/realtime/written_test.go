package realtime

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// writes sends an answer in text alone, and its end.
func (p *peer) writes(resp, item, text string, output ...any) {
	p.send(map[string]any{"type": "response.output_text.delta", "response_id": resp, "item_id": item, "output_index": 0, "content_index": 0, "delta": text})
	r := response_(resp, "completed", nil)
	r["output"] = output
	p.send(map[string]any{"type": "response.done", "response": r})
}

// What a server answers in text alone is spoken by this machine, beside a call as well. A press cuts it as any other, and the server keeps the
// words that were heard.
func TestAnAnswerInTextAloneIsSpokenHere(t *testing.T) {
	call := map[string]any{"id": "i2", "type": "function_call", "status": "completed", "call_id": "c1", "name": "clock", "arguments": `{}`}
	said := ""
	speaks := func(cfg *Config) {
		cfg.Say = func(_ context.Context, text string) ([]int16, error) { said = text; return make([]int16, 2400), nil }
	}
	t.Run("spoken", func(t *testing.T) {
		in(t, speaks, func(w *world) {
			w.ask("t-1")
			w.peer(0).created("r1", "t-1")
			w.peer(0).writes("r1", "i1", "It is three.")
			w.want("started t-1 r1", "delta t-1 r1 2400", "done t-1 r1 completed")
			if said != "It is three." {
				t.Errorf("this machine says %q", said)
			}
		})
	})
	t.Run("longer than an answer may be", func(t *testing.T) {
		long := func(cfg *Config) {
			cfg.MaxAnswer = time.Second
			cfg.Say = func(context.Context, string) ([]int16, error) { return make([]int16, 3*rate), nil }
		}
		in(t, long, func(w *world) {
			w.ask("t-1")
			w.peer(0).created("r1", "t-1")
			w.peer(0).writes("r1", "i1", "It is three.")
			w.want("started t-1 r1", "delta t-1 r1 24000", "done t-1 r1 completed")
		})
	})
	t.Run("beside a call", func(t *testing.T) {
		in(t, speaks, func(w *world) {
			w.ask("t-1")
			w.peer(0).created("r1", "t-1")
			w.peer(0).writes("r1", "i1", "Let me look.", call)
			got := strings.Join(w.took(), "\n")
			for _, want := range []string{"delta t-1 r1 2400", `call t-1 c1 clock({})`, "done t-1 r1 completed"} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
		})
	})
	t.Run("cut", func(t *testing.T) {
		in(t, speaks, func(w *world) {
			w.ask("t-1")
			w.peer(0).created("r1", "t-1")
			w.peer(0).writes("r1", "i1", "It is three.")
			synctest.Wait()
			w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
			w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 1200})
			synctest.Wait()
			types := strings.Join(w.peer(0).types(), " ")
			if strings.Contains(types, "truncate") || !strings.Contains(types, "conversation.item.delete conversation.item.create") {
				t.Errorf("a text cannot be truncated: the server received %s", types)
			}
		})
	})
	t.Run("no voice", func(t *testing.T) {
		none := func(cfg *Config) {
			cfg.Say = func(context.Context, string) ([]int16, error) { return nil, errors.New("no synthesizer") }
		}
		in(t, none, func(w *world) {
			w.ask("t-1")
			w.peer(0).created("r1", "t-1")
			w.peer(0).writes("r1", "i1", "It is three.")
			got := w.took()
			if last := got[len(got)-1]; !strings.HasPrefix(last, "done t-1 r1 failed no_answer") {
				t.Errorf("the last is %q", last)
			}
		})
	})
}
