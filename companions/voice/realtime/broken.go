package realtime

import (
	"fmt"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// An answer whose session is lost in the middle: what came of it is heard (TURNS.md 6), and it goes on in the next session.
//
//	drop ──> breakOff: the pump hands over what is here ──> ResponseDone (failed, lost_midway)
//	     ──> CreateResponse (Resume) waits in the plan ──> the next session: the conversation as text, then resume
//
// Its items exist in no session any more, and their samples may still be playing. So they are remembered by lost, and what is
// cut of them changes the conversation that is carried, and is told to a session that has been told more already.

// breakOff ends what was live when the session was lost, and tells whether anything is still on its way to the speaker.
// Whoever calls it settles the broken answers.
func (r *conversation) breakOff() (broken []*response, speaking bool) {
	for id, p := range r.responses {
		switch {
		case p.ended: // complete, and still being spoken
			speaking = true
		case !p.cancelled && p.turn != "" && (p.begun() || p.turn == r.plan.settled): // the turn is not asked for again
			p.ended, p.status, p.say = true, turn.ResponseFailed, turn.WordsLostMidway
			r.plan.answerBegan(p.turn)
			r.c.answered(p.turn, nil, p.seconds, r.guess(p))
			if p.pump != nil {
				p.pump.Close()
			}
			speaking = true
			broken = append(broken, p)
		default:
			p.stopPump()
			delete(r.responses, id)
		}
	}
	for id, it := range r.lost {
		if it.turn != r.plan.settled {
			delete(r.lost, id)
		}
	}
	for id, it := range r.items.of {
		if it.turn == r.plan.settled && it.received > 0 {
			if r.lost == nil {
				r.lost = map[turn.ItemID]*itemInfo{}
			}
			r.lost[id] = it
			r.history.Rename(id, kit.LostItem(id))
		}
	}
	for _, p := range broken { // their words ran ahead of their samples
		for id, it := range r.lost {
			if it.turn == p.turn {
				r.history.Bound(kit.LostItem(id), it.received)
			}
		}
	}
	return broken, speaking
}

// cutLost keeps of an item of a session that is gone what was heard.
func (r *conversation) cutLost(id turn.ItemID, heard int) {
	it := r.lost[id]
	heard = max(0, min(heard, it.received))
	if !r.history.Cut(kit.LostItem(id), heard, it.received) {
		return
	}
	it.received = heard
	text := r.history.Words(kit.LostItem(id))
	if heard == 0 {
		r.history.Remove(kit.LostItem(id))
	}
	if r.link == nil { // the next session is told no more than this
		return
	}
	why := "The person interrupted you, and heard nothing of your last answer."
	if text != "" {
		why = fmt.Sprintf("The person interrupted you. Of your last answer they heard no more than the words that end in: %q", kit.Ending(text))
	}
	r.send(sentEvent{kind: sentText, turn: it.turn}, func(id string) any { return r.d.text(id, "system", why) })
}
