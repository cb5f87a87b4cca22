package realtime

import (
	"log/slog"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// input sends what a person says to this session's server. Servers differ most in how they hear: what ends an utterance, what
// begins the answer to it, and under which item they say what was heard (Dialect).
type input struct {
	utterance *kit.Utterance
	to        *sender
	d         *Dialect
	clock     *clock
	log       *slog.Logger

	turn        turn.ID // whose utterance is being sent; "": none
	sent        int     // samples of it
	downsampler *downsampler
	silence     silence
	scratch     []int16
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

// adapt begins with another dialect.
func (in *input) adapt() {
	in.downsampler, in.silence = nil, silence{}
	if in.d.Rate != rate {
		in.downsampler = newDownsampler()
	}
}

// begin sends the utterance of a turn from its beginning.
func (in *input) begin(t turn.ID) {
	in.turn, in.sent = t, 0
	if in.downsampler != nil {
		in.downsampler.reset()
	}
	in.clear(t)
}

// clear has the server forget what it heard. One that cannot is told to wait until the button is released.
func (in *input) clear(t turn.ID) {
	in.silence = silence{}
	switch s := (sentEvent{kind: sentClear, turn: t}); {
	case in.d.HearsEnd:
		in.to.send(s, func(id string) any { return in.d.patience(id, silenceHeld) })
	case in.d.Clears:
		in.to.send(s, func(id string) any { return wireEvent{Type: "input_audio_buffer.clear", EventID: id} })
	}
}

// stream sends what has come of the utterance: 20 to 40 ms at a time while it is spoken, 100 ms when there is a backlog
// (Realtime, input_audio_buffer.append: <= 15 MiB). It reports whether all was sent.
func (in *input) stream(flush bool) bool {
	const least, usual = rate * 20 / 1000, rate * 40 / 1000
	for len(in.to.pending) < maxAudioAhead {
		n, _, ok := in.utterance.Size(in.turn)
		if !ok {
			in.turn = ""
			return true
		}
		left := n - in.sent
		if left == 0 || (left < least && !flush) {
			return left == 0
		}
		take := usual
		if left > 3*usual {
			take = cap(in.scratch)
		}
		pcm, ok := in.utterance.From(in.turn, in.sent, in.scratch[:0:min(take, cap(in.scratch))])
		if !ok {
			in.turn = ""
			return true
		}
		in.sent += len(pcm)
		in.clock.active = time.Now()
		if in.downsampler != nil {
			pcm = in.downsampler.process(pcm)
		}
		in.to.speech(pcm)
	}
	return false
}

// end says that the utterance is over, to a server that hears silence with silence.
func (in *input) end(t turn.ID) {
	in.turn = ""
	e := sentEvent{kind: sentCommit, turn: t}
	if !in.d.HearsEnd {
		in.to.send(e, func(id string) any { return wireEvent{Type: "input_audio_buffer.commit", EventID: id} })
		return
	}
	in.silence = silence{turn: t, from: time.Now()}
	in.to.send(e, func(id string) any { return in.d.patience(id, silenceReleased) })
}

// sendSilence sends silence until the server has heard the end: some at once, the rest as it passes. It returns the turn of
// which nothing was heard.
func (in *input) sendSilence(asked *asked) (unheard turn.ID) {
	id := in.silence.turn
	if id == "" || in.to.link == nil {
		return ""
	}
	if !asked.committed(id) {
		in.silence = silence{}
		return ""
	}
	passed := time.Since(in.silence.from)
	if passed >= silenceMost {
		in.silence = silence{}
		in.log.Info(logUtterance, "turn", id, "why", "the server heard nobody")
		return id
	}
	for in.silence.sent < silenceFirst+passed && len(in.to.pending) < maxPending {
		in.to.speech(make([]int16, int(silencePiece*time.Duration(in.d.Rate)/time.Second)))
		in.silence.sent += silencePiece
	}
	in.clock.wakeAt(time.Now().Add(silencePiece))
	return ""
}
