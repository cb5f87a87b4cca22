package device

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/round"
)

// olderMember answers like a device of version 1 (mqtt/testdata/version1.jsonl): its beats name no version, its words no proofs.
type olderMember struct {
	*roomLiar
	mu      sync.Mutex
	highest round.Epoch
	hushed  int // presses of others
	history []round.Message
}

func (h *roomHouse) older(name string, who round.CompanionID) *olderMember {
	o := &olderMember{roomLiar: h.liar(name, who)}
	o.hear(func(_ round.DeviceID, p round.Packet) {
		o.mu.Lock()
		defer o.mu.Unlock()
		note := func(e round.Epoch) {
			if e.N > o.highest.N {
				o.highest = e
			}
		}
		switch p := p.(type) {
		case round.Press:
			o.hushed++
			note(p.Epoch)
		case round.History:
			o.history = p.Messages
		case round.Message:
			note(p.Epoch)
			if !p.From.Human() {
				return
			}
			importance := 0.0
			if strings.Contains(strings.ToLower(p.Text), string(who)) {
				importance = 10
			}
			vote := liarVote(who, p.ID, importance)
			vote.Selected = importance > 0
			o.Send(round.Votes{Place: p.Place(), Votes: []round.Vote{vote}})
			if !vote.Selected {
				return
			}
			said := round.Message{ID: p.ID + "-z", From: round.Participant(who), Text: "I am the older one.", Epoch: p.Epoch, Number: p.Number + 1}
			said.Metadata.Chain = 1
			for _, x := range []round.Packet{
				round.Claim{Place: p.Place(), Companion: who, Votes: []round.Vote{vote}}, round.Speaking{Place: p.Place(), Companion: who, LeftMS: 1500}, said,
				round.Release{Place: p.Place(), Companion: who, OK: true, HeardMS: 900, Said: said.ID},
			} {
				o.Send(x)
			}
		}
	})
	return o
}

// presses is a person at the older device.
func (o *olderMember) presses() round.Epoch {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.highest = round.Epoch{N: o.highest.N + 1, Device: o.self}
	o.Send(round.Press{Epoch: o.highest})
	return o.highest
}

// TestRoomOfOldAndNewVersions: a device of version 1 among new ones votes, speaks, is answered and remembered, hushes and is hushed; and the new ones
// know which one to upgrade.
func TestRoomOfOldAndNewVersions(t *testing.T) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		old := h.older("attic", "zoe")
		kitchen, bedroom, hall := h.three()
		homes := []*roomHome{kitchen, bedroom, hall}
		for _, x := range homes {
			h.until(x.name+" knows its version", func() bool {
				return slices.ContainsFunc(x.Members(), func(m round.Member) bool { return m.Device == old.self && m.Version == 1 && len(m.Cards) == 1 })
			})
		}

		// Asked here, answered there.
		id := kitchen.ask("Zoe, who are you?")
		kitchen.over(id, round.EntryAnswered)
		for _, x := range homes {
			h.until(x.name+" remembers it", func() bool {
				return slices.ContainsFunc(x.Recent(), func(m round.Message) bool { return m.Text == "I am the older one." })
			})
			h.until(x.name+" has decided what follows", func() bool { // the next press would end it undecided
				return x.has(func(e round.Entry) bool { return e.Kind == round.EntryRound })
			})
		}

		// Asked there, answered here, and a press there silences it.
		kitchen.voice.set(func(v *roomVoice) { v.length = time.Hour })
		e := old.presses()
		m := round.Message{ID: "from-the-attic", From: round.Human(old.self), Text: "Ada, tell me everything about eggs", Epoch: e, Number: 1}
		m.Metadata = round.PersonMetadata(m.Text, nil)
		old.Send(m)
		h.until("ada speaks", func() bool { return kitchen.voice.busy() })
		old.presses()
		h.until("ada is silent", func() bool { return !kitchen.voice.busy() })

		// A press here reaches it, and what everybody said as well.
		before := func() int { old.mu.Lock(); defer old.mu.Unlock(); return old.hushed }
		n := before()
		bedroom.press()
		h.until("the older one is hushed", func() bool { return before() > n })
		old.Send(round.HistoryAsk{})
		h.until("the older one has the history", func() bool {
			old.mu.Lock()
			defer old.mu.Unlock()
			return slices.ContainsFunc(old.history, func(m round.Message) bool { return m.ID == id && m.Text == "Zoe, who are you?" })
		})
	})
}
