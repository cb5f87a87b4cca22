package round

import (
	"strings"
	"testing"
)

// TestRepetitionChangesTheTopicOnce: the first repetition asks for another topic, the next ones close, a step a turn.
func TestRepetitionChangesTheTopicOnce(t *testing.T) {
	same := func(n int) string { return "I agree with you, that is so very true " + strings.Repeat("x", n) }
	c := meet(t).says(eva, "Ada, Bob: talk").says("ada", same(1)).says("bob", same(2))
	if m := AnswerMetadata(c.v, "ada", c.d, "x"); !m.Topic || c.vote("ada").Closing != ClosingNone {
		t.Fatalf("after the first repetition: %+v, closing %s", m, c.vote("ada").Closing)
	}
	if g := guidance(c.v, "ada", c.d); !strings.Contains(g, "change the topic") {
		t.Errorf("guidance %q", g)
	}
	c.says("ada", same(3))
	if m := AnswerMetadata(c.v, "bob", c.d, "x"); m.Topic {
		t.Error("the topic is to be changed twice")
	}
	for i, want := range []Closing{PreClosing, ClosingNow, Terminal} {
		who, other := Participant("bob"), CompanionID("cleo")
		if i%2 == 1 {
			who = "ada"
		}
		if got := c.vote(other).Closing; got != want {
			t.Errorf("turn %d: %s; want %s", i, got, want)
		}
		c.says(who, same(4+i))
	}
	c = meet(t)
	c.v.Manners.Repetition = 0.999
	c.says(eva, "Ada, Bob: talk").says("ada", same(1)).says("bob", same(2))
	if m := AnswerMetadata(c.v, "ada", c.d, "x"); m.Topic {
		t.Error("the similarity that counts cannot be set")
	}
}

// TestClosingMovesOneStageATurn, however many hear it; a goodbye to one is that one's, and silences nobody else.
func TestClosingMovesOneStageATurn(t *testing.T) {
	many := []Card{cook(), astronomer(), musician(), {ID: "d", Name: "Dora"}, {ID: "e", Name: "Emil"}}
	c := meet(t, many...).says(eva, "Goodbye, Ada!").want("ada")
	at := func(want map[CompanionID]Closing) {
		t.Helper()
		for _, v := range c.d.Votes {
			if v.Closing != want[v.From] && !(want[v.From] == "" && v.Closing == ClosingNone) {
				t.Errorf("%q: %s is at %s; want %s", c.v.Message.Text, v.From, v.Closing, want[v.From])
			}
		}
	}
	at(map[CompanionID]Closing{"ada": PreClosing})
	c.says("ada", "Goodbye, Eva!")
	at(nil)
	c.says(eva, "Bob, which planets are up?").want("bob")
	at(nil)
	c = meet(t, many...).says(eva, "Goodbye, all of you!")
	at(map[CompanionID]Closing{"ada": PreClosing, "bob": PreClosing, "cleo": PreClosing, "d": PreClosing, "e": PreClosing})
	c.says(Participant(c.d.Winner), "Goodbye, Eva!")
	for _, v := range c.d.Votes {
		if v.Closing != ClosingNow {
			t.Errorf("%s is at %s after two goodbyes that are for all", v.From, v.Closing)
		}
	}
}

// TestGoodbyesOneByOne: everybody answers the own one; the conversation is over when nobody is left.
func TestGoodbyesOneByOne(t *testing.T) {
	c := meet(t).says(eva, "Good night, Ada!").want("ada").says("ada", "Good night!").want("")
	c.says(eva, "Good night, Bob!").want("bob").says("bob", "Sleep well!").want("")
	if c.d.Ended {
		t.Errorf("over before Cleo has heard a goodbye: %+v", c.d)
	}
	if c.says(eva, "Good night, Cleo!").want("cleo").says("cleo", "Good night, all.").want(""); !c.d.Ended {
		t.Errorf("everybody has said good night, and it is not over: %+v", c.d)
	}
	c.says(eva, "Ada, is the oven off?").want("ada")
}

func TestTerminalEndsAndReopens(t *testing.T) {
	c := meet(t).says(eva, "Goodbye, all of you!").says("ada", "Goodbye!").says(eva, "Bye, Bob!").want("")
	if !c.d.Ended {
		t.Fatalf("not ended: %+v", c.d)
	}
	if c.says(eva, "Ada, one more thing: how do I bake bread?").want("ada").d.Ended {
		t.Error("a person's message does not open the conversation again")
	}
}

func TestGuidance(t *testing.T) {
	c := meet(t).says(eva, "Ada and Bob, my bread is annoying, it doesn't work!", func(m *Message) { m.Metadata.Joins = []MessageID{"m00"} })
	for _, want := range []string{"You, Ada, speak now. Why", "addressed it", "frustrated", "answer all of them", `"Bob" will speak after you`} {
		if g := guidance(c.v, "ada", c.d); !strings.Contains(g, want) {
			t.Errorf("no %q in %q", want, g)
		}
	}
	c.says("ada", "Use more yeast.")
	if g := guidance(c.v, "bob", c.d); !strings.Contains(g, `"Ada" answered before you`) {
		t.Errorf("no word of Ada in %q", g)
	}
	c = meet(t).says(eva, "Goodbye then, see you").says(eva, "Goodbye, Ada")
	if g := guidance(c.v, "ada", c.d); !strings.Contains(g, "Say goodbye") {
		t.Errorf("no goodbye in %q", g)
	}
}

func TestSpokenControl(t *testing.T) {
	cards := []Card{cook(), astronomer(), {ID: "jean-luc", Name: "Jean-Luc"}}
	off, low, medium, high := InvolvementOff, InvolvementLow, InvolvementMedium, InvolvementHigh
	yes, no := true, false
	for text, want := range map[string]Control{
		"Leave it to us.": {Involvement: &off}, "leave it to us please": {Involvement: &off}, "Join in again!": {Involvement: &medium}, "ok, you can join in again": {Involvement: &medium},
		"Ada, be quiet": {Companion: "ada", Mute: &yes}, "Ada, be quiet, please.": {Companion: "ada", Mute: &yes}, "be quiet, Bob": {Companion: "bob", Mute: &yes}, "Jean-Luc, hush": {Companion: "jean-luc", Mute: &yes},
		"Ada, you can talk again": {Companion: "ada", Mute: &no, Involvement: &medium}, "unmute Ada": {Companion: "ada", Mute: &no}, "mute bob": {Companion: "bob", Mute: &yes},
		"Ada, only speak when asked": {Companion: "ada", Involvement: &off}, "Bob, talk less please": {Companion: "bob", Involvement: &low}, "Bob, talk more": {Companion: "bob", Involvement: &high},
	} {
		got, ok := spokenControl(text, cards)
		if !ok || got.Companion != want.Companion || orDash(got.Mute) != orDash(want.Mute) || orDash(got.Involvement) != orDash(want.Involvement) {
			t.Errorf("%q: %v %v %v %v", text, ok, got.Companion, orDash(got.Mute), orDash(got.Involvement))
		}
	}
	for _, text := range []string{"", "Ada", "be quiet", "quiet", "Ada said be quiet", "the children must be quiet", "tell me how to be quiet, Ada", "Ada, be quiet about the cake and tell me the time", "should we leave it to us or to them?", "Zed, be quiet", "Ada, what does leave it to us mean?"} {
		if c, ok := spokenControl(text, cards); ok {
			t.Errorf("%q turns %v", text, c)
		}
	}
}

func orDash[T any](p *T) any {
	if p == nil {
		return "-"
	}
	return *p
}
