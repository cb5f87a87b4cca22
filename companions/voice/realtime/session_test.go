package realtime

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

func (p *peer) fail(to map[string]any, typ, code string) {
	e := map[string]any{"type": typ, "code": code, "message": "no", "param": nil}
	if to != nil {
		e["event_id"] = to["event_id"]
	}
	p.send(map[string]any{"type": "error", "error": e})
}

func TestCommitRefused(t *testing.T) {
	for _, named := range []bool{true, false} {
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.auto = false
			w.say("t-1", 4800)
			w.c.Do(turn.CommitInput{Turn: "t-1"})
			w.c.Do(turn.CreateResponse{Turn: "t-1"})
			w.want()
			var to map[string]any
			if named {
				to = p.last("input_audio_buffer.commit")
			}
			p.fail(to, "invalid_request_error", "input_audio_buffer_commit_empty")
			w.want("refused t-1")
			p.created("r1", "t-1") // asked for in the same breath: an answer to nothing
			w.want()
			p.last("response.cancel")
			p.doneResponse("r1", "cancelled")
			w.auto = true
			w.want("done t-1 r1 cancelled")
			w.ask("t-2")
		})
	}
}

func TestUtteranceShorterThanTheServerTakesIsNotCommitted(t *testing.T) {
	in(t, nil, func(w *world) {
		w.say("t-1", 2399)
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.want("refused t-1")
		w.peer(0).want("session.update", "clear", "append", "clear")
		w.say("t-2", 2400) // as long as it takes
		w.c.Do(turn.CommitInput{Turn: "t-2"})
		w.want("committed t-2")
	})
}

func TestResponseRefused(t *testing.T) {
	for code, say := range map[string]string{"insufficient_quota": "no_credit", "rate_limit_exceeded": "quota", "server_error": "server_error"} {
		for _, named := range []bool{true, false} {
			in(t, nil, func(w *world) {
				p := w.peer(0)
				w.ask("t-1")
				var to map[string]any
				if named {
					to = p.last("response.create")
				}
				p.fail(to, "server_error", code)
				w.want("no answer t-1 " + say)
				w.ask("t-2")
			})
		}
	}
}

func TestHarmlessErrorsEndNothing(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		w.took()
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
		w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 240})
		w.took()
		p.fail(p.last("conversation.item.truncate"), "invalid_request_error", "invalid_value")
		p.fail(nil, "invalid_request_error", "unknown")
		w.want()
		p.fail(p.last("response.cancel"), "invalid_request_error", "response_cancel_not_active")
		w.want("done t-1 r1 cancelled") // it is over
		p.doneResponse("r1", "completed")
		w.want()
		w.ask("t-2")
	})
}

// An answer was cut, and the session is lost before it said that it cancelled: the next one is asked for the new turn's
// answer alone.
func TestACutTurnIsNotAskedForAgainInTheNextSession(t *testing.T) {
	for _, response := range []turn.ResponseID{"r1", ""} {
		in(t, nil, func(w *world) {
			typed := func(id turn.ID) {
				w.c.Do(turn.AddText{Turn: id, Role: "user", Text: string(id)})
				w.c.Do(turn.CreateResponse{Turn: id})
				w.took()
			}
			typed("t-1")
			if response != "" {
				w.peer(0).created("r1", "t-1")
				w.peer(0).delta("r1", "i1", 2400)
			}
			w.c.Do(turn.CancelResponse{Turn: "t-1", Response: response})
			typed("t-2")
			w.peer(0).hangUp()
			time.Sleep(time.Second)
			p := w.peer(1)
			p.want("session.update", "conversation.item.create", "conversation.item.create", "response.create")
			if got := p.last("response.create")["response"].(map[string]any)["metadata"].(map[string]any)["turn"]; got != "t-2" {
				t.Errorf("cancelled response %q: the new session is asked for %v; want t-2", response, got)
			}
			w.took()
		})
	}
}

func TestUnknownLiveAnswerIsCancelledAndAskedAgain(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		for i, wait := range tryAgain {
			n := p.count("response.create")
			p.fail(p.last("response.create"), "invalid_request_error", codeActive)
			time.Sleep(wait - time.Millisecond)
			w.want()
			if got := p.count("response.create"); got != n {
				t.Errorf("try %d came before %v", i+1, wait)
			}
			time.Sleep(2 * time.Millisecond)
			w.want()
			if got := p.count("response.create"); got != n+1 {
				t.Errorf("%d tries after %v; want one", got-n, wait)
			}
		}
		p.fail(p.last("response.create"), "invalid_request_error", codeActive)
		w.want("no answer t-1 server_error")
	})
}

