package device

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/chattest"
	"conch/companions/round"
	"conch/mqtt"
)

// What becomes of votes in a room of several devices (ROOM.md 1, 3): late, lost, forged, in any order.

// Six companions who all have the same to say: whatever order their votes arrive in, all devices name the same one, and over
// many questions it is not always the same one.
func TestRoomEqualImportanceGivesTheSameWinnerOnAllDevices(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen := h.raise("kitchen", cardsOf("nora", "otto"))
		bedroom := h.raise("bedroom", cardsOf("pia", "quin"))
		hall := h.raise("hall", cardsOf("rosa", "sven"))
		for i, x := range h.alive() { // each hears the others at another pace
			x.proxy.Delay(time.Duration(i)*3*time.Millisecond, 10*time.Millisecond)
		}
		h.meet()
		winners := map[round.CompanionID]int{}
		for i := range 10 {
			id := []*roomHome{kitchen, bedroom, hall}[i%3].ask("Tell me something about " + []string{"castles", "whales", "fences", "violins", "comets", "moss", "maps", "bees", "salt", "chess"}[i])
			d := h.decided(id)
			if d.Winner == "" {
				t.Fatalf("nobody won: %s", d.Reason)
			}
			first := d.Votes[0].Importance
			for _, v := range d.Votes {
				if i == 0 && v.Importance != first {
					t.Fatalf("%s has %v, another %v: this is no tie", v.From, v.Importance, first)
				}
			}
			if i == 0 && !strings.Contains(silence(d, d.Order[1]), "the draw for this message") {
				t.Errorf("%s is silent because %q", d.Order[1], silence(d, d.Order[1]))
			}
			winners[d.Winner]++
			h.quiet()
		}
		if len(winners) < 2 {
			t.Errorf("ten ties were all won by %v", winners)
		}
	})
}

// Somebody who is there and does not vote: the round is decided without, as if it listened.
func TestRoomMissingVoterIsNotWaitedForLong(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		h.liar("attic", "zoe")
		kitchen, _, _ := h.three()
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		d := h.decided(id)
		if !slices.Equal(d.Absent, []round.CompanionID{"zoe"}) || !d.AtLimit {
			t.Errorf("absent %v, at the limit %v; want zoe, at the limit", d.Absent, d.AtLimit)
		}
		if why := silence(d, "zoe"); why != "no vote in time" {
			t.Errorf("zoe is silent because %q", why)
		}
	})
}

func silence(d round.Decision, c round.CompanionID) string {
	for _, s := range d.Silent {
		if s.Companion == c {
			return s.Reason
		}
	}
	return ""
}

// A frozen device (SIGSTOP: it keeps its connection and says nothing) is waited for once, then it counts as gone. When it
// goes on, what it had to say to old rounds changes nothing, and it takes part again.
func TestRoomFrozenVoterCountsAsGoneAndComesBack(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		hall.proxy.Freeze()
		id := kitchen.ask("How long does an egg have to boil?")
		kitchen.over(id, round.EntryAnswered)
		for _, x := range []*roomHome{kitchen, bedroom} {
			for _, e := range x.ledger(about(round.EntryRound, id)) {
				if d := e.Decision; d.Winner != "ada" && x == kitchen || !slices.Contains(d.Absent, "cleo") {
					t.Errorf("%s: winner %q, absent %v; want ada without cleo's vote", x.name, d.Winner, d.Absent)
				}
			}
		}
		h.until("the frozen one counts as gone", func() bool { return len(kitchen.Members()) == 2 && len(bedroom.Members()) == 2 })
		id = bedroom.ask("Which book should I read?")
		bedroom.over(id, round.EntryAnswered)
		for _, d := range h.roundsOf(id, kitchen, bedroom) {
			if slices.Contains(d.Roster, "cleo") {
				t.Errorf("roster %v; want a round that does not wait for cleo", d.Roster)
			}
		}
		hall.proxy.Heal()
		h.meet()
		hall.answered("Cleo, do I need an umbrella?", "cleo")
	})
}

