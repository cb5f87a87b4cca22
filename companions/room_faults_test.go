package companions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

// refiner is a model's stand-in whose manners a test chooses.
type refiner func(r round.Refine, deadline time.Duration, done func([]round.Vote))

func (f refiner) Refine(_ context.Context, r round.Refine, deadline time.Duration, done func([]round.Vote)) {
	f(r, deadline, done)
}

// TestRefiner shows that whatever a model's client does, the round is decided in time, with the reason in the votes.
func TestRefiner(t *testing.T) {
	for _, c := range []struct {
		name   string
		refine refiner
		winner round.CompanionID // empty: whom the rules choose
		reason string            // in a vote
	}{
		{"betters a vote", func(r round.Refine, _ time.Duration, done func([]round.Vote)) {
			for i := range r.Votes {
				r.Votes[i].State, r.Votes[i].Importance, r.Votes[i].Reason = round.StateSpeak, 9-float64(i), "the model says so"
			}
			done(r.Votes)
		}, "ada", "the model says so"},
		{"is too slow", func(_ round.Refine, _ time.Duration, done func([]round.Vote)) {
			time.AfterFunc(time.Minute, func() { done(nil) })
		}, "", "the model did not answer in time"},
		{"never answers and never returns in time", func(round.Refine, time.Duration, func([]round.Vote)) {
			time.Sleep(20 * time.Second)
		}, "", "the model did not answer in time"},
		{"panics", func(round.Refine, time.Duration, func([]round.Vote)) { panic("no model here") }, "", "asking the model failed"},
		{"answers twice", func(r round.Refine, _ time.Duration, done func([]round.Vote)) { done(r.Votes); done(nil) }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *roomtest.House) {
				plan := living("ada", "ben")
				plan.Alone = true
				plan.Options.Refiner = c.refine
				plan.Options.Round.VoteBudget = 500 * time.Millisecond
				d := h.Add("kitchen", plan)
				after(time.Second)
				id := d.Ask("Today the sky is green.") // nobody is called on: a model may better the rules' votes
				after(900 * time.Millisecond)
				i := d.Count(round.EntryRound)
				if i != 1 {
					t.Fatalf("%d rounds were decided within a second, want one", i)
				}
				for _, e := range d.Entries() {
					if e.Kind != round.EntryRound {
						continue
					}
					if c.winner != "" && e.Decision.Winner != c.winner || len(e.Decision.Votes) != 2 {
						t.Errorf("winner %q of %d votes, want %q of 2: %+v", e.Decision.Winner, len(e.Decision.Votes), c.winner, e.Decision)
					}
					for _, v := range e.Decision.Votes {
						if !strings.Contains(v.Reason, c.reason) {
							t.Errorf("%s voted because %q, want %q in it", v.From, v.Reason, c.reason)
						}
					}
				}
				after(2 * time.Minute) // what comes late changes nothing
				if got := ends(d)[id]; len(got) != 1 {
					t.Errorf("the message ended %q, want one end", got)
				}
				if s := d.Room.Stats(); s.Models != 0 {
					t.Errorf("%d calls of the model are still counted", s.Models)
				}
			})
		})
	}
}

// TestRefinersThatNeverEndAreBounded: a client that hangs for good costs a few goroutines, and then is not asked.
func TestRefinersThatNeverEndAreBounded(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		release := make(chan struct{})
		asked := 0
		plan := living("ada", "ben")
		plan.Alone = true
		plan.Options.Refiner = refiner(func(round.Refine, time.Duration, func([]round.Vote)) { asked++; <-release })
		plan.Options.Round.VoteBudget = 500 * time.Millisecond
		d := h.Add("kitchen", plan)
		after(time.Second)
		for range 10 {
			d.Ask("Today the sky is green.")
			after(30 * time.Second)
		}
		if asked != 4 || d.Room.Stats().Models != 4 {
			t.Errorf("the model was asked %d times and %d calls hang, want 4", asked, d.Room.Stats().Models)
		}
		for id, how := range ends(d) {
			if len(how) != 1 {
				t.Errorf("%s ended %q", id, how)
			}
		}
		if err := d.Stop(); err == nil || !strings.Contains(err.Error(), "4 calls of the refiner") {
			t.Errorf("Run returned %v, want that four calls did not end", err)
		}
		close(release)
	})
}

