package audio_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// diary notes what happened and when, as seen by a keeper and its card.
type diary struct {
	began time.Time
	lines []string
}

func (d *diary) note(format string, a ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.began).Round(time.Millisecond))+fmt.Sprintf(format, a...))
}

// scripted is a stream whose callbacks run until it dies.
type scripted struct {
	audio.Stream
	granted audio.Granted
	n       atomic.Uint64
	xruns   atomic.Uint64
	rests   bool
	looks   atomic.Int64
	stop    chan struct{}
	closed  func()
}

func (s *scripted) Granted() audio.Granted { return s.granted }
func (s *scripted) Stats() audio.StreamStats {
	s.looks.Add(1)
	return audio.StreamStats{Callbacks: s.n.Load(), Xruns: s.xruns.Load(), Resting: s.rests}
}
func (s *scripted) Close() error { s.closed(); return nil }

// run makes callbacks every period for as long as alive, from delay on; a little beside the keeper's looks, since what happens
// at the same instant has no order.
func (s *scripted) run(ctx context.Context, delay, alive time.Duration) {
	defer close(s.stop)
	select {
	case <-time.After(delay + time.Millisecond):
	case <-ctx.Done():
		return
	}
	end := time.After(alive - 3*time.Millisecond)
	tick := time.NewTicker(time.Duration(s.granted.Period) * time.Second / time.Duration(s.granted.Rate))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.n.Add(1)
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// step is what one attempt to open leads to.
type step struct {
	err          error
	delay, alive time.Duration // of the callbacks
	period       int           // frames at 48 kHz
	periods      int
	backend      string
	rests        bool
}

// keep runs a keeper over steps in a bubble for length and returns the diary.
func keep(t *testing.T, length time.Duration, better func(audio.Granted) bool, steps ...step) []string {
	var d diary
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d = diary{began: time.Now()}
		next := 0
		k := audio.NewKeeper(audio.KeeperConfig{
			Name:   "speaker",
			Stream: audio.StreamConfig{Device: "alsa:CARD=x"},
			Better: better,
			Open: func(c audio.StreamConfig) (audio.Stream, error) {
				if c.Device != "alsa:CARD=x" {
					t.Errorf("asked for %q; want the device configured and no other", c.Device)
				}
				st := steps[min(next, len(steps)-1)]
				next++
				if st.err != nil {
					d.note("open: %v", st.err)
					return nil, st.err
				}
				d.note("open")
				if st.period == 0 {
					st.period = 240
				}
				s := &scripted{rests: st.rests, granted: audio.Granted{Backend: st.backend, Device: "x", Rate: 48000, Period: st.period, Periods: cmp.Or(st.periods, 3)},
					stop: make(chan struct{}), closed: func() { d.note("close") }}
				go s.run(ctx, st.delay, st.alive)
				return s, nil
			},
			Up:   func(g audio.Granted) { d.note("up %s", g.Backend) },
			Down: func(err error) { d.note("down: %v", err) },
		})
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		time.Sleep(length)
		synctest.Wait()
		if _, ok := k.Granted(); ok != (strings.Contains(d.lines[len(d.lines)-1], "up")) {
			t.Errorf("Granted says running = %v after %q", ok, d.lines)
		}
		cancel()
		<-ended // and the bubble panics if anything is left behind
	})
	return d.lines
}

const forever = 1000 * time.Hour

var errBusy = errors.New("device busy")

func TestKeeper(t *testing.T) {
	dead := `down: audio: speaker "x": ` + audio.ErrNoCallbacks.Error()
	for _, row := range []struct {
		name   string
		length time.Duration
		better func(audio.Granted) bool
		steps  []step
		want   []string
	}{
		{"a healthy device is left alone", time.Hour, nil, []step{{alive: forever}},
			[]string{"0s open", "50ms up ", "1h0m0s close"}},
		{"a device that dies is closed within 250 ms and opened again 100 ms later", 2 * time.Second, nil,
			[]step{{alive: time.Second}, {alive: forever}},
			[]string{"0s open", "50ms up ", "1.25s close", "1.25s " + dead, "1.35s open", "1.4s up ", "2s close"}},
		{"long periods are given ten of them", 2500 * time.Millisecond, nil,
			[]step{{alive: time.Second, period: 4800}, {alive: forever, period: 4800}},
			[]string{"0s open", "250ms up ", "2.25s close", "2.25s " + dead, "2.35s open", "2.5s close"}},
		{"a device that holds much is given as long as that", 4 * time.Second, nil,
			[]step{{alive: 800 * time.Millisecond, periods: 120}, {alive: forever}},
			[]string{"0s open", "150ms up ", "1.65s close", "1.65s " + dead, "1.75s open", "1.8s up ", "4s close"}},
		{"retries back off to five seconds, and Down is told once", 20 * time.Second, nil,
			[]step{{err: errBusy}},
			[]string{"0s open: device busy", "0s down: device busy", "100ms open: device busy", "300ms open: device busy", "700ms open: device busy", "1.5s open: device busy",
				"3.1s open: device busy", "6.3s open: device busy", "11.3s open: device busy", "16.3s open: device busy"}},
		{"a device that opens and never asks for sound is not up", 4 * time.Second, nil,
			[]step{{delay: forever}, {alive: forever}},
			[]string{"0s open", "3.05s close", "3.05s " + dead, "3.15s open", "3.2s up ", "4s close"}},
		{"a sink that wakes up slowly is waited for", 4 * time.Second, nil,
			[]step{{delay: 2 * time.Second, alive: forever}},
			[]string{"0s open", "2.05s up ", "4s close"}},
		{"a device that rests is looked at every two seconds, and given up as soon as it is found dead", 14 * time.Second, nil,
			[]step{{alive: 10 * time.Second, rests: true}, {alive: forever}},
			[]string{"0s open", "50ms up ", "12.25s close", "12.25s " + dead, "12.35s open", "12.4s up ", "14s close"}},
		{"something better than null is taken", 6 * time.Second, func(g audio.Granted) bool { return g.Backend == "null" },
			[]step{{alive: forever, backend: "null"}, {alive: forever, backend: "alsa"}},
			[]string{"0s open", "50ms up null", "5s close", "5s open", "5.05s up alsa", "6s close"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := keep(t, row.length, row.better, row.steps...)
			if !slices.Equal(got, row.want) {
				t.Errorf("the diary says\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(row.want, "\n\t"))
			}
		})
	}
}

// Looking is most of what an idle device does.
func TestKeeperLeavesARestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &scripted{rests: true, granted: audio.Granted{Rate: 48000, Period: 240, Periods: 3}, stop: make(chan struct{}), closed: func() {}}
		k := audio.NewKeeper(audio.KeeperConfig{Open: func(audio.StreamConfig) (audio.Stream, error) { return s, nil }})
		go s.run(ctx, 0, forever)
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		time.Sleep(time.Minute)
		cancel()
		<-ended
		if n := s.looks.Load(); n > 35 {
			t.Errorf("looked at %d times in a minute; want every two seconds", n)
		}
	})
}

