package light

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// LEDs that the kernel drives, in /sys/class/leds (Documentation/leds/leds-class.rst and leds-class-multicolor.rst of the
// kernel). Three that are called red, green and blue are one LED with colours; so are those of one chip that AIY's driver
// numbers.

// kernelLED is one directory below /sys/class/leds.
type kernelLED struct {
	dir     string
	most    int    // max_brightness
	parts   []byte // colours of multi_index, as r, g, b, or 0 for another; nil: it has one
	colour  byte   // 'r', 'g', 'b' by its name; 0: whatever it has
	trigger string // what it showed before; empty: nothing
}

// sysfs is one or more of them.
type sysfs struct {
	leds  []kernelLED
	pixel [][]int // of each pixel: one LED, or those of red, green and blue
	shape Shape
	name  string
}

func openSysfs(c Config) (Driver, error) {
	class := filepath.Join("/", c.Root, "sys/class/leds")
	if c.Sysfs == "" || strings.Contains(c.Sysfs, "/") {
		return nil, fmt.Errorf("light: light.sysfs = %q: %w: must be a pattern of names below %s", c.Sysfs, ErrConfig, class)
	}
	dirs, err := filepath.Glob(filepath.Join(class, c.Sysfs))
	if err != nil {
		return nil, fmt.Errorf("light: light.sysfs = %q: %w: %w", c.Sysfs, ErrConfig, err)
	}
	if len(dirs) == 0 {
		entries, _ := os.ReadDir(class) // none is an answer
		var there []string
		for _, e := range entries {
			there = append(there, e.Name())
		}
		if len(there) == 0 {
			return nil, fmt.Errorf("light: no LED called %q, nor any other in %s; load its driver, as a board's overlay in config.txt does", c.Sysfs, class)
		}
		return nil, fmt.Errorf("light: no LED called %q in %s, only %s; name one of them in light.sysfs, or load its driver", c.Sysfs, class,
			strings.Join(there, ", "))
	}
	slices.SortFunc(dirs, byNumber)
	s := &sysfs{}
	for _, dir := range dirs {
		led, err := takeLED(dir)
		if err != nil {
			_ = s.Close() // those before it
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
				err = fmt.Errorf("%w; this user may not set LEDs (the package's udev rule gives them to the group gpio: install it and restart)", err)
			}
			return nil, fmt.Errorf("light: %w", err)
		}
		s.leds = append(s.leds, led)
	}
	s.arrange()
	s.name = strings.TrimPrefix(dirs[0], class+"/")
	if n := len(dirs) - 1; n > 0 {
		s.name += fmt.Sprintf(" and %d more", n)
	}
	return s, nil
}

// byNumber puts led2 before led10.
func byNumber(a, b string) int {
	x, y := number.FindString(a), number.FindString(b)
	m, _ := strconv.Atoi(x)
	n, _ := strconv.Atoi(y)
	if strings.TrimSuffix(a, x) == strings.TrimSuffix(b, y) && m != n {
		return m - n
	}
	return strings.Compare(a, b)
}

var (
	number  = regexp.MustCompile(`[0-9]*$`)
	colours = regexp.MustCompile(`(?i)(?:^|[:_-])(red|green|blue|[rgb])[0-9]*(?:$|[:_-])`)
	aiy     = map[string]byte{"ktd202x:led1": 'r', "ktd202x:led2": 'g', "ktd202x:led3": 'b'}
)

