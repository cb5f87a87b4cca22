package round

import (
	"fmt"
	"strings"
	"time"
)

// tells writes an order as a story does: what a person would want to know of it.
func tells(e Effect) string {
	switch e := e.(type) {
	case Send:
		return "send " + showPacket(e.Packet)
	case Hush:
		return "HUSH " + q(e.Why)
	case Prepare:
		s := fmt.Sprintf("prepare %s for %s %s", e.Companion, showPlace(e.Place), q(e.Why))
		if e.Turn != "" {
			s += " turn=" + e.Turn
		}
		return s
	case Speak:
		return fmt.Sprintf("SPEAK %s for %s", e.Companion, showPlace(e.Place))
	case Abandon:
		return fmt.Sprintf("abandon %s for %s %s", e.Companion, showPlace(e.Place), q(e.Why))
	case Lost:
		return fmt.Sprintf("lost turn=%s %s", e.Turn, q(e.Why))
	case Refine:
		return fmt.Sprintf("refine %s until %v: %s", showPlace(e.Place), e.Until, showVotes(e.Votes))
	case Unasked:
		return "unasked " + showPlace(e.Place)
	case Remember:
		return "remember " + showMessage(e.Message)
	case Correct:
		return fmt.Sprintf("correct %s to %s", e.ID, q(e.Text))
	case Record:
		return "record " + showEntry(e.Entry)
	case Rename:
		return fmt.Sprintf("rename %s to %s (%s) %s", e.Card, e.To, e.Name, q(e.Why))
	case MembersChanged:
		return "members " + q(e.Why)
	case PressesCount:
		return fmt.Sprintf("presses of %s count: %v", e.Name, e.Count)
	case Ignored:
		s := "ignored " + e.What
		if e.From != "" {
			s += " of " + string(e.From)
		}
		return s + ": " + e.Why
	}
	return fmt.Sprintf("%T?", e)
}

func q(s string) string { return fmt.Sprintf("%q", s) }

func showPlace(p Place) string {
	return fmt.Sprintf("%d%s/%d/%s", p.Epoch.N, p.Epoch.Device, p.Number, p.Message)
}

func showVotes(votes []Vote) string {
	var parts []string
	for _, v := range votes {
		s := fmt.Sprintf("%s %s %g", v.From, v.State, v.Importance)
		if v.Selected {
			s += " selected"
		}
		if v.Closing != ClosingNone {
			s += " " + string(v.Closing)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func showMessage(m Message) string {
	s := fmt.Sprintf("%s of %s %s", m.ID, m.From, q(m.Text))
	if len(m.To) > 0 {
		s += fmt.Sprintf(" to %v", m.To)
	}
	if len(m.Metadata.Joins) > 0 {
		s += fmt.Sprintf(" joins %v", m.Metadata.Joins)
	}
	if len(m.Metadata.Queue) > 0 {
		s += fmt.Sprintf(" then %v", m.Metadata.Queue)
	}
	if m.Metadata.Silence {
		s += " silence"
	}
	return s
}

func showPacket(p Packet) string {
	switch p := p.(type) {
	case Press:
		return fmt.Sprintf("press %d%s", p.Epoch.N, p.Epoch.Device)
	case PressOver:
		return fmt.Sprintf("press over %d%s", p.Epoch.N, p.Epoch.Device)
	case Message:
		return fmt.Sprintf("message %s at %s", showMessage(p), showPlace(p.Place()))
	case Votes:
		return fmt.Sprintf("votes %s: %s", showPlace(p.Place), showVotes(p.Votes))
	case Claim:
		s := fmt.Sprintf("claim %s for %s", p.Companion, showPlace(p.Place))
		if len(p.Extras) > 0 {
			s += fmt.Sprintf(" then %v", p.Extras)
		}
		if len(p.Instead) > 0 {
			s += fmt.Sprintf(" instead of %v", p.Instead)
		}
		return s
	case Withdraw:
		return fmt.Sprintf("withdraw %s for %s %s", p.Companion, showPlace(p.Place), q(p.Why))
	case Speaking:
		s := fmt.Sprintf("speaking %s for %s", p.Companion, showPlace(p.Place))
		if p.LeftMS > 0 {
			s += fmt.Sprintf(" left %v", time.Duration(p.LeftMS)*time.Millisecond)
		}
		return s
	case Release:
		s := fmt.Sprintf("release %s for %s", p.Companion, showPlace(p.Place))
		if !p.OK {
			s += " FAILED " + q(p.Why)
		}
		if p.Heard != nil {
			s += " heard " + q(*p.Heard)
		}
		return s
	case Ended:
		return "ended " + showPlace(p.Place)
	case Beat:
		s := "beat"
		if p.Ask {
			s += " ask"
		}
		if p.Cards != nil {
			s += " brings " + cardList(p.Cards)
		}
		return s
	case Gone:
		return "gone"
	case HistoryAsk:
		return "history?"
	case History:
		return fmt.Sprintf("history to %s: %d messages", p.To, len(p.Messages))
	case Control:
		return fmt.Sprintf("control %q", p.Companion)
	}
	return fmt.Sprintf("%T", p)
}

func showEntry(e Entry) string {
	s := string(e.Kind)
	if e.Companion != "" {
		s += " " + string(e.Companion)
	}
	if e.Place != nil && e.Place.Message != "" {
		s += " " + showPlace(*e.Place)
	}
	if d := e.Decision; d != nil {
		s += fmt.Sprintf(" winner=%q order=%v", d.Winner, d.Order)
		if len(d.Absent) > 0 {
			s += fmt.Sprintf(" absent=%v", d.Absent)
		}
		if d.AtLimit {
			s += " at the deadline"
		}
	}
	if e.Why != "" {
		s += " " + q(e.Why)
	}
	return s
}
