package round

import (
	"reflect"
	"testing"
	"time"
)

// Each story in the attic is ended by a press in the bath, for as long as this household likes: each press silences, and the person in the
// attic is still answered. A child that plays with the button, is the same.
func TestEachPressSilences(t *testing.T) {
	for _, c := range []struct {
		what    string
		stories int
		press   time.Duration // from the first sample of a story to the press
		rest    time.Duration // from there to the next question
		hammer  int           // presses that follow at once, each 150 ms
	}{
		{"a story each 13 s", 60, 9 * time.Second, 4 * time.Second, 0},
		{"a story each 5 s", 120, 2 * time.Second, 2500 * time.Millisecond, 0},
		{"a press each 2 s", 300, 500 * time.Millisecond, time.Second, 0},
		{"a child that plays with the button", 60, time.Second, time.Second, 15},
	} {
		t.Run(c.what, func(t *testing.T) {
			w, good, _ := liarWorld()
			w.stage.length = func() time.Duration { return time.Minute }
			off := 0
			w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
				for _, e := range out {
					if e, ok := e.(PressesCount); ok && !e.Count && d == good[0] {
						off++
					}
				}
			}
			tap := func() {
				turn := string(w.newID())
				good[1].press(turn)
				good[1].soon(50*time.Millisecond, func() { good[1].step(PressEnded{good[1].clock(), turn, "too short"}) })
				w.run(w.now + w.net.bound() + time.Millisecond)
			}
			for n := range c.stories {
				good[0].say("", "Ada, tell me a story")
				for i := 0; len(good[0].soundings()) == 0 && i < 100; i++ {
					w.run(w.now + 20*time.Millisecond)
				}
				if len(good[0].soundings()) == 0 {
					t.Fatalf("story %d, at %v: not begun", n+1, w.now)
				}
				w.run(w.now + c.press)
				if tap(); len(good[0].soundings()) > 0 {
					t.Fatalf("story %d, at %v: goes on after the press", n+1, w.now)
				}
				for range c.hammer {
					w.run(w.now + 150*time.Millisecond)
					tap()
				}
				w.run(w.now + c.rest)
				if len(good[0].soundings()) > 0 {
					t.Fatalf("story %d, at %v: goes on some time after the press", n+1, w.now)
				}
			}
			t.Logf("%d stories in %v; the presses have lost the floor %d times", c.stories, w.now, off)
			if off == 0 {
				t.Error("the presses have never lost the floor, so that nothing was tried")
			}
		})
	}
}

// A press that has lost the floor ends what sounds and what follows from it, and leaves alone what a person has asked.
func TestAPressWithoutTheFloor(t *testing.T) {
	for _, s := range situations {
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		m, _ = Step(m, from("a", beatOf("attic", "ada")))
		m, _ = Step(m, from("c", beatOf("cellar", "cleo")))
		m.editPresser("d", func(p *presser) { p.until = time.Hour })
		for _, ev := range s.way {
			m, _ = Step(m, ev)
		}
		was := letterOf(m)
		after, out := Step(m, from("d", Press{Epoch: Epoch{9, "d"}, Ask: true}))
		hushed := 0
		for _, e := range out {
			if h, ok := e.(Hush); ok && h.Sounding {
				hushed++
			}
			if b, ok := e.(Send); ok && reflect.TypeOf(b.Packet) == reflect.TypeFor[Beat]() {
				t.Errorf("%s (%s): sends a beat for each press", s.letter, s.name)
			}
		}
		if after.silenced != (Epoch{9, "d"}) {
			t.Errorf("%s (%s): the next beat confirms %v", s.letter, s.name, after.silenced)
		}
		want := map[string]string{"T": "O", "W": "O", "R": "S"}[was]
		if want == "" {
			want = was
		}
		if got := letterOf(after); hushed != 1 || after.epoch != m.epoch || len(after.holders) != len(m.holders) || got != want {
			t.Errorf("%s (%s): becomes %s, want %s; hushes %d, epoch %v, holders %v", s.letter, s.name, got, want, hushed, after.epoch, after.holders)
		}
	}
}

// A beat that overtakes both copies of a press silences as the press would have, where no round is under way as well: a book, or a radio. The
// press then changes nothing more.
func TestABeatThatOvertakesAPressSilences(t *testing.T) {
	beat := beatOf("den", "eve")
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("d", beat))
	beat.Epoch = Epoch{m.epoch.N + 1, "d"}
	hushes := func(p Packet) (n int) {
		var out []Effect
		m, out = Step(m, from("d", p))
		for _, e := range out {
			if _, ok := e.(Hush); ok {
				n++
			}
		}
		return n
	}
	if n := hushes(beat); n != 1 || m.silenced != beat.Epoch {
		t.Errorf("the beat hushes %d times, and %v is confirmed", n, m.silenced)
	}
	if n := hushes(Press{Epoch: beat.Epoch}) + hushes(beat); n != 0 {
		t.Errorf("what comes behind it hushes %d times", n)
	}
}
