package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"conch/audio"
	"conch/audio/wav"
)

// The rehearsals of testdata/rehearse are rooms of several devices in real time, which wait nearly always; they are played
// side by side.
func TestRehearsals(t *testing.T) {
	t.Parallel()
	testscript.Run(t, stories("testdata/rehearse"))
}

// Somebody without hardware and without a key asks a room of three, sees who answers and why the others do not, silences
// whoever speaks, and leaves.
func TestPersonInARoom(t *testing.T) {
	t.Parallel()
	inARoom(t, func(*person) {})
}

// The same where the machine stands still for longer than it takes to miss three beats: before a question, and while
// one is answered. Nobody has been away, and the room is what it was.
func TestPersonInARoomThatStoodStill(t *testing.T) {
	t.Parallel()
	stood := 0
	inARoom(t, func(p *person) {
		if stood++; stood > 2 {
			return // nothing sounded when it was silenced, and it is asked once more
		}
		p.stops(4 * time.Second)
	})
}

func inARoom(t *testing.T, still func(*person)) {
	t.Helper()
	p := sitAt(t, "rehearse")
	p.sees(`^room   kitchen: Ada, .*; bedroom: Ben, .*; hall: Cleo, .*$`)
	p.sees(`^sound  no loudspeaker \(.*\): the answers are text`)
	p.sees(`^type a question \(in kitchen; bedroom: TEXT asks there; the space bar silences all; .*; q ends\)$`)
	p.sees(`^\[quiet; type a question\] >$`)

	still(p)
	p.types("how long do I boil eggs?\r")
	p.sees(`^you: how long do I boil eggs\?\n  Ada speaks: .*\n  Ben is silent: .*\n  Cleo is silent: .*$`)
	p.sees(`^\[(Ada|kitchen) speaks; space silences all\] >$`)
	p.sees(`^Ada \(kitchen\): A soft egg takes six minutes.*\n`)
	p.sees(`^\[quiet; type a question\] >$`)

	// What did not sound, as nothing does on a machine that stands still, cannot have fallen silent.
	for try := 1; ; try++ {
		p.looksAnew()
		p.types("hall: Ben, tell me a story\r")
		// Whoever stood still may have heard no vote in time, and says so; Ben knows that he was asked.
		p.sees(`^person in hall: Ben, tell me a story\n  (Ben speaks: |nobody speaks: .*\n(  .*\n)*  Ben is silent: no vote in time)`)
		p.sees(`^\[(Ben|bedroom) speaks; space silences all\] >$`)
		p.waits(500 * time.Millisecond)
		still(p)
		p.types(" ")
		p.sees(`^Ben \(bedroom\): .* … \(cut after [0-9.]+ s\)$`)
		p.sees(`^\[quiet; type a question\] >$`)
		p.waits(time.Second)
		const silenced = `^bedroom is silent [0-9]+ ms after the press in kitchen$`
		if try == 5 {
			p.sees(silenced)
		}
		if p.shows(silenced) {
			break
		}
	}

	p.types("kill attic\r")
	p.sees(`^you: kill attic$`)
	p.sees(`^  (nobody|Ada|Ben|Cleo) speaks: `)
	p.types("start hall\r")
	p.sees(`^conch: hall runs already$`)
	p.types("q\r")
	p.leaves()
	if got := p.screen(); strings.Contains(got, " is gone: ") {
		t.Errorf("somebody was taken for gone:\n%s", got)
	}
}

// in-order FILE WANT: the lines of WANT, patterns, match lines of FILE, each one a later line than the one before. A pattern
// behind ! matches none from there to the line of the next one.
func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: in-order FILE WANT")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	at := 0
	var never []*regexp.Regexp
	for i, want := range strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n") {
		if want = strings.TrimSpace(want); want == "" || strings.HasPrefix(want, "#") {
			continue
		}
		pattern, not := strings.CutPrefix(want, "!")
		re, err := regexp.Compile(strings.TrimSpace(pattern))
		ts.Check(err)
		if not {
			never = append(never, re)
			continue
		}
		begin := at
		for ; at < len(lines) && !re.MatchString(lines[at]); at++ {
			for _, no := range never {
				if no.MatchString(lines[at]) {
					ts.Fatalf("%s:%d: %q is there before %s:%d: %s\n%s", args[0], at+1, no, args[1], i+1, want, lines[at])
				}
			}
		}
		if at == len(lines) {
			ts.Fatalf("%s has no %q (%s:%d) after line %d:\n%s", args[0], want, args[1], i+1, begin, strings.Join(lines[min(begin, len(lines)):], "\n"))
		}
		at++
		never = nil
	}
	for ; at < len(lines); at++ {
		for _, no := range never {
			if no.MatchString(lines[at]) {
				ts.Fatalf("%s:%d: %q is there:\n%s", args[0], at+1, no, lines[at])
			}
		}
	}
}

