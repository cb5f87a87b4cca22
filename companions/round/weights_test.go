package round

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestWeights: what each term of the score comes to, and where each limit of the judgement lies, by a line on either side of it. Whoever
// changes one of them by one changes ROOM.md 5 and 6, and this.
func TestWeights(t *testing.T) {
	with := func(c Card, f func(*Card)) Card { f(&c); return c }
	lines := func(c *talk, n int) *talk { // that are nobody's field and begin nothing
		for i := range n {
			c.says(maxim, "Some "+strings.Repeat("nothing ", i+1))
		}
		return c
	}
	hello := func() *talk { return meet(t).says(eva, "Bob?").says("bob", "Hello.") }
	rapid := func(n int) *talk { // the last n lines are theirs, and Ada's ends them
		c := meet(t)
		for i := range n - 1 {
			if (n-i)%2 == 0 {
				c.says(eva, fmt.Sprintf("Ada, dough%d?", i))
			} else {
				c.says("ada", fmt.Sprintf("Flour%d and water%d.", i, i))
			}
		}
		return c.says("ada", "The planets do not mind bread.")
	}
	silence := func(m *Message) { m.Metadata.Silence = true }
	eager := func(c Card, n int) Card { return with(c, func(c *Card) { c.Talkativeness = n }) }
	loud := func(c Card, i Involvement) Card { return with(c, func(c *Card) { c.Involvement = i }) }
	for name, row := range map[string]struct {
		c    *talk
		of   CompanionID
		term string // "" is the importance
		want float64
	}{
		"expertise":                   {meet(t).says(eva, "Which planets can I see?"), "bob", "expertise", 5},
		"a question of its field":     {meet(t).says(eva, "Which planets can I see?"), "bob", "", 7},
		"a synonym":                   {meet(t, astronomer(), with(cook(), func(c *Card) { c.Synonyms = map[string][]string{"bread": {"baguette"}} })).says(eva, "How long do baguettes take?"), "ada", "expertise", 5},
		"another language":            {meet(t, astronomer(), with(cook(), func(c *Card) { c.Language, c.Expertise = "de", []string{"Rezept"} })).says(eva, "Hast du Rezepte?"), "ada", "expertise", 5},
		"open":                        {meet(t).says(eva, "Who won the match?"), "ada", "open", 5},
		"open, all in all":            {meet(t).says(eva, "Who won the match?"), "ada", "", 5},
		"skill":                       {meet(t).says(eva, "Can someone set a timer?"), "ada", "skill", 9},
		"one word":                    {meet(t).says(eva, "Planets are far."), "bob", "relevance", 2},
		"three words":                 {meet(t).says(eva, "Planets, stars, astronomy, far away."), "bob", "relevance", 4},
		"four words":                  {meet(t).says(eva, "Planets, stars, astronomy, an astronomer."), "bob", "relevance", 4},
		"four words, said before":     {meet(t).says("bob", "Planets.").says(eva, "Planets, stars, astronomy, an astronomer."), "bob", "relevance", 3},
		"talkative":                   {meet(t, eager(astronomer(), 2), cook()).says(eva, "Planets are far."), "bob", "talkativeness", 2},
		"quiet":                       {meet(t, eager(astronomer(), -2), cook()).says(eva, "Planets are far."), "bob", "talkativeness", -2},
		"more than a card may say":    {meet(t, eager(astronomer(), 3), cook()).says(eva, "Planets are far."), "bob", "talkativeness", 2},
		"less than a card may say":    {meet(t, eager(astronomer(), -3), cook()).says(eva, "Planets are far."), "bob", "talkativeness", -2},
		"silent for three turns":      {lines(hello(), 3).later().says(eva, "Who won the match?"), "bob", "silent", 0},
		"silent for four":             {lines(hello(), 4).later().says(eva, "Who won the match?"), "bob", "silent", 1},
		"spoke last":                  {meet(t).says("bob", "Hello.").says(maxim, "Who won the match?"), "bob", "spoke", -2},
		"did not":                     {meet(t).says("bob", "Hello.").says("ada", "Hello.").says(maxim, "Who won the match?"), "bob", "spoke", 0},
		"frustrated":                  {meet(t).says(eva, "My bread is annoying."), "ada", "tone", 2},
		"excited":                     {meet(t).says(eva, "Wow, I saw something!"), "bob", "tone", 2},
		"to and fro, three lines":     {rapid(3), "bob", "engaged", 0},
		"to and fro, four lines":      {rapid(4), "bob", "engaged", -2},
		"silence":                     {meet(t).says(eva, "My bread did not rise.").says(eva, "", silence), "ada", "silence", 5},
		"all are asked":               {meet(t).says(eva, "What do you all think?"), "cleo", "", 9.5},
		"one is asked for views":      {meet(t).says(eva, "Can one of you tell me what you all think?"), "cleo", "views", 5},
		"a score is nine at most":     {meet(t, eager(astronomer(), 2), cook()).says(eva, "Which planets and stars, in astronomy, can I see?"), "bob", "", 9},
		"importance is ten at most":   {meet(t, loud(eager(astronomer(), 2), InvolvementHigh), cook()).says(eva, "Which planets and stars, in astronomy, can I see?"), "bob", "", 10},
		"high":                        {meet(t, loud(astronomer(), InvolvementHigh), cook()).says(eva, "Planets are far."), "bob", "involvement", 2},
		"low":                         {meet(t, loud(astronomer(), InvolvementLow), cook()).says(eva, "Planets are far."), "bob", "involvement", -2},
		"called":                      {meet(t).says(eva, "Ada, Bob and Cleo, hello"), "ada", "", 10},
		"called as the second":        {meet(t).says(eva, "Ada, Bob and Cleo, hello"), "bob", "", 9.75},
		"called as the third":         {meet(t).says(eva, "Ada, Bob and Cleo, hello"), "cleo", "", 9.5},
		"queued":                      {meet(t).says(eva, "Ada, Bob and Cleo, hello").says("ada", "Good evening."), "bob", "queue", 8},
		"queued as the second":        {meet(t).says(eva, "Ada, Bob and Cleo, hello").says("ada", "Good evening."), "cleo", "queue", 7.75},
		"goes on":                     {meet(t).says(eva, "Ada, I want bread").says("ada", "Which?").says(eva, "the dark one"), "ada", "follow-up", 9},
		"alone":                       {meet(t, cook()).says(eva, "It rains."), "ada", "alone", 9},
		"the room's threshold is met": {meet(t).says(eva, "Which planets can I see?"), "bob", "threshold", 0},
	} {
		v := row.c.vote(row.of)
		got := v.Importance
		if row.term != "" {
			got = v.term(row.term)
		}
		if math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: %s %v; want %v\n%s", name, row.term, got, row.want, explain(row.c.d))
		}
	}
	// The exchange is worth six where nobody else was near.
	c := meet(t).says(eva, "Bob, hello").says("bob", "Good evening to you.").later().says(maxim, "Ada, hello").says(eva, "My shoes are wet.")
	if more, got := c.v.Conversation().Ties["bob"].More, c.vote("bob").term("exchange"); more == 0 || math.Abs(got-6*more) > 1e-9 {
		t.Errorf("exchange %v; want 6 times %v", got, more)
	}
}

