package device

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/reload"
)

// A new volume is heard at once, in the middle of an answer; a configuration that is refused is not.
func TestReloadedVolumeIsHeard(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	volume := 0
	r := reload.New(reload.Options{Level: new(slog.LevelVar), Load: func() (*config.Config, error) {
		if volume < 0 {
			return nil, errors.New("config: refused")
		}
		next := b.cfg
		next.Audio.Volume = volume
		return &next, nil
	}}, b.cfg, reloads{b.Device}, b.conds, b.Device.log)
	// loud is how loud the answer is once it is so; where it never is, how loud it was last. A card of a busy machine is late.
	loud := func(so func(float64) bool) (level float64) {
		for range 10 {
			b.pause(500 * time.Millisecond)
			now := b.now()
			if level = pitch(b.card.Between(now-300*time.Millisecond, now), newHz); so(level) {
				break
			}
		}
		return level
	}
	b.question("endless")
	b.until("speaking", b.Speaking)
	before := loud(func(l float64) bool { return l >= 500 })
	if before < 500 {
		t.Fatalf("the answer is not on the tape (%.0f)", before)
	}
	asBefore := func(l float64) bool { return l >= before*0.9 && l <= before*1.1 }
	r.Reload()
	if after := loud(func(l float64) bool { return l <= 1 }); after > 1 {
		t.Errorf("at volume 0 the answer is heard, as loud as %.0f", after)
	}
	volume = b.cfg.Audio.Volume
	r.Reload()
	if again := loud(asBefore); again < before*0.9 || again > before*1.1 {
		t.Errorf("back at the volume of the start the answer is as loud as %.0f; want %.0f", again, before)
	}
	volume = -1
	r.Reload()
	if again := loud(asBefore); again < before*0.9 {
		t.Errorf("after a configuration was refused the answer is as loud as %.0f; want %.0f", again, before)
	}
	if b.memory.Volume() != b.cfg.Audio.Volume || b.log.count("config.reloaded") != 2 || b.log.count("config.refused") != 1 {
		t.Errorf("in force: volume %d; reloaded %d times, refused %d times", b.memory.Volume(),
			b.log.count("config.reloaded"), b.log.count("config.refused"))
	}
	b.hand.Press()
	b.state(turn.Listening)
	b.hand.Release()
	b.quiet()
}

// A key whose file is read before each session needs no restart, whatever is in it; one from elsewhere does.
func TestReloadedKey(t *testing.T) {
	for _, c := range []struct {
		name     string
		was, is  string // where the key is from
		restarts bool
	}{
		{"the same file", "/key", "/key", false},
		{"another file", "/key", "/other", true},
		{"the environment", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			running, next := config.Default(), config.Default()
			running.Voice.Key, running.KeyFrom = config.NewSecret("an-old-key"), c.was
			next.Voice.Key, next.KeyFrom = config.NewSecret("a-new-key"), c.is
			if taken := (reloads{&Device{}}).Take("voice.key", &next, &running); taken == c.restarts {
				t.Errorf("taken %v; want %v", taken, !c.restarts)
			}
		})
	}
}
