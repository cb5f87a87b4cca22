package light

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/gpio"
)

// pi is a tree with one PWM, whose pin is 12 by the device tree; property names and values are those of the node.
func pi(t *testing.T, property, value string) (root string, read func(file string) string) {
	t.Helper()
	root = t.TempDir()
	chip := filepath.Join(root, "sys/class/pwm/pwmchip0")
	for name, text := range map[string]string{
		"sys/firmware/devicetree/base/soc/gpio@7e200000/pwm_pins/phandle":     "\x00\x00\x00\x2a",
		"sys/firmware/devicetree/base/soc/gpio@7e200000/pwm_pins/" + property: value,
		"sys/firmware/devicetree/base/soc/gpio@7e200000/other_pins/phandle":   "\x00\x00\x00\x2b",
		"sys/firmware/devicetree/base/soc/gpio@7e200000/other_pins/brcm,pins": "\x00\x00\x00\x0d",
		"sys/class/pwm/pwmchip0/device/of_node/pinctrl-0":                     "\x00\x00\x00\x2a",
		"sys/class/pwm/pwmchip0/export":                                       "",
		"sys/class/pwm/pwmchip0/unexport":                                     "",
		"sys/class/pwm/pwmchip0/pwm0/period":                                  "0",
		"sys/class/pwm/pwmchip0/pwm0/duty_cycle":                              "0",
		"sys/class/pwm/pwmchip0/pwm0/enable":                                  "0",
		"sys/class/pwm/pwmchip1/npwm":                                         "1",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, func(file string) string {
		b, err := os.ReadFile(filepath.Join(chip, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func TestPinOfThePWM(t *testing.T) {
	for _, c := range []struct {
		property, value string
		invert          bool
		half, dark      string
		enabled         string // after Close
	}{
		{"brcm,pins", "\x00\x00\x00\x0c", false, "133209", "0", "0"},
		{"brcm,pins", "\x00\x00\x00\x12\x00\x00\x00\x0c", true, "866791", "1000000", "1"},
		{"pins", "gpio18\x00gpio12\x00", false, "133209", "0", "0"},
	} {
		root, read := pi(t, c.property, c.value)
		d, err := Open(Config{Driver: gpio.LightGPIO, Pins: []int{12}, Invert: c.invert, Root: root})
		if err != nil {
			t.Errorf("%q: %v", c.value, err)
			continue
		}
		if want := (Shape{Pixels: 1, Dim: true}); d.Shape() != want || !strings.Contains(d.String(), "GPIO12 (PWM, pwmchip0)") {
			t.Errorf("%q: %s of shape %+v", c.value, d, d.Shape())
		}
		if read("pwm0/period") != "1000000" || read("pwm0/duty_cycle") != c.dark || read("pwm0/enable") != "1" {
			t.Errorf("%q: opened with period %s, duty %s, enabled %s", c.value, read("pwm0/period"), read("pwm0/duty_cycle"), read("pwm0/enable"))
		}
		if err := d.Set(frame(102, White)); err != nil || read("pwm0/duty_cycle") != c.half {
			t.Errorf("%q at 40 %%: duty %s, %v; want %s", c.value, read("pwm0/duty_cycle"), err, c.half)
		}
		if err := d.Close(); err != nil || read("pwm0/duty_cycle") != c.dark || read("pwm0/enable") != c.enabled {
			t.Errorf("%q closed: duty %s, enabled %s, %v; want %s, %s", c.value, read("pwm0/duty_cycle"), read("pwm0/enable"), err, c.dark, c.enabled)
		}
	}
}

// A pin that the PWM does not drive is taken as a pin.
func TestPinsThatAreNoPWM(t *testing.T) {
	root, _ := pi(t, "brcm,pins", "\x00\x00\x00\x0c")
	for _, pin := range []int{13, 25} { // 13 is another node's, 25 no PWM's at all
		if _, ok, err := openPWM(Config{Root: root}, pin); ok || err != nil {
			t.Errorf("pin %d: a PWM %v, %v; want none", pin, ok, err)
		}
	}
	if _, ok, err := openPWM(Config{Root: t.TempDir()}, 12); ok || err != nil {
		t.Errorf("a machine without a PWM: %v, %v; want none", ok, err)
	}
	if err := os.Remove(filepath.Join(root, "sys/class/pwm/pwmchip0/pwm0/enable")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := openPWM(Config{Root: root}, 12); !ok || err == nil {
		t.Errorf("a channel that does not work: %v, %v; want it told", ok, err)
	}
}
