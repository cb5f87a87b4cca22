package gpio

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every row can be true of one board at once: a pin has one use, sound keeps its pins, the names can be written and found.
func TestBoardsAreConsistent(t *testing.T) {
	names := map[string]bool{}
	for _, b := range Boards {
		t.Run(b.Name, func(t *testing.T) {
			if names[b.Name] {
				t.Error("the name is in the table twice")
			}
			names[b.Name] = true
			if !regexp.MustCompile(`^[a-z0-9][a-z0-9+-]*$`).MatchString(b.Name) || b.Title == "" {
				t.Errorf("name %q, title %q: nobody can write or know that", b.Name, b.Title)
			}
			if found, ok := FindBoard(strings.ToUpper(b.Name)); !ok || found.Title != b.Title {
				t.Errorf("FindBoard finds %q, %v", found.Name, ok)
			}
			if !slices.Contains([]Confidence{FromSource, FromDocs, Unconfirmed}, b.Confirmed) {
				t.Errorf("confidence %q", b.Confirmed)
			}
			for _, problem := range pinProblems(b) {
				t.Error(problem)
			}
			if (b.Button == nil) == (b.Note == "") && b.Button == nil {
				t.Error("no button, and no note that says what to do about it")
			}
			if b.Overlay != "" && !strings.HasPrefix(b.Overlay, "dtoverlay=") {
				t.Errorf("overlay %q is no line of config.txt", b.Overlay)
			}
			for _, card := range b.Cards { // snd_card_set_id: letters, digits and underscores, 15 at most
				if !regexp.MustCompile(`^[A-Za-z0-9_]{1,15}$`).MatchString(card) {
					t.Errorf("card %q can be no id of ALSA", card)
				}
			}
			switch l := b.Light; l.Driver {
			case LightGPIO, LightRGB, LightAPA102GPIO:
				if len(l.Pins) != LightPins(l.Driver) {
					t.Errorf("light %s has %d pins; want %d", l.Driver, len(l.Pins), LightPins(l.Driver))
				}
			case LightAPA102:
				if !regexp.MustCompile(`^0\.[01]$`).MatchString(l.SPI) || l.Count < 1 {
					t.Errorf("light on SPI %q with %d LEDs", l.SPI, l.Count)
				}
			case LightSysfs:
				if l.Sysfs == "" {
					t.Error("light below /sys/class/leds without a name")
				}
			case "", LightNone:
			default:
				t.Errorf("driver %q", l.Driver)
			}
		})
	}
	if len(Boards) < 18 {
		t.Errorf("%d boards; gpio/FACTS.md has 18", len(Boards))
	}
}

func pinProblems(b Board) (problems []string) {
	uses := map[int]string{}
	use := func(pin int, what string) {
		if pin < 0 || pin > 27 {
			problems = append(problems, what+" is no pin of the header")
		}
		if sound, taken := SoundPin(pin); taken && !(pin == 20 && b.Name == "pirate-audio") { // plays only: I2S input is free there
			problems = append(problems, what+" is the "+sound)
		}
		if other, twice := uses[pin]; twice {
			problems = append(problems, what+" is also "+other)
		}
		uses[pin] = what
	}
	if b.Button != nil {
		use(b.Button.Pin, "button")
	}
	for _, p := range b.Light.Pins {
		use(p, "light")
	}
	if b.Light.Power != 0 {
		use(b.Light.Power, "power of the light")
	}
	if b.Light.Driver == LightAPA102 {
		for p, what := range spiPins {
			use(p, what)
		}
	}
	for _, d := range b.Drive {
		use(d.Pin, d.Use)
	}
	for p, what := range b.Taken {
		use(p, what)
	}
	return problems
}

func TestPinProblemsAreFound(t *testing.T) {
	for want, b := range map[string]Board{
		"button is the I2S bit clock":         {Button: &BoardButton{Pin: 18}},
		"light is also button":                {Button: &BoardButton{Pin: 17}, Light: BoardLight{Pins: []int{17}}},
		"fan is also power of the light":      {Light: BoardLight{Power: 5}, Taken: map[int]string{5: "fan"}},
		"light is no pin of the header":       {Light: BoardLight{Pins: []int{28}}},
		"enables the amplifier is also light": {Light: BoardLight{Pins: []int{4}}, Drive: []Drive{{Pin: 4, Use: "enables the amplifier"}}},
	} {
		if got := pinProblems(b); !slices.Contains(got, want) {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}
