package round

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"conch/companions/words"
)

// A liar is a member whose key is good and whose packets say what they like (ROOM.md 8).

// liarWorld is a room of three good devices and a liar, whose machine runs like any other besides what it is told to say.
func liarWorld(list ...Listed) (w *world, good []*dev, liar *dev) {
	w = newWorld(1, 1)
	for i, c := range []string{"ada", "ben", "cleo"} {
		good = append(good, w.add(DeviceID([]string{"d1", "d2", "d3"}[i]), []string{"attic", "bath", "cellar"}[i], Card{ID: CompanionID(c), Name: c}))
	}
	liar = w.add("d0", "den", Card{ID: "eve", Name: "eve"})
	for _, d := range w.devs {
		d.list = list
		d.start()
	}
	w.run(3 * time.Second)
	return w, good, liar
}

// silencedBy lets a companion of one device speak, a person press at another, and tells whether the first was silent in time.
func silencedBy(w *world, speaker, presser *dev) bool {
	c := speaker.m.cards[0].ID
	speaker.say("", string(c)+", tell me a story")
	for n := 0; len(speaker.soundings()) == 0 && n < 100; n++ {
		w.run(w.now + 50*time.Millisecond)
	}
	if len(speaker.soundings()) == 0 {
		return false
	}
	presser.press("p")
	w.run(w.now + w.net.bound() + time.Millisecond)
	silent := len(speaker.soundings()) == 0
	presser.step(PressEnded{presser.clock(), "p", "too short"})
	w.run(w.now + 3*time.Second)
	return silent
}

// Beats with epochs of others, each as far ahead as was once believed: a device that restarts has to be heard all the same.
func TestThreeJumpsDoNotSeverWhoRestarts(t *testing.T) {
	w, good, liar := liarWorld()
	for n := range uint64(3) {
		w.send(liar, Beat{Name: "den", Digest: "?", Epoch: Epoch{(n + 1) << 32, "zz"}})
		w.run(w.now + time.Second)
	}
	good[2].kill()
	w.run(w.now + time.Second)
	good[2].start()
	w.run(w.now + 10*time.Millisecond) // it has heard nobody yet
	silent := silencedBy(w, good[0], good[2])
	t.Logf("epoch %d; silent after a press at who restarted: %v", good[0].m.Epoch().N, silent)
	if !silent || good[0].m.Epoch().N > 1000 {
		t.Errorf("epoch %v, silent %v", good[0].m.Epoch(), silent)
	}
	w.run(w.now + 5*time.Second)
	for _, pair := range [][2]int{{0, 2}, {2, 0}, {1, 2}, {0, 1}} {
		if !silencedBy(w, good[pair[0]], good[pair[1]]) {
			t.Errorf("%s is not silenced by a press at %s", good[pair[0]].name, good[pair[1]].name)
		}
	}
}

// liars picks who lies in a room of the simulation, and whether there is a list of members.
func (s *sim) liars(faulty bool) {
	if s.r.IntN(2) == 0 {
		var list []Listed
		for _, i := range s.r.Perm(len(s.devs)) {
			list = append(list, Listed{s.devs[i].id, s.devs[i].name})
		}
		for _, d := range s.devs {
			d.list = list
		}
	}
	if faulty && len(s.devs) > 2 && s.r.IntN(2) == 0 {
		s.devs[s.r.IntN(len(s.devs))].liar = true
	}
}

// lie lets each liar say something that is not so.
func (s *sim) lie() {
	for _, d := range s.devs {
		if !d.liar || s.truth || !d.alive || d.frozen > s.now || s.r.IntN(3) == 0 {
			continue
		}
		s.fault("lying member")
		for range 1 + s.r.IntN(4) {
			for i, p := range s.lies(d) {
				d.soon(time.Duration(i)*20*time.Millisecond, func() {
					s.remembers(d, p)
					s.send(d, p)
				})
			}
		}
	}
}

