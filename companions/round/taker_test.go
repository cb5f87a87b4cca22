package round

import (
	"slices"
	"testing"
	"time"
)

// A member has many ways to the floor that nobody gave it. Each is tried for minutes beside people who call a companion by name: they are answered
// by whom they have called, and the liar is named.
func TestALiarDoesNotTakeEveryQuestion(t *testing.T) {
	type lie func(w *world, liar *dev, m Message)
	vote := func(m Message) Vote {
		return Vote{From: "eve", MessageID: m.ID, State: StateSpeak, Importance: 10, Selected: true, Closing: ClosingNone}
	}
	everybody := []CompanionID{"ada", "ben", "cleo"}
	silentLease := func(w *world, liar *dev, m Message) {
		for i := range 20 {
			liar.soon(time.Duration(i)*time.Second, func() { w.send(liar, Speaking{Place: m.Place(), Companion: "eve", LeftMS: 300000}) })
		}
	}
	for name, says := range map[string]lie{
		"votes that it was called": func(w *world, liar *dev, m Message) {
			w.send(liar, Votes{m.Place(), []Vote{vote(m)}})
			w.send(liar, Claim{Place: m.Place(), Companion: "eve", Votes: []Vote{vote(m)}})
			silentLease(w, liar, m)
		},
		"claims that all others have failed": func(w *world, liar *dev, m Message) {
			w.send(liar, Claim{Place: m.Place(), Companion: "eve", Votes: []Vote{vote(m)}, Instead: everybody})
			silentLease(w, liar, m)
		},
		"claims that, later": func(w *world, liar *dev, m Message) {
			liar.soon(1200*time.Millisecond, func() {
				w.send(liar, Claim{Place: m.Place(), Companion: "eve", Votes: []Vote{vote(m)}, Instead: everybody})
				silentLease(w, liar, m)
			})
		},
		"just speaks": func(w *world, liar *dev, m Message) { silentLease(w, liar, m) },
		"says that it has spoken": func(w *world, liar *dev, m Message) {
			w.send(liar, Message{ID: m.ID + "-eve", From: "eve", Text: "Hm.", Epoch: m.Epoch, Number: m.Number + 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, good, liar := liarWorld()
			w.stage.ready = func() time.Duration { return 2 * time.Second } // a voice's first sample
			answered, told := 0, []string{}
			w.seen = func(d *dev, ev Event, _ Machine, out []Effect) {
				rec, _ := ev.(Received)
				if m, ok := rec.Packet.(Message); ok && d == liar && m.From.Human() && !m.Metadata.Silence {
					says(w, liar, m)
				}
				for _, e := range out {
					if e, ok := e.(FloorTaken); ok && d == good[0] {
						told = append(told, e.Name)
					}
				}
			}
			const questions = 10
			for range questions {
				good[1].say("", "Ada, what do you say?")
				w.run(w.now + 25*time.Second)
				if slices.ContainsFunc(good[1].m.recent[max(0, len(good[1].m.recent)-3):], func(m Message) bool { return m.From == "ada" && m.Number == 2 }) {
					answered++
				}
			}
			t.Logf("%d of %d answered; told of %v", answered, questions, told)
			if answered < questions-3 {
				t.Errorf("%d of %d answered", answered, questions)
			}
		})
	}
}
