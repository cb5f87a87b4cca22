package companions_test

import (
	"strings"
	"testing"

	"conch/companions"
	"conch/companions/voice/rehearsal"
)

// household is the default room of three as the rehearsal's brain sees it: each card's instructions, each companion's own
// conversation.
type household struct {
	t     *testing.T
	cards map[string]companions.Card
	place map[string]string
	lines []rehearsal.Line
}

func newHousehold(t *testing.T) *household {
	h := &household{t: t, cards: map[string]companions.Card{}, place: map[string]string{"Ada": "kitchen", "Ben": "bedroom", "Cleo": "hall"}}
	for _, c := range companions.DefaultCards() {
		h.cards[c.Name] = c
	}
	return h
}

func (h *household) instructions(name string) string {
	room := companions.RoomContext{Place: h.place[name]}
	for _, other := range []string{"Ada", "Ben", "Cleo"} {
		if other != name {
			room.Others = append(room.Others, companions.OtherOf(h.cards[other].Card, h.place[other]))
		}
	}
	return h.cards[name].Instructions(room)
}

func (h *household) person(text string) { h.lines = append(h.lines, rehearsal.Line{Text: text}) }

// says lets one answer, and remembers it.
func (h *household) says(name, guidance string, tools ...string) string {
	h.t.Helper()
	t := rehearsal.Thought{Instructions: h.instructions(name), InRoom: true, Guidance: guidance, Tools: tools}
	for _, l := range h.lines {
		if l.Mine = l.Who == name; l.Mine {
			l.Who = ""
		}
		t.Talk = append(t.Talk, l)
	}
	r := rehearsal.Rules{}.Think(t)
	for _, c := range r.Calls {
		return c.Name + " " + c.Args
	}
	h.lines = append(h.lines, rehearsal.Line{Who: name, Place: h.place[name], Text: r.Text})
	h.t.Logf("%s: %s", name, r.Text)
	return r.Text
}

func TestRehearsalKnowsTheRoomsWords(t *testing.T) {
	if rehearsal.RoomMarker != companions.RoomMarker || rehearsal.RoomPerson != companions.Person {
		t.Errorf("%q, %q; want %q, %q", rehearsal.RoomMarker, rehearsal.RoomPerson, companions.RoomMarker, companions.Person)
	}
}

func (h *household) want(name, guidance, part string) string {
	h.t.Helper()
	got := h.says(name, guidance)
	if !strings.Contains(got, part) {
		h.t.Errorf("%s said %q; want %q in it", name, got, part)
	}
	return got
}

// fresh fails when somebody says what has been said.
func (h *household) fresh(name, guidance string) string {
	h.t.Helper()
	before := len(h.lines)
	got := h.says(name, guidance)
	for _, l := range h.lines[:before] {
		if strings.Contains(l.Text, got) || got == "" {
			h.t.Errorf("%s said %q again", name, got)
		}
	}
	return got
}

func TestOneAnswersAndAnotherAdds(t *testing.T) {
	h := newHousehold(t)
	h.person("how long do i boil an egg")
	h.want("Ada", "", "six minutes")
	for _, name := range []string{"Ben", "Cleo"} {
		if got := h.fresh(name, ""); strings.Contains(got, "minutes") {
			t.Errorf("%s repeats Ada: %q", name, got)
		}
	}
	h.person("why")
	h.want("Ada", "", "The white sets")
	h.person("and rice")
	h.want("Ada", "", "One cup of rice")
}

func TestSeveralViewsAreDifferent(t *testing.T) {
	for _, question := range []string{"what do you all think of porridge?", "What does everybody think about long walks?", "ada, what do you think of mondays"} {
		h := newHousehold(t)
		h.person(question)
		for _, name := range []string{"Ada", "Ben", "Cleo"} {
			h.fresh(name, "")
		}
	}
	h := newHousehold(t)
	h.person("what do you think of porridge ada")
	h.want("Ada", "", "orridge")
	h.person("what do you say ben")
	h.want("Ben", "", "orridge")
	h.person("what about you cleo")
	h.want("Cleo", "", "orridge")
}

func TestHandOffGoesToWhoKnows(t *testing.T) {
	h := newHousehold(t)
	h.person("Ada, which book should I read?")
	h.want("Ada", "", "Over to you, Ben.")
	h.want("Ben", "", "A short mystery")

	h = newHousehold(t)
	h.person("Ada, which book should I read?")
	if got := h.says("Ada", "This is the last turn before a person speaks again: do not hand over to another companion; leave the word to the person."); strings.Contains(got, "Over to you") {
		t.Errorf("told not to, it handed over: %q", got)
	}

	h = newHousehold(t) // who is handed to keeps the word
	h.person("Cleo, which book should I read?")
	h.lines = append(h.lines, rehearsal.Line{Who: "Cleo", Place: "hall", Text: "No idea. Over to you, Ada."})
	if got := h.says("Ada", ""); strings.Contains(got, "Over to you") {
		t.Errorf("handed on: %q", got)
	}
	h = newHousehold(t)
	h.person("which book should i read")
	h.want("Ben", "", "A short mystery")
	h.person("and you, Ada?")
	if got := h.says("Ada", ""); strings.Contains(got, "Over to you") {
		t.Errorf("asked for its own, it handed over: %q", got)
	}
	h.person("what shall i cook for dinner") // what one knows oneself is not handed over
	h.want("Ada", "", "Pasta with garlic")
}

