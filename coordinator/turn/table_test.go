package turn

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// rows are the facts of the table: each kind at least once, and again where a field decides.
var rows = []struct{ label, fact string }{
	{"Pressed", "press t-2"},
	{"Released", "release 24000"},
	{"Released, too short", "release 2399"},
	{"Released, other button", "release 24000 2"},
	{"Released, gone", "release 24000 - true"},
	{"Asked", "ask t-2 why"},
	{"Hushed", "hush"},
	{"Hushed, by the room", "hush true"},
	{"Quieted", "quiet"},
	{"LetGo", "let-go"},
	{"FloorGranted", "floor t-2 ben"},
	{"FloorGranted, own turn", "floor t-1 cleo"},
	{"FloorGranted, to hold", "floor t-2 ben true"},
	{"FloorOpened", "floor-opened t-1"},
	{"VoteLost", "vote-lost t-1"},
	{"TurnInjected", "inject t-2 tea"},
	{"TurnInjected, to hold", "inject t-2 tea ben true"},
	{"TurnInjected, kept", "inject t-2 - - - true"},
	{"Preempted", "preempted"},
	{"CaptureStarted", "capture-started t-1"},
	{"CaptureEnded", "capture-ended t-1 24000"},
	{"CaptureEnded, empty", "capture-ended t-1 0"},
	{"CaptureEnded, no speech", "capture-ended t-1 24000 true"},
	{"CaptureLost", "capture-lost t-1"},
	{"InputCommitted", "committed t-1 u"},
	{"InputRefused", "refused t-1"},
	{"Transcribed", "transcribed t-1 hello"},
	{"ResponseStarted", "started t-1 rN"},
	{"DeltaArrived", "delta t-1 rN b 2400"},
	{"Spoken", "spoken t-1 rN b hello"},
	{"ToolCalled", "tool-called t-1 rN c9 clock"},
	{"ToolReturned", "tool-returned t-1 c1 noon"},
	{"ToolReturned, stream", "tool-returned t-1 c1 ok audio_stream 7"},
	{"ResponseDone", "done t-1 rN completed"},
	{"ResponseDone, failed", "done t-1 rN failed"},
	{"ResponseDone, link lost", "done t-1 rN failed lost_midway"},
	{"ResponseRefused", "response-refused t-1"},
	{"SpeechHeard", "heard t-1 1200"},
	{"SoundQueued", "sound-queued t-1 2400"},
	{"SpeechDrained", "drained t-1"},
	{"WordsSaid", "words-said"},
	{"StreamEnded", "stream-ended 99 finished"},
	{"StreamBack", "stream-back t-0 99"},
	{"ClaimEnded", "claim-ended 99 finished"},
	{"AlertChanged", "alert true true"},
	{"CallRings", "call-rings t-9 99"},
	{"CallGone", "call-gone 99"},
	{"SessionReady", "ready"},
	{"SessionLost", "lost"},
	{"SessionLost, for good", "lost true key_refused"},
	{"DeadlinePassed", "deadline"},
}

var letters = map[State]string{
	Idle: "I", Listening: "L", Committing: "C", InResponse: "R", AwaitingNextResponse: "A", ApplyingFactories: "F", Interrupted: "X",
}

// cell runs one fact in one situation.
func cell(t *testing.T, situation int, fact string) (how string, orders []string) {
	s := situations[situation]
	b := newBench(t, Config{Room: s.room}).run(s.lines...)
	if b.m.state != s.state || b.m.phase != s.phase {
		t.Fatalf("the way to %s ends in %v, phase %d", s.name, b.m.state, b.m.phase)
	}
	response := "r2" // the next one
	if s.phase == speaking || s.phase == writing {
		response = "r1"
	}
	b.now += 100 * time.Millisecond
	if fact == "deadline" {
		b.now = max(b.now, b.m.deadline, b.m.kept.until)
	}
	ev, err := parseFact(strings.ReplaceAll(fact, "rN", response), b.now)
	if err != nil {
		t.Fatal(err)
	}
	st := step{draft{m: b.m}}
	st.take(ev)
	staleOnly := len(st.out) > 0
	for _, e := range st.out {
		if _, ok := e.(DropStale); !ok {
			staleOnly = false
		}
		orders = append(orders, show(e))
	}
	switch {
	case len(st.way) > 0:
		for _, w := range st.way {
			how += letters[w.To]
		}
	case staleOnly:
		how = "~"
	case len(orders) > 0:
		how = "="
	default:
		how = "."
	}
	return how, orders
}

