package round

import (
	"slices"
	"testing"
	"time"
)

// A question typed in the hall in the instant of a press in the kitchen of which nothing comes, in all orders of their packets. Nothing is lost
// in silence: it is answered, or it has the one outcome that a press took its place, of which whoever typed it is told. That is so only where
// the press counts as the newer one: it knew of the question, or is the higher of two that knew nothing of each other.
func TestATypedQuestionBesideAPressOfWhichNothingComes(t *testing.T) {
	answered, superseded := 0, 0
	for seed := range uint64(4) {
		for at := -20 * time.Millisecond; at <= 60*time.Millisecond; at += 4 * time.Millisecond { // the question, after the press
			for _, kitchens := range []DeviceID{"a", "z"} {
				for _, long := range []time.Duration{5 * time.Millisecond, 40 * time.Millisecond} {
					w := newWorld(seed, uint64(at+time.Second))
					w.net = network{min: time.Millisecond, max: 25 * time.Millisecond, twice: 0.2}
					kitchen, hall := w.add(kitchens, "kitchen", Card{ID: "ada", Name: "Ada"}), w.add("m", "hall", Card{ID: "ben", Name: "Ben"})
					kitchen.start()
					hall.start()
					w.run(2 * time.Second)
					hall.say("t-0", "Ben, hello?")
					w.run(20 * time.Second)
					var id MessageID
					var ends []EntryKind
					knew := false // at the kitchen, of the question
					w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
						for _, e := range out {
							if r, ok := e.(Record); ok && r.Entry.Kind != EntryRound && d == hall && id != "" && r.Entry.Message != nil && r.Entry.Message.ID == id {
								ends = append(ends, r.Entry.Kind)
							}
						}
					}
					start := 30 * time.Millisecond
					w.after(start, func() { knew = kitchen.m.epoch.Device == hall.id && id != ""; kitchen.press("t-k") })
					w.after(start+long, func() { kitchen.step(PressEnded{kitchen.clock(), "t-k", "too short"}) })
					w.after(start+at, func() { id = hall.say("t-h", "Ben, what do you say?") })
					w.run(w.now + 20*time.Second)
					said := slices.ContainsFunc(hall.m.recent, func(m Message) bool { return m.From == "ben" && m.Turn == "t-h" })
					switch {
					case said && slices.Equal(ends, []EntryKind{EntryAnswered}):
						answered++
					case !said && slices.Equal(ends, []EntryKind{EntrySuperseded}) && (knew || kitchens == "z"):
						superseded++
					default:
						t.Errorf("seed %d, %v after a press of %v at %s, which knew of it %t: answered %t, outcomes %v", seed, at, long, kitchens, knew, said, ends)
					}
				}
			}
		}
	}
	if t.Logf("%d answered, %d superseded", answered, superseded); answered == 0 || superseded == 0 {
		t.Error("too tame")
	}
}
