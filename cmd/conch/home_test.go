package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// said is a line of a person, at a device, and who is to answer it, in order.
type said struct {
	at, voice, text string // voice: flite's; "": typed
	answer          string // "ada ben"; "": nobody; "ada ben cleo ~": these, in any order
	cut             bool   // the next line comes into the answer
}

// Ten dialogues of a day at home, in a room of three, as people would have them: most are spoken, so that what the room hears is what a
// recogniser makes of it. Who answers is what ROOM.md says; what they say is the rehearsal voice's.
var atHome = []struct {
	name  string
	lines []said
}{
	{"breakfast", []said{
		{"kitchen", "slt", "Ada, how long do I boil eggs?", "ada", false},
		{"kitchen", "slt", "and a hard one?", "ada", false}, // the thread is hers
		{"bedroom", "rms", "Ben, what time is it?", "ben", false},
		{"bedroom", "slt", "thank you.", "", false},
	}},
	{"homework", []said{
		{"bedroom", "rms", "Ben, what is seven times eight?", "ben", false},
		{"bedroom", "rms", "and what is nine times nine?", "ben", false},
		{"bedroom", "rms", "Ada, what is two plus two?", "ada", false},
		{"bedroom", "rms", "Ben, what about you?", "ben", false},
	}},
	{"dinner", []said{
		{"kitchen", "slt", "what is good for dinner?", "ada", false}, // nobody is called: it is her field
		{"kitchen", "rms", "what do you think, Cleo?", "cleo", false},
		{"kitchen", "rms", "go on.", "cleo", false},
	}},
	{"guests", []said{
		{"hall", "rms", "Cleo, what time is it?", "cleo", false},
		{"hall", "rms", "all of you, say hello.", "ada ben cleo ~", false},
		{"hall", "rms", "good night Ben.", "ben", false},
	}},
	{"two at once", []said{
		{"kitchen", "slt", "Ada, tell me a story.", "ada", true},
		{"bedroom", "", "Ben, what is one plus one?", "ben", false}, // before she has ended: she is silent
		{"kitchen", "slt", "Ada, what time is it?", "ada", false},
	}},
	{"a story", []said{
		{"bedroom", "slt", "Ben, tell me a story.", "ben", false},
		{"bedroom", "slt", "another one.", "ben", false},
		{"bedroom", "slt", "thank you.", "", false},
	}},
	{"good night", []said{
		{"bedroom", "rms", "Ada, good night.", "ada", false},
		{"bedroom", "rms", "good night Ben.", "ben", false},
		{"bedroom", "rms", "good night Cleo.", "cleo", false},
	}},
	{"deutsch", []said{
		{"kitchen", "", "Ada, wie lange kochen Eier?", "ada", false},
		{"kitchen", "", "und Nudeln?", "ada", false},
		{"bedroom", "", "Ben, was liest du gerade?", "ben", false},
		{"bedroom", "", "danke", "", false},
		{"hall", "", "Was meint ihr alle zum Regen?", "ada ben cleo ~", false},
		{"hall", "", "Gute Nacht, Cleo", "cleo", false},
	}},
	{"español", []said{
		{"kitchen", "", "Ada, ¿cómo hiervo los huevos?", "ada", false},
		{"kitchen", "", "¿y la pasta?", "ada", false},
		{"hall", "", "Cleo, ¿qué hora es?", "cleo", false},
		{"hall", "", "gracias", "", false},
		{"hall", "", "Buenas noches, Ben", "ben", false},
	}},
	{"日本語", []said{
		{"kitchen", "", "Ada、卵は何分ゆでますか?", "ada", false},
		{"kitchen", "", "パスタは?", "ada", false},
		{"bedroom", "", "Ben、お話をしてください", "ben", false},
		{"bedroom", "", "ありがとう", "", false},
		{"hall", "", "Cleoはどう思う?", "cleo", false},
	}},
}

func TestADayAtHome(t *testing.T) {
	t.Parallel()
	if os.Getenv("CONCH_TEST_HOME") == "" {
		t.Skip("ten dialogues, most of them spoken, take some minutes: make test-home")
	}
	for _, program := range []string{"flite", "pocketsphinx_continuous"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("missing: " + program + " (make deps)")
		}
	}
	two := make(chan struct{}, 2) // at once: a recogniser that has to wait for others is later than the room
	for _, d := range atHome {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			haveAtHome(t, d.lines)
		})
	}
}

