package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/gpio"
)

// boardConfig loads text as a configuration file on a machine whose sound cards are cards.
func load(t *testing.T, text string, cards ...string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	list := ""
	for _, c := range cards {
		list += " 1 [" + c + strings.Repeat(" ", 15-len(c)) + "]: simple-card - " + c + "\n                      " + c + "\n"
	}
	if err := os.MkdirAll(filepath.Join(dir, "proc/asound"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "conch.toml")
	for path, data := range map[string]string{filepath.Join(dir, "proc/asound/cards"): list, file: text} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(LoadOptions{File: file, Environ: []string{"HOME=" + dir}, Root: dir})
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), file, "FILE"))
	}
	return c, err
}

// Every board of the table loads, fills what it has, says so, and fits together.
func TestEveryBoardFillsTheConfiguration(t *testing.T) {
	for _, b := range gpio.Boards {
		t.Run(b.Name, func(t *testing.T) {
			c, err := load(t, "[device]\nboard = \""+b.Name+"\"\n", b.Cards...)
			if err != nil {
				t.Fatal(err)
			}
			if m := c.Misfits(); len(m) > 0 {
				t.Errorf("does not fit: %v", m)
			}
			origin := "board " + b.Name
			want := map[string]string{}
			if p := b.Button; p != nil {
				want["button.pin"], want["button.active"], want["button.bias"] = origin, origin, origin
				if c.Button.Pin != p.Pin || (c.Button.Active == "high") != p.ActiveHigh || c.Button.Bias != p.Bias.String() {
					t.Errorf("button %+v; want %+v", c.Button, *p)
				}
			}
			if b.Light.Driver != "" {
				want["light.driver"] = origin
				if pins, err := ParsePins(c.Light.Pins); err != nil || len(pins) != len(b.Light.Pins) || c.Light.Invert != b.Light.Invert || c.Light.Driver != string(b.Light.Driver) {
					t.Errorf("light %+v; want %+v", c.Light, b.Light)
				}
			}
			if b.Keys {
				want["button.source"] = origin
			}
			if len(b.Cards) > 0 && !b.NoMic {
				want["audio.capture"] = origin
			}
			if len(b.Cards) > 0 && !b.NoSpeaker {
				want["audio.playback"] = origin
			}
			for key, from := range want {
				if got := c.Origin(key); got != from {
					t.Errorf("%s comes from %q; want %q", key, got, from)
				}
			}
		})
	}
}

func TestBoardIsWeakerThanAPerson(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cards      []string
		want       map[string]string
	}{
		{"all of it", "[device]\nboard = \"whisplay\"", []string{"wm8960soundcard"}, map[string]string{
			"button.active": `"high" board whisplay`, "button.bias": `"off" board whisplay`, "button.pin": "17 board whisplay",
			"light.pins": `[25, 24, 23] board whisplay`, "light.invert": "true board whisplay", "audio.playback": `"alsa:CARD=wm8960soundcard,DEV=0" board whisplay`,
			"button.mode": `"hold" default`}},
		{"another pin is another button", "[device]\nboard = \"whisplay\"\n[button]\npin = 5", nil, map[string]string{
			"button.pin": "5 file FILE:4", "button.active": `"low" default`, "button.bias": `"auto" default`}},
		{"the same button the other way round", "[device]\nboard = \"whisplay\"\n[button]\nactive = \"low\"", nil, map[string]string{
			"button.pin": "17 board whisplay", "button.active": `"low" file FILE:4`, "button.bias": `"off" board whisplay`}},
		{"another light", "[device]\nboard = \"whisplay\"\n[light]\ndriver = \"gpio\"\npins = \"5\"", nil, map[string]string{
			"light.driver": `"gpio" file FILE:4`, "light.pins": `[5] file FILE:5`, "light.invert": "false default"}},
		{"the same driver, other pins", "[device]\nboard = \"aiy-v1\"\n[light]\npins = \"5\"", nil, map[string]string{
			"light.driver": `"gpio" board aiy-v1`, "light.pins": `[5] file FILE:4`}},
		{"auto asks for the board's light", "[device]\nboard = \"aiy-v1\"\n[light]\ndriver = \"auto\"", nil, map[string]string{
			"light.driver": `"gpio" board aiy-v1`}},
		{"no light", "[device]\nboard = \"aiy-v1\"\n[light]\ndriver = \"none\"", nil, map[string]string{
			"light.driver": `"none" file FILE:4`, "light.pins": `[] default`}},
		{"its card is not up", "[device]\nboard = \"aiy-v1\"", []string{"Headphones"}, map[string]string{
			"audio.playback": `"" default`, "audio.capture": `"" default`}},
		{"no microphone on it", "[device]\nboard = \"pirate-audio\"", []string{"sndrpihifiberry"}, map[string]string{
			"audio.playback": `"alsa:CARD=sndrpihifiberry,DEV=0" board pirate-audio`, "audio.capture": `"" default`}},
		{"a person's loudspeaker", "[device]\nboard = \"aiy-v1\"\n[audio]\nplayback = \"Jabra\"", []string{"sndrpigooglevoi"}, map[string]string{
			"audio.playback": `"Jabra" file FILE:4`, "audio.capture": `"alsa:CARD=sndrpigooglevoi,DEV=0" board aiy-v1`}},
		{"names in any case", "[device]\nboard = \"AIY-v1\"", nil, map[string]string{"button.pin": "23 board aiy-v1"}},
		{"no board", "", []string{"sndrpigooglevoi"}, map[string]string{"button.pin": "17 default", "audio.playback": `"" default`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := load(t, c.text, c.cards...)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range cfg.Describe() {
				got := row.Value + " " + strings.ReplaceAll(row.Origin, cfg.File, "FILE")
				if want, ok := c.want[row.Key]; ok && got != want {
					t.Errorf("%s = %s\nwant %s", row.Key, got, want)
				}
			}
		})
	}
}