// one-voice DIR COMPANION...: each companion's WAV has sound, and no two sound at once for longer than it takes to hush
// (ROOM.md 8, I1).
func oneVoice(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: one-voice DIR COMPANION...")
	}
	const slot = audio.CardRate / 100
	voices := make([][]bool, 0, len(args)-1)
	most := 0
	for _, name := range args[1:] {
		f, err := os.Open(filepath.Join(ts.MkAbs(args[0]), name+".wav"))
		ts.Check(err)
		wav, err := wav.Read(name, f)
		f.Close()
		ts.Check(err)
		var sounds []bool
		any := 0
		for i := 0; i+slot <= len(wav.Samples); i += slot {
			loud := audio.Peak(wav.Samples[i:i+slot]) > 50
			if sounds = append(sounds, loud); loud {
				any++
			}
		}
		if any < 20 {
			ts.Fatalf("%s.wav sounds for %d ms in all", name, any*10)
		}
		voices = append(voices, sounds)
		most = max(most, len(sounds))
	}
	together, longest := 0, 0
	for i := range most {
		n := 0
		for _, v := range voices {
			if i < len(v) && v[i] {
				n++
			}
		}
		if together++; n < 2 {
			together = 0
		}
		longest = max(longest, together)
	}
	if longest > 15 { // a lease is renewed and a hush crosses the network in between: two voices for 150 ms are none
		ts.Fatalf("two companions speak at once for %d ms", longest*10)
	}
}

// hushed FILE DIR: before every hush that FILE tells of a device that was silenced from elsewhere, its WAV in DIR sounds; from
// 0.4 to 0.6 s after the press nothing does.
func hushed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hushed FILE DIR")
	}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var h struct {
			Event, Device, By string
			AtMS              float64 `json:"at_ms"`
			MS                float64
		}
		ts.Check(json.Unmarshal([]byte(line), &h))
		if h.Event != "hush" || h.Device == h.By {
			continue
		}
		n++
		f, err := os.Open(filepath.Join(ts.MkAbs(args[1]), h.Device+".wav"))
		ts.Check(err)
		wav, err := wav.Read(h.Device, f)
		f.Close()
		ts.Check(err)
		peak := func(from, to float64) int {
			at := func(ms float64) int { return min(len(wav.Samples), max(0, int(ms*float64(wav.Rate)/1000))) }
			return audio.Peak(wav.Samples[at(h.AtMS+from):at(h.AtMS+to)])
		}
		if peak(-250, 20) == 0 {
			ts.Fatalf("%s: nothing sounds before the press in %s at %.0f ms", h.Device, h.By, h.AtMS)
		}
		if p := peak(h.MS+1, 600); p != 0 {
			ts.Fatalf("%s: %.0f ms after the press in %s it is said to be silent; the peak from there to 600 ms is %d", h.Device, h.MS, h.By, p)
		}
		if h.MS >= 400 {
			ts.Fatalf("%s fell silent %.0f ms after the press in %s", h.Device, h.MS, h.By)
		}
		ts.Logf("%s: silent %.1f ms after the press in %s", h.Device, h.MS, h.By)
	}
	if n == 0 {
		ts.Fatalf("%s tells of nobody who was silenced from elsewhere", args[0])
	}
}

// replayed DIR: each device's ledger, replayed, comes to the same choices.
func replayed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: replayed DIR")
	}
	ledgers, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.jsonl"))
	ts.Check(err)
	if len(ledgers) == 0 {
		ts.Fatalf("%s has no ledger", args[0])
	}
	for _, path := range ledgers {
		ts.Check(ts.Exec("conch", "room", "replay", path))
	}
}
