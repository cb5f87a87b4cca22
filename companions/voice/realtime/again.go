package realtime

import (
	"slices"

	"conch/coordinator/turn"
)

// What becomes of the turns that a lost session leaves: what was said is sent again once, and only while the server has
// given no sign that it took it. One that has may be at the answer, and would give two. Then it is told.
//
//	being said                                   the next session hears it from the beginning, as often as it takes
//	said, and nothing about it came              once more; after that it is told
//	taken, nobody has asked for an answer yet    told in words in the next session, where there are words, and asked there
//	taken and asked for                          told: no answer

type outcome uint8

const (
	outcomeAgain outcome = iota // the next session is asked for all of it
	outcomeRest                 // for what was not yet sent
	outcomeOver                 // its answer has begun, or it was given up
	outcomeTold
)

// repeat makes the plan what the next session is asked for, and returns what those are told for whom it is asked nothing.
func (r *conversation) repeat() (untold []turn.Event) {
	outcomes := map[turn.ID]outcome{}
	keep := make([]request, 0, len(r.plan))
	for i, o := range r.plan {
		t := turn.TurnOf(o.order)
		if o.resumes() { // what broke off is for the next session, as long as the machine waits for it
			keep = append(keep, o)
			continue
		}
		f, known := outcomes[t]
		if !known {
			f = r.outcomeOf(t)
			outcomes[t] = f
			if f == outcomeTold {
				untold = append(untold, r.apologise(t))
			}
		}
		if f == outcomeAgain || f == outcomeRest && i >= r.next {
			keep = append(keep, o)
		}
	}
	r.resend = r.next > 0 && len(keep) > 0
	r.plan, r.next = keep, 0
	return untold
}

func (r *conversation) outcomeOf(t turn.ID) outcome {
	if t == "" {
		return outcomeAgain
	}
	if t == r.settled {
		return outcomeOver
	}
	committed, asked := false, false
	for _, o := range r.plan[:r.next] {
		switch o := o.order.(type) {
		case turn.CommitInput:
			committed = committed || o.Turn == t
		case turn.CreateResponse:
			asked = asked || o.Turn == t
		}
	}
	taken := committed && !slices.Contains(r.commits, t) ||
		asked && !slices.ContainsFunc(r.creates, func(c create) bool { return c.turn == t })
	switch {
	case !committed && !asked:
		return outcomeAgain
	case !taken && t != r.resent:
		r.resent = t
		return outcomeAgain
	case taken && !asked && r.history.hasWords(t):
		return outcomeRest
	}
	return outcomeTold
}

// apologise ends a turn for which nothing more is asked. The coordinator knows it as one that was asked for, or as one that
// was not even heard.
func (r *conversation) apologise(t turn.ID) turn.Event {
	r.settled = t
	r.log.Warn(logGivenUp, "turn", t)
	for _, o := range r.plan {
		if c, ok := o.order.(turn.CreateResponse); ok && c.Turn == t {
			return turn.ResponseRefused{At: r.out.Now(), Turn: t, Say: turn.WordsNoAnswer}
		}
	}
	return turn.InputRefused{At: r.out.Now(), Turn: t}
}
