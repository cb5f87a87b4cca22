package companions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

// inHouse runs a story in virtual time. When it ends all devices are stopped, and every goroutine must be gone: synctest
// does not return before.
func inHouse(t *testing.T, story func(t *testing.T, h *roomtest.House)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := roomtest.NewHouse(1)
		defer func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			for _, o := range h.Overlaps() { // I1
				t.Error(o)
			}
		}()
		story(t, h)
	})
}

// card is one of those that come with conch.
func card(id round.CompanionID) companions.Card {
	for _, c := range companions.DefaultCards() {
		if c.ID == id {
			return c
		}
	}
	panic("no card of " + id)
}

func living(ids ...round.CompanionID) roomtest.Plan {
	var p roomtest.Plan
	for _, id := range ids {
		p.Options.Cards = append(p.Options.Cards, card(id))
	}
	return p
}

// wanting has a companion of that id whose importance a "model" fixes, so that the story does not hang on the score.
func wanting(id round.CompanionID, name string, importance float64) roomtest.Plan {
	c := companions.Card{Card: round.Card{ID: id, Name: name}}
	o := companions.RoomOptions{Cards: []companions.Card{c}, Refiner: refiner(func(r round.Refine, _ time.Duration, done func([]round.Vote)) {
		for i := range r.Votes {
			r.Votes[i].State, r.Votes[i].Importance, r.Votes[i].Reason = round.StateListen, 0, "only the first question counts"
			if r.Message.From.Human() && !r.Message.Metadata.Silence {
				r.Votes[i].State, r.Votes[i].Importance, r.Votes[i].Reason = round.StateSpeak, importance, "the test wants it so"
			}
		}
		done(r.Votes)
	})}
	o.Round.VoteBudget = 100 * time.Millisecond
	return roomtest.Plan{Options: o}
}

// three devices with one companion each, who know each other.
func three(h *roomtest.House) (kitchen, bedroom, hall *roomtest.Device) {
	kitchen = h.Add("kitchen", living("ada"))
	bedroom = h.Add("bedroom", living("ben"))
	hall = h.Add("hall", living("cleo"))
	meet()
	return kitchen, bedroom, hall
}

// meet waits until everybody knows everybody.
func meet() { after(3 * time.Second) }

// after lets virtual time pass, and everything that follows.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func wantSpeakers(t *testing.T, h *roomtest.House, want string) {
	t.Helper()
	if got := h.Speakers(); got != want {
		t.Errorf("speakers %q, want %q", got, want)
	}
}

// ends are how messages ended, by the ledger of the device where each was said: exactly one end each (I2).
func ends(devices ...*roomtest.Device) map[round.MessageID][]round.EntryKind {
	all := map[round.MessageID][]round.EntryKind{}
	for _, d := range devices {
		for _, e := range d.Entries() {
			switch e.Kind {
			case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded:
				if e.Message != nil && e.Message.From == round.Human(d.ID) {
					all[e.Message.ID] = append(all[e.Message.ID], e.Kind)
				}
			}
		}
	}
	return all
}

func wantEnd(t *testing.T, id round.MessageID, want round.EntryKind, devices ...*roomtest.Device) {
	t.Helper()
	if got := ends(devices...)[id]; !slices.Equal(got, []round.EntryKind{want}) {
		t.Errorf("message %s ended %q, want %q once", id, got, want)
	}
}

func TestThreeDevicesTalk(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		for _, d := range []*roomtest.Device{kitchen, bedroom, hall} {
			if got := len(d.Room.Members()); got != 3 || d.Room.Alone() {
				t.Fatalf("%s knows %d devices and is alone: %v; want 3, false", d.Name, got, d.Room.Alone())
			}
		}
		var asked []round.MessageID
		asked = append(asked, bedroom.Ask("Ada, how long does an egg have to boil?"))
		after(20 * time.Second)
		wantSpeakers(t, h, "ada")
		asked = append(asked, kitchen.Ask("Do I need an umbrella for the rain tomorrow?"))
		after(20 * time.Second)
		wantSpeakers(t, h, "ada cleo")
		asked = append(asked, hall.Ask("Which book should I read before I sleep?"))
		after(20 * time.Second)
		wantSpeakers(t, h, "ada cleo ben")
		for _, id := range asked {
			wantEnd(t, id, round.EntryAnswered, kitchen, bedroom, hall)
		}
		thanks := hall.Ask("Thank you.")
		after(30 * time.Second)
		wantSpeakers(t, h, "ada cleo ben")
		wantEnd(t, thanks, round.EntrySilent, kitchen, bedroom, hall)
		sameChoices(t, kitchen, bedroom, hall)
		for _, d := range []*roomtest.Device{kitchen, bedroom, hall} {
			if got := len(d.Room.Recent()); got != 7 {
				t.Errorf("%s remembers %d messages, want 4 questions and 3 answers", d.Name, got)
			}
		}
	})
}

