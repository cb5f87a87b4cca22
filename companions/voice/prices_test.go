package voice

import (
	"math"
	"testing"
	"time"
)

const openAI = "wss://api.openai.com/v1/realtime"

// A name is that of a model of the list, or has no price.
func TestListed(t *testing.T) {
	for _, row := range []struct {
		address, model string
		in             float64 // of text; 0: it is not listed
	}{
		{openAI, "gpt-realtime-2.1", 4},
		{openAI, "gpt-realtime-2.1-mini", 0.6},
		{openAI, "gpt-realtime-2025-08-28", 4},
		{openAI, "gpt-realtime-mini-2025-12-15", 0.6},
		{openAI, "openai/gpt-realtime", 4},
		{openAI + "?model=gpt-realtime-mini", "gpt-realtime-2.1", 0.6}, // which the address asks for
		{openAI, "gpt-4o-mini-2024-07-18", 0.15},
		{openAI, "gpt-4o-2024-05-13", 5}, // it has a price of its own
		{openAI, "gpt-4o-realtime-preview-2024-10-01", 0},
		{openAI, "gpt-realtime-3", 0},
		{openAI, "gpt-realtime-2.1-nano", 0},
		{openAI, "gpt", 0},
		{openAI, "", 0},
		{openAI, "ft:gpt-4o-mini-2024-07-18:home::abc", 0},
		{openAI, "gpt-4o-mini:free", 0},
		{"https://API.OpenAI.com./v1", "gpt-4o-mini", 0.15},
		{"https://eu.api.openai.com/v1", "gpt-4o-mini", 0.15},
		{"https://notopenai.com/v1", "gpt-4o-mini", 0},
		{"https://house.openai.azure.com/v1", "gpt-4o-mini", 0}, // a name that the household has given
		{"https://gateway.example.com/v1", "openai/gpt-4o-mini", 0.15},
		{"https://gateway.example.com/v1", "openai/gpt-4o-mini:free", 0},
		{"https://gateway.example.com/v1", "gpt-4o-mini", 0},
		{"http://box.lan:8000/v1", "openai/gpt-4o-mini", 0}, // one's own server costs nothing
		{"http://box:8000/v1", "openai/gpt-4o-mini", 0},
		{"http://localhost:8000/v1", "openai/gpt-4o-mini", 0},
		{"http://127.0.0.1:8000/v1", "openai/gpt-4o-mini", 0},
		{"http://192.168.1.5:8000/v1", "openai/gpt-4o-mini", 0},
		{"http://[fd00::5]:8000/v1", "openai/gpt-4o-mini", 0},
		{"http://[fe80::5%25eth0]:8000/v1", "openai/gpt-4o-mini", 0},
		{"", "openai/gpt-4o-mini", 0},
		{"://", "gpt-4o-mini", 0},
	} {
		if p, known := Listed(row.address, row.model); p.TextIn != row.in || known != (row.in > 0) {
			t.Errorf("%q at %s: %v, known: %v; want %v", row.model, row.address, p.TextIn, known, row.in)
		}
	}
}

// The list is dated, and each line of it has all prices that such a model needs.
func TestTheListIsWhole(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, PricesOf); err != nil {
		t.Error(err)
	}
	for name, p := range listed {
		for _, c := range []struct {
			what            string
			in, cached, out float64
		}{{"text", p.TextIn, p.TextCached, p.TextOut}, {"sound", p.AudioIn, p.AudioCached, p.AudioOut}} {
			writes := p.TranscriptionMinute > 0 && c.what == "sound" // what it answers is text
			speaks := p.SpokenLetters > 0
			if c.cached > c.in || c.in > 0 && c.cached == 0 && !speaks || (c.in > 0) != (c.out > 0) && !writes && !speaks {
				t.Errorf("%s: %s: %+v", name, c.what, c)
			}
		}
	}
}

// What is set counts in place of the list, each price by itself; the two old keys stand for all tokens.
func TestPricesThatAreSet(t *testing.T) {
	list := Prices{TextIn: 4, TextCached: 0.4, TextOut: 24, AudioIn: 32, AudioCached: 0.4, AudioOut: 64}
	each := Prices{TextIn: 1, TextCached: 2, TextOut: 3, AudioIn: 4, AudioCached: 5, AudioOut: 6, TranscriptionMinute: 7, SpokenLetters: 8}
	for name, row := range map[string]struct {
		model string
		set   Settings
		want  Prices
	}{
		"nothing":            {"gpt-realtime-2.1", Settings{}, list},
		"nothing, not known": {"gpt-7", Settings{}, Prices{}},
		"each":               {"gpt-realtime-2.1", Settings{Prices: each, PriceIn: 90, PriceOut: 90}, each},
		"each, not known":    {"gpt-7", Settings{Prices: each}, each},
		"one":                {"gpt-realtime-2.1", Settings{Prices: Prices{AudioOut: 50}}, with(list, func(p *Prices) { p.AudioOut = 50 })},
		// cached costs the same part of another price, in whatever currency that is
		"the old ones": {"gpt-realtime-2.1", Settings{PriceIn: 40, PriceOut: 80},
			Prices{TextIn: 40, TextCached: 4, TextOut: 80, AudioIn: 40, AudioCached: 0.5, AudioOut: 80}},
		"the old ones, not known": {"gpt-7", Settings{PriceIn: 40, PriceOut: 80},
			Prices{TextIn: 40, TextCached: 40, TextOut: 80, AudioIn: 40, AudioCached: 40, AudioOut: 80}},
		"an old and a new one, not known": {"gpt-7", Settings{PriceIn: 40, Prices: Prices{TextIn: 5, AudioCached: 1}},
			Prices{TextIn: 5, TextCached: 5, AudioIn: 40, AudioCached: 1}},
		"of one that writes down": {"gpt-transcribe", Settings{}, Prices{TranscriptionMinute: 0.0045}},
	} {
		if got := row.set.PricesAt(openAI, row.model); !near(got, row.want) {
			t.Errorf("%s: %+v; want %+v", name, got, row.want)
		}
	}
}

func with(p Prices, change func(*Prices)) Prices { change(&p); return p }

func near(a, b Prices) bool {
	ok := true
	for _, x := range [][2]float64{{a.TextIn, b.TextIn}, {a.TextCached, b.TextCached}, {a.TextOut, b.TextOut}, {a.AudioIn, b.AudioIn},
		{a.AudioCached, b.AudioCached}, {a.AudioOut, b.AudioOut}, {a.TranscriptionMinute, b.TranscriptionMinute}, {a.SpokenLetters, b.SpokenLetters}} {
		ok = ok && math.Abs(x[0]-x[1]) < 1e-9
	}
	return ok
}

// An answer costs by all six prices.
func TestWhatAnAnswerCosts(t *testing.T) {
	p := Prices{TextIn: 4, TextCached: 0.4, TextOut: 24, AudioIn: 32, AudioCached: 0.4, AudioOut: 64}
	c := Counts{TextIn: 1000, TextCached: 900, TextOut: 100, AudioIn: 2000, AudioCached: 1500, AudioOut: 200}
	if got, want := p.Of(c)*1e6, 100*4+900*0.4+100*24+500*32+1500*0.4+200*64; math.Abs(got-want) > 1e-6 {
		t.Errorf("%v millionths; want %v", got, want)
	}
}
