package pairing

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"conch/mqtt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func identity(t testing.TB) mqtt.Identity {
	t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func partyOf(id mqtt.Identity, name string) Party {
	return Party{Device: id.ID(), Key: id.PublicKey(), Name: name}
}

// wire is a channel in memory, as good as TLS: it proves the peer's key and has a binding of its own. It works in a synctest bubble.
type wire struct {
	out, in chan []byte
	over    *overs
	binding []byte
	peer    ed25519.PublicKey
	dead    bool                                 // this end has lost its power; owned by who sends and receives
	on      func(w *wire, frame []byte) [][]byte // nil: as it is; what is sent instead
}

// overs is the end of both ends.
type overs struct {
	once sync.Once
	c    chan struct{}
}

func (o *overs) end() { o.once.Do(func() { close(o.c) }) }

// pipe is a channel's two ends: the joiner's, then the window's.
func pipe(joiner, window mqtt.Identity, binding string) (*wire, *wire) {
	a, b := make(chan []byte, 16), make(chan []byte, 16)
	over := &overs{c: make(chan struct{})}
	return &wire{out: a, in: b, over: over, binding: []byte(binding), peer: window.PublicKey()},
		&wire{out: b, in: a, over: over, binding: []byte(binding), peer: joiner.PublicKey()}
}

func (w *wire) Binding() []byte         { return w.binding }
func (w *wire) Peer() ed25519.PublicKey { return w.peer }
func (w *wire) Close() error            { w.over.end(); return nil }

// cut is the power going off at this end.
func (w *wire) cut() {
	w.dead = true
	w.over.end()
}

func (w *wire) Send(frame []byte) error {
	frames := [][]byte{frame}
	if w.on != nil && !w.dead {
		frames = w.on(w, frame)
	}
	for _, f := range frames {
		if err := w.send(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) send(frame []byte) error {
	select {
	case <-w.over.c:
		return io.ErrClosedPipe
	default:
	}
	select {
	case w.out <- frame:
		return nil
	case <-w.over.c:
		return io.ErrClosedPipe
	}
}

func (w *wire) Receive(ctx context.Context) ([]byte, error) {
	if w.dead {
		return nil, io.EOF
	}
	select {
	case f := <-w.in: // what was sent before the end still arrives
		return f, nil
	default:
	}
	select {
	case f := <-w.in:
		return f, nil
	case <-w.over.c:
		select {
		case f := <-w.in:
			return f, nil
		default:
			return nil, io.EOF
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// host is a window under test with what its callbacks saw.
type host struct {
	*Window
	id  mqtt.Identity
	t   testing.TB
	ran chan error

	mu       sync.Mutex
	events   []WindowEvent
	admitted []Party
	stored   []Party
}

const testCode = "482915"

// open opens a window and runs it until the test ends.
func open(t testing.TB, change func(*WindowConfig)) *host {
	t.Helper()
	h := &host{id: identity(t), t: t, ran: make(chan error, 1)}
	cfg := WindowConfig{
		Identity: h.id, Name: "kitchen", RoomID: "rabcdefghijklmno", RoomName: "home", Code: testCode,
		Admit: func(_ context.Context, p Party) ([]byte, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.admitted = append(h.admitted, p)
			return []byte("welcome " + p.Name), nil
		},
		Stored: func(p Party) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.stored = append(h.stored, p)
		},
		On: func(e WindowEvent) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, e)
		},
	}
	if change != nil {
		change(&cfg)
	}
	w, err := NewWindow(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Window = w
	go func() { h.ran <- w.Run(context.Background()) }()
	return h
}

// kinds are the events so far.
func (h *host) kinds() []WindowEventKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []WindowEventKind
	for _, e := range h.events {
		out = append(out, e.Kind)
	}
	return out
}

func (h *host) event(k WindowEventKind) (WindowEvent, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Kind == k {
			return e, true
		}
	}
	return WindowEvent{}, false
}

// guest is a joiner with what its Store saw.
type guest struct {
	id   mqtt.Identity
	cfg  JoinConfig
	code string
	kept []string
	from []Party
	fail error // what Store returns
}

func newGuest(t testing.TB, name string) *guest {
	t.Helper()
	g := &guest{id: identity(t), code: testCode}
	g.cfg = JoinConfig{Identity: g.id, Name: name, Store: func(p Party, welcome []byte) error {
		if g.fail != nil {
			return g.fail
		}
		g.kept = append(g.kept, string(welcome))
		g.from = append(g.from, p)
		return nil
	}}
	return g
}

// run connects a joiner's end with a window, and returns how the run ended on the window's side.
func (h *host) run(id mqtt.Identity, binding string) (*wire, <-chan error) {
	j, w := pipe(id, h.id, binding)
	served := make(chan error, 1)
	go func() { served <- h.Serve(context.Background(), w) }()
	return j, served
}

func (g *guest) join(h *host, code string) (Party, error) {
	ch, _ := h.run(g.id, "tls")
	return NewJoiner(g.cfg).Join(context.Background(), ch, code)
}

// enter is one run, and no other is to come.
func (g *guest) enter(ctx context.Context, ch Channel) (Party, error) {
	return NewJoiner(g.cfg).Join(ctx, ch, g.code)
}

// works says whether an honest joiner still gets in.
func (h *host) works(t testing.TB) {
	t.Helper()
	g := newGuest(t, "honest")
	if _, err := g.join(h, testCode); err != nil || len(g.kept) != 1 {
		t.Fatalf("an honest joiner did not get in: %v", err)
	}
	if err := <-h.ran; err != nil {
		t.Fatal(err)
	}
}

// stop closes a window that a test leaves open.
func (h *host) stop() {
	h.Close()
	_ = await(h.ran)
}

// await waits for the end of something whose error is no matter here.
func await(ended <-chan error) error { return <-ended }

func wantErr(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("error %v; want %v", err, w)
		}
	}
}
