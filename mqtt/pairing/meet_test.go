package pairing

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// place is a meeting of a test.
func place(t testing.TB, url string, id mqtt.Identity) *meeting {
	t.Helper()
	m, err := Meet(t.Context(), mqtt.Config{URL: url}, "home", id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m.(*meeting)
}

// browse looks until somebody is found.
func browse(t testing.TB, m *meeting) []Opening {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		found, err := m.Browse(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return found
		}
	}
	t.Fatal("nobody has a window open")
	return nil
}

// attend serves a window's joiners at a meeting, until the test ends or stop is called.
func (h *host) attend(t testing.TB, m *meeting) (stop func()) {
	t.Helper()
	m.Open("rabc", "home")
	ctx, cancel := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	runs.Go(func() {
		for {
			ch, err := m.Accept(ctx)
			if err != nil {
				return
			}
			runs.Go(func() { _ = h.Serve(ctx, ch) })
		}
	})
	stop = sync.OnceFunc(func() { h.Close(); cancel(); runs.Wait() })
	t.Cleanup(stop)
	return stop
}

// TestMeet: two devices find each other at a Mosquitto and pair there; the room's own session is not put out by it.
func TestMeet(t *testing.T) {
	t.Parallel()
	broker := mqtttest.Start(t, mqtttest.Options{})
	h, g := open(t, nil), newGuest(t, "bedroom")
	m, j := place(t, broker.URL(), h.id), place(t, broker.URL(), g.id)
	room, err := mqtt.OpenRaw(t.Context(), mqtt.Config{URL: broker.URL()}, string(h.id.ID()), "conch/v1/home/+/+", func(string, []byte) {})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	if _, err := j.Dial(t.Context(), h.id.ID()); !errors.Is(err, ErrNoWindow) {
		t.Fatalf("dialled a window that is not open: %v", err)
	}
	h.attend(t, m)
	found := browse(t, j)
	if !slices.Equal(found, []Opening{{h.id.ID(), "rabc", "home"}}) {
		t.Fatalf("found %v", found)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if own, err := m.Browse(ctx); err != nil || len(own) > 0 {
		t.Errorf("found itself: %v, %v", own, err)
	}
	ch, err := j.Dial(t.Context(), found[0].Device)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.enter(t.Context(), ch)
	if err != nil || p.Device != h.id.ID() || len(g.kept) != 1 {
		t.Fatalf("%v, %v, %v", p, err, g.kept)
	}
	if err := <-h.ran; err != nil || !h.stored[0].Key.Equal(g.id.PublicKey()) {
		t.Fatal(err)
	}
	m.Shut()
	if _, err := j.Dial(t.Context(), h.id.ID()); !errors.Is(err, ErrNoWindow) {
		t.Errorf("dialled a window that is shut: %v", err)
	}
	select {
	case <-room.Lost():
		t.Error("the room's session was put out")
	default:
	}
}

// TestMeetWrongCode: three wrong codes at a broker close the window as well.
func TestMeetWrongCode(t *testing.T) {
	broker := mqtttest.Start(t, mqtttest.Options{})
	h, g := open(t, nil), newGuest(t, "bedroom")
	h.attend(t, place(t, broker.URL(), h.id))
	j := place(t, broker.URL(), g.id)
	g.code = "111111"
	for i := range 3 {
		ch, err := j.Dial(t.Context(), h.id.ID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.enter(t.Context(), ch); !errors.Is(err, ErrWrongCode) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	wantErr(t, <-h.ran, ErrTooMany)
}

// TestMeetReplay: somebody who has recorded a pairing at the broker publishes all of it again, with Mosquitto's own client: the next
// window, with the same code, hears a knock and then nothing, and loses no try.
func TestMeetReplay(t *testing.T) {
	t.Parallel()
	broker := mqtttest.Start(t, mqtttest.Options{})
	type message struct {
		topic   string
		payload []byte
	}
	var mu sync.Mutex
	var tape []message
	listener, err := mqtt.OpenRaw(t.Context(), mqtt.Config{URL: broker.URL()}, "eve", "#", func(topic string, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		tape = append(tape, message{topic, slices.Clone(b)})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	h, g := open(t, nil), newGuest(t, "bedroom")
	m, j := place(t, broker.URL(), h.id), place(t, broker.URL(), g.id)
	stop := h.attend(t, m)
	ch, err := j.Dial(t.Context(), h.id.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	_ = await(h.ran)
	stop()
	_ = j.Close()

	again := open(t, func(c *WindowConfig) { c.Identity = h.id })
	again.id = h.id
	knocked := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ch, err := m.Accept(ctx)
		if err != nil {
			knocked <- err
			return
		}
		knocked <- again.Serve(t.Context(), ch)
	}()
	mu.Lock()
	played := slices.Clone(tape)
	mu.Unlock()
	frames := 0
	for _, msg := range played {
		if strings.Contains(string(msg.payload), testCode) {
			t.Error("the code is at the broker")
		}
		broker.Publish(msg.topic, msg.payload, "-q", "1")
		frames++
	}
	if frames < 9 { // a knock, an answer, seven frames
		t.Fatalf("%d messages were recorded", frames)
	}
	if err := <-knocked; !errors.Is(err, ErrSlow) {
		t.Errorf("the recording's run ended with %v", err)
	}
	if len(again.kinds()) > 0 || len(again.admitted) > 0 {
		t.Errorf("events %v, admitted %v", again.kinds(), again.admitted)
	}
	again.stop()
}

// TestMeetAccessList: with the access list that a paired room's Mosquitto has, by client id, devices can meet.
func TestMeetAccessList(t *testing.T) {
	broker := mqtttest.Start(t, mqtttest.Options{ACL: "pattern read conch/v1/home/+/+\npattern write conch/v1/home/+/%c\n"})
	h, g := open(t, nil), newGuest(t, "bedroom")
	h.attend(t, place(t, broker.URL(), h.id))
	ch, err := place(t, broker.URL(), g.id).Dial(t.Context(), h.id.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	if err := <-h.ran; err != nil {
		t.Fatal(err)
	}
}

// TestMeetRefused: a broker that wants a password, and one that is not there, are named as such.
func TestMeetRefused(t *testing.T) {
	broker := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"conch": "secret"}})
	_, err := Meet(t.Context(), mqtt.Config{URL: broker.URL(), User: "conch", Password: "wrong"}, "home", identity(t))
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
	if _, err := Meet(t.Context(), mqtt.Config{URL: broker.URL()}, "a/b", identity(t)); err == nil {
		t.Error("met in a room that cannot be")
	}
	m, err := Meet(t.Context(), mqtt.Config{URL: broker.URL(), User: "conch", Password: "secret"}, "home", identity(t))
	if err != nil {
		t.Fatal(err)
	}
	broker.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := m.Accept(ctx); !errors.Is(err, ErrLost) {
		t.Errorf("the broker is gone: %v", err)
	}
	_ = m.Close()
}

// TestNotes: a note is taken only with its own room, spelling and signature.
func TestNotes(t *testing.T) {
	id := identity(t)
	n := note{Type: noteKnock, Key: id.PublicKey(), To: identity(t).ID(), Run: make([]byte, runSize)}
	m := meeting{room: "home", self: id}
	sign := func(n note) []byte {
		n.Sig = m.sign(n)
		return encode(&n)
	}
	if _, from, ok := readNote("home", sign(n)); !ok || from != id.ID() {
		t.Fatal("a good note")
	}
	if _, _, ok := readNote("hall", sign(n)); ok {
		t.Error("a note of another room")
	}
	for name, change := range map[string]func(*note){
		"another kind": func(n *note) { n.Type = "open sesame" },
		"no run":       func(n *note) { n.Run = nil },
		"an answer":    func(n *note) { n.Answer = make([]byte, runSize) },
		"a number":     func(n *note) { n.Seq = 1 },
		"a frame":      func(n *note) { n.Frame = []byte("x") },
		"a room":       func(n *note) { n.RoomID = "r" },
		"to nobody":    func(n *note) { n.To = "" },
		"a long frame": func(n *note) {
			*n = note{Type: noteFrame, Key: n.Key, To: n.To, Run: n.Run, Answer: n.Run, Seq: 1, Frame: make([]byte, maxSealed+1)}
		},
		"no frame at all": func(n *note) { *n = note{Type: noteFrame, Key: n.Key, To: n.To, Run: n.Run, Answer: n.Run, Seq: 1} },
	} {
		bad := n
		change(&bad)
		if _, _, ok := readNote("home", sign(bad)); ok {
			t.Error(name)
		}
	}
	good := sign(n)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		if _, _, ok := readNote("home", bad); ok && json.Valid(bad) {
			t.Errorf("changed at %d, and taken", i)
		}
	}
}
