package device

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
)

// How a conversation goes in a room of several devices (ROOM.md 3, 4, 6, 7): who is addressed, who goes on, who is silent.

type ids = []round.CompanionID

// Two names: both answer, in the order named, and the second has heard the first.
func TestRoomTwoNamesAnswerInOrderTheSecondHavingHeardTheFirst(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		kitchen.voice.says("Boil it for eight minutes.")
		hall.voice.says("Take it along in a box.")
		knew := make(chan []string, 1)
		kitchen.voice.set(func(v *roomVoice) { v.atPrepare = func(round.Prepare) { knew <- v.knows("ada") } })
		bedroom.answered("Cleo and Ada, what do I do with an egg?", "cleo", "ada")
		if got := <-knew; !slices.Contains(got, "Take it along in a box.") {
			t.Errorf("when ada got ready she knew %q; want what cleo had said", got)
		}
		if g := kitchen.voice.grants()[0].Guidance; !strings.Contains(g, `"Cleo" answered before you`) {
			t.Errorf("ada's guidance is %q; want that cleo has answered", g)
		}
	})
}

// Whoever has talked most is still answered by who is addressed, and still answers when addressed itself.
func TestRoomDominanceDoesNotSilenceTheAddressed(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, hall := h.three()
		for _, text := range []string{"Ada, how do I boil rice?", "Ada, and how much salt?", "Ada, what about pasta?", "Ada, is soup difficult?", "Ada, when is bread done?"} {
			hall.answered(text, "ada")
		}
		hall.answered("Ben, how long does an egg have to boil?", "ben")
		hall.answered("Ada, how long does an egg have to boil?", "ada")
		// And whoever knows: what a person has asked counts against nobody.
		kitchen.answered("How do I bake a potato?", "ada")
	})
}

// A companion hands over to another on another device, and so on; three hand-offs in a row are followed, the fourth is not.
func TestRoomHandOffsAreFollowedUpToTheirCap(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		kitchen.voice.says("Once there was a loaf. Over to you, Ben.")
		bedroom.voice.says("It flew away. Over to you, Cleo.")
		hall.voice.says("And it sang. Over to you, Ada.")
		hall.answered("Ada, begin a story", "ada", "ben", "cleo", "ada")
		if g := kitchen.voice.grants(); len(g) != 2 || !strings.Contains(g[1].Guidance, "do not hand over") {
			t.Errorf("ada got %d grants; want two, the second told not to hand over: %v", len(g), g)
		}
	})
}

// A hand-off on the last turn that companions have among themselves is not followed.
func TestRoomHandOffOnTheLastTurnIsNotFollowed(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, _ := h.three(roomTurns(2))
		kitchen.voice.says("Once there was a loaf. Over to you, Ben.")
		bedroom.voice.says("It flew away. Over to you, Cleo.")
		id := kitchen.answered("Ada, begin a story", "ada", "ben")
		last := kitchen.Recent()[len(kitchen.Recent())-1]
		if d := h.decided(last.ID); last.ID == id || !strings.Contains(silence(d, "cleo"), "2 companion turns") {
			t.Errorf("cleo is silent because %q; want the limit", silence(d, "cleo"))
		}
		if g := bedroom.voice.grants()[0].Guidance; !strings.Contains(g, "last turn") {
			t.Errorf("ben's guidance is %q; want that it is the last turn", g)
		}
	})
}

func roomTurns(n int) func(*homePlan) {
	return func(p *homePlan) {
		p.options.Round.Manners = round.DefaultManners()
		p.options.Round.Manners.ChainLimit, p.options.Round.Manners.Handoffs = n, 20
	}
}

// Companions talk among themselves up to the limit; the person's next message is answered.
func TestRoomTurnLimitAndTheNextPersonIsAnswered(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three(roomTurns(6))
		kitchen.voice.says("Loaves and more loaves. Over to you, Ben.")
		bedroom.voice.says("Chapters without an end. Over to you, Cleo.")
		hall.voice.says("Keys, coats and trains. Over to you, Ada.")
		kitchen.answered("Ada, begin a story", "ada", "ben", "cleo", "ada", "ben", "cleo")
		kitchen.voice.says("Eight minutes.")
		bedroom.answered("Ada, how long does an egg have to boil?", "ada")
	})
}

