package gpio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The same on a kernel: a chip of gpio-sim (Documentation/admin-guide/gpio/gpio-sim.rst) whose wires follow the resistor that
// is asked for, and a keypad of uinput. They run where both are and the test is root: in the guest of the machine test
// (systemd/vm, TestPinsOnTheKernel).

// simChip is a chip that the test has made.
type simChip struct {
	t           *testing.T
	config      string // below configfs
	device      string // platform device
	pins        string // directory of the lines' pulls
	label       string
	plugs, name string
}

func newSimChip(t *testing.T, label string) *simChip {
	t.Helper()
	const sims = "/sys/kernel/config/gpio-sim"
	if _, err := os.Stat(sims); err != nil {
		_ = exec.Command("modprobe", "gpio-sim").Run() // the next look says whether it helped
	}
	if _, err := os.Stat(sims); err != nil || os.Getuid() != 0 {
		t.Skipf("no kernel to test on: %s is missing (gpio-sim), or the test is not root", sims)
	}
	s := &simChip{t: t, config: filepath.Join(sims, label), label: label, plugs: "/sys/bus/platform/drivers/gpio-sim"}
	for n := range headerPins {
		s.must(os.MkdirAll(fmt.Sprintf("%s/bank0/line%d", s.config, n), 0o755))
		s.write(fmt.Sprintf("%s/bank0/line%d/name", s.config, n), fmt.Sprintf("GPIO%d", n))
	}
	s.write(s.config+"/bank0/num_lines", "40")
	s.write(s.config+"/bank0/label", label)
	s.write(s.config+"/live", "1")
	s.look()
	t.Cleanup(func() {
		s.write(s.config+"/live", "0")
		for n := range headerPins {
			_ = os.Remove(fmt.Sprintf("%s/bank0/line%d", s.config, n))
		}
		_ = os.Remove(s.config + "/bank0")
		_ = os.Remove(s.config)
	})
	return s
}

// look finds the chip's device, which may be another one after it was away.
func (s *simChip) look() {
	s.device, s.name = s.read(s.config+"/dev_name"), s.read(s.config+"/bank0/chip_name")
	s.pins = filepath.Join("/sys/devices/platform", s.device, s.name)
	s.until("udev has made the chip's file", func() bool { _, err := os.Stat("/dev/" + s.name); return err == nil })
}

func (s *simChip) unplug() { s.write(s.plugs+"/unbind", s.device) }
func (s *simChip) plug() {
	s.write(s.plugs+"/bind", s.device)
	s.look()
}

func (s *simChip) set(pin int, high bool) {
	s.write(fmt.Sprintf("%s/sim_gpio%d/pull", s.pins, pin), map[bool]string{true: "pull-up", false: "pull-down"}[high])
}

// let leaves a wire to the resistor that was asked for, as a loose one is.
func (s *simChip) let(pin int) {
	if chip, err := host.find(s.label); err == nil {
		defer chip.Close()
		if info, err := chip.Info(pin); err == nil && info.Bias != BiasAuto {
			s.set(pin, info.Bias == BiasUp)
		}
	}
}

func (s *simChip) value(pin int) string {
	return s.read(fmt.Sprintf("%s/sim_gpio%d/value", s.pins, pin))
}

func (s *simChip) write(path, text string) {
	s.t.Helper()
	s.must(os.WriteFile(path, []byte(text), 0))
}

func (s *simChip) read(path string) string {
	s.t.Helper()
	data, err := os.ReadFile(path)
	s.must(err)
	return strings.TrimSpace(string(data))
}

func (s *simChip) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *simChip) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within 10 s: %s", what)
		}
	}
}

const simLabel = "conch-test"

func TestKernelPress(t *testing.T) {
	s := newSimChip(t, simLabel)
	b, err := OpenButton("17", ButtonOptions{Chip: simLabel})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the pin is a %T", b.line) // the library's, unless another test's chip was there when it looked for chips
	w := observe(t, b)
	w.settled()
	var ms []float64
	for range 20 {
		begun := time.Now()
		s.set(17, false)
		w.next(Touched)
		ms = append(ms, float64(time.Since(begun).Microseconds())/1000)
		w.next(Pressed)
		s.set(17, true)
		w.next(Released)
		<-time.After(350 * time.Millisecond) // two short presses are a gesture
	}
	slices.Sort(ms)
	t.Logf("from the wire to Touched, %d presses: p50 %.2f ms, max %.2f ms", len(ms), ms[len(ms)/2], ms[len(ms)-1])
	if who, err := Holder(17, simLabel); err != nil || who != consumer() {
		t.Errorf("Holder = %q, %v; want %q", who, err, consumer())
	}
	if _, err := OpenButton("17", ButtonOptions{Chip: simLabel}); !errors.Is(err, ErrPinInUse) || !strings.Contains(err.Error(), "conch itself") {
		t.Errorf("the same pin again: %v", err)
	}
}

