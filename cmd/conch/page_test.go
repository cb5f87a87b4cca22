package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// onThePage is what comes of what SKILLS.md has somebody say to each skill: which tool does it, and what is said then. What home and radio
// are to reach is not there in a rehearsal: that is said, of the very thing that was meant.
var onThePage = []struct{ skill, tool, said string }{
	{"system", "set_volume", `^The volume is 30 percent\.$`},
	{"room", "why_did_you_speak", `^Ada spoke after a person in kitchen`},
	{"timers", "set_timer", `^The timer for .*5 minutes.* is set`},
	{"reminders", "add_reminder", `^The reminder is set: (call|tell) the doctor.*, .* at 0?7:00`},
	{"notes", "remember", `^I will remember: The keys are in the car\.?$`},
	{"home", "set_home", `the kitchen light`},
	{"radio", "play_radio", `One cannot be played`},
	{"intercom", "call_device", `^Calling bedroom\.$`},
	{"library", "play", `^$`},
}

// Each sentence of the page is typed, and spoken in two voices into the microphone of the kitchen, and is done.
func TestEachSentenceOfThePageIsDone(t *testing.T) { //nolint:tparallel // one after the other: they are spoken in real time
	t.Parallel()
	if os.Getenv("CONCH_TEST_HOME") == "" {
		t.Skip("what the page has people say, spoken, takes some minutes: make test-home")
	}
	for _, program := range []string{"flite", "pocketsphinx_continuous"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("missing: " + program + " (make deps)")
		}
	}
	for _, voice := range []string{"", "slt", "rms"} {
		t.Run("in the voice "+voice, func(t *testing.T) { sayThePage(t, voice) })
	}
}

func sayThePage(t *testing.T, voice string) {
	t.Helper()
	page, err := os.ReadFile("../../companions/skills/SKILLS.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "books"), 0o700); err != nil {
		t.Fatal(err)
	}
	speak := func(voice, file, words string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "flite", "-voice", voice, "-t", words, "-o", filepath.Join(dir, file)).CombinedOutput(); err != nil {
			t.Fatalf("flite: %v: %s", err, out)
		}
	}
	speak("rms", "books/Moby Dick.wav", strings.Repeat("Call me Ishmael. ", 20))
	write("room.toml", "[[device]]\nname = \"kitchen\"\ncompanions = [\"Ada\"]\n[[device]]\nname = \"bedroom\"\ncompanions = [\"Ben\"]\n")
	write("conch.toml", fmt.Sprintf("turn.commit_s = 60\nturn.next_s = 60\nlibrary.folder = %q\nradio.stations = [\"One = http://127.0.0.1:9/one.mp3\"]\n"+
		"[home.\"kitchen light\"]\ntopic = \"house/light/set\"\npayloads = { on = \"ON\", off = \"OFF\" }\n", filepath.Join(dir, "books")))
	var script strings.Builder
	for i, s := range onThePage {
		found := regexp.MustCompile("(?m)^\\| `" + s.skill + "` \\| \"(.*)\" \\|$").FindSubmatch(page)
		if found == nil {
			t.Fatalf("SKILLS.md has no sentence for %s", s.skill)
		}
		if words := string(found[1]); voice == "" {
			fmt.Fprintf(&script, "ask kitchen %s\n", words)
		} else {
			file := fmt.Sprintf("%d.wav", i)
			speak(voice, file, words)
			fmt.Fprintf(&script, "hear kitchen %s\n", file)
		}
		switch s.skill {
		case "library": // nothing is said; it plays
			script.WriteString("wait 10s\n")
		case "intercom": // it rings in the bedroom until somebody hangs up
			script.WriteString("wait said kitchen\nwait 1s\npress kitchen\nwait 100ms\nrelease kitchen\nwait 1s\n")
		default:
			script.WriteString("wait said kitchen\n")
		}
	}
	script.WriteString("ask kitchen what is playing\nwait said kitchen\n")
	write("script", script.String())
	compareWithThePage(t, dir)
}

// compareWithThePage plays the script, and looks at what was done.
func compareWithThePage(t *testing.T, dir string) {
	t.Helper()
	conch := exec.CommandContext(t.Context(), "conch", "rehearse", "--config", "conch.toml", "--room", "room.toml", "--script", "script", "--json", "--log")
	conch.Dir = dir
	var log bytes.Buffer
	conch.Stderr = &log
	begun := time.Now()
	out, err := conch.Output()
	if err != nil {
		t.Errorf("conch rehearse: %v\n%s\n%s", err, out, log.String())
	}
	t.Logf("%s", time.Since(begun).Round(time.Second))
	type turn struct{ Event, Device, Turn, Asked, Said string }
	var turns []turn
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e turn
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "turn.end" && e.Device == "kitchen" && e.Asked != "" {
			turns = append(turns, e)
		}
	}
	if len(turns) != len(onThePage)+1 {
		t.Fatalf("%d questions were taken; want %d: %+v", len(turns), len(onThePage)+1, turns)
	}
	for i, s := range onThePage {
		t.Logf("%s: heard as %q: %q", s.skill, turns[i].Asked, turns[i].Said)
		if !regexp.MustCompile(`event=tool\.done .*turn=` + turns[i].Turn + ` tool=` + s.tool + ` `).MatchString(log.String()) {
			t.Errorf("%s: of %q the tool %s is not called", s.skill, turns[i].Asked, s.tool)
		}
		if !regexp.MustCompile(s.said).MatchString(turns[i].Said) {
			t.Errorf("%s: to %q it says %q; want %s", s.skill, turns[i].Asked, turns[i].Said, s.said)
		}
	}
	if last := turns[len(turns)-1]; !strings.Contains(last.Said, "Moby Dick") {
		t.Errorf("%q is answered by %q, while Moby Dick is to play", last.Asked, last.Said)
	}
}