// A reply right after an answer goes to who gave it, on whatever device it is; with another topic it ends.
func TestRoomFollowUpGoesToWhoAnswered(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		bedroom.voice.says("The short chapters are for summer, the long ones for winter.")
		kitchen.answered("Ben, what shall I read?", "ben")
		kitchen.answered("And why?", "ben")
		hall.answered("I do not understand", "ben") // whoever asks
		kitchen.answered("How long does an egg have to boil?", "ada")
	})
}

// A question that got no answer hangs in the air; after a while exactly one companion of the room steps in.
func TestRoomSilenceLetsExactlyOneStepIn(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three(func(p *homePlan) { p.options.Round.Silence = 300 * time.Millisecond })
		kitchen.voice.says("") // no answer comes from her
		id := hall.ask("Ada, how long does an egg have to boil?")
		hall.over(id, round.EntrySilent)
		kitchen.voice.says("Eight minutes.")
		h.until("somebody steps in", func() bool { return len(h.speakers()) > 0 })
		h.quiet()
		for _, x := range []*roomHome{kitchen, bedroom, hall} { // the same entry everywhere, and no second one
			steps := x.ledger(func(e round.Entry) bool { return e.Kind == round.EntryRound && e.Message.Metadata.Silence })
			if len(steps) != 1 || steps[0].Decision.Winner != h.speakers()[0] || len(steps[0].Decision.Extras) > 0 {
				t.Errorf("%s: %d rounds of silence: %v; want one, won by %v", x.name, len(steps), steps, h.speakers())
			}
		}
		if got := h.speakers(); len(got) != 1 {
			t.Errorf("%v stepped in; want one", got)
		}
	})
}

// Thanks draw no answer; every device has one reason for everybody's silence.
func TestRoomBelowTheThresholdNobodySpeaks(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		for _, text := range []string{"Thank you.", "The train was full again."} {
			d := h.decided(kitchen.answered(text))
			if d.Winner != "" || len(d.Silent) != 3 || len(d.Order) != 0 {
				t.Errorf("%q: winner %q, order %v, %d silent; want three silent", text, d.Winner, d.Order, len(d.Silent))
			}
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			if x.has(func(e round.Entry) bool { return e.Kind == round.EntryClaim }) {
				t.Errorf("%s has seen a claim", x.name)
			}
		}
	})
}

// Asked for several views, one after the other speaks, each told not to repeat what was said.
func TestRoomSeveralViewsOneAfterTheOther(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		id := kitchen.ask("What do you all think about rainy Sundays?")
		kitchen.over(id, round.EntryAnswered)
		h.until("three views", func() bool { return len(h.speakers()) >= 3 })
		h.quiet()
		got := h.speakers()
		if slices.Sort(got); !slices.Equal(got, ids{"ada", "ben", "cleo"}) {
			t.Errorf("%v spoke; want each of the three once", got)
		}
		told := 0
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			for _, g := range x.voice.grants() {
				if strings.Contains(g.Guidance, "do not repeat") {
					told++
				}
			}
		}
		if told != 2 {
			t.Errorf("%d were told not to repeat; want two", told)
		}
	})
}

// Ten companions on five devices need no change of code: each answers to its name, and one of ten to an open question.
func TestRoomTenCompanions(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		names := ids{"nora", "otto", "pia", "quin", "rosa", "sven", "tara", "ulla", "vera", "walt"}
		for i, place := range []string{"kitchen", "bedroom", "hall", "attic", "garden"} {
			h.raise(place, cardsOf(names[2*i:2*i+2]...))
		}
		h.meet()
		homes := h.alive()
		for i, who := range names {
			name := strings.ToUpper(string(who[:1])) + string(who[1:])
			homes[i%len(homes)].answered(name+", tell me something new", who)
		}
		id := homes[0].ask("Tell me something about whales")
		homes[0].over(id, round.EntryAnswered)
		h.quiet()
		if d := h.decided(id); len(d.Roster) != 10 {
			t.Errorf("a roster of %d; want ten", len(d.Roster))
		}
		if n := len(h.speakers()); n != 11 {
			t.Errorf("%d answers to eleven questions", n)
		}
	})
}

