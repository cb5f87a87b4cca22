package recorded

import (
	"cmp"
	"slices"
	"strings"
)

// What the answers are compared with.

// prefix is whom a line begins with, as simply as can be: for the baseline, which shall not profit from the rules.
func (t *table) prefix(m Line) []string {
	for _, n := range t.names {
		if n != "" && n != m.From && len(m.Text) > len(n) && strings.EqualFold(m.Text[:len(n)], n) && strings.ContainsAny(m.Text[len(n):len(n)+1], ":,") {
			return []string{n}
		}
	}
	return nil
}

// lastPartner is the simple rule for whom a message is: who addressed me last, else whom I addressed last, else who spoke last.
func (t *table) lastPartner(i int) string {
	me, last := t.d.Messages[i].From, ""
	mine := ""
	for k := i - 1; k >= 0; k-- {
		switch m := t.d.Messages[k]; {
		case m.From != me && slices.Contains(t.calls[k], me):
			return m.From
		case m.From == me && mine == "" && len(t.calls[k]) > 0:
			mine = t.calls[k][0]
		case m.From != me && last == "":
			last = m.From
		}
	}
	return cmp.Or(mine, last)
}

// mostActive is the simple rule for who speaks next: who has spoken most, the speaker apart; of equals the last one.
func (t *table) mostActive(i int) string {
	count := make(map[string]int)
	best := ""
	for _, m := range t.d.Messages[:i+1] {
		if m.From != t.d.Messages[i].From {
			count[m.From]++
			if best == "" || count[m.From] >= count[best] {
				best = m.From
			}
		}
	}
	return best
}
