package words

import (
	"maps"
	"slices"
	"strings"
)

// Party is somebody who is in the conversation or has been.
type Party struct {
	Named
	Companion bool // and present; else a person
	Away      bool // a companion that has left; if it is here too, that counts
	Quiet     bool // it may not answer
	Eager     int  // how much it likes to join in
	Knowledge
}

// Said is what somebody said.
type Said struct {
	From      string
	Companion bool     // a companion said it, present or gone; else a person
	To        []string // by its sender, before whom its words call
	Text      string
	Intent    Intent // empty: by its words
	Tone      Tone   // the same
	Closing   bool   // its speaker was about to end the conversation
	NewTopic  bool   // it was asked to change the topic
	Joined    bool   // nobody answered it, and the newest line goes on with it: both get one answer (ROOM.md 4.1)
}

// Line is something that was said, as it was understood.
type Line struct {
	Said
	Reading
	v       vocab
	words   []word
	content map[string]bool
	stems   map[string]string // its words without endings, as phrase, by language, once somebody has asked (stemsIn)
	joined  []*Line           // that it goes on with
}

// Conversation is what has been said, and who is nearest to whoever said the newest line.
type Conversation struct {
	Now   *Line
	Past  []*Line        // oldest first
	Fresh bool           // the newest line begins something new
	Near  map[string]Tie // of its sender with the others
	Ties  map[string]Tie // the same, if it goes on with a topic; else only who was called by name counts
	With  *Line          // the last line of whoever has the thread with its sender (ROOM.md 4.4)

	companions []*Party          // present, by name
	away       []string          // companions that have left
	about      map[string]string // by companion: what of its field the newest line is about
	known      map[string]int    // by companion: how much, once somebody has asked (hits)
}

// Follow understands a conversation; the newest line is apart. Of a party that is given twice the first counts.
// with is who has the thread with the sender; empty: nobody.
func (x *Languages) Follow(parties []Party, past []Said, now Said, with string) *Conversation {
	c := &Conversation{about: make(map[string]string), known: make(map[string]int)}
	known := make(map[string]bool, len(parties))
	named := make([]Named, 0, len(parties))
	for i, p := range parties {
		if known[p.Who] {
			continue
		}
		known[p.Who] = true
		named = append(named, p.Named)
		if p.Companion {
			c.companions = append(c.companions, &parties[i])
		} else if p.Away {
			c.away = append(c.away, p.Who)
		}
	}
	slices.SortFunc(c.companions, func(a, b *Party) int { return strings.Compare(a.Who, b.Who) })
	index := x.Names(named)
	for i, s := range past {
		c.Past = append(c.Past, understand(s, index, i == len(past)-1))
	}
	c.Now = understand(now, index, true)
	for _, l := range c.Past {
		if l.Joined {
			c.Now.join(l)
		}
	}
	for _, p := range c.companions {
		c.about[p.Who] = c.Now.About(p.Knowledge)
	}
	c.Near = c.bind(false, true)
	c.Ties = c.Near
	if !c.Now.Companion && len(c.Now.Mentioned) > 0 { // a mention earns nothing
		c.Ties = c.bind(false, false)
	}
	if last := c.newest(func(l *Line) bool { return l.From == with }); last != nil && (c.continues(last) || c.holds(with)) {
		c.With = last // with several threads at once, who spoke last to somebody need not be whom this line is for
	}
	if c.Fresh = c.newTopic(); c.Fresh {
		c.Ties = c.bind(true, c.Now.Companion)
	}
	return c
}

// understand reads a line; of older ones nobody asks how they sounded.
func understand(s Said, index *Names, fully bool) *Line {
	text := clip(s.Text)
	ws := words(text)
	v := index.of.vocab(ws)
	l := &Line{Said: s, Reading: index.read(text, ws, v, fully), v: v, words: ws}
	l.content = contents(l.v, l.words, fieldLanguage)
	if l.Intent == "" {
		l.Intent = intentOf(l.v, text, l.words)
	}
	if l.Tone == "" && fully {
		l.Tone = toneOf(l.v, text, l.words)
	}
	without := func(list []string, who string) []string {
		return slices.DeleteFunc(list, func(o string) bool { return o == who })
	}
	for i, p := range s.To {
		l.Called = without(l.Called, p)
		l.Called = slices.Insert(l.Called, min(i, len(l.Called)), p)
	}
	l.Called, l.Mentioned = without(l.Called, s.From), without(l.Mentioned, s.From)
	return l
}

