package talk

import (
	"flag"
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

	"conch/companions/round"
	"conch/coordinator/turn"
)

var update = flag.Bool("update", false, "write the table into doc.go")

var (
	here  = round.Place{Message: "m-1", Number: 1}
	grant = round.Prepare{Place: here, Companion: "ada", Message: round.Message{ID: "m-1"}}
	own   = round.Prepare{Place: here, Companion: "ada", Turn: "t-1", Message: round.Message{ID: "m-1"}}
	whole = TurnEnded{Reason: "done", Done: true, Audible: true, Heard: time.Second, Said: "hello"}
	given = Granted{Grant: grant, Who: "ada", First: "ada", Up: true, Turn: "t-9"}
	mine  = Granted{Grant: own, Who: "ada", First: "ada", Up: true, Turn: "t-9"}
)

func ended(e TurnEnded, id turn.ID) TurnEnded { e.Turn = id; return e }

// situations are the columns: how one gets there.
var situations = []struct {
	name string
	way  []Event
}{
	{"nothing", nil},
	{"asked", []Event{Asked{Turn: "t-1"}}},
	{"unwritten", []Event{Asked{Turn: "t-1"}, InputCommitted{0, "t-1"}, DeadlinePassed{At: transcriptPatience, First: "ada"}}},
	{"ready", []Event{Asked{Turn: "t-1"}, mine}},
	{"heard", []Event{Asked{Turn: "t-1"}, mine, Opened{Place: here, Companion: "ada"}}},
	{"given up", []Event{Asked{Turn: "t-1"}, mine, Opened{Place: here, Companion: "ada"}, Abandoned{time.Second, here, "ada", "a press here"}}},
	{"alone", []Event{Asked{Turn: "t-1", Alone: true}}},
	{"spoken", []Event{Asked{Turn: "t-1", Alone: true}, SpeechBegan{"t-1"}, SpeechKnown{Turn: "t-1", Text: "hello"}, ended(whole, "t-1")}},
	{"told", []Event{Asked{Turn: "t-1", Alone: true}, SpeechBegan{"t-1"}, WordsCame{"t-1", "hi", true, "ada"}, mine}},
	{"elsewhere", []Event{given}},
}

var rows = []struct {
	name string
	ev   Event
}{
	{"Asked", Asked{Turn: "t-2"}},
	{"Announced", Announced{"t-2"}},
	{"InputCommitted", InputCommitted{time.Second, "t-1"}},
	{"WordsCame", WordsCame{"t-1", "hello", false, "ada"}},
	{"WordsCame, unwritten", WordsCame{"t-1", " ", false, "ada"}},
	{"SpeechBegan", SpeechBegan{"t-1"}},
	{"SpeechKnown", SpeechKnown{Turn: "t-1", Text: "hello"}},
	{"TurnEnded", ended(whole, "t-1")},
	{"TurnEnded, unheard", TurnEnded{Turn: "t-1", Reason: "too_short"}},
	{"TurnEnded, failed", TurnEnded{Turn: "t-1", Reason: "failed", Words: turn.WordsNoAnswer}},
	{"TurnEnded, wordless", ended(TurnEnded{Reason: "done", Done: true, Tools: 1}, "t-1")},
	{"TurnEnded, the other", ended(whole, "t-9")},
	{"Granted, own turn", Granted{Grant: round.Prepare{Place: round.Place{Number: 2}, Companion: "ada", Turn: "t-1"}, Who: "ada", First: "ada", Up: true, Turn: "t-8"}},
	{"Granted, to another", Granted{Grant: round.Prepare{Place: round.Place{Number: 2}, Companion: "ben", Turn: "t-1"}, Who: "ben", First: "ada", Up: true, Turn: "t-8"}},
	{"Granted, no voice", Granted{Grant: round.Prepare{Place: round.Place{Number: 2}, Companion: "ben"}, Who: "ben", First: "ada", Turn: "t-8"}},
	{"Opened", Opened{Place: here, Companion: "ada"}},
	{"Abandoned", Abandoned{time.Second, here, "ada", "a press here"}},
	{"VoteLost", VoteLost{Turn: "t-1"}},
	{"MessageHeard", MessageHeard{round.Message{From: "human:x", Turn: "t-1", Text: "hi", Number: 1}, []round.CompanionID{"ada", "ben"}, "ada"}},
	{"MessageHeard, own", MessageHeard{round.Message{From: "ada", Text: "hi", Number: 1}, []round.CompanionID{"ada"}, "ada"}},
	{"AnswerFailed", AnswerFailed{"m-1"}},
	{"Unanswered", Unanswered{Message: "m-1", Turn: "t-1"}},
	{"Unanswered, muted", Unanswered{Message: "m-1", Turn: "t-1", Muted: []round.CompanionID{"ada"}}},
	{"MannersTurned", MannersTurned{"ada"}},
	{"DeadlinePassed", DeadlinePassed{At: time.Hour, First: "ada"}},
}

var letters = map[string]string{
	"TellPress": "p", "TellWords": "w", "TellLate": "l", "TellPressEnded": "x", "TellBegan": "b", "TellKnown": "k", "TellEnded": "e",
	"FloorGranted": "G", "FloorOpened": "O", "VoteLost": "L", "Hush": "H", "Remember": "R", "SayWords": "S",
}

func name(v any) string {
	if p, ok := v.(Post); ok {
		v = p.Event
	}
	return reflect.TypeOf(v).Name()
}

// The table of doc.go is what Step does.
func TestTable(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "//\t%-23s", "")
	for _, s := range situations {
		fmt.Fprintf(&b, "%-10s", s.name)
	}
	lines := []string{strings.TrimRight(b.String(), " ")}
	for _, r := range rows {
		line := fmt.Sprintf("//\t%-23s", r.name)
		for _, s := range situations {
			m := Machine{}
			for _, ev := range s.way {
				m, _ = Step(m, ev)
			}
			next, effects := Step(m, r.ev)
			cell := ""
			for _, e := range effects {
				l, ok := letters[name(e)]
				if !ok {
					t.Fatalf("%T has no letter", e)
				}
				cell += l
			}
			if cell == "" {
				cell = "."
				if !reflect.DeepEqual(m, next) {
					cell = "*"
				}
			}
			line += fmt.Sprintf("%-10s", cell)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	want := strings.Join(lines, "\n")
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "// # Table\n//\n", "\n//\n// # End of the table"
	i, j := strings.Index(string(text), begin), strings.Index(string(text), end)
	if i < 0 || j < i {
		t.Fatal("doc.go has no place for the table")
	}
	i += len(begin)
	if got := string(text[i:j]); got != want {
		if *update {
			if err := os.WriteFile("doc.go", []byte(string(text[:i])+want+string(text[j:])), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the table is not what Step does (-update writes it):\n%s", want)
	}
}

// Every kind of fact is in the table, every kind of order has a letter.
func TestAllAreListed(t *testing.T) {
	for file, method := range map[string]string{"event.go": "event", "effect.go": "effect"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method {
				continue
			}
			of := fn.Recv.List[0].Type.(*ast.Ident).Name
			listed := letters[of] != "" || of == "Post"
			if method == "event" {
				listed = slices.ContainsFunc(rows, func(r struct {
					name string
					ev   Event
				}) bool {
					return name(r.ev) == of
				})
			}
			if !listed {
				t.Errorf("%s is not in the table", of)
			}
		}
	}
}