// A press on any device silences every device, and what was cut is remembered everywhere as far as it was heard.
func TestRoomPressDuringAnAnswerHushesAll(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		kitchen.voice.set(func(v *roomVoice) { v.length = time.Hour })
		id := bedroom.ask("Ada, tell me everything about eggs")
		h.until("ada speaks", func() bool { return len(h.speakers()) == 1 })
		h.until("all know what she is saying", func() bool {
			return len(bedroom.Recent()) == 2 && len(hall.Recent()) == 2 && len(kitchen.Recent()) == 2
		})
		turn := hall.press()
		h.until("ada is silent", func() bool { return !kitchen.voice.busy() })
		for _, x := range []*roomHome{kitchen, bedroom} {
			h.until(x.name+" is hushed", func() bool {
				n := 0
				x.voice.set(func(v *roomVoice) { n = len(v.hushes) })
				return n > 0
			})
		}
		bedroom.over(id, round.EntryAnswered) // as far as it went
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			h.until(x.name+" knows what was heard", func() bool { return x.Recent()[1].Text == firstWords(x.Recent()[1].Text) })
		}
		kitchen.voice.set(func(v *roomVoice) { v.length = roomLength })
		id = hall.words(turn, "Cleo, where are my keys?")
		hall.over(id, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); !slices.Equal(got, ids{"ada", "cleo"}) {
			t.Errorf("speakers %v; want ada, cut, then cleo", got)
		}
	})
}

// So do words that are typed, without a press before them.
func TestRoomTypingDuringAnAnswerHushesAll(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		kitchen.voice.set(func(v *roomVoice) { v.length = time.Hour })
		bedroom.ask("Ada, tell me everything about eggs")
		h.until("ada speaks", func() bool { return len(h.speakers()) == 1 })
		id := hall.words("", "Cleo, where are my keys?")
		hall.over(id, round.EntryAnswered)
		h.until("ada is silent", func() bool { return !kitchen.voice.busy() })
		h.quiet()
		if got := h.speakers(); !slices.Equal(got, ids{"ada", "cleo"}) {
			t.Errorf("speakers %v; want ada, cut, then cleo", got)
		}
	})
}

// Manners that are turned at one device, by hand or in words, hold on all, and for who joins later.
func TestRoomControlsHoldOnAllDevices(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		bedroom.outcome(bedroom.ask("Leave it to us."))
		h.quiet()
		hall.answered("How long does an egg have to boil?")
		hall.answered("Ada, how long does an egg have to boil?", "ada") // who is asked answers
		attic := h.raise("attic", cardsOf("nora"))
		h.meet()
		attic.answered("Where are my keys?")
		bedroom.outcome(bedroom.ask("Join in again."))
		h.quiet()
		yes := true
		attic.Control(round.Control{Companion: "ada", Mute: &yes})
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			h.until(x.name+" knows that ada is muted", func() bool {
				for _, m := range x.Members() {
					if m.Device == kitchen.self {
						return m.Cards[0].Muted
					}
				}
				return false
			})
		}
		id := hall.answered("Ada, how long does rice have to boil?")
		if why := silence(h.decided(id), "ada"); why != "it is muted" {
			t.Errorf("ada is silent because %q", why)
		}
		hall.answered("Cleo, where are my keys?", "cleo")
	})
}

// Every device says of every companion that was silent why it was, for whatever reason it was.
func TestRoomReasonForEverySilenceOnEveryDevice(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		attic := h.raise("attic", cardsOf("nora"), func(p *homePlan) {})
		yes := true
		h.meet()
		attic.Control(round.Control{Companion: "nora", Mute: &yes})
		for _, x := range h.alive() {
			h.until(x.name+" knows that nora is muted", func() bool {
				return x.has(func(e round.Entry) bool { return e.Kind == round.EntryControl && e.Companion == "nora" })
			})
		}
		h.liar("cellar", "zoe") // never votes
		h.meet()
		reasons := map[string]round.CompanionID{
			"Ben was addressed": "ada", "no vote in time": "zoe", "it is muted": "nora",
		}
		id := kitchen.ask("Ben, how long does an egg have to boil?")
		kitchen.over(id, round.EntryAnswered)
		h.quiet()
		full := h.decided(id)
		for why, who := range reasons {
			if got := silence(full, who); got != why {
				t.Errorf("%s was silent because %q; want %q", who, got, why)
			}
		}
		id = bedroom.ask("It was said to one alone.", "ada")
		bedroom.over(id, round.EntryAnswered)
		h.quiet()
		if got := silence(h.decided(id), "cleo"); got != "it was said to ada alone" {
			t.Errorf("cleo was silent because %q", got)
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall, attic} {
			for _, e := range x.ledger(func(e round.Entry) bool { return e.Kind == round.EntryRound }) {
				accounts(t, x.name, e)
				if all := len(e.Decision.Silent) + len(e.Decision.Extras); e.Decision.Winner != "" && all != 4 && e.Message.From.Human() {
					t.Errorf("%s: of five companions one speaks and %d are accounted for: %v", x.name, all, e.Decision)
				}
			}
		}
	})
}

