package hostiletest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// What may be told. An answer that broke off is told as that, a refusal as a refusal, silence as silence.
var (
	answered = []string{""}
	broken   = []string{"", "lost_midway", "no_answer", "offline"}
	refused  = []string{"", "server_error", "quota"}
	unheard  = []string{"", "no_answer", "not_heard"}
	failed   = []string{"", "server_error", "no_answer"}
)

// every has a misbehaviour only at each k-th answer: what is slow to get over.
func every(k int, f func(s *Session, a *Answer)) func(s *Session, a *Answer) {
	return func(s *Session, a *Answer) {
		if a.N%k == k-1 {
			s.Fault()
			f(s, a)
			return
		}
		s.Speak(a)
	}
}

// with does something beside a good answer's deltas.
func with(f func(s *Session, a *Answer, i int)) func(s *Session, a *Answer) {
	return func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		for i := range int(a.Length / (100 * time.Millisecond)) {
			if a.Cancelled() {
				s.Done(a, "cancelled", nil)
				return
			}
			s.Delta(a, i)
			f(s, a, i)
			a.Pause(25 * time.Millisecond)
		}
		s.Done(a, "completed", nil)
	}
}

// raw sends texts that are no events.
func raw(texts ...string) func(s *Session, a *Answer) {
	return with(func(s *Session, a *Answer, i int) {
		if i > 0 || a.N%4 > 0 { // a server that says little else is left after a hundred
			return
		}
		for _, t := range texts {
			s.Raw([]byte(strings.NewReplacer("$resp", a.ID, "$item", a.Item).Replace(t)))
		}
	})
}

// refuse answers every second question with an error.
func refuse(send func(s *Session, ev M)) func(s *Session, kind string, ev M) bool {
	return func(s *Session, kind string, ev M) bool {
		if kind != "response.create" {
			return false
		}
		if s.refusals++; s.refusals%2 == 0 {
			return false
		}
		s.Fault()
		send(s, ev)
		return true
	}
}

// without refuses a session while it has a field.
func without(field string) func(s *Session, kind string, ev M) bool {
	return func(s *Session, kind string, ev M) bool {
		if kind != "session.update" || !strings.Contains(fmt.Sprint(ev["session"]), field+":") {
			return false
		}
		s.Fault()
		s.Error(ev, "invalid_request_error", "invalid_value", "session.audio."+field)
		return true
	}
}

// dropping ends the connection after every second answer, so that the handshake is what is met.
func dropping(s *Session, a *Answer) {
	s.Speak(a)
	if a.N%2 == 1 {
		time.Sleep(100 * time.Millisecond)
		s.Drop()
	}
}

// shaken takes every second handshake.
func shaken(f http.HandlerFunc) func(w http.ResponseWriter, r *http.Request, n int) bool {
	return func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n%2 == 0 {
			return false
		}
		f(w, r)
		return true
	}
}

