package device

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"conch/companions/round"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
)

// served is a server that is stopped, and started again at the same address.
type served struct {
	t       *testing.T
	hears   listener
	address string
	stop    func()
}

func (s *served) start() *served {
	s.t.Helper()
	if s.address == "" {
		s.address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := rehearsal.New(rehearsal.Options{Recognizer: &s.hears, Synthesizer: hum{}, Brain: echo{}, Seed: 1, Log: slog.New(slog.DiscardHandler)})
	go func() { done <- server.Serve(ctx, l) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the server: %v", err)
		}
		s.stop = func() {}
	}
	return s
}

// awake has the quiet hours at another time than now.
func awake(c *config.Config) {
	c.Device.Quiet = time.Now().Add(3*time.Hour).Format("15:04") + "-" + time.Now().Add(4*time.Hour).Format("15:04")
}

// newServed is a device and its server, which has answered once and is stopped.
func newServed(t *testing.T, set func(*config.Config)) (*box, *served) {
	s := (&served{t: t}).start()
	t.Cleanup(func() { s.stop() })
	b := newBox(t, boxOptions{address: "ws://" + s.address + "/v1/realtime", config: func(c *config.Config) {
		c.Turn.Reconnect = time.Second
		set(c)
	}})
	b.answered(b.say(300 * time.Millisecond))
	s.stop()
	b.until("offline", func() bool { return !b.coordinator.Online() })
	return b, s
}

// offers demands that a question is given up for now, for this reason, with these words behind it.
func (b *box) offers(r control.Turn, reason, w turn.Words) {
	b.t.Helper()
	b.failed(r, turn.Expired, reason)
	if c := b.heard(w, r.Ended+4*time.Second); c < 0.8 {
		b.t.Errorf("the words %q are not on the tape (likeness %.2f)", w, c)
	}
}

// Offline: it records all the same, says that it keeps the question, and asks it once the server is there again; a person hears that.
func TestAQuestionWithoutASessionIsKeptAndAskedLater(t *testing.T) {
	t.Parallel()
	b, s := newServed(t, awake)
	b.offers(b.say(500*time.Millisecond), turn.WordsNotRunning, turn.WordsKept)
	b.offers(b.say(1200*time.Millisecond), turn.WordsNotRunning, turn.WordsKeptInstead)
	n := len(b.turnsEnded())
	b.asked.Add(1) // nobody presses for it
	s.start()
	b.until("the end of the kept question", func() bool { return len(b.turnsEnded()) > n })
	b.quiet()
	r := b.turnsEnded()[n]
	if b.answered(r); r.Source != turn.SourceInject.String() {
		t.Errorf("it began with %q", r.Source)
	}
	if c := b.heard(turn.WordsKeptAsked, r.Ended-time.Duration(r.DurationMS*float64(time.Millisecond))-4*time.Second); c < 0.8 {
		t.Errorf("nobody hears that it is asked (likeness %.2f)", c)
	}
	if l := s.hears.lengths(); len(l) != 2 || l[1] < 1200*time.Millisecond {
		t.Errorf("the server heard utterances of %v; want the first, and the last that was kept, whole", l)
	}
	b.answered(b.say(300 * time.Millisecond))
}

func TestAKeptQuestionIsLetGo(t *testing.T) {
	t.Parallel()
	for name, lets := range map[string]func(*box){
		"a tap": func(b *box) {
			tap := func() control.Turn {
				return b.nextTurn(func() {
					b.hand.Press()
					b.state(turn.Listening)
					b.hand.Release()
				})
			}
			r := tap()
			for range 5 {
				if r.Reason != turn.Expired.String() { // a hand that the machine holds up has asked something else
					break
				}
				r = tap()
			}
			if c := b.heard(turn.WordsLetGo, r.Ended); r.Reason != turn.TooShort.String() || c < 0.8 {
				b.t.Errorf("%s, and nobody hears that it is let go (likeness %.2f)", r.Reason, c)
			}
		},
		"hush": func(b *box) { b.Hush() },
		"mute": func(b *box) {
			for _, muted := range []bool{true, false} {
				if err := b.sound.SetMuted(muted); err != nil {
					b.t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newServed(t, awake)
			b.offers(b.say(500*time.Millisecond), turn.WordsNotRunning, turn.WordsKept)
			lets(b)
			s.start()
			b.until("online", b.coordinator.Online)
			b.pause(4 * time.Second)
			b.quiet()
			if l := s.hears.lengths(); len(l) != 1 {
				t.Errorf("the server heard utterances of %v; want the first", l)
			}
		})
	}
}

// While people sleep nothing is kept, and nothing begins to talk by itself.
func TestAtNightNoQuestionIsKept(t *testing.T) {
	t.Parallel()
	b, s := newServed(t, func(c *config.Config) {
		c.Device.Quiet = time.Now().Add(-time.Hour).Format("15:04") + "-" + time.Now().Add(time.Hour).Format("15:04")
	})
	r := b.say(500 * time.Millisecond)
	b.failed(r, turn.Expired, turn.WordsNotRunning)
	if c := b.heard(turn.WordsKept, r.Ended+4*time.Second); c > 0.7 {
		t.Errorf("it offers to keep it (likeness %.2f)", c)
	}
	s.start()
	b.until("online", b.coordinator.Online)
	b.pause(4 * time.Second)
	if l := s.hears.lengths(); len(l) != 1 {
		t.Errorf("the server heard utterances of %v; want the first", l)
	}
}

// sentence hears one sentence, whatever is said.
type sentence struct {
	listener
	text string
}

func (u *sentence) Hear(ctx context.Context, pcm []int16, names []string) (rehearsal.Heard, error) {
	h, err := u.listener.Hear(ctx, pcm, names)
	h.Text = u.text
	return h, err
}

// In a room a kept question asks for a vote like any other: whom it calls answers, on another device.
func TestFlatAKeptQuestionAsksTheRoom(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{hears: &sentence{text: "Ben, short"}, config: func(c *config.Config) {
		awake(c)
		c.Turn.Reconnect = time.Second
	}})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	kitchen.wires.refuse(true)
	kitchen.wires.cut()
	kitchen.until("offline", func() bool { return !kitchen.coordinator.Online() })
	kitchen.offers(kitchen.say(500*time.Millisecond), turn.WordsOffline, turn.WordsKept)
	kitchen.wires.refuse(false)
	hall.wait("Ben has spoken", kind(round.EntrySpoke, "ben"))
	f.calm()
	ended := kitchen.turnsEnded()
	if len(ended) != 2 || ended[1].Source != turn.SourceInject.String() || ended[1].Reason != turn.LostVote.String() {
		t.Errorf("the kitchen's turns: %+v; want one given up, and one that Ben answers", ended)
	}
}

// Alone in its room it has the floor at once.
func TestFlatAKeptQuestionOfOneThatIsAlone(t *testing.T) {
	f := newFlat(t)
	x := f.raise("kitchen", "Ada", boxOptions{config: func(c *config.Config) {
		awake(c)
		c.Turn.Reconnect = time.Second
	}})
	f.calm()
	x.wires.refuse(true)
	x.wires.cut()
	x.until("offline", func() bool { return !x.coordinator.Online() })
	x.offers(x.say(500*time.Millisecond), turn.WordsOffline, turn.WordsKept)
	x.wires.refuse(false)
	x.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	ended := x.turnsEnded()
	if len(ended) != 2 || ended[1].Source != turn.SourceInject.String() {
		t.Fatalf("%+v; want one given up, and one that is answered", ended)
	}
	x.answered(ended[1])
}
