package realtime

import (
	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// answered counts an answer that has ended. What the server does not count is as it was guessed.
func (c *Client) answered(t turn.ID, u *wireUsage, seconds float64, guess voice.Counts) {
	counts := voice.Counts{Responses: 1, SaidSeconds: seconds}
	if u != nil {
		countTokens(&counts, u)
	}
	if counts.TextIn+counts.AudioIn == 0 && guess.TextIn+guess.AudioIn > 0 {
		counts.TextIn, counts.AudioIn, counts.Estimated = guess.TextIn, guess.AudioIn, 1
	}
	if counts.TextOut+counts.AudioOut == 0 && guess.TextOut+guess.AudioOut > 0 {
		counts.TextOut, counts.AudioOut, counts.Estimated = guess.TextOut, guess.AudioOut, 1
	}
	counts.Cost = c.cfg.Prices.Of(counts)
	c.usage.Count(t, counts)
}

// guess estimates the tokens of an answer: the conversation and the question before it, and its sound. Of an answer of which
// nothing has come there are none.
func (r *conversation) guess(p *response) (c voice.Counts) {
	if !p.begun() {
		return c
	}
	letters := len(r.cfg.Instructions)
	for _, e := range r.history.Entries {
		letters += len(e.Text)
	}
	c.TextIn, c.AudioOut = kit.TextTokens(letters), kit.SaidTokens(p.seconds)
	c.AudioIn = kit.HeardTokens(r.c.heard(p.turn))
	return c
}

// heard is how much the server was sent in a turn, if that is the latest.
func (c *Client) heard(t turn.ID) (seconds float64) {
	if u := c.usage.Usage(); u.Turn == t {
		seconds = u.InTurn.HeardSeconds
	}
	return seconds
}

// transcribed counts a transcript. Where the server says nothing of it, all that was sent in the turn was written down.
func (c *Client) transcribed(t turn.ID, u *wireUsage) {
	counts := voice.Counts{}
	if u == nil {
		u = &wireUsage{}
	}
	countTokens(&counts, u)
	switch {
	case u.Type == "duration" || u.Seconds > 0:
		counts = c.cfg.EarPrices.Hearing(float64(u.Seconds))
	case counts.Tokens() > 0:
		counts.Cost = c.cfg.EarPrices.Of(counts)
		counts.HearCost = counts.Cost
	default:
		counts = c.cfg.EarPrices.Hearing(c.heard(t))
	}
	c.usage.Count(t, counts)
}

// metering is what counts.
func (cfg *Config) metering() kit.Metering {
	return kit.Metering{Prices: cfg.Prices, Ceiling: cfg.Ceiling, Pool: cfg.Pool, Load: cfg.Load, Save: cfg.Save, Wall: cfg.Wall, Log: cfg.Log,
		Guessed: cfg.Guessed}
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
