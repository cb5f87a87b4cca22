package words

import (
	"cmp"
	"slices"
	"strings"
)

// Whom says for whom a person's line is, as far as rules that need no score can tell (ROOM.md 4).
type Whom struct {
	Rule   string   // which of them decides; empty: none, the score does
	Why    string   // a code of the room's reasons (companions/round/because)
	Who    []string // are to answer, in this order, and nobody else
	Nobody bool     // is to
	Not    []string // may not
	Open   bool     // one of those who may has to, whatever the score
}

// Rules, in the order in which they are tried.
const (
	RuleManners  = "manners"  // "leave it to us"
	RuleNobody   = "nobody"   // "nobody answer this"
	RuleAway     = "away"     // a companion that has left is called
	RuleCalled   = "called"   // by name
	RuleAsked    = "asked"    // "ask Ada", "Ada should answer that"
	RulePerson   = "person"   // somebody else is spoken to
	RuleAll      = "all"      // "all of you, ..."
	RuleOthers   = "others"   // "what do the others say?"
	RuleOneOf    = "one of"   // "can one of you ..."
	RuleExcluded = "excluded" // "anyone but Ada"
	RuleHush     = "hush"     // "quiet!"
	RuleGreeting = "greeting" // to nobody in particular
	RuleGoodbye  = "goodbye"  // the same
	RuleThanks   = "thanks"   // and a yes
	RuleThread   = "thread"   // goes on with it
	RuleField    = "field"    // of another
	RuleAsks     = "asks"     // and nobody has the thread
)

// Whom tries the rules on the newest line.
func (c *Conversation) Whom() Whom {
	l := c.Now
	line := phrase(l.words)
	switch {
	case len(l.Called) == 0 && (l.v.onlyOf(line, cueLeaveIt, cueCourtesy) || l.v.onlyOf(line, cueJoinUs, cueCourtesy)): // their device says so
		return Whom{Rule: RuleManners, Nobody: true, Why: "manners"}
	case l.v.says(cueNobody, line), len(l.Called) == 0 && slices.ContainsFunc(l.joined, func(o *Line) bool { return o.v.says(cueNobody, phrase(o.words)) }):
		return Whom{Rule: RuleNobody, Nobody: true, Why: "no_answer"}
	case len(l.Called) > 0 && !slices.ContainsFunc(l.Called, func(p string) bool { return !slices.Contains(c.away, p) }):
		return Whom{Rule: RuleAway, Open: true, Why: "away"}
	case len(l.Called) > 0:
		return c.called()
	case len(l.People) > 0:
		return Whom{Rule: RulePerson, Nobody: true, Why: "spoken_to"}
	case len(l.Asked) > 0:
		return Whom{Rule: RuleAsked, Who: c.here(l.Asked), Why: "asked_for"}
	}
	if w := c.group(line); w.Rule != "" {
		return w
	}
	return c.unaddressed(line)
}

// here are those of a list who are present companions and not left out.
func (c *Conversation) here(list []string) (who []string) {
	for _, p := range list {
		if c.companion(p) != nil && !slices.Contains(who, p) {
			who = append(who, p)
		}
	}
	return who
}

func (c *Conversation) companion(who string) *Party {
	if i, ok := slices.BinarySearchFunc(c.companions, who, func(p *Party, who string) int { return strings.Compare(p.Who, who) }); ok {
		return c.companions[i]
	}
	return nil
}

func (c *Conversation) called() Whom {
	l := c.Now
	who := l.Called
	switch {
	case l.OneOf:
		who = slices.SortedStableFunc(slices.Values(c.here(who)), func(a, b string) int { return -cmp.Compare(c.hits(a), c.hits(b)) })
		return Whom{Rule: RuleCalled, Who: who[:min(1, len(who))], Why: "one_of"}
	case l.First:
		for _, p := range c.ranked() {
			if !slices.Contains(who, p) && !slices.Contains(l.Excluded, p) {
				who = append(slices.Clip(who), p)
			}
		}
	}
	return Whom{Rule: RuleCalled, Who: who}
}

// ranked are the present companions: who knows most of what the line is about, who likes to join in.
func (c *Conversation) ranked() (who []string) {
	for _, p := range c.companions {
		if !p.Quiet && p.Who != c.Now.From {
			who = append(who, p.Who)
		}
	}
	slices.SortStableFunc(who, func(a, b string) int {
		return cmp.Or(-cmp.Compare(c.hits(a), c.hits(b)), -cmp.Compare(c.companion(a).Eager, c.companion(b).Eager), cmp.Compare(a, b))
	})
	return who
}

