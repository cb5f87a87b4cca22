package realtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// hangUp ends a session from the server's side.
func (p *peer) hangUp() { _ = p.conn.CloseNow() }

func TestLossWhileListeningLosesNoSample(t *testing.T) {
	in(t, nil, func(w *world) {
		w.c.Do(turn.ClearInput{Turn: "t-1"})
		for i := range 100 { // 2 s, and the line breaks in the middle
			w.c.Append("t-1", make([]int16, 480))
			time.Sleep(20 * time.Millisecond)
			if i == 50 {
				w.peer(0).hangUp()
			}
		}
		w.want("lost offline", "ready")
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.want("committed t-1")
		p := w.peer(1)
		p.want("session.update", "clear", "append", "commit", "response.create")
		if n := p.samples(); n != 48000 {
			t.Errorf("the new session heard %d samples; want 48000", n)
		}
	})
}

// silent lets the server take everything and say nothing about a commit.
func (w *world) silent() {
	w.auto = false
	w.onEvent = func(p *peer, ev map[string]any) {
		switch {
		case ev == nil:
			p.send(map[string]any{"type": "session.created", "session": map[string]any{"type": "realtime"}})
		case ev["type"] == "session.update":
			p.send(map[string]any{"type": "session.updated", "session": ev["session"]})
		}
	}
}

// What was said is sent once more when the session is lost and nothing was heard of it. A second time is told.
func TestLossAfterCommitSendsTheUtteranceAgainOnce(t *testing.T) {
	in(t, nil, func(w *world) {
		w.silent()
		w.ask2("t-1")
		w.peer(0).hangUp()
		w.want("lost offline") // not midway: nothing had begun, and nothing is lost
		time.Sleep(time.Second)
		w.want("ready")
		p := w.peer(1)
		p.want("session.update", "clear", "append", "commit", "response.create")
		if n := p.samples(); n != 4800 {
			t.Errorf("the new session heard %d samples; want 4800", n)
		}
		p.hangUp()
		w.want("lost offline", "no answer t-1 no_answer")
		time.Sleep(time.Second)
		w.want("ready")
		w.peer(2).want("session.update")
		w.auto, w.onEvent = true, nil
		w.ask("t-2")
	})
}

// A server that took what was said may be at the answer: it is not asked twice, and the person is told.
func TestLossAfterTheCommitWasTakenIsTold(t *testing.T) {
	for _, created := range []bool{false, true} {
		in(t, nil, func(w *world) {
			w.ask("t-1")
			if p := w.peer(0); created {
				p.created("r1", "t-1")
				w.want("started t-1 r1")
			}
			w.peer(0).hangUp()
			w.want("lost offline", "no answer t-1 no_answer")
			time.Sleep(time.Second)
			w.want("ready")
			w.peer(1).want("session.update")
			w.ask("t-2")
			p := w.peer(1)
			p.created("r1", "t-2")
			p.delta("r1", "i1", 2400)
			w.want("started t-2 r1", "delta t-2 r1 2400")
			p.hangUp() // one that has begun breaks off
			w.want("done t-2 r1 failed lost_midway", "lost offline")
			time.Sleep(time.Second)
			w.want("ready")
			w.peer(2).want("session.update")
		})
	}
}

// Taken, and nobody was asked for an answer yet, as in a room that still votes: the next session gets it in words, if there
// are words, and is asked when the room has decided.
func TestLossBetweenCommitAndQuestion(t *testing.T) {
	for _, words := range []bool{true, false} {
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.say("t-1", 4800)
			w.c.Do(turn.CommitInput{Turn: "t-1"})
			w.want("committed t-1")
			if words {
				p.send(map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": w.itemOf(p), "transcript": "Who is there?"})
				w.want("heard t-1 Who is there?")
			}
			p.hangUp()
			if !words {
				w.want("lost offline", "refused t-1")
				return
			}
			w.want("lost offline")
			time.Sleep(time.Second)
			w.want("ready")
			w.c.Do(turn.CreateResponse{Turn: "t-1"})
			p = w.peer(1)
			p.want("session.update", "conversation.item.create", "response.create")
			p.wantTexts("user: Who is there?")
		})
	}
}

// itemOf is the item of the last utterance that a server took.
func (w *world) itemOf(p *peer) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range slices.Backward(p.sent) {
		var ev struct {
			Type string
			Item string `json:"item_id"`
		}
		if json.Unmarshal(b, &ev) == nil && ev.Type == "input_audio_buffer.committed" {
			return ev.Item
		}
	}
	w.t.Fatal("nothing was committed")
	return ""
}

