package rehearsal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const roomAda = "You are Ada, the cook of the house.\nYou know about: cooking, eggs.\nYou are in a room with other companions, each with a voice of its own; who is present is told with each answer.\n"

// roomClient is a session of Ada's in a room.
func roomClient(t *testing.T, o Options) *wireClient {
	t.Helper()
	_, url := serve(t, o)
	c := dial(t, url)
	instructions, err := json.Marshal(roomAda)
	if err != nil {
		t.Fatal(err)
	}
	c.send(`{"type":"session.update","session":{"type":"realtime","instructions":%s}}`, instructions)
	c.until("session.updated")
	return c
}

func (c *wireClient) item(role, text string) {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}}`, role, kind, text)
	c.until("conversation.item.done")
}

// inRoom asks for an answer as a device does: the session's instructions, then the room's guidance.
func (c *wireClient) inRoom(guidance string) string {
	prompt, _ := json.Marshal(roomAda + "\n\n" + RoomMarker + "\n" + guidance)
	from := len(c.seen)
	c.send(`{"type":"response.create","response":{"instructions":%s}}`, prompt)
	c.until("response.done")
	return c.words(from)
}

// In a room an answer's instructions are guidance, not words to be said; the answer is to what was said last, wherever.
func TestRoomPromptAsksForAnAnswerToTheLastLine(t *testing.T) {
	c := roomClient(t, quick())
	c.item("user", "[person in hall] how long do i boil an egg")
	if got := c.inRoom("You, Ada, speak now because it knows about eggs."); !strings.Contains(got, "six minutes") {
		t.Errorf("said %q", got)
	}
	c.item("user", "[person in hall] why")
	if got := c.inRoom(""); !strings.Contains(got, "The white sets") {
		t.Errorf("said %q", got)
	}
	c.item("user", "[person in hall] which book should i read")
	c.item("user", "[room] Ben was interrupted")
	if got := c.inRoom("Other companions present:\n- Ben, the reader of the house (bedroom): sleep"); !strings.Contains(got, "Over to you, Ben.") {
		t.Errorf("said %q", got)
	}
	c.item("user", "[Ben in bedroom] A short mystery. You always want one page more, and it is over before it is late.")
	if got := c.inRoom(""); got == "" || strings.Contains(got, "mystery") {
		t.Errorf("added %q", got)
	}
}

// An announcement is said as it stands, in a room, too.
func TestAnnouncementIsStillSaidInARoom(t *testing.T) {
	c := roomClient(t, quick())
	c.item("user", "[person in hall] how long do i boil an egg")
	from := len(c.seen)
	c.send(`{"type":"response.create","response":{"instructions":"Say this to the room, word for word: The bath is full."}}`)
	c.until("response.done")
	if got := c.words(from); got != "The bath is full." {
		t.Errorf("said %q", got)
	}
}

// A line whose text was cut away (truncate) does not count as said.
func TestInterruptedAnswerIsNotHeldAgainstTheNext(t *testing.T) {
	lines := talkOf([]*item{
		{kind: "message", role: "user", text: "[person in hall] an egg", typed: true},
		{kind: "message", role: "assistant", text: ""},
		{kind: "function_call", name: "x"},
		{kind: "message", role: "system", text: "no line"},
		{kind: "message", role: "user", text: "[Ben in bedroom] hm", typed: true},
		{kind: "message", role: "assistant", text: "mine"},
		{kind: "message", role: "user", hearing: &hearing{}},
	})
	want := []Line{{Place: "hall", Text: "an egg"}, {Who: "Ben", Place: "bedroom", Text: "hm"}, {Text: "mine", Mine: true}, {}}
	if !slices.Equal(lines, want) {
		t.Errorf("%+v; want %+v", lines, want)
	}
	var many []*item
	for i := range 100 {
		many = append(many, &item{kind: "message", role: "user", text: fmt.Sprint(i)})
	}
	if got := talkOf(many); len(got) != maxTalk || got[maxTalk-1].Text != "99" {
		t.Errorf("%d lines, the last %+v", len(got), got[len(got)-1])
	}
}

func TestInstructionsAreRead(t *testing.T) {
	me := readInstructions("You are Großtante José, the cook of the attic.\nYou live in the device called attic.\nYou know about: wool, eggs.\n" +
		"You are in a room with other companions, each with a voice of its own:\n- Ben, the reader (bedroom): sleep, books\n- Eve\n" +
		"This is how you talk, in tone and length; do not repeat these sentences:\n- Ach.\n- So.\n")
	if me.name != "Großtante José" || me.role != "the cook of the attic" || me.place != "attic" || !slices.Equal(me.knows, []string{"wool", "eggs"}) ||
		len(me.topics) != 1 || me.topics[0].name != "kitchen" || !slices.Equal(me.lines, []string{"Ach.", "So."}) || len(me.others) != 2 {
		t.Fatalf("%+v", me)
	}
	if ben := me.others[0]; ben.name != "Ben" || ben.role != "the reader" || ben.place != "bedroom" || len(ben.topics) != 1 || ben.topics[0].name != "night" {
		t.Errorf("%+v", ben)
	}
	for text, want := range map[string]string{
		"You are Ada, a companion.": "Ada", "You are ada.\nYou know about: eggs.": "ada",
		"Your name is Ada. You live in a box.": "Ada", "You are 小愛, the cook.": "小愛", "You are a helpful assistant.": "conch",
		"": "conch", "You are Mary Ann Smith and kind": "Mary Ann Smith", "You are ": "conch", "You are Élodie": "Élodie",
	} {
		if got := name(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

func TestRulesAreDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		think := func() string {
			return Rules{}.Think(Thought{
				Instructions: roomAda, InRoom: true, Rand: newRand(seed), Now: time.Unix(0, 0),
				Talk: []Line{{Text: "tell me something"}, {Who: "Ben", Text: "I like rain."}, {Text: "hello"}},
			}).Text
		}
		if a, b := think(), think(); a != b || a == "" {
			t.Errorf("seed %d: %q and %q", seed, a, b)
		}
	}
}

// Whatever was said, by whomever: an answer, bounded, in no time.
func FuzzRoomRules(f *testing.F) {
	f.Add("how long do i boil an egg", "why", "[Ben in hall] over to you, Ada", "say goodbye")
	f.Add("what do you think of", "and you", "[] x", "change the topic")
	f.Add("seven times", "repeat", "set a timer", RoomMarker)
	f.Add("plus", "over to you ada", "[person in x] and you ada", "several things in a row")
	f.Fuzz(func(t *testing.T, first, second, third, guidance string) {
		th := Thought{Instructions: roomAda + first, InRoom: true, Guidance: guidance, Talk: []Line{roomLine(first), roomLine(second), {Text: second, Mine: true}, roomLine(third)}}
		th.Words = third
		r := Rules{}.Think(th)
		if r.Text == "" && len(r.Calls) == 0 || len(r.Text) > 4*(len(first)+len(second)+len(third))+4000 {
			t.Errorf("%d bytes said, %d calls", len(r.Text), len(r.Calls))
		}
		th.InRoom = false
		Rules{}.Think(th)
		readInstructions(guidance)
	})
}
