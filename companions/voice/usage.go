package voice

import (
	"time"

	"conch/coordinator/turn"
)

// Counts is what was used.
type Counts struct {
	Responses    int     `json:"responses"`
	TextIn       int64   `json:"text_in"` // tokens, cached ones included
	TextCached   int64   `json:"text_cached"`
	TextOut      int64   `json:"text_out"`
	Votes        int     `json:"votes,omitempty"` // calls of a model that votes; their tokens are among TextIn and TextOut
	AudioIn      int64   `json:"audio_in"`
	AudioCached  int64   `json:"audio_cached"`
	AudioOut     int64   `json:"audio_out"`
	HeardSeconds float64 `json:"heard_s"` // sent to the server
	SaidSeconds  float64 `json:"said_s"`  // received from it
	Cost         float64 `json:"cost"`
	HearCost     float64 `json:"hear_cost,omitempty"` // part of Cost: what was written down by the minute
	SpeakCost    float64 `json:"speak_cost,omitempty"`
}

// Tokens is the sum of all.
func (c Counts) Tokens() int64 { return c.TextIn + c.TextOut + c.AudioIn + c.AudioOut }

// Add adds d.
func (c *Counts) Add(d Counts) {
	c.Responses += d.Responses
	c.TextIn += d.TextIn
	c.TextCached += d.TextCached
	c.TextOut += d.TextOut
	c.Votes += d.Votes
	c.AudioIn += d.AudioIn
	c.AudioCached += d.AudioCached
	c.AudioOut += d.AudioOut
	c.HeardSeconds += d.HeardSeconds
	c.SaidSeconds += d.SaidSeconds
	c.Cost += d.Cost
	c.HearCost += d.HearCost
	c.SpeakCost += d.SpeakCost
}

// Usage is what a session tells of it.
type Usage struct {
	Day      string // local, 2006-01-02
	Today    Counts
	All      Counts  // today, of all companions
	Turn     turn.ID // the latest turn that used something
	InTurn   Counts
	Refusing string    // why no answer is asked for any more today; "" while there is room
	Until    time.Time // when the next day begins, for it
}
