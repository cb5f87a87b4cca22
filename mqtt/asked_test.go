package mqtt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// A liar that asks without end gets few answers; what others ask is answered as ever.
func TestWhoAsksWithoutEndGetsFewAnswers(t *testing.T) {
	a := askers{}
	const minutes = 10
	count := map[string]int{}
	for now := time.Duration(0); now < minutes*time.Minute; now += 10 * time.Millisecond {
		for name, e := range map[string]*Envelope{
			"history": {From: "bad", Packet: round.HistoryAsk{}},
			"note":    {From: "bad", Note: &Note{}},
			"cards":   {From: "bad", Packet: round.Beat{Ask: true, Name: "x"}},
		} {
			r := a.bound(now, e)
			b, beat := e.Packet.(round.Beat)
			if beat && (r != nil || b.Name != "x") {
				t.Fatalf("a beat is refused: %v", r)
			}
			if r == nil && (!beat || b.Ask) {
				count[name]++
			}
		}
		if a.unknown(now, "bad") {
			count["unknown"]++
		}
		if now%(30*time.Second) == 0 { // somebody else
			for _, e := range []*Envelope{{From: "good", Packet: round.HistoryAsk{}}, {From: "good", Note: &Note{}}, {From: "good", Packet: round.Beat{Ask: true}}} {
				if r := a.bound(now, e); r != nil {
					t.Errorf("%v", r)
				}
				if b, ok := e.Packet.(round.Beat); ok && !b.Ask {
					t.Error("a question of another one was taken away")
				}
			}
		}
	}
	t.Logf("in %d minutes, asked 100 times a second: %v", minutes, count)
	for name, most := range map[string]int{"history": 4 + 6*minutes + 1, "note": 60 + 120*minutes + 1, "cards": 6 + 30*minutes + 1, "unknown": 7 + minutes} {
		if count[name] > most || count[name] == 0 {
			t.Errorf("%s: %d are answered; want at most %d", name, count[name], most)
		}
	}
}

// The same over the wire, with a member's key: 300 questions for the history, of which each was 256 KiB from somebody.
func TestAHistoryIsNotGivenWithoutEnd(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	liar, good := pair(t, b.URL())
	for range 300 {
		liar.Send(round.HistoryAsk{})
	}
	liar.Send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
	asked := 0
	for {
		g := mqtttest.Await(t, good.packets, "what was said last")
		if _, ok := g.p.(round.HistoryAsk); ok {
			asked++
		}
		if _, ok := g.p.(round.Ended); ok {
			break
		}
	}
	t.Logf("of 300 questions %d are heard", asked)
	if most := int(historyRate.AtOnce) + 1; asked == 0 || asked > most {
		t.Errorf("of 300 questions %d are heard; want at most %d", asked, most)
	}
	refused := good.Stats().Senders[liar.ID()]
	counted := asked
	for _, n := range refused {
		counted += int(n)
	}
	for _, n := range liar.Stats().Unsent { // a busy machine does not take all of them
		counted += int(n)
	}
	if counted < 300 || refused[ReasonFlood] == 0 {
		t.Errorf("%d are counted: %v, unsent %v", counted, refused, liar.Stats().Unsent)
	}
}

// Ten liars ask for histories as long as there are, as often as they are heard. Whoever tells stays within what a broker lets one say, with room
// for its own words, and a newcomer is told all the same.
func TestNobodysQuestionsMakeAnotherFlood(t *testing.T) {
	var a askers = map[round.DeviceID]*asker{}
	var told teller
	var said allowance
	least := Rate{16 << 10, 384 << 10} // mqtt/broker, in a room of many
	histories, newcomers := 0, 0
	const minutes = 60
	for now := time.Duration(0); now < minutes*time.Minute; now += time.Second {
		if !said.take(now, least, 2<<10) {
			t.Fatalf("after %v no word of its own passes", now)
		}
		ask := func(from round.DeviceID, n int) bool {
			if a.bound(now, &Envelope{From: from, Packet: round.HistoryAsk{}}) != nil || !told.may(now, from, n) {
				return false
			}
			if histories++; !said.take(now, least, n) {
				t.Fatalf("after %v a history does not pass", now)
			}
			return true
		}
		for i := range 10 {
			ask(round.DeviceID(fmt.Sprint("liar", i)), maxHistory)
		}
		if now%(10*time.Minute) == 9*time.Minute { // asks three times within four seconds
			if ask(round.DeviceID(fmt.Sprint("newcomer", now)), 64<<10) {
				newcomers++
			}
		}
	}
	t.Logf("%d histories in %d minutes; %d of %d newcomers are told", histories, minutes, newcomers, minutes/10)
	if newcomers < minutes/10-1 {
		t.Errorf("%d of %d newcomers are told", newcomers, minutes/10)
	}
}

// What is beyond is not sent, and is counted.
func TestHistoriesBeyondTheBoundAreNotSent(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, b := pair(t, url)
		long := person(a.cfg.Identity, "m1", strings.Repeat("long ", 1000))
		for range 40 {
			h := round.History{To: b.ID()}
			for range 5 {
				h.Messages = append(h.Messages, long)
			}
			a.Send(h)
		}
		a.Send(person(a.cfg.Identity, "m2", "its own words"))
		next[round.Message](b)
		if n := a.Stats().Unsent[unsentAsked]; n < 30 {
			t.Errorf("of 40 histories for one device %d were not sent: %v", n, a.Stats().Unsent)
		}
	})
}