// count is how many events of a type the server received.
func (p *peer) count(typ string) (n int) {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range p.got {
		if ev["type"] == typ {
			n++
		}
	}
	return n
}

// When the obstacle has gone nobody waits for the rest of the time: the unknown answer ends, or there was none.
func TestAskedAgainWhenTheObstacleHasGone(t *testing.T) {
	for name, gone := range map[string]func(p *peer){
		"done":          func(p *peer) { p.doneResponse("unknown", "cancelled") },
		"there is none": func(p *peer) { p.fail(p.last("response.cancel"), "invalid_request_error", codeNotActive) },
		"in the type":   func(p *peer) { p.fail(nil, codeNotActive, "") },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, nil, func(w *world) {
				p := w.peer(0)
				w.ask("t-1")
				p.fail(nil, codeActive, "") // the code stands in the type, and nothing says to what
				w.want()
				gone(p)
				if n := p.count("response.create"); n != 2 {
					t.Errorf("asked %d times at once; want twice", n)
				}
			})
		})
	}
}

// "There is nothing to cancel" is the end of what was to be cancelled: the next question is asked at once.
func TestNothingToCancelEndsTheWait(t *testing.T) {
	for _, named := range []bool{true, false} {
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.ask("t-1")
			p.created("r1", "t-1")
			p.delta("r1", "i1", 2400)
			w.took()
			w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
			w.took()
			var to map[string]any
			if named {
				to = p.last("response.cancel")
			}
			p.fail(to, "invalid_request_error", codeNotActive)
			w.want("done t-1 r1 cancelled")
			w.ask("t-2")
			if n := p.count("response.create"); n != 2 {
				t.Errorf("the second question was not asked at once (%d)", n)
			}
			p.doneResponse("r1", "cancelled") // late
			p.created("r2", "t-2")
			w.want("started t-2 r2")
		})
	}
}

// An error beside an answer, and nothing after it, ends the wait; where more of the answer comes, it was about something else.
func TestAnErrorInTheMiddleOfAnAnswer(t *testing.T) {
	in(t, nil, func(w *world) {
		w.ask("t-1")
		w.peer(0).created("r1", "t-1")
		w.peer(0).delta("r1", "i1", 2400)
		w.want("started t-1 r1", "delta t-1 r1 2400")
		w.peer(0).fail(nil, "server_error", "internal")
		time.Sleep(errorPatience - time.Millisecond)
		w.peer(0).delta("r1", "i1", 2400)
		w.want("delta t-1 r1 2400")
		time.Sleep(time.Minute)
		w.want()
		w.peer(0).fail(nil, "server_error", "")
		time.Sleep(errorPatience - time.Millisecond)
		w.want()
		time.Sleep(2 * time.Millisecond)
		w.want("done t-1 r1 failed server_error")
	})
}

// An error fits the one open request when nothing speaks against it, whether it names it, names nothing, or names nonsense.
func TestAnErrorThatFitsOneQuestionBelongsToIt(t *testing.T) {
	for _, to := range []map[string]any{nil, {"event_id": "evt_of_somebody"}, {"event_id": ""}} {
		in(t, nil, func(w *world) {
			w.ask("t-1")
			w.peer(0).fail(to, "invalid_request_error", "unknown_thing")
			w.want("no answer t-1 server_error")
			w.ask("t-2")
			w.peer(0).send(map[string]any{"type": "error", "error": map[string]any{"type": "insufficient_quota", "code": nil, "message": "no"}})
			w.want("no answer t-2 no_credit")
			w.ask("t-3")
			w.peer(0).send(map[string]any{"type": "error", "error": map[string]any{"type": "server_error", "code": 500, "message": 7, "param": []any{}}})
			w.want("no answer t-3 server_error")
		})
	}
	in(t, nil, func(w *world) { // these are about something else
		w.ask("t-1")
		for _, code := range []string{"item_truncate_invalid_item_id", "session_update_failed", "cancel_failed", "input_audio_buffer_clear_failed"} {
			w.peer(0).fail(nil, "invalid_request_error", code)
		}
		w.want()
		w.peer(0).created("r1", "t-1")
		w.want("started t-1 r1")
	})
}

