package round

import (
	"fmt"
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
		"says that nobody has answered": func(w *world, liar *dev, m Message) {
			for i := 1; i < 9; i++ {
				w.send(liar, Message{ID: MessageID(fmt.Sprint(m.ID, "-", i)), From: Human(liar.id), Epoch: m.Epoch, Number: m.Number + i, Metadata: Metadata{Silence: true}})
			}
		},
		"says that nobody has, when the answer begins": func(w *world, liar *dev, m Message) {
			for i := 1; i < 40; i++ {
				liar.soon(time.Duration(i)*100*time.Millisecond, func() {
					w.send(liar, Message{ID: MessageID(fmt.Sprint(m.ID, "-", i)), From: Human(liar.id), Epoch: m.Epoch, Number: m.Number + 1, Metadata: Metadata{Silence: true}})
				})
			}
		},
		"claims at a place of its own": func(w *world, liar *dev, m Message) {
			p := Place{m.Epoch, m.Number + 1, "fancy" + m.ID}
			w.send(liar, Claim{Place: p, Companion: "eve", Votes: []Vote{vote(m)}})
			silentLease(w, liar, Message{ID: p.Message, Epoch: p.Epoch, Number: p.Number})
		},
		"speaks at a place of its own": func(w *world, liar *dev, m Message) {
			silentLease(w, liar, Message{ID: "fancy" + m.ID, Epoch: m.Epoch, Number: m.Number + 1})
		},
		"says that the conversation is over": func(w *world, liar *dev, m Message) {
			for i := range 20 {
				liar.soon(time.Duration(i)*100*time.Millisecond, func() { w.send(liar, Ended{m.Place()}) })
			}
		},
		"has spoken before the words are there": nil,
		"says before them that nobody has":      nil,
		"speaks before them":                    nil,
	} {
		t.Run(name, func(t *testing.T) {
			w, good, liar := liarWorld()
			w.stage.ready = func() time.Duration { return 2 * time.Second } // a voice's first sample
			answered, told := 0, []string{}
			w.seen = func(d *dev, ev Event, _ Machine, out []Effect) {
				rec, _ := ev.(Received)
				if m, ok := rec.Packet.(Message); ok && says != nil && d == liar && m.From.Human() && !m.Metadata.Silence {
					says(w, liar, m)
				}
				if p, ok := rec.Packet.(Press); ok && says == nil && d == liar {
					early := Message{ID: MessageID(fmt.Sprint("early", p.Epoch.N)), From: "eve", Text: "Hm.", Epoch: p.Epoch, Number: 8}
					if name == "says before them that nobody has" {
						early.From, early.Text, early.Metadata.Silence = Human(liar.id), "", true
					}
					if name == "speaks before them" {
						silentLease(w, liar, early)
						return
					}
					w.send(liar, early)
				}
				for _, e := range out {
					if e, ok := e.(Offends); ok && d == good[0] && e.What == OffenceFloor {
						told = append(told, e.Name)
					}
				}
			}
			const questions = 10
			for range questions {
				turn := w.newID()
				good[1].press(string(turn))
				w.run(w.now + 2*time.Second)
				good[1].say(string(turn), "Ada, what do you say?")
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

// Who is called on and only listens has nothing to be robbed of: nobody who answers in its stead is named for it.
func TestWhoOnlyListensIsNotRobbed(t *testing.T) {
	w, good, _ := liarWorld()
	for _, d := range w.devs {
		judge := func(v View, ids []CompanionID) []Vote {
			return each(ids, func(id CompanionID) Vote {
				vote := Vote{From: id, MessageID: v.Message.ID, State: StateListen, Closing: ClosingNone, Selected: id == "ada"}
				if id == "ben" && v.Message.From.Human() {
					vote.State, vote.Importance = StateSpeak, 8
				}
				return vote
			})
		}
		d.cfg.judge, d.m.cfg.judge = judge, judge
	}
	answered := 0
	w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
		for _, e := range out {
			switch e := e.(type) {
			case Offends:
				t.Errorf("%s names %s for %s", d.name, e.Name, e.What)
			case Send:
				if said, ok := e.Packet.(Message); ok && said.From == "ben" {
					answered++
				}
			}
		}
	}
	for range 3 * maxTaken {
		good[2].say("", "It is late, Ada")
		w.run(w.now + 25*time.Second)
	}
	if answered != 3*maxTaken {
		t.Errorf("%d of %d answered", answered, 3*maxTaken)
	}
}

// Manners that a member turns without end, by beats, by controls or in words, stay as they are for a while, and it is named; what somebody else turns counts.
func TestMannersAreNotTurnedWithoutEnd(t *testing.T) {
	for name, turn := range map[string]func(w *world, liar *dev, n uint64){
		"beats": func(w *world, liar *dev, n uint64) {
			w.send(liar, Beat{Name: "den", Digest: liar.m.digest, Epoch: liar.m.epoch, Room: Setting{Muted: n%2 == 0, N: liar.m.setting.N + 1 + n%3, By: "zz"}})
		},
		"controls": func(w *world, liar *dev, n uint64) {
			mute := n%2 == 0
			w.send(liar, Control{Companion: "ada", Mute: &mute})
		},
		"words": func(w *world, liar *dev, n uint64) {
			w.send(liar, Message{ID: MessageID(fmt.Sprint("w", n)), From: Human(liar.id), Text: "Ada, be quiet", Epoch: Epoch{liar.m.epoch.N + 1, liar.id}, Number: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, good, liar := liarWorld()
			turned, named := 0, []string{}
			w.seen = func(d *dev, _ Event, before Machine, out []Effect) {
				if d != good[0] {
					return
				}
				if before.setting != d.m.setting || digestOf(before.cards) != digestOf(d.m.cards) {
					turned++
				}
				for _, e := range out {
					if e, ok := e.(Offends); ok && e.What == OffenceManners {
						named = append(named, fmt.Sprint(e.Name, e.Over))
					}
				}
			}
			for n := range uint64(300) {
				turn(w, liar, n)
				w.run(w.now + 200*time.Millisecond)
			}
			if turned > 3*maxTurned || name != "words" && !slices.Equal(named, []string{"denfalse"}) {
				t.Errorf("turned %d times in a minute; named %v", turned, named)
			}
			w.run(w.now + 2*time.Minute)
			off := InvolvementOff
			good[1].step(Controlled{good[1].clock(), Control{Involvement: &off}})
			w.run(w.now + 2*time.Second)
			if s := good[0].m.Setting(); s.Involvement != off {
				t.Errorf("another device cannot turn it: %+v", s)
			}
			w.run(w.now + takenWindow)
			if name != "words" && !slices.Equal(named, []string{"denfalse", "dentrue"}) {
				t.Errorf("named %v", named)
			}
		})
	}
}

// Whoever comes and goes without end is noted once a second at most.
func TestWhoComesAndGoesFillsNoLedger(t *testing.T) {
	w, good, liar := liarWorld()
	lines := 0
	w.seen = func(d *dev, _ Event, _ Machine, out []Effect) {
		for _, e := range out {
			if r, ok := e.(Record); ok && d == good[0] && r.Entry.Kind == EntryMember {
				lines++
			}
		}
	}
	for range 20 * 60 {
		w.send(liar, Beat{Name: "den", Left: true})
		w.send(liar, Beat{Name: "den", Digest: "?"})
		w.run(w.now + 50*time.Millisecond)
	}
	if lines > 4*maxChanges {
		t.Errorf("%d lines in a minute", lines)
	}
}
