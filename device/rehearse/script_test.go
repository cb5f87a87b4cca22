package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/audio/wav"
)

// scripts is a directory with a WAV, and the room that scripts of the tests play in.
func scripts(t testing.TB) (dir string, room Room) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Create(filepath.Join(dir, "a b.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := wav.NewFile(f, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 480)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, DefaultRoom()
}

func TestScriptLines(t *testing.T) {
	dir, room := scripts(t)
	known := room.names(dir)
	for _, c := range []struct {
		in   string
		want Line
		err  string
	}{
		{"press kitchen", Line{Verb: "press", Device: "kitchen"}, ""},
		{"release\thall", Line{Verb: "release", Device: "hall"}, ""},
		{"press", Line{}, "must be: press DEV"},
		{"press kitchen hall", Line{}, "must be: press DEV"},
		{"press attic", Line{}, `unknown device "attic": must be one of kitchen, bedroom, hall`},
		{"ask bedroom   what,  Ben? ", Line{Verb: "ask", Device: "bedroom", Text: "what,  Ben?"}, ""},
		{"ask bedroom", Line{}, "must be: ask DEV TEXT"},
		{"ask what time is it", Line{}, `unknown device "what": must be one of kitchen, bedroom, hall`},
		{"say hall dinner is ready", Line{Verb: "say", Device: "hall", Text: "dinner is ready"}, ""},
		{"hear kitchen a b.wav", Line{Verb: "hear", Device: "kitchen", File: filepath.Join(dir, "a b.wav")}, ""},
		{"hear kitchen", Line{}, "must be: hear DEV FILE.wav | hear DEV OTHER"},
		{"hear kitchen no.wav", Line{}, "no such file or directory"},
		{"wait 2s", Line{Verb: "wait", For: 2 * time.Second}, ""},
		{"wait idle", Line{Verb: "wait", What: "idle"}, ""},
		{"wait speaking hall", Line{Verb: "wait", What: "speaking", Device: "hall"}, ""},
		{"wait said bedroom", Line{Verb: "wait", What: "said", Device: "bedroom"}, ""},
		{"wait", Line{}, "must be: wait 2s | wait idle | wait speaking DEV | wait said DEV"},
		{"wait said", Line{}, "must be: wait 2s"},
		{"wait idle hall", Line{}, "must be: wait 2s"},
		{"wait 0s", Line{}, `duration "0s": must be like 500ms or 2s, up to 1h`},
		{"wait 2h", Line{}, `duration "2h"`},
		{"model slow kitchen", Line{Verb: "model", What: "slow", Device: "kitchen"}, ""},
		{"model ok hall", Line{Verb: "model", What: "ok", Device: "hall"}, ""},
		{"model rude hall", Line{}, "must be: model slow|fail|drop|ok DEV"},
		{"sound out hall", Line{Verb: "sound", What: "out", Device: "hall"}, ""},
		{"sound off hall", Line{}, "must be: sound out|in DEV"},
		{"kill hall", Line{Verb: "kill", Device: "hall"}, ""},
		{"start hall", Line{Verb: "start", Device: "hall"}, ""},
		{"kill everybody", Line{}, `unknown device "everybody"`},
		{"freeze hall 5s", Line{Verb: "freeze", Device: "hall", For: 5 * time.Second}, ""},
		{"freeze hall", Line{}, "must be: freeze DEV 5s"},
		{"cut bedroom 1500ms", Line{Verb: "cut", Device: "bedroom", For: 1500 * time.Millisecond}, ""},
		{"cut bedroom soon", Line{}, `duration "soon"`},
		{"broker restart", Line{Verb: "broker", What: "restart"}, ""},
		{"broker", Line{}, "must be: broker restart"},
		{"broker stop", Line{}, "must be: broker restart"},
		{"control ada mute", Line{Verb: "control", Text: "ada", What: "mute"}, ""},
		{"control room off", Line{Verb: "control", Text: "room", What: "off"}, ""},
		{"control room mute", Line{}, "a room is not muted as one"},
		{"control dora low", Line{}, `unknown companion "dora": must be room or one of ada, ben, cleo`},
		{"control ada loud", Line{}, "must be: control room|COMPANION"},
		{"dance hall", Line{}, `unknown verb "dance": must be one of press, release, ask, hear, say, control, wait, model, sound, kill, start, freeze, cut, broker, hold, join, remove, leave`},
		{"hear kitchen hall", Line{Verb: "hear", Device: "kitchen", Other: "hall", For: twin.DefaultRT60, Noise: twin.DefaultSNR}, ""},
		{"hear kitchen hall 600ms 5dB", Line{Verb: "hear", Device: "kitchen", Other: "hall", For: 600 * time.Millisecond, Noise: 5}, ""},
		{"hear kitchen nobody", Line{Verb: "hear", Device: "kitchen", Other: "nobody"}, ""},
		{"hear kitchen kitchen", Line{}, "kitchen does not hear itself"},
		{"hear kitchen hall 600ms 5", Line{}, "5: must be from -20dB to 60dB"},
		{"hear kitchen hall 5s", Line{}, "5s: must be from 50ms to 2s"},
		{"hold kitchen 5s", Line{}, "these devices know each other from the beginning"},
		{"wait pairing kitchen paired", Line{}, "these devices know each other from the beginning"},
		{"wait members hall 3", Line{Verb: "wait", What: "members", Device: "hall", Count: 3}, ""},
		{"wait members hall", Line{}, `wait members DEV "": must be a number from 1 to 16`},
	} {
		got, err := parseLine(c.in, known)
		c.want.Source = c.in
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%q = %+v, %v\nwant %+v", c.in, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v; want %q", c.in, err, c.err)
		}
	}
}

