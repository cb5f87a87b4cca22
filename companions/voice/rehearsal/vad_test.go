package rehearsal

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"conch/companions/voice/realtime/schema"
)

// tone is so many milliseconds of something loud, hush of nothing.
func tone(ms int) []int16 {
	pcm := make([]int16, ms*Rate/1000)
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/Rate))
	}
	return pcm
}

func silence(ms int) []int16 { return make([]int16, ms*Rate/1000) }

// stream appends in pieces of 40 ms, and commits nothing.
func (c *wireClient) stream(parts ...[]int16) {
	for _, pcm := range parts {
		for len(pcm) > 0 {
			n := min(len(pcm), Rate/25)
			c.send(`{"type":"input_audio_buffer.append","audio":%q}`, soundBase64(pcm[:n]))
			pcm = pcm[n:]
		}
	}
}

// turns sets turn_detection and returns it as the session has it then.
func (c *wireClient) turns(detection string) m {
	c.t.Helper()
	c.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":%s}}}}`, detection)
	got, _ := get[m](c.until("session.updated"), "session", "audio", "input")["turn_detection"].(m)
	return got
}

func TestServerHearsTurns(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	created := c.until("session.created")
	if d := get[m](created, "session", "audio", "input", "turn_detection"); d["type"] != "server_vad" || d["create_response"] != true {
		t.Errorf("from the start turn_detection is %v; want the service's default", d)
	}
	if d := c.turns(`{"type":"server_vad","prefix_padding_ms":100,"silence_duration_ms":200}`); d["threshold"] != 0.5 || d["interrupt_response"] != true || d["silence_duration_ms"] != 200.0 {
		t.Errorf("turn_detection is %v", d)
	}
	// A click is nobody; padding and silence count as the service counts them.
	c.stream(silence(1000), tone(40), silence(960), tone(600), silence(300))
	started := c.until("input_audio_buffer.speech_started")
	stopped := c.until("input_audio_buffer.speech_stopped")
	committed := c.until("input_audio_buffer.committed")
	id := started["item_id"]
	if started["audio_start_ms"] != 1900.0 || stopped["audio_end_ms"] != 2800.0 || stopped["item_id"] != id || committed["item_id"] != id {
		t.Errorf("%v\n%v\n%v", started, stopped, committed)
	}
	c.until("response.created")
	if st := get[string](c.until("response.done"), "response", "status"); st != "completed" {
		t.Errorf("the answer is %s", st)
	}
	c.send(`{"type":"conversation.item.retrieve","item_id":%q}`, id)
	item := get[m](c.until("conversation.item.retrieved"), "item")
	part := get[[]any](item, "content")[0].(m)
	if n := len(get[string](part, "audio")) * 3 / 4 / 2 * 1000 / Rate; n < 880 || n > 920 {
		t.Errorf("the item has %d ms; want 100 of padding, 600 and 200 of silence", n)
	}

	// The next turn, and none where no turn is detected.
	c.stream(silence(500), tone(300), silence(300))
	c.until("response.done")
	c.turns(`null`)
	from := len(c.seen)
	c.stream(silence(100), tone(600), silence(600))
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.until("input_audio_buffer.committed")
	if got := names(c.seen[from:]); slices.Contains(got, "input_audio_buffer.speech_started") {
		t.Errorf("without turn detection: %v", got)
	}
	s := compile(t, schema.Server)
	for _, e := range c.seen {
		b, _ := json.Marshal(withoutNulls(e))
		if err := valid(s, b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
}

// speech that comes into an answer cuts it, or waits for its end, or asks for none.
func TestBargeIn(t *testing.T) {
	for _, kind := range []string{"server_vad", "semantic_vad"} {
		t.Run(kind, func(t *testing.T) {
			o := quick()
			o.Pace = 1
			_, url := serve(t, o)
			c := dial(t, url)
			c.until("session.created")
			with := func(more string) { c.turns(fmt.Sprintf(`{"type":%q%s}`, kind, more)) }
			story := func() string {
				c.say("tell me a story")
				c.send(`{"type":"response.create"}`)
				c.until("response.output_audio.delta")
				return get[string](c.seen[len(c.seen)-1], "response_id")
			}
			with(``)
			first := story()
			c.stream(tone(500), silence(1000))
			c.until("input_audio_buffer.speech_started")
			done := get[m](c.until("response.done"), "response")
			if done["id"] != first || done["status"] != "cancelled" || get[string](done, "status_details", "reason") != "turn_detected" {
				t.Errorf("%v; want it cancelled by the turn", done)
			}
			second := get[string](c.until("response.created"), "response", "id")
			c.send(`{"type":"response.cancel"}`)
			if got := get[string](c.until("response.done"), "response", "id"); got != second {
				t.Errorf("%s ended; want %s", got, second)
			}

			with(`,"interrupt_response":false`)
			first = story()
			c.stream(tone(500), silence(1000))
			c.until("input_audio_buffer.committed")
			c.send(`{"type":"response.cancel"}`)
			if done := get[m](c.until("response.done"), "response"); done["id"] != first || get[string](done, "status_details", "reason") != "client_cancelled" {
				t.Errorf("%v; want it to live until it was cancelled", done)
			}
			c.until("response.created") // what was said meanwhile is answered now
			c.send(`{"type":"response.cancel"}`)
			c.until("response.done")

			with(`,"create_response":false`)
			from := len(c.seen)
			c.stream(tone(500), silence(1000))
			c.until("input_audio_buffer.committed")
			c.say("and") // a round trip
			if got := names(c.seen[from:]); slices.Contains(got, "response.created") {
				t.Errorf("without create_response: %v", got)
			}
		})
	}
}

// A stranger without the server's own key stays out.
func TestKeyOfItsOwn(t *testing.T) {
	o := quick()
	o.Key = "any" // which is what dial has
	s, url := serve(t, o)
	dial(t, url).until("session.created")
	for _, key := range []string{"", "another", "an", "anyone"} {
		if status := s.refusal(t, url, key); status != 401 {
			t.Errorf("key %q: status %d; want 401", key, status)
		}
	}
}

// refusal is the status that a handshake with a key is answered with.
func (s *Server) refusal(t *testing.T, url, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(url, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Code
}