// sameChoices: every device that decided a round chose the same winner (I4).
func sameChoices(t *testing.T, devices ...*roomtest.Device) {
	t.Helper()
	chosen := map[round.MessageID]string{}
	for _, d := range devices {
		for _, e := range d.Entries() {
			if e.Kind != round.EntryRound || e.Decision == nil || e.Place == nil {
				continue
			}
			choice := fmt.Sprintf("%s of %d votes", e.Decision.Winner, len(e.Decision.Votes))
			if other, ok := chosen[e.Place.Message]; ok && other != choice {
				t.Errorf("%s chose %s for %s, another chose %s", d.Name, choice, e.Place.Message, other)
			}
			chosen[e.Place.Message] = choice
		}
	}
	if len(chosen) == 0 {
		t.Error("no round was decided: this proves nothing")
	}
}

func TestPauseBetweenTwoTurnsIsThePauseAndNoMore(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		bedroom.Ask("Ada and Cleo, what do you think?")
		after(40 * time.Second)
		u := h.Utterances()
		if len(u) != 2 {
			t.Fatalf("speakers %q, want ada and cleo", h.Speakers())
		}
		if gap := u[1].Began - u[0].End; gap < 190*time.Millisecond || gap > 260*time.Millisecond {
			t.Errorf("%s began %v after %s had ended, want the pause of 200 ms and no more", u[1].Companion, gap, u[0].Companion)
		}
		sameChoices(t, kitchen, bedroom, hall)
	})
}

func TestThreeCompanionsOnOneDevice(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		p := living("ada", "ben", "cleo")
		p.Alone = true
		d := h.Add("kitchen", p)
		after(time.Second)
		if d.Room.Alone() {
			t.Error("three companions on one device say they are alone; want a room")
		}
		first := d.Ask("Ben, tell me a story.")
		after(8 * time.Second)
		second := d.Ask("And you, Ada, how long do potatoes have to boil?")
		after(8 * time.Second)
		wantSpeakers(t, h, "ben ada")
		wantEnd(t, first, round.EntryAnswered, d)
		wantEnd(t, second, round.EntryAnswered, d)
		for _, c := range []round.CompanionID{"ada", "ben", "cleo"} {
			if told := d.Stage.Told(c); len(told) != 4 {
				t.Errorf("%s was told %q, want both questions and both answers", c, told)
			}
		}
	})
}

func TestAloneAnswersWithoutWaiting(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		d := h.Add("kitchen", living("ada"))
		after(5 * time.Second)
		if !d.Room.Alone() {
			t.Fatal("one device with one companion is not alone")
		}
		asked := d.Room.Now()
		id := d.Ask("How long does an egg have to boil?")
		synctest.Wait()
		if p := d.Stage.Prepared(); len(p) != 1 || d.Room.Now() != asked {
			t.Fatalf("%d answers were asked for after %v, want one at once", len(p), d.Room.Now()-asked)
		}
		after(20 * time.Second)
		wantSpeakers(t, h, "ada")
		wantEnd(t, id, round.EntryAnswered, d)
		if got := len(d.Room.Recent()); got != 2 {
			t.Errorf("%d messages are remembered, want question and answer", got)
		}
		other := h.Add("hall", living("cleo"))
		meet()
		if d.Room.Alone() || other.Room.Alone() {
			t.Error("two devices say they are alone")
		}
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
		after(100 * time.Millisecond)
		if !d.Room.Alone() {
			t.Error("the other said goodbye, and this device does not know that it is alone again")
		}
	})
}