func TestEndsOfAResponse(t *testing.T) {
	detail := func(typ, code string) map[string]any {
		return map[string]any{"type": "failed", "error": map[string]any{"type": typ, "code": code}}
	}
	for _, c := range []struct {
		status  string
		details any
		sound   bool
		want    string
	}{
		{"completed", nil, true, "completed"},
		{"completed", nil, false, "failed no_answer"}, // nothing to hear is not an answer
		{"cancelled", map[string]any{"type": "cancelled", "reason": "client_cancelled"}, true, "cancelled"},
		{"incomplete", map[string]any{"type": "incomplete", "reason": "max_output_tokens"}, true, "incomplete cut_short"},
		{"incomplete", map[string]any{"type": "incomplete", "reason": "max_output_tokens"}, false, "incomplete cut_short"},
		{"incomplete", map[string]any{"type": "incomplete", "reason": "length"}, true, "incomplete cut_short"}, // as chat servers call it
		{"incomplete", map[string]any{"type": "incomplete", "reason": "content_filter"}, true, "incomplete filtered"},
		{"incomplete", map[string]any{"type": "incomplete", "reason": "content_filter"}, false, "incomplete filtered"},
		{"incomplete", map[string]any{"type": "incomplete", "reason": "moon_phase"}, true, "incomplete server_error"},
		{"incomplete", nil, true, "incomplete server_error"},
		{"failed", detail("invalid_request_error", "content_filter"), false, "failed filtered"},
		{"failed", detail("insufficient_quota", "insufficient_quota"), false, "failed no_credit"},
		{"failed", detail("requests", "rate_limit_exceeded"), false, "failed quota"},
		{"failed", detail("server_error", ""), true, "failed server_error"},
		{"failed", nil, false, "failed server_error"},
	} {
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.ask("t-1")
			p.created("r1", "t-1")
			want := []string{"started t-1 r1"}
			if c.sound {
				p.delta("r1", "i1", 2400)
				want = append(want, "delta t-1 r1 2400")
			}
			r := response_("r1", c.status, nil)
			r["status_details"] = c.details
			p.send(map[string]any{"type": "response.done", "response": r})
			w.want(append(want, "done t-1 r1 "+c.want)...)
		})
	}
}

func TestToolCallIsToldOnceAndAnswered(t *testing.T) {
	item := map[string]any{"id": "i1", "type": "function_call", "status": "completed", "call_id": "c1", "name": "clock", "arguments": `{"zone":"UTC"}`}
	for _, beta := range []bool{false, true} { // beta: arguments.done comes without the name
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.ask("t-1")
			p.created("r1", "t-1")
			if beta {
				p.send(map[string]any{"type": "response.output_item.added", "response_id": "r1", "output_index": 0, "item": map[string]any{"id": "i1", "type": "function_call", "call_id": "c1", "name": "clock"}})
			}
			args := map[string]any{"type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "i1", "output_index": 0, "call_id": "c1", "arguments": `{"zone":"UTC"}`}
			if !beta {
				args["name"] = "clock"
			}
			p.send(args)
			w.want("started t-1 r1", `call t-1 c1 clock({"zone":"UTC"})`)
			p.send(map[string]any{"type": "response.output_item.done", "response_id": "r1", "output_index": 0, "item": item})
			r := response_("r1", "completed", nil)
			r["output"] = []any{item}
			p.send(map[string]any{"type": "response.done", "response": r})
			w.want("done t-1 r1 completed")
			w.c.Do(turn.SendToolOutput{Turn: "t-1", Call: "c1", Output: ""})
			w.c.Do(turn.SendToolOutput{Turn: "t-1", Call: "nobody's", Output: "x"})
			w.c.Do(turn.CreateResponse{Turn: "t-1", Prompt: "Be brief.", NoTools: true})
			w.want()
			p.want("session.update", "clear", "append", "commit", "response.create", "conversation.item.create", "response.create")
			if out, ok := p.last("conversation.item.create")["item"].(map[string]any)["output"]; !ok || out != "" {
				t.Errorf("output = %v; want it there, and empty", out)
			}
			asked := p.last("response.create")["response"].(map[string]any)
			if s := asked["instructions"]; s != "You are Ada.\n\nBe brief." {
				t.Errorf("instructions = %q; want who it is and what to do", s)
			}
			if c := asked["tool_choice"]; c != "none" {
				t.Errorf("words to be said are asked for with tool_choice %v; want none", c)
			}
		})
	}
}

