package device

import (
	"context"
	"errors"
	"log/slog"
	"time"

	clips "conch/audio/words"
	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/device/condition"
	"conch/device/language"
)

// What is wrong is said aloud, as package condition decides; here is its goroutine.

const (
	aloudTick = time.Second
	aloudTTL  = 5 * time.Minute // what cannot be said by then waits for another look
)

// errMended ends a sentence that has waited for its gap until nothing was wrong any more.
var errMended = errors.New("what it was to say is no longer so")

// logAloud: what was said, and of which condition.
const logAloud = "aloud.said"

// announcer says what is wrong. Its fields are fixed.
type announcer struct {
	say      func(sound coordinator.Sound, key string, ttl time.Duration) <-chan inject.Outcome // coordinator.InjectLocal
	can      func() bool                                                                        // there is a loudspeaker, and the device is ready
	night    func() bool                                                                        // people sleep
	conds    *condition.Book
	language language.Language
	log      *slog.Logger
	now      func() time.Duration
}

// run is the goroutine.
func (a announcer) run(ctx context.Context) error {
	var c condition.Announcer
	tick := time.NewTimer(aloudTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-a.conds.Begun():
		}
		var held []condition.Code
		for _, cond := range a.conds.List() {
			held = append(held, cond.Code)
		}
		if len(held) == 0 { // nothing to look at until something begins
			c.Look(a.now(), nil, false)
			tick.Stop()
			continue
		}
		tick.Reset(aloudTick)
		clip, code := c.Look(a.now(), held, a.can() && !a.night())
		if clip == "" {
			continue
		}
		select {
		case how := <-a.say(a.clipOf(code), "condition."+string(code), aloudTTL):
			ok := how == inject.Delivered || how == inject.Interrupted
			a.log.Info(logAloud, "clip", clip, "code", code, "outcome", how.String())
			c.Said(a.now(), clip, code, ok)
		case <-ctx.Done():
			return nil
		}
	}
}

// clipOf is the clip of a condition, if that holds when its time has come; it needs nothing installed.
func (a announcer) clipOf(code condition.Code) coordinator.Sound {
	return func(context.Context) ([]int16, error) {
		clip, held := a.conds.ClipOf(code)
		if !held {
			return nil, errMended
		}
		return clips.Samples(a.language, clip)
	}
}

// announcer is that of this device.
func (d *Device) announcer() announcer {
	can := func() bool { return d.sound.Sounds() && d.Ready() }
	return announcer{say: d.coordinator.InjectLocal, can: can, night: d.night, conds: d.conds, language: d.cfg.Device.Language, log: d.log, now: d.now}
}
