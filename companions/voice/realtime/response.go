package realtime

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

var errPlan = errors.New("too many requests in one turn")

// responseCreated gives the new answer to the turn that asked for it: by its metadata, or by order where a server does
// not return them.
func (r *conversation) responseCreated(w *wireResponse) {
	id := turn.ResponseID(w.ID)
	if id == "" || r.responses[id] != nil {
		return
	}
	r.paid = slices.DeleteFunc(r.paid, func(old turn.ResponseID) bool { return old == id }) // some servers use an id again
	c, bidden := r.asked.answered(w)
	r.responses.makeRoom()
	p := &response{id: id}
	r.responses[id] = p
	if !bidden {
		if r.counts.unbidden++; r.counts.unbidden&(r.counts.unbidden-1) == 0 {
			r.log.Warn(logUnbidden, "response", id, "times", r.counts.unbidden)
		}
		if r.counts.unbidden > maxUnbidden { // it does not listen
			delete(r.responses, id)
			return
		}
		r.stopAnswer(p)
		return
	}
	if c.implied && !c.wanted && !c.cancelled { // a room still votes, or another one was selected: it may be asked for later
		r.log.Info(logUnasked, "turn", c.turn, "response", id)
		r.stopAnswer(p) // as nobody's, so that its end is not taken for that of the one that is asked for
		return
	}
	p.turn = c.turn
	if c.cancelled {
		r.stopAnswer(p)
		return
	}
	r.out.Post(turn.ResponseStarted{At: r.out.Now(), Turn: c.turn, Response: id})
}

// maxPast answers that are over are known by their turns; what comes late is of one of the last. Our choice.
const maxPast = 8

// maxPaid answers are known as counted. Our choice.
const maxPaid = 64

// unpaid says that an answer was not counted yet, and notes that it is. An answer without an id is another one each time.
func (r *conversation) unpaid(id turn.ResponseID) bool {
	if id == "" {
		return true
	}
	if slices.Contains(r.paid, id) {
		return false
	}
	if r.paid = append(r.paid, id); len(r.paid) > maxPaid {
		r.paid = slices.Delete(r.paid, 0, 1)
	}
	return true
}

// past is an answer that is over.
type past struct {
	id   turn.ResponseID
	turn turn.ID
}

// over forgets an answer, all but its turn.
func (r *conversation) over(p *response) {
	delete(r.responses, p.id)
	if r.past = append(r.past, past{p.id, p.turn}); len(r.past) > maxPast {
		r.past = slices.Delete(r.past, 0, 1)
	}
}

// turnOf is the turn of an answer, where that is known: p, or one that is over.
func (r *conversation) turnOf(id string, p *response) turn.ID {
	if p != nil {
		return p.turn
	}
	if i := slices.IndexFunc(r.past, func(o past) bool { return string(o.id) == id }); i >= 0 {
		return r.past[i].turn
	}
	return ""
}

// find gives the live answer an event belongs to, or nil when it is to be dropped.
func (r *conversation) find(id string) *response {
	p := r.responses[turn.ResponseID(id)]
	if id == "" { // servers that leave it out have one answer at a time
		p = r.responses.live()
	}
	if p == nil || p.cancelled || p.ended {
		r.counts.stale++
		if n := r.counts.stale; n&(n-1) == 0 { // 1, 2, 4, 8 ...: the first is news, the thousandth is not
			attrs := []any{"response", id, "dropped", n}
			if of := r.turnOf(id, p); of != "" {
				attrs = append(attrs, "turn", of)
			}
			r.log.Info(logStale, attrs...)
		}
		return nil
	}
	return p
}

func (r *conversation) delta(ev *inbound, b64 []byte) {
	p := r.find(ev.ResponseID)
	if p == nil {
		return
	}
	r.startPump(p)
	item := turn.ItemID(ev.ItemID)
	n, ok, room := p.pump.Base64(item, b64)
	if !ok {
		r.garbage(errors.New("delta is not base64"))
		return
	}
	p.audible = p.audible || n > 0
	p.seconds += float64(n) / rate
	r.items.ensure(item, p.turn).received += n
	if !room {
		r.log.Error(logTooLong, "turn", p.turn, "response", p.id, "limit", r.cfg.MaxAnswer)
		r.stopAnswer(p)
		p.ended, p.status, p.say = true, turn.ResponseFailed, turn.WordsServerError
		r.plan.answerBegan(p.turn)
		r.settle(p)
	}
}

// startPump has speech of an answer handed over.
func (r *conversation) startPump(p *response) {
	if p.pump != nil {
		return
	}
	p.pump = kit.NewPump(r.ctx, p.turn, p.id, samples(r.cfg.MaxAnswer))
	r.wg.Go(func() {
		p.pump.Run(r.out)
		select {
		case r.finished <- p:
		case <-r.ctx.Done():
		}
	})
}

// written is an answer in text alone, spoken here.
type written struct {
	of  *response
	pcm []int16
	err error
}

// mostWritten is how much of such an answer is spoken, in bytes.
const mostWritten = 12 << 10

// say speaks an answer that the server gave in text alone.
func (r *conversation) say(p *response) {
	if r.cfg.Say == nil || p.pump != nil || p.cancelled || strings.TrimSpace(p.text) == "" {
		return
	}
	r.startPump(p)
	p.audible, p.saying = true, true
	r.items.ensure(p.item, p.turn).written = true
	text := strings.ToValidUTF8(p.text, "")
	r.wg.Go(func() {
		pcm, err := r.cfg.Say(r.ctx, text)
		select {
		case r.spoken <- written{p, pcm, err}:
		case <-r.ctx.Done():
		}
	})
}

