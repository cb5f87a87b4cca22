package round

import "slices"

// Step returns the machine after ev and what the driver must now do, in order. It changes nothing that it was given, and the
// same machine and fact give the same answer.
func Step(m Machine, ev Event) (Machine, []Effect) {
	var s step
	s.m = m
	s.clock(ev.event())
	s.take(ev)
	s.settle()
	if _, answered := ev.(Refined); !answered && m.rd.pending != nil && (s.m.rd.pending == nil || s.m.rd.place != m.rd.place) {
		s.do(Unasked{m.rd.place})
	}
	return s.m, s.out
}

// take is the whole machine, one fact a line.
func (s *step) take(ev Event) {
	switch e := ev.(type) {
	case Received:
		s.received(e.From, e.Packet)
	case LinkChanged:
		s.linkChanged(e.Up)
	case Pressed:
		s.pressed(e)
	case PressEnded:
		s.pressEnded(e)
	case Said:
		s.said(e)
	case SaidLate:
		s.saidLate(e)
	case SpeechBegan:
		s.speechBegan(e)
	case SpeechKnown:
		s.speechKnown(e)
	case SpeechEnded:
		s.speechEnded(e)
	case Refined:
		s.refined(e)
	case CardsChanged:
		s.cardsChanged(e.Cards)
	case MembersListed:
		s.membersListed(e.Members)
	case PeopleKnown:
		s.m.people = slices.Clone(e.Names[:min(len(e.Names), maxPeople)])
	case Controlled:
		s.controlled(e.Control)
	case Tick:
		s.id = e.ID
		s.tick()
	}
}

// received: a packet of the device from. Who may say what is checked here; that it was signed was checked before.
func (s *step) received(from DeviceID, p Packet) {
	if from == s.m.cfg.Self || from == "" {
		s.ignore(from, "packet", "it says it comes from here")
		return
	}
	switch p := p.(type) {
	case Press:
		s.pressHeard(from, p)
		s.confirm(from, p)
	case PressOver:
		s.pressOver(from, p)
	case Message:
		s.messageHeard(from, p)
	case Votes:
		s.votesHeard(from, p)
	case Claim:
		s.claimHeard(from, p)
	case Withdraw:
		s.withdrawHeard(from, p)
	case Speaking:
		s.speakingHeard(from, p)
	case Release:
		s.releaseHeard(from, p)
	case Ended:
		s.endedHeard(from, p)
	case Beat:
		s.beatHeard(from, p)
	case Gone:
		s.gone(from, "the broker says that it is gone")
	case HistoryAsk:
		s.historyAsked(from)
	case History:
		s.historyHeard(from, p)
	case Control:
		s.controlHeard(from, p)
	case Seen: // for whoever watches
	default:
		s.ignore(from, "packet", "unknown packet")
	}
}

// step is one Step under way. It is made in layers, and each calls only itself and those below:
//
//	step      facts: what a person, a voice, the time and other devices say (step*.go)
//	rounds    a message, its votes, its decision (rounds.go, votes.go, candidates.go)
//	company   who is here, who lives where, how they are to behave (members.go, names.go, control.go)
//	answers   the floor: epochs, claims, what this device gets ready and says (epoch.go, floor.go, claims.go)
//	orders    what all are made of: the machine's copy and the orders so far (orders.go, history.go)
//	Machine   what is known, without an order (machine.go, state.go, queries.go)
type (
	step    struct{ rounds }
	rounds  struct{ company }
	company struct{ answers }
	answers struct{ orders }
	orders  struct {
		m   Machine
		out []Effect
		id  MessageID // from a Tick: may become a message's
	}
)
