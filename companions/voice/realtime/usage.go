package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// Prices are per million tokens, in whatever currency the ceiling is in; zero counts nothing.
type Prices struct {
	TextIn, TextCached, TextOut    float64
	AudioIn, AudioCached, AudioOut float64
	TranscriptionMinute            float64
}

// Ceiling is what may be used in a day; zero is no ceiling. Beyond it no answer is asked for until the next day.
type Ceiling struct {
	Tokens       int64
	AudioSeconds float64 // heard and said
	Cost         float64
}

// meter counts. Client.mu guards it.
type meter struct {
	cfg    *Config
	day    string
	today  voice.Counts
	turn   turn.ID
	inTurn voice.Counts
	dirty  chan struct{} // of one: wakes the saver
}

type savedUsage struct {
	Day   string       `json:"day"`
	Today voice.Counts `json:"today"`
}

func newMeter(cfg *Config) (*meter, error) {
	m := &meter{cfg: cfg, dirty: make(chan struct{}, 1)}
	m.roll(cfg.Wall())
	if cfg.Load == nil {
		return m, nil
	}
	b, err := cfg.Load()
	if err != nil {
		return nil, fmt.Errorf("realtime: load the day's usage: %w", err)
	}
	var s savedUsage
	if len(b) > 0 {
		if err := json.Unmarshal(b, &s); err != nil {
			// A torn file must not keep a person from talking; the ceiling starts anew.
			cfg.Log.Warn(logSave, "err", fmt.Errorf("the day's usage cannot be read, counting from zero: %w", err))
		}
	}
	if s.Day == m.day || later(s.Day, cfg.Wall()) {
		m.day = s.Day
		m.add("", s.Today)
	}
	return m, nil
}

// roll begins a day. A clock that has gone back does not: a Pi without a network begins in 1970, or at its last shutdown, and
// pulling the plug must not give a ceiling that was reached its day again.
func (m *meter) roll(now time.Time) {
	if day := now.Format(time.DateOnly); day != m.day && !later(m.day, now) {
		m.day, m.today = day, voice.Counts{}
	}
}

// later says that a day is after now, so that the clock has gone back since; but not so far after that the clock must have
// been wrong then and is right now.
func later(day string, now time.Time) bool {
	const longest, rtcless = 31 * 24 * time.Hour, 1990
	at, err := time.ParseInLocation(time.DateOnly, day, now.Location())
	return err == nil && day > now.Format(time.DateOnly) && (now.Year() < rtcless || at.Sub(now) < longest)
}

func (m *meter) read(now time.Time) voice.Usage {
	m.roll(now)
	u := voice.Usage{Day: m.day, Today: m.today, All: m.all(), Turn: m.turn, InTurn: m.inTurn, Refusing: m.refuses()}
	if day, err := time.ParseInLocation(time.DateOnly, m.day, now.Location()); err == nil {
		u.Until = day.AddDate(0, 0, 1)
	}
	return u
}

func (m *meter) refuses() string {
	used := m.all()
	switch c := m.cfg.Ceiling; {
	case c.Tokens > 0 && used.Tokens() >= c.Tokens:
		return fmt.Sprintf("%d of %d tokens used on %s", used.Tokens(), c.Tokens, m.day)
	case c.AudioSeconds > 0 && used.HeardSeconds+used.SaidSeconds >= c.AudioSeconds:
		return fmt.Sprintf("%.0f of %.0f s of audio used on %s", used.HeardSeconds+used.SaidSeconds, c.AudioSeconds, m.day)
	case c.Cost > 0 && used.Cost >= c.Cost:
		return fmt.Sprintf("%.2f of %.2f spent on %s", used.Cost, c.Cost, m.day)
	}
	return ""
}

// all is what counts towards the ceiling today.
func (m *meter) all() voice.Counts {
	if m.cfg.Pool == nil {
		return m.today
	}
	return m.cfg.Pool.sum(m.day)
}

func (m *meter) add(t turn.ID, c voice.Counts) {
	if t != "" && t != m.turn {
		m.turn, m.inTurn = t, voice.Counts{}
	}
	m.today.Add(c)
	if t != "" {
		m.inTurn.Add(c)
	}
	if m.cfg.Pool != nil {
		m.cfg.Pool.put(m)
	}
	select {
	case m.dirty <- struct{}{}:
	default:
	}
}