// bare are the words of a line without the names, as phrase makes them.
func (l *Line) bare() string {
	ws, from := make([]word, 0, len(l.words)), 0
	for _, n := range l.named {
		ws, from = append(ws, l.words[from:n[0]]...), n[1]
	}
	return phrase(append(ws, l.words[from:]...))
}

// join adds what the same person said directly before, so that "Ada?" and a second later "what time is it?" is a question to Ada.
func (l *Line) join(earlier *Line) {
	if len(l.Called) == 0 {
		l.Called = earlier.Called
	}
	for _, p := range earlier.Mentioned {
		if !slices.Contains(l.Mentioned, p) {
			l.Mentioned = append(l.Mentioned, p)
		}
	}
	for _, p := range earlier.Excluded { // it holds for both, unless the newer line calls them
		if !slices.Contains(l.Excluded, p) && !slices.Contains(l.Called, p) {
			l.Excluded = append(slices.Clip(l.Excluded), p)
		}
	}
	if earlier.wants() && !l.wants() {
		l.Intent = earlier.Intent
	}
	l.content = maps.Clone(l.content)
	maps.Copy(l.content, earlier.content)
	l.joined, l.stems = append(l.joined, earlier), nil
}

func (l *Line) wants() bool {
	return l.Intent == Question || l.Intent == Request || l.Intent == Clarification
}

// Asks says whether a line asks for an answer in words.
func (l *Line) Asks() bool { return l.Intent == Question || l.Intent == Clarification }

// Common counts the words about a topic that a line shares with another.
func (l *Line) Common(o *Line) int { return shared(l.content, o.content) }

// AsksBack says whether a line turns to whoever spoke before: "what do you think?"
func (l *Line) AsksBack() bool { return l.v.says(cueOpinion, phrase(l.words)) }

// Field is what of a companion's field the newest line is about.
func (c *Conversation) Field(who string) string { return c.about[who] }

// Last is the newest line before this one that its sender did not say.
func (c *Conversation) Last() *Line {
	return c.newest(func(l *Line) bool { return l.From != c.Now.From })
}

func (c *Conversation) newest(is func(*Line) bool) *Line {
	for _, l := range slices.Backward(c.Past) {
		if is(l) {
			return l
		}
	}
	return nil
}

const (
	shortWords       = 9
	explained        = 6 // words from which a companion's line explains something
	explainedWindow  = 5 // companion lines
	repeatedQuestion = 0.7
)

// explained is what is to be clarified: of the last companion lines of some length the one this line is nearest to, by its words and by
// who was talking. A passing remark of another does not stand between.
func (c *Conversation) explained() (best *Line) {
	seen, share := 0, -1.0
	other := func(l *Line) bool { return l.Companion && l.From != c.Now.From }
	for _, l := range slices.Backward(c.Past) {
		if !other(l) {
			continue
		}
		if seen++; seen > explainedWindow {
			break
		}
		if x := c.Near[l.From].share; len(l.words) >= explained && x > share {
			best, share = l, x
		}
	}
	if best == nil {
		return c.newest(other)
	}
	return best
}

// topicGoesOn says whether this line stays with what l said (ROOM.md 4.4: until the topic changes).
func (c *Conversation) topicGoesOn(l *Line) bool {
	before := c.newest(func(o *Line) bool { return o.From == c.Now.From })
	if before != nil && Similarity(before.Text, c.Now.Text) > repeatedQuestion {
		return false // the same once more asks the room, not the one who answered
	}
	if l.Asks() && c.Now.Intent == Statement {
		return true // and this is the answer
	}
	if c.otherExpert(l.From) {
		return false
	}
	if l.Asks() && l == c.Past[len(c.Past)-1] {
		return true // a question back: "in which colour?" "which have you got?"
	}
	if l.Common(c.Now) > 0 {
		return true
	}
	line := phrase(c.Now.words)
	if len(c.Now.words) > shortWords || c.Now.v.says(cueNoReference, line) {
		return false
	}
	return c.Now.v.begins(cueGoesOn, line) || c.Now.v.says(cueReference, line)
}

