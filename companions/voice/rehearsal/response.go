package rehearsal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"
)

// response is one answer on its way. Owned by the loop, except what is fixed.
type response struct {
	id     string // fixed
	apart  bool   // conversation "none": nothing of it enters the conversation
	text   bool   // words only
	voice  string // fixed
	most   int    // output tokens; 0: no limit
	meta   any
	ctx    context.Context // fixed; ends with the response
	cancel context.CancelFunc

	outputs []*item
	open    *item // the message being said, last of outputs
	words   strings.Builder
	sent    int // samples in all
	written int // bytes of text in all
	asked   int // input tokens, estimated
	over    bool
	rng     *rand.Rand // fixed; of the answer's goroutine
}

// respond takes response.create.
func (x *session) respond(ev m, _ string) *violation {
	f := x.srv.Faults()
	p := get[m](ev, "response")
	if p == nil {
		p = m{}
	}
	apart := get[string](p, "conversation") == "none"
	switch {
	case f.RefuseResponse:
		return &violation{"rate_limit_error", "rate_limit_exceeded", "", "Rate limit reached: refused on demand."}
	case f.ForgetTheAnswer:
		return nil
	case len(x.live) >= maxResponses:
		return &violation{"rate_limit_error", "rate_limit_exceeded", "", fmt.Sprintf("There are %d responses at work, which is the limit.", maxResponses)}
	case !apart && x.active() != nil:
		return wrong("conversation_already_has_active_response", "", "The conversation has an active response: %s. Wait until it is done, or cancel it.",
			x.active().id)
	}
	context_, bad := x.contextOf(p)
	if bad != nil {
		return bad
	}
	r := &response{
		id: x.newID("resp"), apart: apart, meta: p["metadata"], voice: x.voiceFor(get[m](p, "audio", "output")),
		rng: rand.New(rand.NewPCG(x.rng.Uint64(), x.rng.Uint64())),
	}
	modes := get[[]any](p, "output_modalities")
	if modes == nil {
		modes = get[[]any](x.conf, "output_modalities")
	}
	r.text = len(modes) > 0 && modes[0] == "text"
	for _, o := range []m{x.conf, p} {
		switch n := o["max_output_tokens"].(type) {
		case float64:
			r.most = int(n)
		case string:
			r.most = 0
		}
	}
	t := x.thought(p, context_)
	t.Rand = r.rng
	for _, it := range context_ {
		r.asked += len(it.text)/4 + it.samples*10/Rate
	}
	r.ctx, r.cancel = context.WithCancel(x.ctx)
	x.live = append(x.live, r)
	x.emit("response.created", m{"response": x.responseObject(r, "in_progress", nil)})
	x.emit("rate_limits.updated", m{"rate_limits": []any{
		m{"name": "requests", "limit": 1000, "remaining": 999, "reset_seconds": 0.06},
		m{"name": "tokens", "limit": 100000, "remaining": 95904, "reset_seconds": 2.4},
	}})
	if f.FailResponse {
		x.finish(r, "failed", m{"type": "failed", "error": m{"type": "server_error", "code": "server_error", "message": "The server had an error: on demand."}})
		return nil
	}
	x.wg.Go(func() { x.answer(r, t, f) })
	return nil
}

// contextOf is what a response answers to: its own input, or the conversation.
func (x *session) contextOf(p m) ([]*item, *violation) {
	list, ok := p["input"].([]any)
	if !ok {
		return x.talk.items, nil
	}
	var out []*item
	for i, v := range list {
		o := v.(m)
		if o["type"] == "item_reference" {
			it := x.talk.find(get[string](o, "id"))
			if it == nil {
				return nil, wrong("invalid_value", fmt.Sprintf("response.input[%d].id", i), "There is no item '%s' in the conversation.",
					clip(get[string](o, "id"), 100))
			}
			out = append(out, it)
			continue
		}
		it, _ := fromWire(o)
		out = append(out, it)
	}
	return out, nil
}

func (x *session) active() *response {
	for _, r := range x.live {
		if !r.apart {
			return r
		}
	}
	return nil
}

