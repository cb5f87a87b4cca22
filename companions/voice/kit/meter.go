package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// Log events of this package.
const (
	logUsage = "usage.turn"
	logReset = "usage.reset"
	logGuess = "usage.estimated"
	// LogSave is for what could not be kept, or was not kept well.
	LogSave = "usage.save"
)

// Ceiling is what may be used in a day; zero is no ceiling. Beyond it no answer is asked for until the next day.
type Ceiling struct {
	Tokens       int64
	AudioSeconds float64 // heard and said
	Cost         float64
}

// Metering is what a Meter is made of.
type Metering struct {
	Prices  voice.Prices
	Ceiling Ceiling
	Pool    *Pool                  // whose use counts towards the ceiling, too; nil: nobody's
	Load    func() ([]byte, error) // what Save kept, at NewMeter; nil starts from zero
	Save    func([]byte) error     // keeps the day's usage; called from Run, and from Reset
	Wall    func() time.Time       // decides which day it is
	Log     *slog.Logger

	// Guessed is called once there is a ceiling and the server counts no tokens, so that they are estimated; and when it counts
	// them. Called without a lock. May be nil.
	Guessed func(estimated bool)
}

// Meter counts what one companion's voice uses in a day. Its methods may be called from any goroutine.
type Meter struct {
	Metering // fixed after NewMeter

	saving sync.Mutex    // held while the usage is written; before mu
	dirty  chan struct{} // of one: wakes Run

	mu      sync.Mutex // guards what follows
	counts  bool       // the server has counted the tokens of an answer
	guessed bool       // Guessed was called
	day     string
	today   voice.Counts
	turn    turn.ID
	inTurn  voice.Counts
}

type savedUsage struct {
	Day   string       `json:"day"`
	Today voice.Counts `json:"today"`
}

// NewMeter begins with what was kept.
func NewMeter(of Metering) (*Meter, error) {
	m := &Meter{Metering: of, dirty: make(chan struct{}, 1)}
	m.roll()
	if m.Load == nil {
		return m, nil
	}
	b, err := m.Load()
	if err != nil {
		return nil, fmt.Errorf("load the day's usage: %w", err)
	}
	var s savedUsage
	if len(b) > 0 {
		if err := json.Unmarshal(b, &s); err != nil {
			// A torn file must not keep a person from talking; the ceiling starts anew.
			m.Log.Warn(LogSave, "err", fmt.Errorf("the day's usage cannot be read, counting from zero: %w", err))
		}
	}
	if s.Day == m.day || later(s.Day, m.Wall()) {
		m.day = s.Day
		m.add("", s.Today)
	}
	return m, nil
}

// roll begins a day. A clock that has gone back does not: a Pi without a network begins in 1970, or at its last shutdown, and
// pulling the plug must not give a ceiling that was reached its day again.
func (m *Meter) roll() {
	now := m.Wall()
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

// Usage is what there is to tell.
func (m *Meter) Usage() voice.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roll()
	return m.read()
}

func (m *Meter) read() voice.Usage {
	u := voice.Usage{Day: m.day, Today: m.today, All: m.all(), Turn: m.turn, InTurn: m.inTurn, Refusing: m.refuses()}
	if day, err := time.ParseInLocation(time.DateOnly, m.day, m.Wall().Location()); err == nil {
		u.Until = day.AddDate(0, 0, 1)
	}
	return u
}

// Refuses says why no answer is to be asked for today; "": one may.
func (m *Meter) Refuses() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roll()
	return m.refuses()
}

func (m *Meter) refuses() string {
	used := m.all()
	switch c := m.Ceiling; {
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
func (m *Meter) all() voice.Counts {
	if m.Pool == nil {
		return m.today
	}
	return m.Pool.sum(m.day)
}

func (m *Meter) add(t turn.ID, c voice.Counts) {
	if t != "" && t != m.turn {
		m.turn, m.inTurn = t, voice.Counts{}
	}
	m.today.Add(c)
	if t != "" {
		m.inTurn.Add(c)
	}
	if m.Pool != nil {
		m.Pool.put(m)
	}
	select {
	case m.dirty <- struct{}{}:
	default:
	}
}

// Count counts what a turn has used; "": what belongs to none.
func (m *Meter) Count(t turn.ID, c voice.Counts) {
	m.mu.Lock()
	m.roll()
	m.add(t, c)
	u := m.read()
	guess := m.guess(c)
	m.mu.Unlock()
	guess()
	if c.Responses > 0 {
		m.Log.Info(logUsage, "turn", u.Turn, "tokens", u.InTurn.Tokens(), "heard_s", round(u.InTurn.HeardSeconds), "said_s", round(u.InTurn.SaidSeconds),
			"cost", u.InTurn.Cost, "today_tokens", u.Today.Tokens(), "today_cost", u.Today.Cost)
	}
}

// guess notes whether the server counts, and gives what is to be done about it without the lock.
func (m *Meter) guess(c voice.Counts) func() {
	was := m.guessed
	switch {
	case c.Estimated == 0 && c.Responses > 0 && c.Tokens() > 0:
		m.counts, m.guessed = true, false
	case c.Estimated > 0 && !m.counts && (m.Ceiling.Tokens > 0 || m.Ceiling.Cost > 0):
		m.guessed = true
	}
	now := m.guessed
	if now == was {
		return func() {}
	}
	return func() {
		if now {
			m.Log.Warn(logGuess, "why", "the server counts no tokens: the ceiling goes by seconds of sound and by letters")
		}
		if m.Guessed != nil {
			m.Guessed(now)
		}
	}
}

func round(seconds float64) float64 { return math.Round(seconds*100) / 100 }

// Spent counts text that was read and written beside the conversation. Without prices it costs what the voice's does: no model
// that only votes costs more.
func (m *Meter) Spent(of voice.Counts, prices *voice.Prices) {
	if prices == nil {
		prices = &m.Prices
	}
	of.Cost = prices.Of(voice.Counts{TextIn: of.TextIn, TextOut: of.TextOut})
	m.Count("", of)
}

// Reset counts the day from zero, so that a ceiling that was reached gives way; when it returns nil, also after a restart.
func (m *Meter) Reset() error {
	m.forgetToday()
	return m.keep()
}

func (m *Meter) forgetToday() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Log.Info(logReset, "day", m.day, "tokens", m.today.Tokens(), "cost", m.today.Cost)
	m.today = voice.Counts{} // its own; what others of a Pool have used stands
	m.add("", voice.Counts{})
}

// Run keeps the day's usage on a goroutine of its own, because a disk may be slow, full or gone; the latest figures
// win and the last are kept at the end.
func (m *Meter) Run(ctx context.Context) {
	for done := false; !done; {
		select {
		case <-m.dirty:
		case <-ctx.Done():
			done = true
		}
		if err := m.keep(); err != nil {
			m.Log.Warn(LogSave, "err", err)
		}
	}
}

// keep writes the figures as they are now.
func (m *Meter) keep() error {
	if m.Save == nil {
		return nil
	}
	m.saving.Lock() // so that no older figures overtake newer ones
	defer m.saving.Unlock()
	m.mu.Lock()
	s := savedUsage{Day: m.day, Today: m.today}
	m.mu.Unlock()
	b, err := json.Marshal(s)
	if err == nil {
		err = m.Save(b)
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
	of map[*Meter]savedUsage
}

// put notes what a client has used today.
func (p *Pool) put(m *Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[*Meter]savedUsage{}
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
