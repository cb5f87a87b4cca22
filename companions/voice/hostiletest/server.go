// Package hostiletest is a Realtime server that does what servers do when they lie, break or are merely slow. What it does
// is a Mode, which is data; tests drive the real client through every one of them.
package hostiletest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// M is an event.
type M = map[string]any

// Mode is one way to misbehave. The zero value is a server in good health.
type Mode struct {
	Name string
	// Told is what a person may be told at the end of a turn by a name of words; "" is an answer.
	Told []string
	// Endless answers are longer than they should be.
	Endless bool
	Ours    bool // the device speaks the answer, in its own length
	// Patient servers are slow: a turn must be given its usual time.
	Patient bool
	// Silent pongs: pings are not answered.
	Silent bool
	// Rate is bytes a second each way; 0: as many as there are.
	Rate int

	// Upgrade takes a handshake; false leaves it to the server. n counts them from 0.
	Upgrade func(w http.ResponseWriter, r *http.Request, n int) bool
	// Event takes what the client sent; false leaves it to the server.
	Event func(s *Session, kind string, ev M) bool
	// Answer gives an answer; nil: a good one.
	Answer func(s *Session, a *Answer)
}

// Server is one on loopback.
type Server struct {
	mode     Mode
	listener net.Listener
	http     *http.Server
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu       sync.Mutex
	healed   bool
	shakes   int
	sessions int
	faults   int
	spoken   map[any]any // which turn an item answered
	cuts     map[any]int // milliseconds that the answer of a turn was truncated to
}

// Start begins to serve.
func Start(mode Mode) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("hostile server: %w", err)
	}
	s := &Server{mode: mode, listener: l, spoken: map[any]any{}, cuts: map[any]int{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)} //nolint:gosec // it is to hang
	s.wg.Go(func() { _ = s.http.Serve(&throttled{l, mode.Rate}) })
	return s, nil
}

// Close ends it and everything it started.
func (s *Server) Close() {
	s.cancel()
	_ = s.http.Close()
	s.wg.Wait()
}

// Address is what a client connects to.
func (s *Server) Address() string { return "ws://" + s.listener.Addr().String() + "/v1/realtime" }

// Heal ends the misbehaviour.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healed = true
}

// Told is what it saw: sessions, and faults it committed.
func (s *Server) Told() (sessions, faults int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions, s.faults
}

// Cut is where the answer of a turn was truncated, in milliseconds.
func (s *Server) Cut(turn string) (ms int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms, ok = s.cuts[turn]
	return ms, ok
}

func (s *Server) now() Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.healed {
		return Mode{Rate: s.mode.Rate}
	}
	return s.mode
}

func (s *Server) fault() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults++
}

// ServeHTTP is one connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := s.shakes
	s.shakes++
	s.mu.Unlock()
	if up := s.now().Upgrade; up != nil && up(w, r, n) {
		s.fault()
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool { return !s.now().Silent }})
	if err != nil {
		return
	}
	conn.SetReadLimit(32 << 20)
	s.mu.Lock()
	s.sessions++
	x := &Session{Server: s, Conn: conn, N: s.sessions - 1}
	s.mu.Unlock()
	x.ctx, x.cancel = context.WithCancel(s.ctx)
	x.run()
}

// Session is one connection's conversation.
type Session struct {
	*Server
	Conn *websocket.Conn
	N    int // 0 for the first

	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	mu       sync.Mutex
	event    int
	item     int
	count    int // answers so far
	refusals int
	asked    string
	live     map[string]context.CancelFunc
}

// Fault counts one.
func (s *Session) Fault() { s.fault() }

// Send sends an event.
func (s *Session) Send(kind string, ev M) {
	s.mu.Lock()
	s.event++
	ev["type"] = kind
	if _, ok := ev["event_id"]; !ok {
		ev["event_id"] = fmt.Sprintf("event_%d_%d", s.N, s.event)
	}
	s.mu.Unlock()
	b, _ := json.Marshal(ev) //nolint:errchkjson // made here
	s.Raw(b)
}

// Raw sends a text message as it is.
func (s *Session) Raw(b []byte) { _ = s.Conn.Write(s.ctx, websocket.MessageText, b) }

// Error sends an error event; to names the client's event, nil nothing.
func (s *Session) Error(to M, typ, code, param string) {
	e := M{"type": typ, "code": code, "message": "No.", "param": param}
	if to != nil {
		e["event_id"] = to["event_id"]
	}
	s.Send("error", M{"error": e})
}

// Drop ends the connection without a word.
func (s *Session) Drop() { s.Fault(); _ = s.Conn.CloseNow(); s.cancel() }

func (s *Session) run() {
	defer func() { s.cancel(); _ = s.Conn.CloseNow(); s.wg.Wait() }()
	s.live = map[string]context.CancelFunc{}
	s.Send("session.created", M{"session": M{"type": "realtime", "id": fmt.Sprint("sess_", s.N)}})
	for {
		_, b, err := s.Conn.Read(s.ctx)
		if err != nil {
			return
		}
		var ev M
		if json.Unmarshal(b, &ev) != nil {
			continue
		}
		kind, _ := ev["type"].(string)
		if f := s.now().Event; f != nil && f(s, kind, ev) {
			continue
		}
		s.Good(kind, ev)
	}
}

