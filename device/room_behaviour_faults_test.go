package device

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/device/room"
)

// What a room survives (ROOM.md 8): devices that die at any step, networks in halves, brokers that go and come.

// The winner dies before it has said a word: the next candidate answers, and the ledger tells of both.
func TestRoomWinnerDiesAfterItsClaimAndTheNextCandidateAnswers(t *testing.T) {
	winnerDies(t, false)
}

// It may also die before the others have seen its claim.
func TestRoomWinnerDiesBeforeItsClaimAndTheNextCandidateAnswers(t *testing.T) {
	winnerDies(t, true)
}

func winnerDies(t *testing.T, before bool) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.cooks()
		kitchen.voice.set(func(v *roomVoice) { v.mute = true })
		seen := round.EntryClaim
		if before {
			kitchen.lose(func(p round.Packet) bool { _, claim := p.(round.Claim); return claim })
			seen = round.EntryRound
		}
		id := hall.ask("How long does an egg have to boil?")
		homes := []*roomHome{bedroom, hall}
		for _, x := range homes {
			h.until(x.name+" has seen it win", func() bool { return x.has(about(seen, id)) })
		}
		kitchen.kill()
		hall.over(id, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); !slices.Equal(got, ids{"ben"}) {
			t.Errorf("speakers %v; want ben, the next candidate", got)
		}
		for _, x := range homes {
			if n := len(x.ledger(func(e round.Entry) bool { return about(round.EntryFailed, id)(e) && e.Companion == "ada" })); n != 1 {
				t.Errorf("%s tells of ada's failure %d times; want once", x.name, n)
			}
		}
		if !bedroom.has(func(e round.Entry) bool {
			return about(round.EntryInstead, id)(e) && e.Companion == "ben" && e.Why != ""
		}) {
			t.Error("no line about ben instead of ada")
		}
	})
}

// An answer that fails, or is empty, goes on to the next candidate too; once each.
func TestRoomWinnerWithoutAnAnswerGivesWayToTheNextCandidate(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.cooks()
		kitchen.voice.says("")
		id := hall.answered("How long does an egg have to boil?", "ben")
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			if n := len(x.ledger(func(e round.Entry) bool { return about(round.EntryFailed, id)(e) && e.Companion == "ada" })); n != 1 {
				t.Errorf("%s tells of ada's failure %d times; want once", x.name, n)
			}
		}
	})
}

// cooks raises three devices, two of whose companions know about eggs: ada more than ben.
func (h *roomHouse) cooks(change ...func(*homePlan)) (kitchen, bedroom, hall *roomHome) {
	h.t.Helper()
	second := cardsOf("ben")
	second[0].Expertise = []string{"egg", "eggs"}
	kitchen = h.raise("kitchen", cardsOf("ada"), change...)
	bedroom = h.raise("bedroom", second, change...)
	hall = h.raise("hall", cardsOf("cleo"), change...)
	h.meet()
	return kitchen, bedroom, hall
}

// Any device is killed at any step of a round: the person's message has one end, and the next one is answered.
func TestRoomSurvivesAnyDeviceKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	is := map[string]func(p round.Packet) bool{
		"message":  func(p round.Packet) bool { _, ok := p.(round.Message); return ok },
		"votes":    func(p round.Packet) bool { _, ok := p.(round.Votes); return ok },
		"claim":    func(p round.Packet) bool { _, ok := p.(round.Claim); return ok },
		"speaking": func(p round.Packet) bool { _, ok := p.(round.Speaking); return ok },
		"release":  func(p round.Packet) bool { _, ok := p.(round.Release); return ok },
	}
	for i, step := range []string{"message", "votes", "claim", "speaking", "release"} {
		for j, who := range []string{"winner", "asker", "bystander"} {
			kind := []string{"embedded", "mosquitto"}[(i+j)%2]
			t.Run(fmt.Sprintf("%s after the %s/%s", who, step, kind), func(t *testing.T) {
				t.Parallel()
				takeTurn(t)
				h := newRoomHouse(t, startBroker(t, kind), "home")
				kitchen, bedroom, hall := h.cooks()
				fourth := h.raise("attic", cardsOf("nora"))
				h.meet()
				victim := map[string]*roomHome{"winner": kitchen, "asker": hall, "bystander": fourth}[who]
				armed := make(chan struct{}, 1)
				armed <- struct{}{}
				victim.onWire(func(p round.Packet, _ bool) {
					if !is[step](p) {
						return
					}
					select {
					case <-armed:
						h.wait.Go(victim.kill)
					default:
					}
				})
				id := hall.ask("How long does an egg have to boil?")
				h.until("the victim is dead", func() bool { return !slices.Contains(h.alive(), victim) })
				if who != "asker" {
					hall.outcome(id)
				}
				h.until("the dead one is missed", func() bool {
					return !slices.ContainsFunc(h.alive(), func(x *roomHome) bool { return len(x.Members()) != 3 })
				})
				before := len(h.speakers())
				next := bedroom.ask("Ben, what shall I read?")
				bedroom.over(next, round.EntryAnswered)
				h.quiet()
				got := h.speakers()[before:]
				if len(got) > 1 && got[0] == "ada" {
					got = got[1:] // selected before the death, she began just before this question silenced her
				}
				if !slices.Equal(got, ids{"ben"}) {
					t.Errorf("afterwards %v spoke; want ben", got)
				}
				h.inspect()
			})
		}
	}
}

