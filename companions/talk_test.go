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
	t := rehearsal.Thought{Instructions: h.instructions(name), InRoom: true, Guidance: guidance}
	for _, l := range h.lines {
		if l.Mine = l.Who == name; l.Mine {
			l.Who = ""
		}
		t.Talk = append(t.Talk, l)
	}
	for _, tool := range tools {
		t.Tools = append(t.Tools, rehearsal.Tool{Name: tool})
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

func TestOneAnswersAndAnotherAdds(t *testing.T) {
	h := newHousehold(t)
	h.person("how long do i boil an egg")
	first := h.says("Ada", "")
	if !strings.Contains(first, "six minutes") {
		t.Errorf("Ada: %q", first)
	}
	second, third := h.says("Ben", ""), h.says("Cleo", "")
	if first == second || second == third || strings.Contains(second, "six minutes") {
		t.Errorf("Ben %q, Cleo %q", second, third)
	}
	h.person("why")
	h.says("Ada", "")
	h.person("what do you all think of porridge")
	h.says("Ada", "")
	h.says("Ben", "")
	h.says("Cleo", "")
	h.person("ada which book should i read")
	h.says("Ada", "")
	h.says("Ben", "")
	h.person("will it rain tomorrow")
	h.says("Cleo", "")
	h.says("Ada", "")
	h.person("what do you mean")
	h.says("Cleo", "")
	h.person("and you ben")
	h.says("Ben", "")
	h.person("who is in the room")
	h.says("Ben", "")
	h.person("why did you speak")
	h.says("Ben", "")
	h.person("tell me about the constitution of france")
	h.says("Ben", "")
	h.says("Ada", "")
	h.person("good night everybody")
	h.says("Ben", "")
	h.says("Ada", "")
	h.says("Cleo", "")
	h.says("Cleo", "")
}