// A stage must not wait. One that does costs its own device the round, and nobody else; and whoever watches the loop sees it.
func TestStageThatHangsIsSeenAndCostsNobodyElse(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		plan := wanting("ada", "Ada", 9)
		plan.Slow = 40 * time.Second // each call
		kitchen := h.Add("kitchen", plan)
		hall := h.Add("hall", wanting("eve", "Eve", 6))
		meet()
		around := func() <-chan struct{} {
			c := make(chan struct{})
			if !kitchen.Room.Call(func() { close(c) }) {
				t.Error("the room takes no call")
			}
			return c
		}
		synctest.Wait()
		select {
		case <-around():
		case <-time.After(time.Second):
			t.Error("the kitchen's loop is seen to hang before anything was said")
		}
		id := hall.Ask("How long does an egg have to boil?")
		after(25 * time.Second)
		wantSpeakers(t, h, "eve")
		select {
		case <-around():
			t.Error("the kitchen's loop goes round while its stage hangs")
		default:
		}
		after(5 * time.Minute)
		wantEnd(t, id, round.EntryAnswered, hall)
		if s := kitchen.Room.Stats(); s.Stage.Slow == 0 || s.Waiting != 0 {
			t.Errorf("stage %+v and %d facts waiting, want slow calls counted, and all carried out", s.Stage, s.Waiting)
		}
		if n := len(kitchen.Stage.Prepared()); n != 0 {
			t.Errorf("%d answers were asked of the kitchen, after somebody else had answered", n)
		}
		wantSpeakers(t, h, "eve")
	})
}

func TestWatchGivesEntriesAndForgivesSlowReaders(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, _, _ := three(h)
		ctx, cancel := context.WithCancel(t.Context())
		quick, slow := kitchen.Room.Watch(ctx), kitchen.Room.Watch(t.Context())
		seen := make(chan int)
		go func() {
			n := 0
			for range quick {
				n++
			}
			seen <- n
		}()
		began := len(kitchen.Entries())
		for range 60 {
			kitchen.Press()
			after(time.Millisecond)
			kitchen.Type("Ada?")
			after(time.Millisecond)
		}
		happened := len(kitchen.Entries()) - began
		cancel()
		if n := <-seen; n != happened || n < 100 {
			t.Errorf("a watcher saw %d of %d entries", n, happened)
		}
		if n := len(slow); n != cap(slow) {
			t.Errorf("%d entries wait for the slow watcher, want %d", n, cap(slow))
		}
		if s := kitchen.Room.Stats(); s.Missed != uint64(happened-cap(slow)) || s.Watch != 1 {
			t.Errorf("%d entries missed and %d watching, want %d and 1", s.Missed, s.Watch, happened-cap(slow))
		}
		if err := kitchen.Stop(); err != nil {
			t.Error(err)
		}
		var last round.Entry
		for e := range slow { // closed with the room; the newest are there
			last = e
		}
		all := kitchen.Entries()
		if last.AtMS != all[len(all)-1].AtMS {
			t.Errorf("the last entry of the slow watcher is of %v ms, want the newest of %v ms", last.AtMS, all[len(all)-1].AtMS)
		}
		if _, open := <-kitchen.Room.Watch(t.Context()); open {
			t.Error("a room that has ended gave an entry")
		}
	})
}

func TestFloodOfOneDeviceSilencesNobody(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, _ := three(h)
		for range 5000 {
			kitchen.Room.Deliver(bedroom.ID, round.Votes{Place: round.Place{Epoch: round.Epoch{N: 1 << 60, Device: bedroom.ID}}})
		}
		id := kitchen.Ask("Ada, how long does an egg have to boil?")
		after(20 * time.Second)
		wantSpeakers(t, h, "ada")
		wantEnd(t, id, round.EntryAnswered, kitchen)
		s := kitchen.Room.Stats()
		if s.Refused.Packets == 0 || s.Refused.Local != 0 || s.Refused.Presses != 0 {
			t.Errorf("refused %+v, want packets and nothing else", s.Refused)
		}
		if len(s.Ignored) == 0 {
			t.Error("nonsense was not counted")
		}
	})
}

func TestRoomTalksWithoutDisk(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // nothing can be made below a file
			t.Fatal(err)
		}
		troubles := make(chan string, 10)
		plan := living("ada", "ben")
		plan.Alone = true
		plan.Options.Dir = dir
		plan.Options.OnTrouble = func(what string, err error) { troubles <- fmt.Sprint(what, ": ", err) }
		d := h.Add("kitchen", plan)
		after(time.Second)
		id := d.Ask("Ada, how long does an egg have to boil?")
		after(20 * time.Second)
		wantSpeakers(t, h, "ada")
		wantEnd(t, id, round.EntryAnswered, d)
		if got := len(d.Room.Recent()); got != 2 {
			t.Errorf("%d messages are remembered without a disk, want 2", got)
		}
		got := strings.Join([]string{<-troubles, <-troubles}, "\n")
		for _, want := range []string{"memory: ", "ledger: ", "state.dir"} {
			if !strings.Contains(got, want) {
				t.Errorf("troubles %q, want %q in them", got, want)
			}
		}
		if len(troubles) != 0 {
			t.Errorf("the same trouble was told again: %q", <-troubles)
		}
	})
}

func TestRunTwiceIsRefused(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		d := h.Add("kitchen", living("ada"))
		synctest.Wait()
		if err := d.Room.Run(t.Context()); err == nil {
			t.Error("Run was called twice, and did not refuse")
		}
		if _, err := companions.NewRoom(companions.RoomOptions{}); err == nil || !strings.Contains(err.Error(), "Self") {
			t.Errorf("a room without Self gave %v", err)
		}
	})
}
