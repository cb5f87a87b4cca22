package round

import (
	"slices"
	"strings"
	"testing"
)

func TestTwoNamesAreAnsweredInOrder(t *testing.T) {
	c := meet(t).says(eva, "Bob and Ada, what do you think of bread?").want("bob ada").because("cleo", "addressed")
	if b, a := c.vote("bob"), c.vote("ada"); b.Importance != 10 || !a.Selected || a.Importance >= b.Importance {
		t.Errorf("bob %v, ada %v", b, a)
	}
	c.says("bob", "I like it with butter.").want("ada").because("ada", "addressed too")
	c.says("ada", "I bake it every day.").want("")
}

func TestThreeNamesOutliveTheLimitOfAdditions(t *testing.T) {
	c := meet(t)
	c.v.Manners.ExtraLimit = 0
	c.says(eva, "Cleo, Bob and Ada, introduce yourselves, please").want("cleo bob ada")
	c.says("cleo", "I am Cleo.").want("bob ada").says("bob", "And I am Bob.").want("ada")
}

// TestAnswersAreNobodysShare: what a companion answers to a person does not count against it (ROOM.md 6, shares).
func TestAnswersAreNobodysShare(t *testing.T) {
	c := meet(t)
	for range 10 {
		c.says(eva, "Ada, and what else?").says("ada", "Something else that nobody has said before, number "+string(c.v.Message.ID)+".")
	}
	c.says(eva, "How do I bake bread over a fire on the beach?").want("ada")
	c.later().says(eva, "Where do I bake bread in the woods?").want("ada")
	c.says(eva, "Ada, how do I bake bread?").want("ada")
}

func TestWhoIsInToIsSelected(t *testing.T) {
	to := func(ps ...Participant) func(*Message) { return func(m *Message) { m.To = ps } }
	meet(t).says(eva, "tell me about stars", to("ada")).want("ada")
	meet(t).says(eva, "tell me about stars", to("cleo", "ada")).want("cleo ada")
	meet(t).says(eva, "tell me about stars", to(maxim)).want("").because("bob", "was addressed")
}

func TestAPersonWhoIsNamedIsWaitedFor(t *testing.T) {
	c := meet(t)
	c.v.Members = append(c.v.Members, Member{Device: "g2", Name: "Max"})
	c.says(eva, "Max, which stars are those?").want("").because("bob", "was addressed")
	c.says("bob", "Max, which ones do you mean?").want("").because("ada", "was addressed")
}

func TestHandOffs(t *testing.T) {
	c := meet(t).says(eva, "Ada, start the story").want("ada")
	c.says("ada", "Once there was a loaf of bread. Over to you, Bob.").want("bob").because("bob", "handed over")
	c.says("bob", "It flew to the stars. Your turn, Cleo!").want("cleo")
	c.says("cleo", "And it sang there. Ada?").want("ada")
	c.says("ada", "It came home again. Bob, go on.").want("").because("bob", "only 3 hand-offs") // the fourth
	c.v.Manners.Handoffs = 4
	c.decide()
	c.want("bob")
}

func TestHandOffOnTheLastTurn(t *testing.T) {
	c := meet(t)
	c.v.Manners.Handoffs = 10
	c.says(eva, "Ada, start a story")
	for i := range 6 {
		who, next := Participant("ada"), "Bob"
		if i%2 == 1 {
			who, next = "bob", "Ada"
		}
		guide := guidance(c.v, CompanionID(who), c.d)
		if last := strings.Contains(guide, "last turn"); last != (i == 5) {
			t.Errorf("turn %d: guidance %q", i+1, guide)
		}
		c.says(who, "Part "+strings.Repeat("x", i+1)+". Over to you, "+next+".")
	}
	c.want("").because("ada", "6 companion turns")
}

func TestThePersonAfterTheLimitIsAnswered(t *testing.T) {
	c := meet(t).says(eva, "Ada, hello there")
	c.says("ada", "Hello! Bob, go on.", func(m *Message) { m.Metadata.Chain = 6 }).want("").because("bob", "limit")
	c.says(eva, "Bob, go on then").want("bob")
}

func TestFollowUpGoesToWhoAnswered(t *testing.T) {
	c := meet(t).says(eva, "How do I bake bread?").want("ada").says("ada", "Mix flour, water, salt and yeast, and bake it for forty minutes.")
	for _, text := range []string{"Can you say that again?", "And how much salt?", "Why?", "what about the yeast", "How long does that take?", "What do you think?"} {
		d := *c
		d.says(eva, text).want("ada")
	}
	d := *c
	d.says(eva, "Which planets can I see tonight?").want("bob") // the topic has changed
	d = *c
	d.says(eva, "And which planets are up?").want("bob") // it sounds like going on, and is another's field
	d = *c
	d.says(eva, "thanks").want("")
}