// A frozen process (a debugger, a suspended laptop) wakes to timers that are long due. The card is not to blame.
func TestKeeperForgivesItsOwnFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &scripted{granted: audio.Granted{Rate: 48000, Period: 240, Periods: 3}, stop: make(chan struct{}), closed: func() {}}
		frozen := make(chan time.Duration, 1)
		k := audio.NewKeeper(audio.KeeperConfig{
			Open: func(audio.StreamConfig) (audio.Stream, error) { return s, nil },
			Up: func(audio.Granted) { // the keeper's goroutine stands still, and the callbacks with it
				time.Sleep(<-frozen)
				go s.run(ctx, 0, forever)
			},
			Down: func(err error) {
				if ctx.Err() == nil {
					t.Errorf("down: %v", err)
				}
			},
		})
		s.n.Store(1) // the first callback has been
		frozen <- time.Minute
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		cancel()
		<-ended
	})
}

// The same with the twin: unplugged and plugged in again, sound comes back by itself.
func TestKeeperOnTheTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		card := twin.NewCard(twin.WallClock())
		began := time.Now()
		var events []string
		k := audio.NewKeeper(audio.KeeperConfig{
			Name: "speaker",
			Open: func(c audio.StreamConfig) (audio.Stream, error) {
				return card.OpenPlayback(c, func(out []int16) {
					for i := range out {
						out[i] = 1000
					}
				})
			},
			Up:   func(audio.Granted) { events = append(events, "up") },
			Down: func(error) { events = append(events, "down") },
		})
		ended := make(chan struct{}, 2)
		go func() { k.Run(ctx); ended <- struct{}{} }()
		go func() { _ = card.Run(ctx, 1); ended <- struct{}{} }()
		time.Sleep(time.Second)
		card.Unplug()
		time.Sleep(30 * time.Second)
		card.Replug()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if want := []string{"up", "down", "up"}; !slices.Equal(events, want) {
			t.Errorf("events %q; want %q", events, want)
		}
		if last := card.LastAudible(0); time.Since(began)-last > 100*time.Millisecond {
			t.Errorf("the last sound was at %v of %v; want it to go on", last, time.Since(began))
		}
		cancel()
		<-ended
		<-ended
	})
}

// Xruns are counted over all devices that were open, and told once a minute at most, none forgotten.
func TestKeeperTellsXruns(t *testing.T) {
	var log strings.Builder
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var now *scripted
		alive := 12 * time.Second
		k := audio.NewKeeper(audio.KeeperConfig{
			Name: "speaker", Log: slog.New(slog.NewTextHandler(&log, nil)),
			Open: func(audio.StreamConfig) (audio.Stream, error) {
				now = &scripted{granted: audio.Granted{Device: "x", Rate: 48000, Period: 240, Periods: 3},
					stop: make(chan struct{}), closed: func() {}}
				go now.run(ctx, 0, alive)
				alive = forever
				return now, nil
			},
		})
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		xruns := func(n uint64) {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			now.xruns.Add(n)
		}
		xruns(1) // told
		xruns(2) // kept until the minute is over; then the device dies, and another one comes
		xruns(4)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n, h := k.Xruns(), k.XrunsLastHour(); n != 7 || h != 7 {
			t.Errorf("%d xruns, %d in the last hour; want 7", n, h)
		}
		cancel()
		<-ended
	})
	var told []string
	for line := range strings.Lines(log.String()) {
		if _, x, ok := strings.Cut(line, "msg="+audio.EventXrun); ok {
			told = append(told, x)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "times=1 ") || !strings.Contains(told[1], "times=6 since_start=7") {
		t.Errorf("told %q; want 1, then 6", told)
	}
}
