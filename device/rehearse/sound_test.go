package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/device/config"
)

// Who is asked again while it speaks falls silent, and soon speaks anew: what is told of the silence is about the first of the two.
func TestAskedAgainWhileItSpeaks(t *testing.T) {
	t.Parallel()
	const script = "ask kitchen Ben, tell me a story\nwait speaking bedroom\nwait 500ms\nask kitchen Ben, tell me another story\nwait 300ms\nwait speaking bedroom\nwait 500ms\npress kitchen\nrelease kitchen\nwait 1s\n"
	room := DefaultRoom()
	lines, err := ReadScript(strings.NewReader(script), "again", ".", room)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (Rehearsal{Config: config.Default(), Room: room, Script: lines, JSON: &out, Log: slog.New(slog.DiscardHandler)}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	hushes := 0
	for line := range strings.Lines(out.String()) {
		var h hushLine
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatal(err)
		}
		switch {
		case h.Event == "hush" && h.Device == "bedroom":
			hushes++
			if t.Logf("%s", line); h.MS >= milliseconds(hushAfter-hushSure) {
				t.Error("that is where listening ended, not the sound")
			}
		case h.Event == "sounding":
			t.Errorf("%s", line)
		}
	}
	if hushes == 0 {
		t.Errorf("no hush of the bedroom:\n%s", out.String())
	}
}

// A silence is told only where it was heard.
func TestLastSound(t *testing.T) {
	t.Parallel()
	const slot = 10 * time.Millisecond
	for _, c := range []struct {
		tape   string // slots of 10 ms: # sounds
		last   time.Duration
		silent bool
	}{
		{"", 0, false},
		{"__", 0, true},
		{"##________", 2 * slot, true},
		{"#__#______", 4 * slot, true}, // the next word came before silence
		{"########__", 8 * slot, true},
		{"#########_", 9 * slot, false}, // less than hushSure
		{"#_________#", 11 * slot, false},
	} {
		var tape []int16
		for _, x := range c.tape {
			for range audio.CardFrames(slot) {
				tape = append(tape, int16(x-'_')) // '_' is silence
			}
		}
		if last, silent := lastSound(tape); last != c.last || silent != c.silent {
			t.Errorf("%s: %v, silent %v; want %v, %v", c.tape, last, silent, c.last, c.silent)
		}
	}
	s := &stage{ends: []time.Duration{time.Second, 2 * time.Second}}
	for _, c := range []struct {
		edge, own, until time.Duration
		ended            bool
	}{
		{900 * time.Millisecond, 0, time.Second + hushTurn, true}, // its turn was cut
		{time.Second, 0, time.Second + hushAfter, false},
		{1900 * time.Millisecond, 1950 * time.Millisecond, 1950 * time.Millisecond, true}, // and its own person was next
		{3 * time.Second, 3100 * time.Millisecond, 3100 * time.Millisecond, true},
	} {
		s.last = c.own
		if until, ended := s.listenUntil(c.edge); until != c.until || ended != c.ended {
			t.Errorf("edge %v, own press %v: listens until %v, ended %v; want %v, %v", c.edge, c.own, until, ended, c.until, c.ended)
		}
	}
}
