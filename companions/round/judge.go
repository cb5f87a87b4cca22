package round

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"conch/companions/round/because"
	"conch/companions/words"
)

// A decision has three layers, each a pure function of the scene: what is owed (obligations.go), what is worth saying (score.go) and what
// is forbidden, here (ROOM.md 3.2). A model betters the second one only: it changes who speaks, and neither how often nor when it ends.

// JudgeAll is the vote of each of the companions on a message, by rules: what obliges it or forbids it to speak first (ROOM.md 4,
// obligations.go), then the initiative score (ROOM.md 5, score.go). The same view gives the same votes.
func JudgeAll(v View, ids []CompanionID) []Vote {
	return each(ids, newScene(v).vote)
}

// byRules are the votes of companions of this device.
func (c Config) byRules(v View, ids []CompanionID) []Vote {
	if c.judge != nil {
		return c.judge(v, ids)
	}
	return JudgeAll(v, ids)
}

// vote is a companion's vote: what is owed first, else what is worth saying, and over both what is forbidden.
func (s *scene) vote(id CompanionID) Vote {
	v := Vote{From: id, MessageID: s.now.ID, State: StateListen, Closing: s.closing(id), Layer: LayerForbidden, Spoke: s.spoke(id)}
	card, ok := s.cards[id]
	if !ok {
		v.forbid(because.Of("absent"), s.name)
		return v
	}
	o := s.owed(card)
	if o.free() {
		v.Layer = LayerWorth
		s.score(card, &v)
	} else {
		v.Layer, v.Reason, v.Because, v.Selected = LayerOwed, o.why.English(s.name), o.why, o.importance > 0
		if v.Selected {
			v.State, v.Importance, v.Terms = StateSpeak, o.importance, []Term{{o.term, o.importance, v.Reason}}
		}
	}
	if _, why := s.forbidden(card, o); why != "" {
		v.forbid(why, s.name)
	}
	return v
}

// closing is the stage that the conversation has reached for a companion.
func (s *scene) closing(id CompanionID) Closing {
	return closings[min(s.talk.Closed(string(id), s.v.Manners.Repetition), len(closings)-1)]
}

// prohibition is a reason why a companion may not speak, whatever is owed to it or worth saying.
type prohibition struct {
	name string
	why  func(s *scene, c Card, o obliged) because.Reason // empty: it may; o is what is owed to it
}

// prohibitions, in the order in which they are named where several hold.
var prohibitions = []prohibition{
	{"mute", func(_ *scene, c Card, _ obliged) because.Reason {
		if c.Muted {
			return because.Of("muted")
		}
		return ""
	}},
	{"self", func(s *scene, c Card, _ obliged) because.Reason {
		if Participant(c.ID) == s.now.From {
			return because.Of("itself")
		}
		return ""
	}},
	{"turns", func(s *scene, _ Card, _ obliged) because.Reason { return s.v.Manners.spent(s.now.Message) }},
	{"nobody", func(s *scene, _ Card, _ obliged) because.Reason { return s.nobody() }},
	{"excluded", func(s *scene, c Card, _ obliged) because.Reason {
		if s.excluded(string(c.ID)) {
			return because.Of("excluded")
		}
		return ""
	}},
	{"handoffs", func(s *scene, c Card, o obliged) because.Reason {
		if n := s.v.Manners.Handoffs; o.term != termQueue && slices.Contains(s.now.Called, string(c.ID)) && s.handoffs() > n {
			return because.Of("handoffs", "by", string(s.now.From), "n", because.Count(n))
		}
		return ""
	}},
	{"extras", func(s *scene, c Card, o obliged) because.Reason {
		n := s.v.Manners.ExtraLimit
		late := !o.asked && slices.Contains(s.queue().late, c.ID)
		if !late && o.free() && !s.now.From.Human() {
			_, extra := s.person()
			late = extra >= n
		}
		if late {
			return because.Of("extras", "n", because.Count(n))
		}
		return ""
	}},
	{"room", func(s *scene, _ Card, o obliged) because.Reason {
		if s.v.Room == InvolvementOff && (o.free() || o.importance > 0 && !o.asked) {
			return because.Of("room_asked_only")
		}
		return ""
	}},
	{"involvement", func(_ *scene, c Card, o obliged) because.Reason {
		if c.Involvement == InvolvementOff && o.free() {
			return because.Of("asked_only")
		}
		return ""
	}},
	{"share", func(s *scene, c Card, o obliged) because.Reason {
		if o.free() && !s.now.From.Human() && s.overShare(c.ID) {
			return because.Of("share", "n", fmt.Sprintf("%.0f", 100*s.v.Manners.ShareLimit))
		}
		return ""
	}},
}