// group: all of them, the others, or one whoever it is.
func (c *Conversation) group(line string) Whom {
	l := c.Now
	all := l.v.says(cueAll, line) || l.v.says(cueViews, line) || c.everyone(line)
	others := l.v.says(cueOneOther, line) || l.v.says(cueOthers, line) && !all
	var rest []string
	if all || others {
		rest = slices.DeleteFunc(c.ranked(), func(p string) bool { return slices.Contains(l.Excluded, p) })
	}
	switch {
	case others:
		if c.With == nil {
			break
		}
		rest = slices.DeleteFunc(rest, func(p string) bool { return p == c.With.From })
		if len(rest) > 1 && (l.v.says(cueOneOther, line) || l.v.says(cueOneOf, line)) {
			rest = rest[:1]
		}
		if len(rest) > 0 {
			return Whom{Rule: RuleOthers, Who: rest, Why: "others"}
		}
	case l.v.says(cueHush, line) && len(l.words) < 6:
		return Whom{Rule: RuleHush, Nobody: true, Why: "hush"}
	case all && !l.v.says(cueOneOf, line):
		if l.Intent == Farewell || l.Intent == Question && !c.asksViews(line) || len(rest) == 0 {
			return Whom{Rule: RuleAll, Who: c.first(rest), Why: "all_one"}
		}
		if l.Intent == Approval {
			return Whom{Rule: RuleThanks, Nobody: true, Why: "thanks"}
		}
		return Whom{Rule: RuleAll, Who: rest, Why: "all"}
	case l.v.says(cueOneOf, line) && l.wants():
		return Whom{Rule: RuleOneOf, Open: true, Not: l.Excluded, Why: "any_of"}
	case len(l.Excluded) > 0:
		return Whom{Rule: RuleExcluded, Open: l.wants() || len(l.words) > shortExclusion, Not: l.Excluded, Why: "excludes"}
	}
	return Whom{}
}

// shortExclusion is how many words say no more than who shall not answer.
const shortExclusion = 4

// first is who of several answers for all: who has the thread, else the first of them.
func (c *Conversation) first(who []string) []string {
	if c.With != nil && slices.Contains(who, c.With.From) {
		return []string{c.With.From}
	}
	return who[:min(1, len(who))]
}

// everyone says whether "everyone" is spoken to: as a vocative, or told to do something.
func (c *Conversation) everyone(line string) bool {
	l := c.Now
	if !l.v.says(cueEveryone, line) {
		return false
	}
	p := l.v.at(cueEveryone, l.v.skipOpening(line))
	if p != "" { // at the beginning: "everybody, ...", "everybody say hello"
		rest := l.v.skipOpening(line)[len(p)-1:]
		return l.v.begins(cueImperative, rest) || l.v.begins(cueIntroduce, rest) || l.v.says(cueSecond, rest) || l.v.begins(cueHello, rest)
	}
	return l.v.ends(cueEveryone, line) && (l.Intent == Farewell || l.v.says(cueHello, line) || l.Intent == Request || l.Intent == Approval)
}

// asksViews tells a question to which everybody has an answer of their own from one of fact.
func (c *Conversation) asksViews(line string) bool {
	l := c.Now
	return l.v.says(cueViews, line) || l.v.says(cueOpinion, line) || l.v.says(cueEither, line) || l.v.says(cueSecond, line) && l.v.says(cueThinkSay, line) ||
		l.v.says(cueHello, line)
}

