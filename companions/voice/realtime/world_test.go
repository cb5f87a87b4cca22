package realtime

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// The world of these tests: the real client, the real WebSocket library on both ends, an in-memory wire inside a
// synctest bubble (sockets do not work in one), and a server that does what the test's script says.

// wire is one direction of a connection: buffered, and able to lose everything silently.
type wire struct {
	mu       sync.Mutex
	cond     *sync.Cond
	buf      bytes.Buffer
	closed   bool
	lost     bool // a black hole: bytes vanish, nothing is closed
	vanished time.Time
	full     bool // nobody reads: writing blocks
	until    time.Time
	timer    *time.Timer
}

func newWire() *wire { w := &wire{}; w.cond = sync.NewCond(&w.mu); return w }

type memConn struct{ r, w *wire }

func (c memConn) Read(b []byte) (int, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	for c.r.buf.Len() == 0 || c.r.lost {
		if c.r.closed {
			return 0, io.EOF
		}
		if !c.r.until.IsZero() && !time.Now().Before(c.r.until) {
			return 0, os.ErrDeadlineExceeded
		}
		c.r.cond.Wait()
	}
	return c.r.buf.Read(b)
}

func (c memConn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for c.w.full && !c.w.closed {
		c.w.cond.Wait()
	}
	if c.w.closed {
		return 0, errors.New("write on a closed wire")
	}
	c.w.buf.Write(b) // what vanishes is not acknowledged
	if !c.w.lost {
		c.w.cond.Broadcast()
	}
	return len(b), nil
}

func (c memConn) Close() error {
	for _, w := range []*wire{c.r, c.w} {
		w.mu.Lock()
		w.closed = w.closed || !w.lost
		if w == c.r {
			w.closed = true
		}
		w.cond.Broadcast()
		w.mu.Unlock()
	}
	return nil
}

// vanish makes the line dead without a word.
func (c memConn) vanish() {
	for _, w := range []*wire{c.r, c.w} {
		w.mu.Lock()
		w.lost, w.vanished = true, time.Now()
		w.mu.Unlock()
	}
}

// Acknowledged is what TCP_INFO tells of a socket.
func (c memConn) Acknowledged() (silent time.Duration, flying, queued bool) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.w.lost && c.w.buf.Len() > 0 {
		return time.Since(c.w.vanished), true, true
	}
	return 0, false, c.w.full
}

type addr struct{}

func (addr) Network() string                       { return "mem" }
func (addr) String() string                        { return "mem" }
func (memConn) LocalAddr() net.Addr                { return addr{} }
func (memConn) RemoteAddr() net.Addr               { return addr{} }
func (memConn) SetWriteDeadline(t time.Time) error { return nil }

func (c memConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c memConn) SetReadDeadline(t time.Time) error {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.until = t
	if c.r.timer != nil {
		c.r.timer.Stop()
	}
	if !t.IsZero() {
		c.r.timer = time.AfterFunc(time.Until(t), c.r.cond.Broadcast)
	}
	c.r.cond.Broadcast()
	return nil
}

type memListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *memListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memListener) Addr() net.Addr { return addr{} }

// world is one test's server, outlet and client.
type world struct {
	t      testing.TB
	server *http.Server
	l      *memListener
	c      *Client
	cancel context.CancelFunc
	done   chan struct{}
	start  time.Time

	mu       sync.Mutex
	sessions []*peer // one per connection that was accepted
	facts    []turn.Event
	heard    map[turn.ID]int
	pcm      []int16
	said     string
	deaf     map[turn.ID]bool // turns that are over: Audio accepts nothing
	full     chan struct{}    // when not nil, Audio waits for it
	status   int              // when not 0, handshakes are refused with it
	after    string           // Retry-After, with status
	keys     []string
	conns    []memConn
	onEvent  func(p *peer, ev map[string]any) // the server's script
	auto     bool                             // without a script: session, committed
	log      *bytes.Buffer
}

// peer is one connection as the server sees it.
type peer struct {
	w    *world
	n    int // 0 for the first connection
	conn *websocket.Conn
	mu   sync.Mutex
	got  []map[string]any
	raw  [][]byte
	id   int
	sent [][]byte
}

func (p *peer) send(ev map[string]any) {
	p.mu.Lock()
	p.id++
	if _, ok := ev["event_id"]; !ok {
		ev["event_id"] = fmt.Sprintf("event_%d_%d", p.n, p.id)
	}
	p.mu.Unlock()
	b, _ := json.Marshal(ev)
	p.sendRaw(b)
}

func (p *peer) sendRaw(b []byte) {
	p.mu.Lock()
	p.sent = append(p.sent, b)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = p.conn.Write(ctx, websocket.MessageText, b)
}

