package voice

import (
	"math"
	"time"

	"conch/coordinator/turn"
)

// Counts is what was used.
type Counts struct {
	Responses    int     `json:"responses"`
	TextIn       int64   `json:"text_in"` // tokens, cached ones included
	TextCached   int64   `json:"text_cached"`
	TextOut      int64   `json:"text_out"`
	Estimated    int     `json:"estimated,omitempty"` // of Responses: their tokens are estimated, as the server does not count them
	Votes        int     `json:"votes,omitempty"`     // calls of a model that votes; their tokens are among TextIn and TextOut
	AudioIn      int64   `json:"audio_in"`
	AudioCached  int64   `json:"audio_cached"`
	AudioOut     int64   `json:"audio_out"`
	HeardSeconds float64 `json:"heard_s"` // sent to the server
	SaidSeconds  float64 `json:"said_s"`  // received from it
	Cost         float64 `json:"cost"`
	HearCost     float64 `json:"hear_cost,omitempty"` // part of Cost: what was written down
	SpeakCost    float64 `json:"speak_cost,omitempty"`
}

// Tokens is the sum of all. It stops at the largest number.
func (c Counts) Tokens() int64 {
	return plus(plus(c.TextIn, c.TextOut), plus(c.AudioIn, c.AudioOut))
}

// Add adds d. A counter stops at the largest number, and what is negative or no number adds nothing.
func (c *Counts) Add(d Counts) {
	c.Responses = plusFew(c.Responses, d.Responses)
	c.Estimated = plusFew(c.Estimated, d.Estimated)
	c.TextIn = plus(c.TextIn, d.TextIn)
	c.TextCached = plus(c.TextCached, d.TextCached)
	c.TextOut = plus(c.TextOut, d.TextOut)
	c.Votes = plusFew(c.Votes, d.Votes)
	c.AudioIn = plus(c.AudioIn, d.AudioIn)
	c.AudioCached = plus(c.AudioCached, d.AudioCached)
	c.AudioOut = plus(c.AudioOut, d.AudioOut)
	c.HeardSeconds = more(c.HeardSeconds, d.HeardSeconds)
	c.SaidSeconds = more(c.SaidSeconds, d.SaidSeconds)
	c.Cost = more(c.Cost, d.Cost)
	c.HearCost = more(c.HearCost, d.HearCost)
	c.SpeakCost = more(c.SpeakCost, d.SpeakCost)
}

// plus adds b to a, which is not negative.
func plus(a, b int64) int64 {
	if b = max(0, b); a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// plusFew does so with numbers of answers.
func plusFew(a, b int) int { return int(min(plus(int64(a), int64(b)), math.MaxInt)) }

// mostAmount is a sum that no day has. JSON cannot keep an infinite one.
const mostAmount = 1e15

// more adds b to a.
func more(a, b float64) float64 {
	if !(b > 0) { // also what is no number
		return a
	}
	return min(a+b, mostAmount)
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