// voiceFor is what an answer is spoken with: the response's own choice, or the session's.
func (x *session) voiceFor(out m) string {
	if v := voiceOf(out["voice"]); v != "" {
		return v
	}
	return voiceOf(get[any](x.conf, "audio", "output", "voice"))
}

func voiceOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case m:
		return get[string](v, "id")
	}
	return ""
}

func (x *session) cancelResponse(id string) *violation {
	for _, r := range x.live {
		if r.id == id || id == "" && !r.apart {
			late := x.srv.Faults().LateAfterCancel
			open, index := r.open, len(r.outputs)-1
			x.finish(r, "cancelled", m{"type": "cancelled", "reason": "client_cancelled"})
			if late > 0 && open != nil && !r.text {
				x.wg.Go(func() { x.lateDeltas(r, open, index, late) })
			}
			return nil
		}
	}
	return wrong("response_cancel_not_active", "", "There is no active response to cancel.")
}

// step is what an answer hands to the loop, one at a time.
type step struct {
	r    *response
	text string  // words that begin with this piece
	pcm  []int16 // a piece of sound
	call *Call   // a call of a tool
	end  string  // status; the answer is over
	why  m       // status_details
}

// step carries a piece of an answer onto the wire.
func (x *session) step(st step) {
	r := st.r
	if r.over {
		return
	}
	switch {
	case st.call != nil:
		x.closeMessage(r, "completed")
		x.call(r, st.call)
	case st.end != "":
		x.finish(r, st.end, st.why)
	default:
		x.say(r, st)
	}
}

func (x *session) say(r *response, st step) {
	if r.open == nil {
		it := &item{id: x.newID("item"), kind: "message", role: "assistant", status: "in_progress", typed: r.text}
		r.open = it
		r.words.Reset()
		r.outputs = append(r.outputs, it)
		x.tell(r, "response.output_item.added", m{"output_index": len(r.outputs) - 1, "item": it.wire(false)})
		if !r.apart {
			prev := x.talk.add(it, nil)
			x.tell(nil, "conversation.item.added", m{"item": it.wire(false), "previous_item_id": orNull(prev)})
		}
		x.tell(r, "response.content_part.added", x.part(r, m{"part": partOf(r, "")}))
	}
	if st.text != "" {
		r.words.WriteString(st.text)
		r.written += len(st.text)
		kind := "response.output_audio_transcript.delta"
		if r.text {
			kind = "response.output_text.delta"
		}
		x.tell(r, kind, x.part(r, m{"delta": st.text}))
	}
	if len(st.pcm) > 0 && !r.text {
		if x.strikes(r) {
			return
		}
		x.spoke = true
		pcm := st.pcm
		if n := x.srv.Faults().Huge; n > 0 && r.sent == 0 && n/8*3 > len(pcm) {
			pcm = append(pcm[:len(pcm):len(pcm)], make([]int16, n/8*3-len(pcm))...)
		}
		r.sent += len(pcm)
		r.open.samples += len(pcm)
		x.tell(r, "response.output_audio.delta", x.part(r, m{"delta": soundBase64(pcm)}))
	}
	if r.most > 0 && r.tokens() >= r.most {
		x.finish(r, "incomplete", m{"type": "incomplete", "reason": "max_output_tokens"})
	}
}

// part adds where in the response a piece belongs.
func (x *session) part(r *response, e m) m {
	e["item_id"], e["output_index"], e["content_index"] = r.open.id, len(r.outputs)-1, 0
	return e
}

// partOf is a content part; its type keeps the words of the beta, in the GA protocol too.
func partOf(r *response, words string) m {
	if r.text {
		return m{"type": "text", "text": words}
	}
	return m{"type": "audio", "transcript": words}
}

// closeMessage ends the message being said, if there is one.
func (x *session) closeMessage(r *response, status string) {
	it := r.open
	if it == nil {
		return
	}
	words := r.words.String()
	if r.text {
		x.tell(r, "response.output_text.done", x.part(r, m{"text": words}))
	} else {
		x.tell(r, "response.output_audio.done", x.part(r, m{}))
		x.tell(r, "response.output_audio_transcript.done", x.part(r, m{"transcript": words}))
	}
	x.tell(r, "response.content_part.done", x.part(r, m{"part": partOf(r, words)}))
	it.status, it.text = status, words
	x.itemDone(r, it)
	r.open = nil
}

