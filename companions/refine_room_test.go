package companions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/chattest"
	"conch/companions/round"
)

// TestModelInARoom goes through the shipped room: what the server does shows in the votes of the decision, and the message
// always has an end. The time is real, since sockets are.
func TestModelInARoom(t *testing.T) {
	reply := func(r chattest.Reply) func(chattest.Request) chattest.Reply {
		return func(chattest.Request) chattest.Reply { return r }
	}
	for _, c := range []struct {
		name, text, winner, reason string // reason: part of Ben's
		budget                     time.Duration
		reply                      func(chattest.Request) chattest.Reply
		calls                      int
	}{
		{"a model changes who speaks", "how long do I boil an egg", "ben", "model: it knows a poem", time.Minute, reply(chattest.Reply{Content: `{"intent":"question","tone":"neutral","votes":[
			{"companion":"ben","state":"speak","importance":9.5,"closing":"none","reason":"it knows a poem about eggs"},
			{"companion":"ada","state":"listen","importance":1,"closing":"none","reason":"let Ben"},
			{"companion":"cleo","state":"listen","importance":1,"closing":"none","reason":"let Ben"}]}`}), 1},
		{"a model that never answers", "how long do I boil an egg", "ada", "the model was too slow", 100 * time.Millisecond, reply(chattest.Reply{Hang: true}), 1},
		{"a model that talks nonsense", "how long do I boil an egg", "ada", "the model's answer is no vote", time.Minute, reply(chattest.Reply{Content: "Eggs! I love eggs!"}), 1},
		{"a model that is cut off", "how long do I boil an egg", "ada", "the model's answer was cut off", time.Minute, reply(chattest.Reply{Cut: 30, Content: "{}"}), 1},
		{"a server out of quota", "how long do I boil an egg", "ada", "too many requests (429)", time.Minute, reply(chattest.Reply{Status: 429}), 1},
		{"nobody asks a model about who was addressed", "Ben, how long do I boil an egg?", "ben", "", time.Minute, reply(chattest.Reply{Status: 500}), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := chattest.New(t, chattest.Options{Reply: c.reply})
			start := time.Now()
			now := func() time.Duration { return time.Since(start) }
			refiner, err := companions.NewRefiner(companions.RefinerConfig{URL: s.URL, Model: "test", Cards: companions.DefaultCards, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			decided := make(chan round.Entry, 1)
			o := companions.RoomOptions{Self: "dev1", Name: "kitchen", Cards: companions.DefaultCards(), Refiner: refiner, Now: now, OnEntry: func(e round.Entry) {
				if e.Decision != nil {
					select {
					case decided <- e:
					default:
					}
				}
			}}
			o.Round.VoteBudget = c.budget
			room, err := companions.NewRoom(o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- room.Run(ctx) }()
			room.Said("", c.text, nil)
			d := (<-decided).Decision
			cancel()
			if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			refiner.Close()
			if string(d.Winner) != c.winner {
				t.Errorf("%q speaks; want %s", d.Winner, c.winner)
			}
			for _, v := range d.Votes {
				if v.From == "ben" && !strings.Contains(v.Reason, c.reason) {
					t.Errorf("Ben's reason is %q; want %q in it", v.Reason, c.reason)
				}
			}
			if n := len(s.Requests()); n != c.calls {
				t.Errorf("%d calls of the model; want %d", n, c.calls)
			}
		})
	}
}

// TestAServerThatIsNoChatServerIsToldOnce: the rules go on, message after message, and the log has one line of it, until it is well again.
func TestAServerThatIsNoChatServerIsToldOnce(t *testing.T) {
	for name, reply := range map[string]chattest.Reply{
		"a web page":  {Body: "<!doctype html><title>It works!</title>"},
		"not there":   {Status: 404},
		"other JSON":  {Body: `{"status":"ok"}`},
		"elsewhere":   {Redirect: "http://127.0.0.1:1/"},
		"it hangs up": {Cut: 1, Content: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := chattest.New(t, chattest.Options{Reply: func(chattest.Request) chattest.Reply { return reply }})
			start := time.Now()
			now := func() time.Duration { return time.Since(start) }
			var log lockedBuffer
			lines := slog.New(slog.NewTextHandler(&log, nil))
			refiner, err := companions.NewRefiner(companions.RefinerConfig{URL: s.URL, Model: "test", Cards: companions.DefaultCards, Now: now, Log: lines})
			if err != nil {
				t.Fatal(err)
			}
			decided := make(chan round.Entry, 16)
			o := companions.RoomOptions{Self: "dev1", Name: "kitchen", Cards: companions.DefaultCards(), Refiner: refiner, Now: now, Log: lines, OnEntry: func(e round.Entry) {
				if e.Decision != nil {
					decided <- e
				}
			}}
			o.Round.VoteBudget = time.Minute
			room, err := companions.NewRoom(o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- room.Run(ctx) }()
			for i := range 3 {
				room.Said(fmt.Sprint("t-", i), fmt.Sprintf("how long do %d eggs boil?", i+4), nil)
				if d := (<-decided).Decision; d.Winner != "ada" {
					t.Errorf("%q speaks; want whom the rules choose", d.Winner)
				}
			}
			cancel()
			if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			refiner.Close()
			if told := strings.Count(log.String(), "level=WARN"); told != 1 || !strings.Contains(log.String(), "refine.failed") {
				t.Errorf("told %d times; want once\n%s", told, log.String())
			}
			if n := len(s.Requests()); n < 3 {
				t.Errorf("asked %d times; want each time, since it may be well again", n)
			}
		})
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	sync.Mutex
	b strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) { l.Lock(); defer l.Unlock(); return l.b.Write(p) }

func (l *lockedBuffer) String() string { l.Lock(); defer l.Unlock(); return l.b.String() }