func TestSpokenWhileOfflineIsSentWhenBack(t *testing.T) {
	in(t, nil, func(w *world) {
		w.mu.Lock()
		w.status = http.StatusServiceUnavailable
		w.mu.Unlock()
		w.peer(0).hangUp()
		w.want("lost offline")
		w.say("t-1", 24000)
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.want("lost server_error")
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		time.Sleep(kit.BackoffMax)
		w.want("ready", "committed t-1")
		if n := w.peer(1).samples(); n != 24000 {
			t.Errorf("the session heard %d samples; want 24000", n)
		}
	})
}

func TestGivenUpWhileOfflineIsNotSentLater(t *testing.T) {
	in(t, nil, func(w *world) {
		w.peer(0).hangUp()
		w.want("lost offline")
		w.c.Do(turn.ClearInput{Turn: "t-1"})
		w.c.Append("t-1", make([]int16, 24000))
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		time.Sleep(time.Second)
		w.want("ready")
		w.peer(1).want("session.update")
	})
}

// What was kept of a question is sent whole, as the utterance of another turn; what is let go is gone, and so is what another took the
// place of.
func TestAKeptUtteranceIsSentLater(t *testing.T) {
	in(t, nil, func(w *world) {
		w.peer(0).hangUp()
		w.want("lost offline")
		for i, id := range []turn.ID{"t-1", "t-2"} {
			w.c.Do(turn.ClearInput{Turn: id})
			w.c.Append(id, make([]int16, 24000*(i+1)))
			w.c.Do(turn.CommitInput{Turn: id})
			w.c.Do(turn.CreateResponse{Turn: id})
			w.c.Do(turn.CancelResponse{Turn: id})
			w.c.Do(turn.KeepInput{Turn: id})
		}
		w.c.Do(turn.ClearInput{Turn: "t-3"}) // another recording, which comes to nothing
		w.c.Append("t-3", make([]int16, 480))
		w.c.Do(turn.ClearInput{Turn: "t-3"})
		time.Sleep(time.Second)
		w.want("ready")
		if n := w.peer(1).samples(); n != 0 {
			t.Errorf("the session heard %d samples unasked", n)
		}
		w.c.Do(turn.ClearInput{Turn: "t-4", Kept: "t-1"})
		w.c.Do(turn.CommitInput{Turn: "t-4"})
		w.want("refused t-4")
		w.c.Do(turn.ClearInput{Turn: "t-5", Kept: "t-2"})
		w.c.Do(turn.CommitInput{Turn: "t-5"})
		w.want("committed t-5")
		if n := w.peer(1).samples(); n != 48000 {
			t.Errorf("the session heard %d samples; want 48000", n)
		}
		w.c.Do(turn.KeepInput{Turn: "t-5"})
		w.c.Do(turn.KeepInput{})
		w.c.Do(turn.ClearInput{Turn: "t-6", Kept: "t-5"})
		w.c.Do(turn.CommitInput{Turn: "t-6"})
		w.want("refused t-6")
	})
}

func TestLossMidAnswerIsSaidAndWordsAreCarriedOver(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		item := ""
		p.mu.Lock()
		for _, b := range p.sent {
			if i := strings.Index(string(b), "item_u"); i >= 0 {
				item = string(b[i : i+strings.IndexByte(string(b[i:]), '"')])
			}
		}
		p.mu.Unlock()
		p.created("r1", "t-1")
		p.delta("r1", "i1", 24000)
		synctest.Wait()
		p.send(map[string]any{"type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i1", "delta": "one two three four"})
		p.send(map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": item, "content_index": 0, "transcript": "Count to four.", "usage": map[string]any{"type": "duration", "seconds": 1}})
		w.want("started t-1 r1", "delta t-1 r1 24000", "heard t-1 Count to four.")
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
		w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 12000})
		w.want()
		p.doneResponse("r1", "cancelled")
		w.ask2("t-2")
		p.created("r2", "t-2")
		p.delta("r2", "i2", 2400)
		synctest.Wait()
		p.hangUp()
		w.want("done t-1 r1 cancelled", "committed t-2", "started t-2 r2", "delta t-2 r2 2400", "done t-2 r2 failed lost_midway", "lost offline")
		time.Sleep(time.Second)
		w.want("ready")
		q := w.peer(1)
		q.want("session.update", "conversation.item.create", "conversation.item.create")
		var got []string
		for _, ev := range q.got[1:] {
			it := ev["item"].(map[string]any)
			part := it["content"].([]any)[0].(map[string]any)
			got = append(got, it["role"].(string)+" "+part["type"].(string)+" "+part["text"].(string))
		}
		if want := "user input_text Count to four.|assistant output_text one two"; strings.Join(got, "|") != want {
			t.Errorf("carried over %q; want %q (half of the answer was heard)", got, want)
		}
	})
}