// takeLED stops whatever the LED shows.
func takeLED(dir string) (kernelLED, error) {
	l := kernelLED{dir: dir, colour: aiy[filepath.Base(dir)]}
	if m := colours.FindStringSubmatch(filepath.Base(dir)); m != nil {
		l.colour = strings.ToLower(m[1])[0]
	}
	text, err := os.ReadFile(filepath.Join(dir, "max_brightness"))
	if err == nil {
		l.most, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil || l.most < 1 {
		return l, fmt.Errorf("%s: max_brightness: %w", dir, errors.Join(err, errors.New("not an LED")))
	}
	if text, err := os.ReadFile(filepath.Join(dir, "multi_index")); err == nil {
		for _, name := range strings.Fields(string(text)) {
			part := map[string]byte{"red": 'r', "green": 'g', "blue": 'b'}[name]
			l.parts = append(l.parts, part)
		}
	}
	if err := l.write("brightness", "0"); err != nil { // first: it says whether we may
		return l, err
	}
	if text, err := os.ReadFile(filepath.Join(dir, "trigger")); err == nil { // the one in brackets is in force
		if _, rest, ok := strings.Cut(string(text), "["); ok {
			l.trigger, _, _ = strings.Cut(rest, "]")
		}
	}
	if l.trigger == "none" || l.trigger == "" {
		l.trigger = ""
		return l, nil
	}
	return l, l.write("trigger", "none")
}

func (l kernelLED) write(file, value string) error { return put(l.dir, file, value) }

// put writes to a file of the kernel's; it makes none.
func put(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// arrange makes pixels of LEDs.
func (s *sysfs) arrange() {
	of := map[byte][]int{}
	multi, most := 0, 0
	for i, l := range s.leds {
		of[l.colour] = append(of[l.colour], i)
		most = max(most, l.most)
		if l.parts != nil {
			multi++
		}
	}
	s.shape.Dim = most > 1
	r, g, b := of['r'], of['g'], of['b']
	switch {
	case multi == len(s.leds):
		s.shape.Colour = true
		for i := range s.leds {
			s.pixel = append(s.pixel, []int{i})
		}
	case len(r) > 0 && len(r) == len(g) && len(g) == len(b): // LEDs without a colour beside them stay dark
		s.shape.Colour = true
		for i := range r {
			s.pixel = append(s.pixel, []int{r[i], g[i], b[i]})
		}
	default:
		for i := range s.leds {
			s.pixel = append(s.pixel, []int{i})
		}
	}
	s.shape.Pixels = len(s.pixel)
}

func (s *sysfs) Shape() Shape   { return s.shape }
func (s *sysfs) String() string { return "LED " + s.name }

func (s *sysfs) Set(f Frame) error {
	var errs []error
	for i, of := range s.pixel {
		c := f.LEDs[i]
		if len(of) == 3 {
			for k, v := range []uint8{c.R, c.G, c.B} {
				errs = append(errs, s.leds[of[k]].set(v, f.Brightness))
			}
			continue
		}
		errs = append(errs, s.leds[of[0]].show(c, f.Brightness))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("light: %w", err)
	}
	return nil
}

// show sets an LED by itself.
func (l kernelLED) show(c Colour, brightness uint8) error {
	if l.parts == nil {
		return l.set(c.brightest(), brightness)
	}
	values := make([]string, len(l.parts))
	for i, p := range l.parts {
		values[i] = strconv.Itoa(l.power(map[byte]uint8{'r': c.R, 'g': c.G, 'b': c.B}[p], brightness))
	}
	// multi_intensity counts from brightness on, which therefore is full.
	return errors.Join(l.write("multi_intensity", strings.Join(values, " ")), l.write("brightness", strconv.Itoa(l.most)))
}

// set sets an LED of one colour.
func (l kernelLED) set(v, brightness uint8) error {
	return l.write("brightness", strconv.Itoa(l.power(v, brightness)))
}

// power is v of 255 as the LED counts.
func (l kernelLED) power(v, brightness uint8) int {
	return int(math.Ceil(float64(l.most) * Linear(v, brightness)))
}

// Close gives the LEDs back to whatever used them before.
func (s *sysfs) Close() error {
	var errs []error
	for _, l := range s.leds {
		errs = append(errs, l.write("brightness", "0"))
		if l.trigger != "" {
			errs = append(errs, l.write("trigger", l.trigger))
		}
	}
	return errors.Join(errs...)
}