func TestKernelBias(t *testing.T) {
	newSimChip(t, simLabel)
	for bias, want := range map[Bias]Bias{BiasUp: BiasUp, BiasDown: BiasDown, BiasOff: BiasOff} {
		b, err := OpenButton("17", ButtonOptions{Chip: simLabel, Bias: bias})
		if err != nil {
			t.Fatal(err)
		}
		row := Inspect(InventoryOptions{Chip: simLabel}).Pins[17]
		if row.Bias != want.String() || !row.Used || row.Consumer != consumer() {
			t.Errorf("bias %s: the kernel says %+v", bias, row)
		}
		_ = b.Close()
	}
	if row := Inspect(InventoryOptions{Chip: simLabel, Levels: true}).Pins[17]; row.Used || row.Level == "" {
		t.Errorf("given back, the pin is %+v; want free, with a level", row)
	}
}

// The chip is unbound while the button waits, three times, once in the middle of a press.
func TestKernelChipGoesAndComesBack(t *testing.T) {
	s := newSimChip(t, simLabel)
	for round, pressed := range []bool{false, true, false} {
		b, err := OpenButton("17", ButtonOptions{Chip: simLabel})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		w := observe(t, b)
		w.settled()
		if pressed {
			s.set(17, false)
			w.next(Touched)
			w.next(Pressed)
		}
		begun := time.Now()
		s.unplug()
		if pressed {
			w.next(Vanished)
		}
		if err := w.end(); !errors.Is(err, ErrGone) {
			t.Errorf("round %d: Run = %v; want %v", round, err, ErrGone)
		}
		t.Logf("known %.0f ms after the chip went", float64(time.Since(begun).Milliseconds()))
		if n := len(w.events); n > 0 {
			t.Errorf("round %d: %d events that nobody made, the first %s", round, n, (<-w.events).Kind)
		}
		if _, err := OpenButton("17", ButtonOptions{Chip: simLabel}); !errors.Is(err, ErrNoChip) {
			t.Errorf("round %d: without the chip: %v", round, err)
		}
		_ = b.Close()
		s.plug()
	}
}

func TestKernelPinInUseAndFreed(t *testing.T) {
	s := newSimChip(t, simLabel)
	chip, err := host.find(simLabel)
	s.must(err)
	defer chip.Close()
	other, err := chip.request([]int{17}, flagInput, 0)
	s.must(err)
	if _, err := OpenButton("17", ButtonOptions{Chip: simLabel}); !errors.Is(err, ErrPinInUse) {
		t.Errorf("a pin in use: %v", err)
	}
	other.close()
	b, err := OpenButton("17", ButtonOptions{Chip: simLabel})
	if err != nil {
		t.Fatalf("the pin was freed: %v", err)
	}
	_ = b.Close()
}

// More edges than the kernel keeps, while nobody reads.
func TestKernelQueueOverflows(t *testing.T) {
	s := newSimChip(t, simLabel)
	b, err := OpenButton("17", ButtonOptions{Chip: simLabel})
	s.must(err)
	w := observe(t, b)
	w.settled()
	stand, walk := make(chan struct{}), make(chan struct{})
	for !w.button.Call(func() { close(stand); <-walk }) {
	}
	<-stand
	for range 200 {
		s.set(17, false)
		s.set(17, true)
	}
	s.set(17, false)
	close(walk)
	w.next(Touched)
	w.next(Pressed)
	s.set(17, true)
	w.next(Released)
}

func TestKernelOutput(t *testing.T) {
	s := newSimChip(t, simLabel)
	o, err := OpenOutput(25, simLabel, true)
	s.must(err)
	if s.value(25) != "1" {
		t.Error("the pin is not high from the first moment")
	}
	s.must(o.Set(false))
	if s.value(25) != "0" {
		t.Error("the pin is not low")
	}
	s.unplug()
	if err := o.Set(true); !errors.Is(err, ErrGone) {
		t.Errorf("Set on a chip that is gone = %v", err)
	}
	_ = o.Close()
	s.plug()
}