// ask2 asks without looking at the facts.
func (w *world) ask2(id turn.ID) {
	w.say(id, 4800)
	w.c.Do(turn.CommitInput{Turn: id})
	w.c.Do(turn.CreateResponse{Turn: id})
	synctest.Wait()
}

func TestACompleteAnswerOutlivesItsSession(t *testing.T) {
	for _, back := range []bool{true, false} {
		in(t, nil, func(w *world) {
			p := w.peer(0)
			w.full = make(chan struct{})
			w.ask("t-1")
			p.created("r1", "t-1")
			p.delta("r1", "i1", 24000)
			p.doneResponse("r1", "completed")
			w.want("started t-1 r1")
			if !back {
				w.mu.Lock()
				w.status = http.StatusServiceUnavailable
				w.mu.Unlock()
			}
			p.hangUp()
			w.want() // the person hears the answer to its end
			time.Sleep(time.Second)
			if back {
				w.want()
			}
			close(w.full)
			if back {
				w.want("delta t-1 r1 24000", "done t-1 r1 completed")
				w.ask("t-2")
			} else {
				w.took()
			}
		})
	}
}

func TestBlackHole(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		in(t, nil, func(w *world) {
			w.conns[0].vanish()
			time.Sleep(10 * time.Second) // the person must not wait longer (TURNS.md 1, COMMITTING)
			w.want("lost offline", "ready")
		})
	})
	t.Run("while a turn waits", func(t *testing.T) {
		in(t, nil, func(w *world) {
			w.say("t-1", 4800)
			time.Sleep(time.Second)
			w.conns[0].vanish()
			w.c.Do(turn.CommitInput{Turn: "t-1"})
			w.c.Do(turn.CreateResponse{Turn: "t-1"})
			time.Sleep(deadAfter + 2*deadLook)
			w.want("lost offline", "ready", "committed t-1")
			if n := w.peer(1).samples(); n != 4800 {
				t.Errorf("the new session heard %d samples; want 4800", n)
			}
		})
	})
}

func TestRefusedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var key atomic.Value
		key.Store("wrong")
		w := newWorld(t, func(c *Config) { c.Key = func() string { return key.Load().(string) } })
		w.status = http.StatusUnauthorized
		w.run()
		defer w.stop()
		w.want("lost fatal key_refused")
		time.Sleep(2 * kit.BackoffRefused) // tried again now and then, told once
		w.want()
		if n := w.attempts(); n < 2 || n > 4 {
			t.Errorf("%d attempts in a minute; want 2 to 4", n)
		}
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		key.Store("right")
		time.Sleep(kit.KeyLook + time.Second)
		w.want("ready")
		if got := w.keys[len(w.keys)-1]; got != "Bearer right" {
			t.Errorf("connected with %q; want the new key", got)
		}
	})
}

// A refusal that lasts must not fill the journal, and a server that says the key back must not bring it there.
func TestLogOfALongRefusalIsShortAndKeepsTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorld(t, func(c *Config) {
			c.Key = func() string { return "sk-sesame" }
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		w.status = http.StatusUnauthorized
		w.run()
		time.Sleep(2 * time.Hour)
		attempts := w.attempts()
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		time.Sleep(2 * kit.BackoffRefused)
		w.peer(0).send(map[string]any{"type": "error", "error": map[string]any{
			"type": "invalid_request_error", "code": codeKey, "message": "sk-sesame opens nothing",
		}})
		time.Sleep(time.Second)
		w.stop()
		if n := strings.Count(log.String(), logRetry); n == 0 || n > 12 {
			t.Errorf("%d attempts in two hours left %d lines; want one for the 1st, 2nd, 4th, 8th …", attempts, n)
		}
		if !strings.Contains(log.String(), "opens nothing") || strings.Contains(log.String(), "sesame") {
			t.Errorf("the log must say what the server said, without the key:\n%s", &log)
		}
	})
}

func TestRefusedHandshakes(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusUnauthorized: "lost fatal key_refused", http.StatusForbidden: "lost fatal denied", http.StatusTooManyRequests: "lost quota",
		http.StatusPaymentRequired: "lost no_credit", http.StatusNotFound: "lost elsewhere",
		http.StatusFound: "lost elsewhere", http.StatusTemporaryRedirect: "lost elsewhere", http.StatusInternalServerError: "lost server_error",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.status = status
			w.run()
			defer w.stop()
			w.want(want)
			if w.attempts() != 1 {
				t.Errorf("status %d: the key was sent %d times; want once (no redirect is followed)", status, w.attempts())
			}
		})
	}
}

