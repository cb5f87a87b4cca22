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
func (r *run) speaking(d Dialect) {
	r.d, r.down, r.silence = d, nil, silence{}
	if d.Rate != rate {
		r.down = newDown()
	}
}

// unheard is an utterance whose transcript has not come.
type unheard struct {
	turn turn.ID
	item turn.ItemID
}

const maxUnheard = 16

func (r *run) awaitTranscript(t turn.ID, item turn.ItemID) {
	if len(r.unheard) == maxUnheard { // nothing is transcribed here
		r.unheard = r.unheard[:copy(r.unheard, r.unheard[1:])]
	}
	r.unheard = append(r.unheard, unheard{t, item})
}

// transcriptOf finds whose words a transcript has, under the item that the utterance has in this session.
func (r *run) transcriptOf(id turn.ItemID) (turn.ID, turn.ItemID) {
	t := r.turnOfItem(string(id))
	if t == "" && r.d.OtherTranscripts && len(r.unheard) > 0 {
		t, id = r.unheard[0].turn, r.unheard[0].item
	}
	r.heardOf(t)
	return t, id
}

// heardOf ends the wait for the transcript of a turn, and for those before it.
func (r *run) heardOf(t turn.ID) {
	if i := slices.IndexFunc(r.unheard, func(u unheard) bool { return u.turn == t }); i >= 0 {
		r.unheard = r.unheard[:copy(r.unheard, r.unheard[i+1:])]
	}
	for i := range r.creates {
		if r.creates[i].turn == t {
			r.creates[i].heard = true
		}
	}
}

// unwritten tells that a turn was said and not yet written down, where an answer would miss it.
func (r *run) unwritten(t turn.ID) bool {
	return r.d.AfterTranscript &&
		(slices.Contains(r.commits, t) || slices.ContainsFunc(r.unheard, func(u unheard) bool { return u.turn == t }))
}

// silence is what a server hears after a release that ends an utterance at a silence and at nothing else.
type silence struct {
	turn turn.ID // "": none is being sent
	from time.Time
	sent time.Duration
}

const (
	silencePiece = 100 * time.Millisecond
	silenceFirst = 500 * time.Millisecond // at once: more than ends an utterance (silenceReleased)
	silenceMost  = 4 * time.Second        // then nobody was heard
)

// hush lets the server's ear find the end of an utterance.
func (r *run) hush(id turn.ID) {
	r.silence = silence{turn: id, from: time.Now()}
	r.send(sentEvent{kind: sentCommit, turn: id}, func(id string) any { return r.d.patience(id, silenceReleased) })
	r.sendSilence()
}

// sendSilence sends silence until the server has heard the end: some at once, the rest as it passes.
func (r *run) sendSilence() {
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

// asked finds the request that a new answer is to, -1: nobody's. A server that returns the metadata says it; one that
// answers by itself answers the latest utterance that it has written down; the others answer in order.
func (r *run) asked(w *wireResponse) int {
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
func (r *run) granted(at int) create {
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
func (r *run) expecting() bool {
	return slices.ContainsFunc(r.creates, func(c create) bool { return !c.cancelled })
}

// answerFailed ends what an error event says the end of, where no response.done follows (Dialect.Failures).
func (r *run) answerFailed(e *wireError) {
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
