package device

import (
	"context"
	"sync/atomic"
	"time"

	"conch/device/config"
	"conch/device/lights"
	"conch/device/state"
	"conch/gpio/light"
)

// The hours in which people sleep (device.quiet): the loudspeaker is softer, the light dimmer, and nothing is said of what is wrong. What a
// person has set sounds, at the volume of the night.

// hoursTick is how often the clock of the wall is looked at, which may jump. Our choice.
const hoursTick = 20 * time.Second

// usualNight are the hours in which nothing is said of what is wrong where device.quiet is empty.
var usualNight = light.Hours{From: 22 * time.Hour, To: 7 * time.Hour}

// quietHours has the volume of the night while it is one.
type quietHours struct {
	now     atomic.Pointer[hours]
	changed chan struct{}
	held    *hours // the night that is in force; nil: none. Owned by run
}

type hours struct {
	light.Hours
	given        bool // device.quiet is not empty: 00:00-00:00 is never
	volume, cues int  // percent: at most in the night; of cues by day
}

func (q *quietHours) set(c *config.Config) {
	q.now.Store(&hours{lights.Hours(c), c.Device.Quiet != "", c.Audio.NightVolume, c.Audio.CueVolume})
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// night says whether people sleep.
func (d *Device) night() bool {
	h := d.hours.now.Load()
	if !h.given {
		return usualNight.Contain(d.wall()())
	}
	return h.Contain(d.wall()())
}

// dimmable is the loudspeaker as the hours have it.
type dimmable interface {
	SetVolume(percent int)
	SetCueVolume(percent int)
}

// run looks at the clock until ctx ends.
func (q *quietHours) run(ctx context.Context, wall func() time.Time, m *state.Memory, s dimmable) error {
	tick := time.NewTicker(hoursTick)
	defer tick.Stop()
	for {
		q.look(wall(), m, s)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-q.changed:
		}
	}
}

// look makes the loudspeaker softer as the night begins, and as it was when it ends.
func (q *quietHours) look(at time.Time, m *state.Memory, s dimmable) {
	h := q.now.Load()
	cues, night := h.cues, h.Contain(at)
	if night {
		cues = min(cues, h.volume)
	}
	s.SetCueVolume(cues)
	switch {
	case night && (q.held == nil || q.held.volume != h.volume):
		q.held = h
		m.Night(h.volume)
	case !night && q.held != nil:
		q.held = nil
		m.Day()
	default:
		return
	}
	s.SetVolume(m.Volume())
}
