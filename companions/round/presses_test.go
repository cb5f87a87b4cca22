package round

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Beyond what a hammering child makes the presses of a device count at itself alone, its name is said once, and they count again a minute
// after it has stopped. Nobody else's are touched.
func TestPressesWithoutEndStopCounting(t *testing.T) {
	w, good, liar := liarWorld()
	hushes, told, lines := 0, []string{}, 0
	w.seen = func(d *dev, ev Event, _ Machine, out []Effect) {
		for _, e := range out {
			switch e := e.(type) {
			case Hush:
				if d == good[0] && !e.Sounding {
					hushes++
				}
			case PressesCount:
				if d == good[0] {
					told = append(told, e.Name)
				}
			case Record:
				if d == good[0] && e.Entry.By == liar.id {
					lines++
				}
			}
		}
	}
	for n := range uint64(2000) { // for 40 s
		w.send(liar, Press{Epoch: Epoch{n + 1, liar.id}})
		w.run(w.now + 20*time.Millisecond)
		if n == 1500 && !silencedBy(w, good[0], good[1]) {
			t.Error("a press of another device does not count meanwhile")
		}
	}
	t.Logf("2000 presses: %d hushes, %d lines in the ledger, told %v", hushes, lines, told)
	if hushes > 40 || lines > 40 || len(told) != 1 || told[0] != "den" {
		t.Errorf("2000 presses: %d hushes, %d lines, told %v", hushes, lines, told)
	}
	w.run(w.now + 2*time.Minute)
	if len(told) != 2 || !silencedBy(w, good[0], liar) {
		t.Errorf("two minutes after the last one a press of it does not count again: told %v", told)
	}
	for _, d := range good {
		if n := d.m.Epoch().N; n > 200 {
			t.Errorf("%s counts %d", d.name, n)
		}
	}
}

// A button that is said to be down all the time does not keep the room from answering for ever.
func TestAHoldWithoutEndEnds(t *testing.T) {
	w, good, liar := liarWorld()
	off := 0
	w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
		for _, e := range out {
			if e, ok := e.(PressesCount); ok && d == good[0] && !e.Count {
				off++
			}
		}
	}
	answers := 0
	for n := range uint64(20) { // 20 minutes
		w.send(liar, Press{Epoch: Epoch{2*n + 1, liar.id}})
		w.run(w.now + 30*time.Second)
		good[1].say("", "Ada, what do you say?")
		w.run(w.now + 30*time.Second)
		if last := good[1].m.recent[len(good[1].m.recent)-1]; last.From == "ada" {
			answers++
		}
	}
	t.Logf("%d of 20 answered within 30 s, told of %d times", answers, off)
	if answers < 4 || off == 0 {
		t.Errorf("%d of 20 answered within 30 s, told of %d times", answers, off)
	}
}

// What was said before a press that is known already, and comes after it, is remembered and silences nobody.
func TestWordsThatANewerPressOvertakes(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("a", beatOf("attic", "ada")))
	m, _ = Step(m, Tick{At: m.cfg.Join})
	said := func(n uint64, id MessageID) (out []Effect) {
		m, out = Step(m, from("a", Message{ID: id, From: "human:a", Text: "Tea?", Epoch: Epoch{n, "a"}, Number: 1}))
		return out
	}
	m, _ = Step(m, from("a", Beat{Name: "attic", Epoch: Epoch{7, "a"}})) // its press is under way still
	if out := said(6, "older"); slices.ContainsFunc(out, func(e Effect) bool { _, ok := e.(Hush); return ok }) || m.rd.open {
		t.Errorf("older words make %+v", out)
	}
	if said(7, "newer"); m.rd.message.ID != "newer" || m.epoch != (Epoch{7, "a"}) || len(m.recent) != 2 {
		t.Errorf("the round is of %q at %v; remembered are %+v", m.rd.message.ID, m.epoch, m.recent)
	}
}

