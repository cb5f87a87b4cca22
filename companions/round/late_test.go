package round

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// told is what a device knows to have been said.
func told(d *dev) (all []string) {
	for _, m := range d.m.recent {
		all = append(all, fmt.Sprintf("%s: %s", m.From, m.Text))
	}
	return all
}

// A member that gives words to what others have said, or to what it has said itself, again and again, changes nothing: only what had
// none gets them, once, from the device where it was said.
func TestLateWordsOfALiar(t *testing.T) {
	w, good, liar := liarWorld()
	good[0].step(Said{good[0].clock(), "m-a", "t1", Unwritten, []Participant{"ada"}, true})
	w.run(w.now + 100*time.Millisecond)
	epoch := good[1].m.epoch
	for n, from := range []Participant{Human("d1"), Human("d0"), "eve", "ada"} {
		w.send(liar, Message{ID: MessageID(fmt.Sprint("lie", n)), From: from, Text: "I hate Ada", Turn: "t1", Epoch: epoch, Number: 1})
	}
	w.run(w.now + 100*time.Millisecond)
	if got := told(good[1]); !slices.Contains(got, "human:d1: "+Unwritten) {
		t.Fatalf("after lies: %q", got)
	}
	w.run(w.now + 20*time.Second)
	mine := Epoch{good[1].m.epoch.N + 1, "d0"}
	w.send(liar, Press{Epoch: mine})
	w.send(liar, Message{ID: "as-d1", From: Human("d0"), Text: "I hate Ada", Turn: "t1", Epoch: mine, Number: 1}) // another's turn
	w.run(w.now + 50*time.Millisecond)
	if got := told(good[1]); !slices.Contains(got, "human:d1: "+Unwritten) {
		t.Errorf("after words of another's turn: %q", got)
	}
	for n, text := range []string{Unwritten, "Cleo, hello", "Cleo, go away", Unwritten} {
		w.send(liar, Message{ID: MessageID(fmt.Sprint("own", n)), From: Human("d0"), Text: text, Turn: "t7", Epoch: mine, Number: 1})
		w.run(w.now + 50*time.Millisecond)
	}
	got := told(good[1])
	want := []string{"human:d0: Cleo, hello", "human:d0: Cleo, go away", "human:d0: " + Unwritten}
	if n := len(got); n < 3 || fmt.Sprint(got[n-3:]) != fmt.Sprint(want) {
		t.Errorf("%q; want %q at the end", got, want)
	}
	for n := range 200 { // as many as it likes: each further one is a press, and they do not count without end
		w.send(liar, Message{ID: MessageID(fmt.Sprint("more", n)), From: Human("d0"), Text: "Cleo?", Turn: "t7", Epoch: mine, Number: 1})
		w.run(w.now + 20*time.Millisecond)
	}
	if p := good[1].m.presser("d0"); p == nil || p.until == 0 {
		t.Error("two hundred messages of one press count")
	}
}

// Late words are no new turn of a person: what companions may say without one goes on being counted, and a model asks no more for them.
func TestLateWordsGiveNoTurns(t *testing.T) {
	m := New(threadConfig())
	m, _ = Step(m, Said{At: time.Second, ID: "m1", Turn: "t1", Text: Unwritten, To: []Participant{"ada"}, Open: true})
	m = answeredBy(m, 2*time.Second, "ada", "Over to you, Ben.")
	m = answeredBy(m, 3*time.Second, "ben", "So there.")
	was := m.chain
	m, _ = Step(m, SaidLate{Said: Said{At: 4 * time.Second, ID: "m2", Turn: "t1", Text: "What do you both think?"}})
	if m.chain != was || was == 0 {
		t.Errorf("%d companion turns without a person, %d before the words", m.chain, was)
	}
}

// Words decide who answers for ten seconds.
func TestLateWordsWaitForNobody(t *testing.T) {
	for _, c := range []struct {
		after    time.Duration
		answered bool
		who      CompanionID
	}{{lateLimit, false, "ben"}, {lateLimit + 1, false, ""}, {time.Second, true, ""}} {
		m, _ := Step(New(threadConfig()), Said{At: time.Second, ID: "m1", Turn: "t1", Text: Unwritten, To: []Participant{"ada"}, Open: true})
		m, out := Step(m, SaidLate{Said{At: time.Second + c.after, ID: "m2", Turn: "t1", Text: "Ben, what is on tonight?"}, c.answered})
		who := CompanionID("")
		for _, e := range out {
			if p, ok := e.(Prepare); ok {
				who = p.Companion
			}
		}
		if who != c.who {
			t.Errorf("after %v (answered: %v) %q answers; want %q", c.after, c.answered, who, c.who)
		}
		if len(m.recent) != 1 || m.recent[0].Text != "Ben, what is on tonight?" {
			t.Errorf("it knows %+v", m.recent)
		}
	}
}

// TestWordsThatAHistoryToldFirstStillSilence: a newcomer learns of a person's words before their press comes; when they come they are a
// press all the same, and open their round.
func TestWordsThatAHistoryToldFirstStillSilence(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("a", beatOf("attic", "ada")))
	words := Message{ID: "m1", From: Human("a"), Text: "Cleo, what time is it?", Epoch: Epoch{2, "a"}, Number: 1}
	m, _ = Step(m, from("a", History{To: m.cfg.Self, Messages: []Message{words}}))
	if len(m.recent) != 1 || m.rd.open {
		t.Fatalf("the history: %d messages, a round is open: %v", len(m.recent), m.rd.open)
	}
	m, _ = Step(m, from("a", words))
	if m.epoch != words.Epoch || !m.rd.open || len(m.recent) != 1 {
		t.Errorf("epoch %v, a round is open: %v, %d messages; want %v, true, 1", m.epoch, m.rd.open, len(m.recent), words.Epoch)
	}
}
