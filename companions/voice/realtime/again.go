package realtime

import (
	"slices"

	"conch/companions/voice/kit"
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

// untold is a turn for which the next session is asked nothing: the coordinator knows it as one that was asked for, or as one
// that was not even heard.
type untold struct {
	turn  turn.ID
	asked bool
}

// repeat makes the plan what the next session is asked for, and returns whom that leaves without an answer.
func (p *plan) repeat(open *asked, said *kit.History) (over []untold) {
	outcomes := map[turn.ID]outcome{}
	keep := make([]request, 0, len(p.requests))
	for i, o := range p.requests {
		t := turn.TurnOf(o.order)
		if o.resumes() { // what broke off is for the next session, as long as the machine waits for it
			keep = append(keep, o)
			continue
		}
		f, known := outcomes[t]
		if !known {
			f = p.outcomeOf(t, open, said)
			outcomes[t] = f
			if f == outcomeTold {
				p.settled = t
				over = append(over, untold{t, asks(p.requests, t)})
			}
		}
		if f == outcomeAgain || f == outcomeRest && i >= p.next {
			keep = append(keep, o)
		}
	}
	p.resend = p.next > 0 && len(keep) > 0
	p.requests, p.next = keep, 0
	return over
}

func (p *plan) outcomeOf(t turn.ID, open *asked, said *kit.History) outcome {
	if t == "" {
		return outcomeAgain
	}
	if t == p.settled {
		return outcomeOver
	}
	sent := p.requests[:p.next]
	committed := slices.ContainsFunc(sent, func(o request) bool {
		c, ok := o.order.(turn.CommitInput)
		return ok && c.Turn == t
	})
	asked := asks(sent, t)
	taken := committed && !open.committed(t) || asked && !open.created(t)
	switch {
	case !committed && !asked:
		return outcomeAgain
	case !taken && t != p.resent:
		p.resent = t
		return outcomeAgain
	case taken && !asked && said.HasWords(t):
		return outcomeRest
	}
	return outcomeTold
}

// asks tells whether an answer to a turn is among these.
func asks(requests []request, t turn.ID) bool {
	return slices.ContainsFunc(requests, func(o request) bool {
		c, ok := o.order.(turn.CreateResponse)
		return ok && c.Turn == t
	})
}