// types lists what was received, runs of appends as one.
func (p *peer) types() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ts []string
	for _, ev := range p.got {
		t := strings.TrimPrefix(ev["type"].(string), "input_audio_buffer.")
		if t != "append" || len(ts) == 0 || ts[len(ts)-1] != "append" {
			ts = append(ts, t)
		}
	}
	return ts
}

// last returns the latest event of a type.
func (p *peer) last(typ string) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range slices.Backward(p.got) {
		if ev["type"] == typ {
			return ev
		}
	}
	p.w.t.Errorf("the server received no %s", typ)
	return map[string]any{}
}

// samples counts what was appended since the last clear.
func (p *peer) samples() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, ev := range p.got {
		switch ev["type"] {
		case "input_audio_buffer.clear":
			n = 0
		case "input_audio_buffer.append":
			b, err := base64.StdEncoding.DecodeString(ev["audio"].(string))
			if err != nil {
				p.w.t.Errorf("append: %v", err)
			}
			n += len(b) / 2
		}
	}
	return n
}

func newWorld(t testing.TB, change func(*Config)) *world {
	w := &world{t: t, l: &memListener{conns: make(chan net.Conn), done: make(chan struct{})}, heard: map[turn.ID]int{}, deaf: map[turn.ID]bool{}, start: time.Now(), auto: true, log: &bytes.Buffer{}}
	w.server = &http.Server{Handler: http.HandlerFunc(w.serve)}
	level := slog.LevelInfo
	logTo := io.Discard
	if os.Getenv("REALTIME_LOG") != "" {
		logTo = os.Stderr
	}
	ga, _ := DialectByName("ga")
	cfg := Config{
		URL: "ws://conch.test/v1/realtime", Key: func() string { return "secret" }, Model: "model-a", Voice: "marin", Instructions: "You are Ada.",
		TranscriptionModel: "scribe", Dialect: ga, Log: slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: level})),
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			a, b := newWire(), newWire()
			client, server := memConn{a, b}, memConn{b, a}
			select {
			case w.l.conns <- server:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			w.mu.Lock()
			w.conns = append(w.conns, client)
			w.mu.Unlock()
			return client, nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	return w
}

// run starts client and server.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan struct{})
	go func() { _ = w.server.Serve(w.l) }()
	go func() {
		defer close(w.done)
		if err := w.c.Run(ctx, w); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
}

func (w *world) stop() {
	w.cancel()
	<-w.done
	w.mu.Lock()
	sessions, conns := w.sessions, w.conns
	w.mu.Unlock()
	for _, p := range sessions {
		_ = p.conn.CloseNow()
	}
	for _, c := range conns {
		_ = c.Close()
	}
	_ = w.server.Close()
}

// attempts counts the handshakes so far, refused ones included.
func (w *world) attempts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

func (w *world) serve(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	status, after := w.status, w.after
	w.keys = append(w.keys, req.Header.Get("Authorization"))
	w.mu.Unlock()
	if status != 0 {
		rw.Header().Set("Location", "http://elsewhere.test/")
		if after != "" {
			rw.Header().Set("Retry-After", after)
		}
		rw.WriteHeader(status)
		_, _ = fmt.Fprintf(rw, "Incorrect API key provided: %s", req.Header.Get("Authorization")) // some do say it back
		return
	}
	conn, err := websocket.Accept(rw, req, nil)
	if err != nil {
		w.t.Errorf("accept: %v", err)
		return
	}
	conn.SetReadLimit(readLimit)
	w.mu.Lock()
	p := &peer{w: w, n: len(w.sessions), conn: conn}
	w.sessions = append(w.sessions, p)
	w.mu.Unlock()
	if w.auto {
		p.send(map[string]any{"type": "session.created", "session": map[string]any{"type": "realtime"}})
	} else if w.onEvent != nil {
		w.onEvent(p, nil)
	}
	for {
		_, b, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		var ev map[string]any
		if err := json.Unmarshal(b, &ev); err != nil {
			w.t.Errorf("the client sent %q: %v", b, err)
			return
		}
		p.mu.Lock()
		p.got = append(p.got, ev)
		p.raw = append(p.raw, b)
		p.mu.Unlock()
		if w.onEvent != nil {
			w.onEvent(p, ev)
		}
		if w.auto {
			switch ev["type"] {
			case "session.update":
				p.send(map[string]any{"type": "session.updated", "session": ev["session"]})
			case "input_audio_buffer.commit":
				p.send(map[string]any{"type": "input_audio_buffer.committed", "item_id": fmt.Sprintf("item_u%d_%d", p.n, len(p.got)), "previous_item_id": nil})
			}
		}
	}
}

// The outlet.

func (w *world) Post(ev turn.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = append(w.facts, ev)
}