func TestScriptIsBounded(t *testing.T) {
	dir, room := scripts(t)
	lines, err := ReadScript(strings.NewReader("# first\n\n  wait idle \r\npress hall"), "s.txt", dir, room)
	if err != nil || len(lines) != 2 || lines[0].Number != 3 || lines[0].Source != "wait idle" || lines[1].Number != 4 {
		t.Errorf("%+v, %v", lines, err)
	}
	_, err = ReadScript(strings.NewReader(strings.Repeat("wait idle\n", maxScriptLines+1)), "s.txt", dir, room)
	if err == nil || !strings.Contains(err.Error(), "s.txt:10001: more than 10000 instructions") {
		t.Errorf("too many lines: %v", err)
	}
	_, err = ReadScript(strings.NewReader("ask hall "+strings.Repeat("a", maxScriptLine)), "s.txt", dir, room)
	if err == nil || !strings.Contains(err.Error(), "at most 4096 bytes") {
		t.Errorf("a long line: %v", err)
	}
}

// Whatever is in a script, it is either refused with the line's number or made of instructions that can be carried out.
func FuzzScript(f *testing.F) {
	dir, room := scripts(f)
	for _, seed := range []string{"press kitchen\nwait 2s\nrelease kitchen", "hear hall a b.wav", "freeze hall 5s # no", "\xff\xfe", "ask hall \x00", "wait said\n"} {
		f.Add(seed)
	}
	known := room.names(dir)
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := ReadScript(strings.NewReader(text), "s", dir, room)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s:") {
				t.Errorf("the error %q does not begin with the script's name", err)
			}
			return
		}
		for _, l := range lines {
			if again, err := parseLine(l.Source, known); err != nil {
				t.Errorf("%q was taken and is refused now: %v", l.Source, err)
			} else if again.Number = l.Number; again != l {
				t.Errorf("%q is %+v first and %+v then", l.Source, l, again)
			}
			if l.Verb == "wait" && l.What == "" && l.For <= 0 || l.Device == "" && l.Verb != "wait" && l.Verb != "broker" && l.Verb != "control" {
				t.Errorf("%q came through as %+v", l.Source, l)
			}
		}
	})
}
