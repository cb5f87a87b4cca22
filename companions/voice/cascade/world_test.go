package cascade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"conch/audio/decode"
	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a client with its chain, in a bubble: pipes in place of sockets, and virtual time.
type world struct {
	t      *testing.T
	c      *Client
	chain  *cascadetest.Chain
	client *http.Client
	stop   context.CancelFunc
	began  time.Time
	down   bool // nobody is reached

	mu     sync.Mutex
	facts  []turn.Event
	at     []time.Time
	pcm    []int16
	cut    map[turn.ID]bool
	pace   bool // Audio takes speech as fast as it is played
	played time.Time
	turn   turn.ID // that was played last
	gap    time.Duration
}

// decoded is what a device has for speech that comes compressed.
func decoded(r io.Reader) (voice.Stream, error) {
	live, err := decode.NewSpeech(r)
	if err != nil {
		return nil, err
	}
	return live, nil
}

type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// settings are those of a configuration that names a server at home.
func settings() voice.Settings {
	return voice.Settings{URL: "http://box.lan:8000", Own: map[string]string{}, ModelAssumed: true, TranscriptionAssumed: true, Patience: 10 * time.Second,
		Key: func() string { return "the-key" }, Decode: decoded}
}

// in runs f in a bubble with a chain of that script, once the client is ready.
func in(t *testing.T, s cascadetest.Script, change func(*voice.Settings, *voice.Companion, *Config), f func(w *world)) {
	t.Helper()
	within(t, s, change, func(w *world) {
		w.first(turn.SessionReady{})
		f(w)
	})
}

// within is the same before the client is ready.
func within(t *testing.T, s cascadetest.Script, change func(*voice.Settings, *voice.Companion, *Config), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, s, change)
		defer w.end()
		f(w)
	})
}

func start(t *testing.T, s cascadetest.Script, change func(*voice.Settings, *voice.Companion, *Config), here ...func(*Client)) *world {
	t.Helper()
	w := &world{t: t, chain: cascadetest.New(s), cut: map[turn.ID]bool{}, began: time.Now()}
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: w.chain, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(l) }()
	w.client = pool(nil, func(ctx context.Context, _, _ string) (net.Conn, error) {
		w.mu.Lock()
		down := w.down
		w.mu.Unlock()
		if down {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		a, b := net.Pipe()
		select {
		case l.conns <- b:
			return a, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	set, companion := settings(), voice.Companion{Instructions: "You are Ada.", Log: slog.New(slog.DiscardHandler), VoiceAssumed: true, Voice: "marin"}
	if testing.Verbose() {
		companion.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if change != nil {
		change(&set, &companion, nil)
	}
	cfg, err := Configure(set, companion)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Client = w.client
	if change != nil {
		change(&set, &companion, &cfg)
	}
	w.c, err = New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.c.here, w.c.heres = nil, nil // what is installed on this machine is no part of the test
	for _, have := range here {
		have(w.c)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = w.c.Run(ctx, w)
	}()
	w.stop = func() {
		stop()
		<-ran
		l.Close()
		server.Close()
		w.client.CloseIdleConnections()
	}
	return w
}

func (w *world) end() {
	w.stop()
	synctest.Wait()
	if n := w.chain.Open(); n > 0 {
		w.t.Errorf("%d requests are open at the end", n)
	}
}

func (w *world) Post(ev turn.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts, w.at = append(w.facts, ev), append(w.at, time.Now())
}

func (w *world) Audio(ctx context.Context, id turn.ID, pcm []int16) int {
	w.mu.Lock()
	if w.cut[id] {
		w.mu.Unlock()
		return 0
	}
	w.pcm = append(w.pcm, pcm...)
	now := time.Now()
	if w.played.Before(now) {
		if !w.played.IsZero() && w.turn == id {
			w.gap += now.Sub(w.played)
		}
		w.played = now
	}
	w.turn = id
	w.played = w.played.Add(time.Duration(len(pcm)) * time.Second / kit.Rate)
	wait := w.played.Sub(now) - 300*time.Millisecond
	paced := w.pace
	w.mu.Unlock()
	if paced && wait > 0 {
		pause(ctx, wait)
	}
	return len(pcm)
}

func (w *world) Now() time.Duration { return time.Since(w.began) }

// all are the facts so far.
func (w *world) all() []turn.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.facts)
}

// first waits, in virtual time, for a fact of this type; and returns it.
func (w *world) first(kind turn.Event) turn.Event { return w.nth(kind, 1) }

func (w *world) nth(kind turn.Event, n int) turn.Event {
	w.t.Helper()
	for range 10 * 60 * 20 {
		synctest.Wait()
		k := 0
		for _, ev := range w.all() {
			if reflect.TypeOf(ev) == reflect.TypeOf(kind) {
				if k++; k == n {
					return ev
				}
			}
		}
		time.Sleep(50 * time.Millisecond) // virtual
	}
	w.t.Fatalf("no %T number %d within ten minutes; facts:\n%s", kind, n, w.story())
	return nil
}

// story is what happened, a fact a line.
func (w *world) story() string {
	var b strings.Builder
	for _, ev := range w.all() {
		fmt.Fprintf(&b, "%T %+v\n", ev, ev)
	}
	return b.String()
}

// press says something in a turn, and asks for the answer.
func (w *world) press(id turn.ID) {
	w.say(id)
	w.c.Do(turn.CreateResponse{Turn: id})
}

func (w *world) say(id turn.ID) {
	w.c.Do(turn.ClearInput{Turn: id})
	w.c.Append(id, cascadetest.Sound(1, kit.Rate))
	w.c.Do(turn.CommitInput{Turn: id})
}

// done waits for the end of the n-th answer.
func (w *world) done(n int) turn.ResponseDone {
	w.t.Helper()
	return w.nth(turn.ResponseDone{}, n).(turn.ResponseDone)
}

// history is the conversation as the next question would have it.
func (w *world) last() []string {
	q := w.chain.Requests(cascadetest.Chat)
	return q[len(q)-1].Messages()
}

// gaps is how long nothing was to be played in the middle of a turn.
func (w *world) gaps() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gap
}
