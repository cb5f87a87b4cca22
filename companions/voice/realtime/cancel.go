package realtime

import (
	"fmt"
	"time"

	"conch/coordinator/turn"
)

// How an answer ends before its end: here, at the server, and in what both know of it.

// stopAnswer cancels an answer: at the server if it is still at it, and here.
func (r *conversation) stopAnswer(p *response) {
	if p.cancelled {
		return
	}
	p.cancelled = true
	p.stopPump()
	if p.ended {
		p.status, p.say = turn.ResponseCancelled, ""
		return
	}
	for _, it := range r.items.of {
		if it.turn == p.turn {
			it.cancelled = true
		}
	}
	switch {
	case !r.d.Cancels: // it goes on until the next one takes its place; nobody waits for it
		p.ended, p.status, p.say = true, turn.ResponseCancelled, ""
		r.settle(p)
	case r.d.answersItself() && r.asked.expecting(): // such servers cancel whatever is live, and that is the next one by now
	default:
		r.cancel(sentEvent{turn: p.turn, response: p.id})
		r.asks()
	}
}

// hung gives up a session that has said nothing since it was asked: whatever hangs there, the next question finds another
// connection.
func (r *conversation) hung() bool {
	if r.link == nil || r.link.unanswered() < hungAfter {
		return false
	}
	r.drop(fmt.Errorf("the server has said nothing for %v since it was asked", r.link.unanswered().Round(time.Second)))
	return true
}

// cancelTurn carries out CancelResponse; without a response it takes back what was asked for.
func (r *conversation) cancelTurn(o turn.CancelResponse) {
	if o.Response == "" && r.link == nil { // given up before it could be sent
		r.plan.forget(o.Turn)
		return
	}
	// Nobody waits for this turn any more: the next session must not be asked for its answer, also when this one is
	// lost before it has said that it cancelled.
	r.plan.withdraw(o.Turn)
	r.plan.answerBegan(o.Turn)
	if r.hung() { // and nobody waits for it any more
		return
	}
	if o.Response != "" {
		if p := r.responses[o.Response]; p != nil {
			r.stopAnswer(p)
		}
		return
	}
	if implied := r.asked.cancel(o.Turn); r.d.Cancels {
		for range implied { // under way, and without a name yet
			r.cancel(sentEvent{turn: o.Turn})
		}
	}
	for _, p := range r.responses {
		if p.turn == o.Turn {
			r.stopAnswer(p)
		}
	}
}

// truncate cuts an item at what was heard: whole milliseconds, never beyond what was received, because the server
// refuses more (Realtime, conversation.item.truncate).
func (r *conversation) truncate(o turn.TruncateItem) {
	it := r.items.of[o.Item]
	if it == nil && r.lost[o.Item] != nil {
		r.cutLost(o.Item, o.Heard)
		return
	}
	if it == nil {
		r.log.Info(logTruncate, "turn", o.Turn, "item", o.Item, "why", "not of this session")
		return
	}
	heard := max(0, min(o.Heard, it.received))
	r.history.Cut(o.Item, heard, it.received)
	if !r.d.Truncates || it.written {
		r.recount(o, it)
		return
	}
	it.received = heard
	r.send(sentEvent{kind: sentTruncate, turn: o.Turn}, func(id string) any {
		return wireTruncate{
			wireEvent:  wireEvent{Type: "conversation.item.truncate", EventID: id, ItemID: string(o.Item)},
			AudioEndMS: heard * 1000 / rate,
		}
	})
}

// recount puts what was heard of an answer in its place, where the server cannot cut it.
func (r *conversation) recount(o turn.TruncateItem, it *itemInfo) {
	kept := !it.cancelled || !r.d.Forgets
	if kept && !r.d.Deletes {
		r.log.Info(logTruncate, "turn", o.Turn, "item", o.Item, "why", "the server does not know it")
		return
	}
	if kept {
		r.deleteItem(o.Turn, o.Item)
	}
	if text := r.history.Words(o.Item); text != "" {
		r.send(sentEvent{kind: sentText, turn: o.Turn}, func(id string) any { return r.d.text(id, "assistant", text) })
	}
}

// deleteItem takes an item out of the server's conversation, if it is there and can be.
func (r *conversation) deleteItem(t turn.ID, item turn.ItemID) {
	if it := r.items.of[item]; !r.d.Deletes || it != nil && it.cancelled && r.d.Forgets {
		return
	}
	r.send(sentEvent{kind: sentDelete, turn: t}, func(id string) any {
		return wireEvent{Type: "conversation.item.delete", EventID: id, ItemID: string(item)}
	})
}
