package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"conch/coordinator/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loop is a real server on a real loopback socket, and an outlet that reports on channels.
type loop struct {
	server *httptest.Server
	conn   chan *websocket.Conn
	facts  chan turn.Event
	audio  chan time.Time
	began  time.Time
}

func newLoop(tls bool) *loop {
	l := &loop{conn: make(chan *websocket.Conn, 8), facts: make(chan turn.Event, 1<<16), audio: make(chan time.Time, 1<<16), began: time.Now()}
	h := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/elsewhere" {
			http.Redirect(w, req, "/v1/realtime", http.StatusTemporaryRedirect)
			return
		}
		conn, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		conn.SetReadLimit(readLimit)
		_ = conn.Write(req.Context(), websocket.MessageText, []byte(`{"type":"session.created","event_id":"e1","session":{}}`))
		if _, _, err := conn.Read(req.Context()); err != nil {
			return
		}
		_ = conn.Write(req.Context(), websocket.MessageText, []byte(`{"type":"session.updated","event_id":"e2","session":{}}`))
		l.conn <- conn
	})
	if tls {
		l.server = httptest.NewTLSServer(h)
	} else {
		l.server = httptest.NewServer(h)
	}
	return l
}

func (l *loop) Post(ev turn.Event) { l.facts <- ev }
func (l *loop) Audio(_ context.Context, _ turn.ID, pcm []int16) int {
	l.audio <- time.Now()
	return len(pcm)
}
func (l *loop) Now() time.Duration { return time.Since(l.began) }

func (l *loop) url(path string) string {
	return "ws" + strings.TrimPrefix(l.server.URL, "http") + path
}

// start runs a client until stop.
func (l *loop) start(t testing.TB, path string) (c *Client, stop func()) {
	c, err := New(Config{URL: l.url(path), Key: func() string { return "secret" }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Run(ctx, l); err != nil {
			t.Error(err)
		}
	})
	return c, func() {
		cancel()
		wg.Wait()
		l.server.CloseClientConnections()
		l.server.Close()
	}
}

func TestLoopback(t *testing.T) {
	l := newLoop(false)
	c, stop := l.start(t, "/v1/realtime")
	defer stop()
	if _, ok := (<-l.facts).(turn.SessionReady); !ok {
		t.Fatal("no SessionReady")
	}
	if err := c.Run(t.Context(), l); err == nil {
		t.Error("Run runs twice")
	}
	conn := <-l.conn
	c.Do(turn.ClearInput{Turn: "t-1"})
	c.Append("t-1", make([]int16, 4800))
	c.Do(turn.CommitInput{Turn: "t-1"})
	c.Do(turn.CreateResponse{Turn: "t-1"})
	for got := ""; got != "response.create"; {
		_, b, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ev struct{ Type string }
		_ = json.Unmarshal(b, &ev)
		got = ev.Type
	}
	_ = conn.Close(websocket.StatusGoingAway, "")
	for {
		if _, ok := (<-l.facts).(turn.SessionLost); ok {
			break
		}
	}
	conn = <-l.conn
	_ = conn.CloseNow()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	l := newLoop(false)
	_, stop := l.start(t, "/elsewhere")
	defer stop()
	if lost, ok := (<-l.facts).(turn.SessionLost); !ok || lost.Say != turn.WordsElsewhere {
		t.Fatalf("%+v", lost)
	}
	if len(l.conn) > 0 {
		t.Fatal("the redirect was followed, with the key")
	}
}

func TestUntrustedCertificateIsRefused(t *testing.T) {
	l := newLoop(true)
	l.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	_, stop := l.start(t, "/v1/realtime")
	defer stop()
	if lost, ok := (<-l.facts).(turn.SessionLost); !ok || lost.Say != turn.WordsNotTrusted {
		t.Fatalf("%+v", lost)
	}
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(0, "ns/op")
}

// stamped notes when the client's writes reach the socket.
type stamped struct {
	net.Conn
	wrote chan write
}

type write struct {
	at time.Time
	n  int
}

func (s stamped) Write(p []byte) (int, error) {
	select {
	case s.wrote <- write{time.Now(), len(p)}:
	default:
	}
	return s.Conn.Write(p)
}

// BenchmarkMicToSocket is from Append of a 20 ms frame to the last write of it on the TCP socket.
func BenchmarkMicToSocket(b *testing.B) {
	l := newLoop(false)
	wrote := make(chan write, 16)
	c, err := New(Config{URL: l.url("/"), Log: slog.New(slog.DiscardHandler), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return stamped{conn, wrote}, err
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx, l) }()
	<-l.facts
	conn := <-l.conn
	go func() {
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}()
	for len(wrote) > 0 {
		<-wrote
	}
	c.Do(turn.ClearInput{Turn: "t-1"})
	<-wrote
	id, n := turn.ID("t-1"), 0
	frame := make([]int16, 480)
	var took []time.Duration
	for b.Loop() {
		for len(wrote) > 0 {
			<-wrote
		}
		if n++; n%2000 == 0 { // 40 s: the next utterance
			id = turn.ID(fmt.Sprintf("t-%d", n))
			c.Do(turn.ClearInput{Turn: id})
			<-wrote
		}
		at := time.Now()
		c.Append(id, frame)
		for left := 480 * 2 * 4 / 3; left > 0; { // until all of it is written
			w := <-wrote
			if left -= w.n; left <= 0 {
				took = append(took, w.at.Sub(at))
			}
		}
	}
	cancel()
	<-done
	l.server.CloseClientConnections()
	l.server.Close()
	report(b, took)
}

// BenchmarkDeltaToOutlet is from the server's write of 100 ms of speech to Outlet.Audio, the loopback socket included.
func BenchmarkDeltaToOutlet(b *testing.B) {
	l := newLoop(false)
	c, stop := l.start(b, "/")
	<-l.facts
	conn := <-l.conn
	ctx := context.Background()
	go func() {
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}()
	c.Do(turn.CreateResponse{Turn: "t-1"})
	_ = conn.Write(ctx, websocket.MessageText, []byte(`{"type":"response.created","event_id":"e3","response":{"id":"resp_1","metadata":{"turn":"t-1"}}}`))
	<-l.facts
	msg := string(deltaMessage(2400))
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		m := []byte(strings.Replace(msg, "event_123", "event_"+time.Now().String(), 1))
		at := time.Now()
		_ = conn.Write(ctx, websocket.MessageText, m)
		took = append(took, (<-l.audio).Sub(at))
		<-l.facts
	}
	stop()
	report(b, took)
}
