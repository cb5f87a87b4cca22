package realtime

import (
	"time"

	"conch/coordinator/turn"
)

// take looks at an order: what ends something happens at once, the rest joins the plan.
func (r *conversation) take(o turn.Order) {
	if isMemory(o) {
		r.remember(o.(turn.AddText))
		return
	}
	r.active = time.Now()
	if r.owed != nil && r.link == nil { // somebody needs the truth now
		r.tell(*r.owed)
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
		r.history.remove(o.Item)
		r.deleteItem(o.Turn, o.Item)
		return
	case turn.ClearInput:
		for _, t := range r.plan.clear() {
			r.log.Warn(logUtterance, "turn", t, "why", "a new one began before it could be sent")
		}
		r.voice = ""
	}
	r.hurry(turn.TurnOf(o))
	if !r.plan.add(o) {
		r.log.Error(logOverflow, "turn", turn.TurnOf(o), "limit", maxPlan)
		r.plan.empty()
		r.drop(errPlan)
	}
}

// advance carries out the plan as far as it can.
func (r *conversation) advance() {
	for o := r.plan.due(); r.link != nil && o != nil && r.execute(o); o = r.plan.due() {
		if r.link != nil { // or it is all for the next session again
			r.plan.next++
		}
	}
	if r.link != nil && r.voice != "" {
		r.speak(false)
	}
}

// execute does one request; false means not yet.
func (r *conversation) execute(o *request) bool {
	switch o := o.order.(type) {
	case turn.ClearInput:
		r.voice, r.spoken = o.Turn, 0
		if r.downsampler != nil {
			r.downsampler.reset()
		}
		r.empty(o.Turn)
	case turn.CommitInput:
		return r.commit(o.Turn)
	case turn.AddText:
		r.history.add(entry{turn: o.Turn, role: o.Role, text: o.Text})
		r.send(sentEvent{kind: sentText, turn: o.Turn}, func(id string) any { return r.d.text(id, o.Role, o.Text) })
	case turn.SendToolOutput:
		if _, ok := r.calls[o.Call]; !ok { // of a session that is gone; this one would refuse it
			r.log.Info(logCall, "turn", o.Turn, "call", o.Call)
			return true
		}
		text := o.Output
		r.send(sentEvent{kind: sentOutput, turn: o.Turn}, func(id string) any {
			return wireItemCreate{
				wireEvent: wireEvent{Type: "conversation.item.create", EventID: id},
				Item:      wireItem{Type: "function_call_output", CallID: string(o.Call), Output: &text},
			}
		})
	}
	if c, ok := o.order.(turn.CreateResponse); ok {
		if time.Now().Before(o.after) {
			r.at(o.after)
			return false
		}
		return r.create(c, o.tries)
	}
	return true
}

// empty has the server forget what it heard. One that cannot is told to wait until the button is released.
func (r *conversation) empty(t turn.ID) {
	r.silence = silence{}
	switch s := (sentEvent{kind: sentClear, turn: t}); {
	case r.d.HearsEnd:
		r.send(s, func(id string) any { return r.d.patience(id, silenceHeld) })
	case r.d.Clears:
		r.send(s, func(id string) any { return wireEvent{Type: "input_audio_buffer.clear", EventID: id} })
	}
}

// commit sends the rest of the utterance and ends it.
func (r *conversation) commit(id turn.ID) bool {
	n, lost, ok := r.c.utt.size(id)
	if !ok || n < minCommit || r.voice != id {
		r.log.Info(logUtterance, "turn", id, "samples", n, "why", "shorter than the server takes")
		r.voice = ""
		if ok {
			r.empty(id)
		}
		r.plan.withdraw(id)
		r.plan.settled = id
		r.out.Post(turn.InputRefused{At: r.out.Now(), Turn: id})
		return true
	}
	if !r.speak(true) {
		return false
	}
	if lost > 0 {
		r.log.Warn(logUtterance, "turn", id, "samples", lost, "why", "longer than MaxUtterance")
	}
	r.voice = ""
	r.asked.commits = append(r.asked.commits, id)
	if r.d.HearsEnd {
		r.hush(id)
	} else {
		r.send(sentEvent{kind: sentCommit, turn: id}, func(id string) any {
			return wireEvent{Type: "input_audio_buffer.commit", EventID: id}
		})
	}
	if r.link == nil {
		return false
	}
	r.link.asks()
	r.count(func(m *meter) { m.heard(id, float64(n)/rate) })
	if r.d.answersItself() {
		r.asked.creates = append(r.asked.creates, create{order: turn.CreateResponse{Turn: id}, turn: id, implied: true, at: time.Now()})
	}
	return true
}

// speak sends what has come of the utterance: 20 to 40 ms at a time while it is spoken, 100 ms when there is a backlog
// (Realtime, input_audio_buffer.append: <= 15 MiB). It reports whether all was sent.
func (r *conversation) speak(flush bool) bool {
	const least, usual = rate * 20 / 1000, rate * 40 / 1000
	for len(r.pending) < maxAudioAhead {
		n, _, ok := r.c.utt.size(r.voice)
		if !ok {
			r.voice = ""
			return true
		}
		left := n - r.spoken
		if left == 0 || (left < least && !flush) {
			return left == 0
		}
		take := usual
		if left > 3*usual {
			take = cap(r.scratch)
		}
		pcm, _, ok := r.c.utt.from(r.voice, r.spoken, r.scratch[:0:min(take, cap(r.scratch))])
		if !ok {
			r.voice = ""
			return true
		}
		r.spoken += len(pcm)
		r.active = time.Now()
		if r.downsampler != nil {
			pcm = r.downsampler.process(pcm)
		}
		var frame []byte
		select {
		case frame = <-r.link.back:
		default:
		}
		frame, r.raw = appendFrame(frame, r.raw, pcm)
		r.pending = append(r.pending, frame)
	}
	return false
}

// create asks for an answer, once the answer before has ended at the server too: a response.create beside a live one
// is refused (conversation_already_has_active_response).
func (r *conversation) create(o turn.CreateResponse, tries int) bool {
	if why := r.c.refuses(); why != "" {
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
			r.at(until)
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
		prompt = r.resume(o)
	}
	r.send(sentEvent{kind: sentCreate, turn: o.Turn}, func(id string) any { return r.cfg.create(&r.d, id, o.Turn, prompt) })
	if r.link == nil {
		return false
	}
	r.link.asks()
	return true
}
