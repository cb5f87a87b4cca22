package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for an event that should come at once; it is not a measurement.
const patience = 30 * time.Second

// quick are options without child processes, as fast as possible.
func quick() Options {
	return Options{Seed: 1, Recognizer: Meter{}, Synthesizer: Tones{}, Pace: -1, Now: func() time.Time { return time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC) }}
}

// serve runs a server on loopback until the test ends.
func serve(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if testing.Verbose() && o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s := New(o)
	url, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := s.Sessions(); n != 0 {
			t.Errorf("%d sessions left", n)
		}
	})
	return s, url
}

// wireClient is a client that only knows JSON.
type wireClient struct {
	t    testing.TB
	conn *websocket.Conn
	seen []m // since dial
}

func dial(t testing.TB, url string) *wireClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url+"?model=rehearsal", &websocket.DialOptions{ //nolint:bodyclose // Dial has read it
		HTTPHeader: http.Header{"Authorization": {"Bearer any"}, "OpenAI-Beta": {"realtime=v1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	c := &wireClient{t: t, conn: conn}
	t.Cleanup(func() { conn.CloseNow() })
	return c
}

// send writes an event, given as JSON with fmt verbs.
func (c *wireClient) send(format string, args ...any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// next reads one event.
func (c *wireClient) next() (m, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, data, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var e m
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	c.seen = append(c.seen, e)
	return e, nil
}

// until reads up to an event of one of the kinds.
func (c *wireClient) until(kinds ...string) m {
	c.t.Helper()
	from := len(c.seen)
	for {
		e, err := c.next()
		if err != nil {
			c.t.Fatalf("waiting for %v after %v: %v", kinds, names(c.seen[from:]), err)
		}
		if slices.Contains(kinds, e["type"].(string)) {
			return e
		}
	}
}

// names are the kinds of events, repeated ones once.
func names(es []m) []string {
	var out []string
	for _, e := range es {
		if n, _ := e["type"].(string); len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return out
}

func (c *wireClient) say(text string) {
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`, text)
	c.until("conversation.item.done")
}

func (c *wireClient) speak(pcm []int16) {
	for len(pcm) > 0 {
		n := min(len(pcm), Rate/25)
		c.send(`{"type":"input_audio_buffer.append","audio":%q}`, soundBase64(pcm[:n]))
		pcm = pcm[n:]
	}
	c.send(`{"type":"input_audio_buffer.commit"}`)
}

// words are what the answers said since event number from.
func (c *wireClient) words(from int) string {
	var b strings.Builder
	for _, e := range c.seen[from:] {
		if e["type"] == "response.output_audio_transcript.delta" || e["type"] == "response.output_text.delta" {
			b.WriteString(e["delta"].(string))
		}
	}
	return b.String()
}

func (c *wireClient) ask(text string) string {
	c.t.Helper()
	c.say(text)
	from := len(c.seen)
	c.send(`{"type":"response.create"}`)
	c.until("response.done")
	return c.words(from)
}
