package coordinator

import (
	"fmt"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// carryOut does what the machine ordered. Nothing here waits: what takes time runs on a goroutine of its own and comes
// back as a fact.
func (r *runner) carryOut(e turn.Effect) {
	switch e := e.(type) {
	case turn.Order:
		if c, ok := e.(turn.CommitInput); ok {
			r.injections.pressEnded(c.Turn, inject.Utterance)
		}
		r.c.o.Voice.Do(e)

	case turn.OpenCapture:
		r.c.o.Mic.Open(e.Turn, e.At)
	case turn.EndCapture:
		r.c.o.Mic.End(e.Turn, e.At, e.Tail)
	case turn.DropCapture:
		r.c.o.Mic.Discard(e.Turn)

	case turn.FlushSpeaker:
		r.flush()
	case turn.OpenSpeech:
		r.openSpeech(e.Turn, e.Held)
	case turn.ReleaseSpeech:
		r.releaseSpeech(e.Turn)
	case turn.CutSpeech:
		r.cutSpeech(e.Turn)
	case turn.CloseSpeech:
		drainSpeech(r, e.Turn)
	case turn.PlayCue:
		r.outputs.playCue(e.Cue)
	case turn.StopCue:
		r.c.o.Speaker.StopCue(e.Cue)
	case turn.SayWords:
		r.sayWords(e)
	case turn.PlaySound:
		r.playSound(e)
	case turn.SetVolume:
		r.c.o.Speaker.SetVolume(e.Volume)

	case turn.CallTool:
		r.callTool(e)
	case turn.StartStream:
		r.startStream(e)
	case turn.StopStream:
		r.stopJob(e.Handle, turn.EndedStopped)
		r.foci.hold(true)
	case turn.StartClaim:
		r.startClaim(e)
	case turn.StopClaim:
		how := turn.EndedHungUp
		if e.Preempted {
			how = turn.EndedPreempted
		}
		r.stopJob(e.Handle, how)
	case turn.StopAlert:
		r.alerts.answer(e)
	case turn.DiscardHandle:
		r.discard(e.Handle, e.Why)

	case turn.EndTurn:
		r.endTurn(e)
	case turn.DropStale:
		r.stale.add(e)
	default:
		panic(fmt.Sprintf("coordinator: nobody carries out %T", e)) //nolint:forbidigo // a new order without a line here; TestEveryOrderIsCarriedOut is the first to know
	}
}

// flush carries out FlushSpeaker: after a press it is already done.
func (r *runner) flush() {
	if !r.outputs.flushed {
		r.outputs.drop()
	}
	if s := r.speech; s != nil {
		s.closed = true
		r.c.speech.CompareAndSwap(s, nil)
		s.src.Close()
	}
}
