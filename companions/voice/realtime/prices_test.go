package realtime

import (
	"testing"

	"conch/companions/voice"
)

// What a server has cached is not free, also where the configuration has the two old prices alone.
func TestCachedTokensHaveAPrice(t *testing.T) {
	for name, s := range map[string]voice.Settings{
		"the list alone":  {URL: "wss://api.openai.com/v1/realtime"},
		"the old prices":  {URL: "wss://api.openai.com/v1/realtime", PriceIn: 32, PriceOut: 64},
		"of another host": {URL: "wss://voices.example.com/v1/realtime", PriceIn: 32, PriceOut: 64},
	} {
		s.Own = map[string]string{"dialect": "ga"}
		cfg, err := Configure(s, voice.Companion{Model: "gpt-realtime-2.1"})
		if err != nil {
			t.Fatal(err)
		}
		text, sound := cfg.Prices.Of(voice.Counts{TextIn: 1000, TextCached: 1000}), cfg.Prices.Of(voice.Counts{AudioIn: 1000, AudioCached: 1000})
		if text <= 0 || sound <= 0 {
			t.Errorf("%s: text costs %v, and sound %v", name, text, sound)
		}
	}
}

// What is written down costs what that model does.
func TestWritingDownHasThePriceOfItsModel(t *testing.T) {
	for model, want := range map[string]voice.Prices{
		"gpt-transcribe":    {TranscriptionMinute: 0.0045},
		"gpt-4o-transcribe": {TextIn: 2.5, TextCached: 2.5, AudioIn: 2.5, AudioCached: 2.5, TextOut: 10, TranscriptionMinute: 0.006},
		"hears-a-lot":       {TextIn: 3, TextCached: 3, AudioIn: 3, AudioCached: 3, TextOut: 5, AudioOut: 5},
	} {
		s := voice.Settings{URL: "wss://api.openai.com/v1/realtime", Own: map[string]string{"dialect": "ga"}, Transcription: model, PriceIn: 3, PriceOut: 5}
		cfg, err := Configure(s, voice.Companion{Model: "talks-a-lot"})
		if err != nil || cfg.EarPrices != want {
			t.Errorf("%s: %+v, %v; want %+v", model, cfg.EarPrices, err, want)
		}
	}
}
