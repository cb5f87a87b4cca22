package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/wait"
)

// A configuration is read again on SIGHUP, as service managers send it for a reload (APPLIANCE.md 4). What can change while
// the device runs changes at once; the rest is named and waits for a restart. A configuration that is refused changes
// nothing, but for a condition that says so.
//
// Whoever mends a file need not know how a service is told: while that condition holds, the file is looked at again, and taken
// once nothing is wrong with it; by a reload, or where the device was started with a refused one, by beginning anew.

// Log events of a reload.
const (
	logConfigReloaded = "config.reloaded" // applied: keys now in force; restart: keys that differ and are not (then a warning)
	logConfigRefused  = "config.refused"  // one line per problem; all stays as it was
	logConfigWarning  = "config.warning"  // accepted, and yet something to tell
)

const (
	mendedTick     = 5 * time.Second  // a look is one small file
	mendedPatience = 10 * time.Minute // for a gap to begin anew in; our choice: longer than any turn and any pairing
)

// Reload is what it takes to read the configuration again; without a Load, SIGHUP keeps its usual meaning.
type Reload struct {
	Load  func() (*config.Config, error) // as at the start: the same file, environment and flags
	Level *slog.LevelVar                 // the log's
}

// listen takes SIGHUP from now on, so that none that comes during the start ends the program. At a terminal the signal says
// that the terminal is gone, which is the end; gpio's keyboard then sees to the terminal's modes.
func (r Reload) listen(in *os.File) (hangups <-chan os.Signal, stop func()) {
	if r.Load == nil || term.IsTerminal(int(in.Fd())) {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1) // one that waits is enough: a reload takes the newest file
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloader is the goroutine that reloads; it ends with ctx.
func (d *Device) reloader(r Reload, hangups <-chan os.Signal) actor {
	running := d.cfg // what is in force; d.cfg itself is fixed
	return actor{"reload", func(ctx context.Context) error {
		tick := time.NewTicker(mendedTick)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-hangups:
				d.reload(r, &running)
			case <-tick.C:
				if !d.conds.Holds(condition.ConfigRefused) {
					continue
				}
				if _, err := r.Load(); err != nil {
					continue
				}
				if len(d.cfg.Problems) == 0 {
					d.reload(r, &running)
					continue
				}
				d.log.Info(logConfigMended)
				return d.beginMended(ctx)
			}
		}
	}}
}

// logConfigMended: what the device was started without can be read now.
const logConfigMended = "config.mended"

// beginMended waits for a gap and ends the device, so that it begins anew.
func (d *Device) beginMended(ctx context.Context) error {
	c, cancel := context.WithTimeout(ctx, mendedPatience)
	defer cancel()
	_ = wait.Until(c, func() bool { return d.Quiet() && d.pairing.Now().Over() })
	if ctx.Err() != nil {
		return nil // it ends anyway
	}
	return ErrRestart
}

// doWithout tells of what is refused in the configuration that the device was started with.
func (d *Device) doWithout(cfg config.Config) {
	if len(cfg.Problems) == 0 {
		return
	}
	for _, p := range cfg.Problems {
		d.log.Error(logConfigRefused, "err", p, "do", "mend it; until then "+cfg.Meanwhile())
	}
	d.conds.Set(condition.ConfigRefused, problemsText(cfg.Problems)+". Until that is mended, "+cfg.Meanwhile(), mendIt)
}

// mendIt is what to do about a configuration that is refused.
const mendIt = "mend it (conch check names every mistake); a file that is mended is taken by itself, anything else after a restart"

// problemsText names the first few.
func problemsText(problems []string) string {
	const most = 3
	var all []string
	for i, p := range problems {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		all = append(all, strings.TrimPrefix(p, "config: "))
	}
	return "the configuration is refused: " + strings.Join(all, "; ")
}

// reload brings running as near to the configuration as a running device can come.
func (d *Device) reload(r Reload, running *config.Config) {
	defer d.manager.Reloading()()
	next, err := r.Load()
	if err != nil {
		problems := []string{err.Error()}
		if all := (*config.Error)(nil); errors.As(err, &all) {
			problems = all.Problems
		}
		for _, p := range problems {
			d.log.Error(logConfigRefused, "err", p, "do", "mend it; until then all stays as it was")
		}
		if len(d.cfg.Problems) == 0 { // else that condition stands, and so does what it says
			d.conds.Set(condition.ConfigRefused, problemsText(problems)+". Until that is mended, all stays as it was before the reload", mendIt)
		}
		return
	}
	if len(d.cfg.Problems) == 0 {
		d.conds.Clear(condition.ConfigRefused)
	}
	for _, w := range next.Warnings {
		d.log.Warn(logConfigWarning, "text", w)
	}
	applied, restart := []string{}, []string{}
	before := running.Describe()
	for i, row := range next.Describe() {
		same := row.Value == before[i].Value
		if row.Key == "voice.key" { // shown as set or unset only
			same = next.Voice.Key == running.Voice.Key
		}
		switch {
		case same:
		case d.take(row.Key, next, running):
			applied = append(applied, row.Key)
		default:
			restart = append(restart, row.Key)
		}
	}
	level := slog.LevelInfo
	if len(restart) > 0 {
		level = slog.LevelWarn
	}
	// Said at the more talkative of the two levels: whoever turns the log down has still asked what came of it.
	r.Level.Set(min(r.Level.Level(), next.Log.Slog()))
	d.log.Log(context.Background(), level, logConfigReloaded, "file", next.File, "applied", applied, "restart", restart)
	r.Level.Set(next.Log.Slog())
}

// take puts one key into force, if that needs no restart.
func (d *Device) take(key string, next, running *config.Config) bool {
	switch key {
	case "audio.volume": // also kept, as when it is said: the latest wish counts
		running.Audio.Volume = next.Audio.Volume
		d.speaker.SetVolume(next.Audio.Volume)
		d.memory.ConfigureVolume(next)
	case "audio.cue_volume":
		running.Audio.CueVolume = next.Audio.CueVolume
		d.speaker.SetCueVolume(next.Audio.CueVolume)
	case "light.brightness", "light.quiet", "light.quiet_brightness":
		light := &running.Light
		light.Brightness, light.Quiet, light.QuietBrightness = next.Light.Brightness, next.Light.Quiet, next.Light.QuietBrightness
		d.lights.adjust(*light)
	case "log.level": // reload itself turns it
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
