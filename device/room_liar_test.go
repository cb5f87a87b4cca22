package device

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// roomLiar is a member with a key of its own that says whatever a story wants: its envelopes are good, what is in them need
// not be.
type roomLiar struct {
	*mqtt.Client
	id    mqtt.Identity
	self  round.DeviceID
	cards []round.Card
	stop  func()

	hears atomic.Pointer[func(from round.DeviceID, p round.Packet)]
}

// liar raises one. It beats, and does nothing else.
func (h *roomHouse) liar(name string, ids ...round.CompanionID) *roomLiar {
	h.t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		h.t.Fatal(err)
	}
	l := &roomLiar{id: id, self: id.ID()}
	for _, c := range cardsOf(ids...) {
		l.cards = append(l.cards, c.Card)
	}
	h.mu.Lock()
	h.members[l.self] = true
	h.mu.Unlock()
	l.Client, err = mqtt.NewClient(mqtt.Config{
		URL: "mqtt://" + h.broker.addr, Room: h.room, Identity: id, Member: h.member,
		OnPacket: func(from round.DeviceID, p round.Packet) {
			if f := l.hears.Load(); f != nil {
				(*f)(from, p)
			}
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var both sync.WaitGroup
	both.Go(func() { _ = l.Run(ctx) })
	both.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			l.Send(round.Beat{Name: name, Digest: "liar", Cards: append([]round.Card{}, l.cards...)})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	l.stop = sync.OnceFunc(func() { cancel(); both.Wait() })
	h.liars = append(h.liars, l)
	return l
}

// hear calls f for every packet; it must not block.
func (l *roomLiar) hear(f func(from round.DeviceID, p round.Packet)) { l.hears.Store(&f) }

// vote is a vote of one of its own, or of somebody else's.
func liarVote(who round.CompanionID, id round.MessageID, importance float64) round.Vote {
	v := round.Vote{From: who, MessageID: id, State: round.StateSpeak, Importance: importance, Closing: round.ClosingNone, Reason: "it says so"}
	if importance == 0 {
		v.State = round.StateListen
	}
	return v
}