func TestUnbiddenAnswerIsCancelled(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		p.created("r1", nil)
		p.delta("r1", "i1", 2400)
		w.want()
		p.last("response.cancel")
	})
}

func TestTextAnswerMakesNoSoundButCounts(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "What time is it?"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.want()
		p.want("session.update", "conversation.item.create", "response.create")
		p.created("r1", "t-1")
		for _, s := range []string{"Half ", "past."} {
			p.send(map[string]any{"type": "response.text.delta", "response_id": "r1", "item_id": "i1", "delta": s})
		}
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 0", "done t-1 r1 failed no_answer")
		if w.said != "Half past." {
			t.Errorf("the words were %q", w.said)
		}
	})
}

func TestToolsChange(t *testing.T) {
	in(t, nil, func(w *world) {
		w.c.Tools([]turn.ToolSpec{{Name: "clock", Description: "the time", Schema: []byte(`{"type":"object"}`)}, {Name: "odd", Schema: []byte(`{`)}})
		w.want()
		s := w.peer(0).last("session.update")["session"].(map[string]any)
		b, _ := json.Marshal(s["tools"])
		if got, want := string(b), `[{"description":"the time","name":"clock","parameters":{"type":"object"},"type":"function"},{"name":"odd","type":"function"}]`; got != want {
			t.Errorf("tools = %s; want %s", got, want)
		}
		w.c.Tools(nil)
		w.want()
		if b, _ := json.Marshal(w.peer(0).last("session.update")["session"]); string(b) != `{"tools":[],"type":"realtime"}` {
			t.Errorf("session = %s; want the tools cleared and nothing else changed", b)
		}
	})
}

// Whoever writes down what is said is told whom people may call, and again when that has changed.
func TestNamesAreExpected(t *testing.T) {
	in(t, nil, func(w *world) {
		scribe := func() string {
			s := w.peer(0).last("session.update")["session"]
			b, _ := json.Marshal(s)
			if tr, ok := at(s.(map[string]any), "audio.input.transcription"); ok {
				b, _ = json.Marshal(tr)
			}
			return string(b)
		}
		w.c.Names([]string{"Ada", "Ben"})
		w.want()
		const alone = `{"audio":{"input":{"transcription":{"model":"scribe","prompt":"Names: Ada, Ben."}}},"type":"realtime"}`
		if b, _ := json.Marshal(w.peer(0).last("session.update")["session"]); string(b) != alone {
			t.Errorf("session = %s; want the names told and nothing else changed", b)
		}
		updates := w.peer(0).count("session.update")
		w.c.Names([]string{"Ada", "Ben"})
		w.want()
		if n := w.peer(0).count("session.update"); n != updates {
			t.Errorf("the same names were told again: %d updates, not %d", n, updates)
		}
		w.c.Names([]string{"Ada", "B.\nIgnore, all", "", strings.Repeat("x", 100)})
		w.want()
		if got, want := scribe(), `{"model":"scribe","prompt":"Names: Ada, B  Ignore  all."}`; got != want {
			t.Errorf("transcription = %s; want %s", got, want)
		}
		w.c.Names(nil)
		w.want()
		if got, want := scribe(), `{"model":"scribe"}`; got != want {
			t.Errorf("transcription = %s; want %s", got, want)
		}
	})
}

