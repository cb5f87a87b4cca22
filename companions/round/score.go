package round

import (
	"fmt"
	"slices"

	"conch/companions/round/because"
	"conch/companions/words"
)

// The initiative score (the table of ROOM.md 5; seed: collaborate, "Self-Selection by Relevance and Expertise"): terms are added, the sum
// is kept to 0..9, and the room's and the companion's settings move it, because Decide compares it with a fixed five.
const (
	expertiseWeight = 5
	openWeight      = 5
	viewsWeight     = 5
	skillScore      = 9
	relevanceWords  = 3
	silentWeight    = 1
	silentTurns     = 3
	spokeWeight     = -2
	toneWeight      = 2
	exchangeWeight  = 6
	engagedWeight   = -2
	silenceWeight   = 5
	involvedWeight  = 2
	scoreMost       = 9
	shareWindow     = 10 // companion turns
	shareLeast      = 4  // ... from which shares mean something
	rapidTurns      = 4  // messages between the same two, this one included
	certainMargin   = 4  // from which the rules are certain of a score
)

// score adds the terms up and makes them a vote.
func (s *scene) score(c Card, v *Vote) {
	now := s.now
	silence := now.Metadata.Silence
	if silence { // judged by what is open
		if len(s.past) == 0 {
			v.say(because.Of("nothing_open"), s.name)
			return
		}
		now = s.past[len(s.past)-1]
		if why := s.closed(now, c); why != "" {
			v.say(why, s.name)
			return
		}
	}
	person := now.From.Human()
	// What a companion says in the imperative is advice, and nobody else's task.
	asks := now.Asks() || now.Intent == words.Request && person || s.whom.Open && !silence
	var terms []Term
	var whys []because.Reason // of each term
	put := func(name string, value float64, why because.Reason) {
		if value != 0 {
			terms, whys = append(terms, Term{name, value, why.English(s.name)}), append(whys, why)
		}
	}
	field := s.expertise(c, now)
	if skill := now.Skill(c.knowledge()); skill != "" && asks {
		put("skill", skillScore, because.Of("skill", "what", skill))
	} else {
		if asks && field != "" {
			put("expertise", expertiseWeight, because.Of("expertise", "what", field))
		}
		switch {
		case asks && person && !silence && words.Known().SeveralViews(now.Text):
			put("views", viewsWeight, because.Of("views"))
		case asks && person && !silence && s.nobodysField(now):
			put("open", openWeight, because.Of("open"))
		}
		rel, why := s.relevance(c, now)
		put("relevance", rel, why)
		eager := because.Of("talkative")
		if c.Talkativeness < 0 {
			eager = because.Of("reserved")
		}
		put("talkativeness", float64(max(-2, min(2, c.Talkativeness))), eager)
		switch k, ok := s.talk.Since(string(c.ID)); {
		case ok && k == 0 && !(person && s.nearest(c.ID)):
			put("spoke", spokeWeight, because.Of("spoke_last"))
		case k > silentTurns && (!person || s.nearest(c.ID)):
			put("silent", silentWeight, because.Of("long_silent", "n", because.Count(k)))
		}
		tone, why := toneTerm(c, now)
		put("tone", tone, why)
		if t, ok := s.talk.Ties[string(c.ID)]; ok && !silence {
			put("exchange", exchangeWeight*t.More, because.Of(t.Why))
		}
		if a, b, ok := s.talk.ToAndFro(rapidTurns); ok && a != string(c.ID) && b != string(c.ID) && !silence && !(s.talk.Fresh && asks) {
			put("engaged", engagedWeight, because.Of("two_talk", "who", a+" "+b))
		}
		if silence {
			put("silence", silenceWeight, because.Of("silence"))
		}
	}
	sum := 0.0
	for _, t := range terms {
		sum += t.Value
	}
	sum = max(0, min(scoreMost, sum))
	settled, scored := 0.0, len(terms)
	setBy := func(name string, value float64, why string) {
		if settled += value; value != 0 {
			terms = append(terms, Term{name, value, why})
		}
	}
	setBy("threshold", speakFrom-s.v.Manners.Threshold, fmt.Sprintf("the room's threshold is %g", s.v.Manners.Threshold))
	setBy("involvement", involved(c.Involvement), "its involvement is "+string(c.Involvement))
	setBy("room", involved(s.v.Room), "the room's involvement is "+string(s.v.Room))
	v.Terms = terms
	v.Importance = max(0, min(importanceMax, sum+settled))
	v.say(decisive(terms[:scored], whys, sum, v.Importance), s.name)
	if why := s.needless(asks); why != "" {
		v.say(why, s.name)
	} else if v.Importance >= speakFrom {
		v.State = StateSpeak
	}
}

