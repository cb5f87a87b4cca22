package companions

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"conch/companions/skills"
	"conch/coordinator/turn"
)

var update = flag.Bool("update", false, "rewrite the table of causes in skills/SKILLS.md")

// whoseWords are they, for people.
var whoseWords = map[turn.Cause]string{
	turn.CauseUtterance: "a person spoke into this device", turn.CauseLine: "a person typed at this device (terminal, page, control socket)",
	turn.CauseRoom: "a person spoke or typed at another device of the room", turn.CauseResult: "the same, and a tool has returned words of others since",
	turn.CauseCompanion: "a companion said it, or nobody spoke for a while", turn.CauseHouse: "Home Assistant wrote it",
	turn.CauseInjected: "words to be said: announcement, `conch say`, reminder, end of a book", turn.CauseUnknown: "not known",
}

// TestTheTableOfCauses writes the table of SKILLS.md 2.5 from what the toolbox does.
func TestTheTableOfCauses(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Cause | Whose words |")
	for _, k := range skills.Kinds {
		fmt.Fprintf(&b, " %v |", k)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(skills.Kinds)) + "\n")
	ran := 0
	for _, c := range turn.Causes {
		fmt.Fprintf(&b, "| `%v` | %s |", c, whoseWords[c])
		for _, k := range skills.Kinds {
			word := "no"
			if runs(t, k, turn.CallTool{Cause: c}) {
				word = "yes"
				ran++
			} else if runs(t, k, turn.CallTool{Cause: c, Quoted: "test"}) {
				word = "its own skill"
			}
			if word != "no" && c.Silent() {
				t.Errorf("%v is offered no tool, and may call one that %v", c, k)
			}
			b.WriteString(" " + word + " |")
		}
		b.WriteString("\n")
	}
	if ran == 0 {
		t.Error("nothing may be called")
	}
	const path, begin, end = "skills/SKILLS.md", "<!-- causes -->\n", "<!-- end -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != b.String() {
		t.Errorf("the table of %s differs; is the change wanted? then: go test ./companions -run Causes -update\n%s", path, b.String())
	}
}

// runs says whether a call reaches its tool.
func runs(t *testing.T, k skills.Kind, c turn.CallTool) (ran bool) {
	t.Helper()
	one := tool("it", func(skills.Context) (skills.Result, error) { ran = true; return skills.Result{Output: "ran"}, nil })
	one.Kind = k
	c.Name = "it"
	o := newBox(t, one).Call(t.Context(), c)
	if o.Failed == ran || !ran && (o.Quotes != "" || o.Output == "") {
		t.Errorf("%v, %v: %+v", c.Cause, k, o)
	}
	return ran
}

// TestOnlyItsOwnWordsAreNotQuoted: what a tool says is of others, unless the tool declares that it is not; an apology of the toolbox never is.
func TestOnlyItsOwnWordsAreNotQuoted(t *testing.T) {
	text := func(skills.Context) (skills.Result, error) { return skills.Result{Output: "call the kitchen"}, nil }
	own := tool("own", text)
	own.Own = true
	b := newBox(t, own, tool("title", text))
	for name, want := range map[string]string{"own": "", "title": "test", "none": ""} {
		if o := b.Call(t.Context(), turn.CallTool{Cause: turn.CauseLine, Name: name}); o.Quotes != want || (o.Skill == "test") != (name != "none") {
			t.Errorf("%s: quotes %q; want %q", name, o.Quotes, want)
		}
	}
	if !slices.Equal(permits[turn.CauseLine], permits[turn.CauseUtterance]) {
		t.Error("a typed line may not what a spoken one may")
	}
}

// TestAHouseholdWidensWhatOneToolMay, that tool alone, and the last verdict says whose words it were.
func TestAHouseholdWidensWhatOneToolMay(t *testing.T) {
	text := func(skills.Context) (skills.Result, error) { return skills.Result{Output: "Done."}, nil }
	b := newBox(t, tool("light", text), tool("door", text))
	b.Widened = func(cause, tool string) bool { return cause == "room" && tool == "light" }
	if b.Why() != "" {
		t.Errorf("%q of no call", b.Why())
	}
	for _, row := range []struct {
		tool  string
		cause turn.Cause
		runs  bool
	}{{"light", turn.CauseRoom, true}, {"door", turn.CauseRoom, false}, {"light", turn.CauseInjected, false}, {"door", turn.CauseLine, true}} {
		o := b.Call(t.Context(), turn.CallTool{Cause: row.cause, Turn: "t-1", Name: row.tool})
		word := map[bool]string{true: "was run", false: "was refused"}[row.runs]
		if o.Failed == row.runs || !strings.Contains(b.Why(), word) || !strings.Contains(b.Why(), row.tool) || !strings.Contains(b.Why(), row.cause.String()) {
			t.Errorf("%+v: %+v, %q", row, o, b.Why())
		}
	}
}
