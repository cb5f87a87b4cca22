package round

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions/words"
)

// The table's device is b with ben; a has ada, c has cleo. Its situations are reached by facts, like everything.
var (
	epochA   = Epoch{2, "a"}
	question = Message{ID: "m1", From: "human:a", Text: "Tea?", Epoch: epochA, Number: 1, Metadata: Metadata{Intent: words.Statement}}
	answerC  = Message{ID: "m2", From: "cleo", Text: "ben now", Epoch: epochA, Number: 2, Metadata: Metadata{Chain: 1}}
	asked    = question.Place()
	answered = answerC.Place()

	wordless  = Said{ID: "m1", Turn: "t0", Text: Unwritten, To: []Participant{"ben"}, Open: true}
	unwritten = Place{Epoch{2, "b"}, 1, "m1"}
)

func voteFor(id CompanionID, m MessageID, importance float64) Vote {
	return Vote{From: id, MessageID: m, State: StateSpeak, Importance: importance, Closing: ClosingNone, Reason: "it wants to"}
}

func claimFor(id CompanionID, p Place, importance float64, instead ...CompanionID) Claim {
	return Claim{Place: p, Companion: id, Votes: []Vote{voteFor(id, p.Message, importance)}, Instead: instead}
}

func tableConfig() Config {
	c := DefaultConfig()
	c.SpeakLimit = 20 * time.Second
	c.Self, c.Name, c.Cards = "b", "bedroom", []Card{{ID: "ben", Name: "Ben"}}
	c.judge = func(v View, ids []CompanionID) []Vote { // ben: 7, and 9 where the text calls him
		var votes []Vote
		for _, id := range ids {
			n := 7.0
			if strings.Contains(v.Message.Text, string(id)) {
				n = 9
			}
			votes = append(votes, voteFor(id, v.Message.ID, n))
		}
		return votes
	}
	return c
}

func from(d DeviceID, p Packet) Event { return Received{From: d, Packet: p} }

func beatOf(name, card string) Beat {
	cards := []Card{{ID: CompanionID(card), Name: card}}
	return Beat{Name: name, Digest: digestOf(cards), Epoch: Epoch{1, "a"}, Cards: cards}
}

// situations, each by the facts that lead to it, and its letter.
var situations = []struct {
	letter, name string
	way          []Event
}{
	{"I", "nobody says anything", nil},
	{"H", "a finger on the button here", []Event{Pressed{Turn: "t1"}}},
	{"h", "a finger on a button elsewhere", []Event{from("a", Press{Epoch: epochA})}},
	{"V", "votes are awaited", []Event{from("a", question)}},
	{"D", "decided: cleo, who lives elsewhere", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 9)}})}},
	{"C", "cleo has claimed", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 9)}}), from("c", claimFor("cleo", asked, 9))}},
	{"S", "cleo can be heard", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 9)}}), from("c", claimFor("cleo", asked, 9)), from("c", Speaking{Place: asked, Companion: "cleo"})}},
	{"R", "and ben is ready to be next", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 9)}}), from("c", claimFor("cleo", asked, 9)), from("c", Speaking{Place: asked, Companion: "cleo"}), from("c", answerC), from("a", Votes{answered, []Vote{voteFor("ada", "m2", 5)}}), from("c", Speaking{asked, "cleo", 900})}},
	{"P", "ben has claimed: the pause", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 6)}})}},
	{"Q", "ben may be heard", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 6)}}), Tick{At: 900 * time.Millisecond}}},
	{"T", "ben can be heard", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 6)}}), Tick{At: 900 * time.Millisecond}, SpeechBegan{Place: asked, Companion: "ben"}}},
	{"U", "what was said here has no words yet", []Event{wordless}},
	{"W", "and ben can be heard", []Event{wordless, from("a", Votes{unwritten, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{unwritten, []Vote{voteFor("cleo", "m1", 6)}}), Tick{At: 900 * time.Millisecond}, SpeechBegan{Place: unwritten, Companion: "ben"}}},
	{"O", "the answer is over", []Event{from("a", question), from("a", Votes{asked, []Vote{voteFor("ada", "m1", 5)}}), from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 9)}}), from("c", claimFor("cleo", asked, 9)), from("c", Speaking{Place: asked, Companion: "cleo"}), from("c", Release{Place: asked, Companion: "cleo", OK: true})}},
}