// TestMessagesInARowAreOne: what was said directly before and not answered counts for whom and what is asked.
func TestMessagesInARowAreOne(t *testing.T) {
	join := func(m *Message) { m.Metadata.Joins = []MessageID{"m02"} }
	c := meet(t)
	c.v.Message = Message{ID: "m01", From: eva, Text: "Good evening"}
	d := *c
	d.says(eva, "Bob?").says(eva, "how do I bake bread?", join).want("bob")
	d = *c
	d.says(eva, "Bob?").says(eva, "how do I bake bread?").want("ada")
	d = *c
	d.says(eva, "How do I bake bread?").says(eva, "the dark one", join).want("ada")
	d = *c
	d.says(eva, "How do I bake bread?").says(eva, "the dark one").want("")
}

// TestANewTopicStaysWithTheThread: what a person says without a name goes to whoever has the thread, be it on a new topic; in another's field it
// does not; and a minute later it goes to whoever spoke last with this person, because somebody has to answer (ROOM.md 4.4).
func TestANewTopicStaysWithTheThread(t *testing.T) {
	c := meet(t)
	for range 3 {
		c.says(eva, "Ada, and what else?").says("ada", "Something else that nobody has said, number "+string(c.v.Message.ID)+".")
	}
	d := *c
	d.says(eva, "Who won the match yesterday evening in the big stadium at the river?").want("ada").because("bob", "goes on with what Ada said")
	d = *c
	d.says(eva, "Which planets are up over the river?").want("bob").because("ada", "that is for Bob")
	d = *c
	d.says(maxim, "Which planets are up over the river?").want("bob")
	d = *c
	d.later().says(eva, "Who won the match yesterday evening in the big stadium at the river?").want("ada")
	if x := d.vote("ada"); x.Selected || x.term("open") == 0 || x.term("exchange") == 0 {
		t.Errorf("a minute later: %+v", x)
	}
}

func TestFollowUpEndsWhenAnotherSpoke(t *testing.T) {
	c := meet(t).says(eva, "How do I bake bread?").says("ada", "Mix flour and water and bake it for forty minutes.")
	c.says(eva, "Bob, your view?").says("bob", "On Mars nothing rises well, I am afraid.")
	c.says(eva, "Why?").want("bob")
}

func TestConfusionGoesToWhoExplained(t *testing.T) {
	c := meet(t).says(eva, "Why do planets move backwards?").want("bob").says("bob", "They seem to, when the Earth overtakes them on its inner orbit.")
	c.says("cleo", "Lovely.").says(eva, "I don't understand.").want("bob")
	c = meet(t).says(eva, "Bob, Ada: explain orbits and yeast").says("bob", "An orbit is a fall that never meets the ground.").says("ada", "Yeast eats sugar and makes bubbles in the dough.")
	c.says(eva, "I don't understand the orbit thing").want("bob")
	c.says(eva, "I don't get it with the sugar and the bubbles").want("ada")
}

func TestImplicitCues(t *testing.T) {
	meet(t).says(eva, "How do I bake bread?").says("ada", "With patience.").says(eva, "Bread needs salt, right, Ada?").want("ada")
	meet(t).says(eva, "Ada, is bread good?").says("ada", "It is wonderful.").says(eva, "What do you think?").want("ada")
	meet(t).says(eva, "Ada, ask Bob").says("ada", "Bob, shall we?").says("bob", "I am not sure. What do you think?").want("ada")
}

func TestACompanionsQuestionIsForThePerson(t *testing.T) {
	meet(t).says(eva, "Ada, I want bread").says("ada", "With which flour do you want your bread?").want("").because("bob", "for the person")
	meet(t).says(eva, "Ada, I want bread").says("ada", "With which flour do you want your bread?").says(eva, "The dark one").want("ada")
}

func TestRapidExchangeRaisesTheBar(t *testing.T) {
	two := func(v View) float64 { return JudgeAll(v, []CompanionID{"bob"})[0].term("engaged") }
	c := meet(t).says(eva, "I went out yesterday").says(maxim, "Where to?").says(eva, "To the park with the dog").says(maxim, "I saw stars and planets there")
	if got := two(c.v); got >= 0 {
		t.Errorf("engaged = %v among two who talk to each other", got)
	}
	c = meet(t).says(eva, "I went out yesterday").says("cleo", "Where to?").says(eva, "To the park with the dog").says(maxim, "I saw stars and planets there")
	if got := two(c.v); got != 0 {
		t.Errorf("engaged = %v among three", got)
	}
}

func TestBelowTheThresholdNobody(t *testing.T) {
	for _, text := range []string{"thanks", "Thank you very much!", "bye", "ok", "Okay, great.", "I see", "It is Tuesday.", "danke", "merci", "ありがとう"} {
		meet(t).says(eva, text).want("")
	}
}

func TestSomebodyAnswersAnOpenQuestion(t *testing.T) {
	if c := meet(t).says(eva, "What is the capital of France?"); c.d.Winner == "" || len(c.d.Extras) > 0 {
		t.Errorf("%+v", c.d)
	}
}

