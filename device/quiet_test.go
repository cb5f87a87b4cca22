package device

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/state"
)

// wallAt reads a time as clocks on the wall show it.
func wallAt(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNightIsTenToSevenOrAsTheDeviceHasIt(t *testing.T) {
	var clock atomic.Pointer[time.Time]
	d := &Device{opts: Options{Clock: func() time.Time { return *clock.Load() }}}
	night := func(at, hours string) bool {
		now := wallAt(t, at)
		clock.Store(&now)
		c := config.Default()
		c.Device.Quiet = hours
		d.hours.set(&c)
		return d.night()
	}
	for s, want := range map[string]bool{
		"2026-11-21 21:59": false, "2026-11-21 22:00": true, "2026-11-22 00:00": true, "2026-11-22 06:59": true, "2026-11-22 07:00": false,
		"1970-01-01 03:00": false, // whatever the clock says, it is not known
	} {
		if got := night(s, ""); got != want {
			t.Errorf("%s: night: %v", s, got)
		}
	}
	const siesta = "13:00-15:00"
	if !night("2026-11-21 14:00", siesta) || night("2026-11-21 23:00", siesta) {
		t.Error("device.quiet is not heeded")
	}
	if night("2026-11-21 23:00", "00:00-00:00") || night("2026-11-21 00:00", "00:00-00:00") {
		t.Error("hours without length are a night")
	}
}

// loud is a loudspeaker that remembers how loud it is.
type loud struct{ volume, cues atomic.Int64 }

func (l *loud) SetVolume(p int)    { l.volume.Store(int64(p)) }
func (l *loud) SetCueVolume(p int) { l.cues.Store(int64(p)) }

// As the quiet hours begin everything is softer; what is asked for in them holds until they end, and is not kept.
func TestTheNightIsSofter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config.Default()
		c.State.Dir, c.Device.Quiet, c.Audio.Volume, c.Audio.NightVolume, c.Audio.CueVolume = "", "22:00-07:00", 70, 30, 60
		m, _ := state.Remember(&c, condition.NewBook(nil))
		var s loud
		q := quietHours{changed: make(chan struct{}, 1)}
		q.set(&c)
		began, start := time.Now(), wallAt(t, "2026-11-21 21:59")
		var jump atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = q.run(ctx, func() time.Time { return start.Add(time.Since(began) + time.Duration(jump.Load())) }, m, &s)
		}()
		s.SetVolume(m.Volume())
		is := func(what string, volume, cues int) {
			t.Helper()
			synctest.Wait()
			if int(s.volume.Load()) != volume || int(s.cues.Load()) != cues || m.Volume() != volume {
				t.Errorf("%s: volume %d, cues %d, told as %d; want %d and %d", what, s.volume.Load(), s.cues.Load(), m.Volume(), volume, cues)
			}
		}
		is("the evening", 70, 60)
		time.Sleep(2 * time.Minute)
		is("the night", 30, 30)
		_, _ = m.ChangeVolume(func(now int) (int, error) { return now + 20, nil }, s.SetVolume)
		is("louder, please", 50, 30)
		if got := m.VolumeFrom(); got != "asked for, until the end of the quiet hours" {
			t.Errorf("the volume is from %q", got)
		}
		c.Audio.NightVolume = 20
		q.set(&c)
		is("another volume of the night", 20, 20)
		jump.Store(int64(10 * time.Hour)) // somebody sets the clock
		time.Sleep(time.Minute)
		is("the morning", 70, 60)
		c.Audio.CueVolume = 10
		q.set(&c)
		is("softer cues", 70, 10)
		c.Device.Quiet = ""
		q.set(&c)
		jump.Store(int64(25 * time.Hour))
		time.Sleep(time.Minute)
		is("a night without quiet hours", 70, 10)
	})
}
