package provider

import "conch/companions/voice"

// A Price is in US dollars, for a million tokens of text or of sound.
type Price struct{ In, Out float64 }

// PricesOf is the day on which the list was read.
const PricesOf = voice.PricesOf

// PriceOfVoice is what sound costs with a model at an address, with nothing cached; known: the list has the model.
func PriceOfVoice(address, model string) (p Price, known bool) {
	list, known := voice.Listed(address, model)
	return Price{In: list.AudioIn, Out: list.AudioOut}, known
}

// PriceOfVotes is what a model at an address costs that votes, with nothing cached, if the list has it.
func PriceOfVotes(address, model string) (p Price, known bool) {
	list, _ := voice.Listed(address, model)
	return Price{In: list.TextIn, Out: list.TextOut}, list.TextIn > 0
}

// VotePrices are those of a model that votes. A server of the household costs nothing; of another whose model is not listed
// they are not known (nil).
func VotePrices(address, model string) *voice.Prices {
	if p, known := voice.Listed(address, model); known || voice.AtHome(address) {
		return &p
	}
	return nil
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