func TestPressHushesEverybody(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		first := bedroom.Ask("Ada, how long does an egg have to boil, and why is that so?")
		after(3 * time.Second)
		u := h.Utterances()
		if len(u) != 1 || u[0].Over {
			t.Fatalf("utterances %+v, want Ada speaking", u)
		}
		hushed := kitchen.Stage.Hushes()
		turn := hall.Press()
		pressed := h.Now()
		after(10 * time.Millisecond)
		u = h.Utterances()
		if !u[0].Over || u[0].End-pressed > 5*time.Millisecond || u[0].Heard == u[0].Text {
			t.Fatalf("%v after the press: %+v, want Ada cut", h.Now()-pressed, u[0])
		}
		if n := kitchen.Stage.Hushes() - hushed; n != 1 {
			t.Errorf("the kitchen was hushed %d times, want once", n)
		}
		after(time.Second)
		second := hall.Room.Said(turn, "Cleo, where are my keys?", nil)
		after(20 * time.Second)
		wantSpeakers(t, h, "ada cleo")
		wantEnd(t, first, round.EntryAnswered, kitchen, bedroom, hall) // a part of it was heard
		wantEnd(t, second, round.EntryAnswered, kitchen, bedroom, hall)
		for _, d := range []*roomtest.Device{kitchen, bedroom, hall} {
			i := slices.IndexFunc(d.Room.Recent(), func(m round.Message) bool { return m.From == "ada" })
			if i < 0 {
				t.Errorf("%s does not remember what Ada said", d.Name)
			} else if got := d.Room.Recent()[i].Text; got != u[0].Heard {
				t.Errorf("%s remembers of Ada %q, want what was heard: %q", d.Name, got, u[0].Heard)
			}
		}
	})
}

func TestWinnerDiesAndTheNextSpeaks(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen := h.Add("kitchen", wanting("ada", "Ada", 9))
		hall := h.Add("hall", wanting("eve", "Eve", 6))
		bedroom := h.Add("bedroom", roomtest.Plan{})
		meet()
		id := bedroom.Ask("How long does an egg have to boil?")
		after(500 * time.Millisecond)
		if len(kitchen.Stage.Prepared()) != 1 {
			t.Fatalf("the kitchen was asked %d times, want Ada to be the winner; hall: %d", len(kitchen.Stage.Prepared()), len(hall.Stage.Prepared()))
		}
		if err := kitchen.Kill(true); err != nil {
			t.Error(err)
		}
		after(30 * time.Second)
		wantSpeakers(t, h, "eve")
		wantEnd(t, id, round.EntryAnswered, bedroom)
		if bedroom.Count(round.EntryFailed) != 1 || hall.Count(round.EntryInstead) != 1 {
			t.Errorf("the ledgers have %d failures and %d substitutions, want one each", bedroom.Count(round.EntryFailed), hall.Count(round.EntryInstead))
		}
		if why := bedroom.Room.Why(""); !strings.Contains(why, "Eve spoke") || !strings.Contains(why, "Ada") {
			t.Errorf("why: %q, want that Eve spoke in place of Ada", why)
		}
	})
}

func TestFailedAnswerGoesToTheNext(t *testing.T) {
	for fault, name := range map[roomtest.Fault]string{roomtest.Fails: "fails", roomtest.Hangs: "hangs", roomtest.Panics: "panics"} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(t *testing.T, h *roomtest.House) {
				kitchen := h.Add("kitchen", wanting("ada", "Ada", 9))
				h.Add("hall", wanting("eve", "Eve", 6))
				meet()
				kitchen.Stage.SetFault(fault)
				id := kitchen.Ask("How long does an egg have to boil?")
				after(40 * time.Second)
				wantSpeakers(t, h, "eve")
				wantEnd(t, id, round.EntryAnswered, kitchen)
				if n := kitchen.Stage.Jobs(); n > 0 {
					t.Errorf("%d answers are still under way in the kitchen", n)
				}
			})
		})
	}
}