// A vote that comes when the others have decided is late, whatever it says.
func TestRoomLateVoteChangesNothing(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		liar := h.liar("attic", "zoe")
		kitchen, bedroom, hall := h.three()
		kitchen.voice.set(func(v *roomVoice) { v.length = 300 * time.Millisecond })
		id := kitchen.ask("How long does an egg have to boil?")
		d := h.decided(id) // by all
		place := kitchen.ledger(about(round.EntryRound, id))[0].Place
		liar.Send(round.Votes{Place: *place, Votes: []round.Vote{liarVote("zoe", id, 10)}})
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			h.until("the late vote is counted", func() bool {
				n := x.Stats().Ignored
				return n["late: the round was decided"]+n["for a round that is over, or another message"] > 0
			})
			for _, d := range h.roundsOf(id, x) {
				if !slices.Contains(d.Absent, "zoe") {
					t.Errorf("%s has counted zoe's vote", x.name)
				}
			}
		}
		kitchen.over(id, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); d.Winner != "ada" || !slices.Equal(got, ids{"ada"}) {
			t.Errorf("%q won, and %v spoke; want ada", d.Winner, got)
		}
	})
}

// Topics are not ordered among each other: a vote may overtake the message it is about.
func TestRoomVoteBeforeItsMessageCounts(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		liar, guest := h.liar("attic", "zoe"), h.liar("garden")
		kitchen, bedroom, hall := h.three(quickClaims)
		homes := []*roomHome{kitchen, bedroom, hall}
		m := round.Message{ID: "the-message", From: round.Human(guest.self), Text: "How long does an egg have to boil?", Epoch: round.Epoch{N: 40, Device: guest.self}, Number: 1}
		m.Metadata = round.PersonMetadata(m.Text, nil)
		liar.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{liarVote("zoe", m.ID, 10)}})
		for _, x := range homes {
			h.until("the vote is there", func() bool { return len(packets[round.Votes](x)) > 0 })
		}
		guest.Send(m)
		d := h.decided(m.ID)
		if v := voteOf(d, "zoe"); d.Winner != "zoe" || v.Importance != 10 {
			t.Errorf("winner %q, zoe's vote %v; want zoe, of 10", d.Winner, v.Importance)
		}
		// Zoe does not claim what she has won.
		h.until("the next candidate answers", func() bool { return slices.Equal(h.speakers(), []round.CompanionID{"ada"}) })
		h.quiet()
	})
}

// The first vote counts; the same again is none, and one that says something else is none.
func TestRoomDuplicateAndChangedVotesCountOnce(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		liar := h.liar("attic", "zoe")
		h.liar("cellar", "yves") // never votes: so there is time to think again
		kitchen, bedroom, hall := h.three()
		liar.hear(func(_ round.DeviceID, p round.Packet) {
			if m, ok := p.(round.Message); ok && m.From.Human() {
				for _, importance := range []float64{0, 0, 10} {
					liar.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{liarVote("zoe", m.ID, importance)}})
				}
			}
		})
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		if v := voteOf(h.decided(id), "zoe"); v.State != round.StateListen {
			t.Errorf("zoe's vote is %q %v; want the first one, listen", v.State, v.Importance)
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			for _, d := range h.roundsOf(id, x) {
				if v := voteOf(d, "zoe"); v.Importance != 0 {
					t.Errorf("%s: zoe's vote is %q %v; want the first one, listen", x.name, v.State, v.Importance)
				}
			}
			h.until("the others are counted", func() bool { return x.Stats().Ignored["it has voted on this message"] >= 2 })
		}
	})
}

// roundsOf are the decisions of some on a message, none where it was overtaken.
func (h *roomHouse) roundsOf(id round.MessageID, homes ...*roomHome) (all []round.Decision) {
	for _, x := range homes {
		for _, e := range x.ledger(about(round.EntryRound, id)) {
			all = append(all, *e.Decision)
		}
	}
	return all
}

func voteOf(d round.Decision, c round.CompanionID) round.Vote {
	for _, v := range d.Votes {
		if v.From == c {
			return v
		}
	}
	return round.Vote{}
}

