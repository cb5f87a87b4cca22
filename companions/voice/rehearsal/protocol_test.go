package rehearsal

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestOrderOfASpokenTurn is the order that the service keeps, from the commit to the end of the answer.
func TestOrderOfASpokenTurn(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	c.until("session.created")
	from := len(c.seen)
	c.speak(make([]int16, Rate/5))
	c.until("conversation.item.done")
	c.send(`{"type":"response.create"}`)
	c.until("response.done")
	var got []string
	for _, n := range names(c.seen[from:]) {
		if !strings.Contains(n, "delta") {
			got = append(got, n)
		}
	}
	want := []string{
		"input_audio_buffer.committed", "conversation.item.added", "conversation.item.done",
		"response.created", "rate_limits.updated",
		"response.output_item.added", "conversation.item.added", "response.content_part.added",
		"response.output_audio.done", "response.output_audio_transcript.done", "response.content_part.done",
		"conversation.item.done", "response.output_item.done", "response.done",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	// Everything of the answer carries its ids, and the words of the deltas are those of the end.
	answer := c.seen[len(c.seen)-1]["response"].(m)
	for _, e := range c.seen[from:] {
		if id, ok := e["response_id"]; ok && id != answer["id"] {
			t.Errorf("%v is of response %v", e["type"], id)
		}
	}
	part := answer["output"].([]any)[0].(m)["content"].([]any)[0].(m)
	if part["transcript"] != c.words(from) || c.words(from) == "" {
		t.Errorf("the deltas say %q, the end %q", c.words(from), part["transcript"])
	}
	if answer["conversation_id"] == nil || answer["usage"] == nil {
		t.Errorf("response.done = %v", answer)
	}
}

func TestViolationsAreAnswered(t *testing.T) {
	_, url := serve(t, quick())
	message := `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	for _, row := range []struct{ send, code, param string }{
		{`{`, "invalid_json", ""},
		{`7`, "invalid_type", ""},
		{`{"event_id":"e"} {}`, "invalid_json", ""},
		{`{"event_id":"e"}`, "missing_required_parameter", "type"},
		{`{"type":7}`, "invalid_type", "type"},
		{`{"type":"response.speak"}`, "invalid_value", "type"},
		{`{"type":"session.update"}`, "missing_required_parameter", "session"},
		{`{"type":"session.update","session":{}}`, "missing_required_parameter", "session.type"},
		{`{"type":"session.update","session":{"type":"transcription"}}`, "invalid_value", "session.type"},
		{`{"type":"session.update","session":{"type":"realtime","temperature":0.8}}`, "unknown_parameter", "session.temperature"},
		{`{"type":"session.update","session":{"type":"realtime","modalities":["audio"]}}`, "unknown_parameter", "session.modalities"},
		{`{"type":"session.update","session":{"type":"realtime","output_modalities":["audio","text"]}}`, "array_above_max_length", "session.output_modalities"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}}`, "integer_below_min_value", "session.audio.input.format.rate"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"vad"}}}}}`, "invalid_value", "session.audio.input.turn_detection.type"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{}}}}}`, "missing_required_parameter", "session.audio.input.turn_detection.type"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"server_vad","eagerness":"low"}}}}}`, "unknown_parameter", "session.audio.input.turn_detection.eagerness"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"semantic_vad","threshold":0.5}}}}}`, "unknown_parameter", "session.audio.input.turn_detection.threshold"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"semantic_vad","eagerness":"very"}}}}}`, "invalid_value", "session.audio.input.turn_detection.eagerness"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"server_vad","threshold":1.5}}}}}`, "decimal_above_max_value", "session.audio.input.turn_detection.threshold"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":-1}}}}}`, "integer_below_min_value", "session.audio.input.turn_detection.silence_duration_ms"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":"server_vad","create_response":"yes"}}}}}`, "invalid_type", "session.audio.input.turn_detection.create_response"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"output":{"voice":"-w /etc/passwd"}}}}`, "invalid_value", "session.audio.output.voice"},
		{`{"type":"session.update","session":{"type":"realtime","audio":{"output":{"voice":"espeak:-w"}}}}`, "invalid_value", "session.audio.output.voice"},
		{`{"type":"session.update","session":{"type":"realtime","model":"another"}}`, "invalid_value", "session.model"},
		{`{"type":"session.update","session":{"type":"realtime","tools":{}}}`, "invalid_type", "session.tools"},
		{`{"type":"session.update","session":{"type":"realtime","tools":[{"type":"function","name":"a b"}]}}`, "invalid_value", "session.tools[0].name"},
		{`{"type":"session.update","session":{"type":"realtime","max_output_tokens":5000}}`, "integer_above_max_value", "session.max_output_tokens"},
		{`{"type":"input_audio_buffer.append"}`, "missing_required_parameter", "audio"},
		{`{"type":"input_audio_buffer.append","audio":"?"}`, "invalid_value", "audio"},
		{`{"type":"input_audio_buffer.append","audio":"AAAA"}`, "invalid_value", "audio"}, // three bytes
		{`{"type":"input_audio_buffer.append","audio":null}`, "invalid_type", "audio"},
		{`{"type":"input_audio_buffer.commit"}`, "input_audio_buffer_commit_empty", ""},
		{`{"type":"input_audio_buffer.commit","final":true}`, "unknown_parameter", "final"},
		{`{"type":"conversation.item.create","item":` + message[:len(message)-1] + `,"turn":"t-1"}}`, "unknown_parameter", "item.turn"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}}`, "invalid_value", "item.content[0].type"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"assistant","content":[{"type":"output_audio","audio":"AAAA"}]}}`, "invalid_value", "item.content[0].type"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"nobody","content":[]}}`, "invalid_value", "item.role"},
		{`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"call_1","output":"x"}}`, "invalid_tool_call_id", "item.call_id"},
		{`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"call_1","output":{}}}`, "invalid_type", "item.output"},
		{`{"type":"conversation.item.create","previous_item_id":"nowhere","item":` + message + `}`, "item_create_invalid_previous_item_id", "previous_item_id"},
		{`{"type":"conversation.item.retrieve","item_id":"item_1"}`, "item_retrieve_invalid_item_id", "item_id"},
		{`{"type":"conversation.item.delete","item_id":"item_1"}`, "item_delete_invalid_item_id", "item_id"},
		{`{"type":"conversation.item.truncate","item_id":"item_1","content_index":0,"audio_end_ms":1}`, "item_truncate_invalid_item_id", "item_id"},
		{`{"type":"conversation.item.truncate","item_id":"item_1","content_index":0,"audio_end_ms":1.5}`, "invalid_type", "audio_end_ms"},
		{`{"type":"conversation.item.truncate","item_id":"item_1","content_index":0,"audio_end_ms":-1}`, "integer_below_min_value", "audio_end_ms"},
		{`{"type":"response.cancel"}`, "response_cancel_not_active", ""},
		{`{"type":"response.create","response":{"modalities":["text"]}}`, "unknown_parameter", "response.modalities"},
		{`{"type":"response.create","response":{"metadata":{"a":1}}}`, "invalid_type", "response.metadata.a"},
		{`{"type":"response.create","response":{"input":[{"type":"item_reference","id":"item_1"}]}}`, "invalid_value", "response.input[0].id"},
		{`{"type":"output_audio_buffer.clear"}`, "invalid_value", "type"},
	} {
		c := dial(t, url)
		c.until("session.created")
		send := row.send
		if strings.HasPrefix(send, `{"type"`) {
			send = strings.TrimSuffix(send, "}") + `,"event_id":"mine"}`
		}
		c.send("%s", send)
		e := get[m](c.until("error"), "error")
		if e["code"] != row.code || e["param"] != orNull(row.param) || e["type"] != "invalid_request_error" || e["message"] == "" {
			t.Errorf("%s\nanswered with %v; want %s for %q", row.send, e, row.code, row.param)
		}
		if send != row.send && e["event_id"] != "mine" {
			t.Errorf("%s: event_id %v; want mine", row.send, e["event_id"])
		}
		c.say("hello") // and the session lives on
		c.conn.CloseNow()
	}
}

func TestWhatIsAllowedIsTaken(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	c.until("session.created")
	// Nulls stand for absent; null takes turn detection away; a beta header and a model's name do no harm.
	c.send(`{"type":"session.update","event_id":null,"session":{"type":"realtime","instructions":null,"audio":{"input":{"turn_detection":null,"transcription":null,"noise_reduction":null}},"prompt":null,"tools":[]}}`)
	if s := c.until("session.updated", "error"); s["type"] == "error" {
		t.Fatal(s)
	}
	// An item may come first, and may bring its own id, once.
	c.say("second")
	item := `{"type":"conversation.item.create","previous_item_id":"root","item":{"type":"message","id":"mine","role":"system","content":[{"type":"input_text","text":"first"}]}}`
	c.send("%s", item)
	if e := c.until("conversation.item.done"); e["previous_item_id"] != nil {
		t.Errorf("the first item has %v before it", e["previous_item_id"])
	}
	c.send("%s", item)
	if e := c.until("error"); get[string](e, "error", "code") != "item_create_duplicate_item_id" {
		t.Error(e)
	}
	// A second answer is refused while the first is at work, one out of band is not.
	c.say("tell me a story")
	c.send(`{"type":"response.create"}`)
	c.until("response.output_audio.delta")
	c.send(`{"type":"response.create","event_id":"again"}`)
	c.send(`{"type":"response.create","response":{"conversation":"none","output_modalities":["text"],"metadata":{"bid":"1"}}}`)
	done, refused := 0, false
	for done < 2 {
		e := c.until("error", "response.done")
		if e["type"] == "error" {
			refused = get[string](e, "error", "code") == "conversation_already_has_active_response" && get[string](e, "error", "event_id") == "again"
			continue
		}
		done++
		if r := e["response"].(m); r["metadata"] != nil && r["conversation_id"] != nil {
			t.Errorf("out of band, and in conversation %v", r["conversation_id"])
		}
	}
	if !refused {
		t.Error("a second response was not refused")
	}
}

func TestTruncateNeverBeyondWhatWasSent(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	c.ask("what is your name")
	item := get[[]any](c.seen[len(c.seen)-1], "response", "output")[0].(m)["id"].(string)
	ms := 0
	for _, e := range c.seen {
		if e["type"] == "response.output_audio.delta" {
			ms += len(e["delta"].(string)) * 3 / 4 / 48
		}
	}
	truncate := func(at int) m {
		c.send(`{"type":"conversation.item.truncate","item_id":%q,"content_index":0,"audio_end_ms":%d}`, item, at)
		return c.until("conversation.item.truncated", "error")
	}
	if e := truncate(ms + 100); get[string](e, "error", "param") != "audio_end_ms" {
		t.Errorf("beyond the end: %v", e)
	}
	if e := truncate(500); e["audio_end_ms"] != 500.0 {
		t.Errorf("in the middle: %v", e)
	}
	if e := truncate(501); e["type"] != "error" {
		t.Errorf("beyond the first cut: %v", e)
	}
	c.send(`{"type":"conversation.item.retrieve","item_id":%q}`, item)
	got := c.until("conversation.item.retrieved")
	if s := fmt.Sprint(got["item"]); strings.Contains(s, "name is") {
		t.Errorf("the words that were not heard are still there: %s", s)
	}
}

func TestVoiceIsSetOnceHeard(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	voice := func(v string) m {
		c.send(`{"type":"session.update","session":{"type":"realtime","audio":{"output":{"voice":%q}}}}`, v)
		return c.until("session.updated", "error")
	}
	if e := voice("rms"); e["type"] == "error" {
		t.Fatal(e)
	}
	c.ask("hello")
	if e := voice("slt"); get[string](e, "error", "code") != "cannot_update_voice" {
		t.Errorf("another voice: %v", e)
	}
	if e := voice("rms"); e["type"] == "error" {
		t.Errorf("the same voice: %v", e)
	}
}

// TestSameSeedSameSession: nothing but the seed decides ids and words.
func TestSameSeedSameSession(t *testing.T) {
	var runs [2][]m
	for i := range runs {
		_, url := serve(t, quick())
		c := dial(t, url)
		c.ask("hello")
		c.ask("tell me a joke")
		runs[i] = c.seen
	}
	if !reflect.DeepEqual(runs[0], runs[1]) {
		t.Error("two sessions with the same seed differ")
	}
}

func TestHandshake(t *testing.T) {
	o := quick()
	o.Key, o.MaxSessions = "secret", 2
	s, url := serve(t, o)
	try := func(h http.Header, query string, protocols ...string) int {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, resp, err := websocket.Dial(ctx, url+query, &websocket.DialOptions{HTTPHeader: h, Subprotocols: protocols}) //nolint:bodyclose // Dial has read it
		if err == nil {
			t.Cleanup(func() { conn.CloseNow() })
		}
		if resp == nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	right := http.Header{"Authorization": {"Bearer secret"}}
	for _, row := range []struct {
		name   string
		header http.Header
		query  string
		faults Faults
		want   int
	}{
		{"no key", nil, "?model=x", Faults{}, 401},
		{"wrong key", http.Header{"Authorization": {"Bearer other"}}, "?model=x", Faults{}, 401},
		{"refused on demand", right, "?model=x", Faults{RefuseKey: true}, 401},
		{"rate limit on demand", right, "?model=x", Faults{RateLimit: true}, 429},
		{"transcription", right, "?intent=transcription", Faults{}, 400},
		{"right key", right, "?model=x", Faults{}, 101},
	} {
		s.SetFaults(row.faults)
		if got := try(row.header, row.query); got != row.want {
			t.Errorf("%s: status %d; want %d", row.name, got, row.want)
		}
	}
	// A browser's way to bring a key; then the house is full.
	if got := try(nil, "?model=x", "realtime", "openai-insecure-api-key.secret"); got != 101 {
		t.Errorf("key in a subprotocol: status %d; want 101", got)
	}
	if got := try(right, "?model=x"); got != 503 {
		t.Errorf("a third session: status %d; want 503", got)
	}
	if _, err := New(quick()).Listen("0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("Listen on all addresses: %v", err)
	}
}

// A page in somebody's browser, a name that leads to this machine, another user's program: what they can do to the server of an appliance's own
// process, and to one that was offered to all.
func TestStrangersAtTheServer(t *testing.T) {
	private, offered := quick(), quick()
	private = private.private()
	if again := quick().private(); again.Key == private.Key || len(private.Key) < 26 {
		t.Fatalf("keys %q and %q", private.Key, again.Key)
	}
	for _, row := range []struct {
		name, key, origin, host string
		own, all                int
	}{
		{"its own process", private.Key, "", "", 101, 101},
		{"another program with a key that it knows", "rehearsal", "", "", 401, 101},
		{"a page of the network, with the key", private.Key, "https://example.org", "", 403, 403},
		{"a page from a file", private.Key, "null", "", 403, 403},
		{"a page of this machine", private.Key, "http://localhost:5173", "", 403, 101},
		{"a page by a name that leads here", private.Key, "http://127.0.0.1.example.org", "127.0.0.1.example.org:80", 403, 403},
		{"by a name that leads here", private.Key, "", "example.org", 403, 403},
		{"by the name of this machine", private.Key, "", "localhost:1", 101, 101},
	} {
		for o, want := range map[*Options]int{&private: row.own, &offered: row.all} {
			_, url := serve(t, *o)
			h := http.Header{"Authorization": {"Bearer " + row.key}}
			if row.origin != "" {
				h.Set("Origin", row.origin)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			conn, resp, err := websocket.Dial(ctx, url+"?model=x", &websocket.DialOptions{HTTPHeader: h, Host: row.host}) //nolint:bodyclose // Dial has read it
			if cancel(); err == nil {
				conn.CloseNow()
			}
			if resp == nil {
				t.Fatal(err)
			}
			if resp.StatusCode != want {
				t.Errorf("%s, private %v: status %d; want %d", row.name, o.Private, resp.StatusCode, want)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":null}}}}`))
	f.Add([]byte(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAAA"}]}}`))
	f.Add([]byte(`{"type":"response.create","response":{"input":[{"type":"item_reference","id":"x"}],"tools":[{"type":"function","name":"x"}],"tool_choice":{"type":"function","name":"x"}}}`))
	f.Add([]byte(`{"type":"conversation.item.truncate","item_id":"x","content_index":0,"audio_end_ms":1e300}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		// What passes is handled without a panic, by a session whose wire leads nowhere.
		s := New(Options{Recognizer: Meter{}, Synthesizer: Tones{}, Pace: -1})
		x := newSession(s, "fuzz", newRand(1))
		ev, _, bad := decode(frame)
		if bad == nil {
			bad = x.handle(ev, "")
		}
		if bad != nil {
			x.refuse("", bad)
		}
		x.cancel(nil)
		x.wg.Wait()
	})
}
