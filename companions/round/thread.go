package round

import (
	"cmp"
	"math"
	"slices"
)

// tie is how far a message belongs to an exchange with somebody: reply pairs, who called whom by name, questions that wait
// for an answer, nearness and topic. A room with several threads at once is told apart by it (ROOM.md 4.4, 4.5).
type tie struct {
	weight float64 // sum of the features by their weights
	share  float64 // of all ties, 0 to 1
	more   float64 // share above what it would be by chance, 0 to 1
	why    string
	feats  [tieFeatures]float64
}

// Features of a tie between a message's sender and somebody else, 0 to 1 where not said otherwise.
const (
	tieCalledMe   = iota // the last one who called the sender by name is they
	tieCalledMeAt        // ... how near that is
	tieOpen              // ... and the sender has not spoken since
	tieICalled           // the last one whom the sender called by name is they
	tieICalledAt         // ... how near that is
	tieNear              // how near their last message is
	tieJust              // they spoke directly before
	tieAsked             // their last message is a question and this one is none
	tieTopic             // words in common with what they said, 0 to 2, and how near that is
	tieNamed             // this message mentions them
	tieOther             // their last message called somebody else
	tieExchange          // how often they spoke directly before or after the sender, and how near that is, 0 to 3
	tieActive            // their part of what was said
	tieFeatures
)

// tieWeights were fitted to the part for development of two published collections of dialogues between several people
// (companions.Method), starting from even ones, and rounded to quarters; they know nothing of names, topics or platforms.
var tieWeights = [tieFeatures]float64{
	tieCalledMe: 1.25, tieCalledMeAt: 1.25, tieOpen: 0.5, tieICalled: 1.5, tieICalledAt: 1, tieNear: 1, tieJust: 0.5,
	tieAsked: 0.5, tieTopic: 2, tieNamed: 2.75, tieOther: -0.5, tieExchange: 1, tieActive: 0.5,
}

// freshTie is what is left of nearness and topic where a person begins something new: so little that the one who spoke last
// does not keep the word for that alone.
const freshTie = 0.15

// nearness falls with the number of messages between.
func nearness(k int) float64 { return math.Exp2(-float64(k) / 3) }

// bind works out the ties of this message's sender; where the topic is fresh, mostly from names and questions.
func (s *scene) bind(fresh bool) map[Participant]tie {
	me := s.now.From
	var others []Participant
	for _, id := range s.ids {
		if Participant(id) != me {
			others = append(others, Participant(id))
		}
	}
	for _, h := range s.past {
		if h.From != me && h.From != "" && !slices.Contains(others, h.From) {
			if _, gone := h.From.Companion(); !gone {
				others = append(others, h.From)
			}
		}
	}
	ties := make(map[Participant]tie, len(others))
	calledMe, iCalled := false, false
	feats := make(map[Participant]*[tieFeatures]float64, len(others))
	for _, p := range others {
		feats[p] = &[tieFeatures]float64{}
	}
	n := len(s.past)
	quiet := true // the sender has not spoken after what is looked at
	for k := range n {
		h := s.past[n-1-k]
		if h.From == me {
			quiet = false
			for _, p := range h.called {
				if f := feats[p]; f != nil && !iCalled {
					f[tieICalled], f[tieICalledAt] = 1, nearness(k)
				}
			}
			iCalled = iCalled || len(h.called) > 0
			// Whoever speaks before and after somebody is in an exchange with them.
			for _, j := range []int{n - 2 - k, n - k} {
				if j >= 0 && j < n {
					if f := feats[s.past[j].From]; f != nil {
						f[tieExchange] += 0.5 * nearness(k)
					}
				}
			}
			continue
		}
		f := feats[h.From]
		if f == nil {
			continue
		}
		if f[tieNear] == 0 { // their last message
			f[tieNear] = nearness(k)
			if k == 0 {
				f[tieJust] = 1
			}
			if (h.intent == Question || h.intent == Clarification) && s.now.intent != Question {
				f[tieAsked] = 1
			}
			if len(h.called) > 0 && !slices.Contains(h.called, me) {
				f[tieOther] = 1
			}
		}
		if slices.Contains(h.called, me) && !calledMe {
			calledMe = true
			f[tieCalledMe], f[tieCalledMeAt] = 1, nearness(k)
			if quiet {
				f[tieOpen] = 1
			}
		}
		f[tieActive] += 1 / float64(n)
		f[tieTopic] = max(f[tieTopic], min(2, float64(shared(h.content, s.now.content)))*nearness(k/2))
	}
	for _, p := range s.now.mentioned {
		if f := feats[p]; f != nil {
			f[tieNamed] = 1
		}
	}
	total := 0.0
	for _, p := range others {
		t := tie{feats: *feats[p]}
		if fresh {
			for _, i := range []int{tieICalled, tieICalledAt, tieNear, tieJust, tieTopic, tieExchange, tieActive} {
				t.feats[i] *= freshTie
			}
		}
		for i, x := range t.feats {
			t.weight += x * tieWeights[i]
		}
		t.why = t.reason()
		ties[p] = t
		total += math.Exp(t.weight)
	}
	for _, p := range others {
		t := ties[p]
		t.share = math.Exp(t.weight) / total
		if even := 1 / float64(len(others)); len(others) > 1 {
			t.more = max(0, (t.share-even)/(1-even))
		}
		ties[p] = t
	}
	return ties
}

// reason is the strongest feature, in words.
func (t tie) reason() string {
	switch f := t.feats; {
	case f[tieNamed] > 0:
		return "it is mentioned"
	case f[tieCalledMe] > 0 && f[tieCalledMeAt] >= 0.5:
		return "it just spoke to the speaker by name"
	case f[tieICalled] > 0 && f[tieICalledAt] >= 0.5:
		return "the speaker just spoke to it by name"
	case f[tieAsked] > 0 && f[tieNear] >= 0.5:
		return "its question waits for an answer"
	case f[tieCalledMe] > 0:
		return "it spoke to the speaker by name before"
	case f[tieICalled] > 0:
		return "the speaker spoke to it by name before"
	case f[tieTopic] > 0:
		return "the message goes on with what it said"
	case f[tieJust] > 0:
		return "it spoke directly before"
	case f[tieExchange] > 0:
		return "it and the speaker have been talking"
	}
	return "it was near in the conversation"
}

// Nearest is whom a message is most likely for, or who is most likely to answer it, if somebody is: the companions present,
// the strongest tie first. It is what the room's judgement makes of threads, before it asks whether anybody should speak.
func Nearest(v View) []CompanionID {
	s := newScene(v)
	ids := slices.DeleteFunc(slices.Clone(s.ids), func(id CompanionID) bool { return Participant(id) == s.now.From })
	slices.SortStableFunc(ids, func(a, b CompanionID) int {
		return cmp.Or(-cmp.Compare(s.near[Participant(a)].weight, s.near[Participant(b)].weight), cmp.Compare(draw(v.Message.ID, a), draw(v.Message.ID, b)))
	})
	return ids
}