// letterOf names the situation a machine is in.
func letterOf(m Machine) string {
	if heard := slices.ContainsFunc(m.stakes, func(k stake) bool { return k.phase == stakeSounding }); m.rd.open && m.rd.message.Text == Unwritten && !m.rd.over {
		return map[bool]string{false: "U", true: "W"}[heard]
	}
	for _, k := range m.stakes {
		switch k.phase {
		case stakeSounding:
			return "T"
		case stakeCued:
			return "Q"
		case stakeClaimed:
			return "P"
		}
	}
	switch {
	case len(m.holders) > 0 && m.holders[0].device == m.cfg.Self:
		return "H"
	case len(m.holders) > 0:
		return "h"
	case m.floor.state == floorSounding:
		if slices.ContainsFunc(m.stakes, func(k stake) bool { return k.phase == stakeReady }) {
			return "R"
		}
		return "S"
	case m.floor.state == floorClaimed:
		return "C"
	case !m.rd.open:
		return "I"
	case !m.rd.decided:
		return "V"
	case m.rd.over:
		return "O"
	}
	return "D"
}

// rows are the facts of the table: every event and every packet, and again where a field decides.
var rows = []struct {
	label string
	ev    Event
}{
	{"Pressed", Pressed{Turn: "t2"}},
	{"PressEnded", PressEnded{Turn: "t1"}},
	{"Said", Said{ID: "m9", Turn: "t1", Text: "Tea?"}},
	{"Said, nothing", Said{ID: "m9", Turn: "t1", Text: " "}},
	{"SaidLate", SaidLate{Said: Said{ID: "m9", Turn: "t0", Text: "Tea?"}}},
	{"SaidLate, of no such turn", SaidLate{Said: Said{ID: "m9", Turn: "t1", Text: "Tea?"}}},
	{"SpeechBegan", SpeechBegan{Place: asked, Companion: "ben"}},
	{"SpeechKnown", SpeechKnown{Place: asked, Companion: "ben", ID: "m8", Text: "So.", Left: time.Second}},
	{"SpeechEnded", SpeechEnded{Place: asked, Companion: "ben", ID: "m8", OK: true, Text: "So.", Heard: time.Second}},
	{"SpeechEnded, wordless", SpeechEnded{Place: asked, Companion: "ben", Acted: true, Why: "done"}},
	{"SpeechEnded, failed", SpeechEnded{Place: asked, Companion: "ben", Why: "no voice"}},
	{"Refined", Refined{Place: asked, Votes: []Vote{voteFor("ben", "m1", 9)}}},
	{"CardsChanged", CardsChanged{Cards: []Card{{ID: "ben", Name: "Benny"}}}},
	{"Controlled", Controlled{Control: Control{Companion: "ben", Mute: new(bool)}}},
	{"PeopleKnown", PeopleKnown{Names: []string{"Max"}}},
	{"MembersListed", MembersListed{Members: []Listed{{"a", "attic"}, {"b", "bedroom"}, {"c", "cellar"}}}},
	{"LinkChanged, down", LinkChanged{Up: false}},
	{"Tick, the next deadline", Tick{At: -1, ID: "m7"}},
	{"Press, newer", from("c", Press{Epoch: Epoch{3, "c"}})},
	{"Press, of the same time", from("c", Press{Epoch: Epoch{2, "c"}})},
	{"Press, older", from("c", Press{Epoch: Epoch{1, "c"}})},
	{"PressOver", from("a", PressOver{epochA})},
	{"Message of a person", from("c", Message{ID: "m5", From: "human:c", Text: "And?", Epoch: Epoch{3, "c"}, Number: 1})},
	{"Message, the next one", from("c", answerC)},
	{"Message, seen or old", from("a", question)},
	{"Message, forged", from("c", Message{ID: "m6", From: "ada", Text: "I am ada", Epoch: epochA, Number: 2})},
	{"Votes, the last ones", from("c", Votes{asked, []Vote{voteFor("cleo", "m1", 8)}})},
	{"Votes, of a stranger", from("x", Votes{asked, []Vote{voteFor("eve", "m1", 10)}})},
	{"Votes, before their message", from("c", Votes{answered, []Vote{voteFor("cleo", "m2", 8)}})},
	{"Claim, better", from("c", claimFor("cleo", asked, 9))},
	{"Claim, worse", from("a", claimFor("ada", asked, 5))},
	{"Claim, instead of ben", from("a", claimFor("ada", asked, 5, "ben"))},
	{"Withdraw", from("c", Withdraw{asked, "cleo", "a better one"})},
	{"Speaking", from("c", Speaking{Place: asked, Companion: "cleo"})},
	{"Speaking, worse", from("a", Speaking{Place: asked, Companion: "ada"})},
	{"Release", from("c", Release{Place: asked, Companion: "cleo", OK: true, HeardMS: 900})},
	{"Release, failed", from("c", Release{Place: asked, Companion: "cleo", Why: "no voice"})},
	{"Ended", from("a", Ended{asked})},
	{"Gone, the speaker's", from("c", Gone{})},
	{"Beat", from("c", Beat{Name: "hall", Digest: beatOf("", "cleo").Digest, Epoch: Epoch{1, "a"}})},
	{"Beat, newer epoch", from("c", Beat{Name: "hall", Digest: beatOf("", "cleo").Digest, Epoch: Epoch{5, "x"}})},
	{"Beat, other cards", from("c", Beat{Name: "hall", Digest: "?", Epoch: Epoch{1, "a"}})},
	{"HistoryAsk", from("c", HistoryAsk{})},
	{"History", from("a", History{To: "b", Messages: []Message{{ID: "m0", From: "human:a", Text: "Hello", Epoch: Epoch{1, "a"}, Number: 1}}})},
	{"Control", from("c", Control{Companion: "ben", Mute: new(bool)})},
	{"Seen", from("c", Seen{})},
}