// Wires that follow the resistor, as loose ones do: the button to ground shows with one, the button to 3.3 V with the other.
func TestKernelLearn(t *testing.T) {
	for _, c := range []struct {
		pin  int
		down bool
		want string
	}{{22, false, "GPIO22, low when pressed"}, {6, true, "GPIO6, high when pressed"}} {
		t.Run(c.want, func(t *testing.T) {
			s := newSimChip(t, simLabel)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ready, over := make(chan struct{}), make(chan struct{})
			go func() { // ends with the test: a finger that presses now and then, whatever it is told
				defer close(over)
				<-ready
				for ctx.Err() == nil {
					s.set(c.pin, c.down)
					<-time.After(150 * time.Millisecond)
					s.let(c.pin)
					select {
					case <-time.After(700 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			}()
			got, err := Learn(ctx, LearnOptions{Chip: simLabel, Watch: func([]int, map[int]string) { close(ready) }, Heard: func(h Heard) { t.Logf("heard %v of %v", h.Kind, h.Pins) }})
			cancel()
			<-over
			if err != nil || got.String() != c.want {
				t.Errorf("Learn = %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// keypad is an input device that the test has made.
type keypad struct {
	t *testing.T
	f *os.File
}

func newKeypad(t *testing.T, name string, keys ...uint16) *keypad {
	t.Helper()
	_ = exec.Command("modprobe", "uinput").Run() // the next line says whether it helped
	f, err := os.OpenFile("/dev/uinput", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no input devices to be made: %v (uinput)", err)
	}
	k := &keypad{t, f}
	k.call(0x40045564, evKey) // UI_SET_EVBIT
	for _, key := range keys {
		k.call(0x40045565, uintptr(key)) // UI_SET_KEYBIT
	}
	var setup [92]byte // struct uinput_setup: id, name[80], ff_effects_max
	copy(setup[8:87], name)
	if err := host.ioctl(int(f.Fd()), 0x405c5503, unsafe.Pointer(&setup)); err != nil { // UI_DEV_SETUP
		t.Fatal(err)
	}
	k.call(0x5501, 0) // UI_DEV_CREATE
	t.Cleanup(k.pull)
	return k
}

func (k *keypad) call(request uint, arg uintptr) {
	k.t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, k.f.Fd(), uintptr(request), arg); errno != 0 {
		k.t.Fatalf("uinput: request %#x: %v", request, errno)
	}
}

func (k *keypad) pull() { _ = k.f.Close() } // which removes the device

func (k *keypad) strike(code uint16, value int32) {
	k.t.Helper()
	if _, err := k.f.Write(slices.Concat(event(evKey, code, value), synEvent)); err != nil {
		k.t.Fatal(err)
	}
}

func TestKernelKeys(t *testing.T) {
	const phone, name = 169, "Conch Test SPEAK 510"
	open := func(o KeysOptions) (b *Button, err error) {
		for end := time.Now().Add(10 * time.Second); ; <-time.After(20 * time.Millisecond) { // udev makes the file
			if b, err = OpenKeys(o); err == nil || time.Now().After(end) {
				return b, err
			}
		}
	}
	pad := newKeypad(t, name, phone, 114)
	b, err := open(KeysOptions{Device: "speak 510", Keys: DefaultKeys})
	if err != nil {
		t.Fatal(err)
	}
	w := observe(t, b)
	w.settled()
	for range 3 {
		pad.strike(phone, 1)
		w.next(Touched)
		w.next(Pressed)
		pad.strike(phone, 0)
		w.next(Released)
		<-time.After(350 * time.Millisecond) // two short presses are a gesture
	}
	if _, err := OpenKeys(KeysOptions{Device: name, Keys: DefaultKeys}); !errors.Is(err, ErrPinInUse) {
		t.Errorf("the device is grabbed, and yet: %v", err)
	}
	if !slices.Contains(Detect(DetectOptions{}).Hooks, name) {
		t.Errorf("the hook switch is not seen: %q", Detect(DetectOptions{}).Hooks)
	}
	pad.pull()
	if err := w.end(); !errors.Is(err, ErrNoKeys) {
		t.Errorf("pulled out: Run = %v", err)
	}
	_ = b.Close()
	again := newKeypad(t, name, phone)
	b, err = open(KeysOptions{Keys: DefaultKeys}) // without a name: the one that is no keyboard
	if err != nil {
		t.Fatalf("put back: %v", err)
	}
	w = observe(t, b)
	w.settled()
	again.strike(phone, 1)
	w.next(Touched)
	w.next(Pressed)
	again.pull()
	w.next(Released)
	// A keyboard is not taken for the key that it has too.
	newKeypad(t, "a keyboard", phone, keyA, 28)
	if _, err := OpenKeys(KeysOptions{Keys: DefaultKeys}); !errors.Is(err, ErrNoKeys) {
		t.Errorf("a keyboard was taken: %v", err)
	}
}
