package mqtt

import (
	"testing"
	"time"

	"conch/companions/round"
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
		g := await(t, good.packets, "what was said last")
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
	if n := good.Stats().Senders[liar.ID()][ReasonFlood]; n < 290 {
		t.Errorf("%d are counted", n)
	}
}