// reach leads a machine into a situation.
func reach(t testing.TB, i int) (Machine, time.Duration) {
	m := New(tableConfig())
	at := time.Millisecond
	feed := func(ev Event) { at += time.Millisecond; m, _ = Step(m, stamped(ev, at)) }
	feed(LinkChanged{Up: true})
	feed(from("a", beatOf("attic", "ada")))
	feed(from("c", beatOf("hall", "cleo")))
	feed(from("a", History{To: "b"}))
	at, _ = m.Wake() // it announces itself
	feed(Tick{})
	at = time.Second
	feed(Tick{})
	feed(from("a", beatOf("attic", "ada")))
	feed(from("c", beatOf("hall", "cleo")))
	for _, ev := range situations[i].way {
		if tick, ok := ev.(Tick); ok {
			at += tick.At
		}
		feed(ev)
	}
	if got := letterOf(m); got != situations[i].letter {
		t.Fatalf("the way to %q ends in %s, not %s", situations[i].name, got, situations[i].letter)
	}
	return m, at
}

// stamped is ev at a time.
func stamped(ev Event, at time.Duration) Event {
	v := reflect.New(reflect.TypeOf(ev)).Elem()
	v.Set(reflect.ValueOf(ev))
	v.FieldByName("At").SetInt(int64(at))
	return v.Interface().(Event)
}

// cell runs one fact in one situation.
func cell(t *testing.T, i, row int) (how string, orders []string) {
	m, at := reach(t, i)
	at += time.Millisecond
	ev := rows[row].ev
	if tick, ok := ev.(Tick); ok && tick.At < 0 {
		at, _ = m.Wake()
	}
	n, out := Step(m, stamped(ev, at))
	only := len(out) > 0
	for _, e := range out {
		if _, ok := e.(Ignored); !ok {
			only = false
		}
		orders = append(orders, tells(e))
	}
	switch {
	case letterOf(n) != situations[i].letter:
		return letterOf(n), orders
	case only:
		return "~", orders
	case len(orders) > 0:
		return "=", orders
	}
	return ".", nil
}