func TestTable(t *testing.T) {
	var table, cells strings.Builder
	table.WriteString("//\t                        IDLE              LISTENING  COMMITTING                IN_RESPONSE                  AWAITING_NEXT_RESPONSE\n")
	table.WriteString("//\t                              kept  told             closing  voting   asking   speaking  writing  draining  working   following\n")
	width := []int{6, 6, 6, 11, 9, 9, 9, 10, 9, 10, 10, 10}
	var held strings.Builder // the rows in which a held turn differs from its situation
	held.WriteString("//\t                        HELD asking  speaking  draining  working\n")
	for _, r := range rows {
		line := fmt.Sprintf("//\t%-24s", r.label)
		fmt.Fprintf(&cells, "%s\n", r.label)
		var names, ways []string // columns with the same orders share a line
		hows := map[phase]string{}
		heldLine, differs := fmt.Sprintf("//\t%-24s", r.label), false
		for i, s := range situations {
			how, orders := cell(t, i, r.fact)
			if s.held {
				heldLine += fmt.Sprintf("%-*s", 10, how)
				if s.phase == asking {
					heldLine += "   "
				}
				differs = differs || how != hows[s.phase]
			} else {
				hows[s.phase] = how
				line += fmt.Sprintf("%-*s", width[i], how)
			}
			if how == "." || how == "~" {
				continue
			}
			way := how + ": " + strings.Join(orders, "; ")
			if n := len(ways); n > 0 && ways[n-1] == way {
				names[n-1] += ", " + s.name
				continue
			}
			names, ways = append(names, s.name), append(ways, way)
		}
		table.WriteString(strings.TrimRight(line, " ") + "\n")
		if differs {
			held.WriteString(strings.TrimRight(heldLine, " ") + "\n")
		}
		for i := range ways {
			how, orders, _ := strings.Cut(ways[i], ": ")
			fmt.Fprintf(&cells, "  %s > %s\n", names[i], how)
			if orders == "" {
				continue
			}
			for o := range strings.SplitSeq(orders, "; ") {
				fmt.Fprintf(&cells, "      %s\n", o)
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
	golden(t, "doc.go", head+begin+"//\n"+table.String()+"//\n"+held.String()+"//\n"+end+tail)
}

// An event that nobody listed has no row, no script word and no test.
func TestAllEventsAreListed(t *testing.T) {
	inRow := map[string]bool{}
	for _, r := range rows {
		ev, err := parseFact(r.fact, 0)
		if err != nil {
			t.Fatal(err)
		}
		inRow[reflect.TypeOf(ev).Name()] = true
	}
	named := map[string]bool{}
	for _, f := range facts {
		named[reflect.TypeOf(f.ev).Name()] = true
	}
	found := receivers(t, "event.go", "event")
	for _, name := range found {
		if !named[name] {
			t.Errorf("event %s is not in facts", name)
		}
		if !inRow[name] {
			t.Errorf("event %s has no row in the table", name)
		}
	}
	if len(found) != len(facts) || len(found) < 29 {
		t.Errorf("%d events, %d listed", len(found), len(facts))
	}
}

// receivers finds every type with the method in a file.
func receivers(t *testing.T, file, method string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == method && fn.Recv != nil {
			names = append(names, fn.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	return names
}

// The package must stay pure; what makes it impure has an import or a keyword.
func TestThePackageIsPure(t *testing.T) {
	for _, name := range []string{"machine.go", "step.go", "answer.go", "hold.go", "inject.go", "ring.go", "text.go", "cut.go", "alert.go", "state.go", "event.go", "effect.go", "tool.go", "doc.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if i.Path.Value != `"time"` {
				t.Errorf("%s imports %s; only time, for durations", name, i.Path.Value)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType, *ast.SendStmt, *ast.MapType:
				t.Errorf("%s has a %T", name, n)
			case *ast.SelectorExpr:
				if p, ok := x.X.(*ast.Ident); ok && p.Name == "time" {
					switch x.Sel.Name {
					case "Duration", "Minute", "Second", "Millisecond":
					default:
						t.Errorf("%s uses time.%s", name, x.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

// A machine is a value: comparable (or this does not compile), and the same fact on the same machine gives the same machine.
func TestMachineIsAValue(t *testing.T) {
	for _, s := range situations {
		a := newBench(t, Config{Room: s.room}).run(s.lines...)
		b := newBench(t, Config{Room: s.room}).run(s.lines...)
		if a.m != b.m {
			t.Errorf("%s: two machines with the same past differ", s.name)
		}
		before := a.m
		Step(a.m, Pressed{At: a.now, Turn: "t-2"})
		if a.m != before {
			t.Errorf("%s: Step changed the machine it was given", s.name)
		}
	}
}
