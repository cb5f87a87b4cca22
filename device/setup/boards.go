package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"conch/device/config"
	"conch/gpio"
)

// PinsReport is what conch gpio list shows.
type PinsReport = gpio.Inventory

// BoardsSeen is what the machine shows of its board.
type BoardsSeen = gpio.Seen

// PinsOptions are what a person may ask for besides.
type PinsOptions struct {
	Levels   bool   // read free pins
	ProbeI2C bool   // ask on the I2C bus
	Root     string // before /proc and /sys, for tests
}

// Pins lists chips, pins and proposals, with what this configuration uses them for.
func Pins(cfg config.Config, o PinsOptions) PinsReport {
	return gpio.Inspect(gpio.InventoryOptions{Chip: cfg.Button.Chip, Uses: pinUses(&cfg), Board: cfg.Device.Board, Levels: o.Levels,
		Detect: gpio.DetectOptions{Root: o.Root, ProbeI2C: o.ProbeI2C}})
}

// pinUses are the pins that the configuration uses, and what for.
func pinUses(c *config.Config) map[int]string {
	uses := map[int]string{}
	if gpio.LightPins(gpio.LightDriver(c.Light.Driver)) > 0 {
		pins, _ := config.ParsePins(c.Light.Pins) // its key has checked it
		for _, p := range pins {
			uses[p] = "light (light.pins)"
		}
	}
	if c.Light.Driver == string(gpio.LightAPA102) {
		for p := range headerPins {
			if use, taken := gpio.SPIPin(p); taken {
				uses[p] = use + " of the light"
			}
		}
	}
	if c.Button.Source == "gpio" || c.Button.Source == "auto" {
		uses[c.Button.Pin] = "button (button.pin)"
	}
	return uses
}

const headerPins = 28

// BoardRow is a board as people read it.
type BoardRow struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Button    string   `json:"button,omitempty"`
	Light     string   `json:"light,omitempty"`
	Held      []string `json:"held,omitempty"`
	Taken     []string `json:"taken,omitempty"`
	Cards     []string `json:"cards,omitempty"`
	Overlay   string   `json:"overlay,omitempty"`
	Note      string   `json:"note,omitempty"`
	Confirmed string   `json:"confirmed"`
}

// Boards is the table for people.
func Boards() []BoardRow {
	rows := make([]BoardRow, 0, len(gpio.Boards))
	for _, b := range gpio.Boards {
		r := BoardRow{Name: b.Name, Title: b.Title, Light: lightText(b.Light), Cards: b.Cards, Overlay: b.Overlay, Note: b.Note, Confirmed: string(b.Confirmed)}
		if p := b.Button; p != nil {
			r.Button = fmt.Sprintf("GPIO%d, %s when pressed, bias %s", p.Pin, map[bool]string{true: "high", false: "low"}[p.ActiveHigh], p.Bias)
		} else if b.Keys {
			r.Button = "a key of the device"
		}
		for _, d := range b.Drive {
			r.Held = append(r.Held, fmt.Sprintf("GPIO%d %s (%s)", d.Pin, map[bool]string{true: "high", false: "low"}[d.High], d.Use))
		}
		for _, p := range slices.Sorted(maps.Keys(b.Taken)) {
			r.Taken = append(r.Taken, fmt.Sprintf("GPIO%d (%s)", p, b.Taken[p]))
		}
		rows = append(rows, r)
	}
	return rows
}

func lightText(l gpio.BoardLight) string {
	if l.Driver == "" || l.Driver == gpio.LightNone {
		return ""
	}
	text := string(l.Driver)
	if len(l.Pins) > 0 {
		text += " on GPIO" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.Pins)), ", GPIO"), "[]")
	}
	if l.SPI != "" {
		text += " on SPI " + l.SPI
	}
	if l.Sysfs != "" {
		text += " " + l.Sysfs
	}
	if l.Count > 1 {
		text += fmt.Sprintf(", %d LEDs", l.Count)
	}
	if l.Invert {
		text += ", lit when low"
	}
	if l.Power != 0 {
		text += fmt.Sprintf(", power GPIO%d", l.Power)
	}
	return text
}
