package realtime

import (
	"cmp"
	"strings"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// take looks at an order: what ends something happens at once, the rest joins the plan.
func (r *conversation) take(o turn.Order) {
	if kit.IsMemory(o) {
		r.remember(o.(turn.AddText))
		return
	}
	r.clock.active = time.Now()
	if r.link == nil {
		r.connector.told.TellOwed()
	}
	switch o := o.(type) {
	case turn.CancelResponse:
		r.cancelTurn(o)
		return
	case turn.TruncateItem:
		r.truncate(o)
		return
	case turn.DeleteItem:
		if r.lost[o.Item] != nil {
			r.cutLost(o.Item, 0)
			return
		}
		r.history.Remove(o.Item)
		r.deleteItem(o.Turn, o.Item)
		return
	case turn.KeepInput:
		if o.Turn != "" {
			r.plan.forget(o.Turn)
			r.input.turn = ""
			r.log.Info(logKept, "turn", o.Turn)
		}
		return
	case turn.ClearInput:
		for _, t := range r.plan.clear() {
			r.log.Warn(logUtterance, "turn", t, "why", "a new one began before it could be sent")
		}
		r.input.turn = ""
	}
	if r.link == nil {
		r.connector.Hurry(turn.TurnOf(o))
	}
	if !r.plan.add(o) {
		r.log.Error(logOverflow, "turn", turn.TurnOf(o), "limit", maxPlan)
		r.plan.empty()
		r.drop(errPlan)
	}
}

// What others said in the room enters the conversation as text of no turn (ROOM.md 7). It is known at any time: between
// turns, during an answer, while there is no session. So it does not stand in the plan, which belongs to the turn, but is
// sent as it comes and kept in the history, which begins every session:
//
//	Do ──> orders ──> remember ─┬─> history ──> the next session
//	                            └─> this session, if there is one
//
// Bounds: what Run has not looked at is at most kit.MaxHistory texts, then the oldest goes, which the history could not have
// kept either; a text is cut at maxMemoryText; the history is bounded by itself.

// maxMemoryText is bytes of one text: a quarter of what a session is told of the past.
const maxMemoryText = kit.MaxHistoryText / 4

// remember puts a text of the room into the conversation. It is no sign of a turn: it does not keep an idle session from
// being renewed, nor ask for one.
func (r *conversation) remember(o turn.AddText) {
	if o.Text == "" {
		return
	}
	o.Role = cmp.Or(o.Role, "user")
	if len(o.Text) > maxMemoryText {
		o.Text = strings.ToValidUTF8(o.Text[:maxMemoryText], "") + " …"
	}
	r.history.Add(kit.Entry{Role: o.Role, Text: o.Text})
	r.send(sentEvent{kind: sentText}, func(id string) any { return r.d.text(id, o.Role, o.Text) })
}

// advance carries out the plan as far as it can.
func (r *conversation) advance() {
	for o := r.plan.due(); r.link != nil && o != nil && r.execute(o); o = r.plan.due() {
		if r.link != nil { // or it is all for the next session again
			r.plan.next++
		}
	}
	if r.link != nil && r.input.turn != "" {
		r.input.stream(false)
	}
}

// execute does one request; false means not yet.
func (r *conversation) execute(o *request) bool {
	switch order := o.order.(type) {
	case turn.ClearInput:
		r.input.begin(order.Turn)
	case turn.CommitInput:
		return r.commit(order.Turn)
	case turn.AddText:
		r.history.Add(kit.Entry{Turn: order.Turn, Role: order.Role, Text: order.Text})
		r.send(sentEvent{kind: sentText, turn: order.Turn}, func(id string) any { return r.d.text(id, order.Role, order.Text) })
	case turn.SendToolOutput:
		if _, ok := r.items.calls[order.Call]; !ok { // of a session that is gone; this one would refuse it
			r.log.Info(logCall, "turn", order.Turn, "call", order.Call)
			return true
		}
		text := order.Output
		r.send(sentEvent{kind: sentOutput, turn: order.Turn}, func(id string) any {
			return wireItemCreate{
				wireEvent: wireEvent{Type: "conversation.item.create", EventID: id},
				Item:      wireItem{Type: "function_call_output", CallID: string(order.Call), Output: &text},
			}
		})
	case turn.CreateResponse:
		if time.Now().Before(o.after) {
			r.clock.wakeAt(o.after)
			return false
		}
		return r.create(order, o.tries)
	}
	return true
}

// commit sends the rest of the utterance and ends it.
func (r *conversation) commit(id turn.ID) bool {
	n, lost, ok := r.c.Said.Size(id)
	if !ok || n < minCommit || r.input.turn != id {
		r.log.Info(logUtterance, "turn", id, "samples", n, "why", "shorter than the server takes")
		r.input.turn = ""
		if ok {
			r.input.clear(id)
		}
		r.plan.withdraw(id)
		r.plan.settled = id
		r.out.Post(turn.InputRefused{At: r.out.Now(), Turn: id})
		return true
	}
	if !r.input.stream(true) {
		return false
	}
	if lost > 0 {
		r.log.Warn(logUtterance, "turn", id, "samples", lost, "why", "longer than MaxUtterance")
	}
	r.asked.commits = append(r.asked.commits, id)
	r.input.end(id)
	r.input.sendSilence(&r.asked)
	if !r.asks() {
		return false
	}
	r.c.usage.Count(id, voice.Counts{HeardSeconds: float64(n) / rate})
	if r.d.answersItself() {
		r.asked.creates = append(r.asked.creates, create{order: turn.CreateResponse{Turn: id}, turn: id, implied: true, at: time.Now()})
	}
	return true
}

// create asks for an answer, once the answer before has ended at the server too: a response.create beside a live one
// is refused (conversation_already_has_active_response).
func (r *conversation) create(o turn.CreateResponse, tries int) bool {
	if why := r.c.usage.Refuses(); why != "" {
		r.log.Warn(logCeiling, "turn", o.Turn, "why", why)
		r.plan.settled = o.Turn
		r.out.Post(turn.ResponseRefused{At: r.out.Now(), Turn: o.Turn, Say: turn.WordsCeiling})
		return true
	}
	if r.d.answersItself() && (r.asked.want(o.Turn) || r.responses.liveFor(o.Turn)) {
		return true
	}
	if r.d.AfterTranscript && r.asked.unwritten(o.Turn) { // an answer would miss it
		return false
	}
	if busy := r.responses.busy(&r.asked); busy != "" {
		if r.hung() {
			return false
		}
		now := time.Now()
		if r.gate.IsZero() {
			r.gate = r.responses.blockedSince(now, &r.asked)
		}
		if until := r.gate.Add(createPatience); now.Before(until) {
			r.clock.wakeAt(until)
			return false
		}
		r.log.Warn(logImpatient, "turn", o.Turn, "busy", busy)
		r.responses.abandon()
		r.asked.creates = nil
	}
	r.gate = time.Time{}
	r.asked.creates = append(r.asked.creates, create{order: o, turn: o.Turn, tries: tries, at: time.Now()})
	prompt := o.Prompt
	if o.Resume {
		prompt = kit.Resume(&r.history, o)
	}
	r.send(sentEvent{kind: sentCreate, turn: o.Turn}, func(id string) any { return r.cfg.create(&r.d, id, o, prompt) })
	return r.asks()
}