// Whatever happens, companions who are made to speak without an end do not hand over in circles, and stop having news.
func TestTalkWithoutAPersonRunsDry(t *testing.T) {
	h := newHousehold(t)
	h.person("Cleo, which book should I read in the kitchen tomorrow?")
	handed, last := 0, ""
	for i := range 60 {
		last = h.says([]string{"Cleo", "Ada", "Ben"}[i%3], "")
		if strings.Contains(last, "Over to you") {
			handed++
		}
	}
	if handed > 1 || last != "Nothing more from me." && !strings.HasPrefix(last, "I am here") {
		t.Errorf("%d hand-offs; at last %q", handed, last)
	}
}

func TestFollowUps(t *testing.T) {
	h := newHousehold(t)
	h.person("will it rain today?")
	h.want("Cleo", "", "no window")
	h.person("What do you mean?")
	h.want("Cleo", "", "In other words: In a rehearsal I have neither")
	h.person("say that again please")
	h.want("Cleo", "", "Once more: ")
	h.person("are you sure?")
	h.want("Cleo", "", "As sure as rules can be")
	h.person("why?")
	h.want("Cleo", "", "I am only rules")
}

func TestQuestionsAboutTheRoomGoToTheTools(t *testing.T) {
	for _, c := range []struct{ words, tool, call, otherwise string }{
		{"who is in the room", "who_is_here", "who_is_here {}", "With us are Ada in the kitchen and Cleo in the hall."},
		{"is anybody here", "who_is_here", "who_is_here {}", "With us are"},
		{"Ben, why did you speak?", "why_did_you_speak", "why_did_you_speak {}", "I cannot look that up here"},
		{"why did ada answer", "why_did_you_speak", "why_did_you_speak {}", "I cannot look that up here"},
		{"leave it to us", "set_involvement", `set_involvement {"involvement":"off"}`, ""},
		{"you can join in again", "set_involvement", `set_involvement {"involvement":"medium"}`, ""},
		{"what time is it", "get_time", "get_time {}", "It is "},
	} {
		h := newHousehold(t)
		h.person(c.words)
		if got := h.says("Ben", "", c.tool); got != c.call {
			t.Errorf("%q with %s: %q; want %q", c.words, c.tool, got, c.call)
		}
		h.want("Ben", "", c.otherwise)
	}
}

func TestGoodbyesGreetingsAndSilence(t *testing.T) {
	h := newHousehold(t)
	h.person("how are you all?")
	h.fresh("Ada", "")
	h.fresh("Cleo", "")
	h.fresh("Ben", "")
	h.person("good night everybody")
	h.want("Ben", "", "ood night")
	h.fresh("Ada", "")
	h.person("pasta")
	h.want("Ada", "You, Ada, speak now because the person said: say goodbye.\n", "Ten grams of salt") // a reason is no order
	h.want("Ada", "You, Ada, speak now.\nSay goodbye in one sentence.", "oodbye")
	h.fresh("Cleo", "The conversation repeats itself: change the topic, or ask the person something new.")
	h.fresh("Ada", "Nobody has spoken for a while. Take up what is open in one or two sentences, or ask the person about it.")
}

func TestSeveralThingsInARowAreAllAnswered(t *testing.T) {
	h := newHousehold(t)
	h.person("how long do eggs take")
	h.person("and potatoes")
	got := h.want("Ada", "The person said several things in a row: answer all of them, the earlier ones too, in one answer.", "six minutes")
	if !strings.Contains(got, "Potatoes take twenty") {
		t.Errorf("the second one is not answered: %q", got)
	}
}

// A companion whose subject no rule knows says so, in the words of its card, and has a view of its own.
func TestCompanionOfAnyCard(t *testing.T) {
	card, err := companions.ParseCard("x.toml", []byte(`
name = "Großtante José"
role = "the aunt who knits"
expertise = ["knitting", "wool"]
lines = ["Two plain, two purl.", "Ach."]
`))
	if err != nil {
		t.Fatal(err)
	}
	h := newHousehold(t)
	h.cards[card.Name], h.place[card.Name] = card, "attic"
	h.person("how do i start knitting")
	if got := h.says(card.Name, ""); !strings.Contains(got, "You ask about knitting") || !strings.Contains(got, "Two plain, two purl.") && !strings.Contains(got, "Ach.") {
		t.Errorf("said %q", got)
	}
	h.person("what is your name")
	h.want(card.Name, "", "My name is Großtante José.")
	h.person("what do you think of mondays")
	h.want(card.Name, "", "ondays")
	h.person("how long do i boil an egg")
	h.want(card.Name, "", "Over to you, Ada.")
}
