package mqtt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"conch/companions/round"
)

// newcomer is a client in the room "kitchen" of those who belong to it, which has wished for a history. It brings ada.
func newcomer(t *testing.T, members ...Identity) *Client {
	t.Helper()
	c, err := NewClient(Config{URL: "mqtt://127.0.0.1:1", Room: "kitchen", Identity: fixed(1), OnPacket: func(round.DeviceID, round.Packet) {},
		Member: func(d round.DeviceID) bool {
			return slices.ContainsFunc(members, func(i Identity) bool { return i.id == d })
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.Send(cards("ada"))
	c.Send(round.HistoryAsk{})
	return c
}

// signedBy is an envelope of the room "kitchen".
func signedBy(t *testing.T, id Identity, p round.Packet) string {
	t.Helper()
	_, b, err := Encode("kitchen", id, testSession, 7, p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func person(id Identity, message round.MessageID, text string) round.Message {
	return round.Message{ID: message, From: round.Human(id.id), Text: text, Epoch: round.Epoch{N: 1, Device: id.id}, Number: 1}
}

// A liar among the members answers a newcomer. Nobody's words are taken but those that their own device signed: not those of the
// newcomer's person and companions, of other members, of strangers and of who was removed, not changed ones, not those of another room.
func TestHistoryIsProved(t *testing.T) {
	self, liar, bob, away, stranger := fixed(1), fixed(2), fixed(3), fixed(4), fixed(5)
	said := func(c round.CompanionID) round.Message {
		return round.Message{ID: "m1", From: round.Participant(c), Text: "words", Epoch: round.Epoch{N: 1, Device: bob.id}, Number: 2}
	}
	place := round.Place{Epoch: round.Epoch{N: 1, Device: bob.id}, Number: 1, Message: "m0"}
	heard := "wo"
	cut := func(c round.CompanionID, id round.MessageID) round.Release {
		return round.Release{Place: place, Companion: c, OK: true, Said: id, Heard: &heard}
	}
	forged := person(bob, "m1", "words")
	elsewhere := forged
	elsewhere.Epoch.Device = liar.id
	private := said("ben")
	private.To, private.For = []round.Participant{round.Human(away.id)}, away.id
	_, other, err := Encode("parlour", bob, testSession, 7, forged)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		told []string
		want string // texts, then refusals
	}{
		{"a person's words", []string{signedBy(t, bob, forged)}, "words, 0"},
		{"a companion's words", []string{signedBy(t, bob, said("ben"))}, "words, 0"},
		{"what was heard of a companion's words", []string{signedBy(t, bob, cut("ben", "m1")), signedBy(t, bob, said("ben"))}, "wo, 0"},
		{"the same twice", []string{signedBy(t, bob, forged), signedBy(t, bob, forged)}, "words, 0"},
		{"of a member that is away", []string{signedBy(t, away, person(away, "m1", "words")), signedBy(t, away, round.Message{ID: "m2", From: "dora", Text: "mine", Number: 2})}, "words mine, 0"},
		{"nothing", nil, ", 0"},

		{"another person's words", []string{signedBy(t, liar, forged)}, ", 1"},
		{"this person's words", []string{signedBy(t, liar, person(self, "m1", "words"))}, ", 1"},
		{"this person's own envelope", []string{signedBy(t, self, person(self, "m1", "words"))}, ", 1"},
		{"this device's companion", []string{signedBy(t, away, said("ada"))}, ", 1"},
		{"another's companion", []string{signedBy(t, liar, said("ben"))}, ", 1"},
		{"another's companion, by who is away", []string{signedBy(t, away, said("ben"))}, ", 1"},
		{"a cut by another", []string{signedBy(t, bob, said("ben")), signedBy(t, away, cut("ben", "m1"))}, "words, 1"},
		{"a cut of another's words", []string{signedBy(t, bob, said("ben")), signedBy(t, liar, cut("mal", "m1"))}, "words, 0"},
		{"in another's press", []string{signedBy(t, bob, elsewhere)}, ", 1"},
		{"of no member", []string{signedBy(t, stranger, person(stranger, "m1", "words"))}, ", 1"},
		{"of another room", []string{string(other)}, ", 1"},
		{"changed", []string{strings.Replace(signedBy(t, bob, forged), "words", "wards", 1)}, ", 1"},
		{"private", []string{signedBy(t, bob, private)}, ", 1"},
		{"something else", []string{signedBy(t, bob, round.Press{Epoch: round.Epoch{N: 9, Device: bob.id}}), "no envelope", `{"params":{}}`}, ", 3"},
	} {
		c := newcomer(t, liar, bob, away)
		c.known.learn(bob.id, cards("ben"), nil)
		c.known.learn(liar.id, cards("mal"), nil)
		got, ok := c.proved(liar.id, round.History{To: self.id}, row.told)
		var texts []string
		for _, m := range got.Messages {
			texts = append(texts, m.Text)
		}
		if text := fmt.Sprintf("%s, %d", strings.Join(texts, " "), c.Stats().Refused[ReasonProof]+c.Stats().Refused[ReasonForged]); text != row.want {
			t.Errorf("%s: %q; want %q (%v)", row.name, text, row.want, c.Stats().Last)
		}
		if ok != (len(texts) > 0 || len(row.told) == 0) {
			t.Errorf("%s: taken: %v", row.name, ok)
		}
	}

	c := newcomer(t, liar, bob)
	if got, ok := c.proved(bob.id, round.History{To: self.id, Messages: []round.Message{forged}}, nil); ok || !strings.Contains(c.Stats().Last[ReasonProof], "older conch") {
		t.Errorf("of an older conch: %v, %v; %q", got, ok, c.Stats().Last)
	}
	for range maxTellers {
		c.proved(liar.id, round.History{To: self.id}, nil)
	}
	if _, ok := c.proved(bob.id, round.History{To: self.id}, []string{signedBy(t, bob, forged)}); ok {
		t.Error("a history is looked at that nobody asked for")
	}
}

// What is handed on is what its device signed, or signs for it; a third device believes it as the second did, and it is nothing that
// could be said now.
func TestHistoryIsHandedOn(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, b := pair(t, url)
		asked := person(a.cfg.Identity, "m1", "words of a")
		asked.Metadata.Joins = []round.MessageID{"m0"}
		a.Send(asked)
		_, heardByB := next[round.Message](b)
		if len(heardByB.Envelope) == 0 {
			t.Fatal("a message comes without its envelope")
		}
		answer := round.Message{ID: "m2", From: "ben", Text: "words of ben, cut as ", Epoch: asked.Epoch, Number: 2}
		c := start(t, Config{URL: url}).up()
		meet(t, map[*device]round.Beat{a: cards("ada"), b: cards("ben"), c: cards("cleo")})
		c.Send(round.HistoryAsk{})
		next[round.HistoryAsk](b)
		b.Send(round.History{To: c.ID(), Messages: []round.Message{heardByB, answer, {ID: "m3", From: "ada", Text: "no envelope", Number: 3}}})
		_, h := next[round.History](c)
		if len(h.Messages) != 2 || h.Messages[0].Text != "words of a" || h.Messages[1].Text != answer.Text {
			t.Fatalf("a newcomer has %+v", h.Messages)
		}
		d := start(t, Config{URL: url}).up()
		meet(t, map[*device]round.Beat{a: cards("ada"), b: cards("ben"), c: cards("cleo"), d: cards("dora")})
		d.Send(round.HistoryAsk{})
		next[round.HistoryAsk](c)
		c.Send(round.History{To: d.ID(), Messages: h.Messages})
		_, again := next[round.History](d)
		if len(again.Messages) != 2 || again.Messages[1].Text != answer.Text || again.Messages[1].From != "ben" {
			t.Errorf("the next newcomer has %+v", again.Messages)
		}
		for i, m := range again.Messages {
			e, r := openWhole(a.cfg.Room, Topic(a.cfg.Room, KindMessages, []round.DeviceID{a.ID(), b.ID()}[i]), m.Envelope)
			if r != nil {
				t.Fatal(r)
			}
			d.mu.Lock()
			l := d.Client.link
			d.mu.Unlock()
			l.mu.Lock()
			out, _ := l.guard.admit(d.now(), &e)
			l.mu.Unlock()
			if len(out) > 0 {
				t.Errorf("what was handed on of %s counts as said now", e.From)
			}
		}
	})
}
