package rehearse

import (
	"strings"
	"testing"
	"time"

	"conch/device/control"
)

// Verbs that only strangers have.
func TestScriptLinesOfStrangers(t *testing.T) {
	dir, room := scripts(t)
	room.Strangers = true
	known := room.names(dir)
	for _, c := range []struct {
		in   string
		want Line
		err  string
	}{
		{"hold kitchen 5s", Line{Verb: "hold", Device: "kitchen", For: 5 * time.Second}, ""},
		{"hold kitchen", Line{}, "must be: hold DEV 5s"},
		{"join hall 482915", Line{Verb: "join", Device: "hall", Text: "482915"}, ""},
		{"join hall typed", Line{Verb: "join", Device: "hall", Text: "typed"}, ""},
		{"join hall wrong", Line{Verb: "join", Device: "hall", Text: "wrong"}, ""},
		{"join hall 48291", Line{}, `code "48291": must be six digits, typed or wrong`},
		{"join hall", Line{}, "must be: join DEV CODE|typed|wrong"},
		{"remove kitchen hall", Line{Verb: "remove", Device: "kitchen", Other: "hall"}, ""},
		{"remove kitchen attic", Line{}, `unknown device "attic"`},
		{"remove kitchen", Line{}, "must be: remove DEV OTHER"},
		{"leave hall", Line{Verb: "leave", Device: "hall"}, ""},
		{"wait pairing hall paired", Line{Verb: "wait", What: "pairing", Device: "hall", State: control.PairingPaired}, ""},
		{"wait pairing hall failed wrong_code", Line{Verb: "wait", What: "pairing", Device: "hall", State: control.PairingFailed, Why: control.WhyWrongCode}, ""},
		{"wait pairing hall failed", Line{}, "must say why: wrong_code, expired"},
		{"wait pairing hall married", Line{}, `state "married": must be one of open, listening`},
		{"wait pairing hall paired wrong_code", Line{}, "must be: wait 2s"},
		{"broker restart", Line{}, "the broker is one of them"},
	} {
		got, err := parseLine(c.in, known)
		c.want.Source = c.in
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%q: %+v, %v; want %+v", c.in, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v; want %q", c.in, err, c.err)
		}
	}
}
