package sound

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"conch/audio/mixer"
	"conch/gpio"
)

// A mixerCard is what levels are set on.
type mixerCard interface {
	Controls() ([]mixer.Control, error)
	Set(c mixer.Control, to int) error
}

// SetLevels opens the paths of a board's card where nobody has (gpio/levels.go), and says which halves it has set.
func SetLevels(board string) (set []string, err error) {
	b, _ := gpio.FindBoard(board)
	levels, known := b.Mixer()
	if !known {
		return nil, nil
	}
	here := gpio.SoundCards("")
	for _, id := range b.Cards {
		if !slices.Contains(here, id) {
			continue
		}
		card, err := mixer.Open(id)
		if err != nil {
			return nil, err
		}
		defer card.Close()
		return setLevels(card, levels)
	}
	return nil, nil
}

func setLevels(card mixerCard, levels gpio.Mixer) (set []string, err error) {
	have, err := card.Controls()
	if err != nil {
		return nil, err
	}
	for _, half := range []struct {
		name string
		gpio.MixerHalf
	}{{"loudspeaker", levels.Playback}, {"microphone", levels.Capture}} {
		gate, ok := find(have, half.Gate)
		if !ok || !gate.Silent() { // another driver, or somebody's own levels
			continue
		}
		for _, l := range append(slices.Clone(half.Levels), gpio.Level{Control: half.Gate, Value: 1}) {
			c, ok := find(have, l.Control)
			if !ok {
				continue // of another version of the driver
			}
			if err := card.Set(c, l.Value); err != nil {
				return set, fmt.Errorf("the levels of the %s: %w", half.name, err)
			}
		}
		set = append(set, half.name)
	}
	return set, nil
}

func find(all []mixer.Control, name string) (mixer.Control, bool) {
	i := slices.IndexFunc(all, func(c mixer.Control) bool { return c.Name == name })
	if i < 0 {
		return mixer.Control{}, false
	}
	return all[i], true
}

// levels has the board's card sound and hear before it is opened.
func (o Options) levels() {
	switch set, err := SetLevels(o.Board); {
	case err != nil:
		o.Log.Warn("audio.levels", "board", o.Board, "err", err)
	case len(set) > 0:
		o.Log.Info("audio.levels", slog.String("board", o.Board), slog.String("set", strings.Join(set, ", ")))
	}
}

// Silent are the controls of a card that let nothing through, of those that its sound passes: the board's where that is known,
// else those with a name that everybody gives them.
func Silent(board string, all []mixer.Control) (names []string) {
	b, _ := gpio.FindBoard(board)
	levels, known := b.Mixer()
	passes := func(name string) bool {
		words := strings.Fields(name)
		return len(words) > 2 && slices.Contains([]string{"Master", "PCM", "Speaker", "Headphone", "Mic", "Headset"}, words[0]) &&
			slices.Contains([]string{"Playback", "Capture"}, words[1]) && slices.Contains([]string{"Volume", "Switch"}, words[2]) && len(words) == 3 &&
			(words[0] != "Mic" || words[1] == "Capture")
	}
	if known {
		passes = func(name string) bool {
			for _, h := range []gpio.MixerHalf{levels.Playback, levels.Capture} {
				if name == h.Gate || slices.ContainsFunc(h.Levels, func(l gpio.Level) bool { return l.Control == name && l.Value > 0 }) {
					return true
				}
			}
			return false
		}
	}
	for _, c := range all {
		if passes(c.Name) && c.Silent() {
			names = append(names, c.Name)
		}
	}
	return names
}
