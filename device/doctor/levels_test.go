package doctor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/audio/mixer"
)

// A card that is in order and turned down is named, with the level and the command.
func TestLevelsAtZeroAreNamed(t *testing.T) {
	m := &Machine{Root: t.TempDir(), Levels: func(string) ([]mixer.Control, error) {
		return []mixer.Control{{Name: "Speaker Playback Volume", Max: 127, Values: []int{0, 0}}, {Name: "Capture Volume", Max: 63, Values: []int{39}}}, nil
	}}
	cards := filepath.Join(m.Root, "proc/asound/cards")
	if err := errors.Join(os.MkdirAll(filepath.Dir(cards), 0o755), os.WriteFile(cards, []byte(" 0 [wm8960soundcard]: simple-card - wm8960-soundcard\n                      wm8960-soundcard\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := &Subject{Board: "waveshare-wm8960", Sound: SoundSetting{Backend: "alsa"}}
	got := checkLevels(t.Context(), m, s)
	if len(got) != 1 || got[0].Level != Warn || !strings.Contains(got[0].Text, "wm8960soundcard: at zero or muted: Speaker Playback Volume") ||
		!strings.Contains(got[0].Do, "amixer -c wm8960soundcard sset 'Speaker' 80% unmute") {
		t.Errorf("%+v", got)
	}
}

// What to mend first stands first, once; what the appliance complains of is a consequence.
func TestTheSeriousThingIsFirst(t *testing.T) {
	var out bytes.Buffer
	Print(&out, []Finding{
		{Check: "condition voice.lost", Group: Service, Level: Bad, Text: "no voice", Cause: "c", Do: "d"}, {Check: "memory", Group: Box, Level: Warn, Text: "little"},
		{Check: "network", Group: Network, Level: Bad, Text: "no way out", Cause: "no route", Do: "plug it in"},
	}, false)
	if !strings.HasPrefix(out.String(), "first, of 2 that are bad\n  bad   network      no way out\n        cause        no route\n        do           plug it in\n") {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	Print(&out, []Finding{{Check: "network", Group: Network, Level: Bad, Text: "no way out", Cause: "c", Do: "d"}}, false)
	if strings.Contains(out.String(), "first") {
		t.Errorf("the only one stands there twice:\n%s", out.String())
	}
}