// Words of a turn that a newer press of the same device has replaced are superseded, and that turn is told so: nobody waits for an answer.
func TestWordsThatAPressHereHasReplacedEndTheirTurn(t *testing.T) {
	for _, replaced := range [][]string{{"t1"}, {"t1", "t2"}} { // two at once, three at once
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		m, _ = Step(m, Tick{At: m.cfg.Join})
		for _, turn := range replaced {
			m, _ = Step(m, Pressed{Turn: turn})
		}
		m, _ = Step(m, Pressed{Turn: "newest"})
		for i, turn := range replaced {
			var out []Effect
			m, out = Step(m, Said{ID: MessageID(fmt.Sprint("m", i)), Turn: turn, Text: "Tea?"})
			lost := slices.ContainsFunc(out, func(e Effect) bool { l, ok := e.(Lost); return ok && l.Turn == turn && l.Why != "" })
			if !lost || m.own.open {
				t.Errorf("of %d, %s: %+v; want its turn lost, and nothing open", len(replaced), turn, out)
			}
		}
	}
}

// Of two presses at once the higher one counts, and both silence. One that came after the one here counts however its device numbers it.
func TestAPressOfWhoCountsBehindIsNoneAtOnce(t *testing.T) {
	here := Epoch{1000, "b"}
	for _, c := range []struct {
		what  string
		press Press
		want  Epoch
	}{
		{"at once", Press{Epoch: Epoch{999, "c"}, After: Epoch{998, "a"}}, here},
		{"at once, of a device that does not say it", Press{Epoch: Epoch{999, "c"}}, here},
		{"at once, and behind", Press{Epoch: Epoch{940, "c"}, After: Epoch{939, "c"}}, here},
		{"later, of a device that counts elsewhere", Press{Epoch: Epoch{996, "c"}, After: here}, Epoch{1001, "c"}},
		{"later, after one that has not come", Press{Epoch: Epoch{996, "c"}, After: Epoch{1001, "a"}}, Epoch{1001, "c"}},
		{"later, and too far behind to be at once", Press{Epoch: Epoch{900, "c"}, After: Epoch{}}, Epoch{1001, "c"}},
	} {
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		m, _ = Step(m, from("c", beatOf("cellar", "cleo")))
		m.epoch = Epoch{999, "b"}
		m, _ = Step(m, Pressed{Turn: "t1"})
		m.stakes = []stake{{phase: stakeSounding, place: Place{Epoch: m.epoch}}}
		m, _ = Step(m, from("c", c.press))
		if m.epoch != c.want || m.stakes[0].phase != stakeOver {
			t.Errorf("%s: %v counts, the answer here is in phase %d; want %v, and silence", c.what, m.epoch, m.stakes[0].phase, c.want)
		}
	}
}

// Two press at once, and one of them counts elsewhere: what the other one came after is an older press of that device, as that one
// numbers it. Which of the two counts is the same everywhere.
func TestWhatAPressCameAfterIsNumberedThere(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("a", beatOf("attic", "ada")))
	m, _ = Step(m, from("c", beatOf("cellar", "cleo")))
	m.epoch = Epoch{66, "c"}
	m, _ = Step(m, from("c", Press{Epoch: Epoch{1066, "c"}}))
	m, _ = Step(m, from("c", Press{Epoch: Epoch{1068, "c"}, After: Epoch{1, "a"}}))
	m, _ = Step(m, from("c", PressOver{Epoch{1068, "c"}}))
	want := m.epoch
	m, _ = Step(m, from("a", Press{Epoch: Epoch{69, "a"}, After: Epoch{1066, "c"}}))
	if m.epoch != want || want.Device != "c" {
		t.Errorf("%v counts; want %v, which a did not know of", m.epoch, want)
	}
	m, _ = Step(m, from("a", Press{Epoch: Epoch{70, "a"}, After: Epoch{1068, "c"}}))
	if m.epoch.Device != "a" {
		t.Errorf("%v counts; want a's, which came after it", m.epoch)
	}
}

// Votes may come before the message that they are for. What their number was taken for then, the message corrects: a claim of that number
// is one of this round, and not of a press that is over.
func TestAMessageCorrectsWhatANumberWasTakenFor(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("c", beatOf("cellar", "cleo")))
	m, _ = Step(m, from("d", beatOf("den", "eve")))
	there := Place{Epoch{maxAhead + 9, "d"}, 1, "m2"}
	m, _ = Step(m, from("d", Message{ID: "m1", From: Human("d"), Text: "hello", Epoch: Epoch{5, "d"}, Number: 1}))
	m, _ = Step(m, from("c", Votes{there, []Vote{voteFor("cleo", "m2", 9)}}))
	m, _ = Step(m, from("d", Message{ID: "m2", From: Human("d"), Text: "hello again", Epoch: Epoch{maxEpoch, "d"}, Number: 1}))
	m, _ = Step(m, from("c", claimFor("cleo", there, 9)))
	if m.epoch == there.Epoch || m.floor.state != floorClaimed || m.floor.device != "c" || m.floor.place != m.rd.place {
		t.Errorf("in epoch %v the claim leaves the floor as %+v", m.epoch, m.floor)
	}
}

