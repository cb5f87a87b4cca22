package realtime

import (
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

// transcriptOf finds whose words a transcript has, under the item that the utterance has in this session.
func (r *conversation) transcriptOf(id turn.ItemID) (turn.ID, turn.ItemID) {
	t := r.turnOfItem(string(id))
	if t == "" && r.d.OtherTranscripts && len(r.asked.untranscribed) > 0 {
		t, id = r.asked.untranscribed[0].turn, r.asked.untranscribed[0].item
	}
	r.asked.transcribed(t)
	return t, id
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
	if !r.asked.committed(id) {
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
