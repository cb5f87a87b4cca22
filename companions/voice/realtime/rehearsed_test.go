package realtime_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// rehearsed is the client at the rehearsal server over a real socket. It is the server's brain, too, and keeps what that
// was shown.
type rehearsed struct {
	t        *testing.T
	c        *realtime.Client
	facts    chan turn.Event
	start    time.Time
	mu       sync.Mutex
	conns    []net.Conn
	thoughts []rehearsal.Thought
}

func (r *rehearsed) Post(ev turn.Event)                                  { r.facts <- ev }
func (r *rehearsed) Audio(_ context.Context, _ turn.ID, pcm []int16) int { return len(pcm) }
func (r *rehearsed) Now() time.Duration                                  { return time.Since(r.start) }
func (r *rehearsed) Think(t rehearsal.Thought) rehearsal.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thoughts = append(r.thoughts, t)
	return rehearsal.Reply{Text: "Well."}
}

// thought is what the brain was shown last.
func (r *rehearsed) thought() rehearsal.Thought {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.thoughts[len(r.thoughts)-1]
}

// cut breaks the connection without a word.
func (r *rehearsed) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// until waits for a fact of a kind; an answer that failed is none.
func until[E turn.Event](r *rehearsed) E {
	r.t.Helper()
	for {
		select {
		case ev := <-r.facts:
			if e, ok := ev.(E); ok {
				return e
			}
			switch ev.(type) {
			case turn.InputRefused, turn.ResponseRefused:
				r.t.Fatalf("%#v", ev)
			}
		case <-r.t.Context().Done():
			r.t.Fatal("no such fact")
		}
	}
}

func newRehearsed(t *testing.T) *rehearsed {
	r := &rehearsed{t: t, facts: make(chan turn.Event, 4096), start: time.Now()}
	server := rehearsal.New(rehearsal.Options{Brain: r, Recognizer: rehearsal.Meter{}, Synthesizer: rehearsal.Tones{}, Pace: -1})
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.c, err = realtime.New(realtime.Config{
		URL: url, Key: func() string { return "any" }, Instructions: "You are Ada.", Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				r.mu.Lock()
				r.conns = append(r.conns, c)
				r.mu.Unlock()
			}
			return c, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Run(ctx) })
	wg.Go(func() { _ = r.c.Run(ctx, r) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	until[turn.SessionReady](r)
	return r
}

func (r *rehearsed) talk() []string {
	var s []string
	for _, l := range r.thought().Talk {
		s = append(s, l.Who+": "+l.Text)
	}
	return s
}

// A room at the rehearsal server: what others say is there when this companion is asked, in order, whatever happened
// between; and it is told why it was selected, beside who it is.
func TestARoomAtTheRehearsal(t *testing.T) {
	r := newRehearsed(t)
	const guidance = rehearsal.RoomMarker + "\nYou were selected because you know birds."
	var want []string
	room := func(text string) {
		r.c.Do(turn.AddText{Role: "user", Text: "[Ben] " + text})
		want = append(want, "Ben: "+text)
	}
	answer := func(id turn.ID) {
		t.Helper()
		r.c.Do(turn.CreateResponse{Turn: id, Prompt: guidance})
		if e := until[turn.ResponseDone](r); e.Turn != id || e.Status != turn.ResponseCompleted {
			t.Fatalf("%+v", e)
		}
		th := r.thought()
		if !th.InRoom || th.Guidance != "You were selected because you know birds." || th.Instructions != "You are Ada." {
			t.Errorf("%s: in a room %v, guidance %q, instructions %q", id, th.InRoom, th.Guidance, th.Instructions)
		}
	}
	tail := func() {
		t.Helper()
		got := slices.DeleteFunc(r.talk(), func(s string) bool { return !strings.HasPrefix(s, "Ben: ") })
		if n := min(len(want), 30); len(got) < n || !slices.Equal(got[len(got)-n:], want[len(want)-n:]) {
			t.Errorf("the room so far\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}

	for _, s := range strings.Fields("one two three four five six seven eight nine ten") {
		room(s)
	}
	answer("room-1") // a turn of the room's own: the answer to what was said last
	tail()

	// A press, and the line breaks while the person speaks.
	r.c.Do(turn.ClearInput{Turn: "t-1"})
	r.c.Append("t-1", make([]int16, 12000))
	room("eleven")
	r.cut()
	until[turn.SessionLost](r)
	room("twelve")
	until[turn.SessionReady](r)
	r.c.Append("t-1", make([]int16, 12000))
	r.c.Do(turn.CommitInput{Turn: "t-1"})
	if e := until[turn.InputCommitted](r); e.Turn != "t-1" {
		t.Fatalf("%+v", e)
	}
	answer("t-1")
	tail()

	// While it answers, and then once more without a session.
	r.c.Do(turn.CreateResponse{Turn: "room-2", Prompt: guidance})
	for range 20 {
		room("and so on")
	}
	until[turn.ResponseDone](r)
	r.cut()
	until[turn.SessionLost](r)
	room("good night")
	until[turn.SessionReady](r)
	answer("room-3")
	tail()
}
