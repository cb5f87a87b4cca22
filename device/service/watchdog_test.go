package service

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The decision, look by look: r is a token that is back, . is one that is not.
func TestWatchDecides(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience int
		back     string
		feed     string // f: fed, -: not
		stuck    int    // the look at which it is said; -1: never
		loose    int
	}{
		{"goes round", 2, ".rrrrr", "ffffff", -1, -1}, // nothing can be back at the first look
		{"late once", 2, "..rr.r", "ffffff", -1, -1},
		{"stuck", 2, ".r....", "fff---", 3, -1},
		{"stuck and loose", 2, "....rr", "ff--ff", 2, 4},
		{"patient with a card", 5, ".....r", "ffffff", -1, -1}, // back at its last look
		{"patient, not for ever", 5, "......", "fffff-", 5, -1},
	} {
		var w watch
		var feeds strings.Builder
		stuckAt, looseAt := -1, -1
		for i, b := range c.back {
			_, stuck, loose, feed := w.look([]int{c.patience}, []bool{b == 'r'})
			feeds.WriteByte(map[bool]byte{true: 'f', false: '-'}[feed])
			if len(stuck) > 0 {
				stuckAt = i
			}
			if len(loose) > 0 {
				looseAt = i
			}
		}
		if feeds.String() != c.feed || stuckAt != c.stuck || looseAt != c.loose {
			t.Errorf("%s: fed %s, stuck at %d, loose at %d; want %s, %d, %d", c.name, feeds.String(), stuckAt, looseAt, c.feed, c.stuck, c.loose)
		}
	}
}

// Whatever comes back and does not: it is fed exactly while no loop has been out for as many looks as its patience.
func TestWatchFeedsWhileAllGoRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "loops")
		patience := rapid.SliceOfN(rapid.IntRange(1, 6), n, n).Draw(t, "patience")
		var w watch
		out := make([]int, n)    // looks since it was asked
		asked := make([]bool, n) // never before the first look
		said := make([]bool, n)  // stuck
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			back := make([]bool, n)
			want := true
			for i := range back {
				back[i] = asked[i] && rapid.Bool().Draw(t, "back")
				if back[i] {
					out[i] = 0
				} else if asked[i] {
					out[i]++
				}
				asked[i] = true
				want = want && out[i] < patience[i]
			}
			_, stuck, loose, feed := w.look(patience, back)
			if feed != want {
				t.Fatalf("fed: %v, want %v (out for %v looks, patience %v)", feed, want, out, patience)
			}
			for _, i := range stuck {
				if said[i] {
					t.Fatalf("loop %d is said to be stuck twice", i)
				}
				said[i] = true
			}
			for _, i := range loose {
				if !said[i] {
					t.Fatalf("loop %d is loose and was not stuck", i)
				}
				said[i] = false
			}
		}
	})
}

// standing is a loop that a test stops and lets go.
type standing struct {
	stopped atomic.Bool
	token   atomic.Pointer[func()]
}

func (s *standing) call(f func()) bool { return s.token.CompareAndSwap(nil, &f) }

func (s *standing) run(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if f := s.token.Load(); f != nil && !s.stopped.Load() {
			s.token.Store(nil)
			(*f)()
		}
	}
}

// pass lets time pass, and everything that happens then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The driver in virtual time: a loop that stands still is named and stops the feed, and one that goes on gives it back.
func TestWatchdogNamesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		log := &lines{}
		var mu sync.Mutex
		good, bad := &standing{}, &standing{}
		go good.run(ctx)
		go bad.run(ctx)
		var fed []time.Duration
		start := time.Now()
		dog := newWatchdog(2500*time.Millisecond, []Loop{{"coordinator", good.call, 2}, {"playback", bad.call, 2}}, slog.New(slog.NewTextHandler(log, nil)), func() {
			mu.Lock()
			defer mu.Unlock()
			fed = append(fed, time.Since(start))
		})
		feeds := func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(fed)
		}
		done := make(chan struct{})
		go func() { dog.Run(ctx); close(done) }()

		time.Sleep(31 * time.Second) // at 30 s the feed and we would wake in any order
		if n := len(feeds()); n != 12 {
			t.Errorf("fed %d times in 30 s, want every 2.5 s", n)
		}
		bad.stopped.Store(true)
		pass(30 * time.Second)
		all := feeds()
		if last := all[len(all)-1]; last > 35*time.Second {
			t.Errorf("fed at %s, though it stands still since 30 s", last)
		}
		if s := log.String(); strings.Count(s, "watchdog.stuck") != 1 || !strings.Contains(s, "loop=playback") || strings.Contains(s, "coordinator") {
			t.Errorf("the log says:\n%s", s)
		}
		n := len(all)
		bad.stopped.Store(false)
		pass(10 * time.Second)
		if again := len(feeds()); again < n+3 || !strings.Contains(log.String(), "watchdog.loose") {
			t.Errorf("it goes round again, and is fed %d times in 10 s; the log says:\n%s", again-n, log.String())
		}
		cancel()
		<-done
		synctest.Wait()
	})
}

// A process that was stopped finds its looks late, not its loops: two looks are never closer than the interval, so that
// every loop has had the whole of it.
func TestWatchdogForgivesAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var looks []time.Time
		slow := true
		l := Loop{"coordinator", func(f func()) bool {
			looks = append(looks, time.Now())
			if slow { // as if the process had been stopped in the middle of the look
				slow = false
				time.Sleep(24 * time.Hour)
			}
			time.AfterFunc(time.Second, f)
			return true
		}, 2}
		fed := 0
		var log bytes.Buffer
		dog := newWatchdog(2500*time.Millisecond, []Loop{l}, slog.New(slog.NewTextHandler(&log, nil)), func() { fed++ })
		done := make(chan struct{})
		go func() { dog.Run(ctx); close(done) }()
		pass(25 * time.Hour)
		cancel()
		<-done
		if log.Len() > 0 || fed < 1000 {
			t.Errorf("fed %d times; the log says:\n%s", fed, log.String())
		}
		for i := range looks[1:] {
			if d := looks[i+1].Sub(looks[i]); d < 2500*time.Millisecond {
				t.Fatalf("looks %d and %d are %s apart", i, i+1, d)
			}
		}
	})
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