// Modes are all of them.
var Modes = []Mode{
	{Name: "healthy", Told: answered},

	// Slow, not wrong.
	{Name: "busy for 6 s", Told: answered, Patient: true, Event: func(s *Session, kind string, _ M) bool {
		if kind == "response.create" && s.count%4 == 3 {
			s.Fault()
			time.Sleep(6 * time.Second) // and reads nothing
		}
		return false
	}},
	{Name: "slow line", Told: answered, Patient: true, Rate: 100_000},
	{Name: "no pongs", Told: answered, Silent: true},
	{Name: "uneven", Told: answered, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		for i := range int(a.Length / (100 * time.Millisecond)) {
			if a.Cancelled() {
				break
			}
			s.Delta(a, i)
			a.Pause(time.Duration(i%3) * 150 * time.Millisecond)
		}
		s.Done(a, "completed", nil)
	}},
	{Name: "acknowledges nothing", Told: unheard, Event: func(s *Session, kind string, _ M) bool {
		if kind != "session.update" && kind != "response.create" && kind != "response.cancel" {
			s.Fault()
			return true
		}
		return false
	}},

	// The connection.
	{Name: "drops in speech", Told: broken, Endless: true /* it goes on in the next session */, Answer: every(2, func(s *Session, a *Answer) {
		s.Begin(a)
		s.Delta(a, 0)
		s.Delta(a, 1)
		a.Pause(50 * time.Millisecond)
		s.Drop()
	})},
	{Name: "drops before speech", Told: broken, Answer: every(2, func(s *Session, _ *Answer) { s.Drop() })},
	{Name: "expires in an answer", Told: broken, Endless: true, Answer: every(2, func(s *Session, a *Answer) {
		s.Begin(a)
		s.Delta(a, 0)
		s.Error(nil, "invalid_request_error", "session_expired", "")
		a.Pause(50 * time.Millisecond)
		_ = s.Conn.Close(websocket.StatusNormalClosure, "expired")
	})},
	{Name: "close codes", Told: broken, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Speak(a)
		codes := []websocket.StatusCode{1000, 1001, 1002, 1003, 1008, 1011, 1012, 1013, 3000, 4000, 4999}
		_ = s.Conn.Close(codes[(s.N+a.N)%len(codes)], "why not")
	}},
	{Name: "hangs at the upgrade", Told: broken, Patient: true, Answer: dropping,
		Upgrade: shaken(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
	{Name: "HTML for an upgrade", Told: append(broken, "server_error", "elsewhere"), Answer: dropping,
		Upgrade: shaken(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html><body>Sign in to the network</body></html>")
		})},
	{Name: "redirects in a circle", Told: append(broken, "server_error", "elsewhere"), Answer: dropping,
		Upgrade: shaken(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		})},
	{Name: "too many requests", Told: append(broken, "quota"), Answer: dropping, Upgrade: shaken(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	})},
	{Name: "half a message", Told: broken, Answer: every(3, func(s *Session, a *Answer) {
		s.Begin(a)
		w, err := s.Conn.Writer(s.ctx, websocket.MessageText)
		if err == nil {
			_, _ = w.Write([]byte(`{"type":"response.output_audio.delta","delta":"AAAA`))
		}
		a.Pause(time.Minute)
		_ = s.Conn.CloseNow()
	})},

	// The session.
	{Name: "refuses transcription", Told: answered, Event: without("transcription")},
	{Name: "refuses the voice", Told: answered, Event: without("voice")},
	{Name: "early errors", Told: answered, Answer: dropping, Event: func(s *Session, kind string, _ M) bool {
		if kind == "session.update" {
			s.Error(nil, "server_error", "warming_up", "")
		}
		return false
	}},

	// Refusals.
	{Name: "error without event_id", Told: refused, Event: refuse(func(s *Session, _ M) { s.Error(nil, "server_error", "inference_down", "") })},
	{Name: "code in the type", Told: append(refused, "no_credit"), Event: refuse(func(s *Session, ev M) { s.Error(ev, "insufficient_quota", "", "") })},
	{Name: "an error in words", Told: refused, Event: refuse(func(s *Session, _ M) { s.Send("error", M{"error": "it is broken"}) })},
	{Name: "an error of numbers", Told: refused, Event: refuse(func(s *Session, _ M) {
		s.Send("error", M{"error": M{"type": 5, "code": 500, "message": []int{1}, "param": M{}, "event_id": 7}})
	})},
	{Name: "always an active answer", Told: refused, Event: refuse(func(s *Session, ev M) {
		s.Error(ev, "invalid_request_error", "conversation_already_has_active_response", "")
	})},
	{Name: "never an active answer", Told: answered, Event: func(s *Session, kind string, ev M) bool {
		if kind == "response.cancel" {
			s.Fault()
			s.Error(nil, "invalid_request_error", "response_cancel_not_active", "")
			return true
		}
		return false
	}},
	{Name: "refuses to truncate", Told: answered, Event: func(s *Session, kind string, _ M) bool {
		if kind == "conversation.item.truncate" || kind == "conversation.item.delete" {
			s.Fault()
			s.Error(nil, "invalid_request_error", "invalid_value", "audio_end_ms")
			return true
		}
		return false
	}},
	{Name: "refuses the commit", Told: []string{"", "not_heard"}, Event: func(s *Session, kind string, ev M) bool {
		if kind == "input_audio_buffer.commit" {
			s.Fault()
			s.Error(nil, "invalid_request_error", "input_audio_buffer_commit_empty", "")
			return true
		}
		return false
	}},
	{Name: "fails", Told: failed, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		s.Done(a, "failed", M{"type": "failed", "error": M{"type": "server_error", "code": nil}})
	}},
	{Name: "fails in words", Told: failed, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		s.Done(a, "failed", M{"type": "failed", "error": "it is broken"})
	}},
	{Name: "incomplete", Told: []string{"", "cut_short", "filtered"}, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		s.Delta(a, 0)
		s.Done(a, "incomplete", M{"type": "incomplete", "reason": []string{"max_output_tokens", "content_filter"}[a.N%2]})
	}},

	// Answers.
	{Name: "empty", Told: failed, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Send("response.created", M{"response": M{"id": a.ID}})
		s.Done(a, "completed", nil)
	}},
	{Name: "never begins", Told: unheard, Answer: every(3, func(_ *Session, a *Answer) { a.Hold() })},
	{Name: "never ends", Told: broken, Answer: every(3, func(s *Session, a *Answer) {
		s.Begin(a)
		s.Delta(a, 0)
		a.Hold()
		s.Done(a, "cancelled", nil)
	})},
	{Name: "never says that it cancelled", Told: broken, Answer: every(3, func(s *Session, a *Answer) {
		s.Begin(a)
		s.Delta(a, 0)
		a.Hold()
	})},
	{Name: "endless", Told: broken, Endless: true, Answer: func(s *Session, a *Answer) { // a press ends it
		if a.Length < time.Second {
			s.Speak(a)
			return
		}
		s.Fault()
		s.Begin(a)
		for i := 0; !a.Cancelled(); i++ {
			s.Delta(a, i)
			a.Pause(20 * time.Millisecond)
		}
		s.Done(a, "cancelled", nil)
	}},
	{Name: "duplicates", Told: answered, Answer: with(func(s *Session, a *Answer, i int) {
		b := fmt.Appendf(nil, `{"type":"response.output_audio.delta","event_id":"dup_%s_%d","response_id":"%s","item_id":"%s","delta":"%s"}`, a.ID, i, a.ID, a.Item, Sound(i, 240))
		s.Raw(b)
		s.Raw(b)
		s.Raw(b)
	}), Endless: true},
	{Name: "created twice", Told: answered, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		s.Send("response.created", M{"response": M{"id": a.ID, "metadata": M{"turn": a.Turn}}})
		s.Send("response.created", M{"response": M{"id": a.ID + "_twin", "metadata": M{"turn": a.Turn}}})
		s.Speak(a)
	}},
	{Name: "out of order", Told: failed, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Delta(a, 0)
		s.Begin(a)
		s.Done(a, "completed", nil)
		s.Delta(a, 1)
	}},
	{Name: "foreign answers", Told: answered, Answer: with(func(s *Session, a *Answer, i int) {
		s.Send("response.output_audio.delta", M{"response_id": "somebody_else", "item_id": a.Item, "delta": Sound(i, 24000)})
		s.Send("response.done", M{"response": M{"id": "somebody_else", "status": "failed"}})
	})},
	{Name: "speaks after the end", Told: answered, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Speak(a)
		for i := range 20 {
			s.Delta(a, i)
		}
	}},
	{Name: "ends twice", Told: answered, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Speak(a)
		s.Done(a, "failed", nil)
		s.Done(a, "completed", nil)
	}},
	{Name: "answers unasked", Told: answered, Answer: with(func(s *Session, a *Answer, i int) {
		for k := range 20 {
			id := fmt.Sprintf("%s_unasked_%d_%d", a.ID, i, k)
			s.Send("response.created", M{"response": M{"id": id, "metadata": M{"turn": "t-nobody"}}})
			s.Send("response.output_audio.delta", M{"response_id": id, "item_id": id, "delta": Sound(0, 2400)})
		}
	})},
	{Name: "an item for each sample", Told: answered, Endless: true, Answer: with(func(s *Session, a *Answer, i int) {
		for k := range 200 {
			s.Send("response.output_audio.delta", M{"response_id": a.ID, "item_id": fmt.Sprintf("%s_%d_%d", a.Item, i, k), "delta": Sound(k, 1)})
		}
	})},
	{Name: "calls without end", Told: append(failed, "tool_failed"), Answer: every(3, func(s *Session, a *Answer) {
		s.Begin(a)
		for k := range 500 {
			s.Send("response.function_call_arguments.done",
				M{"response_id": a.ID, "call_id": fmt.Sprintf("%s_%d", a.ID, k), "name": "no_such_tool", "arguments": "{}"})
		}
		s.Done(a, "completed", nil)
	})},
	{Name: "text alone", Told: failed, Ours: true, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Send("response.created", M{"response": M{"id": a.ID, "metadata": M{"turn": a.Turn}}})
		s.Send("response.output_text.delta", M{"response_id": a.ID, "item_id": a.Item, "delta": "So it is."})
		s.Done(a, "completed", nil)
	}},
	{Name: "an end of its own", Told: failed, Answer: func(s *Session, a *Answer) {
		s.Fault()
		s.Begin(a)
		s.Delta(a, 0)
		s.Done(a, []string{"", "finished", "COMPLETED"}[a.N%3], "because")
	}},

	// Bytes.
	{Name: "huge message", Told: broken, Answer: every(5, func(s *Session, a *Answer) {
		s.Begin(a)
		s.Send("response.output_audio.delta", M{"response_id": a.ID, "item_id": a.Item, "delta": strings.Repeat("A", 24<<20)})
		s.Done(a, "completed", nil)
	})},
	{Name: "binary", Told: answered, Answer: with(func(s *Session, _ *Answer, i int) {
		if i == 0 {
			_ = s.Conn.Write(s.ctx, websocket.MessageBinary, []byte{0, 1, 2, 0xff})
		}
	})},
	{Name: "no JSON", Told: answered, Answer: raw("", "{", "\xff\xfe", "nul", `{"type":`)},
	{Name: "deep JSON", Told: answered, Answer: raw(strings.Repeat("[", 100_000), `{"type":"x","a":`+strings.Repeat(`{"a":`, 20_000))},
	{Name: "numbers", Told: answered, Answer: raw(
		`{"type":"response.output_audio.delta","response_id":"$resp","output_index":-1e308,"content_index":99999999999999999999999,"delta":""}`,
		`{"type":"conversation.item.input_audio_transcription.completed","item_id":"$item","usage":{"seconds":-1e308,"input_tokens":-5}}`,
		`{"type":"response.done","response":{"id":"nobody","usage":{"input_tokens":9223372036854775807,"output_tokens":-9223372036854775808}}}`,
		`{"type":"rate_limits.updated","rate_limits":[{"remaining":-1,"reset_seconds":1e400}]}`)},
	{Name: "no base64", Told: answered, Answer: raw(`{"type":"response.output_audio.delta","response_id":"$resp","item_id":"$item","delta":"***"}`)},
	{Name: "errors without end", Told: answered, Answer: with(func(s *Session, _ *Answer, _ int) {
		for range 100 {
			s.Error(nil, "server_error", "again", "")
		}
	})},
	{Name: "unknown events", Told: answered, Answer: with(func(s *Session, _ *Answer, i int) {
		for k := range 50 {
			s.Send(fmt.Sprintf("response.future.%d.%d", i, k), M{"delta": []any{1, M{}}, "response": 5})
		}
	})},
	{Name: "pings", Told: answered, Answer: with(func(s *Session, _ *Answer, _ int) {
		go func() { _ = s.Conn.Ping(s.ctx) }()
	})},
}
