package realtime

import (
	"cmp"
	"fmt"
	"net/url"

	"conch/companions/voice"
	"conch/companions/voice/kit"
)

// Values of settings.
const (
	auto     = "auto"
	off      = "off"
	farField = "far_field"
)

// retain is the part of a full conversation that is kept: to drop more at once is rarer, and leaves more of it in the server's cache.
const retain = 0.8

// Kind is this voice, as the device knows it.
func Kind() voice.Kind {
	return voice.Kind{
		Name: "realtime",
		Keys: []voice.Key{
			{
				Name: "dialect", Default: auto, Allowed: append([]string{auto}, DialectNames()...),
				About: "what the server understands; auto: by its address, else by the first that it says",
			},
			{
				Name: "reasoning", Default: auto, Allowed: []string{auto, off, "minimal", "low", "medium", "high", "xhigh"},
				About: "how long a model thinks before it speaks; auto: minimal, of a model that is known to think; off: as the server has it",
			},
			{
				Name: "noise_reduction", Default: farField, Allowed: []string{farField, "near_field", off},
				About: "what OpenAI's server takes out of what it hears; near_field: a microphone at the mouth",
			},
		},
		Names: openAIVoices,
		New: func(s voice.Settings, of []voice.Companion) (voice.Made, error) {
			made := voice.Made{Called: Called(s)}
			confs := make([]Config, len(of))
			for i, c := range of {
				var err error
				if confs[i], err = Configure(s, c); err != nil {
					return made, voice.SettingError{Err: err}
				}
			}
			var err error
			made.Sessions, err = Sessions(confs)
			return made, err
		},
		Check: check,
	}
}

// Called is what people are told that answers.
func Called(s voice.Settings) string {
	host := s.URL
	if u, err := url.Parse(host); err == nil {
		host = u.Host
	}
	return fmt.Sprintf("realtime, %s at %s", s.Model, host)
}

// Configure is the session of one companion with the server that the configuration names.
func Configure(s voice.Settings, c voice.Companion) (Config, error) {
	dialect, err := SettingDialect(s)
	return Config{
		URL: s.URL, Dialect: dialect, Roots: s.Roots, Key: s.Key, Hold: s.Hold,
		Model: c.Model, Voice: c.Voice, Instructions: c.Instructions, TranscriptionModel: s.Transcription, Language: s.Only(),
		Assumed: Assumed{ // a server is not asked for what only OpenAI has, unless somebody wrote that down; cards that come with conch name some
			Voice:              c.VoiceAssumed && OpenAIVoice(c.Voice),
			TranscriptionModel: s.TranscriptionAssumed,
		},
		Reasoning: s.Own["reasoning"], Noise: s.Own["noise_reduction"], Retain: retain,
		MaxUtterance: s.Longest,
		Prices:       s.PricesAt(s.URL, c.Model), EarPrices: earPrices(&s, c.Model),
		Ceiling: kit.Ceiling{Tokens: s.CeilingTokens, Cost: s.CeilingCost},
		Load:    c.Load, Save: c.Save, Guessed: c.Guessed, Recall: c.Recall, Keep: c.Keep, Omitted: c.Refused, Say: c.Say, Log: c.Log,
	}, err
}

// earPrices are what writing down costs. Where the list does not have that model, its tokens cost what those of the answers do.
func earPrices(s *voice.Settings, model string) voice.Prices {
	if p, known := voice.Listed(s.URL, s.Transcription); known {
		p.TranscriptionMinute = cmp.Or(s.Prices.TranscriptionMinute, p.TranscriptionMinute)
		return p
	}
	return s.PricesAt(s.URL, model)
}

// SettingDialect is what the server speaks, as voice.dialect has it.
func SettingDialect(s voice.Settings) (Dialect, error) {
	if name := s.Own["dialect"]; name != auto {
		return DialectByName(name)
	}
	return DialectFor(s.URL), nil
}

// Sessions makes the clients of one device's companions, whose ceiling is one.
func Sessions(of []Config) (all []voice.Session, err error) {
	pool := &kit.Pool{}
	for _, conf := range of {
		conf.Pool = pool
		client, err := New(conf)
		if err != nil {
			return nil, voice.SettingError{Err: err}
		}
		all = append(all, voice.Session{Voice: client, Usage: client.Usage, Reset: client.ResetUsage, Spent: client.usage.Spent})
	}
	return all, nil
}