// unaddressed: greetings, goodbyes, thanks, and the thread.
func (c *Conversation) unaddressed(line string) Whom {
	l := c.Now
	with := c.With
	if with != nil && c.companion(with.From) == nil {
		with = nil
	}
	mine := c.newest(func(o *Line) bool { return o.From == l.From })
	asked := with != nil && with.Asks() && (c.Last() == with || c.waits(with))
	over := with != nil && mine != nil && c.ends(mine)
	switch {
	case l.Intent == Farewell && l.v.says(cueNight, line), l.Intent == Farewell && with != nil && !over:
		return c.one(RuleGoodbye, "says_goodbye")
	case l.Intent == Farewell:
		return Whom{Rule: RuleGoodbye, Nobody: true, Why: "goodbye"}
	case l.v.begins(cueHello, line) && !l.wants():
		return c.one(RuleGreeting, "greets")
	case l.introduces() && !slices.ContainsFunc(l.Mentioned, func(p string) bool { return c.companion(p) != nil }): // "my name is Ada" is none
		return c.one(RuleGreeting, "introduces")
	case l.Intent == Approval && !asked:
		return Whom{Rule: RuleThanks, Nobody: true, Why: "thanks"}
	}
	if e := c.misunderstood(line); e != nil {
		return Whom{Rule: RuleThread, Who: []string{e.From}, Why: "lost"}
	}
	if with == nil && l.v.says(cueRetract, line) {
		return Whom{Rule: RuleThanks, Nobody: true, Why: "nothing_back"}
	}
	if with != nil && !c.again(mine) && (!over || l.wants() || l.v.says(cueContinue, line)) {
		if other := c.entered(with); other != "" {
			return Whom{Rule: RuleField, Who: []string{other}, Why: "other_field"}
		}
		return Whom{Rule: RuleThread, Who: []string{with.From}, Why: "goes_on"}
	}
	if l.wants() || l.v.says(cuePlea, line) {
		return Whom{Rule: RuleAsks, Open: true, Why: "asks"}
	}
	return Whom{}
}

// again says whether a person asks the same once more: not whoever has answered, but the room.
func (c *Conversation) again(mine *Line) bool {
	return mine != nil && c.Now.Asks() && len(c.Now.words) >= repetitionLeast && Similarity(mine.Text, c.Now.Text) > repeatedQuestion
}

// misunderstood is the line that the person does not understand, where several companions have spoken since the person did, or another
// person was answered; nil: the one that has the thread.
func (c *Conversation) misunderstood(line string) *Line {
	n := len(c.Past)
	several := n > 1 && c.Past[n-1].Companion && c.Past[n-2].Companion
	if c.With != nil && !several || !c.Now.v.says(cueConfused, line) || len(c.Now.words) > confusedWords {
		return nil
	}
	if e := c.explained(); e != nil && c.companion(e.From) != nil && !c.companion(e.From).Quiet {
		return e
	}
	return nil
}

// confusedWords is how long a line is at most that says no more than that somebody does not understand.
const confusedWords = 16

// ends says whether a line of a person ended its thread: thanks that were no answer, or a goodbye.
func (c *Conversation) ends(mine *Line) bool {
	if mine.Intent == Farewell {
		return true
	}
	at := slices.Index(c.Past, mine)
	asked := at > 0 && c.Past[at-1].Asks()
	return !asked && mine.v.onlyOf(mine.bare(), cueApproval, cueApprovalMore)
}

// one is who answers where nobody is called: who has the thread, else whoever the score finds.
func (c *Conversation) one(rule, why string) Whom {
	if c.With != nil && c.companion(c.With.From) != nil && !c.companion(c.With.From).Quiet {
		return Whom{Rule: rule, Who: []string{c.With.From}, Why: why}
	}
	return Whom{Rule: rule, Open: true, Why: why}
}

// entered is who knows more of what the line is about than whoever has the thread; empty: nobody clearly.
func (c *Conversation) entered(with *Line) string {
	topic, fields := c.topic, 0
	for _, p := range c.companions {
		fields += c.hits(p.Who)
	}
	if fields == 0 {
		return ""
	}
	if !c.Now.wants() {
		topic = func(who string) float64 { return float64(c.hits(who)) }
	}
	best, most := "", topic(with.From)
	for _, p := range c.companions {
		if x := topic(p.Who); p.Who != with.From && !p.Quiet && x > most {
			best, most = p.Who, x
		}
	}
	return best
}

// topic is how much of the newest line is somebody's: words of its field, and words of what it talked about.
func (c *Conversation) topic(who string) float64 {
	x := float64(c.hits(who))
	said := 0
	for i, l := range c.Past {
		if l.From == who || i+1 < len(c.Past) && !l.Companion && c.Past[i+1].From == who {
			said = max(said, l.Common(c.Now))
		}
	}
	return x + 1.5*float64(min(said, 2))
}

// hits counts what of somebody's field and skills the newest line is about.
func (c *Conversation) hits(who string) int {
	n, known := c.known[who]
	if p := c.companion(who); !known && p != nil {
		n = c.Now.count(p.Knowledge)
		c.known[who] = n
	}
	return n
}

// ForAll says whether a line is for several who are not named.
func (l *Line) ForAll() bool {
	line := phrase(l.words)
	return l.First || l.v.says(cueAll, line) || l.v.says(cueViews, line) || l.v.says(cueOthers, line) || l.v.says(cueEveryone, line)
}