// While a person holds the floor nobody claims it, on any device.
func TestRoomNobodyClaimsWhileAPersonHoldsTheFloor(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		turn := hall.press()
		for _, x := range []*roomHome{kitchen, bedroom} {
			h.until(x.name+" knows of the press", func() bool {
				return x.has(func(e round.Entry) bool { return e.Kind == round.EntryPress && e.By == hall.self })
			})
		}
		// Two at once: this one's press is the newest, and the other finger is still down.
		id := kitchen.ask("Ada, how long does an egg have to boil?")
		h.decided(id)
		if kitchen.has(about(round.EntryClaim, id)) {
			t.Error("a claim while a person holds the floor")
		}
		hall.PressEnded(turn, "nothing was said")
		kitchen.over(id, round.EntryAnswered)
		h.quiet()
	})
}

// What a person says in pieces gets one answer, to all of it.
func TestRoomThreeQuickMessagesGetOneAnswer(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, hall := h.three()
		first := hall.ask("I have an egg.")
		second := hall.ask("And hot water.")
		third := hall.ask("How long does the egg have to boil?")
		hall.over(third, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); !slices.Equal(got, ids{"ada"}) {
			t.Errorf("speakers %v; want one answer", got)
		}
		for _, id := range []round.MessageID{first, second} {
			if got := hall.ends(id); len(got) != 1 || got[0] == round.EntryAnswered {
				t.Errorf("an earlier message ended %q; want superseded or silent", got)
			}
		}
		g := kitchen.voice.grants()
		if last := g[len(g)-1]; !strings.Contains(last.Guidance, "several things in a row") || !slices.Contains(last.Message.Metadata.Joins, second) {
			t.Errorf("guidance %q, joins %v; want that all of it is answered", last.Guidance, last.Message.Metadata.Joins)
		}
	})
}

// A person who is in `to`, or who is named, is waited for: companions stay silent, on all devices.
func TestRoomPeopleInToAreWaitedFor(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, hall := h.three()
		id := kitchen.ask("How long does an egg have to boil?", round.Human(hall.self))
		kitchen.over(id, round.EntrySilent)
		if d := h.decided(id); d.Winner != "" || !strings.Contains(silence(d, "ada"), "hall was addressed") {
			t.Errorf("winner %q, ada is silent because %q", d.Winner, silence(d, "ada"))
		}
		id = kitchen.ask("How long does an egg have to boil?", round.Human(hall.self), "ben")
		kitchen.over(id, round.EntryAnswered)
		h.quiet()
		if got := h.speakers(); !slices.Equal(got, ids{"ben"}) {
			t.Errorf("speakers %v; want ben, who was meant too", got)
		}
		hall.voice.says("That is for the person in the kitchen. Over to you, kitchen.") // a person can be handed to
		kitchen.answered("Cleo, do I need an umbrella?", "cleo")
	})
}

// What is said to one companion alone is told to that one and to nobody else, be it on the same device or on another.
func TestRoomWhisperStaysOutOfOthersPrompts(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen := h.raise("kitchen", cardsOf("ada", "nora"))
		bedroom := h.raise("bedroom", cardsOf("ben"))
		hall := h.raise("hall", cardsOf("cleo"))
		h.meet()
		kitchen.voice.says("I keep it to myself.")
		const secret = "The egg is for her birthday."
		id := bedroom.ask(secret, "ada")
		bedroom.over(id, round.EntryAnswered)
		h.quiet()
		bedroom.answered("Cleo, where are my keys?", "cleo")
		for _, c := range []struct {
			x    *roomHome
			who  round.CompanionID
			want bool
		}{{kitchen, "ada", true}, {kitchen, "nora", false}, {bedroom, "ben", false}, {hall, "cleo", false}} {
			h.until(string(c.who)+" was told the rest", func() bool { return slices.Contains(c.x.voice.knows(c.who), "Cleo, where are my keys?") })
			if got := slices.Contains(c.x.voice.knows(c.who), secret); got != c.want {
				t.Errorf("%s was told the whisper: %v; want %v", c.who, got, c.want)
			}
		}
		for _, x := range []*roomHome{bedroom, hall} {
			for _, g := range x.voice.grants() {
				if strings.Contains(g.Guidance+g.Message.Text, secret) {
					t.Errorf("%s: a prompt has the whisper: %v", x.name, g)
				}
			}
		}
		for _, m := range hall.Recent() {
			if m.Text == secret {
				t.Error("the hall keeps the whisper in its memory")
			}
		}
	})
}

