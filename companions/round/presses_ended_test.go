package round

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A member presses each second, so that it stays below what a hammering child makes; or two hold the floor in turn, each for less than
// half of the time. People ask all the same, the liars are named, and from then on most questions are answered.
func TestNobodySilencesTheRoomForEver(t *testing.T) {
	hold := func(w *world, liar *dev, n uint64, long time.Duration) {
		e := Epoch{liar.m.epoch.N + 1 + n, liar.id}
		w.send(liar, Press{Epoch: e})
		liar.soon(long, func() { w.send(liar, PressOver{e}) })
	}
	for name, lie := range map[string]func(w *world, liars []*dev, n uint64){ // once a second
		"one that presses each second": func(w *world, liars []*dev, n uint64) { hold(w, liars[0], n, 0) },
		"two that press in turn":       func(w *world, liars []*dev, n uint64) { hold(w, liars[n%2], n, 0) },
		"two that hold in turn": func(w *world, liars []*dev, n uint64) {
			if n%70 == 0 {
				hold(w, liars[n/70%2], n, 69*time.Second)
			}
		},
		"one that tells of others' presses": func(w *world, liars []*dev, n uint64) {
			if n%3 == 0 {
				w.send(liars[0], Withdraw{Place: Place{Epoch{n + 5000, DeviceID(fmt.Sprint("x", n))}, 1, "m"}, Companion: "eve"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, good, liar := liarWorld()
			w.stage.ready = func() time.Duration { return 2 * time.Second }
			liars := []*dev{liar, good[2]}
			named := map[*dev][]string{}
			w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
				for _, e := range out {
					if e, ok := e.(PressesCount); ok && !e.Count {
						named[d] = append(named[d], e.Name)
					}
				}
			}
			answered := [2]int{}
			const asked = 120 // 40 minutes
			for n := range uint64(asked * 20) {
				lie(w, liars, n)
				w.run(w.now + 500*time.Millisecond)
				if n%20 == 7 {
					good[1].say("", "Ada, what do you say?")
				}
				w.run(w.now + 500*time.Millisecond)
				last := good[1].m.recent[max(0, len(good[1].m.recent)-2):]
				if n%20 == 6 && n > 20 && slices.ContainsFunc(last, func(m Message) bool { return m.From == "ada" && m.Text == "This is ada." }) {
					answered[n/(asked*10)]++
				}
			}
			t.Logf("%v of %d and %d answered; named %v and %v", answered, asked/2, asked/2, named[good[0]], named[good[1]])
			if answered[1] < asked/4 {
				t.Errorf("%d of %d answered in the second half", answered[1], asked/2)
			}
			for _, d := range good[:2] {
				if len(named[d]) == 0 || slices.ContainsFunc(named[d], func(s string) bool { return s != "den" && s != "cellar" }) {
					t.Errorf("%s names %v", d.name, named[d])
				}
			}
		})
	}
}

// People who interrupt each other, and who wait for answers now and then, are never named for it.
func TestPeopleWhoInterruptEachOtherAreNotNamed(t *testing.T) {
	w, good, _ := liarWorld()
	w.stage.ready = func() time.Duration { return time.Second }
	w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
		for _, e := range out {
			if e, ok := e.(PressesCount); ok {
				t.Errorf("%v: %s is told %+v", w.now, d.name, e)
			}
		}
	}
	for n := range 300 { // ten minutes: each asks each 6 s, and now and then nobody does
		if n%40 < 35 {
			good[n%3].press(fmt.Sprint("t", n))
			w.run(w.now + 300*time.Millisecond)
			good[n%3].say(fmt.Sprint("t", n), []string{"Ada", "Ben", "Cleo"}[(n+1)%3]+", what do you say?")
		}
		w.run(w.now + 1700*time.Millisecond)
	}
}
