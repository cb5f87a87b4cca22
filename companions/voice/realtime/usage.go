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
	if u.Type == "duration" {
		counts = c.cfg.Prices.Hearing(nonNegative(u.Seconds))
	} else {
		countTokens(&counts, u)
	}
	c.usage.Count(t, counts)
}

// metering is what counts.
func (cfg *Config) metering() kit.Metering {
	return kit.Metering{Prices: cfg.Prices, Ceiling: cfg.Ceiling, Pool: cfg.Pool, Load: cfg.Load, Save: cfg.Save, Wall: cfg.Wall, Log: cfg.Log}
}

// countTokens reads a server's figures; what makes no sense counts as none.
func countTokens(c *voice.Counts, u *wireUsage) {
	c.TextIn, c.AudioIn = max(0, u.InputDetails.Text), max(0, u.InputDetails.Audio)
	c.TextOut, c.AudioOut = max(0, u.OutputDetails.Text), max(0, u.OutputDetails.Audio)
	if c.TextIn+c.AudioIn == 0 {
		c.TextIn = max(0, u.InputTokens)
	}
	if c.TextOut+c.AudioOut == 0 {
		c.TextOut = max(0, u.OutputTokens)
	}
	c.TextCached = min(max(0, u.InputDetails.CachedDetails.Text), c.TextIn)
	c.AudioCached = min(max(0, u.InputDetails.CachedDetails.Audio), c.AudioIn)
}

func nonNegative(f float64) float64 {
	if f > 0 {
		return f
	}
	return 0
}
