package device

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/device/condition"
	"conch/device/config"
)

// What a card was granted decides what is said of it: nothing, a warning, a condition that ends with a better one.
func TestSlowCardIsSaid(t *testing.T) {
	var log bytes.Buffer
	d := &Device{cfg: config.Default(), log: slog.New(slog.NewTextHandler(&log, nil)), conds: condition.NewBook(slog.New(slog.DiscardHandler)), speaker: audio.NewSpeaker(audio.SpeakerConfig{})}
	d.cfg.Audio.Fade = 3 * time.Millisecond
	for _, c := range []struct {
		period, periods int // frames at 48 kHz
		bound           time.Duration
		warned, held    bool
	}{
		{240, 3, 23 * time.Millisecond, false, false},
		{288, 3, 27 * time.Millisecond, false, false},
		{240, 4, 28 * time.Millisecond, true, false},
		{480, 3, 43 * time.Millisecond, true, true},
		{960, 4, 103 * time.Millisecond, true, true},
		{240, 3, 23 * time.Millisecond, false, false},
	} {
		log.Reset()
		g := audio.Granted{Backend: "alsa", Device: "alsa:CARD=x,DEV=0", Name: "x", Rate: 48000, Period: c.period, Periods: c.periods}
		if got := g.Bound(d.cfg.Audio.Fade); got != c.bound {
			t.Errorf("%d x %d: bound %s; want %s", c.period, c.periods, got, c.bound)
		}
		d.slowCard(g)
		if warned := strings.Contains(log.String(), "audio.slow"); warned != c.warned || d.conds.Holds(condition.SoundSlow) != c.held {
			t.Errorf("%d x %d: warned %v, condition %v; want %v, %v", c.period, c.periods, warned, d.conds.Holds(condition.SoundSlow), c.warned, c.held)
		}
	}
}

// spentCard is a sound system of which nothing is to be had any more in this process.
type spentCard struct {
	audio.Card
	spent bool
}

func (c *spentCard) Spent() bool { return c.spent }

// A card that is lost calls back; a sound system that is spent does not, and a new process is the remedy.
func TestSpentSoundSystemIsAHang(t *testing.T) {
	card := &spentCard{}
	d := &Device{card: card}
	keeper := audio.NewKeeper(audio.KeeperConfig{})
	d.keepers.of("speaker").Store(keeper)
	call := d.callKeeper("speaker")
	if !call(func() {}) {
		t.Error("a keeper takes no token")
	}
	card.spent = true
	d.keepers.of("speaker").Store(audio.NewKeeper(audio.KeeperConfig{}))
	if call(func() {}) {
		t.Error("nothing can be opened any more, and yet all is well")
	}
}
