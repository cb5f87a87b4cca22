package device

import (
	"fmt"
	"strings"

	"conch/companions/round"
)

// RoomEntry is an entry of the ledger.
type RoomEntry = round.Entry

// EntryText is an entry of the ledger for people: who spoke, why, and one reason for everybody who did not. members are
// those whose names can be known.
func EntryText(e RoomEntry, members []round.Member) string {
	n := namer(members)
	switch e.Kind {
	case round.EntryRound:
		return n.round(e)
	case round.EntryPress:
		return fmt.Sprintf("press    in %s\n", n.device(e.By))
	case round.EntryClaim:
		return fmt.Sprintf("floor    %s takes it\n", n.companion(e.Companion))
	case round.EntryWithdraw:
		return fmt.Sprintf("floor    %s gives it up: %s\n", n.companion(e.Companion), e.Why)
	case round.EntrySpoke:
		return fmt.Sprintf("spoke    %s, %.1f s heard%s\n", n.companion(e.Companion), float64(e.HeardMS)/1000, whyText(e.Why))
	case round.EntryFailed, round.EntryInstead:
		return fmt.Sprintf("%-8s %s%s\n", e.Kind, n.companion(e.Companion), whyText(e.Why))
	case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded, round.EntryEnded:
		return fmt.Sprintf("%-8s %s%s\n", e.Kind, n.said(e.Message), whyText(e.Why))
	case round.EntryMember, round.EntryControl:
		return fmt.Sprintf("%-8s %s%s\n", e.Kind, strings.TrimSpace(n.device(e.By)+" "+n.companion(e.Companion)), whyText(e.Why))
	}
	return fmt.Sprintf("%-8s %s\n", e.Kind, e.Why)
}

func whyText(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

type namer []round.Member

func (n namer) device(id round.DeviceID) string {
	for _, m := range n {
		if m.Device == id {
			return m.Name
		}
	}
	return string(id)
}

func (n namer) companion(id round.CompanionID) string {
	for _, m := range n {
		for _, c := range m.Cards {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return string(id)
}

func (n namer) participant(p round.Participant) string {
	if c, ok := p.Companion(); ok {
		return n.companion(c)
	}
	for _, m := range n {
		if round.Human(m.Device) == p {
			return "person in " + m.Name
		}
	}
	return string(p)
}

func (n namer) said(m *round.Message) string {
	if m == nil {
		return ""
	}
	if m.Metadata.Silence {
		return "silence"
	}
	return fmt.Sprintf("%s: %q", n.participant(m.From), m.Text)
}

// round is one line for the winner and one for everybody who stays silent.
func (n namer) round(e round.Entry) string {
	d := e.Decision
	if d == nil {
		return "round\n"
	}
	var b strings.Builder
	who := "nobody"
	if d.Winner != "" {
		who = n.companion(d.Winner)
	}
	fmt.Fprintf(&b, "round    %s\n         %s speaks: %s (decided after %.0f ms)\n", n.said(e.Message), who, d.Reason, d.Waited)
	for _, s := range d.Silent {
		fmt.Fprintf(&b, "         %s does not: %s\n", n.companion(s.Companion), s.Reason)
	}
	for _, v := range d.Votes {
		if v.From != d.Winner || len(v.Terms) == 0 {
			continue
		}
		var terms []string
		for _, t := range v.Terms {
			terms = append(terms, fmt.Sprintf("%s %+g", t.Name, t.Value))
		}
		fmt.Fprintf(&b, "         importance %g = %s\n", v.Importance, strings.Join(terms, ", "))
	}
	return b.String()
}
