package words

import (
	"math"
	"slices"
)

// Tie is how far a line belongs to an exchange with somebody: reply pairs, who called whom by name, questions that wait
// for an answer, nearness and topic. A room with several threads at once is told apart by it (ROOM.md 4.4, 4.5).
type Tie struct {
	Weight float64 // sum of the features by their weights
	share  float64 // of all ties, 0 to 1
	More   float64 // share above what it would be by chance, 0 to 1
	Why    string  // a code, as Whom has one
	feats  features
}

// Features of a tie between a line's sender and somebody else, 0 to 1 where not said otherwise.
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
// (recorded.Method), starting from even ones, and rounded to quarters; they know nothing of names, topics or platforms.
var tieWeights = features{
	tieCalledMe: 1.25, tieCalledMeAt: 1.25, tieOpen: 0.5, tieICalled: 1.5, tieICalledAt: 1, tieNear: 1, tieJust: 0.5,
	tieAsked: 0.5, tieTopic: 2, tieNamed: 2.75, tieOther: -0.5, tieExchange: 1, tieActive: 0.5,
}

// freshTie is what is left of nearness and topic where a person begins something new: so little that the one who spoke last
// does not keep the word for that alone.
const freshTie = 0.15

// nearness falls with the number of lines between.
func nearness(k int) float64 { return math.Exp2(-float64(k) / 3) }

// features are those of one tie.
type features [tieFeatures]float64

// bind works out the ties of this line's sender; where the topic is fresh, mostly from names and questions.
// named says whether it counts that this line mentions somebody.
func (c *Conversation) bind(fresh, named bool) map[string]Tie {
	me := c.Now.From
	feats := make(map[string]*features)
	var others []string
	meet := func(who string) {
		if who != me && who != "" && feats[who] == nil {
			others, feats[who] = append(others, who), &features{}
		}
	}
	for _, p := range c.companions {
		meet(p.Who)
	}
	for _, l := range c.Past {
		if !l.Companion { // one that has left is nobody to be near to
			meet(l.From)
		}
	}
	c.watch(me, feats)
	for _, p := range c.Now.Mentioned {
		if f := feats[p]; f != nil && named {
			f[tieNamed] = 1
		}
	}
	ties := make(map[string]Tie, len(others))
	total := 0.0
	for _, p := range others {
		t := Tie{feats: *feats[p]}
		if fresh {
			for _, i := range []int{tieICalled, tieICalledAt, tieNear, tieJust, tieTopic, tieExchange, tieActive} {
				t.feats[i] *= freshTie
			}
		}
		for i, x := range t.feats {
			t.Weight += x * tieWeights[i]
		}
		t.Why = t.reason()
		ties[p] = t
		total += math.Exp(t.Weight)
	}
	for _, p := range others {
		t := ties[p]
		t.share = math.Exp(t.Weight) / total
		if even := 1 / float64(len(others)); len(others) > 1 {
			t.More = max(0, (t.share-even)/(1-even))
		}
		ties[p] = t
	}
	return ties
}

// Talked says whether the two have talked with each other.
func (t Tie) Talked() bool {
	return t.feats[tieExchange]+t.feats[tieCalledMe]+t.feats[tieICalled] > 0
}

// Next is the same for the question of who takes the next turn, whoever it may be for: the one who spoke just before, and those who have
// not spoken yet, more than those who have fallen silent.
func (t Tie) Next() float64 {
	x := t.Weight + nextNear*t.feats[tieNear]
	if t.feats[tieActive] == 0 {
		x += nextUnheard
	}
	return x
}

const nextNear, nextUnheard = 2.25, 5

// watch goes back through what was said, and notes what ties the others to me.
func (c *Conversation) watch(me string, feats map[string]*features) {
	n := len(c.Past)
	quiet, calledMe, iCalled := true, false, false // I have not spoken after what is looked at
	for k := range n {
		l := c.Past[n-1-k]
		if l.From == me {
			quiet = false
			for _, p := range l.Called {
				if f := feats[p]; f != nil && !iCalled {
					f[tieICalled], f[tieICalledAt] = 1, nearness(k)
				}
			}
			iCalled = iCalled || len(l.Called) > 0
			for _, j := range []int{n - 2 - k, n - k} { // whoever speaks before and after somebody is in an exchange with them
				if j >= 0 && j < n && feats[c.Past[j].From] != nil {
					feats[c.Past[j].From][tieExchange] += 0.5 * nearness(k)
				}
			}
			continue
		}
		f := feats[l.From]
		if f == nil {
			continue
		}
		if f[tieNear] == 0 {
			c.lastOf(f, l, k)
		}
		if slices.Contains(l.Called, me) && !calledMe {
			calledMe = true
			f[tieCalledMe], f[tieCalledMeAt], f[tieOpen] = 1, nearness(k), one(quiet)
		}
		f[tieActive] += 1 / float64(n)
		f[tieTopic] = max(f[tieTopic], min(2, float64(l.Common(c.Now)))*nearness(k/2))
	}
}

// lastOf notes what the last line of somebody says, k lines ago.
func (c *Conversation) lastOf(f *features, l *Line, k int) {
	f[tieNear], f[tieJust] = nearness(k), one(k == 0)
	f[tieAsked] = one(l.Asks() && c.Now.Intent != Question)
	f[tieOther] = one(len(l.Called) > 0 && !slices.Contains(l.Called, c.Now.From))
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// reason is the code of the strongest feature.
func (t Tie) reason() string {
	switch f := t.feats; {
	case f[tieNamed] > 0:
		return "mentioned"
	case f[tieCalledMe] > 0 && f[tieCalledMeAt] >= 0.5:
		return "just_called"
	case f[tieICalled] > 0 && f[tieICalledAt] >= 0.5:
		return "just_was_called"
	case f[tieAsked] > 0 && f[tieNear] >= 0.5:
		return "waits"
	case f[tieCalledMe] > 0:
		return "called"
	case f[tieICalled] > 0:
		return "was_called"
	case f[tieTopic] > 0:
		return "topic"
	case f[tieJust] > 0:
		return "just_spoke"
	case f[tieExchange] > 0:
		return "exchange"
	}
	return "near"
}