// A server that says when to come again is believed: no attempt before, one soon after; what cannot be read is nothing.
func TestRetryAfterIsKept(t *testing.T) {
	for after, want := range map[string]struct{ none, one time.Duration }{
		"1":                             {900 * time.Millisecond, 1500 * time.Millisecond},
		"60":                            {59 * time.Second, 67 * time.Second},
		"99999999":                      {kit.RetryMost - time.Second, kit.RetryMost + kit.RetryMost/10 + time.Second},
		"-1":                            {14 * time.Second, kit.BackoffRefused - time.Millisecond},
		"soon":                          {14 * time.Second, kit.BackoffRefused - time.Millisecond},
		"Wed, 21 Oct 2026 07:28:00 GMT": {kit.RetryMost - time.Second, kit.RetryMost + kit.RetryMost/10 + time.Second}, // years from the server's own date
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.status, w.after = http.StatusTooManyRequests, after
			w.run()
			defer w.stop()
			time.Sleep(want.none)
			w.want("lost quota")
			if n := w.attempts(); n != 1 {
				t.Errorf("Retry-After %s: %d attempts within %v; want one", after, n, want.none)
			}
			time.Sleep(want.one - want.none)
			w.want()
			if n := w.attempts(); n != 2 {
				t.Errorf("Retry-After %s: %d attempts within %v; want two", after, n, want.one)
			}
		})
	}
}

func TestRefusedSessions(t *testing.T) {
	for code, want := range map[string]string{"invalid_api_key": "lost fatal key_refused", "insufficient_quota": "lost no_credit", "rate_limit_exceeded": "lost quota", "model_not_found": "lost fatal model_refused", "invalid_value": "lost server_error"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.auto = false
			w.onEvent = func(p *peer, ev map[string]any) {
				if ev == nil {
					p.send(map[string]any{"type": "session.created", "session": map[string]any{}})
				} else {
					p.send(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "code": code, "message": "no"}})
				}
			}
			w.run()
			defer w.stop()
			time.Sleep(4 * refusalWait) // no error names what it is about: the session omits all that it can
			w.want(want)
		})
	}
}

func TestReconnectsForEverWithinFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.status = http.StatusBadGateway
		w.run()
		defer w.stop()
		time.Sleep(time.Hour)
		w.want("lost server_error")
		if n := w.attempts(); n < 720 || n > 1800 {
			t.Errorf("%d attempts in an hour; want one every 2.5 to 5 s", n)
		}
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		time.Sleep(kit.BackoffMax)
		w.want("ready")
	})
}

// After an hour without a server the back-off is five seconds. Somebody who asks when it is back does not wait for that.
func TestAQuestionTriesTheServerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.status = http.StatusBadGateway
		w.run()
		defer w.stop()
		time.Sleep(time.Hour)
		w.want("lost server_error")
		for range 10 { // wherever in the back-off it is
			time.Sleep(700 * time.Millisecond)
			n := w.attempts()
			w.c.Do(turn.ClearInput{Turn: turn.ID(fmt.Sprint("t-", n))})
			time.Sleep(2 * kit.BackoffMin)
			if got := w.attempts(); got <= n || got > n+3 {
				t.Errorf("%d attempts within %v of a question; want one to three", got-n, 2*kit.BackoffMin)
			}
		}
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		time.Sleep(kit.BackoffMax)
		w.want("ready")
	})
}

