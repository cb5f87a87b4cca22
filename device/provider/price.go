package provider

import "strings"

// A Price is in US dollars, for a million tokens of text.
type Price struct{ In, Out float64 }

// PricesOf is the day on which the list was read.
const PricesOf = "2026-11-23"

// votePrices are OpenAI's, with nothing cached. The first model ends for the second one (SETUP.md 4).
var votePrices = map[string]Price{
	"gpt-4.1-mini": {In: 0.40, Out: 1.60},
	"gpt-6-luna":   {In: 0.10, Out: 0.50},
}

// voicePrices are OpenAI's of sound, which is dearer than text, with nothing cached: what is reckoned by them is spent later.
var voicePrices = map[string]Price{
	"gpt-realtime-1.5":      {In: 32, Out: 64},
	"gpt-realtime-2":        {In: 32, Out: 64},
	"gpt-realtime-2.1":      {In: 32, Out: 64},
	"gpt-realtime-2.1-mini": {In: 10, Out: 20},
}

// PriceOfVoice is likewise what a voice costs at most.
func PriceOfVoice(address, model string) (p Price, known bool) {
	return priceOf(voicePrices, address, model)
}

// PriceOfVotes is what a model at an address costs; what others than OpenAI ask nobody knows here.
func PriceOfVotes(address, model string) (p Price, known bool) {
	return priceOf(votePrices, address, model)
}

func priceOf(list map[string]Price, address, model string) (p Price, known bool) {
	if host := Host(address); host != "api.openai.com" && !strings.HasSuffix(host, ".openai.com") {
		return Price{}, false
	}
	p, known = list[model]
	return p, known
}

// A day of votes on a device, with room.votes = "auto", as it was measured (SETUP.md 4). How much a household talks is our choice.
const (
	DayLines  = 100 // that people say
	DayCalls  = 13  // of a model, for these and what is answered
	callIn    = 1400
	callOut   = 120
	DayTokens = DayCalls * (callIn + callOut)
)

// Day is what such a day costs.
func (p Price) Day() float64 { return DayCalls * (callIn*p.In + callOut*p.Out) / 1e6 }
