package recorded

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

func dialogues(t *testing.T, file string) []Dialogue {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadDialogues(data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReplayOfDialogues: whom the words call, who is selected, and who follows, for each kind of gold.
func TestReplayOfDialogues(t *testing.T) {
	want := map[string]string{ // addressed > selected, then; right
		"kitchen m1": "> ada; true", "kitchen m3": "> ada; true", "kitchen m5": "> nobody; true", "kitchen m6": "bob cleo > bob cleo; true",
		"kitchen m7": "> cleo; true", "kitchen m9": "max > nobody; true", "kitchen m10": "> bob; true",
		"workshop b": "ina > ina; true", "workshop d": "jo > jo; true", "workshop e": "> ina; true", "workshop f": "> jo; false", // (that one is jo's)
	}
	seen := 0
	for _, d := range dialogues(t, "testdata/dialogues.jsonl") {
		for _, a := range d.Answers() {
			if a.Kind == KindNext {
				if a.Selected == nil || *a.Selected != "jo" || !a.Right {
					t.Errorf("next: %+v", a)
				}
				continue
			}
			who := []string{"nobody"}
			if a.Selected != nil {
				who = append([]string{*a.Selected}, a.Then...)
			}
			got := strings.TrimSpace(strings.Join(a.Addressed, " ")+" > "+strings.Join(who, " ")) + map[bool]string{true: "; true", false: "; false"}[a.Right]
			if w := want[d.Dialogue+" "+a.Message]; got != w {
				t.Errorf("%s %s: %s; want %s (%s)", d.Dialogue, a.Message, got, w, a.Reason)
			}
			if a.Reason == "" || a.Selected != nil && a.Terms == nil {
				t.Errorf("%s %s: no reason or no terms: %+v", d.Dialogue, a.Message, a)
			}
			if (a.Kind == KindAddressed) != (a.Without != nil) {
				t.Errorf("%s %s: %s, without the name: %v", d.Dialogue, a.Message, a.Kind, a.Without)
			}
			if a.Kind == KindAddressed && !a.Without.Right {
				t.Errorf("%s %s without the name: %+v", d.Dialogue, a.Message, a.Without)
			}
			seen++
		}
	}
	if seen != len(want) {
		t.Errorf("%d answers", seen)
	}
}

// TestWanted: what lists of names in a dialogue's gold mean.
func TestWanted(t *testing.T) {
	for _, row := range []struct{ want, order, yes string }{
		{"-", "", "yes"}, {"-", "ada", "no"}, {"one", "ada", "yes"}, {"one", "ada ben", "no"}, {"one", "", "no"}, {"any", "ada ben", "yes"}, {"any", "", "no"},
		{"*", "", "yes"}, {"ada+", "ada ben", "yes"}, {"ada+", "ben ada", "no"}, {"ada+", "", "no"}, {"ada ben", "ada ben", "yes"}, {"ada ben", "ben ada", "no"},
		{"ada", "ada", "yes"}, {"ada", "ben", "no"},
	} {
		g := Gold{Want: [][]string{{"cleo", "cleo"}, strings.Fields(row.want)}}
		if got := g.wanted(strings.Fields(row.order)); got != (row.yes == "yes") {
			t.Errorf("%q is as wanted by %q: %v", row.order, row.want, got)
		}
	}
	var all []Answer
	for i := range 20 {
		all = append(all, Answer{Kind: KindSpeaker, About: "large", Right: i > 0}, Answer{Kind: KindNext, About: "other"})
	}
	all = append(all, Answer{Kind: KindSpeaker, About: "small"}, Answer{Kind: KindSpeaker, About: "smaller", Right: true})
	if got := Groups(all); len(got) != 2 || got[0].Right != 1 || got[0].N != 2 || got[1].Part != "large" || got[1].Right != 19 {
		t.Errorf("groups %+v", got)
	}
}

func TestReadDialoguesRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{"dialogue":"d","messages":[{"id":"a"},{"id":"a"}]}`:                           "used twice",
		`{"dialogue":"d","messages":[],"gold":[{"after":"x","next":"y"}]}`:              `"x" is not in the dialogue`,
		`{"dialogue":"d","messages":[{"id":"a"}],"gold":[{"message":"a"}]}`:             "neither to, speaker nor want",
		`{"dialogue":"d","messages":[{"id":"a"}],"gold":[{"message":"a","speaker":3}]}`: "must be a name, null, or a list",
		`{"dialogue":"d","messages":[],"companions":[{"id":"a"},{"id":"a"}]}`:           "used twice",
		"{}\nnonsense": "line 2",
	} {
		if _, err := ReadDialogues([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", line, err, want)
		}
	}
}

// TestHeldOutKeepsOverlapsTogether: pieces of one conversation are never on both sides.
func TestHeldOutKeepsOverlapsTogether(t *testing.T) {
	var all []Dialogue
	for i := range 40 {
		d := Dialogue{Dialogue: string(rune('a'+i%26)) + strings.Repeat("x", i)}
		d.Messages = []Line{{"1", "eva", "a long message number " + strings.Repeat("i", i/4)}, {"2", "eva", "thanks"}}
		all = append(all, d)
	}
	out := HeldOut(all)
	n := 0
	for i, d := range all {
		if out[d.Dialogue] != out[all[i/4*4].Dialogue] {
			t.Errorf("%s and %s share a message and are on different sides", d.Dialogue, all[i/4*4].Dialogue)
		}
		if out[d.Dialogue] {
			n++
		}
	}
	if n == 0 || n == len(all) {
		t.Errorf("%d of %d are held out", n, len(all))
	}
	slices.Reverse(all)
	for name, side := range HeldOut(all) {
		if out[name] != side {
			t.Errorf("%s changes sides with the order of the lines", name)
		}
	}
}

var files = flag.String("dialogues", "", "files of recorded dialogues, with commas between them")

// TestScores: how many answers of the rules are right, and whether they are as many as they have been, where dialogues are given
// (they are not part of this repository).
func TestScores(t *testing.T) {
	if *files == "" {
		t.Skip("missing: recorded dialogues (make score DIALOGUES=FILE,FILE)")
	}
	var all []Answer
	var ds []Dialogue
	for _, f := range strings.Split(*files, ",") {
		ds = append(ds, dialogues(t, f)...)
	}
	out := HeldOut(ds)
	for _, d := range ds {
		for _, a := range d.Answers() {
			a.HeldOut = out[d.Dialogue]
			all = append(all, a)
		}
	}
	goal := map[string]float64{KindAddressed: 0.995, KindUnnamed: 0.995, KindWithout: 0.62, KindNext: 0.45, KindSpeaker: 0.8} // of each part, and of each kind of dialogue
	for _, s := range Scores(all) {
		t.Log(s)
		if g := goal[s.Kind]; float64(s.Right) < g*float64(s.N) {
			t.Errorf("%s, %s: %d of %d is below %.1f %%", s.Kind, s.Part, s.Right, s.N, 100*g)
		}
	}
	t.Logf("How this was measured. %s", Method)
}