// said hands over what say has made.
func (r *conversation) said(w written) {
	p := w.of
	p.saying = false
	switch {
	case p.cancelled:
	case w.err != nil:
		r.log.Warn(logFailed, "turn", p.turn, "response", p.id, "err", w.err)
		if !p.called {
			p.status, p.say = turn.ResponseFailed, turn.WordsNoAnswer
		}
	default:
		pcm := w.pcm[:min(len(w.pcm), samples(r.cfg.MaxAnswer))] // what is longer has no room at all
		r.items.ensure(p.item, p.turn).received += len(pcm)
		p.pump.Samples(p.item, pcm)
	}
	p.pump.Close()
}

// words passes on what the model says in words.
func (r *conversation) words(ev *inbound, silent bool) {
	p := r.find(ev.ResponseID)
	if p == nil || ev.Delta == "" {
		return
	}
	item := turn.ItemID(ev.ItemID)
	r.items.ensure(item, p.turn)
	r.history.Write(item, p.turn, "assistant", ev.Delta)
	r.out.Post(turn.Spoken{At: r.out.Now(), Turn: p.turn, Response: p.id, Item: item, Text: ev.Delta})
	if silent {
		p.text += ev.Delta[:min(len(ev.Delta), mostWritten-len(p.text))]
	}
	if silent && !p.texted {
		p.texted, p.item = true, item
		r.plan.answerBegan(p.turn)
		r.out.Post(turn.DeltaArrived{At: r.out.Now(), Turn: p.turn, Response: p.id, Item: item})
	}
}

// toolCall tells of a tool call once, by whichever event names it completely first: arguments.done (GA), output_item.done,
// or response.done.
func (r *conversation) toolCall(p *response, id, name, args string) {
	if p == nil || p.cancelled || id == "" {
		return
	}
	c := r.items.call(turn.CallID(id))
	name = cmp.Or(name, c.name)
	if c.told || name == "" {
		return
	}
	if p.calls++; p.calls > maxCalls {
		if p.calls == maxCalls+1 {
			r.log.Warn(logCalls, "turn", p.turn, "response", p.id, "limit", maxCalls)
		}
		return
	}
	r.items.calls[turn.CallID(id)] = callInfo{born: c.born, name: name, told: true}
	p.audible, p.called = true, true
	r.plan.answerBegan(p.turn)
	r.out.Post(turn.ToolCalled{At: r.out.Now(), Turn: p.turn, Response: p.id, Call: turn.CallID(id), Name: name, Args: args})
}

func (r *conversation) responseDone(w *wireResponse) {
	p := r.responses[turn.ResponseID(w.ID)]
	r.plan.unblock()
	if p == nil || p.ended {
		if w.Usage != nil && r.unpaid(turn.ResponseID(w.ID)) { // an answer that no turn waits for costs money too
			r.c.answered("", w.Usage, 0, voice.Counts{})
		}
		return
	}
	p.status, p.say = turn.ResponseCompleted, ""
	var why *wireError
	if d := w.StatusDetails; d != nil {
		why = d.Error
	}
	switch w.Status {
	case "cancelled":
		p.status = turn.ResponseCancelled
	case "incomplete":
		p.status, p.say = turn.ResponseIncomplete, incompleteWords(w.StatusDetails)
	case "failed":
		p.status, p.say = turn.ResponseFailed, turn.WordsServerError
		if why != nil {
			p.say = kit.WordsFor(why.Code, why.Type)
		}
	default:
		for _, it := range w.Output {
			if it.Type == "function_call" && it.Status != "incomplete" {
				r.toolCall(p, it.CallID, it.Name, it.Arguments)
			}
		}
		r.say(p)
		if !p.audible && !p.cancelled { // nothing to hear is not an answer (TURNS.md 6, never silent)
			p.status, p.say = turn.ResponseFailed, turn.WordsNoAnswer
		}
	}
	if p.cancelled {
		p.status, p.say = turn.ResponseCancelled, ""
	}
	if p.say != "" {
		r.log.Warn(logFailed, "turn", p.turn, "response", p.id, "status", w.Status, "details", detail(w.StatusDetails))
	}
	r.unpaid(p.id)
	r.c.answered(p.turn, w.Usage, p.seconds, r.guess(p))
	p.ended = true
	r.plan.answerBegan(p.turn)
	if p.pump != nil && !p.saying {
		p.pump.Close()
	}
	r.settle(p)
}

func detail(d *statusDetails) string {
	switch {
	case d == nil:
		return ""
	case d.Error != nil:
		return d.Error.Code + " " + d.Error.Message
	}
	return d.Reason
}

// settle posts ResponseDone when the server has ended the answer and all of its speech was handed over.
func (r *conversation) settle(p *response) {
	if r.responses[p.id] != p || !p.ended || (p.pump != nil && !p.pumped) {
		return
	}
	r.over(p)
	if p.turn != "" {
		r.out.Post(turn.ResponseDone{At: r.out.Now(), Turn: p.turn, Response: p.id, Status: p.status, Say: p.say})
	}
	if r.link == nil && len(r.responses) == 0 {
		r.connector.told.TellOwed()
	}
}