// Good does what a server in good health does.
func (s *Session) Good(kind string, ev M) {
	switch kind {
	case "session.update":
		s.Send("session.updated", M{"session": ev["session"]})
	case "input_audio_buffer.clear":
		s.Send("input_audio_buffer.cleared", M{})
	case "input_audio_buffer.commit":
		s.item++
		s.asked = ""
		s.Send("input_audio_buffer.committed", M{"item_id": fmt.Sprintf("item_u%d_%d", s.N, s.item), "previous_item_id": nil})
	case "conversation.item.create":
		s.item++
		s.asked = fmt.Sprint(ev["item"])
		s.Send("conversation.item.added", M{"item": M{"id": fmt.Sprintf("item_t%d_%d", s.N, s.item), "type": "message"}})
	case "conversation.item.truncate":
		ms, _ := ev["audio_end_ms"].(float64)
		s.Server.mu.Lock()
		s.cuts[s.spoken[ev["item_id"]]] = int(ms)
		s.Server.mu.Unlock()
		s.Send("conversation.item.truncated", M{"item_id": ev["item_id"], "content_index": 0, "audio_end_ms": ev["audio_end_ms"]})
	case "conversation.item.delete":
		s.Send("conversation.item.deleted", M{"item_id": ev["item_id"]})
	case "response.create":
		s.answer(ev)
	case "response.cancel":
		id, _ := ev["response_id"].(string)
		s.mu.Lock()
		stop := s.live[id]
		delete(s.live, id)
		s.mu.Unlock()
		if stop == nil {
			s.Error(ev, "invalid_request_error", "response_cancel_not_active", "")
			return
		}
		stop()
	}
}

// Answer is one that is to be given.
type Answer struct {
	ID, Item string
	N        int // of this session, from 0
	Length   time.Duration
	Turn     any
	Create   M
	ctx      context.Context
}

func (s *Session) answer(ev M) {
	a := &Answer{ID: fmt.Sprintf("resp_%d_%d", s.N, s.count), Item: fmt.Sprintf("item_a%d_%d", s.N, s.count), N: s.count, Length: 600 * time.Millisecond,
		Create: ev}
	s.count++
	if strings.Contains(s.asked, "long") {
		a.Length = 3 * time.Second
	}
	if r, ok := ev["response"].(M); ok {
		if m, ok := r["metadata"].(M); ok {
			a.Turn = m["turn"]
		}
	}
	s.Server.mu.Lock()
	s.spoken[a.Item] = a.Turn
	s.Server.mu.Unlock()
	ctx, stop := context.WithCancel(s.ctx)
	a.ctx = ctx
	s.mu.Lock()
	s.live[a.ID] = stop
	s.mu.Unlock()
	f := s.now().Answer
	s.wg.Go(func() {
		defer func() {
			stop()
			s.mu.Lock()
			delete(s.live, a.ID)
			s.mu.Unlock()
		}()
		if f != nil {
			f(s, a)
			return
		}
		s.Speak(a)
	})
}

// Speak gives the good answer.
func (s *Session) Speak(a *Answer) {
	s.Begin(a)
	for i := range int(a.Length / (100 * time.Millisecond)) {
		if a.Cancelled() {
			s.Done(a, "cancelled", nil)
			return
		}
		s.Delta(a, i)
		a.Pause(25 * time.Millisecond)
	}
	s.Done(a, "completed", nil)
}

// Begin announces the answer and says it in words.
func (s *Session) Begin(a *Answer) {
	s.Send("response.created", M{"response": M{"id": a.ID, "status": "in_progress", "metadata": M{"turn": a.Turn}}})
	s.Send("response.output_audio_transcript.delta", M{"response_id": a.ID, "item_id": a.Item, "delta": "So it is."})
}

// Delta sends a tenth of a second of sound.
func (s *Session) Delta(a *Answer, i int) {
	s.Send("response.output_audio.delta", M{"response_id": a.ID, "item_id": a.Item, "output_index": 0, "content_index": 0, "delta": Sound(i, 2400)})
}

// Done ends the answer.
func (s *Session) Done(a *Answer, status string, details any) {
	s.Send("response.done", M{"response": M{"id": a.ID, "status": status, "status_details": details, "output": []any{}, "metadata": M{"turn": a.Turn},
		"usage": M{"input_tokens": 1, "output_tokens": 1}}})
}

// Cancelled says that the client wants no more of it, or is gone.
func (a *Answer) Cancelled() bool { return a.ctx.Err() != nil }

// Pause lets d pass, or less when it is cancelled.
func (a *Answer) Pause(d time.Duration) {
	select {
	case <-a.ctx.Done():
	case <-time.After(d):
	}
}

// Hold waits until the client wants no more of it.
func (a *Answer) Hold() { <-a.ctx.Done() }

// Sound is n samples of a tone, from piece i on.
func Sound(i, n int) string {
	pcm := make([]byte, 2*n)
	for k := range n {
		v := int16(8000 * math.Sin(2*math.Pi*700*float64(i*n+k)/24000))
		pcm[2*k], pcm[2*k+1] = byte(v), byte(uint16(v)>>8)
	}
	return base64.StdEncoding.EncodeToString(pcm)
}

// throttled makes connections slow.
type throttled struct {
	net.Listener
	rate int
}

func (t *throttled) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err == nil && t.rate > 0 {
		return &slow{c, t.rate}, nil
	}
	return c, err //nolint:wrapcheck // it is a listener
}

type slow struct {
	net.Conn
	rate int
}

func (s *slow) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b[:min(len(b), 4096)])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	return n, err //nolint:wrapcheck // it is a connection
}

func (s *slow) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += 4096 {
		n := min(4096, len(b)-at)
		if _, err := s.Conn.Write(b[at : at+n]); err != nil {
			return at, err //nolint:wrapcheck // it is a connection
		}
		time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	}
	return len(b), nil
}