// lies are packets that a member can make and that are not so.
func (s *sim) lies(d *dev) []Packet {
	r := s.r
	other := s.devs[r.IntN(len(s.devs))]
	at := other.m.epoch
	number := []uint64{1, 2, at.N - min(at.N, 3), at.N, at.N + 1, at.N + 2, at.N + 63, at.N + 64, at.N + 65, at.N + 1000, at.N + 1<<32, 1 << 52, 1<<52 + 1, 1<<53 - 1, 1 << 53, 1<<64 - 1}[r.IntN(16)]
	any := Epoch{number, []DeviceID{d.id, other.id, "nobody"}[r.IntN(3)]}
	beat := Beat{Name: other.name, Digest: d.m.digest, Version: r.IntN(3), Epoch: at, Turns: d.m.turns, Room: d.m.setting}
	who := CompanionID(simNames[r.IntN(10)])
	place := other.m.rd.place
	if place.Message == "" || r.IntN(3) == 0 {
		place = Place{any, 1 + r.IntN(3), place.Message}
	}
	switch r.IntN(15) {
	case 0, 1: // any epoch, of anybody
		beat.Epoch = any
		return []Packet{beat}
	case 2: // a jump
		return []Packet{Press{Epoch: Epoch{number, d.id}}}
	case 3:
		return []Packet{Press{Epoch: Epoch{number, d.id}}, PressOver{Epoch{number, d.id}}}
	case 4: // hammers
		var all []Packet
		for i := range uint64(40) {
			all = append(all, Press{Epoch: Epoch{at.N + 1 + i, d.id}})
		}
		return all
	case 5: // claims, for anybody, anywhere
		votes := []Vote{voteFor(who, place.Message, 10)}
		votes[0].Selected = true
		return []Packet{Claim{Place: place, Companion: who, Votes: votes}, Speaking{Place: place, Companion: who, LeftMS: 100000}}
	case 6:
		return []Packet{Speaking{Place: place, Companion: who}, Release{Place: place, Companion: who, OK: r.IntN(2) == 0}, Withdraw{place, who, "so"}, Ended{place}}
	case 7:
		beat.Room = Setting{N: number, By: other.id}
		return []Packet{beat}
	case 8:
		beat.Turns = number
		return []Packet{beat}
	case 9: // votes of always 10, for anybody
		var votes []Vote
		for _, c := range []CompanionID{who, CompanionID(simNames[r.IntN(10)])} {
			v := voteFor(c, place.Message, 10)
			v.Selected = r.IntN(2) == 0
			votes = append(votes, v)
		}
		return []Packet{Votes{place, votes}}
	case 10: // a person's words, under any number
		s.ids++
		return []Packet{Message{ID: s.newID(), From: Human(d.id), Text: s.words(d), Epoch: Epoch{number, d.id}, Number: 1 + r.IntN(3)}}
	case 12, 13: // companions that others have
		for range 1 + r.IntN(3) {
			card := simCard(r.IntN(10))
			if r.IntN(2) == 0 {
				card.ID, card.Aliases = card.ID+"-x", []string{simNames[r.IntN(10)]}
			}
			if !hasCard(beat.Cards, card.ID) {
				beat.Cards = append(beat.Cards, card)
			}
		}
		beat.Digest = digestOf(beat.Cards)
		return []Packet{beat}
	case 11: // a history for everybody
		msg := Message{ID: s.newID(), From: Participant(who), Text: "so it was", Epoch: any, Number: 1 + r.IntN(9)}
		return []Packet{History{To: other.id, Messages: []Message{msg}}}
	}
	return []Packet{Message{ID: s.newID(), From: Participant(who), Text: s.words(d), Epoch: any, Number: 1 + r.IntN(9)}}
}

