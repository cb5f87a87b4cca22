package realtime

import (
	"slices"
	"time"

	"conch/coordinator/turn"
)

// Servers differ most in how they hear: what ends an utterance, what begins the answer to it, and under which item they say
// what was heard (Dialect). What that asks of the client is here.

// answersItself tells that the end of an utterance begins an answer that nobody asked for.
func (d *Dialect) answersItself() bool { return d.CommitAnswers || d.HearsEnd }

// speaking takes the dialect of a session.
func (r *conversation) speaking(d Dialect) {
	r.d, r.downsampler, r.silence = d, nil, silence{}
	if d.Rate != rate {
		r.downsampler = newDownsampler()
	}
}

const maxUntranscribed = 16

func (r *conversation) awaitTranscript(t turn.ID, item turn.ItemID) {
	if len(r.untranscribed) == maxUntranscribed { // nothing is transcribed here
		r.untranscribed = r.untranscribed[:copy(r.untranscribed, r.untranscribed[1:])]
	}
	r.untranscribed = append(r.untranscribed, untranscribed{t, item})
}

// transcriptOf finds whose words a transcript has, under the item that the utterance has in this session.
func (r *conversation) transcriptOf(id turn.ItemID) (turn.ID, turn.ItemID) {
	t := r.turnOfItem(string(id))
	if t == "" && r.d.OtherTranscripts && len(r.untranscribed) > 0 {
		t, id = r.untranscribed[0].turn, r.untranscribed[0].item
	}
	r.heardOf(t)
	return t, id
}

// heardOf ends the wait for the transcript of a turn, and for those before it.
func (r *conversation) heardOf(t turn.ID) {
	if i := slices.IndexFunc(r.untranscribed, func(u untranscribed) bool { return u.turn == t }); i >= 0 {
		r.untranscribed = r.untranscribed[:copy(r.untranscribed, r.untranscribed[i+1:])]
	}
	for i := range r.creates {
		if r.creates[i].turn == t {
			r.creates[i].heard = true
		}
	}
}

// unwritten tells that a turn was said and not yet written down, where an answer would miss it.
func (r *conversation) unwritten(t turn.ID) bool {
	return r.d.AfterTranscript &&
		(slices.Contains(r.commits, t) || slices.ContainsFunc(r.untranscribed, func(u untranscribed) bool { return u.turn == t }))
}

const (
	silencePiece = 100 * time.Millisecond
	silenceFirst = 500 * time.Millisecond // at once: more than ends an utterance (silenceReleased)
	silenceMost  = 4 * time.Second        // then nobody was heard
)

// hush lets the server's ear find the end of an utterance.
func (r *conversation) hush(id turn.ID) {
	r.silence = silence{turn: id, from: time.Now()}
	r.send(sentEvent{kind: sentCommit, turn: id}, func(id string) any { return r.d.patience(id, silenceReleased) })
	r.sendSilence()
}

// sendSilence sends silence until the server has heard the end: some at once, the rest as it passes.
func (r *conversation) sendSilence() {
	id := r.silence.turn
	if id == "" || r.link == nil {
		return
	}
	if !slices.Contains(r.commits, id) {
		r.silence = silence{}
		return
	}
	passed := time.Since(r.silence.from)
	if passed >= silenceMost {
		r.silence = silence{}
		r.log.Info(logUtterance, "turn", id, "why", "the server heard nobody")
		r.commitRefused(id)
		return
	}
	for r.silence.sent < silenceFirst+passed && len(r.pending) < maxPending {
		var frame []byte
		frame, r.raw = appendFrame(nil, r.raw, make([]int16, int(silencePiece*time.Duration(r.d.Rate)/time.Second)))
		r.pending = append(r.pending, frame)
		r.silence.sent += silencePiece
	}
	r.at(time.Now().Add(silencePiece))
}

// requestOf finds the request that a new answer is to, -1: nobody's. A server that returns the metadata says it; one that
// answers by itself answers the latest utterance that it has written down; the others answer in order.
func (r *conversation) requestOf(w *wireResponse) int {
	if t, ok := w.Metadata["turn"].(string); ok {
		return slices.IndexFunc(r.creates, func(c create) bool { return string(c.turn) == t })
	}
	at := min(0, len(r.creates)-1)
	for i, c := range r.creates {
		if c.implied && c.heard {
			at = i
		}
	}
	return at
}

// granted takes a request off the list, and those before it that its answer took the place of.
func (r *conversation) granted(at int) create {
	c := r.creates[at]
	keep := r.creates[:0]
	for i, o := range r.creates {
		if i > at || i < at && !(c.implied && o.implied) {
			keep = append(keep, o)
		}
	}
	r.creates = keep
	return c
}

// expecting tells that an answer is still to come that somebody waits for.
func (r *conversation) expecting() bool {
	return slices.ContainsFunc(r.creates, func(c create) bool { return !c.cancelled })
}

// answerFailed ends what an error event says the end of, where no response.done follows (Dialect.Failures).
func (r *conversation) answerFailed(e *wireError) {
	for id, p := range r.responses {
		if !p.ended && !p.cancelled {
			r.responseDone(&wireResponse{ID: string(id), Status: "failed", StatusDetails: &statusDetails{Type: "failed", Error: e}})
			return
		}
	}
	if i := slices.IndexFunc(r.creates, func(c create) bool { return !c.cancelled }); i >= 0 {
		t := r.creates[i].turn
		r.heardOf(t)
		r.createRefused(t, e)
	}
}