// A member that lies always wants to speak most, and votes for others. It can do so for its own companion only, whoever is
// addressed answers all the same, and a floor that it wins and does not use goes on to the next.
func TestRoomLyingVoterSpeaksForItselfOnly(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		liar := h.liar("attic", "zoe")
		kitchen, bedroom, hall := h.three(quickClaims)
		liar.hear(func(_ round.DeviceID, p round.Packet) {
			if m, ok := p.(round.Message); ok && m.From.Human() {
				for _, who := range []round.CompanionID{"ada", "ben", "cleo"} {
					liar.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{liarVote(who, m.ID, 0)}})
					liar.Send(round.Claim{Place: m.Place(), Companion: who})
				}
				liar.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{liarVote("zoe", m.ID, 10)}})
			}
		})
		kitchen.answered("Ben, how long does an egg have to boil?", "ben")
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			for _, d := range h.roundsOf(id, x) {
				if v := voteOf(d, "ada"); v.From != "" && v.State != round.StateSpeak {
					t.Errorf("%s: ada votes %q; want her own vote", x.name, v.State)
				}
			}
			h.until(x.name+" has ada's claim", func() bool {
				return x.has(func(e round.Entry) bool {
					return about(round.EntryClaim, id)(e) && e.Companion == "ada" && e.By == kitchen.self
				})
			})
			h.until(x.name+" has refused what speaks for others", func() bool { return x.client.Stats().Refused[mqtt.ReasonFrom] >= 12 })
		}
	})
}

// A vote with a bad field is refused, counted and shown; the other votes of its envelope count.
func TestRoomVoteFieldsAreChecked(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		liar := h.liar("attic", "zoe", "yves", "xaver", "wanda")
		kitchen, bedroom, hall := h.three()
		liar.hear(func(_ round.DeviceID, p round.Packet) {
			m, ok := p.(round.Message)
			if !ok || !m.From.Human() {
				return
			}
			much, state, closing := liarVote("zoe", m.ID, 11), liarVote("yves", m.ID, 9), liarVote("xaver", m.ID, 9)
			state.State, closing.Closing = "shout", "maybe"
			liar.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{much, state, closing, liarVote("wanda", m.ID, 0)}})
		})
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		if d := h.decided(id); voteOf(d, "wanda").From == "" {
			t.Errorf("votes %v; want wanda's among them", d.Votes)
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			for _, d := range h.roundsOf(id, x) {
				for _, c := range []round.CompanionID{"xaver", "yves", "zoe"} {
					if !slices.Contains(d.Absent, c) {
						t.Errorf("%s: absent %v; want %s among them", x.name, d.Absent, c)
					}
				}
			}
			h.until(x.name+" has refused three votes", func() bool { return x.client.Stats().Refused[mqtt.ReasonVote] == 3 })
		}
	})
}

// A device that is no member may sign as well as it likes.
func TestRoomStrangersVoteChangesNothing(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		stranger := h.liar("street", "zoe")
		h.mu.Lock()
		delete(h.members, stranger.self)
		h.mu.Unlock()
		h.liars = nil
		defer stranger.stop()
		kitchen, bedroom, hall := h.three()
		stranger.hear(func(_ round.DeviceID, p round.Packet) {
			if m, ok := p.(round.Message); ok && m.From.Human() {
				stranger.Send(round.Votes{Place: m.Place(), Votes: []round.Vote{liarVote("ben", m.ID, 10), liarVote("zoe", m.ID, 10)}})
				stranger.Send(round.Claim{Place: m.Place(), Companion: "zoe"})
				stranger.Send(round.Press{Epoch: round.Epoch{N: m.Epoch.N + 1, Device: stranger.self}})
			}
		})
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		if d := h.decided(id); !slices.Equal(d.Roster, []round.CompanionID{"ada", "ben", "cleo"}) {
			t.Errorf("roster %v; want the three of the house", d.Roster)
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			h.until("the stranger was counted", func() bool { return x.client.Stats().Refused[mqtt.ReasonStranger] > 0 })
			if n := len(x.Members()); n != 3 {
				t.Errorf("%s has %d members", x.name, n)
			}
		}
	})
}

