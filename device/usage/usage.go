// Package usage counts what the voices of a device use in a day, over restarts, and tells of the household's own limits
// (companions/voice/VOICES.md).
package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"conch/companions/round"
	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/state"
)

// File is the name of the first companion's count in the state directory; that of another one has its id behind it.
const File = "usage"

var errNone = errors.New("usage: this voice does not count what it uses")

// Counter is the count of all companions of a device, which have one ceiling together.
type Counter struct {
	limits config.Voice
	memory *state.Memory
	conds  *condition.Book
	meters []voice.Session // fixed before anything runs
}

// New counts; limits are the ceilings of the configuration.
func New(limits config.Voice, memory *state.Memory, conds *condition.Book) *Counter {
	return &Counter{limits: limits, memory: memory, conds: conds}
}

// Prepare has a companion's session be counted, in a file of the state directory, so that a restart does not reset a ceiling.
func (c *Counter) Prepare(of *voice.Companion, id round.CompanionID, first bool) {
	name := File
	if !first {
		name += "-" + string(id)
	}
	of.Load = func() ([]byte, error) { return c.load(name), nil }
	of.Save = func(data []byte) error { return c.memory.Save(name, json.RawMessage(data)) }
	of.Guessed = c.guessed
	c.unpriced(of.Model, id)
}

// guessed makes a condition of a server that counts no tokens while there is a ceiling.
func (c *Counter) guessed(estimated bool) {
	if !estimated {
		c.conds.Clear(condition.VoiceUncounted)
		return
	}
	c.conds.Set(condition.VoiceUncounted, "the server counts no tokens: the day's limit goes by an estimate, of seconds of sound and of letters",
		"compare it with the vendor's account; conch usage shows it")
}

// unpriced makes a condition of a companion whose tokens a ceiling in money does not see.
func (c *Counter) unpriced(model string, id round.CompanionID) {
	l := c.limits
	if l.CeilingCost == 0 || !l.Key.Set() || l.Kind == "rehearsal" || l.PriceSet() {
		return
	}
	if _, known := voice.Listed(l.URL, model); known {
		return
	}
	c.conds.Set(condition.VoiceUnpriced, fmt.Sprintf("voice.ceiling_cost does not see what %s uses: the model %q has no price", id, model),
		"set voice.price_in and voice.price_out, or voice.ceiling_tokens")
}

// load reads a count; nobody is kept from talking by one that cannot be read.
func (c *Counter) load(name string) []byte {
	var raw json.RawMessage
	c.memory.Load(name, &raw, "a ceiling counts from zero today")
	return raw
}

// Add counts a session that was prepared, if it can be.
func (c *Counter) Add(s voice.Session) {
	if s.Usage != nil {
		c.meters = append(c.meters, s)
	}
}

// Voted gives what counts a call of the model that votes, as what the first companion has used; nil prices: those of its voice.
func (c *Counter) Voted(prices *voice.Prices) func(in, out int) {
	return func(in, out int) {
		if len(c.meters) > 0 && c.meters[0].Spent != nil {
			c.meters[0].Spent(voice.Counts{Votes: 1, TextIn: int64(in), TextOut: int64(out)}, prices)
		}
	}
}

// Left says that today's ceiling is not reached.
func (c *Counter) Left() bool { return len(c.meters) == 0 || c.meters[0].Usage().Refusing == "" }

// Report tells what was used today.
func (c *Counter) Report() (control.UsageReport, error) {
	if len(c.meters) == 0 {
		return control.UsageReport{}, errNone
	}
	u := c.meters[0].Usage()
	return control.UsageReport{
		Day: u.Day, Tokens: u.All.Tokens(), Cost: u.All.Cost, HearCost: u.All.HearCost, SpeakCost: u.All.SpeakCost,
		Responses: u.All.Responses, Votes: u.All.Votes,
		Estimated: u.All.Estimated, HeardSeconds: u.All.HeardSeconds, SaidSeconds: u.All.SaidSeconds,
		Priced: c.limits.Priced(), CeilingTokens: c.limits.Ceiling, CeilingCost: c.limits.CeilingCost, Refusing: u.Refusing, Until: u.Until,
	}, nil
}

// Reset counts the day from zero: a limit that was reached is lifted, also across a restart, however that comes about. An error
// may be that it holds until then only.
func (c *Counter) Reset() (control.UsageReport, error) {
	var kept error
	for _, m := range c.meters {
		kept = errors.Join(kept, m.Reset())
	}
	c.conds.Clear(condition.VoiceCeiling)
	u, err := c.Report()
	if kept != nil {
		err = fmt.Errorf("usage: the day counts from zero, but only until the next start: %w", kept)
	}
	return u, err
}

// Refused makes a condition of the household's own limit; what the provider refuses is the voice's to tell.
func (c *Counter) Refused(e turn.ResponseRefused) {
	if e.Say != turn.WordsCeiling {
		return
	}
	if u, err := c.Report(); err == nil {
		c.conds.Set(condition.VoiceCeiling, "today's own limit is reached: "+u.Refusing,
			fmt.Sprintf("it goes on by itself on %s; conch usage reset lifts it now", u.Until.Format("2006-01-02 at 15:04")))
	}
}

// Mux serves conch usage:
//
//	GET  /usage        -> UsageReport
//	POST /usage/reset  -> UsageReport
func (c *Counter) Mux(mux *http.ServeMux) {
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) {
		u, err := c.Report()
		control.Reply(w, u, err)
	})
	mux.HandleFunc("POST /usage/reset", func(w http.ResponseWriter, _ *http.Request) {
		u, err := c.Reset()
		control.Reply(w, u, err)
	})
}

// Kept is what all companions have used on the day of now, by the files of a state directory: for a look from outside.
func Kept(dir string, now time.Time) (sum voice.Counts) {
	files, _ := filepath.Glob(filepath.Join(dir, File+"*.json")) // one a companion; its error is a pattern that cannot be
	for _, file := range files {
		var u struct {
			Day   string       `json:"day"`
			Today voice.Counts `json:"today"`
		}
		if state.Look(dir, strings.TrimSuffix(filepath.Base(file), ".json"), &u) == nil && u.Day == now.Format(time.DateOnly) {
			sum.Add(u.Today)
		}
	}
	return sum
}
