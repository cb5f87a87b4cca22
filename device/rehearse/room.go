package rehearse

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"conch/companions"
	"conch/companions/round"
	"conch/device/config"
	"conch/device/printable"
)

// Room is who lives where in a rehearsal. A person is at every device.
type Room struct {
	Devices   []Device
	Strangers bool // they begin unpaired, each with a state of its own
}

// Device is one device with its companions.
type Device struct {
	Name  string
	Cards []companions.Card
}

// Bounds of a room file.
const (
	maxRoomFile       = 64 << 10 // bytes
	maxRoomDevices    = 16
	maxRoomCompanions = 8 // on one device
	maxCardBytes      = 64 << 10
)

// deviceName: a word of a script and part of a file's name. A regexp that says so takes a megabyte, for as long as the program runs.
func deviceName(s string) bool {
	runes := []rune(s)
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return len(runes) > 0 && len(runes) <= 40 && plain(runes[0]) &&
		!slices.ContainsFunc(runes, func(r rune) bool { return !plain(r) && r != '-' && r != '_' })
}

// DefaultRehearsalRoom is kitchen with Ada, bedroom with Ben, hall with Cleo (APPLIANCE.md 4).
func DefaultRoom() Room {
	cards := companions.DefaultCards()
	var r Room
	for i, name := range []string{"kitchen", "bedroom", "hall"} {
		r.Devices = append(r.Devices, Device{Name: name, Cards: cards[i : i+1]})
	}
	return r
}

// ReadRehearsalRoom reads a room file:
//
//	unpaired = true                  # they begin as strangers, and pair by the script
//
//	[[device]]
//	name = "kitchen"
//	companions = ["Ada", "Cleo"]     # of those that come with conch
//	cards = ["mia.toml"]             # files, looked up beside this one
func ReadRoom(path string) (Room, error) {
	data, _, err := config.ReadBounded(path, maxRoomFile)
	if err != nil {
		return Room{}, fmt.Errorf("%s: %w", path, err)
	}
	var file struct {
		Unpaired bool
		Device   []struct {
			Name       string
			Companions []string
			Cards      []string
		}
	}
	meta, err := config.Decode(string(data), &file)
	if err != nil {
		line, say := config.TOML(string(data), err)
		return Room{}, fmt.Errorf("%s:%d: %s", path, line, say)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Room{}, fmt.Errorf("%s: %s: unknown key; a room file has unpaired, and [[device]] with name, companions and cards", path,
			printable.Text(unknown[0].String()))
	}
	if n := len(file.Device); n == 0 || n > maxRoomDevices {
		return Room{}, fmt.Errorf("%s: has %d devices ([[device]]); must be 1 to %d", path, n, maxRoomDevices)
	}
	room := Room{Strangers: file.Unpaired}
	for i, f := range file.Device {
		d := Device{Name: f.Name}
		bad := func(format string, args ...any) (Room, error) {
			return Room{}, fmt.Errorf("%s: device %d (%s): %w", path, i+1, printable.Text(f.Name), fmt.Errorf(format, args...))
		}
		if !deviceName(f.Name) {
			return bad("name = %q: must be one word of letters, digits, - and _, at most 40", f.Name)
		}
		if slices.ContainsFunc(room.Devices, func(o Device) bool { return strings.EqualFold(o.Name, f.Name) }) {
			return bad("name = %q: another device has it", f.Name)
		}
		for _, name := range f.Companions {
			card, ok := companions.FindCard(companions.DefaultCards(), name)
			if !ok {
				return bad("companions: unknown %q: must be one of %s, or a file in cards", name,
					joined(companions.DefaultCards(), ", ", func(c companions.Card) string { return c.Name }))
			}
			d.Cards = append(d.Cards, card)
		}
		for _, name := range f.Cards {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
			data, _, err := config.ReadBounded(name, maxCardBytes)
			if err != nil {
				return bad("cards: %s: %w", name, err)
			}
			card, err := companions.ParseCard(name, data)
			if err != nil {
				return bad("cards: %w", err)
			}
			d.Cards = append(d.Cards, card)
		}
		if n := len(d.Cards); n == 0 || n > maxRoomCompanions {
			return bad("has %d companions (companions, cards); must be 1 to %d", n, maxRoomCompanions)
		}
		for k, c := range d.Cards {
			if slices.ContainsFunc(d.Cards[:k], func(o companions.Card) bool { return o.ID == c.ID }) {
				return bad("companion %s is there twice", c.ID)
			}
		}
		room.Devices = append(room.Devices, d)
	}
	return room, nil
}

// names are what a script of this room may name.
func (r Room) names(dir string) *names {
	n := &names{dir: dir, strangers: r.Strangers}
	for _, d := range r.Devices {
		n.devices = append(n.devices, d.Name)
		for _, c := range d.Cards {
			if !slices.Contains(n.companions, string(c.ID)) {
				n.companions = append(n.companions, string(c.ID))
			}
		}
	}
	return n
}

// String is one line: who lives where.
func (r Room) String() string {
	return joined(r.Devices, "; ", func(d Device) string {
		return d.Name + ": " + joined(d.Cards, " and ", func(c companions.Card) string {
			if c.Role == "" {
				return c.Name
			}
			return c.Name + ", " + c.Role
		})
	})
}

// called is a companion's name; its id where no card has it (it was renamed in the room).
func (r Room) called(id round.CompanionID) string {
	for _, d := range r.Devices {
		for _, c := range d.Cards {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return string(id)
}
