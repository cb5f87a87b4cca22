package device

import (
	"log/slog"
	"sort"
	"sync"
	"time"
)

// A Condition is something that is wrong and that a person can fix: one fact that feeds the light, the CLI, the log and
// doctor alike.
type Condition struct {
	Code  string    `json:"code"` // "sound.lost", "voice.refused", "state.unwritable", ...
	Since time.Time `json:"since"`
	Text  string    `json:"text"` // what is wrong
	Do    string    `json:"do"`   // what to do about it
}

// conditions are those that hold now, one per code.
type conditions struct {
	log     *slog.Logger
	changed func() // after each change, without mu; nil: nobody wants to know. Fixed before Run

	begun chan struct{} // one token when a condition has begun; nil: nobody wants to know. Fixed before Run

	mu  sync.Mutex
	now map[string]Condition
}

// set begins a condition, or updates its text; the log sees only the beginning.
func (c *conditions) set(code, text, do string) {
	if c.changed != nil {
		defer c.changed() // after the one below: without mu
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = map[string]Condition{}
	}
	old, held := c.now[code]
	cond := Condition{Code: code, Since: time.Now(), Text: text, Do: do}
	if held {
		cond.Since = old.Since
	} else {
		c.log.Warn("condition.begin", "code", code, "text", text, "do", do)
		select {
		case c.begun <- struct{}{}:
		default: // one is there already, or nobody wants it
		}
	}
	c.now[code] = cond
}

// clear ends a condition.
func (c *conditions) clear(code string) {
	if c.changed != nil {
		defer c.changed()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, held := c.now[code]; held {
		delete(c.now, code)
		c.log.Info("condition.end", "code", code, "for", time.Since(old.Since).Round(time.Millisecond))
	}
}

// holds says whether a condition holds.
func (c *conditions) holds(code string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, held := c.now[code]
	return held
}

// list returns what holds, oldest first.
func (c *conditions) list() []Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Condition, 0, len(c.now))
	for _, v := range c.now {
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Since.Before(out[j].Since) })
	for i, now := 0, time.Now(); i < len(out); i++ { // on the wall as it is now: the clock may have been set since
		out[i].Since = now.Add(-now.Sub(out[i].Since)).Round(time.Second)
	}
	return out
}
