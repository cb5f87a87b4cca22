package sound

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"conch/audio/mixer"
	"conch/gpio"
)

// wakes is a card whose chip has just woken up: every path of the table shut.
func wakes(t *testing.T, board string) (*tape, gpio.Mixer) {
	t.Helper()
	b, ok := gpio.FindBoard(board)
	levels, known := b.Mixer()
	if !ok || !known {
		t.Fatalf("%s has no levels", board)
	}
	card := &tape{}
	for _, h := range []gpio.MixerHalf{levels.Playback, levels.Capture} {
		for _, l := range append(slices.Clone(h.Levels), gpio.Level{Control: h.Gate, Value: 1}) {
			card.all = append(card.all, mixer.Control{Name: l.Control, Max: 255, Values: []int{0, 0}})
		}
	}
	return card, levels
}

type tape struct {
	all  []mixer.Control
	fail string
}

func (c *tape) Controls() ([]mixer.Control, error) { return slices.Clone(c.all), nil }

func (c *tape) Set(one mixer.Control, to int) error {
	if one.Name == c.fail {
		return errors.New("no")
	}
	for i := range c.all {
		if c.all[i].Name == one.Name {
			c.all[i].Values = []int{to, to}
		}
	}
	return nil
}

func TestLevelsAreSetWhereNobodyHas(t *testing.T) {
	card, levels := wakes(t, "waveshare-wm8960")
	if got := Silent("waveshare-wm8960", card.all); len(got) != len(card.all) {
		t.Errorf("silent: %v", got)
	}
	card.fail = levels.Playback.Levels[3].Control // it breaks off: the gate is still shut
	if _, err := setLevels(card, levels); err == nil {
		t.Error("a control that cannot be set is passed over")
	}
	card.fail = ""
	if set, err := setLevels(card, levels); err != nil || strings.Join(set, " ") != "loudspeaker microphone" {
		t.Errorf("set %v, %v", set, err)
	}
	if got := Silent("waveshare-wm8960", card.all); len(got) > 0 {
		t.Errorf("still silent: %v", got)
	}
	// Somebody turns one down to nothing: that is theirs.
	_ = card.Set(mixer.Control{Name: "Headphone Playback Volume"}, 0)
	if set, err := setLevels(card, levels); err != nil || len(set) > 0 {
		t.Errorf("their own levels are overwritten: %v, %v", set, err)
	}
	if got := Silent("waveshare-wm8960", card.all); !slices.Equal(got, []string{"Headphone Playback Volume"}) {
		t.Errorf("silent: %v", got)
	}
	if got := Silent("", []mixer.Control{{Name: "Master Playback Switch", Values: []int{0}}, {Name: "Mic Playback Volume", Values: []int{0}}, {Name: "PCM Playback Volume", Values: []int{3}}}); !slices.Equal(got, []string{"Master Playback Switch"}) {
		t.Errorf("of a card that nobody knows: %v", got)
	}
}
