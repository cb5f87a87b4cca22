package cascade

import (
	"math"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
)

// What is sold by the minute and by letters costs what it was asked for: also what came and was of no use, or was not waited for; not what
// was refused. A second heard costs 1 here, and a letter 0.01: the question is a second, and "Hello there." twelve letters.
func TestWhatHearingAndSpeakingCost(t *testing.T) {
	for _, row := range []struct {
		name        string
		script      cascadetest.Script
		press       bool // in the middle
		hear, speak float64
	}{
		{name: "an answer", hear: 1, speak: 0.12},
		{name: "nobody spoke", script: cascadetest.Script{Hear: says(cascadetest.Reply{Text: "[BLANK_AUDIO]"})}, hear: 1},
		{name: "a transcript that cannot be read, and the one that is asked for in its place",
			script: cascadetest.Script{Hear: with(200, "application/json", `{"text": "hel`)}, hear: 2},
		{name: "hearing is refused", script: cascadetest.Script{Hear: with(401, "application/json", `{"error":"no"}`)}},
		{name: "speech that nobody can play, twice", script: cascadetest.Script{Say: says(cascadetest.Reply{Format: "wav", Claims: 1})}, hear: 1, speak: 0.24},
		{name: "speech is refused", script: cascadetest.Script{Say: with(402, "application/json", `{"error":"no"}`)}, hear: 1},
		{name: "a press while speech is awaited", script: cascadetest.Script{Say: says(cascadetest.Reply{Hang: true})}, press: true, hear: 1, speak: 0.12},
		{name: "a press while it is heard", script: cascadetest.Script{Say: says(cascadetest.Reply{Seconds: 8, Times: 1})}, press: true, hear: 1, speak: 0.12},
		{name: "the model answers nothing", script: cascadetest.Script{Chat: says(cascadetest.Reply{Text: ""})}, hear: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, cascadetest.Script{Models: []string{"m"}}, func(s *voice.Settings, _ *voice.Companion, _ *Config) {
				s.Prices = voice.Prices{TranscriptionMinute: 60, SpokenLetters: 10000}
			}, func(w *world) {
				if u := w.c.usage.Usage(); u.Today.Cost != 0 {
					t.Errorf("before anything was said: %+v", u.Today)
				}
				row.script.Models = []string{"m"}
				w.chain.Be(row.script)
				w.press("t-1")
				if row.press {
					time.Sleep(2 * time.Second) // virtual
					w.c.Do(turn.CancelResponse{Turn: "t-1"})
				}
				time.Sleep(4 * time.Second) // all but what is made again much later
				u := w.c.usage.Usage()
				for _, c := range []struct {
					what      string
					got, want float64
				}{{"hearing", u.Today.HearCost, row.hear}, {"speaking", u.Today.SpeakCost, row.speak}, {"all", u.Today.Cost, row.hear + row.speak},
					{"the turn", u.InTurn.Cost, row.hear + row.speak}} {
					if math.Abs(c.got-c.want) > 1e-9 {
						t.Errorf("%s: %v; want %v", c.what, c.got, c.want)
					}
				}
			})
		})
	}
}

// The ceiling of the day counts it, where nothing else has a price.
func TestTheCeilingCountsHearingAndSpeaking(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}}, func(s *voice.Settings, _ *voice.Companion, _ *Config) {
		s.Prices, s.CeilingCost = voice.Prices{TranscriptionMinute: 60, SpokenLetters: 10000}, 1.1
	}, func(w *world) {
		w.press("t-1")
		w.done(1)
		w.press("t-2")
		if e := w.first(turn.ResponseRefused{}).(turn.ResponseRefused); e.Turn != "t-2" || e.Say != turn.WordsCeiling {
			t.Errorf("%+v", e)
		}
	})
}

// Each stage has the price of its own model at its own server; what the configuration says counts before the list.
func TestEachStageHasItsPrice(t *testing.T) {
	for name, row := range map[string]struct {
		own  map[string]string
		set  voice.Prices
		want voice.Prices
	}{
		"OpenAI does all": {nil, voice.Prices{},
			voice.Prices{TextIn: 0.15, TextCached: 0.075, TextOut: 0.6, TranscriptionMinute: 0.0045, SpokenLetters: 0.015 * 1e6 / 900}},
		"others hear and speak": {map[string]string{"hear": "http://box.lan:8080", "speak": "http://box.lan:8880"}, voice.Prices{},
			voice.Prices{TextIn: 0.15, TextCached: 0.075, TextOut: 0.6}},
		"it is set": {nil, voice.Prices{TextCached: 0.1, TranscriptionMinute: 1, SpokenLetters: 2},
			voice.Prices{TextIn: 0.15, TextCached: 0.1, TextOut: 0.6, TranscriptionMinute: 1, SpokenLetters: 2}},
	} {
		s := voice.Settings{URL: "https://api.openai.com/v1", Own: row.own, Prices: row.set}
		cfg, err := Configure(s, voice.Companion{Model: "gpt-4o-mini"})
		if err != nil {
			t.Fatal(err)
		}
		got := cfg.Prices
		got.AudioIn, got.AudioCached, got.AudioOut = 0, 0, 0
		if math.Abs(got.TextCached-row.want.TextCached) < 1e-9 {
			got.TextCached = row.want.TextCached
		}
		if got != row.want {
			t.Errorf("%s: %+v; want %+v", name, got, row.want)
		}
	}
}