func (w *world) Audio(ctx context.Context, id turn.ID, pcm []int16) int {
	w.mu.Lock()
	full, deaf := w.full, w.deaf[id]
	w.mu.Unlock()
	if deaf {
		return 0
	}
	if full != nil {
		select {
		case <-full:
		case <-ctx.Done():
			return 0
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard[id] += len(pcm)
	w.pcm = append(w.pcm, pcm...)
	return len(pcm)
}

func (w *world) Now() time.Duration { return time.Since(w.start) }

// took returns the facts since the last call, as short words without times.
func (w *world) took() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var s []string
	var sum *turn.DeltaArrived
	for _, f := range w.facts {
		if sp, ok := f.(turn.Spoken); ok { // comes beside the sound, in no order with it
			w.said += sp.Text
			continue
		}
		if d, ok := f.(turn.DeltaArrived); ok {
			if sum != nil && sum.Response == d.Response {
				sum.Samples += d.Samples
				s[len(s)-1] = factString(*sum)
				continue
			}
			sum = &d
		} else {
			sum = nil
		}
		s = append(s, factString(f))
	}
	w.facts = nil
	return s
}

func factString(f turn.Event) string {
	switch f := f.(type) {
	case turn.SessionReady:
		return "ready"
	case turn.SessionLost:
		if f.Fatal {
			return "lost fatal " + string(f.Say)
		}
		return "lost " + string(f.Say)
	case turn.InputCommitted:
		return "committed " + string(f.Turn)
	case turn.InputRefused:
		return "refused " + string(f.Turn)
	case turn.Transcribed:
		return "heard " + string(f.Turn) + " " + f.Text
	case turn.ResponseStarted:
		return "started " + string(f.Turn) + " " + string(f.Response)
	case turn.DeltaArrived:
		return fmt.Sprintf("delta %s %s %d", f.Turn, f.Response, f.Samples)
	case turn.Spoken:
		return "spoken " + string(f.Turn) + " " + f.Text
	case turn.ToolCalled:
		return fmt.Sprintf("call %s %s %s(%s)", f.Turn, f.Call, f.Name, f.Args)
	case turn.ResponseDone:
		return strings.TrimSpace(fmt.Sprintf("done %s %s %s %s", f.Turn, f.Response, f.Status, f.Say))
	case turn.ResponseRefused:
		return "no answer " + string(f.Turn) + " " + string(f.Say)
	}
	return fmt.Sprintf("%T", f)
}

func (w *world) peer(n int) *peer {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n >= len(w.sessions) {
		w.t.Fatalf("there were %d sessions; want at least %d", len(w.sessions), n+1)
	}
	return w.sessions[n]
}

func (w *world) want(want ...string) {
	w.t.Helper()
	if got := w.took(); !slices.Equal(got, want) {
		w.t.Fatalf("facts:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (p *peer) want(want ...string) {
	p.w.t.Helper()
	synctest.Wait()
	if got := p.types(); !slices.Equal(got, want) {
		p.w.t.Fatalf("the server received:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// say speaks an utterance of n samples in frames of 20 ms, in (virtual) real time.
func (w *world) say(id turn.ID, n int) {
	w.c.Do(turn.ClearInput{Turn: id})
	for ; n > 0; n -= 480 {
		pcm := make([]int16, min(n, 480))
		for i := range pcm {
			pcm[i] = int16(i)
		}
		w.c.Append(id, pcm)
		time.Sleep(20 * time.Millisecond)
	}
}

// Server events, shaped like the real one's.

func (p *peer) created(resp string, t any) {
	p.send(map[string]any{"type": "response.created", "response": response_(resp, "in_progress", t)})
}

func response_(resp, status string, t any) map[string]any {
	r := map[string]any{"object": "realtime.response", "id": resp, "status": status, "status_details": nil, "output": []any{}, "usage": nil, "metadata": nil}
	if t != nil {
		r["metadata"] = map[string]any{"turn": t}
	}
	return r
}

func (p *peer) delta(resp, item string, n int) {
	p.send(map[string]any{"type": "response.output_audio.delta", "response_id": resp, "item_id": item, "output_index": 0, "content_index": 0, "delta": b64(n)})
}

func b64(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, 2*n)) }

func (p *peer) doneResponse(resp, status string) {
	r := response_(resp, status, nil)
	r["usage"] = map[string]any{"total_tokens": 30, "input_tokens": 10, "output_tokens": 20, "input_token_details": map[string]any{"text_tokens": 4, "audio_tokens": 6}, "output_token_details": map[string]any{"text_tokens": 5, "audio_tokens": 15}}
	p.send(map[string]any{"type": "response.done", "response": r})
}

// bareRun is a conversation without a loop and without a peer: what a test gives to it is all that happens.
func bareRun(t testing.TB) (r *conversation, stop func()) {
	w := newWorld(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r = newRun(ctx, w.c, w)
	l := newLink()
	l.hangUp, l.line, l.wished = func() error { return nil }, newLine(memConn{newWire(), newWire()}), kit.Wishes{Version: 1}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.cancel(errors.New("there is no peer"))
	r.link = l
	return r, func() {
		r.link = nil
		r.shutdown(cancel)
	}
}
