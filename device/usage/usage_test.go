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

// A ceiling that goes by an estimate, or that does not see a companion, is a condition.
func TestWhatACeilingDoesNotSeeIsACondition(t *testing.T) {
	known, unknown := voice.Companion{Model: "gpt-realtime-2.1"}, voice.Companion{Model: "talks-a-lot"}
	for name, row := range map[string]struct {
		change func(*config.Voice)
		of     voice.Companion
		want   bool
	}{
		"its model is listed":     {func(*config.Voice) {}, known, false},
		"its model is not listed": {func(*config.Voice) {}, unknown, true},
		"there is no ceiling":     {func(v *config.Voice) { v.CeilingCost = 0 }, unknown, false},
		"one of tokens":           {func(v *config.Voice) { v.CeilingCost, v.Ceiling = 0, 5 }, unknown, false},
		"a price is set":          {func(v *config.Voice) { v.Prices.AudioIn = 5 }, unknown, false},
		"nothing is paid":         {func(v *config.Voice) { v.Kind = "rehearsal" }, unknown, false},
		"there is no key":         {func(v *config.Voice) { v.Key = config.Secret{} }, unknown, false},
	} {
		conds := condition.NewBook(slog.New(slog.DiscardHandler))
		v := config.Default().Voice
		v.CeilingCost, v.Key = 1, config.NewSecret("sk-1")
		row.change(&v)
		of := row.of
		New(v, nil, conds).Prepare(&of, "ada", true)
		if conds.Holds(condition.VoiceUnpriced) != row.want {
			t.Errorf("%s: %+v", name, conds.List())
		}
		of.Guessed(true)
		if !conds.Holds(condition.VoiceUncounted) {
			t.Errorf("%s: that tokens are estimated is nowhere", name)
		}
		if of.Guessed(false); conds.Holds(condition.VoiceUncounted) {
			t.Errorf("%s: the server counts, and the condition stays", name)
		}
	}
}