func TestLateJoinerGetsHistoryWithoutWhispers(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen := h.Add("kitchen", living("ada"))
		bedroom := h.Add("bedroom", living("ben"))
		meet()
		kitchen.Ask("Ada, how long does an egg have to boil?")
		after(20 * time.Second)
		kitchen.Ask("I have a secret for your ears only.", "ben")
		after(20 * time.Second)
		if told := kitchen.Stage.Told("ada"); slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "secret for your ears") }) {
			t.Errorf("Ada was told what was whispered to Ben: %q", told)
		}
		if told := bedroom.Stage.Told("ben"); !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "I have a secret") }) {
			t.Errorf("Ben was not told what was whispered to him: %q", told)
		}
		hall := h.Add("hall", living("cleo"))
		meet()
		told := hall.Stage.Told("cleo")
		if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "Ada, how long") }) {
			t.Errorf("the newcomer was told %q, want what was said before", told)
		}
		if slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "I have a secret") }) {
			t.Errorf("the newcomer was told what was whispered: %q", told)
		}
		for _, m := range hall.Room.Recent() {
			if strings.HasPrefix(m.Text, "I have a secret") {
				t.Error("the newcomer remembers what was whispered to another")
			}
		}
		if wins := h.Speakers(); strings.Contains(wins, "cleo") {
			t.Errorf("speakers %q: history opened a round", wins)
		}
	})
}

func TestWhisperStaysOutOnOneDevice(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		p := living("ada", "ben")
		p.Alone = true
		d := h.Add("kitchen", p)
		after(time.Second)
		id := d.Ask("I have a secret for your ears only.", "ben")
		after(10 * time.Second)
		wantEnd(t, id, round.EntryAnswered, d)
		heard := func(c round.CompanionID) bool {
			return slices.ContainsFunc(d.Stage.Told(c), func(s string) bool { return strings.HasPrefix(s, "I have a secret") })
		}
		if heard("ada") || !heard("ben") {
			t.Errorf("the whisper was told to Ada: %v, to Ben: %v; want Ben alone", heard("ada"), heard("ben"))
		}
		if why := d.Room.Why(""); strings.Contains(why, "secret") {
			t.Errorf("why: %q quotes a whisper", why)
		}
	})
}

func TestRestartKeepsMemory(t *testing.T) {
	dir := t.TempDir()
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		plan := living("ada")
		plan.Options.Dir = dir
		d := h.Add("kitchen", plan)
		after(time.Second)
		d.Ask("How long does an egg have to boil?")
		after(3 * time.Second)
		d.Press() // Ada is cut
		after(time.Second)
		before := d.Room.Recent()
		if len(before) != 2 {
			t.Fatalf("%d messages, want question and what was heard of the answer", len(before))
		}
		if err := d.Kill(false); err != nil {
			t.Error(err)
		}
		d = h.Add("kitchen", plan)
		after(time.Second)
		if got := d.Room.Recent(); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("after the restart\n%+v, want\n%+v", got, before)
		}
		if told := d.Stage.Told("ada"); len(told) != 2 || told[1] != before[1].Text {
			t.Errorf("after the restart Ada was told %q, want what was said before it", told)
		}
		id := d.Ask("And for a firm one?")
		after(20 * time.Second)
		wantEnd(t, id, round.EntryAnswered, d)
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		plan.Options.Room = "office"
		d = h.Add("kitchen", plan)
		after(time.Second)
		if got := d.Room.Recent(); len(got) != 0 {
			t.Errorf("in another room %d messages of this one are remembered", len(got))
		}
	})
}

func TestRoomWritesItsLedger(t *testing.T) {
	dir := t.TempDir()
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		plan := living("ada")
		plan.Options.Dir = dir
		kitchen := h.Add("kitchen", plan)
		h.Add("hall", living("cleo"))
		meet()
		kitchen.Ask("How long does an egg have to boil?")
		after(20 * time.Second)
		if err := kitchen.Stop(); err != nil {
			t.Error(err)
		}
		read, skipped, err := companions.ReadLedger(dir)
		seen := kitchen.Entries()
		if err != nil || skipped > 0 || len(read) != len(seen) {
			t.Fatalf("%d entries, %d skipped, %v; want the %d that happened", len(read), skipped, err, len(seen))
		}
		for i, e := range read {
			if e.Kind != seen[i].Kind || e.AtMS != seen[i].AtMS {
				t.Errorf("entry %d is %s at %v, want %s at %v", i, e.Kind, e.AtMS, seen[i].Kind, seen[i].AtMS)
			}
			if d := e.Decision; d != nil {
				again := round.Decide(*e.Message, d.Roster, d.Votes, d.Barred...)
				if again.Winner != d.Winner || !slices.Equal(again.Order, d.Order) {
					t.Errorf("replayed: %s, want %s", again.Winner, d.Winner)
				}
			}
		}
	})
}