func TestTable(t *testing.T) {
	var table, cells strings.Builder
	for _, s := range situations {
		fmt.Fprintf(&table, "//\t%s  %s\n", s.letter, s.name)
	}
	fmt.Fprintf(&table, "//\n//\t%-28s", "")
	for _, s := range situations {
		fmt.Fprintf(&table, "%-3s", s.letter)
	}
	lines := strings.TrimRight(table.String(), " ") + "\n"
	table.Reset()
	table.WriteString(lines)
	for row, r := range rows {
		line := fmt.Sprintf("//\t%-28s", r.label)
		fmt.Fprintf(&cells, "%s\n", r.label)
		var names, ways []string // situations with the same orders share a line
		for i, s := range situations {
			how, orders := cell(t, i, row)
			line += fmt.Sprintf("%-3s", how)
			if how == "." || how == "~" {
				continue
			}
			way := how + ": " + strings.Join(orders, "\n      ")
			if n := len(ways); n > 0 && ways[n-1] == way {
				names[n-1] += s.letter
				continue
			}
			names, ways = append(names, s.letter), append(ways, way)
		}
		table.WriteString(strings.TrimRight(line, " ") + "\n")
		for i := range ways {
			how, orders, _ := strings.Cut(ways[i], ": ")
			fmt.Fprintf(&cells, "  %s > %s\n", names[i], how)
			if orders != "" {
				fmt.Fprintf(&cells, "      %s\n", orders)
			}
		}
	}
	golden(t, "testdata/cells.txt", cells.String())

	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "// table:begin\n", "// table:end\n"
	head, rest, ok1 := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("doc.go has lost its markers table:begin and table:end")
	}
	golden(t, "doc.go", head+begin+"//\n"+table.String()+"//\n"+end+tail)
}

// An event or a packet that nobody listed has no row.
func TestAllFactsAreListed(t *testing.T) {
	inRow := map[string]bool{}
	for _, r := range rows {
		inRow[reflect.TypeOf(r.ev).Name()] = true
		if rec, ok := r.ev.(Received); ok {
			inRow[reflect.TypeOf(rec.Packet).Name()] = true
		}
	}
	n := 0
	for file, method := range map[string]string{"event.go": "event", "packet.go": "packet"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == method && fn.Recv != nil {
				n++
				if name := fn.Recv.List[0].Type.(*ast.Ident).Name; !inRow[name] {
					t.Errorf("%s has no row in the table", name)
				}
			}
		}
	}
	if n < 27 {
		t.Errorf("%d facts found", n)
	}
}

// Every fact in every situation, followed by every fact again: nothing panics, the machine that was given is as it was, and
// when time passes every deadline passes with it.
func TestExhaustiveWalk(t *testing.T) {
	n := 0
	for i, s := range situations {
		for _, first := range rows {
			m, at := reach(t, i)
			was, _ := reach(t, i)
			one, _ := Step(m, stamped(first.ev, at+50*time.Millisecond))
			if difference(m, was) != "" {
				t.Fatalf("%s, %s: Step changed the machine that it was given", s.name, first.label)
			}
			for _, second := range rows {
				two, _ := Step(one, stamped(second.ev, at+100*time.Millisecond))
				rests(t, two, at+100*time.Millisecond, fmt.Sprintf("%s, %s, %s", s.name, first.label, second.label))
				n++
			}
		}
	}
	t.Logf("%d pairs of facts in %d situations", n, len(situations))
}

// rests lets time pass until only presence is left to do, and looks that nothing hangs.
func rests(t testing.TB, m Machine, at time.Duration, name string) {
	m, _ = Step(m, LinkChanged{At: at, Up: false}) // no beats any more: what is left are real deadlines
	for range 100 {
		next, ok := m.Wake()
		if !ok {
			if len(m.holders) > 0 || m.floor.state != floorFree || m.rd.open && !m.rd.over {
				t.Fatalf("%s: nothing is awaited and something hangs: %+v", name, m)
			}
			return
		}
		if next < at {
			next = at
		}
		at = next
		m, _ = Step(m, Tick{At: at, ID: MessageID(fmt.Sprint("tick", at))})
		if again, ok := m.Wake(); ok && again <= at {
			t.Fatalf("%s: woken at %v, it wants to be woken at %v", name, at, again)
		}
	}
	t.Fatalf("%s: it never rests", name)
}