func TestRenewedWhileIdleWithTheConversation(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.c.Do(turn.AddText{Turn: "t-0", Role: "user", Text: "My name is Bo."})
		w.c.Do(turn.CreateResponse{Turn: "t-0"})
		w.want()
		p.created("r1", "t-0")
		p.delta("r1", "i1", 2400)
		p.send(map[string]any{"type": "response.audio_transcript.delta", "response_id": "r1", "item_id": "i1", "delta": "Hello Bo."})
		p.doneResponse("r1", "completed")
		w.want("started t-0 r1", "delta t-0 r1 2400", "done t-0 r1 completed")
		time.Sleep(49*time.Minute + 50*time.Second)
		w.ask("t-1") // a turn lives when the time comes: not now
		p.created("r2", "t-1")
		p.delta("r2", "i2", 2400)
		time.Sleep(30 * time.Second)
		w.want("started t-1 r2", "delta t-1 r2 2400")
		if len(w.sessions) != 1 {
			t.Fatal("renewed in the middle of a turn")
		}
		p.doneResponse("r2", "completed")
		w.want("done t-1 r2 completed")
		time.Sleep(20 * time.Second)
		w.want() // nobody notices
		q := w.peer(1)
		q.want("session.update", "conversation.item.create", "conversation.item.create")
		w.ask("t-2")
		time.Sleep(55 * time.Minute)
		w.took()
		w.peer(2)
	})
}

func TestExpiredSessionIsReplacedAtOnce(t *testing.T) {
	in(t, nil, func(w *world) {
		w.peer(0).fail(nil, "invalid_request_error", "session_expired")
		w.peer(0).hangUp()
		w.want("lost offline", "ready")
	})
}

func TestEndsOfBounds(t *testing.T) {
	t.Run("orders", func(t *testing.T) {
		// Without its loop, so that nobody takes orders meanwhile.
		r, stop := bareRun(t)
		defer stop()
		for range kit.MaxOrders + 1 {
			r.c.Do(turn.TruncateItem{})
		}
		r.step()
		w := r.out.(*world)
		if r.link != nil || len(w.facts) != 1 || factString(w.facts[0]) != "lost offline" {
			t.Errorf("link %v, facts %v; want the session given up and told", r.link, w.facts)
		}
	})
	t.Run("requests of a turn", func(t *testing.T) {
		in(t, nil, func(w *world) {
			w.peer(0).hangUp()
			w.want("lost offline")
			for range maxPlan + 1 {
				w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "x"})
			}
			w.took()
			time.Sleep(time.Second)
			w.took()
			w.ask("t-2")
		})
	})
	t.Run("utterance", func(t *testing.T) {
		in(t, func(c *Config) { c.MaxUtterance = time.Second }, func(w *world) {
			w.say("t-1", 48000)
			w.c.Append("", make([]int16, 480)) // of no turn
			w.c.Do(turn.CommitInput{Turn: "t-1"})
			w.want("committed t-1")
			if n := w.peer(0).samples(); n != 24000 {
				t.Errorf("the server heard %d samples; want the first second", n)
			}
		})
	})
}

func TestPressesFasterThanAnything(t *testing.T) {
	in(t, nil, func(w *world) {
		for i := range 1000 {
			id := turn.ID(fmt.Sprintf("t-%d", i))
			w.c.Do(turn.CancelResponse{Turn: turn.ID(fmt.Sprintf("t-%d", i-1))})
			w.c.Do(turn.ClearInput{Turn: id})
			w.c.Append(id, make([]int16, 240))
			time.Sleep(10 * time.Millisecond)
		}
		w.took()
		w.ask("t-last")
	})
}

func TestDailyCeilingRefusesUntilTheNextDay(t *testing.T) {
	var mu sync.Mutex
	var kept []byte
	change := func(c *Config) {
		c.Prices = voice.Prices{TextIn: 4, AudioIn: 32, TextOut: 16, AudioOut: 64}
		c.Ceiling = kit.Ceiling{Tokens: 50}
		c.Load = func() ([]byte, error) { mu.Lock(); defer mu.Unlock(); return kept, nil }
		c.Save = func(b []byte) error { mu.Lock(); defer mu.Unlock(); kept = b; return nil }
	}
	answer := func(w *world, id turn.ID) {
		p := w.peer(0)
		w.ask2(id)
		p.created("r-"+string(id), string(id))
		p.delta("r-"+string(id), "i-"+string(id), 24000)
		p.doneResponse("r-"+string(id), "completed") // 30 tokens
		w.took()
	}
	in(t, change, func(w *world) {
		answer(w, "t-1")
		u := w.c.Usage()
		// 4 text in at 4, 6 audio in at 32, 5 text out at 16, 15 audio out at 64, per million
		if u.Today.Tokens() != 30 || u.Turn != "t-1" || u.InTurn.HeardSeconds != 0.2 || u.InTurn.SaidSeconds != 1 || fmt.Sprintf("%.6f", u.Today.Cost) != "0.001248" || u.Refusing != "" {
			t.Errorf("usage = %+v", u)
		}
		answer(w, "t-2")
		w.ask2("t-3")
		w.want("no answer t-3 ceiling", "committed t-3")
	})
	in(t, change, func(w *world) { // a new process on the same day (the bubble's clock starts again)
		w.ask2("t-4")
		w.want("no answer t-4 ceiling", "committed t-4")
		if w.c.Usage().Refusing == "" {
			t.Error("Usage does not say that the ceiling is reached")
		}
		if err := w.c.ResetUsage(); err != nil {
			t.Error(err)
		}
		w.ask2("t-4b")
		w.want("committed t-4b")
		w.c.Do(turn.CancelResponse{Turn: "t-4b"})
		w.peer(0).created("r-4b", "t-4b")
		for _, id := range []string{"r-4b", "r-4c"} {
			w.peer(0).doneResponse(id, "cancelled") // 60 tokens
		}
		w.took()
		w.ask2("t-4c")
		w.want("no answer t-4c ceiling", "committed t-4c")
		time.Sleep(24 * time.Hour)
		w.took()
		w.ask2("t-5")
		w.want("committed t-5")
	})
}

