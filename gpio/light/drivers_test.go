package light

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"periph.io/x/conn/v3/spi/spitest"

	"conch/gpio"
)

// wire is a pin that remembers its level, and tells of each change.
type wire struct {
	L    bool
	seen func(high bool) // before it changes
	gone error
	shut bool
}

func (w *wire) Set(high bool) error {
	if w.gone != nil {
		return w.gone
	}
	if w.seen != nil {
		w.seen(high)
	}
	w.L = high
	return nil
}

func (w *wire) String() string { return "wire" }
func (w *wire) Close() error   { w.shut = true; return nil }

func frame(brightness uint8, c ...Colour) Frame { return Frame{LEDs: c, Brightness: brightness} }

func TestLEDOnAPin(t *testing.T) {
	for _, invert := range []bool{false, true} {
		w := &wire{}
		l := &led{w, invert}
		for _, c := range []struct {
			f    Frame
			want bool
		}{{frame(255, White), true}, {frame(255, Colour{}), false}, {frame(1, Colour{B: 1}), true}, {frame(0, White), false}} {
			if err := l.Set(c.f); err != nil {
				t.Fatal(err)
			}
			if got := w.L != invert; got != c.want {
				t.Errorf("invert %v: %v is lit: %v; want %v", invert, c.f, got, c.want)
			}
		}
		if err := errors.Join(l.Set(frame(255, White)), l.Close()); err != nil || w.L != invert || !w.shut {
			t.Errorf("invert %v: closed: %v, pin high %v, given back %v; want dark and given back", invert, err, w.L, w.shut)
		}
	}
}