// spent counts text that was read and written beside the conversation, at the voice's prices: no model that only votes costs more.
func (c *Client) spent(of voice.Counts) {
	c.count(func(m *meter) {
		of.Cost = (float64(of.TextIn)*m.cfg.Prices.TextIn + float64(of.TextOut)*m.cfg.Prices.TextOut) / 1e6
		m.add("", of)
	})
}

func (m *meter) heard(t turn.ID, seconds float64) { m.add(t, voice.Counts{HeardSeconds: seconds}) }

func (m *meter) answered(t turn.ID, u *wireUsage, seconds float64) {
	c := voice.Counts{Responses: 1, SaidSeconds: seconds}
	if u != nil {
		countTokens(&c, u)
		p := &m.cfg.Prices
		c.Cost = (float64(c.TextIn-c.TextCached)*p.TextIn + float64(c.TextCached)*p.TextCached + float64(c.TextOut)*p.TextOut +
			float64(c.AudioIn-c.AudioCached)*p.AudioIn + float64(c.AudioCached)*p.AudioCached + float64(c.AudioOut)*p.AudioOut) / 1e6
	}
	m.add(t, c)
}

func (m *meter) transcribed(t turn.ID, u *wireUsage) {
	c := voice.Counts{}
	if u.Type == "duration" {
		c.Cost = nonNegative(u.Seconds) / 60 * m.cfg.Prices.TranscriptionMinute
	} else {
		countTokens(&c, u)
	}
	m.add(t, c)
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

// count changes the meter and says what the turn has used so far.
func (c *Client) count(f func(*meter)) {
	c.mu.Lock()
	m := c.usage
	m.roll(c.cfg.Wall())
	before := m.today.Responses
	f(m)
	u, responses := m.read(c.cfg.Wall()), m.today.Responses
	c.mu.Unlock()
	if responses != before {
		c.log.Info(logUsage, "turn", u.Turn, "tokens", u.InTurn.Tokens(), "heard_s", round(u.InTurn.HeardSeconds), "said_s", round(u.InTurn.SaidSeconds),
			"cost", u.InTurn.Cost, "today_tokens", u.Today.Tokens(), "today_cost", u.Today.Cost)
	}
}

func round(seconds float64) float64 { return math.Round(seconds*100) / 100 }

// ResetUsage counts the day from zero, so that a ceiling that was reached gives way; when it returns nil, also after a restart.
func (c *Client) ResetUsage() error {
	c.forgetToday()
	return c.keepUsage()
}

func (c *Client) forgetToday() {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.usage.today
	c.log.Info(logReset, "day", c.usage.day, "tokens", was.Tokens(), "cost", was.Cost)
	c.usage.today = voice.Counts{} // its own; what others of a Pool have used stands
	c.usage.add("", voice.Counts{})
}

func (c *Client) refuses() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage.roll(c.cfg.Wall())
	return c.usage.refuses()
}

// saver keeps the day's usage on a goroutine of its own, because a disk may be slow, full or gone; the latest figures
// win and the last are kept at the end.
func (c *Client) saver(ctx context.Context) {
	for done := false; !done; {
		select {
		case <-c.usage.dirty:
		case <-ctx.Done():
			done = true
		}
		if err := c.keepUsage(); err != nil {
			c.log.Warn(logSave, "err", err)
		}
	}
}

// keepUsage writes the figures as they are now.
func (c *Client) keepUsage() error {
	if c.cfg.Save == nil {
		return nil
	}
	c.saving.Lock() // so that no older figures overtake newer ones
	defer c.saving.Unlock()
	c.mu.Lock()
	s := savedUsage{Day: c.usage.day, Today: c.usage.today}
	c.mu.Unlock()
	b, err := json.Marshal(s)
	if err == nil {
		err = c.cfg.Save(b)
	}
	if err != nil {
		return fmt.Errorf("keep the day's usage: %w", err)
	}
	return nil
}

// Pool adds up what several clients use, whose ceiling is one: the companions of a device, each with a session of its own.
// It calls nobody, so that a client may ask it under its own lock.
type Pool struct {
	mu sync.Mutex
	of map[*meter]savedUsage
}

// put notes what a client has used today.
func (p *Pool) put(m *meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[*meter]savedUsage{}
	}
	p.of[m] = savedUsage{Day: m.day, Today: m.today}
}

// sum is what all have used on a day.
func (p *Pool) sum(day string) (c voice.Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.of {
		if s.Day == day {
			c.Add(s.Today)
		}
	}
	return c
}