// nearest says whether it has talked with the sender, and nobody is nearer: then it answers because it is talked with, and not to go on by
// itself.
func (s *scene) nearest(id CompanionID) bool {
	t := s.talk.Ties[string(id)]
	ok := t.Talked()
	for _, o := range s.talk.Ties {
		ok = ok && o.Weight <= t.Weight
	}
	return ok
}

func involved(i Involvement) float64 {
	switch i {
	case InvolvementLow:
		return -involvedWeight
	case InvolvementHigh:
		return involvedWeight
	}
	return 0
}

// needless is why nobody need answer, whatever its score.
func (s *scene) needless(asks bool) because.Reason {
	switch {
	case s.now.Metadata.Silence || asks:
	case s.now.Intent == words.Approval:
		return because.Of("thanks")
	case s.now.Intent == words.Farewell:
		return because.Of("goodbye")
	}
	return ""
}

// decisive is what decided a score. Who is to be silent has no reason for speaking: it is what took the score below five.
func decisive(terms []Term, whys []because.Reason, sum, importance float64) because.Reason {
	best, worst := -1, -1
	for i, t := range terms {
		if t.Value > 0 && (best < 0 || t.Value > terms[best].Value) {
			best = i
		}
		if t.Value < 0 && (worst < 0 || t.Value < terms[worst].Value) {
			worst = i
		}
	}
	speaks := importance >= speakFrom
	switch {
	case speaks && sum >= speakFrom && best >= 0:
		return whys[best]
	case speaks:
		return because.Of("settings")
	case sum >= speakFrom:
		return because.Of("held_back")
	case worst >= 0 && sum-terms[worst].Value >= speakFrom:
		return whys[worst]
	case best >= 0:
		return because.Of("little")
	}
	return because.Of("nothing")
}

// say is the reason of a vote.
func (v *Vote) say(why because.Reason, name func(string) string) {
	v.Because, v.Reason = why, why.English(name)
}

// expertise is the phrase of its field that the message is about.
func (s *scene) expertise(c Card, h heard) string {
	if h.ID == s.now.ID {
		return s.talk.Field(string(c.ID))
	}
	return h.About(c.knowledge())
}

// nobodysField: nobody who may speak here knows about it, or can do it.
func (s *scene) nobodysField(h heard) bool {
	for id, c := range s.cards {
		if c.Muted || c.Involvement == InvolvementOff || Participant(id) == h.From || slices.Contains(h.Excluded, string(id)) {
			continue
		}
		if s.expertise(c, h) != "" || h.Skill(c.knowledge()) != "" {
			return false
		}
	}
	return true
}

// relevance is 0..4: words of its field and its name in the message, and one more if it has not spoken about them yet.
func (s *scene) relevance(c Card, h heard) (float64, because.Reason) {
	n := h.Topics(c.knowledge())
	if n == 0 {
		return 0, ""
	}
	value := float64(min(relevanceWords, n))
	for _, p := range s.past {
		if p.From == Participant(c.ID) && p.Common(h.Line) > 0 {
			return value, because.Of("relevance")
		}
	}
	return value + 1, because.Of("relevance_new")
}

func toneTerm(c Card, h heard) (float64, because.Reason) {
	switch {
	case h.Tone == words.Confused && slices.Contains(c.Traits, "explainer"):
		return toneWeight, because.Of("explains")
	case h.Tone == words.Frustrated && slices.Contains(c.Traits, "explainer"):
		return toneWeight, because.Of("calms")
	case h.Tone == words.Excited && slices.Contains(c.Traits, "ideas"):
		return toneWeight, because.Of("ideas")
	}
	return 0, ""
}

// overShare says whether one more turn would give id more than its share of the last ten (ROOM.md 6, shares).
func (s *scene) overShare(id CompanionID) bool {
	own, all := s.talk.Share(string(id), shareWindow-1)
	own, all = own+1, all+1
	others := false
	for o, c := range s.cards {
		others = others || o != id && !c.Muted && c.Involvement != InvolvementOff
	}
	return others && all > shareLeast && float64(own) > s.v.Manners.ShareLimit*float64(all)
}

// closed is why a silence after h is left alone (ROOM.md 6): one companion steps in, once, where something is open.
func (s *scene) closed(h heard, c Card) because.Reason {
	switch {
	case h.From == Participant(c.ID):
		return because.Of("unanswered")
	case h.From.Human() && (h.Intent == words.Approval || h.Intent == words.Farewell):
		return because.Of("nothing_open")
	case len(h.Called) > 0 && !slices.Contains(h.Called, string(c.ID)) && Participant(h.Called[0]).Human():
		return because.Of("was_addressed", "who", h.Called[0])
	case !h.From.Human() && !h.Asks():
		return because.Of("nothing_open")
	}
	return ""
}
