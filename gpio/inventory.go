package gpio

import (
	"fmt"
	"slices"
)

// Inventory is what conch gpio list shows.
type Inventory struct {
	Chips  []ChipRow  `json:"chips"`
	Header string     `json:"header,omitempty"` // label of the chip whose lines are Pins
	Pins   []PinRow   `json:"pins"`
	Inputs []InputRow `json:"inputs"`
	Denied int        `json:"inputs_denied"` // input devices that may not be read
	Seen   Seen       `json:"seen"`
	Error  string     `json:"error,omitempty"` // why there are no chips
}

// ChipRow is one GPIO chip.
type ChipRow struct {
	Label string `json:"label"`
	Name  string `json:"name"`
	Lines int    `json:"lines"`
}

// PinRow is one pin of the header.
type PinRow struct {
	Pin      int    `json:"pin"`
	Name     string `json:"name"`
	Consumer string `json:"consumer,omitempty"`
	Used     bool   `json:"used"`
	Output   bool   `json:"output"`
	Bias     string `json:"bias"`
	Level    string `json:"level"` // high, low; empty: not looked at
	Use      string `json:"use,omitempty"`
	Free     bool   `json:"free"` // a button or a light may go here
}

// InputRow is one input device that could be the button.
type InputRow struct {
	Name string   `json:"name"`
	Link string   `json:"link,omitempty"`
	Keys []string `json:"keys"`
}

// InventoryOptions say what to look at.
type InventoryOptions struct {
	Chip   string         // label; empty: the header's
	Uses   map[int]string // pins that the configuration uses, and what for
	Board  string         // whose pins are not free
	Levels bool           // take the free lines for a moment to read them: some kernels make inputs of them for it
	Detect DetectOptions
}

// Inspect lists what there is. It takes no line unless Levels is set.
func Inspect(o InventoryOptions) Inventory { return host.inspect(o) }

func (k *kernel) inspect(o InventoryOptions) Inventory {
	all := Inventory{Chips: []ChipRow{}, Pins: []PinRow{}, Inputs: []InputRow{}, Seen: Detect(o.Detect)}
	var devices []InputDevice
	devices, all.Denied = InputDevices(k.dev)
	for _, d := range devices {
		row := InputRow{Name: d.Name, Link: d.Link, Keys: []string{}}
		for code := uint16(1); code <= keyMax && !d.Typed; code++ {
			if d.has(code) {
				row.Keys = append(row.Keys, keyName(code))
			}
		}
		if len(row.Keys) > 0 {
			all.Inputs = append(all.Inputs, row)
		}
	}
	chips, err := k.chips()
	if err != nil {
		all.Error = err.Error()
		return all
	}
	for _, c := range chips {
		defer c.Close()
		all.Chips = append(all.Chips, ChipRow{c.Label, c.Name, c.Lines})
		if all.Header == "" && (c.Label == o.Chip || o.Chip == "" && slices.Contains(headers, c.Label)) {
			all.Header = c.Label
			all.Pins = c.pins(o)
		}
	}
	if all.Header == "" {
		_, err := k.find(o.Chip)
		all.Error = fmt.Sprint(err)
	}
	return all
}

func (c *Chip) pins(o InventoryOptions) []PinRow {
	board, _ := FindBoard(o.Board)
	rows := make([]PinRow, 0, headerPins)
	for pin := range min(headerPins, c.Lines) {
		info, err := c.line(pin)
		if err != nil {
			continue
		}
		r := PinRow{Pin: pin, Name: info.Name, Consumer: info.Consumer, Used: info.Used, Output: info.Output, Bias: info.Bias.String(), Use: o.Uses[pin]}
		if info.Bias == BiasAuto {
			r.Bias = "as it was"
		}
		for _, use := range []func(int) (string, bool){SoundPin, board.Uses, boardEEPROM} {
			if text, taken := use(pin); taken && r.Use == "" {
				r.Use = text
			}
		}
		r.Free = !r.Used && r.Use == ""
		if o.Levels && r.Free {
			r.Level = c.peek(info.Offset)
		}
		rows = append(rows, r)
	}
	return rows
}

// boardEEPROM: the two pins that are for the boards' memory and nothing else (Raspberry Pi HAT specification).
func boardEEPROM(pin int) (string, bool) {
	return "memory of the boards", pin == 0 || pin == 1
}

// peek reads a line as it is: neither input nor output nor a bias is asked for.
func (c *Chip) peek(offset int) string {
	f, err := c.request([]int{offset}, 0, 0)
	if err != nil {
		return ""
	}
	defer f.close()
	bits, err := f.read()
	switch {
	case err != nil:
		return ""
	case bits&1 == 1:
		return "high"
	}
	return "low"
}
