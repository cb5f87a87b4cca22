package sound

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
	conds := condition.NewBook(slog.New(slog.DiscardHandler))
	card, err := New(Options{Card: &spentCard{}, Audio: config.Default().Audio, Conditions: conds, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	card.o.Audio.Fade = 3 * time.Millisecond
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
		if got := g.Bound(card.o.Audio.Fade); got != c.bound {
			t.Errorf("%d x %d: bound %s; want %s", c.period, c.periods, got, c.bound)
		}
		card.slow(g)
		if warned := strings.Contains(log.String(), "audio.slow"); warned != c.warned || conds.Holds(condition.SoundSlow) != c.held {
			t.Errorf("%d x %d: warned %v, condition %v; want %v, %v", c.period, c.periods, warned, conds.Holds(condition.SoundSlow), c.warned, c.held)
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
	card, h := &spentCard{}, &half{}
	h.keeper.Store(audio.NewKeeper(audio.KeeperConfig{}))
	if !h.call(card, func() {}) {
		t.Error("a keeper takes no token")
	}
	card.spent = true
	h.keeper.Store(audio.NewKeeper(audio.KeeperConfig{}))
	if h.call(card, func() {}) {
		t.Error("nothing can be opened any more, and yet all is well")
	}
}