func TestGarbageIsSurvived(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		for _, s := range []string{
			``, `{`, `[]`, `null`, `"x"`, `1`, `{}`, `{"type":1}`, `{"type":""}`, `{"type":"response.created"}`, `{"type":"response.created","response":null}`,
			`{"type":"response.created","response":[]}`, `{"type":"response.done","response":{"id":5}}`, `{"type":"response.done","response":{"id":"nobody"}}`,
			`{"type":"response.output_audio.delta","response_id":"nobody","delta":"AAAA"}`, `{"type":"response.output_audio.delta","delta":"***"}`,
			`{"type":"response.output_audio.delta","delta":5}`, `{"type":"error"}`, `{"type":"error","error":null}`, `{"type":"error","error":"just words"}`,
			`{"type":"error","error":{"event_id":"nobody"}}`, `{"type":"input_audio_buffer.committed"}`, `{"type":"input_audio_buffer.committed","item_id":{}}`,
			`{"type":"from.the.future","response":7,"delta":[1],"error":{"code":3}}`, "\xff\xfe", `{"type":"response.output_item.done","item":{"type":"function_call"}}`,
			`{"type":"response.function_call_arguments.done","call_id":"c","name":"x"}`, `{"type":"conversation.item.input_audio_transcription.completed"}`,
			`{"type":"conversation.item.input_audio_transcription.failed"}`, `{"type":"response.done","response":{}}`, `{"type":"response.created","response":{}}`,
		} {
			p.sendRaw([]byte(s))
		}
		_ = p.conn.Write(context.Background(), websocket.MessageBinary, []byte{1, 2, 3})
		w.want()
		w.ask("t-1")
		p.created("r1", "t-1")
		p.sendRaw([]byte(`{"type":"response.output_audio.delta","response_id":"r1","item_id":"i1","delta":"***"}`))
		p.delta("r1", "i1", 2400)
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 2400", "done t-1 r1 completed")
	})
}

func TestOnlyGarbageEndsTheSession(t *testing.T) {
	in(t, nil, func(w *world) {
		for range maxGarbage + 1 {
			w.peer(0).sendRaw([]byte("garbage"))
		}
		w.want("lost offline")
		time.Sleep(time.Second)
		w.want("ready")
	})
}

// Now and then something that cannot be read is no reason to leave a server, however long the session lasts; a flood is one,
// whatever came before.
func TestARareUnreadableMessageCostsNothing(t *testing.T) {
	in(t, nil, func(w *world) {
		for range 10 * maxGarbage {
			w.peer(0).sendRaw([]byte("garbage"))
			time.Sleep(2 * garbageWindow / maxGarbage)
		}
		w.want()
		w.ask("t-1")
		w.peer(0).created("r1", "t-1")
		w.peer(0).delta("r1", "i1", 2400)
		w.peer(0).doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 2400", "done t-1 r1 completed")
		for range maxGarbage + 1 {
			w.peer(0).sendRaw([]byte("garbage"))
		}
		w.want("lost offline")
	})
}

func TestTenMegabyteDelta(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 5<<20) // 10 MB of speech, 14 MB of text
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 5242880", "done t-1 r1 completed")
	})
}

func TestMessageBeyondTheLimitEndsTheSessionInWords(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		w.want("started t-1 r1", "delta t-1 r1 2400")
		p.delta("r1", "i1", 8<<20)
		w.want("done t-1 r1 failed lost_midway", "lost offline")
		time.Sleep(time.Second)
		w.want("ready")
	})
}

func TestDuplicatesAreLookedAtOnce(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		twice := func() {
			p.mu.Lock()
			b := p.sent[len(p.sent)-1]
			p.mu.Unlock()
			p.sendRaw(b)
		}
		w.ask("t-1")
		twice() // committed
		p.created("r1", "t-1")
		twice()
		p.delta("r1", "i1", 2400)
		twice()
		p.delta("r1", "i1", 2400) // the same samples under a new event_id are new
		p.doneResponse("r1", "completed")
		twice()
		w.want("started t-1 r1", "delta t-1 r1 4800", "done t-1 r1 completed")
	})
}

func TestServerThatStopsReading(t *testing.T) {
	in(t, nil, func(w *world) {
		// Nothing is taken off the wire any more: what the client keeps is bounded, and it says so.
		stuck := w.conns[0]
		stuck.w.mu.Lock()
		stuck.w.full = true
		stuck.w.mu.Unlock()
		w.say("t-1", 60*24000)
		w.want("lost offline", "ready")
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.want("committed t-1")
		if n := w.peer(1).samples(); n != 60*24000 {
			t.Errorf("the new session heard %d samples; want %d", n, 60*24000)
		}
	})
}

func TestEndsCleanlyAtAnyTime(t *testing.T) {
	// synctest panics when a goroutine is left behind.
	for n := range 40 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.run()
			defer w.stop()
			time.Sleep(time.Duration(n) * time.Microsecond)
			if n%4 == 0 {
				return
			}
			synctest.Wait()
			p := w.peer(0)
			w.ask2("t-1")
			if n%4 == 1 {
				return
			}
			p.created("r1", "t-1")
			w.full = make(chan struct{})
			p.delta("r1", "i1", 24000)
			if n%4 == 2 {
				w.conns[0].vanish()
				time.Sleep(time.Duration(n) * 250 * time.Millisecond)
			}
		})
	}
}
