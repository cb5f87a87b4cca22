package gpio

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"conch/device/system"
)

// What the machine shows of its board. It is proposed and never taken: seven boards share GPIO17 and one of them
// disagrees on what pressed means, and four boards share a card (gpio/FACTS.md 3).
//
//	/proc/device-tree/hat/{vendor,product,product_id}   the board says who it is
//	/sys/class/leds                                     lights that only one board has
//	/proc/asound/cards                                  a card that a few boards share
//	/sys/bus/i2c/devices, and bus 1 if asked            a chip that many boards share
//	/proc/bus/input/devices                             a hook switch

// Weights of evidence. One of a kind that says more outweighs all of the kinds below it.
const (
	weightEEPROM = 1000
	weightLED    = 100
	weightHook   = 100
	weightCard   = 30
	weightI2C    = 3
)

// Seen is what was found, whether a board of the table fits it or not.
type Seen struct {
	EEPROM    EEPROM     `json:"eeprom"`
	Cards     []string   `json:"cards"`
	LEDs      []string   `json:"leds"`
	I2C       []int      `json:"i2c"`
	Hooks     []string   `json:"hooks"` // input devices with a hook switch
	Proposals []Proposal `json:"proposals"`
}

// Proposal is a board that could be here, the likeliest first.
type Proposal struct {
	Board    string   `json:"board"`
	Title    string   `json:"title"`
	Sure     bool     `json:"sure"` // the board says so itself, and no other
	Evidence []string `json:"evidence"`
	Note     string   `json:"note,omitempty"`

	weight int
}

// Setting is the line to write below [device].
func (p Proposal) Setting() string { return fmt.Sprintf("board = %q", p.Board) }

// DetectOptions say where to look. The zero value is this machine, without touching the I2C bus.
type DetectOptions struct {
	Root     string // before /proc, /sys and /dev
	ProbeI2C bool   // ask on the I2C bus for the addresses of the table: a write of no bytes, as i2cdetect does
}

// Detect looks, changes nothing, and takes no line.
func Detect(o DetectOptions) Seen {
	at := func(p string) string { return filepath.Join(o.Root, p) }
	s := Seen{
		EEPROM: EEPROM{Vendor: property(at("/proc/device-tree/hat/vendor")), Product: property(at("/proc/device-tree/hat/product")),
			ID: property(at("/proc/device-tree/hat/product_id"))},
		Cards: SoundCards(o.Root), LEDs: []string{}, I2C: boundI2C(at("/sys/bus/i2c/devices")), Hooks: hooks(at("/proc/bus/input/devices")),
	}
	leds, _ := os.ReadDir(at("/sys/class/leds"))
	for _, l := range leds {
		s.LEDs = append(s.LEDs, l.Name())
	}
	if o.ProbeI2C {
		s.I2C = append(s.I2C, probeI2C(at("/dev/i2c-1"), s.I2C)...)
	}
	s.Proposals = s.propose(Boards)
	return s
}

// propose ranks the boards that something speaks for.
func (s Seen) propose(boards []Board) []Proposal {
	all := []Proposal{}
	for _, b := range boards {
		p := Proposal{Board: b.Name, Title: b.Title, Note: b.Note}
		evidence := func(weight int, format string, args ...any) {
			p.weight += weight
			p.Evidence = append(p.Evidence, fmt.Sprintf(format, args...))
		}
		if b.EEPROM.in(s.EEPROM) {
			evidence(weightEEPROM, "the board's memory says %s", s.EEPROM)
		}
		for _, led := range s.LEDs {
			if ok, _ := path.Match(b.Light.Sysfs, led); ok {
				evidence(weightLED, "there is the light %s", led)
				break
			}
		}
		for _, h := range s.Hooks {
			if b.Keys {
				evidence(weightHook, "%q has a hook switch", h)
			}
		}
		for _, c := range b.Cards {
			if slices.Contains(s.Cards, c) {
				evidence(weightCard, "the sound card %s is up", c)
			}
		}
		for _, a := range b.I2C {
			if slices.Contains(s.I2C, a) {
				evidence(weightI2C, "a chip answers at I2C address %#02x", a)
			}
		}
		if p.weight > 0 {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Proposal) int { return b.weight - a.weight })
	if len(all) > 0 && all[0].weight >= weightEEPROM && (len(all) == 1 || all[1].weight < weightEEPROM) {
		all[0].Sure = true
	}
	return all
}