func TestTheOnlyCompanionAnswers(t *testing.T) {
	meet(t, cook()).says(eva, "I had a long day.").want("ada").says("ada", "Tell me.").says(eva, "thanks").want("")
	off := cook()
	off.Involvement = InvolvementOff
	meet(t, off).says(eva, "I had a long day.").want("").says(eva, "Ada, I had a long day.").want("ada")
}

func TestSeveralViews(t *testing.T) {
	c := meet(t).says(eva, "What do you all think about winter?")
	if c.d.Winner == "" || len(c.d.Extras) != 2 {
		t.Fatalf("%s and %v answer", c.d.Winner, c.d.Extras)
	}
	next := c.d.Extras
	c.says(Participant(c.d.Winner), "It is cold and white.").want(string(next[0]) + " " + string(next[1]))
	if g := guidance(c.v, next[0], c.d); !strings.Contains(g, "do not repeat") {
		t.Errorf("guidance %q", g)
	}
	c.says(Participant(next[0]), "I like the long nights.").want(string(next[1])).says(Participant(next[1]), "Soup and candles.").want("")
}

// What is one companion's field is still everybody's when everybody is asked.
func TestSeveralViewsOnOnesField(t *testing.T) {
	c := meet(t).says(eva, "What do you all think about baking bread?")
	if c.d.Winner != "ada" || len(c.d.Extras) != 2 {
		t.Fatalf("%s and %v answer, want ada and the two others", c.d.Winner, c.d.Extras)
	}
}

func TestRunnerUpAdds(t *testing.T) {
	second := musician()
	second.Expertise, second.Role = []string{"bread", "baking bread"}, "a baker"
	meet(t, cook(), astronomer(), second).says(eva, "Please tell me a recipe for baking bread, I like cooking").want("ada cleo")
	c := meet(t, cook(), astronomer(), second)
	c.v.Manners.ExtraLimit = 0
	c.says(eva, "Please tell me a recipe for baking bread, I like cooking").says("ada", "Flour, water, salt.").want("").because("cleo", "0 additions")
}

func TestSilenceLetsOneStepIn(t *testing.T) {
	hush := func(m *Message) { m.Metadata = Metadata{Silence: true} }
	c := meet(t).says(eva, "My bread did not rise at all.").want("").says(eva, "", hush)
	if c.d.Winner == "" || len(c.d.Extras) > 0 {
		t.Errorf("%s and %v step in", c.d.Winner, c.d.Extras)
	}
	meet(t).says(eva, "thanks").says(eva, "", hush).want("")
	meet(t).says(eva, "Ada, I want bread").says("ada", "I baked some.").says(eva, "", hush).want("")
	quiet := []Card{cook(), astronomer()}
	for i := range quiet {
		quiet[i].Involvement = InvolvementOff
	}
	meet(t, quiet...).says(eva, "My bread did not rise at all.").says(eva, "", hush).want("")
}

func TestMutedNeverSpeaks(t *testing.T) {
	ada := cook()
	ada.Muted = true
	meet(t, ada, astronomer()).says(eva, "Ada, how do I bake bread?").want("").because("ada", "muted")
}

func TestPeopleFirst(t *testing.T) {
	c := meet(t).says(maxim, "I am back.").says(eva, "Which planets can I see?").want("bob")
	if !PeopleFirst(c.v, c.d) {
		t.Error("two people are here, one asks, and the winner does not wait a beat")
	}
	c = meet(t).says(maxim, "I am back.").says(eva, "Bob, which planets can I see?").want("bob")
	if PeopleFirst(c.v, c.d) {
		t.Error("the addressed waits")
	}
	c = meet(t).says(eva, "I am back.").says(eva, "Which planets can I see?")
	if PeopleFirst(c.v, c.d) {
		t.Error("one person alone is waited for")
	}
}

func TestExcludedAreNotAsked(t *testing.T) {
	c := meet(t).says(eva, "Which planets can I see? Anybody but Bob, please")
	if c.d.Winner == "bob" || slices.Contains(c.d.Extras, "bob") {
		t.Error("Bob answers")
	}
}

// TestJudgeIsDeterministic: the same view, the same votes; the members' order does not matter.
func TestJudgeIsDeterministic(t *testing.T) {
	c := meet(t).says(eva, "How do I bake bread?").says("ada", "Mix it.").says(maxim, "Which stars are in the bread, Bob or Cleo?").says(eva, "what about the planets and the music")
	first := JudgeAll(c.v, []CompanionID{"ada", "bob", "cleo"})
	v := c.v
	v.Members = []Member{{Device: "k1", Name: "kitchen", Cards: []Card{musician(), astronomer(), cook()}}}
	for range 50 {
		for i, id := range []CompanionID{"ada", "bob", "cleo"} {
			if again := JudgeAll(v, []CompanionID{id})[0]; compareVotes("m", again, first[i]) != 0 || again.Importance != first[i].Importance {
				t.Fatalf("%+v, then %+v", first[i], again)
			}
		}
	}
}