// newTopic says whether a person says something that goes on with nothing: then it does not matter who was talking.
func (c *Conversation) newTopic() bool {
	if c.Now.Companion || c.Now.Intent != Question && c.Now.Intent != Request && c.Now.Intent != Statement {
		return false
	}
	return c.newest(func(l *Line) bool { return l.From != c.Now.From && c.bound(l.From) && c.topicGoesOn(l) }) == nil
}

// bound says whether nobody else is clearly nearer to the sender: with several threads at once, who spoke last need not be
// whom this line is for.
func (c *Conversation) bound(who string) bool {
	for o, t := range c.Near {
		if o != who && t.share > c.Near[who].share {
			return false
		}
	}
	return true
}

// holds says whether who has the thread still has it, by who was talking.
func (c *Conversation) holds(who string) bool {
	for o, t := range c.Ties {
		if o != who && t.share > c.Ties[who].share {
			return false
		}
	}
	return true
}

// continues: the line says no more than that somebody is to go on, or "yes, please" to what this person was asked: it is for whoever has
// the thread, and last is what that one said, however much others have said meanwhile. A mere yes is also said to who spoke just now.
func (c *Conversation) continues(last *Line) bool {
	l := c.Now
	line := l.bare()
	return l.v.onlyOf(line, cueContinue, cueCourtesy) || l.v.onlyOf(line, cueClarify, cueCourtesy) ||
		len(l.words) > 1 && l.Intent == Approval && l.v.onlyOf(line, cueConsent, cueCourtesy) && c.waits(last)
}

// waits: a companion has asked whoever says the newest line something, and they have not spoken since.
func (c *Conversation) waits(asked *Line) bool {
	at := slices.Index(c.Past, asked)
	if !asked.Asks() || slices.ContainsFunc(c.Past[at:], func(l *Line) bool { return l.From == c.Now.From }) {
		return false
	}
	for _, l := range slices.Backward(c.Past[:at]) {
		if !l.Companion {
			return l.From == c.Now.From
		}
	}
	return false
}

// otherExpert: the line is about what others know and the given one does not.
func (c *Conversation) otherExpert(who string) bool {
	other := false
	for _, p := range c.companions {
		if !p.Quiet && p.Who != c.Now.From && c.about[p.Who] != "" {
			if p.Who == who {
				return false
			}
			other = true
		}
	}
	return other
}

// Since is how many turns ago somebody spoke, 0 for the last one; for one who has not spoken, all there were, and false.
func (c *Conversation) Since(who string) (n int, spoke bool) {
	for _, l := range slices.Backward(c.Past) {
		if l.From == who {
			return n, true
		}
		if l.From != c.Now.From || l.Companion || n > 0 {
			n++
		}
	}
	return n, false
}

// ToAndFro says whether the last lines, this one included, went to and fro between two (ROOM.md 4.5).
func (c *Conversation) ToAndFro(lines int) (a, b string, ok bool) {
	n := len(c.Past)
	if n < lines-1 {
		return "", "", false
	}
	a, b = c.Now.From, c.Past[n-1].From
	for k := range lines - 1 {
		if c.Past[n-1-k].From != []string{b, a}[k%2] {
			return "", "", false
		}
	}
	return a, b, a != b
}

// Share counts how many of the last lines of companions are somebody's, of those that were no answer to a person.
func (c *Conversation) Share(who string, most int) (own, all int) {
	lines := append(slices.Clip(c.Past), c.Now)
	for i, l := range slices.Backward(lines) {
		if !l.Companion || all == most || i > 0 && !lines[i-1].Companion {
			continue
		}
		all++
		if l.From == who {
			own++
		}
	}
	return own, all
}