// in says whether an EEPROM says what e says. An e that says nothing is in none.
func (e EEPROM) in(found EEPROM) bool {
	part := func(want, have string) bool { return strings.Contains(strings.ToLower(have), strings.ToLower(want)) }
	return e != EEPROM{} && part(e.Vendor, found.Vendor) && part(e.Product, found.Product) && (e.ID == "" || strings.EqualFold(e.ID, found.ID))
}

func (e EEPROM) String() string {
	return strings.Join(slices.DeleteFunc([]string{e.Vendor, e.Product, e.ID}, func(s string) bool { return s == "" }), ", ")
}

// property reads a string of the device tree, which ends with a zero.
func property(path string) string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 256 {
		return "" // no HAT, or one without a memory
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return -1
		}
		return r
	}, string(data))
}

// SoundCards are the ids of the ALSA cards that are up. root is put before /proc; empty on a real machine.
func SoundCards(root string) []string {
	data, err := os.ReadFile(filepath.Join(root, "/proc/asound/cards"))
	if err != nil {
		return nil // no sound in this kernel
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		// " 1 [wm8960soundcard]: simple-card - wm8960-soundcard", and a second line of its long name
		if _, rest, ok := strings.Cut(line, "["); ok && strings.Contains(rest, "]:") {
			id, _, _ := strings.Cut(rest, "]")
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// boundI2C are the addresses on bus 1 that a driver has: "1-001a".
func boundI2C(dir string) (all []int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if bus, address, ok := strings.Cut(e.Name(), "-"); ok && bus == "1" {
			if a, err := strconv.ParseInt(address, 16, 32); err == nil {
				all = append(all, int(a))
			}
		}
	}
	return all
}

// probeI2C asks for the addresses of the table that nobody has yet, and for no others: a write of no bytes is what a chip can
// bear that does not expect us, and the codecs of the table cannot be read from.
func probeI2C(path string, known []int) (found []int) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	tried := map[int]bool{}
	for _, b := range Boards {
		for _, a := range b.I2C {
			if !tried[a] && !slices.Contains(known, a) && answersI2C(int(f.Fd()), a) {
				found = append(found, a)
			}
			tried[a] = true
		}
	}
	return found
}

// i2cSMBus is struct i2c_smbus_ioctl_data (linux/i2c-dev.h).
type i2cSMBus struct {
	write   uint8
	command uint8
	size    uint32
	data    unsafe.Pointer
}

func answersI2C(fd, address int) bool {
	const slave, smbus, quick = 0x0703, 0x0720, 0 // I2C_SLAVE, I2C_SMBUS, I2C_SMBUS_QUICK
	if err := system.IoctlNumber(uintptr(fd), slave, uintptr(address)); err != nil {
		return errors.Is(err, syscall.EBUSY) // a driver has it: somebody answered it once
	}
	return host.ioctl(fd, smbus, unsafe.Pointer(&i2cSMBus{size: quick})) == nil
}

const keyPhone = 169

// hooks are the input devices with a hook switch, from a file that everybody may read:
//
//	N: Name="Jabra SPEAK 510 USB"
//	B: KEY=100000000 0 0      words of the kernel's long, the highest first
func hooks(path string) (names []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	name := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if n, ok := strings.CutPrefix(line, "N: Name="); ok {
			name = strings.Trim(n, `"`)
		}
		bits, ok := strings.CutPrefix(line, "B: KEY=")
		words := strings.Fields(bits)
		if i := len(words) - 1 - keyPhone/strconv.IntSize; ok && i >= 0 {
			if w, err := strconv.ParseUint(words[i], 16, 64); err == nil && w>>(keyPhone%strconv.IntSize)&1 == 1 {
				names = append(names, name)
			}
		}
	}
	return names
}