func (x *session) itemDone(r *response, it *item) {
	if !r.apart {
		prev := ""
		for i, o := range x.talk.items {
			if o == it && i > 0 {
				prev = x.talk.items[i-1].id
			}
		}
		x.tell(nil, "conversation.item.done", m{"item": it.wire(false), "previous_item_id": orNull(prev)})
	}
	x.tell(r, "response.output_item.done", m{"output_index": len(r.outputs) - 1, "item": it.wire(false)})
}

// call lets the model call a tool.
func (x *session) call(r *response, c *Call) {
	it := &item{id: x.newID("item"), kind: "function_call", status: "in_progress", callID: x.newID("call"), name: c.Name}
	r.outputs = append(r.outputs, it)
	index := len(r.outputs) - 1
	x.tell(r, "response.output_item.added", m{"output_index": index, "item": it.wire(false)})
	if !r.apart {
		prev := x.talk.add(it, nil)
		x.tell(nil, "conversation.item.added", m{"item": it.wire(false), "previous_item_id": orNull(prev)})
	}
	half := len(c.Args) / 2
	for half > 0 && !utf8.RuneStart(c.Args[half]) { // a delta is whole characters
		half--
	}
	for _, d := range []string{c.Args[:half], c.Args[half:]} {
		x.tell(r, "response.function_call_arguments.delta", m{"item_id": it.id, "output_index": index, "call_id": it.callID, "delta": d})
	}
	it.args, it.status = c.Args, "completed"
	r.written += len(c.Name) + len(c.Args)
	x.tell(r, "response.function_call_arguments.done", m{
		"item_id": it.id, "output_index": index, "call_id": it.callID, "name": c.Name, "arguments": c.Args,
	})
	x.itemDone(r, it)
}

// finish ends a response, whatever the end: response.done is always sent.
func (x *session) finish(r *response, status string, why m) {
	done := "completed"
	if status != "completed" {
		done = "incomplete"
	}
	x.closeMessage(r, done)
	r.over = true
	r.cancel()
	for i, o := range x.live {
		if o == r {
			x.live = append(x.live[:i:i], x.live[i+1:]...)
		}
	}
	x.tell(nil, "response.done", m{"response": x.responseObject(r, status, why)})
	x.log.Info(logAnswer, "response", r.id, "status", status, "sound_ms", r.sent*1000/Rate)
	x.log.Debug(logWords, "response", r.id, "text", x.quote(clip(r.words.String(), 80))) // answers repeat what was asked
	x.due()
}

// tokens estimates the output: one per 50 ms of sound, one per four letters.
func (r *response) tokens() int { return r.sent*20/Rate + r.written/4 }

func (x *session) responseObject(r *response, status string, why m) m {
	out := []any{}
	if status != "in_progress" {
		for _, it := range r.outputs {
			out = append(out, it.wire(false))
		}
	}
	o := m{
		"id": r.id, "object": "realtime.response", "status": status, "status_details": nil, "output": out,
		"output_modalities": []any{"audio"}, "metadata": r.meta, "usage": nil, "conversation_id": nil,
		"max_output_tokens": "inf",
		"audio":             m{"output": m{"format": m{"type": "audio/pcm", "rate": Rate}, "voice": r.voice}},
	}
	if r.text {
		o["output_modalities"] = []any{"text"}
	}
	if r.most > 0 {
		o["max_output_tokens"] = r.most
	}
	if !r.apart {
		o["conversation_id"] = x.talk.id
	}
	if why != nil {
		o["status_details"] = why
	}
	if status != "in_progress" {
		sound := r.sent * 20 / Rate
		o["usage"] = m{
			"total_tokens": r.asked + r.tokens(), "input_tokens": r.asked, "output_tokens": r.tokens(),
			"input_token_details": m{
				"text_tokens": r.asked, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 0,
				"cached_tokens_details": m{"text_tokens": 0, "audio_tokens": 0, "image_tokens": 0},
			},
			"output_token_details": m{"text_tokens": r.tokens() - sound, "audio_tokens": sound},
		}
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
