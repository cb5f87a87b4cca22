package voice

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	"conch/device/pattern"
)

// Prices are of a million tokens, but for the last two. Zero is no price.
type Prices struct {
	TextIn, TextCached, TextOut    float64 // cached: sent before, so that the server need not read it again
	AudioIn, AudioCached, AudioOut float64
	TranscriptionMinute            float64
	SpokenLetters                  float64 // a million of them
}

// Hearing is so much sound, written down by the minute.
func (p *Prices) Hearing(seconds float64) Counts {
	cost := seconds / 60 * p.TranscriptionMinute
	return Counts{Cost: cost, HearCost: cost}
}

// Speaking is so many letters, spoken.
func (p *Prices) Speaking(letters int) Counts {
	cost := float64(letters) / 1e6 * p.SpokenLetters
	return Counts{Cost: cost, SpeakCost: cost}
}

// Of is what all tokens of c cost.
func (p *Prices) Of(c Counts) float64 {
	return (float64(c.TextIn-c.TextCached)*p.TextIn + float64(c.TextCached)*p.TextCached + float64(c.TextOut)*p.TextOut +
		float64(c.AudioIn-c.AudioCached)*p.AudioIn + float64(c.AudioCached)*p.AudioCached + float64(c.AudioOut)*p.AudioOut) / 1e6
}

// PricesOf is the day on which the list was read.
const PricesOf = "2026-11-28"

// lettersAMinute are what a voice speaks in a minute (CASCADE.md 1.3), where a model is sold by the minute.
const lettersAMinute = 900

// listed are OpenAI's prices in US dollars. Most are those of the model's own page (developers.openai.com/api/docs/models).
// A line that names LiteLLM has those of its list of 2026-07-24 (model_prices_and_context_window.json), and one that says
// "other lists" those on which two pages of others agree. A model whose price was not found is not here. What a server asks for
// writing a cache is not counted: no usage says how much that was.
var listed = map[string]Prices{
	"gpt-realtime-2.1":      {TextIn: 4, TextCached: 0.4, TextOut: 24, AudioIn: 32, AudioCached: 0.4, AudioOut: 64},
	"gpt-realtime-2.1-mini": {TextIn: 0.6, TextCached: 0.06, TextOut: 2.4, AudioIn: 10, AudioCached: 0.3, AudioOut: 20},
	"gpt-realtime-2":        {TextIn: 4, TextCached: 0.4, TextOut: 24, AudioIn: 32, AudioCached: 0.4, AudioOut: 64},
	"gpt-realtime-1.5":      {TextIn: 4, TextCached: 0.4, TextOut: 16, AudioIn: 32, AudioCached: 0.4, AudioOut: 64},
	"gpt-realtime":          {TextIn: 4, TextCached: 0.4, TextOut: 16, AudioIn: 32, AudioCached: 0.4, AudioOut: 64},     // LiteLLM
	"gpt-realtime-mini":     {TextIn: 0.6, TextCached: 0.06, TextOut: 2.4, AudioIn: 10, AudioCached: 0.3, AudioOut: 20}, // LiteLLM

	"gpt-4o-realtime-preview":            {TextIn: 5, TextCached: 2.5, TextOut: 20, AudioIn: 40, AudioCached: 2.5, AudioOut: 80},
	"gpt-4o-realtime-preview-2024-10-01": {}, // it was dearer
	"gpt-4o-mini-realtime-preview":       {TextIn: 0.6, TextCached: 0.3, TextOut: 2.4, AudioIn: 10, AudioCached: 0.3, AudioOut: 20},

	"gpt-6-astra":   {TextIn: 10, TextCached: 1, TextOut: 50},  // other lists
	"gpt-6-sol":     {TextIn: 2, TextCached: 0.2, TextOut: 10}, // other lists
	"gpt-6-luna":    {TextIn: 0.1, TextCached: 0.01, TextOut: 0.5},
	"gpt-5.6-terra": {TextIn: 2, TextCached: 0.2, TextOut: 12}, // other lists
	"gpt-5.6-luna":  {TextIn: 0.2, TextCached: 0.02, TextOut: 1.2},
	"gpt-5.4-mini":  {TextIn: 0.75, TextCached: 0.075, TextOut: 4.5}, // LiteLLM, as are all below
	"gpt-5.4-nano":  {TextIn: 0.2, TextCached: 0.02, TextOut: 1.25},
	"gpt-5":         {TextIn: 1.25, TextCached: 0.125, TextOut: 10},
	"gpt-5-mini":    {TextIn: 0.25, TextCached: 0.025, TextOut: 2},
	"gpt-5-nano":    {TextIn: 0.05, TextCached: 0.005, TextOut: 0.4},
	"gpt-4.1":       {TextIn: 2, TextCached: 0.5, TextOut: 8},
	"gpt-4.1-mini":  {TextIn: 0.4, TextCached: 0.1, TextOut: 1.6},
	"gpt-4.1-nano":  {TextIn: 0.1, TextCached: 0.025, TextOut: 0.4},
	"gpt-4o":        {TextIn: 2.5, TextCached: 1.25, TextOut: 10},
	"gpt-4o-mini":   {TextIn: 0.15, TextCached: 0.075, TextOut: 0.6},

	"gpt-4o-2024-05-13": {TextIn: 5, TextCached: 5, TextOut: 15},

	"gpt-transcribe":       {TranscriptionMinute: 0.0045},
	"gpt-live-transcribe":  {TranscriptionMinute: 0.017},
	"gpt-realtime-whisper": {TranscriptionMinute: 0.017},
	"whisper-1":            {TranscriptionMinute: 0.006}, // other lists
	// The minute is OpenAI's estimate as code of others has it, for replies that do not say how many tokens they are.
	"gpt-4o-transcribe":      {TextIn: 2.5, TextCached: 2.5, AudioIn: 2.5, AudioCached: 2.5, TextOut: 10, TranscriptionMinute: 0.006},
	"gpt-4o-mini-transcribe": {TextIn: 1.25, TextCached: 1.25, AudioIn: 1.25, AudioCached: 1.25, TextOut: 5, TranscriptionMinute: 0.003},

	"tts-1":    {SpokenLetters: 15},
	"tts-1-hd": {SpokenLetters: 30},
	// By OpenAI's estimate of a minute, as code of others has it: its replies say nothing of tokens.
	"gpt-4o-mini-tts": {TextIn: 0.6, AudioOut: 12, SpokenLetters: 0.015 * 1e6 / lettersAMinute},
}

