package mqtt

import (
	"time"

	"conch/companions/round"
)

// What one device can make the others say: each of these is answered by one of them or by all, at length.
var (
	historyRate = Rate{0.1, 4} // HistoryAsk: up to 256 KiB from one member
	cardsRate   = Rate{0.5, 6} // Beat.Ask: the cards of every member
	noteRate    = Rate{2, 60}  // members.*: up to 32 KiB from the host, and a list that is written
)

// Who speaks for companions without ever showing their cards is asked for them again after twice as long each time.
const (
	unknownGap  = time.Second
	unknownMost = 64 * time.Second
)

// What this device tells of history in all, and of that to who asks for it again: so that nobody's questions make it say more than a
// broker lets one member say (mqtt/broker: 16 KiB a second at least, 384 KiB at once). Others tell who gets nothing here.
var (
	tellRate  = Rate{8 << 10, maxHistory + 16<<10} // bytes
	againRate = Rate{4 << 10, 96 << 10}
)

const tellAgain = 10 * time.Minute // without one more it is no question again

// teller is what a device has told of history lately.
type teller struct {
	all, again allowance
	told       map[round.DeviceID]time.Duration
}

// may says whether so many bytes of history may go to a device.
func (t *teller) may(now time.Duration, to round.DeviceID, n int) bool {
	if last, ok := t.told[to]; ok && now-last < tellAgain && !t.again.take(now, againRate, n) {
		return false
	}
	if !t.all.take(now, tellRate, n) {
		return false
	}
	if t.told == nil || len(t.told) >= maxPeers {
		t.told = map[round.DeviceID]time.Duration{}
	}
	t.told[to] = now
	return true
}

// asker is what a device has asked for lately.
type asker struct {
	history, cards, notes allowance

	again, gap time.Duration // when it may next be asked for its cards, and how long after that
}

// askers are kept by the reader; there are no more of them than the guard believes.
type askers map[round.DeviceID]*asker

func (a askers) of(from round.DeviceID) *asker {
	k := a[from]
	if k == nil {
		if len(a) >= maxPeers {
			clear(a)
		}
		k = &asker{}
		a[from] = k
	}
	return k
}

// bound says whether an envelope asks too often. A beat that does is a beat all the same, without the question.
func (a askers) bound(now time.Duration, e *Envelope) *Refusal {
	ok := true
	switch p := e.Packet.(type) {
	case nil:
		ok = e.Note == nil || a.of(e.From).notes.take(now, noteRate, 1)
	case round.HistoryAsk:
		ok = a.of(e.From).history.take(now, historyRate, 1)
	case round.Beat:
		if p.Ask && !a.of(e.From).cards.take(now, cardsRate, 1) {
			p.Ask = false
			e.Packet = p
		}
		if p.Cards != nil {
			a.of(e.From).gap = 0
		}
	}
	if ok {
		return nil
	}
	return &Refusal{Reason: ReasonFlood, From: e.From, Method: e.Method, Detail: "asks too often"}
}

// unknown says whether a device whose cards are not known is to be asked for them.
func (a askers) unknown(now time.Duration, from round.DeviceID) bool {
	k := a.of(from)
	if k.gap > 0 && now < k.again {
		return false
	}
	k.gap = max(unknownGap, min(2*k.gap, unknownMost))
	k.again = now + k.gap
	return true
}
