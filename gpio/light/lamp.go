package light

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a Lamp is made of.
type Options struct {
	Open     func() (Driver, error) // asked again until it succeeds; nil: no light
	Settings Settings
	Level    func() int       // peak of what sounds now, 0..32767; nil: none
	Wall     func() time.Time // local time; nil: time.Now
	Up       func(Driver)     // the light works; on Run's goroutine
	Down     func(error)      // it does not, for the first time or for another reason; it is tried again
}

// Lamp shows facts on a light that may come and go. Its methods never wait: the newest fact wins, and what was told in
// between is not shown.
type Lamp struct {
	// fixed after New
	o    Options
	wake chan struct{}

	rounds atomic.Uint64 // of Run's loop: how often it woke up

	mu       sync.Mutex // guards what follows
	facts    Facts
	settings Settings
	moment   time.Time // until then facts.Moment is shown
	sample   Scene     // shown in place of the facts until
	until    time.Time
}

// New makes a lamp. It does nothing until Run.
func New(o Options) *Lamp {
	if o.Level == nil {
		o.Level = func() int { return 0 }
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Up == nil {
		o.Up = func(Driver) {}
	}
	if o.Down == nil {
		o.Down = func(error) {}
	}
	return &Lamp{o: o, settings: o.Settings, wake: make(chan struct{}, 1)}
}

// Tell changes the facts.
func (l *Lamp) Tell(change func(*Facts)) {
	l.mu.Lock()
	before := l.facts
	change(&l.facts)
	same := l.facts == before
	l.mu.Unlock()
	if !same {
		l.poke()
	}
}

// Moment shows what has just happened: Empty and Noted for a second, the double blink of Error once.
func (l *Lamp) Moment(look Look) {
	lasts := momentLength
	if look == Error {
		lasts = doubleBlink[0] + doubleBlink[1] + doubleBlink[2]
	}
	l.mu.Lock()
	l.facts.Moment, l.moment = look, time.Now().Add(lasts)
	l.mu.Unlock()
	l.poke()
}

// Show shows a look for a while, whatever the facts are: for whoever looks after the wires.
func (l *Lamp) Show(look Look, d time.Duration) {
	l.mu.Lock()
	l.sample, l.until = Sample(look), time.Now().Add(d)
	l.mu.Unlock()
	l.poke()
}

// Adjust changes how bright it is.
func (l *Lamp) Adjust(s Settings) {
	l.mu.Lock()
	l.settings = s
	l.mu.Unlock()
	l.poke()
}

func (l *Lamp) poke() {
	select {
	case l.wake <- struct{}{}:
	default: // it looks at the newest in any case
	}
}

// Our choices.
const (
	retryFirst = time.Second
	retryMost  = 10 * time.Second
	wallTick   = time.Minute // a light that stands still looks at the clock so often: the quiet hours begin
	decay      = 0.8         // of the level from one frame to the next: lights that follow each sample flicker
)

// player is what Run keeps from one round to the next.
type player struct {
	driver Driver
	opened time.Time
	up     bool  // it has shown something
	last   Frame // without LEDs: not known
	scene  Scene
	began  time.Time
	level  float64
	retry  time.Duration
	next   time.Time // when to open again
	said   string    // the trouble that was told
}

// Run shows until ctx ends; then it leaves the light dark.
func (l *Lamp) Run(ctx context.Context) error {
	if l.o.Open == nil {
		<-ctx.Done()
		return nil
	}
	p := &player{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if p.driver != nil {
				_ = p.driver.Close() // nobody is left to be told
			}
			return nil
		case <-l.wake:
		case <-timer.C:
		}
		l.rounds.Add(1)
		timer.Stop()
		if wait := l.round(p); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// round opens the light if there is need, shows what there is to show, and says when to come again; zero: when told.
func (l *Lamp) round(p *player) time.Duration {
	now := time.Now()
	if p.driver == nil {
		if wait := p.next.Sub(now); wait > 0 {
			return wait
		}
		d, err := l.o.Open()
		if err != nil {
			return l.lost(p, now, err)
		}
		p.driver, p.last, p.opened = d, Frame{}, now
	}
	scene, brightness, wait := l.now(now)
	if scene != p.scene {
		if scene.Look != p.scene.Look {
			p.began = now
		}
		p.scene = scene
	}
	if scene.Look == Speaking {
		p.level = max(Loudness(l.o.Level()), decay*p.level)
	} else {
		p.level = 0
	}
	frame, stays := scene.Frame(p.driver.Shape(), now.Sub(p.began), p.level, brightness)
	if p.last.LEDs == nil || !frame.Equal(p.last) {
		if err := p.driver.Set(frame); err != nil {
			_ = p.driver.Close() // it has failed already
			return l.lost(p, now, err)
		}
		p.last = frame
	}
	if !p.up {
		p.up, p.said = true, ""
		l.o.Up(p.driver)
	}
	if brightness == 0 || stays == 0 && !frame.Dark() {
		stays = wallTick
	}
	return sooner(stays, wait)
}

// now is what to show, and when that may change by itself; zero: not.
func (l *Lamp) now(now time.Time) (s Scene, brightness float64, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	brightness = l.settings.at(l.o.Wall())
	if d := l.until.Sub(now); d > 0 {
		return l.sample, brightness, d
	}
	f := l.facts
	if wait = l.moment.Sub(now); wait <= 0 {
		f.Moment, wait = Off, 0
	}
	return f.Shown(), brightness, wait
}

// lost tells of a light that does not work, once for each reason, and says when to try again.
func (l *Lamp) lost(p *player, now time.Time, err error) time.Duration {
	if p.up && now.Sub(p.opened) >= retryMost {
		p.retry = 0 // it has worked for a while
	}
	p.driver, p.up = nil, false
	p.retry = min(max(retryFirst, 2*p.retry), retryMost)
	p.next = now.Add(p.retry)
	if err.Error() != p.said {
		p.said = err.Error()
		l.o.Down(err)
	}
	return p.retry
}

// sooner is the shorter of two waits; zero is for ever.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