func TestBoardRefusals(t *testing.T) {
	all := strings.Join(gpio.BoardNames(), ", ")
	for text, want := range map[string]string{
		`board = "aiy-v3"`:                  `config: device.board = "aiy-v3": no such board (did you mean aiy-v1?); there are ` + all + `; set by file FILE:2`,
		`board = "megaphone"`:               `config: device.board = "megaphone": no such board; there are ` + all + `; set by file FILE:2`,
		`board = "aiy-v1, aiy-v3"`:          `config: device.board = "aiy-v1, aiy-v3": no such board (did you mean aiy-v1?); there are ` + all + `; set by file FILE:2`,
		"board = \"aiy-v1\"\nboard = \"x\"": `config: FILE:3: device.board is set twice: keep one of the two lines`,
	} {
		if _, err := load(t, "[device]\n"+text+"\n"); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

const elsewhere = "take two pins that nothing else has, other than 2, 3 and 18 to 21; conch gpio list shows them; until then there is no encoder"

// What does not fit together loads, is named with its remedy, and leaves the rest standing.
func TestMisfits(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a pin of I2S", "[button]\npin = 18\n",
			"config: button.pin = 18: is the I2S bit clock on boards that carry sound; set by file FILE:2; take another one, 17 on most boards; conch gpio learn finds it"},
		{"a pin the board takes", "[device]\nboard = \"codec-zero\"\n[button]\npin = 25\n",
			"config: button.pin = 25: is in use on the board codec-zero (infrared receiver); set by file FILE:4; take another one; the board's own button is 27 (remove button.pin), conch gpio learn finds any"},
		{"the pin of the amplifier", "[device]\nboard = \"aiy-v1\"\n[button]\npin = 16\n",
			"config: button.pin = 16: is in use on the board aiy-v1 (enables the amplifier); set by file FILE:4; take another one; the board's own button is 23 (remove button.pin), conch gpio learn finds any"},
		{"a pin of SPI, which the light has", "[light]\ndriver = \"apa102\"\n[button]\npin = 10\n",
			"config: button.pin = 10: is the SPI output, which light.driver = apa102 needs; set by file FILE:4; take another one, 17 on most boards; conch gpio learn finds it"},
		{"light and button on one pin", "[light]\ndriver = \"gpio\"\npins = \"17\"\n",
			`config: light.pins = "17": 17 is the button's pin as well (button.pin, set by default); set by file FILE:3; give one of them another pin; until then the button has it`},
		{"too many pins", "[light]\ndriver = \"gpio\"\npins = \"5,6\"\n",
			`config: light.pins = "5,6": light.driver = gpio needs 1 pin, not 2; set by file FILE:3; give it the LED's pin`},
		{"too few", "[light]\ndriver = \"rgb\"\npins = \"5,6\"\n",
			`config: light.pins = "5,6": light.driver = rgb needs 3 pins, not 2; set by file FILE:3; give it red, green and blue, as in 25,24,23`},
		{"one pin twice", "[light]\ndriver = \"apa102-gpio\"\npins = \"5,5\"\n",
			`config: light.pins = "5,5": 5 is in it twice; set by file FILE:3; give each colour a pin of its own`},
		{"a light on I2S", "[light]\ndriver = \"gpio\"\npins = \"21\"\n",
			`config: light.pins = "21": 21 is the I2S output on boards that carry sound; set by file FILE:3; take a free one; conch gpio list shows them`},
		{"a light on the board's pin", "[device]\nboard = \"adafruit-braincraft\"\n[light]\ndriver = \"gpio\"\npins = \"4\"\n",
			`config: light.pins = "4": 4 is in use on the board adafruit-braincraft (fan); set by file FILE:5; take a free one; conch gpio list shows them`},
		{"two boards", "[device]\nboard = \"aiy-v1, respeaker-2mic\"\n",
			`config: device.board = "aiy-v1, respeaker-2mic": is more than one board, and the buttons and lights of two cannot both be the ones; set by file FILE:2; name one, and set what the other has by hand below [button] and [light]; until then there is none`},
		{"two boards in a list", "[device]\nboard = [\"aiy-v1\", \"codec-zero\"]\n",
			`config: device.board = "aiy-v1, codec-zero": is more than one board, and the buttons and lights of two cannot both be the ones; set by file FILE:2; name one, and set what the other has by hand below [button] and [light]; until then there is none`},
		{"an encoder on the button's pin", "[knob]\nencoder = [\"GPIO17\", \"GPIO6\"]\n",
			`config: knob.encoder = "GPIO17,GPIO6": 17 is the button's pin as well (button.pin, set by default); set by file FILE:2; ` + elsewhere},
		{"an encoder on the light's pin", "[light]\ndriver = \"gpio\"\npins = \"6\"\n[knob]\nencoder = [5, 6]\n",
			`config: knob.encoder = "5,6": 6 is the light's pin as well (light.pins, set by file FILE:3); set by file FILE:5; ` + elsewhere},
		{"an encoder on the board's pin", "[device]\nboard = \"aiy-v1\"\n[knob]\nencoder = [16, 5]\n",
			`config: knob.encoder = "16,5": 16 is in use on the board aiy-v1 (enables the amplifier); set by file FILE:4; ` + elsewhere},
		{"an encoder on SPI, which the light has", "[light]\ndriver = \"apa102\"\n[knob]\nencoder = [5, 10]\n",
			`config: knob.encoder = "5,10": 10 is the SPI output, which light.driver = apa102 needs; set by file FILE:4; ` + elsewhere},
		{"an encoder where nobody is", "[light]\ndriver = \"none\"\npins = \"6\"\n[button]\nsource = \"keyboard\"\n[knob]\nencoder = [6, 17]\n", ""},
		{"no pin at all, no misfit", "[button]\nsource = \"keyboard\"\npin = 18\n", ""},
		{"pins that nobody uses", "[light]\ndriver = \"none\"\npins = \"17\"\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := load(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range cfg.Misfits() {
				got = append(got, strings.ReplaceAll(m.String(), cfg.File, "FILE"))
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n"), c.want)
			}
			fitting, misfits := cfg.Fitting()
			if len(misfits) > 0 && misfits[0].Part == "knob" {
				if fitting.Knob.Encoder != "" || fitting.NoPin || fitting.Light.Driver != cfg.Light.Driver {
					t.Error("the encoder is used all the same, or more than the encoder stays away")
				}
			} else if len(misfits) > 0 && fitting.Light.Driver != "none" && !fitting.NoPin && (misfits[0].Part != "board" || fitting.Device.Board != "") {
				t.Error("it does not fit, and is used all the same")
			}
			if len(misfits) > 0 && misfits[0].Part == "light" && fitting.NoPin {
				t.Error("the button stays away, though it is the light that does not fit")
			}
		})
	}
}