// refining raises the three with a model each.
func (h *roomHouse) refining(budget time.Duration, reply func(chattest.Request) chattest.Reply) (kitchen, bedroom, hall *roomHome) {
	h.t.Helper()
	s := chattest.New(h.t, chattest.Options{Reply: reply})
	return h.three(func(p *homePlan) {
		r, err := companions.NewRefiner(companions.RefinerConfig{URL: s.URL, Model: "test", Cards: companions.DefaultCards, Now: p.options.Now})
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(r.Close)
		p.options.Refiner = r
		p.options.Round.VoteBudget, p.options.Round.Margin = budget, time.Second // both together are a second at most
	})
}

// ruled demands that all devices decided by the rules' votes, with the reason why the model's did not count.
func ruled(t *testing.T, budget time.Duration, reply chattest.Reply, reasons ...string) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, _ := h.refining(budget, func(chattest.Request) chattest.Reply { return reply })
		id := kitchen.answered("How long does an egg have to boil?", "ada")
		d := h.decided(id)
		for _, v := range d.Votes {
			if !slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(v.Reason, r) }) {
				t.Errorf("%s votes because %q; want one of %q in it", v.From, v.Reason, reasons)
			}
		}
	})
}

func TestRoomModelThatFailsLeavesTheRulesVotes(t *testing.T) {
	ruled(t, 900*time.Millisecond, chattest.Reply{Status: 500}, "the rules")
}

func TestRoomModelThatTimesOutLeavesTheRulesVotes(t *testing.T) {
	ruled(t, 300*time.Millisecond, chattest.Reply{Hang: true}, "the model was too slow", "the model did not answer in time")
}

func TestRoomModelThatTalksNonsenseLeavesTheRulesVotes(t *testing.T) {
	ruled(t, 900*time.Millisecond, chattest.Reply{Content: "As an egg I would say: speak!"}, "no vote")
}

// A model may say for whom and on what it votes as it likes: both are set by code.
func TestRoomSenderAndMessageOfAVoteAreSetByCode(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.refining(900*time.Millisecond, func(chattest.Request) chattest.Reply {
			return chattest.Reply{Content: `{"votes":[
				{"companion":"ben","from":"ada","messageId":"another","id":"x","state":"speak","importance":9.5,"closing":"none","reason":"a poem about eggs"},
				{"companion":"ada","from":"ben","messageId":"another","state":"listen","importance":1,"closing":"none","reason":"let Ben"},
				{"companion":"cleo","from":"ben","messageId":"another","state":"listen","importance":1,"closing":"none","reason":"let Ben"}]}`}
		})
		id := kitchen.answered("How long does an egg have to boil?", "ben")
		h.decided(id)
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			for _, p := range packets[round.Votes](x) {
				for _, v := range p.Votes {
					if p.Place.Message == id && (v.MessageID != id || v.From == "ben" != strings.Contains(v.Reason, "poem")) {
						t.Errorf("%s got a vote of %s on %s: %q", x.name, v.From, v.MessageID, v.Reason)
					}
				}
			}
		}
	})
}

// A model that always wants to speak is paid for twice a device for what a person has said, however long they talk about it: that many
// additions there may be, and no more.
func TestRoomModelThatAlwaysVotesTen(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		var calls atomic.Int64
		kitchen, _, _ := h.refining(500*time.Millisecond, func(chattest.Request) chattest.Reply {
			calls.Add(1)
			vote := func(who string) string {
				return `{"companion":"` + who + `","state":"speak","importance":10,"closing":"none","reason":"it has much to say"}`
			}
			return chattest.Reply{Content: `{"intent":"question","tone":"neutral","votes":[` + vote("ada") + "," + vote("ben") + "," + vote("cleo") + `]}`}
		})
		for _, text := range []string{"How long does an egg have to boil?", "What is the capital of France?"} {
			before, said := calls.Load(), len(h.speakers())
			kitchen.over(kitchen.ask(text), round.EntryAnswered)
			h.quiet()
			asked, turns := calls.Load()-before, len(h.speakers())-said
			if most := round.DefaultConfig().Calls * len(h.alive()); asked < 1 || asked > int64(most) {
				t.Errorf("%q: %d calls on three devices; want 1 to %d", text, asked, most)
			}
			if most := 1 + round.DefaultManners().ExtraLimit; turns < 1 || turns > most {
				t.Errorf("%q: %d turns; want %d at most", text, turns, most)
			}
		}
	})
}
