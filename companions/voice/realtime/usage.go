package realtime

import (
	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// answered counts an answer that has ended; without u the server did not say what it used.
func (c *Client) answered(t turn.ID, u *wireUsage, seconds float64) {
	counts := voice.Counts{Responses: 1, SaidSeconds: seconds}
	if u != nil {
		countTokens(&counts, u)
		counts.Cost = c.cfg.Prices.Of(counts)
	}
	c.usage.Count(t, counts)
}

// transcribed counts a transcript.
func (c *Client) transcribed(t turn.ID, u *wireUsage) {
	counts := voice.Counts{}
	countTokens(&counts, u)
	if u.Type == "duration" || counts.Tokens() == 0 {
		counts = c.cfg.EarPrices.Hearing(float64(u.Seconds))
	} else {
		counts.Cost = c.cfg.EarPrices.Of(counts)
		counts.HearCost = counts.Cost
	}
	c.usage.Count(t, counts)
}

// metering is what counts.
func (cfg *Config) metering() kit.Metering {
	return kit.Metering{Prices: cfg.Prices, Ceiling: cfg.Ceiling, Pool: cfg.Pool, Load: cfg.Load, Save: cfg.Save, Wall: cfg.Wall, Log: cfg.Log}
}

// countTokens reads a server's figures. Tokens that the server does not divide are text.
func countTokens(c *voice.Counts, u *wireUsage) {
	in, cached := &u.InputDetails, &u.InputDetails.CachedDetails
	c.TextIn, c.AudioIn = divided(&in.wireTokens, u.InputTokens)
	c.TextOut, c.AudioOut = divided(&u.OutputDetails, u.OutputTokens)
	c.TextCached, c.AudioCached = min(cached.Text.Tokens(), c.TextIn), min(cached.Audio.Tokens(), c.AudioIn)
	if c.TextCached+c.AudioCached == 0 { // the sum alone: it is text first, which saves less
		c.TextCached = min(in.Cached.Tokens(), c.TextIn)
		c.AudioCached = min(in.Cached.Tokens()-c.TextCached, c.AudioIn)
	}
}

// divided is text and sound. What is more in the sum than in its parts is text: a model thinks in text.
func divided(parts *wireTokens, sum kit.Figure) (text, audio int64) {
	text, audio = parts.Text.Tokens(), parts.Audio.Tokens()
	if both := (voice.Counts{TextIn: text, AudioIn: audio}).Tokens(); both < sum.Tokens() {
		text += sum.Tokens() - both
	}
	return text, audio
}
