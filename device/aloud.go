package device

import (
	"context"
	"errors"
	"time"

	clips "conch/audio/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/world"
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

// aloud is the goroutine that says what is wrong.
func (d *Device) aloud(ctx context.Context) error {
	var c condition.Announcer
	tick := time.NewTimer(aloudTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.conds.Begun():
		}
		var held []condition.Code
		for _, cond := range d.conds.List() {
			held = append(held, cond.Code)
		}
		if len(held) == 0 { // nothing to look at until something begins
			c.Look(d.now(), nil, false)
			tick.Stop()
			continue
		}
		tick.Reset(aloudTick)
		clip, code := c.Look(d.now(), held, d.canSpeak() && !night(time.Now(), d.lights.Quiet()))
		if clip == "" {
			continue
		}
		select {
		case how := <-d.coordinator.InjectLocal(d.clipOf(code, clip), "condition."+string(code), aloudTTL):
			ok := how == coordinator.OutcomeDelivered || how == coordinator.OutcomeInterrupted
			d.log.Info(logAloud, "clip", clip, "code", code, "outcome", how.String())
			c.Said(d.now(), clip, code, ok)
		case <-ctx.Done():
			return nil
		}
	}
}

// clipOf is the clip of a condition, if that holds when its time has come; it needs nothing installed.
func (d *Device) clipOf(code condition.Code, clip string) coordinator.Sound {
	return func(context.Context) ([]int16, error) {
		if !d.conds.Holds(code) {
			return nil, errMended
		}
		return clips.Samples(clip)
	}
}

// canSpeak says that there is a loudspeaker and that the device is ready.
func (d *Device) canSpeak() bool {
	return d.sound.Sounds() && d.Ready()
}

// night says whether people sleep; quiet is light.quiet.
func night(wall time.Time, quiet string) bool {
	if wall.Before(world.ClockFloor) {
		return false
	}
	from, to := 22*time.Hour, 7*time.Hour
	if a, b, err := config.ParseHours(quiet); quiet != "" && err == nil {
		from, to = a, b
	}
	at := time.Duration(wall.Hour())*time.Hour + time.Duration(wall.Minute())*time.Minute
	if from <= to {
		return at >= from && at < to
	}
	return at >= from || at < to
}

// plainer are the words for a turn that failed: where the cause is known better than the turn knows it, that.
func (d *Device) plainer(w turn.Words) string {
	if w != turn.WordsOffline {
		return string(w)
	}
	for _, better := range []condition.Code{condition.KeyBroken, condition.ClockWrong, condition.NetworkLost} {
		if d.conds.Holds(better) {
			return better.Clip()
		}
	}
	return string(w)
}
