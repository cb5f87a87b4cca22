//go:build cgo

package audio

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func nullStream(t *testing.T, m *MalgoCard) *malgoStream {
	t.Helper()
	s, err := m.OpenPlayback(StreamConfig{}, func(out []int16) { clear(out) })
	if err != nil {
		t.Fatal(err)
	}
	return s.(*malgoStream)
}

// A context is shared by the card and its streams; whoever lets go last frees it, and nobody before.
func TestContextIsFreedByTheLastUser(t *testing.T) {
	m, err := NewCard("null", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := nullStream(t, m), nullStream(t, m)
	c := m.current(BackendNull)
	refs := func() int { m.mu.Lock(); defer m.mu.Unlock(); return c.refs }
	if refs() != 3 {
		t.Errorf("%d references with the card and two streams; want 3", refs())
	}
	_ = a.Close()
	m.Close()
	if refs() != 1 {
		t.Errorf("%d references with one stream left; want 1", refs())
	}
	_ = b.Close()
	if refs() != 0 {
		t.Errorf("%d references with all closed; want 0", refs())
	}
}

// Even where the device hangs and is left behind, the callback has ended when Close returns and starts no more.
func TestEndWaitsForTheCallback(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	calls := 0
	s := &malgoStream{closing: make(chan struct{}), fn: func(out []int16) {
		calls++
		close(entered)
		<-release
		finished.Store(true)
	}}
	s.policy.Store(-1) // the test's thread must not become real-time
	buf := make([]byte, 8)
	go s.onPlayback(buf, nil, 4)
	<-entered
	ended := make(chan bool)
	go func() { s.end(); ended <- finished.Load() }()
	for !s.closed.Load() {
		runtime.Gosched()
	}
	close(release)
	if !<-ended {
		t.Error("end returned while the callback was still running")
	}
	for i := range buf {
		buf[i] = 9
	}
	s.onPlayback(buf, nil, 4)
	if calls != 1 || !bytes.Equal(buf, make([]byte, 8)) {
		t.Errorf("after the end: %d calls, buffer %v; want 1 and silence", calls, buf)
	}
	s.onCapture(nil, buf, 4)
	if calls != 1 {
		t.Error("take was called after the end")
	}
}

func TestAudioThreadTellsItsPriorityOnce(t *testing.T) {
	var out syncBuffer
	m, err := NewCard("null", slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for range 2 {
		s := nullStream(t, m)
		poll(t, "a callback", func() bool { return s.policy.Load() != 0 })
		if got := s.policy.Load(); got != -1 && (got < 1 || got > audioPrio) {
			t.Errorf("priority %d; want -1, or 1 to %d", got, audioPrio)
		}
		poll(t, "the report", m.reported.Load)
		_ = s.Close()
	}
	if n := strings.Count(out.String(), "audio.thread"); n != 1 {
		t.Errorf("%d lines about the thread; want 1:\n%s", n, out.String())
	}
}

// poll waits for a thread that is not Go's and notifies nobody.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.After(5 * time.Second); !ok(); {
		select {
		case <-limit:
			t.Fatalf("not in 5 s: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// syncBuffer is a bytes.Buffer for a logger that is written to by another goroutine.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