// A device is killed while it speaks: the floor is free again, and the room does not wait for the lease of a dead one.
func TestRoomSpeakerDiesInTheMiddleOfASentence(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three(func(p *homePlan) { p.options.Round.Lease = time.Minute })
		kitchen.voice.set(func(v *roomVoice) { v.length = time.Hour })
		id := bedroom.ask("Ada, tell me everything about eggs")
		h.until("ada speaks", func() bool {
			return len(h.speakers()) == 1 && hall.has(about(round.EntryClaim, id)) && len(packets[round.Speaking](hall)) > 0
		})
		kitchen.kill()
		bedroom.outcome(id)
		hall.answered("Cleo, where are my keys?", "cleo")
	})
}

// The network falls into two halves, each with a broker: each half is a room that talks. Healed they are one again, with one
// count of presses, and answer together.
func TestRoomNetworkInTwoHalvesAndHealed(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		h.overlaps = true // each half has a voice of its own
		kitchen, bedroom, hall := h.three()
		attic := h.raise("attic", cardsOf("nora"))
		h.meet()
		other := startBroker(t, "embedded")
		for _, x := range []*roomHome{hall, attic} {
			x.proxy.SetTarget(other.addr)
			x.proxy.Reset()
		}
		h.until("two halves", func() bool {
			return !slices.ContainsFunc(h.alive(), func(x *roomHome) bool { return len(x.Members()) != 2 })
		})
		first, second := kitchen.ask("Ada, how long does an egg have to boil?"), attic.ask("Cleo, where are my keys?")
		third := kitchen.ask("Ben, what shall I read?") // this half counts further than the other
		kitchen.over(third, round.EntryAnswered)
		attic.over(second, round.EntryAnswered)
		kitchen.outcome(first)
		for _, x := range []*roomHome{hall, attic} {
			x.proxy.SetTarget(h.broker.addr)
			x.proxy.Reset()
		}
		h.meet()
		before := len(h.speakers())
		for _, x := range []*roomHome{attic, bedroom} { // from the half that had counted less, too
			id := x.ask("Ada, how long does an egg have to boil?")
			x.over(id, round.EntryAnswered)
			h.quiet()
		}
		if got := h.speakers()[before:]; !slices.Equal(got, ids{"ada", "ada"}) {
			t.Errorf("afterwards %v spoke; want ada twice", got)
		}
	})
}

// A pulled cable: the side without the broker answers only its own button, the others go on; put back, they are one room.
func TestRoomSideWithoutTheBrokerAnswersOnlyItsOwnButton(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		h.overlaps = true
		kitchen, bedroom, hall := h.three()
		bedroom.proxy.Cut()
		h.until("the loss is noticed", func() bool {
			return len(bedroom.Members()) == 1 && len(kitchen.Members()) == 2 && len(hall.Members()) == 2
		})
		alone := bedroom.ask("How long does an egg have to boil?") // of the house Ada would know
		bedroom.over(alone, round.EntryAnswered)
		id := kitchen.ask("Cleo, where are my keys?")
		kitchen.over(id, round.EntryAnswered)
		if got := h.speakers(); !slices.Equal(got, ids{"ben", "cleo"}) {
			t.Errorf("speakers %v; want ben alone, then cleo", got)
		}
		bedroom.proxy.Heal()
		h.meet()
		bedroom.answered("Ada, how long does an egg have to boil?", "ada")
		for _, m := range kitchen.Recent() {
			if m.ID == alone {
				t.Error("what was said to the bedroom alone came to the kitchen late")
			}
		}
	})
}