var snapshot = pattern.New(`-20\d\d-\d\d-\d\d$`)

// Listed is what a model costs at an address, if the list has it. It is OpenAI's list: a server of another vendor, or of the
// household, has no price here. A gateway is taken to ask the same for a model that it names openai/…, as it resells it.
func Listed(address, model string) (p Prices, known bool) {
	u, err := url.Parse(address)
	if err != nil {
		return Prices{}, false
	}
	name, resold := strings.CutPrefix(cmp.Or(u.Query().Get("model"), model), "openai/")
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host != "openai.com" && !strings.HasSuffix(host, ".openai.com") && !(resold && public(host)) {
		return Prices{}, false
	}
	if p, known = listed[name]; !known { // a snapshot of a day costs what its model does; a fine-tuned one does not
		p, known = listed[snapshot().ReplaceAllString(name, "")]
	}
	return p, known && p != Prices{}
}

// AtHome says that a server is on this machine or in the network of the household, by its address.
func AtHome(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && !public(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
}

// public says that a host is on the internet, by its name.
func public(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsGlobalUnicast() && !ip.IsPrivate()
	}
	at := strings.LastIndexByte(host, '.')
	switch host[at+1:] {
	case "lan", "local", "localhost", "home", "internal", "intranet", "localdomain", "arpa", "box", "test":
		return false
	}
	return at > 0
}

// PricesAt is what a model costs at an address: what the configuration says, else the list.
func (s *Settings) PricesAt(address, model string) Prices {
	list, _ := Listed(address, model)
	p := s.Prices
	p.TextIn, p.AudioIn = cmp.Or(p.TextIn, s.PriceIn, list.TextIn), cmp.Or(p.AudioIn, s.PriceIn, list.AudioIn)
	p.TextOut, p.AudioOut = cmp.Or(p.TextOut, s.PriceOut, list.TextOut), cmp.Or(p.AudioOut, s.PriceOut, list.AudioOut)
	p.TextCached = cmp.Or(p.TextCached, p.TextIn*part(list.TextCached, list.TextIn))
	p.AudioCached = cmp.Or(p.AudioCached, p.AudioIn*part(list.AudioCached, list.AudioIn))
	p.TranscriptionMinute = cmp.Or(p.TranscriptionMinute, list.TranscriptionMinute)
	p.SpokenLetters = cmp.Or(p.SpokenLetters, list.SpokenLetters)
	return p
}

// part is which part of the price cached tokens cost: the list's, in whatever currency the price is; else all of it.
func part(cached, all float64) float64 {
	if cached <= 0 || all <= 0 {
		return 1
	}
	return cached / all
}
