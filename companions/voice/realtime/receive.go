package realtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// receive acts on one message of the server.
func (r *conversation) receive(m message) {
	defer putBuf(m.buf)
	if m.err != nil {
		r.garbage(m.err)
		return
	}
	if r.seen.twice(m.sum) {
		r.counts.duplicate++
		return
	}
	ev := &m.ev
	if !known[ev.Type] {
		r.counts.unknown++
		if n := r.counts.unknown; n&(n-1) == 0 {
			r.log.Info(logUnknown, "type", fmt.Sprintf("%.80q", ev.Type), "ignored", n)
		}
		return
	}
	if strings.HasPrefix(ev.Type, "response.") {
		r.doubted.err = nil
	}
	switch ev.Type {
	case "error":
		r.clock.active = time.Now()
		if ev.Error == nil {
			ev.Error = &wireError{}
		}
		r.serverError(ev.Error)
	case "input_audio_buffer.committed":
		r.inputCommitted(turn.ItemID(ev.ItemID))
	case "input_audio_buffer.speech_stopped":
		if r.d.HearsEnd {
			r.inputCommitted(turn.ItemID(ev.ItemID))
		}
	case "conversation.item.input_audio_transcription.completed":
		r.transcribed(ev)
	case "conversation.item.input_audio_transcription.failed":
		t, _ := r.transcriptOf(turn.ItemID(ev.ItemID))
		r.log.Warn(logTranscribe, "turn", t, "err", message1(ev.Error))
	case "response.created":
		r.clock.active = time.Now()
		if ev.Response != nil {
			r.responseCreated(ev.Response)
		}
	case "response.output_audio.delta":
		r.clock.active = time.Now()
		r.delta(ev, m.audio)
	case "response.output_audio_transcript.delta":
		r.words(ev, false)
	case "response.output_text.delta":
		r.words(ev, true)
	case "response.output_item.added":
		r.items.name(ev.Item)
	case "response.function_call_arguments.done":
		if p := r.find(ev.ResponseID); p != nil {
			r.toolCall(p, ev.CallID, ev.Name, ev.Arguments)
		}
	case "response.output_item.done":
		if it := ev.Item; it != nil && it.Type == "function_call" && it.Status != "incomplete" {
			if p := r.find(ev.ResponseID); p != nil {
				r.toolCall(p, it.CallID, it.Name, it.Arguments)
			}
		}
	case "response.done":
		r.clock.active = time.Now()
		if ev.Response != nil {
			r.responseDone(ev.Response)
		}
	}
}

func message1(e *wireError) string {
	if e == nil {
		return ""
	}
	return e.Code + " " + e.Message
}

// garbage counts what cannot be read. A server that sends little else is left; one that does so now and then is not, however
// long the session lasts.
func (r *conversation) garbage(err error) {
	now, slot := time.Now(), &r.garbled[r.counts.garbage%maxGarbage]
	before := *slot // maxGarbage messages ago
	*slot = now
	r.counts.garbage++
	if n := r.counts.garbage; n&(n-1) == 0 {
		r.log.Warn(logGarbage, "err", err, "ignored", n)
	}
	if !before.IsZero() && now.Sub(before) < garbageWindow {
		r.drop(fmt.Errorf("more than %d messages within %v cannot be read, the last: %w", maxGarbage, garbageWindow, err))
	}
}

func (r *conversation) inputCommitted(id turn.ItemID) {
	t, ok := r.asked.acknowledged(id)
	if !ok {
		return
	}
	r.items.ensure(id, t)
	r.history.At(id, t, "user") // its place; the words come later
	r.out.Post(turn.InputCommitted{At: r.out.Now(), Turn: t, Item: id})
}

func (r *conversation) transcribed(ev *inbound) {
	if ev.Status == "in_progress" { // a hypothesis
		return
	}
	t, id := r.transcriptOf(turn.ItemID(ev.ItemID))
	if t == "" {
		return
	}
	if e := r.history.At(id, t, "user"); e.Text == "" && len(ev.Transcript) <= kit.MaxHistoryText {
		e.Text = ev.Transcript
		r.history.Changes++
	}
	r.history.Trim()
	if r.unpaid(turn.ResponseID(string(t) + " " + ev.ItemID)) {
		r.c.transcribed(t, ev.Usage)
	}
	r.out.Post(turn.Transcribed{At: r.out.Now(), Turn: t, Text: ev.Transcript})
}

