package round

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"conch/companions/words"
)

// TestTerms: every term of the score appears where it should, and moves the score in its direction.
func TestTerms(t *testing.T) {
	with := func(c Card, f func(*Card)) Card { f(&c); return c }
	filler := func(c *talk, who Participant, n int) *talk {
		for i := range n {
			c.says(who, "Something about "+strings.Repeat("nothing ", i+1))
		}
		return c
	}
	ask := "Which planets can I see?"
	wet := "My shoes are wet because of all the rain in our street."
	cleos := func() *talk {
		return meet(t).says(eva, "Cleo, hello").says("cleo", "Good evening.").says(eva, "Cleo, a song?").says("cleo", "La, la.")
	}
	for name, row := range map[string]struct {
		term     string
		sign     int
		with     *talk // a message where ada's term is there
		without  *talk // the same, but for one thing
		of       CompanionID
		anyScore bool // the rest differs too
	}{
		"expertise on a question":    {"expertise", 1, meet(t).says(eva, ask), meet(t, with(astronomer(), func(c *Card) { c.Expertise = []string{"x"}; c.Role = "" }), cook()).says(eva, "Which numbers can I see?"), "bob", true},
		"expertise not on statement": {"expertise", 1, meet(t).says(eva, "Please tell me about planets"), meet(t).says(eva, "Planets are far away."), "bob", false},
		"relevance":                  {"relevance", 1, meet(t).says(eva, "Planets and stars are far away."), meet(t).says(eva, "Cities and towns are far away."), "bob", false},
		"talkative":                  {"talkativeness", 1, meet(t, with(astronomer(), func(c *Card) { c.Talkativeness = 2 }), cook()).says(eva, ask), meet(t, astronomer(), cook()).says(eva, ask), "bob", false},
		"shy":                        {"talkativeness", -1, meet(t, with(astronomer(), func(c *Card) { c.Talkativeness = -2 }), cook()).says(eva, ask), meet(t, astronomer(), cook()).says(eva, ask), "bob", false},
		"silent for long":            {"silent", 1, filler(meet(t).says(eva, "Bob?").says("bob", "Hello."), maxim, 4).later().says(eva, ask), filler(meet(t).says(eva, "Bob?").says("bob", "Hello."), maxim, 2).later().says(eva, ask), "bob", true},
		"spoke last":                 {"spoke", -1, cleos().says("bob", "Good evening.").later().says(eva, ask), cleos().says("bob", "Good evening.").says("ada", "Hello.").later().says(eva, ask), "bob", true},
		"confused, explainer":        {"tone", 1, meet(t).says(eva, "I am confused by this long list of things here, and by all the papers that came with it yesterday?"), meet(t).says(eva, "I am amused by this long list of things here, and by all the papers that came with it yesterday?"), "ada", false},
		"frustrated, explainer":      {"tone", 1, meet(t).says(eva, "My bread is annoying."), meet(t).says(eva, "My bread is ready."), "ada", false},
		"excited, ideas":             {"tone", 1, meet(t).says(eva, "Wow, I saw something!"), meet(t).says(eva, "Well, I saw something."), "bob", false},
		"exchange":                   {"exchange", 1, meet(t).says(eva, "Bob, hello").says("bob", "Good evening to you.").later().says(eva, wet), meet(t).says(eva, wet), "bob", true},
		"silence":                    {"silence", 1, meet(t).says(eva, "My bread did not rise.").says(eva, "", func(m *Message) { m.Metadata.Silence = true }), meet(t).says(eva, "My bread did not rise.").says(eva, "And so on."), "ada", true},
		"open":                       {"open", 1, meet(t).says(eva, "Who won the match?"), meet(t).says(eva, ask), "ada", true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := row.with.vote(row.of), row.without.vote(row.of)
			x, y := a.term(row.term), b.term(row.term)
			if row.sign > 0 && x <= y || row.sign < 0 && x >= y {
				t.Errorf("%s = %v, and without its cause %v", row.term, x, y)
			}
			if !row.anyScore && (row.sign > 0 && a.Importance <= b.Importance || row.sign < 0 && a.Importance >= b.Importance) {
				t.Errorf("importance %v, and without the cause of %s %v\n%v\n%v", a.Importance, row.term, b.Importance, a.Terms, b.Terms)
			}
			for _, term := range append(a.Terms, b.Terms...) {
				if term.Why == "" {
					t.Errorf("%s has no reason", term.Name)
				}
			}
		})
	}
}