// Beyond what a hammering child makes the presses of a device count at itself alone, its name is said once, and they count again a minute
// after it has stopped. Nobody else's are touched.
func TestPressesWithoutEndStopCounting(t *testing.T) {
	w, good, liar := liarWorld()
	hushes, told, lines := 0, []string{}, 0
	w.seen = func(d *dev, ev Event, _ Machine, out []Effect) {
		for _, e := range out {
			switch e := e.(type) {
			case Hush:
				if d == good[0] {
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

// Another's id, name or alias is not to be had: the older companion keeps it and is called as before, on every device, and what the
// liar says under it is nobody's.
func TestANewcomerNeverDisplaces(t *testing.T) {
	list := []Listed{{"d1", "attic"}, {"d2", "bath"}, {"d3", "cellar"}, {"d0", "den"}}
	for _, card := range []Card{
		{ID: "ada", Name: "Ada"}, {ID: "ada-x", Name: "A d a!"}, {ID: "eve", Name: "Eve", Aliases: []string{"Ada", "Eva"}}, {ID: "x", Name: "Eve", Aliases: []string{"ben", "ada"}},
		{ID: "zed", Name: "Adá"}, {ID: "àda", Name: "Zed"}, {ID: "zed", Name: "Zed", Aliases: []string{"Ａｄａ", "Ädä"}}, {ID: "zed", Name: "Аdа"}, {ID: "zed", Name: "Αda"},
	} {
		w, good, liar := liarWorld(list...)
		w.send(liar, Beat{Name: "attic", Digest: "false", Cards: []Card{card}})
		w.run(w.now + 100*time.Millisecond)
		forged := Message{ID: "forged", From: Participant("ada"), Text: "I am Ada", Epoch: good[0].m.epoch, Number: 2}
		w.send(liar, forged)
		w.run(w.now + 100*time.Millisecond)
		for _, d := range good {
			if got := good[0].m.cards[0]; got.ID != "ada" || got.Name != "ada" || !d.m.livesOn("ada", "d1") && d != good[0] {
				t.Errorf("%+v: at %s the older one is %+v", card, d.name, got)
			}
			if x := d.m.member(liar.id); x != nil {
				for _, c := range x.Cards {
					if c.answers("ada") || c.answers("ben") || len(words.NewNames([]words.Named{c.named()}).Read("Ada, what time is it?").Called) > 0 {
						t.Errorf("%+v: %s takes in %+v", card, d.name, c)
					}
				}
			}
			if len(d.m.recent) > 0 && d.m.recent[len(d.m.recent)-1].ID == "forged" {
				t.Errorf("%+v: %s remembers what was said in another's name", card, d.name)
			}
		}
	}
}

// Numbers of 2^53 in beats wedge nothing: what is turned later counts everywhere, and so does who spoke last.
func TestNumbersOfBeatsDoNotWedge(t *testing.T) {
	w, good, liar := liarWorld()
	for _, n := range []uint64{1 << 53, 1<<53 + 1, 1 << 52, 1<<64 - 1} {
		w.send(liar, Beat{Name: "den", Digest: "?", Epoch: Epoch{n, liar.id}, Turns: n, Room: Setting{Involvement: InvolvementOff, Muted: true, N: n, By: "zz"}})
		w.run(w.now + time.Second)
	}
	muted := true
	good[1].step(Controlled{good[1].clock(), Control{Mute: &muted}})
	w.run(w.now + time.Second)
	for _, d := range good {
		if s := d.m.Setting(); !s.Muted || s.Involvement != "" || s.N > 1000 || d.m.turns > 1000 {
			t.Errorf("%s: setting %+v, %d turns; want it muted at a small number", d.name, s, d.m.turns)
		}
	}
}

// Two devices whose numbers are far apart hush each other, hear each other's words and answer them, and come to count alike.
func TestWhoCountsElsewhereConverses(t *testing.T) {
	for _, n := range []uint64{30, 100, 1 << 40, 1 << 51} {
		w := newWorld(1, n)
		a := w.add("a", "attic", Card{ID: "ada", Name: "Ada"})
		b := w.add("b", "bath", Card{ID: "ben", Name: "Ben"})
		c := w.add("c", "cellar", Card{ID: "cleo", Name: "Cleo"})
		b.cfg.Recent = []Message{{ID: "old", From: "human:b", Text: "Hello", Epoch: Epoch{n, "b"}, Number: 1}}
		for _, d := range w.devs {
			d.start()
		}
		w.run(time.Second)
		away := func() { n += 1 << 20; b.m.epoch = Epoch{n, "b"} }
		away()
		for _, pair := range [][2]*dev{{a, b}, {b, a}, {c, b}, {b, c}} {
			if !silencedBy(w, pair[0], pair[1]) {
				t.Errorf("%d: %s is not silenced by %s", n, pair[0].name, pair[1].name)
			}
			away()
			id := b.say("", "Ada, what do you say?")
			w.run(w.now + 5*time.Second)
			last := b.m.recent[len(b.m.recent)-1]
			if from := last.From; from != "ada" {
				t.Errorf("%d: after %s the last word is %s's: %+v", n, id, from, last)
			}
		}
		w.run(w.now + 15*time.Second)
		if a.m.epoch != b.m.epoch || b.m.epoch != c.m.epoch {
			t.Errorf("%d: at rest they count %v, %v and %v", n, a.m.epoch, b.m.epoch, c.m.epoch)
		}
	}
}

// Whose name is another's now goes on under it: a senior member that takes it, before the answer, in the pause or while it is heard, lets
// no second voice in.
func TestAnAnswerOutlivesItsName(t *testing.T) {
	list := []Listed{{"d0", "den"}, {"d1", "attic"}, {"d2", "bath"}, {"d3", "cellar"}}
	everybody := func(v View, ids []CompanionID) (votes []Vote) {
		for _, id := range ids {
			vote := voteFor(id, v.Message.ID, 6)
			if id != "ada" && id != "cleo" {
				vote.Importance = 9
			}
			votes = append(votes, vote)
		}
		return votes
	}
	for _, after := range []time.Duration{0, 3 * time.Millisecond, 20 * time.Millisecond, 150 * time.Millisecond, 2 * time.Second} {
		for _, id := range []CompanionID{"ben", "ben-x"} {
			w, good, liar := liarWorld()
			w.stage.length = func() time.Duration { return 20 * time.Second }
			for _, d := range good {
				d.cfg.judge, d.m.cfg.judge = everybody, everybody
				d.step(MembersListed{d.clock(), list})
			}
			liar.cfg.Cards, liar.m.cards = nil, nil
			w.send(liar, Beat{Name: "den", Digest: "none", Cards: []Card{}})
			w.run(w.now + time.Second)
			good[1].say("", "What is new?")
			w.run(w.now + after)
			w.send(liar, Beat{Name: "den", Digest: "more", Cards: []Card{{ID: id, Name: "Ben"}}})
			w.run(w.now + 400*time.Millisecond)
			w.send(liar, Beat{Name: "den", Digest: "most", Cards: []Card{{ID: id, Name: "Ben"}, {ID: "ben-2", Name: "Ben 2"}}})
			heard, others := 0, 0
			for range 150 {
				w.run(w.now + 50*time.Millisecond)
				heard += len(good[1].soundings())
				others += len(good[0].soundings()) + len(good[2].soundings())
			}
			if heard < 100 || others > 0 {
				t.Errorf("%s is another's %v after the words: it is heard for %d ms, others meanwhile for %d ms", id, after, heard*50, others*50)
			}
		}
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

// Of two presses at once the higher one counts, and both silence. One that came after the one here counts however its device numbers it.
func TestAPressOfWhoCountsBehindIsNoneAtOnce(t *testing.T) {
	here := Epoch{1000, "b"}
	for _, c := range []struct {
		what  string
		press Press
		want  Epoch
	}{
		{"at once", Press{Epoch{999, "c"}, Epoch{998, "a"}}, here},
		{"at once, of a device that does not say it", Press{Epoch: Epoch{999, "c"}}, here},
		{"at once, and behind", Press{Epoch{940, "c"}, Epoch{939, "c"}}, here},
		{"later, of a device that counts elsewhere", Press{Epoch{996, "c"}, here}, Epoch{1001, "c"}},
		{"later, after one that has not come", Press{Epoch{996, "c"}, Epoch{1001, "a"}}, Epoch{1001, "c"}},
		{"later, and too far behind to be at once", Press{Epoch{900, "c"}, Epoch{}}, Epoch{1001, "c"}},
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
		m, _ = Step(m, from("a", Press{Epoch{100, "a"}, m.epoch}))
		for n := range uint64(c.tells) {
			m, _ = Step(m, from("a", Withdraw{Place: Place{Epoch{1000, DeviceID(fmt.Sprint("x", n))}, 1, "m9"}, Companion: "ada"}))
		}
		m, _ = Step(m, from("a", Speaking{Place: Place{Epoch{m.epoch.N + 1000_000, "c"}, 1, "m9"}, Companion: "ada"}))
		if heard := m.floor.state == floorSounding && m.epoch.Device == "c" && m.epoch.N < 200; heard != c.heard {
			t.Errorf("after %s: heard %v, at %v; want %v", c.what, heard, m.epoch, c.heard)
		}
	}
}

// Who tells a newcomer the same twice, or of nothing twice, has told once: another member tells it what was said.
func TestALiarHidesNoHistory(t *testing.T) {
	w, good, liar := liarWorld()
	good[0].say("", "Ben, the cake is in the larder")
	w.run(w.now + 5*time.Second)
	told := 0
	w.seen = func(d *dev, ev Event, _ Machine, _ []Effect) {
		rec, _ := ev.(Received)
		if _, ok := rec.Packet.(HistoryAsk); ok && d == liar {
			for range 3 {
				w.send(liar, History{To: rec.From})
			}
		}
		if h, ok := rec.Packet.(History); ok && h.To == "d9" && d.id == "d9" && rec.From != liar.id {
			told++
		}
	}
	newcomer := w.add("d9", "porch", Card{ID: "dora", Name: "dora"})
	newcomer.start()
	w.run(w.now + 10*time.Second)
	if len(newcomer.m.recent) == 0 || told == 0 {
		t.Errorf("the newcomer knows of %d messages; others than the liar have told it %d times", len(newcomer.m.recent), told)
	}
}