// Who speaks in an epoch that is far from what counts here is heard if its press did not count here, and not if that is over.
func TestWhoSpeaksAfterAPressThatDidNotCount(t *testing.T) {
	for _, c := range []struct {
		what    string
		presses uint64 // of c, before the one of a
		tells   int    // that there were before
		heard   bool
	}{
		{"a press that has never come", 0, 0, true}, {"a press that counted, and is over", 1, 0, false}, {"a press beyond what counts", 40, 0, true},
		{"one more than a device may tell of", 0, maxTold, false},
	} {
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		m, _ = Step(m, from("a", beatOf("attic", "ada")))
		for n := range c.presses {
			m, _ = Step(m, from("c", Press{Epoch: Epoch{n + 1, "c"}}))
		}
		m, _ = Step(m, from("a", Press{Epoch: Epoch{100, "a"}, After: m.epoch}))
		for n := range uint64(c.tells) {
			m, _ = Step(m, from("a", Withdraw{Place: Place{Epoch{1000, DeviceID(fmt.Sprint("x", n))}, 1, "m9"}, Companion: "ada"}))
		}
		m, _ = Step(m, from("a", Speaking{Place: Place{Epoch{m.epoch.N + 1000_000, "c"}, 1, "m9"}, Companion: "ada"}))
		if heard := m.floor.state == floorSounding && m.epoch.Device == "c" && m.epoch.N < 200; heard != c.heard {
			t.Errorf("after %s: heard %v, at %v; want %v", c.what, heard, m.epoch, c.heard)
		}
	}
}

// Where nobody has pressed before, two presses at once have come after none: the higher one counts.
func TestOfTwoFirstPressesOneCounts(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	for _, d := range []DeviceID{"a", "c"} {
		m, _ = Step(m, from(d, Beat{Name: string(d)}))
	}
	m, _ = Step(m, from("c", Press{Epoch: Epoch{1, "c"}}))
	m, _ = Step(m, from("c", PressOver{Epoch{1, "c"}}))
	if m, _ = Step(m, from("a", Press{Epoch: Epoch{1, "a"}})); m.epoch != (Epoch{1, "c"}) {
		t.Errorf("the newest is %v", m.epoch)
	}
}

// A device that has lost its memory counts from the beginning, and uses numbers that it has used before: they are new presses, be its
// own the newest or another's.
func TestWhoHasLostItsMemoryIsHeard(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		hears := func(d DeviceID, e Epoch) bool {
			var out []Effect
			m, out = Step(m, from(d, Press{Epoch: e}))
			m, _ = Step(m, from(d, PressOver{e}))
			return slices.ContainsFunc(out, func(e Effect) bool { _, ok := e.(Hush); return ok })
		}
		m, _ = Step(m, from("a", Beat{Name: "attic"}))
		m, _ = Step(m, from("c", Beat{Name: "cellar"}))
		if !hears("a", Epoch{1, "a"}) || hears("a", Epoch{1, "a"}) || meanwhile && !hears("c", Epoch{2, "c"}) {
			t.Fatal("a press is heard once")
		}
		m, _ = Step(m, from("a", Beat{Left: true}))         // as its last will says
		m, _ = Step(m, from("a", PressOver{Epoch{1, "a"}})) // a copy that was under way
		m, _ = Step(m, from("a", Beat{Name: "attic"}))
		if !hears("a", Epoch{1, "a"}) || hears("a", Epoch{1, "a"}) {
			t.Errorf("a press of a device that has begun anew is not heard once (another one meanwhile: %v)", meanwhile)
		}
	}
}

// TestTheLastEightPressesOfADeviceAreKnown: an older one would be new once more.
func TestTheLastEightPressesOfADeviceAreKnown(t *testing.T) {
	m := New(Config{Self: "a"})
	for n := range uint64(9) {
		if !m.meet("b", Epoch{n + 1, "b"}) {
			t.Fatalf("press %d is known before it came", n+1)
		}
	}
	if m.meet("b", Epoch{2, "b"}) || !m.meet("b", Epoch{1, "b"}) {
		t.Errorf("known are %v; want the last eight", m.presser("b").known)
	}
}
