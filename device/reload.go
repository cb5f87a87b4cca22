package device

import (
	"context"
	"time"

	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/join"
	"conch/device/wait"
)

// mendedPatience is for a gap to begin anew in. Our choice: longer than any turn and any pairing.
const mendedPatience = 10 * time.Minute

// beginMended waits for a gap and ends the device, so that it begins anew.
func (r reloads) beginMended(ctx context.Context) error {
	d := r.d
	c, cancel := context.WithTimeout(ctx, mendedPatience)
	defer cancel()
	_ = wait.Until(c, func() bool { return d.Quiet() && d.pairing.Now().Over() })
	if ctx.Err() != nil {
		return nil // it ends anyway
	}
	return join.ErrRestart
}

// reloads is the device as its reloader sees it.
type reloads struct{ d *Device }

func (r reloads) Reloading() (over func()) { return r.d.manager.Reloading() }

// Take puts one key into force, if that needs no restart.
func (r reloads) Take(key string, next, running *config.Config) bool {
	d := r.d
	switch key {
	case "audio.volume": // also kept, as when it is said: the latest wish counts
		running.Audio.Volume = next.Audio.Volume
		d.memory.ConfigureVolume(next)
		d.speaker.SetVolume(d.memory.Volume())
	case "audio.cue_volume":
		running.Audio.CueVolume = next.Audio.CueVolume
		d.hours.set(running)
	case "light.brightness", "light.quiet_brightness", "device.quiet", "audio.night_volume":
		running.Light.Brightness, running.Light.QuietBrightness = next.Light.Brightness, next.Light.QuietBrightness
		running.Device.Quiet, running.Audio.NightVolume = next.Device.Quiet, next.Audio.NightVolume
		d.lights.Adjust(running)
		d.hours.set(running)
	case "voice.remember": // whoever wants it deleted does not want to wait; to be kept again it waits for a restart
		if next.Voice.Remember || next.TalkStays {
			return false
		}
		running.Voice.Remember = false
		d.room.Forget()
		d.again.Forget()
		d.coordinator.Post(turn.LetGo{At: d.now()})
	case "log.level": // the reload itself turns it
		running.Log.Level = next.Log.Level
	case "voice.key": // the client asks liveKey before each session
		if next.KeyFrom == "" || next.KeyFrom != running.KeyFrom {
			return false
		}
		running.Voice.Key = next.Voice.Key
	default:
		return false
	}
	return true
}