// Who joins late learns what was said, but not what was whispered, and talks along.
func TestRoomLateJoinerLearnsWhatWasSaid(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, hall := h.three()
		kitchen.voice.says("Eight minutes.")
		hall.answered("Ada, how long does an egg have to boil?", "ada")
		hall.over(hall.ask("The egg is for her birthday.", "ada"), round.EntryAnswered)
		h.quiet()
		attic := h.raise("attic", cardsOf("nora"))
		h.meet()
		h.until("nora was told", func() bool {
			got := attic.voice.knows("nora")
			return slices.Contains(got, "Ada, how long does an egg have to boil?") && slices.Contains(got, "Eight minutes.")
		})
		if slices.Contains(attic.voice.knows("nora"), "The egg is for her birthday.") {
			t.Error("nora was told the whisper")
		}
		if attic.has(func(e round.Entry) bool { return e.Kind == round.EntryRound }) || len(h.speakers()) != 2 {
			t.Error("history has opened a round")
		}
		kitchen.answered("Nora, what is new?", "nora")
	})
}

// Who leaves is not waited for, from its last word on.
func TestRoomLeaverIsNotWaitedFor(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three(func(p *homePlan) { p.options.Round.Missed = 1000 }) // by its word, not by its silence
		hall.leave()
		h.until("it is missed", func() bool { return len(kitchen.Members()) == 2 && len(bedroom.Members()) == 2 })
		id := bedroom.answered("How long does an egg have to boil?", "ada")
		if d := h.decided(id); slices.Contains(d.Roster, "cleo") {
			t.Errorf("roster %v; cleo has left", d.Roster)
		}
		for _, x := range []*roomHome{kitchen, bedroom} {
			if !x.has(func(e round.Entry) bool {
				return e.Kind == round.EntryMember && e.By == hall.self && e.Why == "hall is gone: it has left"
			}) {
				t.Errorf("%s has no line about the leaver", x.name)
			}
		}
	})
}

// The same message twice is processed once.
func TestRoomDuplicateMessageIsProcessedOnce(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		guest := h.liar("garden")
		kitchen, bedroom, hall := h.three()
		m := round.Message{ID: "the-message", From: round.Human(guest.self), Text: "How long does an egg have to boil?", Epoch: round.Epoch{N: 40, Device: guest.self}, Number: 1}
		m.Metadata = round.PersonMetadata(m.Text, nil)
		guest.Send(m)
		guest.Send(m)
		h.until("an answer", func() bool { return len(h.speakers()) > 0 })
		guest.Send(m) // and once more when it was answered
		homes := []*roomHome{kitchen, bedroom, hall}
		for _, x := range homes {
			h.until(x.name+" has counted both", func() bool { return x.Stats().Ignored["seen before"] == 2 })
		}
		h.quiet()
		for _, x := range homes {
			if n := len(x.ledger(about(round.EntryRound, m.ID))); n > 1 {
				t.Errorf("%s has decided %d times", x.name, n)
			}
		}
		if got := h.speakers(); !slices.Equal(got, ids{"ada"}) {
			t.Errorf("speakers %v; want one answer", got)
		}
	})
}

// The broker is restarted in the middle of a conversation: all find each other again, and go on.
func TestRoomBrokerRestartedInTheMiddleOfAConversation(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		bedroom.voice.says("The short chapters are for summer, the long ones for winter.")
		kitchen.answered("Ben, what shall I read?", "ben")
		kitchen.voice.set(func(v *roomVoice) { v.length = 300 * time.Millisecond })
		id := hall.ask("Ada, how long does an egg have to boil?")
		h.until("ada speaks", func() bool { return len(h.speakers()) == 2 })
		h.broker.restart()
		hall.outcome(id)
		h.until("ada has ended", func() bool { return !kitchen.voice.busy() })
		h.meet()
		kitchen.answered("Ben, say that again", "ben") // what was said before is not forgotten
		for _, x := range h.alive() {
			if x.client.Stats().Connects < 2 {
				t.Errorf("%s has connected %d times: the broker was not restarted", x.name, x.client.Stats().Connects)
			}
		}
	})
}