// transcriptOf finds whose words a transcript has, under the item that the utterance has in this session.
func (r *conversation) transcriptOf(id turn.ItemID) (turn.ID, turn.ItemID) {
	t := r.items.turnOf(id)
	if t == "" && r.d.OtherTranscripts && len(r.asked.untranscribed) > 0 {
		t, id = r.asked.untranscribed[0].turn, r.asked.untranscribed[0].item
	}
	r.asked.transcribed(t)
	return t, id
}

// serverError leads an error back to what it answers. Most errors leave the session open.
func (r *conversation) serverError(e *wireError) {
	e.Message = kit.Redact(e.Message, r.connector.usedKey)
	s, ok := r.sent.find(e.EventID)
	if !ok { // servers that do not say which event they mean
		s = r.asked.meant(e)
	}
	if r.counts.errors++; r.counts.errors&(r.counts.errors-1) == 0 || s.turn != "" {
		r.log.Warn(logError, "turn", s.turn, "to", s.kind.String(), "type", e.Type, "code", e.Code, "err", fmt.Sprintf("%.400s", e.Message))
	}
	switch {
	case e.is(codeExpired), e.is(codeKey):
		r.drop(&refused{RefusalError: kit.RefusalError{Code: e.code(), Text: e.Message}})
	case e.is(codeNotActive):
		r.notActive(s)
	case slices.Contains(r.d.Failures, e.Code):
		r.answerFailed(e)
	case s.kind == sentCommit:
		r.commitRefused(s.turn)
	case s.kind == sentCreate:
		r.createRefused(s.turn, e)
	case e.is("server_error") || e.Type == "server_error":
		r.doubted.err, r.doubted.until = e, time.Now().Add(errorPatience)
	}
}

// doubted is an error that named no request, while an answer came: nothing of an answer may come any more.
type doubted struct {
	err   *wireError // nil: there was none, or something of an answer came after it
	until time.Time
}

// settleDoubt ends the answer of which nothing came for errorPatience after such an error.
func (r *conversation) settleDoubt() {
	switch d := &r.doubted; {
	case d.err == nil:
	case r.link == nil || !slices.ContainsFunc(slices.Collect(maps.Values(r.responses)), func(p *response) bool { return !p.ended && !p.cancelled }):
		d.err = nil
	case time.Now().Before(d.until):
		r.clock.wakeAt(d.until)
	default:
		e := d.err
		d.err = nil
		r.answerFailed(e)
	}
}

// notActive: what was to be cancelled is over, whether its response.done comes or not.
func (r *conversation) notActive(s sentEvent) {
	var live []*response
	for _, p := range r.responses {
		if p.cancelled && !p.ended && (s.response == "" || s.response == p.id) {
			live = append(live, p)
		}
	}
	if len(live) == 1 {
		r.responseDone(&wireResponse{ID: string(live[0].id), Status: "cancelled"})
	}
	r.plan.unblock()
}

// answerFailed ends what an error event says the end of, where no response.done follows (Dialect.Failures).
func (r *conversation) answerFailed(e *wireError) {
	for id, p := range r.responses {
		if !p.ended && !p.cancelled {
			r.responseDone(&wireResponse{ID: string(id), Status: "failed", StatusDetails: &statusDetails{Type: "failed", Error: e}})
			return
		}
	}
	if t, ok := r.asked.waiting(); ok {
		r.asked.transcribed(t)
		r.createRefused(t, e)
	}
}

func (r *conversation) commitRefused(t turn.ID) {
	r.asked.uncommit(t)
	// An answer asked for together with the commit would answer nothing.
	r.cancelTurn(turn.CancelResponse{Turn: t})
	r.asked.unanswer(t)
	r.plan.forget(t)
	r.out.Post(turn.InputRefused{At: r.out.Now(), Turn: t})
}

// tryAgain is when a response.create that met a live answer is repeated, unless that has ended before.
var tryAgain = [...]time.Duration{150 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond}

var errActive = errors.New("an unknown answer is live")

func (r *conversation) createRefused(t turn.ID, e *wireError) {
	c, ok := r.asked.refused(t)
	if !ok || c.cancelled {
		return
	}
	if e.is(codeActive) && c.tries < len(tryAgain) && r.link != nil {
		if r.d.Cancels { // whatever it is, it is not ours
			r.cancel(sentEvent{turn: t})
		}
		r.log.Warn(logError, "turn", t, "err", errActive, "try", c.tries+1)
		r.plan.first(request{order: c.order, tries: c.tries + 1, after: time.Now().Add(tryAgain[c.tries])})
		return
	}
	r.plan.forget(t)
	r.out.Post(turn.ResponseRefused{At: r.out.Now(), Turn: t, Say: kit.WordsFor(e.Code, e.Type)})
}
