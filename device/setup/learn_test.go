package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/device/config"
	"conch/device/language"
	"conch/gpio"
)

// configBeside loads text as a configuration file on a machine with these sound cards.
func configBeside(t *testing.T, text string, cards ...string) (*config.Config, error) {
	t.Helper()
	dir, list := t.TempDir(), ""
	for _, c := range cards {
		list += fmt.Sprintf(" 1 [%-15s]: simple-card - %s\n                      %s\n", c, c, c)
	}
	file := filepath.Join(dir, "conch.toml")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "proc/asound"), 0o755), os.WriteFile(file, []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "proc/asound/cards"), []byte(list), 0o644)); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=" + dir}, Root: dir})
}

// learnOnce runs learn with a button that is pressed at once, on a machine with these sound cards, and gives back what was
// said and what the file says then.
func learnOnce(t *testing.T, text, answer string, found gpio.Learned, cards ...string) (said, after string, err error) {
	t.Helper()
	cfg, err := configBeside(t, text, cards...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.State.Runtime = t.TempDir() // nobody is there
	var out bytes.Buffer
	err = Learn(t.Context(), *cfg, LearnOptions{In: os.Stdin, Out: &out, Yes: answer == "yes", Print: answer == "print", Root: filepath.Dir(cfg.File),
		Listen: func(_ context.Context, o gpio.LearnOptions) (gpio.Learned, error) {
			o.Watch([]int{4, found.Pin}, map[int]string{18: "I2S bit clock", 22: "conch@77 holds it"})
			o.Heard(gpio.Heard{Kind: gpio.HeardOnce, Pins: []int{found.Pin}})
			o.Heard(gpio.Heard{Kind: gpio.HeardTwice, Pins: []int{found.Pin}})
			return found, nil
		}})
	data, readErr := os.ReadFile(cfg.File)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return strings.ReplaceAll(out.String(), cfg.File, "FILE"), string(data), err
}

func TestLearntButtonIsWritten(t *testing.T) {
	low := func(pin int) gpio.Learned { return gpio.Learned{Pin: pin, Bias: gpio.BiasUp} }
	high := gpio.Learned{Pin: 17, ActiveHigh: true, Bias: gpio.BiasOff}
	for _, c := range []struct {
		name, text string
		found      gpio.Learned
		cards      []string
		after      string
		said       []string
	}{
		{"a pin of no board", "# mine\n", low(6), nil, "# mine\n\n[button]\npin = 6\nactive = \"low\"\nbias = \"up\"\n",
			[]string{"listening on GPIO4, GPIO6", "GPIO22 is left out: conch@77 holds it", "your button is GPIO6, low when pressed", "+pin = 6", "sudo systemctl restart conch"}},
		{"the one board that fits and is seen", "[device]\nname = \"hall\"\n", low(23), []string{"sndrpigooglevoi"}, "[device]\nname = \"hall\"\nboard = \"aiy-v1\"\n",
			[]string{"that is the button of Google AIY Voice HAT (Voice Kit v1), and the sound card sndrpigooglevoi is up", `+board = "aiy-v1"`}},
		{"polarity tells boards with one card apart", "", high, []string{"wm8960soundcard"}, "[device]\nboard = \"whisplay\"\n", []string{"Whisplay"}},
		{"boards that nothing tells apart are named", "", low(23), []string{"Headphones"}, "[button]\npin = 23\nactive = \"low\"\nbias = \"up\"\n",
			[]string{"boards with this button: aiy-v1, aiy-v2, satellite1-hat, raspiaudio-mic+"}},
		{"a pin set by hand stays one", "[button]\npin = 5 # blue\n", low(23), []string{"sndrpigooglevoi"}, "[button]\npin = 23 # blue\nactive = \"low\"\nbias = \"up\"\n", nil},
		{"a board that has another button", "[device]\nboard = \"aiy-v1\"\n", low(5), nil, "[device]\nboard = \"aiy-v1\"\n\n[button]\npin = 5\nactive = \"low\"\nbias = \"up\"\n", nil},
		{"the source is another one", "[button]\nsource = \"keyboard\"\n", low(6), nil, "[button]\nsource = \"gpio\"\npin = 6\nactive = \"low\"\nbias = \"up\"\n", nil},
		{"all is well", "[device]\nboard = \"aiy-v1\"\n", low(23), nil, "[device]\nboard = \"aiy-v1\"\n", []string{"nothing to change"}},
		{"the default is well", "", low(17), nil, "", []string{"nothing to change"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, after, err := learnOnce(t, c.text, "yes", c.found, c.cards...)
			if err != nil || after != c.after {
				t.Errorf("%v\n got %q\nwant %q", err, after, c.after)
			}
			for _, want := range c.said {
				if !strings.Contains(said, want) {
					t.Errorf("nothing of %q in\n%s", want, said)
				}
			}
			// What was written is what was learnt.
			cfg, err := configBeside(t, after, c.cards...)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Button.Pin != c.found.Pin || (cfg.Button.Active == "high") != c.found.ActiveHigh || len(cfg.Misfits()) > 0 {
				t.Errorf("the file says %+v, %v", cfg.Button, cfg.Misfits())
			}
		})
	}
}

// In each language all of it is in that: no line is as in English.
func TestLearnSpeaksTheLanguageOfTheDevice(t *testing.T) {
	found := gpio.Learned{Pin: 23, Bias: gpio.BiasOff}
	lines := func(l language.Language) []string {
		said, _, err := learnOnce(t, fmt.Sprintf("[device]\nlanguage = %q\n", string(l)), "yes", found, "Headphones")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(said) { // what is written is the same everywhere
			if strings.Contains(line, " ") && !strings.ContainsAny(line[:1], "+-@ ") {
				out = append(out, line)
			}
		}
		return out
	}
	english := lines(language.English)
	if len(english) < 6 {
		t.Fatalf("it says %q", english)
	}
	for _, l := range language.All() {
		for _, line := range lines(l) {
			if l != language.English && slices.Contains(english, line) {
				t.Errorf("%s: %q", l, line)
			}
		}
	}
}

func TestLearnWritesNothingUnasked(t *testing.T) {
	found := gpio.Learned{Pin: 6, Bias: gpio.BiasUp}
	said, after, err := learnOnce(t, "# mine\n", "print", found)
	if err != nil || after != "# mine\n" || !strings.Contains(said, "+pin = 6") {
		t.Errorf("--print: %v, %q\n%s", err, after, said)
	}
	_, after, err = learnOnce(t, "# mine\n", "", found) // standard input of a test is no terminal
	if err == nil || !strings.Contains(err.Error(), "--yes writes it") || after != "# mine\n" {
		t.Errorf("without a terminal: %v, %q", err, after)
	}
	said, after, err = learnOnce(t, "button = {pin = 5}\n", "yes", found)
	if err == nil || after != "button = {pin = 5}\n" || !strings.Contains(err.Error(), "write it yourself:\n[button]\npin = 6") {
		t.Errorf("a file that cannot be edited: %v, %q\n%s", err, after, said)
	}
}
