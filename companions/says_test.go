package companions

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"conch/companions/recorded"
	"conch/companions/round"
)

// TestWhatTheRoomDoesWithWhatYouSay says the lines of SAYS.md, in their order, to the companions that come with conch.
func TestWhatTheRoomDoesWithWhatYouSay(t *testing.T) {
	page, err := os.ReadFile("SAYS.md")
	if err != nil {
		t.Fatal(err)
	}
	const kitchen = "human:kitchen"
	d := recorded.Dialogue{Dialogue: "page", Participants: []string{kitchen}}
	for _, c := range DefaultCards() {
		d.Companions = append(d.Companions, roundCards([]Card{c})...)
	}
	say := func(id, from, text string) {
		d.Messages = append(d.Messages, recorded.Line{ID: id, From: from, Text: text})
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cell := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cell) != 4 || strings.TrimSpace(cell[0]) != fmt.Sprint(rows+1) {
			continue
		}
		rows++
		id := fmt.Sprint("line ", rows)
		text, who := strings.TrimSpace(cell[1]), strings.ToLower(strings.TrimSpace(cell[2]))
		say(id, kitchen, text)
		want := strings.Split(who, ", ")
		switch who {
		case "nobody":
			want = []string{"-"}
		case "one":
			d.Gold = append(d.Gold, recorded.Gold{Message: id, Want: [][]string{{"one"}}})
			said := recorded.Dialogue{Dialogue: d.Dialogue, Participants: d.Participants, Companions: d.Companions, Messages: d.Messages, Gold: d.Gold[len(d.Gold)-1:]}
			if a := said.Answers()[0]; len(a.Order) == 1 { // whoever it is goes on
				say(id+" answer", a.Order[0], "So it is.")
			}
			continue
		}
		d.Gold = append(d.Gold, recorded.Gold{Message: id, Want: [][]string{want}})
		for _, w := range want {
			if w != "-" && !slices.ContainsFunc(d.Companions, func(c round.Card) bool { return string(c.ID) == w }) {
				t.Fatalf("%s: nobody is called %q", id, w)
			} else if w != "-" {
				say(id+" answer of "+w, w, "So it is.")
			}
		}
	}
	if rows != 21 {
		t.Fatalf("the page has %d lines, not 21", rows)
	}
	for _, a := range d.Answers() {
		if !a.Right {
			i := slices.IndexFunc(d.Messages, func(l recorded.Line) bool { return l.ID == a.Message })
			t.Errorf("%s: %q is answered by %q, which is not what the page says: %s", a.Message, d.Messages[i].Text, a.Order, a.Reason)
		}
	}
}
