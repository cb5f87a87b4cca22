package usage

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/state"
)

// A power cut at a bad moment, a worn card, a directory in the way: the appliance starts all the same, and says so.
func TestUsageThatCannotBeReadKeepsNobodyFromTalking(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":        func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"huge":        func(path string) error { return os.WriteFile(path, make([]byte, state.MaxValue+1), 0o600) },
	} {
		dir := t.TempDir()
		if err := spoil(filepath.Join(dir, "usage.json")); err != nil {
			t.Fatal(err)
		}
		conds := condition.NewBook(slog.New(slog.DiscardHandler))
		memory, _ := state.Remember(&config.Config{State: config.State{Dir: dir}}, conds)
		if data := New(config.Voice{}, memory, conds).load(File); data != nil {
			t.Errorf("%s: load() = %q; want nothing", name, data)
		}
		if l := conds.List(); len(l) != 1 || l[0].Code != "state.unreadable" || l[0].Do == "" {
			t.Errorf("%s: conditions %+v; want that it could not be read", name, l)
		}
	}
}

// What hearing and speaking cost is in the report, of all companions together.
func TestReportSaysWhatHearingAndSpeakingCost(t *testing.T) {
	c := New(config.Voice{}, nil, nil)
	c.Add(voice.Session{Usage: func() voice.Usage {
		return voice.Usage{All: voice.Counts{Cost: 3, HearCost: 1, SpeakCost: 1.5}}
	}})
	if u, err := c.Report(); err != nil || u.Cost != 3 || u.HearCost != 1 || u.SpeakCost != 1.5 {
		t.Errorf("%+v, %v", u, err)
	}
}

// What all companions have used is one sum, which stops at the largest number.
func TestKeptIsTheSumOfAllCompanions(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local)
	for file, text := range map[string]string{
		"usage.json":     `{"v":1}`,
		"usage-ada.json": `{"day":"2026-11-28","today":{"text_in":9223372036854775807,"cost":1}}`,
		"usage-ben.json": `{"day":"2026-11-28","today":{"text_in":9223372036854775807,"cost":2}}`,
		"usage-eve.json": `{"day":"2026-11-27","today":{"text_in":5,"cost":4}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sum := Kept(dir, now); sum.Tokens() != math.MaxInt64 || sum.Cost != 3 {
		t.Errorf("%d tokens, %v spent", sum.Tokens(), sum.Cost)
	}
}