// The same companions on one device, with one loudspeaker for all, are asked the same and answer alike.
func TestADayAtHomeOnOneDevice(t *testing.T) {
	t.Parallel()
	if os.Getenv("CONCH_TEST_HOME") == "" {
		t.Skip("ten dialogues take some minutes: make test-home")
	}
	four := make(chan struct{}, 4)
	for _, d := range atHome {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			four <- struct{}{}
			defer func() { <-four }()
			lines := slices.Clone(d.lines)
			for i := range lines {
				lines[i].at, lines[i].voice = "parlour", ""
			}
			haveAtHome(t, lines, "--room", "room.toml")
		})
	}
}

// haveAtHome plays a dialogue and compares who answers.
func haveAtHome(t *testing.T, lines []said, flags ...string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("room.toml", "[[device]]\nname = \"parlour\"\ncompanions = [\"Ada\", \"Ben\", \"Cleo\"]\n")
	var script strings.Builder
	for i, l := range lines {
		if l.voice == "" {
			fmt.Fprintf(&script, "ask %s %s\n", l.at, l.text)
		} else {
			wav := fmt.Sprintf("%d.wav", i)
			if out, err := exec.CommandContext(t.Context(), "flite", "-voice", l.voice, "-t", l.text, "-o", filepath.Join(dir, wav)).CombinedOutput(); err != nil {
				t.Fatalf("flite: %v: %s", err, out)
			}
			fmt.Fprintf(&script, "hear %s %s\n", l.at, wav)
		}
		if l.cut {
			fmt.Fprintf(&script, "wait speaking %s\nwait 1s\n", l.at)
		} else {
			script.WriteString("wait idle\n")
		}
	}
	write("script", script.String())
	answers := atHomeAnswers(t, dir, flags...)
	if len(answers) != len(lines) {
		t.Fatalf("the room took %d lines; want %d: %v", len(answers), len(lines), answers)
	}
	for i, l := range lines {
		t.Logf("%s: %q, heard as %q: %s", l.at, l.text, answers[i].heard, answers[i].who)
		want, anyOrder := strings.CutSuffix(l.answer, " ~")
		got := slices.Clone(answers[i].who)
		if anyOrder {
			slices.Sort(got)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q is answered by %q; want %q", l.text, strings.Join(got, " "), want)
		}
	}
}

// answered is what the room took from a person, and who has spoken to it.
type answered struct {
	heard string
	who   []string
}

// atHomeAnswers plays the script of a directory. Each message carries the turn of the person that it goes back to.
func atHomeAnswers(t *testing.T, dir string, flags ...string) []*answered {
	t.Helper()
	conch := exec.CommandContext(t.Context(), "conch", append([]string{"rehearse", "--script", "script", "--json"}, flags...)...)
	conch.Dir = dir
	var trouble bytes.Buffer
	conch.Stderr = &trouble
	out, err := conch.Output()
	if err != nil {
		t.Fatalf("conch rehearse: %v\n%s", err, trouble.String())
	}
	var all []*answered
	of, turns := map[string]string{}, map[string]*answered{} // of a message its turn
	type answer struct{ message, who string }
	var spoken []answer
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct {
			Event   string
			Message json.RawMessage
			Who     string
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Event {
		case "round":
			var m struct{ ID, From, Text, Turn string }
			if err := json.Unmarshal(e.Message, &m); err != nil {
				t.Fatal(err)
			}
			of[m.ID] = m.Turn
			if strings.HasPrefix(m.From, "human:") && turns[m.Turn] == nil {
				turns[m.Turn] = &answered{heard: m.Text}
				all = append(all, turns[m.Turn])
			}
		case "said":
			var id string
			if err := json.Unmarshal(e.Message, &id); err != nil {
				t.Fatal(err)
			}
			spoken = append(spoken, answer{id, strings.ToLower(e.Who)})
		}
	}
	for _, s := range spoken {
		if a := turns[of[s.message]]; a != nil {
			a.who = append(a.who, s.who)
		}
	}
	return all
}