func TestTornUsageFileDoesNotSilence(t *testing.T) {
	in(t, func(c *Config) { c.Load = func() ([]byte, error) { return []byte("{torn"), nil } }, func(w *world) { w.ask("t-1") })
}

func TestConfigIsRefusedInWords(t *testing.T) {
	good := Config{URL: "ws://127.0.0.1/", Log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.URL = "http://x/" }, `URL = "http://x/": must be ws://`},
		{func(c *Config) { c.URL = "wss://" }, "must be ws://"},
		{func(c *Config) { c.URL = "wss://user:secret@x/" }, "put the key into Key"},
		{func(c *Config) { c.Dialect = Dialect{Name: "odd", Rate: 8000} }, "Rate = 8000: must be 24000 or 16000"},
		{func(c *Config) { c.MaxUtterance = time.Hour }, "MaxUtterance = 1h0m0s: must be 1s to 11m"},
		{func(c *Config) { c.MaxAnswer = -1 }, "MaxAnswer = -1ns: must be"},
		{func(c *Config) { c.Load = func() ([]byte, error) { return nil, fmt.Errorf("disk on fire") } }, "disk on fire"},
	} {
		cfg := good
		c.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want %q in it", err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	if _, err := DialectByName("martian"); err == nil || !strings.Contains(err.Error(), "ga, azure") {
		t.Errorf("error %v; want the names that are allowed", err)
	}
}

func TestFramesAndOrdersComeByDifferentWays(t *testing.T) {
	in(t, nil, func(w *world) {
		frame := make([]int16, 4800)
		w.c.Append("t-1", frame) // the pre-roll is faster than the order
		w.c.Do(turn.ClearInput{Turn: "t-1"})
		w.c.Append("t-1", frame)
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.want("committed t-1")
		if n := w.peer(0).samples(); n != 9600 {
			t.Errorf("the server heard %d samples; want 9600", n)
		}
		w.c.Append("t-2", frame)
		w.c.Do(turn.ClearInput{Turn: "t-2"})
		w.c.Do(turn.ClearInput{Turn: "t-2"}) // thrown away
		w.c.Append("t-2", frame)             // a frame that was on its way
		w.c.Append("t-1", frame)
		w.c.Append("t-3", frame)
		w.c.Do(turn.ClearInput{Turn: "t-3"})
		w.c.Append("t-2", frame)
		w.c.Do(turn.CommitInput{Turn: "t-3"})
		w.want("committed t-3")
		if n := w.peer(0).samples(); n != 4800 {
			t.Errorf("the server heard %d samples; want 4800", n)
		}
	})
}

// A turn that waits for the next session, and is given up before there is one, leaves nothing to be sent again.
func TestATurnThatIsGivenUpBetweenSessionsIsNotSentAgain(t *testing.T) {
	in(t, nil, func(w *world) {
		w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "hello"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.took()
		w.peer(0).hangUp()
		w.took()
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		time.Sleep(time.Second)
		if n := w.peer(1).count("response.create"); n != 0 {
			t.Errorf("the next session is asked for %d answers; want none", n)
		}
		w.took()
	})
}
