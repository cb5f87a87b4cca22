package round

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// talk is a conversation as one device hears it, for tests of the judgement.
type talk struct {
	v    View
	t    *testing.T
	d    Decision
	said time.Duration // when the newest message was
}

func cook() Card {
	return Card{ID: "ada", Name: "Ada", Role: "the cook of the house", Expertise: []string{"cooking", "recipes", "bread"}, Traits: []string{"explainer"}, Skills: []string{"timer"}}
}

func astronomer() Card {
	return Card{ID: "bob", Name: "Bob", Role: "an astronomer", Expertise: []string{"planets", "stars", "astronomy"}, Traits: []string{"ideas"}, Skills: []string{"weather"}}
}

func musician() Card {
	return Card{ID: "cleo", Name: "Cleo", Role: "a musician", Expertise: []string{"music", "songs", "piano"}}
}

// meet begins a conversation of a person in the kitchen with companions.
func meet(t *testing.T, cards ...Card) *talk {
	t.Helper()
	if cards == nil {
		cards = []Card{cook(), astronomer(), musician()}
	}
	return &talk{t: t, v: View{Manners: DefaultManners(), Members: []Member{{Device: "k1", Name: "kitchen", Cards: cards}}}}
}

const (
	eva   = Participant("human:k1")
	maxim = Participant("human:g2")
)

// says adds a message; the view is then that of this message.
func (c *talk) says(from Participant, text string, change ...func(*Message)) *talk {
	m := Message{ID: MessageID(fmt.Sprintf("m%02d", len(c.v.Recent)+2)), From: from, Text: text}
	if !from.Human() {
		m.Metadata = AnswerMetadata(c.v, CompanionID(from), c.d, text)
		c.v.Turns++
	}
	if c.v.Message.ID != "" {
		c.v.Recent = append(slices.Clip(c.v.Recent), c.v.Message)
		c.v.Threads = c.v.Threads.Next(c.v.Message, c.said)
	}
	c.said = c.v.At
	for _, f := range change {
		f(&m)
	}
	c.v.Message = m
	c.decide()
	return c
}

// later lets the time go by in which a thread ends.
func (c *talk) later() *talk {
	c.v.At += threadLasts + time.Second
	return c
}

func (c *talk) decide() Decision {
	var roster []CompanionID
	for _, m := range c.v.Members {
		for _, card := range m.Cards {
			if Participant(card.ID) != c.v.Message.From {
				roster = append(roster, card.ID)
			}
		}
	}
	votes := JudgeAll(c.v, roster)
	for _, v := range votes {
		if err := CheckVote(v); err != nil {
			c.t.Errorf("%q: %v", c.v.Message.Text, err)
		}
		if v.Reason == "" {
			c.t.Errorf("%q: the vote of %s has no reason", c.v.Message.Text, v.From)
		}
	}
	c.d = Decide(c.v.Message, roster, votes)
	for _, id := range c.d.Roster {
		n := 0
		for _, s := range c.d.Silent {
			if s.Companion == id && s.Reason != "" {
				n++
			}
		}
		if speaks := id == c.d.Winner || slices.Contains(c.d.Extras, id); speaks == (n > 0) {
			c.t.Errorf("%q: %s speaks = %v, with %d reasons for silence", c.v.Message.Text, id, speaks, n)
		}
	}
	return c.d
}

// want checks who speaks, in order; "" is nobody.
func (c *talk) want(ids string) *talk {
	c.t.Helper()
	var got []string
	if c.d.Winner != "" {
		got = []string{string(c.d.Winner)}
	}
	for _, e := range c.d.Extras {
		got = append(got, string(e))
	}
	if g := strings.Join(got, " "); g != ids {
		c.t.Errorf("%s: %q is answered by %q; want %q\n%s", c.v.Message.From, c.v.Message.Text, g, ids, explain(c.d))
	}
	return c
}

// because checks that a companion's vote gives a reason with these words.
func (c *talk) because(id CompanionID, words string) *talk {
	c.t.Helper()
	for _, v := range c.d.Votes {
		if v.From == id && strings.Contains(v.Reason, words) {
			return c
		}
	}
	c.t.Errorf("%q: no reason of %s with %q\n%s", c.v.Message.Text, id, words, explain(c.d))
	return c
}

func (c *talk) vote(id CompanionID) Vote {
	for _, v := range c.d.Votes {
		if v.From == id {
			return v
		}
	}
	c.t.Fatalf("no vote of %s", id)
	return Vote{}
}

func (v Vote) term(name string) float64 {
	for _, t := range v.Terms {
		if t.Name == name {
			return t.Value
		}
	}
	return 0
}

func explain(d Decision) string {
	var b strings.Builder
	for _, v := range d.Votes {
		fmt.Fprintf(&b, "  %s: %s %.2f selected=%v %s %v\n", v.From, v.State, v.Importance, v.Selected, v.Reason, v.Terms)
	}
	return b.String()
}