// forbidden is the first limit that keeps a companion from speaking; empty: none does.
func (s *scene) forbidden(c Card, o obliged) (name string, why because.Reason) {
	for _, l := range prohibitions {
		if why := l.why(s, c, o); why != "" {
			return l.name, why
		}
	}
	return "", ""
}

// excluded: whoever speaks wants to hear somebody else.
func (s *scene) excluded(me string) bool {
	return !s.now.Metadata.Silence && (slices.Contains(s.now.Excluded, me) || slices.Contains(s.whom.Not, me)) && !slices.Contains(s.now.Called, me)
}

// nobody: the person wants no answer, or quiet.
func (s *scene) nobody() because.Reason {
	if r := s.whom.Rule; r == words.RuleNobody || r == words.RuleHush {
		return because.Of(s.whom.Why)
	}
	return ""
}

// barredByWords are those of a roster whom a person's words keep from speaking, and by which layer: whoever votes for them, here or elsewhere
// (Decide). It depends on nothing but these very words and who is asked: what was said before, or who else is here, a device may have missed,
// and all have to name the same winner (I4). So words that go on with others keep nobody: what the others were decides, where it is known.
func barredByWords(v View, roster []CompanionID) (who []Silent) {
	if m := v.Message; !m.From.Human() || m.Metadata.Silence || len(m.Metadata.Joins) > 0 || len(roster) == 0 {
		return nil
	}
	var asked Member
	for _, m := range v.Members {
		for _, c := range m.Cards {
			if slices.Contains(roster, c.ID) {
				asked.Cards = append(asked.Cards, c)
			}
		}
	}
	slices.SortFunc(asked.Cards, func(a, b Card) int { return cmp.Compare(a.ID, b.ID) })
	s := newScene(View{Message: v.Message, Members: []Member{asked}})
	called := s.called()
	for _, c := range roster {
		switch nobody := s.nobody(); {
		case nobody != "":
			who = append(who, silenced(c, LayerForbidden, nobody, s.name))
		case s.excluded(string(c)):
			who = append(who, silenced(c, LayerForbidden, because.Of("excluded"), s.name))
		case len(called) > 0 && !slices.Contains(called, string(c)):
			who = append(who, silenced(c, LayerOwed, s.wereAddressed(), s.name))
		}
	}
	return who
}

// termLimit is the term of a vote that a limit forbids to speak.
const termLimit = "limit"

func (v *Vote) forbid(why because.Reason, name func(string) string) {
	v.State, v.Selected, v.Layer, v.Reason, v.Because = StateListen, false, LayerForbidden, why.English(name), why
	v.Terms = append(slices.Clip(v.Terms), Term{termLimit, 0, v.Reason})
}

// bettered is the rules' vote with what a model thinks of it. A model says what is worth saying: what is owed, to this companion or to
// another, and what is forbidden stands, and a conversation comes to its end by one stage at most.
func (v Vote) bettered(model Vote) Vote {
	if v.Layer == LayerOwed || v.Layer == LayerForbidden || v.Selected {
		return v
	}
	model.From, model.MessageID, model.Spoke, model.Selected, model.Layer, model.Certain = v.From, v.MessageID, v.Spoke, false, v.Layer, v.Certain
	if err := CheckVote(model); err != nil {
		v.Reason += " (by rules: the model's vote was refused: " + err.Error() + ")"
		return v
	}
	if model.Because = v.Because; !strings.HasPrefix(model.Reason, v.Reason) { // its own words, or the rules' with a remark
		model.Because = ""
	}
	at := slices.Index(closings, v.Closing)
	stage := slices.Index(closings, model.Closing)
	model.Closing = closings[min(max(at, stage), at+1, len(closings)-1)]
	return model
}

// CertainFrom is the certainty from which room.votes = "auto" asks no model.
const CertainFrom = 0.5

// Certainty is how sure the rules are of what they make of a message, 0 to 1, by the votes of all who could answer it: of what is owed or
// forbidden they are, and of a score by how far the first is from the second or, where nobody is to speak, from five (ROOM.md 10).
func Certainty(all []Vote) float64 {
	first, second, scored := 0.0, 0.0, false
	for _, v := range all {
		switch {
		case v.Selected:
			return 1
		case v.Layer == LayerOwed || v.Layer == LayerForbidden:
			continue
		}
		scored = true
		if x := v.Importance; x > first {
			first, second = x, first
		} else {
			second = max(second, x)
		}
	}
	margin := first - second
	if first < speakFrom {
		margin = speakFrom - first
	}
	if !scored {
		return 1
	}
	return min(1, margin/certainMargin)
}
