package light

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a lamp that runs, and the light it runs on.
type bench struct {
	*Lamp
	shape Shape
	fails trouble // of Set
	lacks trouble // of Open
	level atomic.Int64
	stop  func()

	mu sync.Mutex // guards what follows
	history
}

// history is what has happened.
type history struct {
	frames              []Frame
	opened, closed, ups int
	downs               []string
}

// note changes the history.
func (b *bench) note(change func(*history)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.history)
}

// so is the history so far.
func (b *bench) so() history {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history
	h.frames, h.downs = slices.Clone(h.frames), slices.Clone(h.downs)
	return h
}

// trouble is an error that comes and goes.
type trouble struct{ atomic.Pointer[error] }

func (x *trouble) set(err error) { x.Store(&err) }

func (x *trouble) now() error {
	if p := x.Load(); p != nil {
		return *p
	}
	return nil
}

func (b *bench) Shape() Shape   { return b.shape }
func (b *bench) String() string { return "bench" }
func (b *bench) Close() error   { b.note(func(h *history) { h.closed++ }); return nil }

func (b *bench) Set(f Frame) error {
	err := b.fails.now()
	if err == nil {
		b.note(func(h *history) { h.frames = append(h.frames, f) })
	}
	return err
}

// run starts a lamp in the bubble of the test.
func run(t *testing.T, shape Shape, change func(*bench, *Options)) *bench {
	t.Helper()
	b := &bench{shape: shape}
	o := Options{
		Open: func() (Driver, error) {
			b.note(func(h *history) { h.opened++ })
			if err := b.lacks.now(); err != nil {
				return nil, err
			}
			return b, nil
		},
		Settings: Settings{Brightness: 1},
		Level:    func() int { return int(b.level.Load()) },
		Up:       func(Driver) { b.note(func(h *history) { h.ups++ }) },
		Down:     func(err error) { b.note(func(h *history) { h.downs = append(h.downs, err.Error()) }) },
	}
	if change != nil {
		change(b, &o)
	}
	b.Lamp = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	synctest.Wait()
	return b
}

var ring = Shape{Pixels: 12, Colour: true, Dim: true}

func (b *bench) last() Frame { h := b.so(); return h.frames[len(h.frames)-1] }

// wakes is how often the goroutine woke up in d.
func (b *bench) wakes(d time.Duration) uint64 {
	synctest.Wait()
	before := b.rounds.Load()
	time.Sleep(d) // of the bubble's clock
	synctest.Wait()
	return b.rounds.Load() - before
}

func TestNothingWakesADarkLamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		if n := b.wakes(24 * time.Hour); n != 0 {
			t.Errorf("a lamp with nothing to show woke up %d times in a day; want none", n)
		}
		b.Tell(func(f *Facts) { f.Self = Red }) // nobody sees it
		b.Tell(func(f *Facts) { f.Self = Red }) // and this is no news
		if n := b.wakes(time.Hour); n > 1 {
			t.Errorf("it woke up %d times for two facts; want once", n)
		}
		if len(b.so().frames) != 1 || !b.last().Dark() {
			t.Errorf("shown %v; want one dark frame", b.so().frames)
		}
	})
}

func TestHowOftenALookWakes(t *testing.T) {
	for _, c := range []struct {
		facts  Facts
		atMost uint64 // in a minute
	}{
		{Facts{Doing: Recording, Captured: true}, 2}, // once for the clock
		{Facts{Muted: true}, 2},
		{Facts{Floor: White}, 2},
		{Facts{Doing: Thinking}, 60*30 + 2},
		{Facts{Doing: Answering}, 60*30 + 2},
		{Facts{Pairing: true}, 60*30 + 2},
		{Facts{Trouble: true}, 60/2*4 + 2},
		{Facts{Offline: true}, 60 / 4 * 27},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := run(t, ring, nil)
			defer b.stop()
			b.Tell(func(f *Facts) { *f = c.facts })
			if n := b.wakes(time.Minute); n > c.atMost {
				t.Errorf("%v woke up %d times in a minute; want at most %d", c.facts.Shown().Look, n, c.atMost)
			}
		})
	}
}

func TestAFactIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		for _, c := range []struct {
			change func(*Facts)
			want   Colour
		}{
			{func(f *Facts) { f.Doing = Recording }, Colour{}},
			{func(f *Facts) { f.Captured = true }, White},
			{func(f *Facts) { f.Doing = Nothing }, Colour{}},
			{func(f *Facts) { f.Muted = true }, Red},
		} {
			told := time.Now()
			b.Tell(c.change)
			synctest.Wait() // no time passes in the bubble: whatever a timer would bring comes later
			if got := b.last().LEDs[0]; got != c.want || time.Since(told) != 0 {
				t.Errorf("%v after %v; want %v at once", got, time.Since(told), c.want)
			}
		}
	})
}

func TestALookBeginsAtItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		time.Sleep(1300 * time.Millisecond)
		b.Tell(func(f *Facts) { f.Doing = Thinking })
		synctest.Wait()
		if got := b.last().LEDs[0]; got != (Colour{38, 38, 38}) {
			t.Errorf("the breath begins at %v; want at its lowest", got)
		}
	})
}

func TestAFailureBlinksTwiceAndIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		n := len(b.so().frames)
		b.Moment(Error)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		lit := 0
		for _, f := range b.so().frames[n:] {
			if !f.Dark() {
				lit++
			}
		}
		if lit != 2 || !b.last().Dark() {
			t.Errorf("%d blinks, then %v; want two, then dark", lit, b.last())
		}
		if n := b.wakes(time.Hour); n != 0 {
			t.Errorf("%d wake-ups after it; want none", n)
		}
	})
}

// Who cannot hear the cue sees for a second that a press brought no speech, or that what was said is left without an answer.
func TestAMomentIsShownForASecond(t *testing.T) {
	for _, shape := range []Shape{ring, {Pixels: 1}} {
		for _, look := range []Look{Empty, Noted} {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, shape, nil)
				defer b.stop()
				n := len(b.so().frames)
				b.Moment(look)
				time.Sleep(momentLength - time.Millisecond)
				synctest.Wait()
				if !slices.ContainsFunc(b.so().frames[n:], func(f Frame) bool { return !f.Dark() }) {
					t.Errorf("%v on %+v: it stays dark", look, shape)
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if n := b.wakes(time.Hour); n != 0 || !b.last().Dark() {
					t.Errorf("%v on %+v: after a second %v, and %d wake-ups; want dark, and none", look, shape, b.last(), n)
				}
			})
		}
	}
}

// What lasts is shown again at once when the failure of a turn has been shown.
func TestAfterAFailureComesWhatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, Shape{Pixels: 1, Colour: true}, nil) // it cannot dim: a pulse is on or off
		defer b.stop()
		b.Tell(func(f *Facts) { f.Offline = true })
		synctest.Wait()
		amber := b.last()
		if amber.Dark() || amber.LEDs[0] == Red {
			t.Fatalf("without a server it shows %v", amber)
		}
		b.Moment(Error)
		synctest.Wait()
		if b.last().LEDs[0] != Red {
			t.Errorf("a failed turn shows %v; want red", b.last())
		}
		time.Sleep(doubleBlink[0] + doubleBlink[1] + doubleBlink[2])
		synctest.Wait()
		if !b.last().Equal(amber) {
			t.Errorf("then it shows %v; want %v, at once", b.last(), amber)
		}
		// Seen late, because something stronger was shown first, it is over no later.
		b.Tell(func(f *Facts) { f.Doing = Answering })
		b.Moment(Error)
		time.Sleep(doubleBlink[0] + 20*time.Millisecond)
		b.Tell(func(f *Facts) { f.Doing = Nothing })
		time.Sleep(doubleBlink[1] + doubleBlink[2] - 20*time.Millisecond)
		synctest.Wait()
		if !b.last().Equal(amber) {
			t.Errorf("after a failure that was seen late it shows %v; want %v, at once", b.last(), amber)
		}
	})
}

func TestASampleComesBeforeTheFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		b.Tell(func(f *Facts) { f.Muted = true })
		b.Show(Listening, 3*time.Second)
		synctest.Wait()
		if got := b.last().LEDs[0]; got != White {
			t.Errorf("%v; want white", got)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := b.last().LEDs[0]; got != Red {
			t.Errorf("%v after the sample; want the facts again, red", got)
		}
	})
}

func TestSpeakingFollowsTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		defer b.stop()
		b.Tell(func(f *Facts) { f.Doing = Answering })
		b.level.Store(32767)
		time.Sleep(time.Second)
		synctest.Wait()
		loud := b.last().LEDs[0]
		b.level.Store(0)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		falling := b.last().LEDs[0]
		time.Sleep(2 * time.Second)
		synctest.Wait()
		soft := b.last().LEDs[0]
		if loud != White || falling.R >= loud.R || falling.R <= soft.R || soft.R < 51 || soft.R > 52 {
			t.Errorf("loud %v, then %v, then %v; want full, falling, and a fifth", loud, falling, soft)
		}
	})
}

func TestQuietHoursDimWhatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var shift atomic.Int64 // of the wall's clock against the process's
		b := run(t, ring, func(_ *bench, o *Options) {
			wall := time.Date(2026, 11, 21, 21, 58, 0, 0, time.UTC)
			o.Wall = func() time.Time { return wall.Add(time.Since(start) + time.Duration(shift.Load())) }
			o.Settings = Settings{Brightness: 1, Quiet: Hours{22 * time.Hour, 7 * time.Hour}, Dimmed: 0.2}
		})
		defer b.stop()
		b.Tell(func(f *Facts) { f.Muted = true })
		synctest.Wait()
		before := b.last().Brightness
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		after := b.last().Brightness
		shift.Store(int64(-2 * time.Hour)) // the clock is set
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		set := b.last().Brightness
		b.Adjust(Settings{Brightness: 0.5})
		synctest.Wait()
		if before != 255 || after != 51 || set != 255 || b.last().Brightness != 128 {
			t.Errorf("brightness %d, in quiet hours %d, the clock put back %d, set %d; want 255, 51, 255, 128",
				before, after, set, b.last().Brightness)
		}
	})
}

func TestALightThatIsLostComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lacks := errors.New("no such light")
		b := run(t, ring, func(b *bench, _ *Options) { b.lacks.set(lacks) })
		defer b.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if b.so().ups != 0 || len(b.so().downs) != 1 || b.so().opened < 50 || b.so().opened > 70 {
			t.Errorf("after ten minutes without it: up %d, told %v, tried %d times; want 0, once, about each ten seconds", b.so().ups, b.so().downs, b.so().opened)
		}
		b.Tell(func(f *Facts) { f.Muted = true })
		b.lacks.set(nil)
		time.Sleep(retryMost)
		synctest.Wait()
		if b.so().ups != 1 || b.last().LEDs[0] != Red {
			t.Fatalf("up %d, shown %v; want once, red: what was told meanwhile", b.so().ups, b.so().frames)
		}
		time.Sleep(time.Hour)
		b.fails.set(errors.New("unplugged"))
		b.lacks.set(lacks)
		b.Tell(func(f *Facts) { f.Muted = false })
		synctest.Wait()
		if b.so().closed != 1 || len(b.so().downs) != 2 || b.so().downs[1] != "unplugged" {
			t.Errorf("closed %d times, told %v; want once, and told why", b.so().closed, b.so().downs)
		}
		b.fails.set(nil)
		b.lacks.set(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if b.so().ups != 2 || !b.last().Dark() {
			t.Errorf("up %d times, shown %v; want twice, and dark within two seconds", b.so().ups, b.last())
		}
	})
}

// A light that opens and then does not work must neither be told of each time nor be tried at once for ever.
func TestALightThatOpensAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, func(b *bench, _ *Options) { b.fails.set(errors.New("i/o error")) })
		defer b.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if b.so().ups != 0 || len(b.so().downs) != 1 || b.so().opened > 70 || b.so().closed != b.so().opened {
			t.Errorf("up %d, told %v, opened %d, closed %d; want 0, once, at most 70, as often", b.so().ups, b.so().downs, b.so().opened, b.so().closed)
		}
	})
}

func TestTheEndIsDark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, nil)
		b.Tell(func(f *Facts) { f.Muted = true })
		synctest.Wait()
		b.stop()
		if b.so().closed != 1 {
			t.Errorf("closed %d times; want once", b.so().closed)
		}
		b.Tell(func(f *Facts) { f.Muted = false }) // nobody listens, nobody waits
		b.Show(Listening, time.Second)
	})
}

func TestNoLight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, ring, func(_ *bench, o *Options) { o.Open = nil })
		b.Tell(func(f *Facts) { f.Muted = true })
		b.stop()
	})
}
