package gpio

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine lays out files as a machine shows them.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if strings.HasSuffix(path, "/.") || text == "DIR" {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func cardsFile(ids ...string) string {
	text := ""
	for i, id := range ids {
		text += fmt.Sprintf("%2d [%-15s]: simple-card - %s\n                      %s\n", i, id, id, id)
	}
	return text
}

func TestBoardsAreProposedByWhatTheMachineShows(t *testing.T) {
	phone := map[int]string{32: "200 0 0 0 0 0", 64: "20000000000 0 0"}[32<<(^uint(0)>>63)] // bit 169, in words of this machine's long
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // the boards proposed, a ! behind one that is sure
	}{
		{"nothing", nil, nil},
		{"a Pi without a board", map[string]string{"/proc/asound/cards": cardsFile("Headphones", "vc4hdmi"), "/sys/class/leds/ACT": "DIR"}, nil},
		{"the board says so", map[string]string{"/proc/device-tree/hat/product": "AIY VoiceBonnet\x00", "/proc/device-tree/hat/vendor": "Google, Inc.\x00",
			"/proc/asound/cards": cardsFile("aiyvoicebonnet"), "/sys/class/leds/ktd202x:led1": "DIR"}, []string{"aiy-v2!"}},
		{"only its light", map[string]string{"/sys/class/leds/ktd202x:led1": "DIR"}, []string{"aiy-v2"}},
		{"a card of one board", map[string]string{"/proc/asound/cards": cardsFile("vc4hdmi", "sndrpigooglevoi")}, []string{"aiy-v1"}},
		{"a card that boards share", map[string]string{"/proc/asound/cards": cardsFile("wm8960soundcard"), "/sys/bus/i2c/devices/1-001a": "DIR"},
			[]string{"adafruit-voice-bonnet", "adafruit-braincraft", "whisplay", "waveshare-wm8960", "respeaker-2mic", "aiy-v2"}},
		{"the same, and one says so", map[string]string{"/proc/asound/cards": cardsFile("wm8960soundcard"), "/proc/device-tree/hat/vendor": "PiSugar\x00", "/proc/device-tree/hat/product_id": "0x0001\x00"},
			[]string{"whisplay!", "adafruit-voice-bonnet", "adafruit-braincraft", "waveshare-wm8960"}},
		{"versions of one board, told apart by a chip", map[string]string{"/proc/asound/cards": cardsFile("seeed2micvoicec"), "/sys/bus/i2c/devices/1-0018": "DIR"},
			[]string{"respeaker-2mic-v2", "respeaker-2mic", "adafruit-voice-bonnet", "adafruit-braincraft"}},
		{"another maker's board with the number of ours", map[string]string{"/proc/device-tree/hat/vendor": "Pimoroni\x00", "/proc/device-tree/hat/product_id": "0x0001\x00"}, nil},
		{"a speakerphone", map[string]string{"/proc/bus/input/devices": "I: Bus=0003 Vendor=0b0e\nN: Name=\"Jabra SPEAK 510 USB\"\nB: EV=13\nB: KEY=" + phone + "\n"}, []string{"usb-speakerphone"}},
		{"a keyboard without a hook", map[string]string{"/proc/bus/input/devices": "N: Name=\"AT keyboard\"\nB: KEY=402000000 3803078f800d001 feffffdfffefffff fffffffffffffffe\n"}, nil},
		{"rubbish", map[string]string{"/proc/asound/cards": "\x00[[]]:\n--- no soundcards ---\n", "/proc/device-tree/hat/product": strings.Repeat("x", 5000), "/proc/bus/input/devices": "B: KEY=zz\nB: KEY=\n",
			"/sys/bus/i2c/devices/1-zzzz": "DIR", "/sys/bus/i2c/devices/i2c-1": "DIR"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := Detect(DetectOptions{Root: machine(t, c.files)})
			var got []string
			for _, p := range seen.Proposals {
				if len(p.Evidence) == 0 {
					t.Errorf("%s is proposed for no reason", p.Board)
				}
				name := p.Board
				if p.Sure {
					name += "!"
				}
				got = append(got, name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

// Every board that can be told from the machine is, when all it has is there.
func TestEveryBoardIsProposedByItsOwnMarks(t *testing.T) {
	for _, b := range Boards {
		files := map[string]string{"/proc/asound/cards": cardsFile(b.Cards...)}
		for name, text := range map[string]string{"vendor": b.EEPROM.Vendor, "product": b.EEPROM.Product, "product_id": b.EEPROM.ID} {
			if text != "" {
				files["/proc/device-tree/hat/"+name] = text + "\x00"
			}
		}
		for _, a := range b.I2C {
			files[fmt.Sprintf("/sys/bus/i2c/devices/1-%04x", a)] = "DIR"
		}
		seen := Detect(DetectOptions{Root: machine(t, files)})
		if len(b.Cards) == 0 && len(b.I2C) == 0 && b.EEPROM == (EEPROM{}) {
			continue
		}
		i := slices.IndexFunc(seen.Proposals, func(p Proposal) bool { return p.Board == b.Name })
		if i < 0 || b.EEPROM != (EEPROM{}) && (i > 0 || !seen.Proposals[0].Sure) {
			t.Errorf("%s: proposed at place %d: %+v", b.Name, i, seen.Proposals)
		}
		if i >= 0 && seen.Proposals[i].weight < seen.Proposals[0].weight {
			t.Errorf("%s has all its marks, and %s comes before it", b.Name, seen.Proposals[0].Board)
		}
	}
}

func TestEvidenceIsWeighed(t *testing.T) {
	boards := []Board{
		{Name: "chip", I2C: []int{0x1a}}, {Name: "card", Cards: []string{"a"}}, {Name: "both", Cards: []string{"a"}, I2C: []int{0x1a}},
		{Name: "says-so", EEPROM: EEPROM{Product: "Voice"}}, {Name: "says-so-too", EEPROM: EEPROM{Product: "Voice HAT"}},
	}
	s := Seen{Cards: []string{"a"}, I2C: []int{0x1a}, EEPROM: EEPROM{Product: "Voice HAT 2"}}
	var got []string
	for _, p := range s.propose(boards) {
		got = append(got, p.Board)
		if p.Sure {
			t.Errorf("%s is sure, though two say so", p.Board)
		}
	}
	if want := []string{"says-so", "says-so-too", "both", "card", "chip"}; !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestPinsOfAHeader(t *testing.T) {
	f := newFakeKernel(t)
	f.plug(0, "raspberrypi-exp-gpio", 8)
	pi := f.plug(1, "pinctrl-bcm2711", 58)
	f.holds(pi, 14, "ttyS0")
	f.set(pi, 6, false)
	all := f.inspect(InventoryOptions{Board: "aiy-v1", Uses: map[int]string{23: "button (button.pin)"}, Levels: true, Detect: DetectOptions{Root: f.dev}})
	if all.Header != "pinctrl-bcm2711" || len(all.Chips) != 2 || len(all.Pins) != 28 || all.Error != "" {
		t.Fatalf("%+v", all)
	}
	for pin, want := range map[int]PinRow{
		0:  {Use: "memory of the boards"},
		6:  {Free: true, Level: "low"},
		5:  {Free: true, Level: "high"},
		14: {Used: true, Consumer: "ttyS0"},
		16: {Use: "enables the amplifier"},
		18: {Use: "I2S bit clock"},
		23: {Use: "button (button.pin)"},
	} {
		want.Pin, want.Name, want.Bias = pin, fmt.Sprintf("GPIO%d", pin), "as it was"
		if got := all.Pins[pin]; got != want {
			t.Errorf("pin %d: %+v\nwant %+v", pin, got, want)
		}
	}
	f.mu.Lock()
	f.reap()
	if len(f.lines) > 0 {
		t.Errorf("%d lines are still taken", len(f.lines))
	}
	f.mu.Unlock()
	if none := newFakeKernel(t).inspect(InventoryOptions{}); none.Error == "" || len(none.Pins) > 0 {
		t.Errorf("without a chip: %+v", none)
	}
}
