package round

import (
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
					if c.answers("ada") || c.answers("ben") || len(words.Known().Names([]words.Named{c.named()}).Read("Ada, what time is it?").Called) > 0 {
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

// The last words of a cut answer that come when its device has gone back to where the others count are remembered and open no round:
// their epoch is larger than the room's, and a voice in it would be one that no press there silences.
func TestLateWordsOpenNothingWhereTheOthersCount(t *testing.T) {
	w := newWorld(1, 7)
	a := w.add("a", "attic", Card{ID: "ada", Name: "Ada"})
	b := w.add("b", "bath", Card{ID: "ben", Name: "Ben"})
	w.add("c", "cellar", Card{ID: "cleo", Name: "Cleo"})
	for _, d := range w.devs {
		d.start()
	}
	w.run(time.Second)
	b.say("", "Ben, good morning")
	w.run(w.now + 20*time.Second)
	away := Epoch{a.m.epoch.N + 1000, "a"}
	a.m.epoch = away
	a.step(Said{a.clock(), w.newID(), "", "Ada, tell me a story", []Participant{"ada"}, true})
	for n := 0; len(a.soundings()) == 0 && n < 100; n++ {
		w.run(w.now + 50*time.Millisecond)
	}
	cut := a.soundings()[0]
	cut.over = true // from here on its end is told by hand
	a.press("p")
	a.step(PressEnded{a.clock(), "p", "too short"})
	for n := 0; a.m.epoch.N >= away.N && n < 200; n++ {
		w.run(w.now + 50*time.Millisecond)
	}
	if a.m.epoch.N >= away.N {
		t.Fatalf("it still counts %v, and the others %v", a.m.epoch, b.m.epoch)
	}
	words := w.newID()
	a.step(SpeechEnded{At: a.clock(), Place: cut.p.Place, Companion: "ada", ID: words, Cut: true, Text: "Once", Heard: time.Second})
	if remembered := slices.ContainsFunc(a.m.recent, func(m Message) bool { return m.ID == words }); !remembered || a.m.rd.message.ID == words {
		t.Errorf("remembered %v; the round is of %+v", remembered, a.m.rd.message)
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

// An epoch is of the device whose button it was, and a companion speaks where it lives: nobody presses for another, nor claims for one.
func TestNobodyPressesOrSpeaksForAnother(t *testing.T) {
	at := Place{Epoch{1, "a"}, 1, "m1"}
	for _, p := range []Packet{
		Press{Epoch: Epoch{5, "a"}}, PressOver{Epoch{5, "a"}}, Press{Epoch: Epoch{5, tableConfig().Self}}, Press{Epoch: Epoch{0, "c"}}, Press{Epoch: Epoch{1 << 60, "c"}},
		Claim{Place: at, Companion: "ada"}, Speaking{Place: at, Companion: "ada", LeftMS: 9000}, Release{Place: at, Companion: "ada", OK: true},
	} {
		m := New(tableConfig())
		m, _ = Step(m, LinkChanged{Up: true})
		m, _ = Step(m, from("a", beatOf("attic", "ada")))
		m, _ = Step(m, from("c", beatOf("cellar", "cleo")))
		m, _ = Step(m, from("a", Press{Epoch: at.Epoch}))
		m, _ = Step(m, from("a", Message{ID: at.Message, From: Human("a"), Text: "Ada, what time is it?", Epoch: at.Epoch, Number: 1}))
		after, out := Step(m, from("c", p))
		if after.epoch != m.epoch || len(after.holders) != len(m.holders) || after.floor.state != m.floor.state || after.rd.over != m.rd.over || len(after.claims) > 0 {
			t.Errorf("%T of c, for a: epoch %v, %d holders, floor %+v, claims %+v", p, after.epoch, len(after.holders), after.floor, after.claims)
		}
		if !slices.ContainsFunc(out, func(e Effect) bool { _, ok := e.(Ignored); return ok }) {
			t.Errorf("%T of c, for a, makes %+v", p, out)
		}
	}
}