func TestAskedForSkillIsNine(t *testing.T) {
	ada := cook()
	ada.Talkativeness = -2
	c := meet(t, ada, astronomer()).says(eva, "Can someone set a timer for ten minutes?").want("ada")
	if v := c.vote("ada"); v.Importance != 9 || v.term("skill") != 9 {
		t.Errorf("%+v", v)
	}
	meet(t, ada, astronomer()).says(eva, "The timer is on the shelf.").want("")
}

func TestShares(t *testing.T) {
	c := meet(t)
	c.v.Manners.ExtraLimit = 50 // that is another limit
	chain := func(m *Message) { m.Metadata.Chain = 1 }
	for i := range 10 { // no two alike: that would end the conversation
		c.says("ada", fmt.Sprintf("apples%d pears%d plums%d figs%d", i, i, i, i), chain)
		if i%3 == 0 {
			c.says("bob", fmt.Sprintf("copper%d iron%d nickel%d zinc%d", i, i, i, i), chain)
		}
	}
	d := *c
	d.says("cleo", "Who has a new recipe?", chain).because("ada", "60 %").want("")
	d.v.Manners.ShareLimit = 0.95
	d.decide()
	d.want("ada")
	c.says(eva, "Tell us a new recipe please").want("ada") // no limit leaves a person without an answer
}

// TestEverySettingHasAnEffect: each of Manners, and what a room and a card can be set to.
func TestEverySettingHasAnEffect(t *testing.T) {
	bread := func(change func(*talk, *Card)) Decision {
		ada := cook()
		c := meet(t)
		change(c, &ada)
		c.v.Members[0].Cards = []Card{ada, astronomer(), musician()}
		return c.says(eva, "How do I bake bread?").d
	}
	if d := bread(func(*talk, *Card) {}); d.Winner != "ada" {
		t.Fatalf("%q answers", d.Winner)
	}
	for name, change := range map[string]func(*talk, *Card){
		"threshold":        func(c *talk, _ *Card) { c.v.Manners.Threshold = 9 },
		"room off":         func(c *talk, _ *Card) { c.v.Room = InvolvementOff },
		"room low":         func(c *talk, a *Card) { c.v.Room, a.Talkativeness = InvolvementLow, -1 },
		"card off":         func(_ *talk, a *Card) { a.Involvement = InvolvementOff },
		"card low and shy": func(_ *talk, a *Card) { a.Involvement, a.Talkativeness = InvolvementLow, -2 },
		"muted":            func(_ *talk, a *Card) { a.Muted = true },
		"expertise":        func(_ *talk, a *Card) { a.Expertise, a.Role = nil, "" },
	} {
		was := bread(func(*talk, *Card) {}).Votes[0]
		if d := bread(change); d.Winner == "ada" && d.Votes[0].Importance >= was.Importance {
			t.Errorf("%s changes nothing", name)
		}
	}
	say := "Planets and stars are wonderful."
	if meet(t).says(eva, say).want("").v.Room = InvolvementHigh; true {
		c := meet(t)
		c.v.Room = InvolvementHigh
		c.says(eva, say).want("bob")
		c = meet(t)
		c.v.Manners.Threshold = 3
		c.says(eva, say).want("bob")
		bob := astronomer()
		bob.Involvement = InvolvementHigh
		meet(t, cook(), bob).says(eva, say).want("bob")
	}
	// ChainLimit, Handoffs, ExtraLimit, ShareLimit, Repetition: TestHandOffOnTheLastTurn, TestHandOffs, TestRunnerUpAdds,
	// TestShares, TestRepetitionChangesTheTopicOnce.
	c := meet(t)
	c.v.Manners.ChainLimit = 1
	c.says(eva, "Ada, go on").says("ada", "Bob, go on.").want("")
}

// TestWhatTheSenderKnowsCounts: the intent that came with a message is used.
func TestWhatTheSenderKnowsCounts(t *testing.T) {
	c := meet(t).says(eva, "Hm.", func(m *Message) { m.Metadata.Intent = words.Question })
	if !slices.ContainsFunc(c.d.Votes, func(v Vote) bool { return v.term("open") > 0 }) {
		t.Error("the intent that came with the message was not used")
	}
}