// Closing goes one step a turn, however many hear it; at its end the conversation is over everywhere, and the next message
// of a person opens it again. One goodbye silences nobody else.
func TestRoomClosingGoesStepByStepEndsAndReopens(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three()
		kitchen.voice.says("Goodbye!")
		id := bedroom.answered("Goodbye, Ada!", "ada")
		at := func(id round.MessageID, want map[round.CompanionID]round.Closing) {
			for _, v := range h.decided(id).Votes {
				if v.Closing != cmp.Or(want[v.From], round.ClosingNone) {
					t.Errorf("%s is at %s; want %v", v.From, v.Closing, want)
				}
			}
		}
		at(id, map[round.CompanionID]round.Closing{"ada": round.PreClosing})
		at(kitchen.Recent()[1].ID, nil) // her answer is nothing to the others
		// One goodbye does not silence the others.
		bedroom.answered("Ben, what shall I read?", "ben")
		// And now to the end, for all of them.
		bedroom.answered("Goodbye, all of you!", "ben")
		at(kitchen.Recent()[len(kitchen.Recent())-1].ID, map[round.CompanionID]round.Closing{"ada": round.ClosingNow, "cleo": round.ClosingNow})
		id = bedroom.answered("Bye, Cleo!")
		if d := h.decided(id); !d.Ended || d.Winner != "" {
			t.Errorf("ended %v, winner %q; want the end: %s", d.Ended, d.Winner, d.Reason)
		}
		for _, x := range []*roomHome{kitchen, bedroom, hall} {
			h.until(x.name+" knows of the end", func() bool { return x.has(about(round.EntryEnded, id)) })
		}
		kitchen.voice.says("Eight minutes.")
		hall.answered("Ada, one more thing: how long does an egg have to boil?", "ada")
	})
}

// Companions who repeat themselves, each on its own device, are asked once for another topic.
func TestRoomRepetitionAsksForAnotherTopicOnce(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, bedroom, hall := h.three(roomTurns(6))
		kitchen.voice.says("It is good to be here with you all tonight. Over to you, Ben.")
		bedroom.voice.says("It is good to be here with you all tonight. Over to you, Ada.")
		hall.ask("Ada, begin a story")
		h.until("they talk", func() bool { return len(h.speakers()) >= 3 })
		h.quiet()
		told := 0
		for _, x := range []*roomHome{kitchen, bedroom} {
			for _, g := range x.voice.grants() {
				if strings.Contains(g.Guidance, "repeats itself") {
					told++
				}
			}
		}
		if told != 1 {
			t.Errorf("another topic was asked for %d times; want once", told)
		}
		closing := false
		for _, m := range hall.Recent() {
			closing = closing || m.Metadata.Closing != "" && m.Metadata.Closing != round.ClosingNone
		}
		if !closing {
			t.Error("and then the conversation does not draw to its end")
		}
	})
}

// Two in rapid exchange: a third has to have more to say than usual, whatever device it is on.
func TestRoomThirdPartyIsHeldBackFromARapidExchange(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		kitchen, _, hall := h.three()
		kitchen.answered("Ada, how do I boil rice?", "ada")
		kitchen.answered("Ada, and how much salt?", "ada")
		kitchen.voice.says("Rice before bed is light.") // Ben knows about bed, and is no part of it
		kitchen.answered("Is that much for one?", "ada")
		h.quiet()
		id := kitchen.Recent()[len(kitchen.Recent())-1].ID
		held := false
		for _, term := range voteOf(h.decided(id), "ben").Terms {
			held = held || term.Name == "engaged" && term.Value < 0
		}
		if !held {
			t.Errorf("ben's terms are %v; want one for the exchange he is no part of", voteOf(h.decided(id), "ben").Terms)
		}
		hall.answered("Cleo, where are my keys?", "cleo")
	})
}

// outcome waits for how a message ended, whatever it is.
func (x *roomHome) outcome(id round.MessageID) round.EntryKind {
	x.h.t.Helper()
	x.h.until("an end", func() bool { return len(x.ends(id)) > 0 })
	return x.ends(id)[0]
}