func TestRGBOnPins(t *testing.T) {
	for _, invert := range []bool{false, true} {
		r, g, b := &wire{}, &wire{}, &wire{}
		l := &rgb{r, g, b, invert}
		for _, c := range []struct {
			f    Frame
			want string
		}{
			{frame(255, White), "rgb"}, {frame(102, Red), "r"}, {frame(255, Amber), "rg"}, {frame(255, Colour{}), ""},
			{frame(0, White), ""}, {frame(255, Colour{0, 35, 70}), "b"}, {frame(255, Colour{10, 10, 10}), "rgb"}, // dim has no meaning here
		} {
			if err := l.Set(c.f); err != nil {
				t.Fatal(err)
			}
			got := ""
			for name, w := range map[string]*wire{"r": r, "g": g, "b": b} {
				if w.L != invert {
					got += name
				}
			}
			if !sameLetters(got, c.want) {
				t.Errorf("invert %v: %v lights %q; want %q", invert, c.f, got, c.want)
			}
		}
		_ = l.Set(frame(255, White))
		if err := l.Close(); err != nil || r.L != invert || g.L != invert || b.L != invert {
			t.Errorf("invert %v: not dark after Close (%v)", invert, err)
		}
	}
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// recorded is SPI that keeps what was written.
type recorded struct{ spitest.Record }

func (r *recorded) written() (all [][]byte) {
	for _, o := range r.Ops {
		all = append(all, o.W)
	}
	return all
}

func TestRowOfAPA102(t *testing.T) {
	port := &recorded{}
	r, err := newRow(port, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Shape{Pixels: 3, Colour: true, Dim: true}); r.Shape() != want {
		t.Errorf("shape %+v; want %+v", r.Shape(), want)
	}
	for _, f := range []Frame{frame(255, White, Red, Colour{}), frame(102, White, White, White), frame(13, White, Colour{}, Colour{})} {
		if err := r.Set(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// Start of frame, then for each LED 0xE0 and the brightness of 31, blue, green, red, then the end (APA102's data sheet).
	want := [][]byte{
		{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xe1, 0, 0, 0, 0xff},
		{0, 0, 0, 0, 0xff, 0x22, 0x22, 0x22, 0xff, 0x22, 0x22, 0x22, 0xff, 0x22, 0x22, 0x22, 0xff},
		{0, 0, 0, 0, 0xe1, 0x1f, 0x1f, 0x1f, 0xe1, 0, 0, 0, 0xe1, 0, 0, 0, 0xff},
		{0, 0, 0, 0, 0xe1, 0, 0, 0, 0xe1, 0, 0, 0, 0xe1, 0, 0, 0, 0xff},
	}
	if got := port.written(); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("written\n%x; want\n%x", got, want)
	}
}

// A companion's colour must be the same colour in the dark of quiet hours.
func TestDimColoursKeepTheirHue(t *testing.T) {
	port := &recorded{}
	r, err := newRow(port, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	share := func(brightness uint8) float64 {
		if err := r.Set(frame(brightness, Colour{0, 200, 255})); err != nil {
			t.Fatal(err)
		}
		w := port.Ops[len(port.Ops)-1].W
		return float64(w[6]) / float64(w[5]) // green to blue
	}
	if day, night := share(102), share(13); night < day*0.9 || night > day*1.1 {
		t.Errorf("green to blue %.3f by day, %.3f in quiet hours; want the same", day, night)
	}
}

func TestRowOnTwoPins(t *testing.T) {
	data, clock := &wire{}, &wire{}
	var bits []bool
	clock.seen = func(high bool) { // the LED looks at data when the clock rises
		if high && !clock.L {
			bits = append(bits, data.L)
		}
	}
	r, err := newRow(&bitbang{data: data, clock: clock}, 2, 2*tick)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Set(frame(255, Colour{1, 128, 255}, White)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(bits)/8)
	for i, b := range bits {
		if b {
			got[i/8] |= 0x80 >> (i % 8)
		}
	}
	port := &recorded{}
	spi, err := newRow(port, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := spi.Set(frame(255, Colour{1, 128, 255}, White)); err != nil {
		t.Fatal(err)
	}
	if want := port.Ops[0].W; len(bits)%8 != 0 || !bytes.Equal(got, want) {
		t.Errorf("by hand\n%x; by SPI\n%x", got, want)
	}
	if r.Shape().tick() != 2*tick {
		t.Errorf("a frame each %v; want %v, for each costs hundreds of calls", r.Shape().tick(), 2*tick)
	}
	clock.gone = errors.New("no such device")
	if err := r.Set(frame(255, White, White)); !errors.Is(err, clock.gone) {
		t.Errorf("a clock that is gone: %v; want it told", err)
	}
	if err := r.Close(); !data.shut || !clock.shut {
		t.Errorf("pins not given back (%v)", err)
	}
}

func TestSPIThatIsNotThere(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct{ spi, want string }{
		{"0.0", "switch SPI on"}, {"", "must be like 0.0"}, {"a.b", "must be like 0.0"},
	} {
		_, err := Open(Config{Driver: gpio.LightAPA102, SPI: c.spi, Count: 3, Root: root})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("SPI %q: %v; want %q", c.spi, err, c.want)
		}
	}
}

// tree is a /sys/class/leds of files: name, then file and content.
func tree(t *testing.T, leds map[string]map[string]string) (root string, read func(led, file string) string) {
	t.Helper()
	root = t.TempDir()
	class := filepath.Join(root, "sys/class/leds")
	for name, files := range leds {
		if err := os.MkdirAll(filepath.Join(class, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(class, name, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root, func(led, file string) string {
		b, err := os.ReadFile(filepath.Join(class, led, file))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
}

func TestKernelLED(t *testing.T) {
	root, read := tree(t, map[string]map[string]string{
		"ACT": {"brightness": "0\n", "max_brightness": "255\n", "trigger": "none rc-feedback [mmc0] heartbeat\n"},
		"PWR": {"brightness": "255\n", "max_brightness": "255\n", "trigger": "[default-on] none\n"},
	})
	d, err := Open(Config{Driver: gpio.LightSysfs, Sysfs: "ACT", Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Shape{Pixels: 1, Dim: true}); d.Shape() != want || read("ACT", "trigger") != "none" {
		t.Errorf("shape %+v, trigger %s; want %+v, none", d.Shape(), read("ACT", "trigger"), want)
	}
	for _, c := range []struct {
		f    Frame
		want string
	}{{frame(255, White), "255"}, {frame(102, White), "34"}, {frame(255, Colour{0, 128, 0}), "56"}, {frame(1, White), "1"}, {frame(255, Colour{}), "0"}} {
		if err := d.Set(c.f); err != nil {
			t.Fatal(err)
		}
		if got := read("ACT", "brightness"); got != c.want {
			t.Errorf("%v: brightness %s; want %s", c.f, got, c.want)
		}
	}
	if err := errors.Join(d.Set(frame(255, White)), d.Close()); err != nil {
		t.Fatal(err)
	}
	if read("ACT", "brightness") != "0" || read("ACT", "trigger") != "mmc0" {
		t.Errorf("after Close brightness %s, trigger %s; want 0, mmc0", read("ACT", "brightness"), read("ACT", "trigger"))
	}
	if read("PWR", "brightness") != "255" || !strings.Contains(read("PWR", "trigger"), "[default-on]") {
		t.Error("an LED that was not named was touched")
	}
}

func TestKernelLEDsWithColours(t *testing.T) {
	one := map[string]string{"brightness": "0", "max_brightness": "255", "trigger": "[none]"}
	multi := map[string]string{"brightness": "0", "max_brightness": "200", "multi_index": "green red blue", "multi_intensity": "0 0 0"}
	for _, c := range []struct {
		name, pattern string
		leds          map[string]map[string]string
		want          Shape
		check         map[string]string // led/file: value after a frame of amber
	}{
		{"multicolour", "rgb:*", map[string]map[string]string{"rgb:status": multi}, Shape{Pixels: 1, Colour: true, Dim: true},
			map[string]string{"rgb:status/multi_intensity": "72 200 0", "rgb:status/brightness": "200"}},
		{"by name", "board:*", map[string]map[string]string{"board:red": one, "board:green": one, "board:blue": one}, Shape{Pixels: 1, Colour: true, Dim: true},
			map[string]string{"board:red/brightness": "255", "board:green/brightness": "92", "board:blue/brightness": "0"}},
		{"AIY's chip", "ktd202x:*", map[string]map[string]string{"ktd202x:led1": one, "ktd202x:led2": one, "ktd202x:led3": one, "ktd202x:led4": one},
			Shape{Pixels: 1, Colour: true, Dim: true},
			map[string]string{"ktd202x:led1/brightness": "255", "ktd202x:led2/brightness": "92", "ktd202x:led3/brightness": "0", "ktd202x:led4/brightness": "0"}},
		{"a row", "led*", map[string]map[string]string{"led1": one, "led2": one, "led10": one}, Shape{Pixels: 3, Dim: true},
			map[string]string{"led10/brightness": "255"}},
	} {
		root, read := tree(t, c.leds)
		d, err := Open(Config{Driver: gpio.LightSysfs, Sysfs: c.pattern, Root: root})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d.Shape() != c.want {
			t.Errorf("%s: shape %+v; want %+v", c.name, d.Shape(), c.want)
			continue
		}
		leds := slices.Repeat([]Colour{Amber}, c.want.Pixels)
		if err := d.Set(frame(255, leds...)); err != nil {
			t.Error(err)
		}
		for file, want := range c.check {
			led, file, _ := strings.Cut(file, "/")
			if got := read(led, file); got != want {
				t.Errorf("%s: %s of %s is %q; want %q", c.name, file, led, got, want)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKernelLEDsInOrder(t *testing.T) {
	names := []string{"led10", "led2", "led1", "a"}
	slices.SortFunc(names, byNumber)
	if got := fmt.Sprint(names); got != "[a led1 led2 led10]" {
		t.Errorf("sorted %s; want [a led1 led2 led10]", got)
	}
}

func TestKernelLEDsThatAreNoLight(t *testing.T) {
	root, _ := tree(t, map[string]map[string]string{
		"ACT":  {"brightness": "0", "max_brightness": "1", "trigger": "[none]"},
		"none": {"brightness": "0", "max_brightness": "x"},
	})
	for _, c := range []struct{ pattern, want string }{
		{"PWR", "ACT, none"}, {"", "must be a pattern"}, {"../*", "must be a pattern"}, {"[", "syntax error"}, {"none", "max_brightness"},
	} {
		_, err := Open(Config{Driver: gpio.LightSysfs, Sysfs: c.pattern, Root: root})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("pattern %q: %v; want %q", c.pattern, err, c.want)
		}
	}
	d, err := Open(Config{Driver: gpio.LightSysfs, Sysfs: "ACT", Root: root})
	if err != nil || d.Shape().Dim {
		t.Errorf("an LED that is on or off: %v, dim %v; want it taken, not dim", err, d.Shape().Dim)
	}
	if err := os.RemoveAll(filepath.Join(root, "sys/class/leds/ACT")); err != nil {
		t.Fatal(err)
	}
	if err := d.Set(frame(255, White)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an LED that is gone: %v; want it told", err)
	}
}

func TestWhatIsNoLight(t *testing.T) {
	for _, c := range []Config{{Driver: "laser"}, {Driver: gpio.LightGPIO}, {Driver: gpio.LightRGB, Pins: []int{1}}, {Driver: gpio.LightAPA102GPIO, Pins: []int{5, 6, 7}}} {
		if _, err := Open(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v; want %v", c, err, ErrConfig)
		}
	}
	if _, err := Open(Config{Driver: gpio.LightGPIO, Pins: []int{18}}); !errors.Is(err, gpio.ErrPinTaken) {
		t.Errorf("pin 18: %v; want %v", err, gpio.ErrPinTaken)
	}
	if _, err := Open(Config{Driver: gpio.LightGPIO, Pins: []int{25}, Chip: "there-is-none"}); !errors.Is(err, gpio.ErrNoChip) {
		t.Errorf("a chip that is not there: %v; want %v", err, gpio.ErrNoChip)
	}
}