// Two companions of one id: both devices are told, the later one is called differently, and each answers to its name.
func TestRoomTwoCompanionsWithOneID(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen := h.raise("kitchen", cardsOf("ada"))
		hall := h.raise("hall", cardsOf("cleo"))
		h.meet()
		// It listens first, and long enough to hear who is there on a busy machine.
		attic := h.raise("attic", cardsOf("ada"), func(p *homePlan) { p.options.Round.Join = 3 * time.Second })
		h.until("the later one is renamed everywhere", func() bool {
			return !slices.ContainsFunc(h.alive(), func(x *roomHome) bool {
				var all []round.CompanionID
				for _, m := range x.Members() {
					for _, c := range m.Cards {
						all = append(all, c.ID)
					}
				}
				slices.Sort(all)
				return !slices.Equal(all, ids{"ada", "ada-2", "cleo"})
			})
		})
		h.until("its device is told", func() bool {
			n := 0
			attic.voice.set(func(v *roomVoice) {
				for _, r := range v.renamed {
					if r.Card == "ada" && r.To == "ada-2" && r.Name == "Ada 2" && r.Why == "kitchen already has a companion called ada" {
						n++
					}
				}
			})
			return n == 1
		})
		h.until("the other is told", func() bool {
			return kitchen.has(func(e round.Entry) bool {
				return e.Kind == round.EntryMember && e.Companion == "ada-2" && e.Why == "two companions are called ada: the one at attic is ada-2 in this room"
			})
		})
		hall.answered("Ada 2, how long does an egg have to boil?", "ada-2")
		hall.answered("Ada, how long does rice have to boil?", "ada")
	})
}

// Two rooms on one broker never mix, even where a device is a member of both.
func TestRoomsOnOneBrokerNeverMix(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		next := newRoomHouse(t, h.broker, "next door")
		next.also = h.ownMember // all keys are known to both
		h.mu.Lock()
		h.also = next.ownMember
		h.mu.Unlock()
		study := next.raise("study", cardsOf("ada", "nora"))
		porch := next.raise("porch", cardsOf("otto"))
		next.meet()
		h.meet()
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		other := porch.answered("Otto, what is new?", "otto")
		study.over(study.ask("Leave it to us."), round.EntrySilent) // a control of that room
		hall.answered("What about rice?", "ada")
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			if n := len(x.Members()); n != 3 {
				t.Errorf("%s has %d members", x.name, n)
			}
			for _, m := range x.Recent() {
				if m.ID == other {
					t.Errorf("%s has heard what was said next door", x.name)
				}
			}
			for _, g := range packets[round.Beat](x) {
				if g.Name == "study" || g.Name == "porch" {
					t.Errorf("%s got a beat of %s", x.name, g.Name)
				}
			}
		}
		for _, x := range []*roomHome{study, porch} {
			if x.has(about(round.EntryRound, id)) {
				t.Errorf("%s has decided on what was said in the other room", x.name)
			}
		}
		next.inspect()
	})
}

// What every device writes down replays to the same choices, after a conversation with everything in it.
func TestRoomLedgersReplayToTheSameChoices(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		i := 0
		kitchen, bedroom, hall := h.three(func(p *homePlan) { p.options.Dir = dirs[i]; i++ })
		bedroom.voice.says("Not I. Over to you, Cleo.")
		kitchen.answered("Ben, where are my keys?", "ben", "cleo")
		hall.answered("Thank you.")
		id := bedroom.ask("What do you all think about rainy Sundays?")
		bedroom.over(id, round.EntryAnswered)
		h.quiet()
		homes := h.alive()
		for _, x := range homes {
			x.leave()
		}
		for i, dir := range dirs {
			entries, skipped, err := companions.ReadLedger(dir)
			if err != nil || skipped > 0 {
				t.Fatalf("%s: %d lines skipped: %v", homes[i].name, skipped, err)
			}
			kept := homes[i].ledger(func(round.Entry) bool { return true })
			if len(entries) != len(kept) {
				t.Errorf("%s: the file has %d entries of %d", homes[i].name, len(entries), len(kept))
			}
			rounds, _, differences := companions.ReplayLedger(entries)
			if rounds < 5 || len(differences) > 0 {
				t.Errorf("%s: %d rounds replayed: %v", homes[i].name, rounds, differences)
			}
			var out replayText
			if err := room.Replay(&out, []string{dir}, room.Replayed{}); err != nil {
				t.Errorf("%s: conch room replay: %v: %s", homes[i].name, err, out)
			}
		}
	})
}

type replayText []byte

func (r *replayText) Write(b []byte) (int, error) { *r = append(*r, b...); return len(b), nil }