// TestLimits: the numbers of Manners and Decide, each by a case on either side.
func TestLimits(t *testing.T) {
	speaks := func(c *talk) bool { return c.d.Winner != "" }
	chain := func(n int) func(*Message) { return func(m *Message) { m.Metadata.Chain = n } }
	handed := func(n int) *talk { // Ada and Bob hand over n times
		c := meet(t).says(eva, "Ada, begin")
		for i := range n {
			c.says([]Participant{"ada", "bob"}[i%2], fmt.Sprintf("Word%d and tale%d. Over to you, %s.", i, i, []string{"Bob", "Ada"}[i%2]))
		}
		return c
	}
	share := func(who string) bool { // a and b speak of their own initiative, and then Ada wants to once more
		c := meet(t)
		c.v.Manners.ExtraLimit = 50 // that is another limit
		for i, x := range who {
			c.says(map[rune]Participant{'a': "ada", 'b': "bob"}[x], fmt.Sprintf("apples%d pears%d plums%d figs%d", i, i, i, i), chain(1))
		}
		c.says("cleo", "Who has a new recipe?", chain(1))
		return c.vote("ada").Layer != LayerForbidden
	}
	adds := func(n int) bool { // after so many additions to an answer, may Ada make one more?
		c := meet(t).says(eva, "What is for lunch?").says("ada", "Soup with noodles in it.", chain(1))
		for i := range n {
			c.says([]Participant{"bob", "cleo"}[i%2], fmt.Sprintf("Bread%d with it, and flour%d.", i, i), chain(i+2), func(m *Message) { m.Metadata.Extra = true })
		}
		return c.vote("ada").Layer != LayerForbidden
	}
	similar := func(common int) bool { // of ten pairs of words: is the topic to be changed?
		a := strings.Fields("one two three four five six seven eight nine ten eleven")
		b := slices.Clone(a)
		for i := common + 1; i < len(b); i++ {
			b[i] = "other" + b[i]
		}
		c := meet(t).says(eva, "Ada, Bob: talk").says("ada", strings.Join(a, " ")).says("bob", strings.Join(b, " "))
		return AnswerMetadata(c.v, "cleo", c.d, "x").Topic
	}
	vote := func(id CompanionID, importance float64) Vote {
		return Vote{From: id, MessageID: "m", State: StateSpeak, Importance: importance, Closing: ClosingNone, Reason: "x"}
	}
	decide := func(importance ...float64) int { // how many speak
		var votes []Vote
		var roster []CompanionID
		for i, x := range importance {
			id := CompanionID(fmt.Sprint("c", i))
			roster, votes = append(roster, id), append(votes, vote(id, x))
		}
		d := Decide(Message{ID: "m", From: eva, Text: "Which planets can I see?"}, roster, votes)
		return len(d.Extras) + map[bool]int{true: 1}[d.Winner != ""]
	}
	called := func(n int) int {
		var cards []Card
		var names []string
		for i := range n {
			name := []string{"Ada", "Bob", "Cleo", "Dora", "Emil", "Fritz", "Greta"}[i]
			cards, names = append(cards, Card{ID: CompanionID(strings.ToLower(name)), Name: name}), append(names, name)
		}
		return len(meet(t, cards...).says(eva, strings.Join(names, ", ")+": hello").d.Extras) + 1
	}
	for name, row := range map[string]struct{ within, beyond bool }{
		"six companion turns":      {speaks(meet(t).says("bob", "Ada, go on.", chain(5))), speaks(meet(t).says("bob", "Ada, go on.", chain(6)))},
		"two additions":            {adds(1), adds(2)},
		"three hand-offs":          {speaks(handed(3)), speaks(handed(4))},
		"60 % of the last ten":     {share("bbbbaaaaa"), share("bbbaaaaaa")},
		"shares from the fifth on": {share("aa"), share("aaa")},
		"nine before, and no more": {share("abbbaaaaa"), share("abbaaaaaa")},
		"0.7 alike":                {!similar(7), !similar(8)},
		"five speaks":              {decide(5) == 1, decide(4.9) == 1},
		"eight adds":               {decide(8.5, 8) == 2, decide(8.5, 7.9) == 2},
		"one behind adds":          {decide(9.5, 8.5) == 2, decide(9.6, 8.5) == 2},
		"two add":                  {decide(9, 9, 9) == 3, decide(9, 9, 9, 9) == 4},
		"six are called":           {called(6) == 6, called(7) == 7},
		"thirds of a queue go on":  {called(2) == 2, called(1) == 2},
	} {
		if !row.within || row.beyond {
			t.Errorf("%s: %v within the limit, %v beyond it", name, row.within, row.beyond)
		}
	}
}
