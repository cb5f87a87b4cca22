package recorded

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Score is how many answers of a kind are right, of a part of the dialogues, and how many a simple rule gets right.
type Score struct {
	Kind       string `json:"kind"`
	Part       string `json:"part"`
	N          int    `json:"n"`
	Right      int    `json:"right"`
	Simple     int    `json:"simple_right,omitempty"` // of the simple rule, for kinds that have one
	SimpleRule string `json:"simple_rule,omitempty"`
}

// Method says how the scores are made, for whoever reads them.
const Method = `Every entry is put to the rules that run in a room, with what was said before it and nothing after it.
Dialogues that share a message (same sender, same text of 12 bytes or more) form a group, called after its first
dialogue by name; a group is held out if the first byte of the SHA-256 of that name is odd. The weights of ties were
fitted on the other part only; the rules of what people say at home were written with all of it in view, and no part
of that is unseen. Nothing is learned while it runs. Where it is given that somebody was meant or
spoke, the best is named even if the room would have stayed silent.`

// leastShared is the length, in bytes, from which a message tells that two dialogues overlap: everybody says "thanks".
const leastShared = 12

// HeldOut says which dialogues are not looked at while the rules are developed. Published collections cut overlapping
// pieces from one conversation; pieces that overlap stay on one side.
func HeldOut(all []Dialogue) map[string]bool {
	group := make(map[string]string)
	find := func(d string) string {
		for group[d] != d {
			d = group[d]
		}
		return d
	}
	first := make(map[Line]string)
	for _, d := range all {
		group[d.Dialogue] = d.Dialogue
	}
	for _, d := range all {
		for _, m := range d.Messages {
			if len(m.Text) < leastShared {
				continue
			}
			m.ID = ""
			if other, seen := first[m]; seen {
				a, b := find(d.Dialogue), find(other)
				group[max(a, b)] = min(a, b)
			} else {
				first[m] = d.Dialogue
			}
		}
	}
	out := make(map[string]bool)
	for _, d := range all {
		out[d.Dialogue] = sha256.Sum256([]byte(find(d.Dialogue)))[0]&1 == 1
	}
	return out
}

// simpleRules are what the kinds are compared with.
var simpleRules = map[string]string{
	KindNext:    "most active other",
	KindWithout: "who addressed me, else whom I addressed, else last",
	KindReply:   "who addressed me, else whom I addressed, else last",
}

// Scores counts answers by kind and part, in a fixed order; kinds that do not occur are left out.
func Scores(answers []Answer) []Score {
	var all []Score
	for _, kind := range []string{KindAddressed, KindUnnamed, KindWithout, KindReply, KindNext, KindSpeaker} {
		for _, part := range []string{"developed on", "held out", "all"} {
			s := Score{Kind: kind, Part: part, SimpleRule: simpleRules[kind]}
			for _, a := range answers {
				if part == "held out" && !a.HeldOut || part == "developed on" && a.HeldOut {
					continue
				}
				right := a.Right
				switch {
				case kind == KindWithout && a.Without != nil:
					right, a = a.Without.Right, *a.Without
				case kind == KindUnnamed && a.Kind == KindReply:
					right = !a.calledWrong
				case a.Kind != kind:
					continue
				}
				s.N++
				s.Right += count(right)
				s.Simple += count(a.simple)
			}
			if s.N > 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

// groupLeast is how many answers a kind of dialogue has to have to be counted by itself.
const groupLeast = 15

// Groups counts who should speak by kind of dialogue, the lowest first; the small kinds are one.
func Groups(answers []Answer) []Score {
	by := make(map[string]*Score)
	for _, a := range answers {
		if a.Kind != KindSpeaker || a.About == "" {
			continue
		}
		if by[a.About] == nil {
			by[a.About] = &Score{Kind: KindSpeaker, Part: a.About}
		}
		by[a.About].N++
		by[a.About].Right += count(a.Right)
	}
	var all []Score
	small := Score{Kind: KindSpeaker, Part: fmt.Sprintf("kinds of fewer than %d", groupLeast)}
	for _, s := range by {
		if s.N < groupLeast {
			small.N, small.Right = small.N+s.N, small.Right+s.Right
		} else {
			all = append(all, *s)
		}
	}
	if small.N > 0 {
		all = append(all, small)
	}
	slices.SortFunc(all, func(a, b Score) int {
		return cmp.Or(cmp.Compare(a.Right*b.N, b.Right*a.N), cmp.Compare(a.Part, b.Part))
	})
	return all
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

var kindWords = map[string]string{
	KindAddressed: "begins with a name: whom it calls",
	KindUnnamed:   "does not: calls nobody wrong",
	KindWithout:   "name taken off: whom it is for",
	KindReply:     "no name at its beginning: whom it is for",
	KindNext:      "who speaks next",
	KindSpeaker:   "who should speak, if anybody",
}

func (s Score) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %-32s %6.2f %%  (%d of %d)", kindWords[s.Kind], s.Part, 100*float64(s.Right)/float64(s.N), s.Right, s.N)
	if s.SimpleRule != "" {
		fmt.Fprintf(&b, "   simple rule %5.2f %% (%s)", 100*float64(s.Simple)/float64(s.N), s.SimpleRule)
	}
	return b.String()
}
