package device

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"conch/audio"
)

// A Line is one instruction of a rehearsal script (appliance.md 4). Blank lines and lines that begin with # are skipped.
//
//	press DEV | release DEV | ask DEV TEXT
//	hear DEV FILE.wav     into its microphone, while the button is held; if it is up, it is held for so long
//	wait 2s | wait idle | wait speaking DEV | wait said DEV
//	                      speaking and said mean what came of the last press, release or question
//	model slow|fail|drop|ok DEV | sound out|in DEV
//	kill DEV | start DEV | freeze DEV 5s | cut DEV 5s | broker restart     refused: they need a room of several devices
type Line struct {
	Number int    // in the file, from 1
	Source string // as written
	Verb   string
	Device string        // empty where the verb has none
	What   string        // idle, speaking, said; slow, fail, drop, ok; out, in
	Text   string        // ask
	File   string        // hear: absolute, or relative to the script
	For    time.Duration // wait 2s
}

// Limits of a script: it is typed by people.
const (
	maxScriptLines = 10000
	maxScriptLine  = 4096
)

// usage of each verb, for errors that say what is allowed.
var verbs = map[string]string{
	"press":   "press DEV",
	"release": "release DEV",
	"ask":     "ask DEV TEXT",
	"hear":    "hear DEV FILE.wav",
	"wait":    "wait 2s | wait idle | wait speaking DEV | wait said DEV",
	"model":   "model slow|fail|drop|ok DEV",
	"sound":   "sound out|in DEV",
}

// ReadScript parses a rehearsal script. name is used in errors; files are looked up relative to dir and must exist.
// devices are the names that may appear.
func ReadScript(r io.Reader, name, dir string, devices []string) ([]Line, error) {
	var lines []Line
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, maxScriptLine), maxScriptLine)
	for n := 1; sc.Scan(); n++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if len(lines) == maxScriptLines {
			return nil, fmt.Errorf("%s:%d: more than %d instructions: split the script", name, n, maxScriptLines)
		}
		l, err := parseLine(text, dir, devices)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %w", name, n, text, err)
		}
		l.Number, l.Source = n, text
		lines = append(lines, l)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w (a line may have at most %d bytes)", name, err, maxScriptLine)
	}
	return lines, nil
}

func parseLine(text, dir string, devices []string) (Line, error) {
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	usage, ok := verbs[verb]
	switch verb {
	case "kill", "start", "freeze", "cut", "broker":
		return Line{}, fmt.Errorf("%s needs a room of several devices, which this version does not rehearse", verb)
	}
	if !ok {
		return Line{}, fmt.Errorf("unknown verb %q: must be one of %s", verb, strings.Join(verbNames(), ", "))
	}
	l := Line{Verb: verb}
	bad := func() (Line, error) { return Line{}, fmt.Errorf("must be: %s", usage) }
	first, tail, _ := strings.Cut(rest, " ")
	tail = strings.TrimSpace(tail)
	device := func(name string) error {
		for _, d := range devices {
			if d == name {
				l.Device = name
				return nil
			}
		}
		return fmt.Errorf("unknown device %q: must be one of %s", name, strings.Join(devices, ", "))
	}
	var err error
	switch verb {
	case "press", "release":
		if first == "" || tail != "" {
			return bad()
		}
		err = device(first)
	case "ask":
		if l.Text = tail; tail == "" {
			return bad()
		}
		err = device(first)
	case "hear":
		if tail == "" {
			return bad()
		}
		if err = device(first); err == nil {
			if l.File = tail; !filepath.IsAbs(tail) {
				l.File = filepath.Join(dir, tail)
			}
			_, err = audio.LoadWAV(l.File) // a broken one is refused before anything starts; it is read again when it is played
		}
	case "model":
		if l.What = first; first != "slow" && first != "fail" && first != "drop" && first != "ok" {
			return bad()
		}
		err = device(tail)
	case "sound":
		if l.What = first; first != "out" && first != "in" {
			return bad()
		}
		err = device(tail)
	case "wait":
		switch l.What = first; first {
		case "idle":
			if tail != "" {
				return bad()
			}
		case "speaking", "said":
			err = device(tail)
		default:
			if l.What = ""; tail != "" {
				return bad()
			}
			l.For, err = positive(first)
		}
	}
	if err != nil {
		return Line{}, err
	}
	return l, nil
}

func positive(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("duration %q: must be like 500ms or 2s, up to 1h", s)
	}
	return d, nil
}

func verbNames() []string {
	return []string{"press", "release", "ask", "hear", "wait", "model", "sound"}
}
