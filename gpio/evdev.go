package gpio

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A key of an input device is a button too: the hook switch of a speakerphone, a presenter, a pin that the gpio-key overlay
// has turned into a key. Linux reports press and release (linux/input.h), so every mode works.
//
// The device is grabbed: nobody else sees its keys, or a hook switch that sends Play would also start the music, and a
// presenter type into the console.

// ErrNoKeys: no input device has the keys that are the button.
var ErrNoKeys = errors.New("no such input device")

// KeysOptions say which keys of which device are the button.
type KeysOptions struct {
	Device string // name, pattern or part of it, or of its link below /dev/input/by-id; empty: the first that fits
	Keys   string // as ParseKeys
	Button ButtonOptions
	Volume func(Volume) // told of volume keys of the device that are not the button; nil: nobody asks. It must not wait
	Dev    string       // where input/ is; empty: /dev
}

func (o KeysOptions) String() string {
	if o.Device != "" {
		return "key of " + o.Device
	}
	return "key of an input device"
}

func (o KeysOptions) dev() string {
	if o.Dev == "" {
		return "/dev"
	}
	return o.Dev
}

// Input events (linux/input-event-codes.h).
const (
	evSyn       = 0
	evKey       = 1
	synDropped  = 3
	valueUp     = 0
	valueRepeat = 2
	keyA        = 30
)

// inputEvent is struct input_event: a time of two longs, then type, code, value.
const (
	inputTime  = int(unsafe.Sizeof(inputClock{}))
	inputEvent = inputTime + 8
)

func inputRequest(dir, number, size uint) uint { return dir<<30 | size<<16 | 'E'<<8 | number }

const inputRead, inputWrite = 2, 1

// InputDevice is an input device that was looked at.
type InputDevice struct {
	Path  string // /dev/input/event3: moves with the order of plugging
	Link  string // below by-id, where it has one: stays
	Name  string
	Typed bool // has letters: a keyboard, which is not grabbed unless it is named
	// Volume: it has the keys that make louder and softer.
	Volume bool
	keys   []byte
}

func (d InputDevice) has(code uint16) bool { return bitSet(d.keys, code) }

func bitSet(bits []byte, n uint16) bool { return int(n/8) < len(bits) && bits[n/8]>>(n%8)&1 == 1 }

// InputDevices looks at all that may be read. What may not is counted in denied.
func InputDevices(dev string) (all []InputDevice, denied int) {
	dev = cmp.Or(dev, "/dev")
	links := map[string]string{}
	byID, _ := filepath.Glob(filepath.Join(dev, "input/by-id/*"))
	for _, l := range byID {
		if target, err := filepath.EvalSymlinks(l); err == nil {
			links[target] = filepath.Base(l)
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dev, "input/event*"))
	slices.SortFunc(paths, byNumber)
	for _, p := range paths {
		f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				denied++
			}
			continue
		}
		d, err := lookAt(f)
		_ = f.Close()
		if err == nil {
			d.Path, d.Link = p, links[p]
			all = append(all, d)
		}
	}
	return all, denied
}

func lookAt(f *os.File) (InputDevice, error) {
	var name [256]byte
	d := InputDevice{keys: make([]byte, keyMax/8+1)}
	raw, err := f.SyscallConn()
	if err != nil {
		return d, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = errors.Join(host.ioctl(int(fd), inputRequest(inputRead, 0x06, uint(len(name))), unsafe.Pointer(&name)), // EVIOCGNAME
			host.ioctl(int(fd), inputRequest(inputRead, 0x20+evKey, uint(len(d.keys))), unsafe.Pointer(&d.keys[0]))) // EVIOCGBIT(EV_KEY)
	})
	d.Name, d.Typed, d.Volume = text(name[:]), bitSet(d.keys, keyA), bitSet(d.keys, keyLouder)
	return d, errors.Join(err, failed)
}

// fits says whether the name that a person gave means this device.
func (d InputDevice) fits(want string) bool {
	low := strings.ToLower(want)
	for _, s := range []string{strings.ToLower(d.Name), strings.ToLower(d.Link), strings.ToLower(d.Path)} {
		if ok, _ := path.Match(low, s); s != "" && (ok || strings.Contains(s, low)) {
			return true
		}
	}
	return false
}

// OpenKeys takes the device and its keys.
func OpenKeys(o KeysOptions) (*Button, error) {
	d, codes, err := o.find()
	if err != nil {
		return nil, err
	}
	line, err := grab(d, codes)
	if err != nil {
		return nil, err
	}
	line.volume = o.Volume
	o.Button.Press = AtOnce // the device or its driver has settled it, and a presenter sends press and release within 10 ms
	return NewButton(line, o.Button), nil
}

// FindKeys says whether the device is there and has the keys, without taking it.
func FindKeys(o KeysOptions) error {
	_, _, err := o.find()
	return err
}

func (o KeysOptions) find() (d InputDevice, codes []uint16, err error) {
	if codes, err = ParseKeys(o.Keys); err != nil {
		return d, nil, err
	}
	all, denied := InputDevices(o.dev())
	if denied > 0 && len(all) == 0 {
		return d, nil, fmt.Errorf("gpio: %w: %d input devices, and none may be read; join the group input (sudo usermod -aG input $USER) and log in again",
			ErrNoRights, denied)
	}
	d, err = o.choose(all, codes)
	return d, codes, err
}

// choose takes the first that fits and has one of the keys: what is plugged in as one thing is often several devices of one name,
// of which one has the volume keys and another the hook.
func (o KeysOptions) choose(all []InputDevice, codes []uint16) (InputDevice, error) {
	var names []string
	var keyless string
	for _, d := range all {
		has := slices.ContainsFunc(codes, d.has)
		switch named := o.Device != "" && d.fits(o.Device); {
		case has && (named || o.Device == "" && !d.Typed):
			return d, nil
		case named:
			keyless = d.Name
		}
		names = append(names, fmt.Sprintf("%q", d.Name))
	}
	switch {
	case keyless != "":
		return InputDevice{}, fmt.Errorf("gpio: %q: %w: it has none of the keys %s (set button.keys)", keyless, ErrNoKeys, o.Keys)
	case o.Device == "":
		return InputDevice{}, fmt.Errorf("gpio: %w: none has one of the keys %s and no letters; there is %s", ErrNoKeys, o.Keys, orNone(names))
	}
	return InputDevice{}, fmt.Errorf("gpio: %w: %q; there is %s", ErrNoKeys, o.Device, orNone(names))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}

func grab(d InputDevice, codes []uint16) (*keyLine, error) {
	f, err := os.OpenFile(d.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("gpio: open %q: %w", d.Name, err)
	}
	l := newKeyLine(f, d.Name, codes)
	raw, err := f.SyscallConn()
	if err == nil {
		l.raw = raw
		on := int32(1)
		err = raw.Control(func(fd uintptr) { // EVIOCGRAB: any argument but null grabs
			l.failed = host.ioctl(int(fd), inputRequest(inputWrite, 0x90, 4), unsafe.Pointer(&on))
		})
	}
	if err = errors.Join(err, l.failed); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EBUSY) {
			return nil, fmt.Errorf("gpio: take the keys of %q: %w: another program has grabbed it", d.Name, ErrPinInUse)
		}
		return nil, fmt.Errorf("gpio: take the keys of %q: %w", d.Name, err)
	}
	l.sync()
	return l, nil
}

// keyLine is the keys of a device as a Line: down while any of them is. For one goroutine, but for close.
type keyLine struct {
	real

	// fixed
	file   *os.File
	raw    syscall.RawConn // nil: a test's pipe, which cannot be asked for its keys
	name   string
	codes  []uint16
	volume func(Volume)

	// owned by Run
	held  uint64 // a bit for each of codes
	rest  []byte // what was read and not looked at yet
	buf   [64 * 24]byte
	state [keyMax/8 + 1]byte
}

const maxKeys = 64

func newKeyLine(f *os.File, name string, codes []uint16) *keyLine {
	return &keyLine{file: f, name: name, codes: codes[:min(len(codes), maxKeys)]}
}

func (k *keyLine) String() string { return "key of " + k.name }

// Down implements Line.
func (k *keyLine) Down() bool { return k.held != 0 }

// Close implements Line; it ends the grab.
func (k *keyLine) Close() error { return k.file.Close() }

// Wait implements Line: it returns after each change, so that a press and its release that come together are two.
func (k *keyLine) Wait(timeout time.Duration) bool {
	if k.failed != nil {
		return false
	}
	if k.take() {
		return true
	}
	if err := k.file.SetReadDeadline(time.Now().Add(within(timeout))); err != nil {
		k.failed = err
		return false
	}
	for { // repeats and other keys are no edges
		n, err := k.file.Read(k.buf[:len(k.buf)/inputEvent*inputEvent])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return k.sync() // heals what was lost
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ENODEV), err == nil && n == 0:
			k.failed = fmt.Errorf("%w: the device is gone", ErrNoKeys)
			return false
		case err != nil:
			k.failed = unwrapPath(err)
			return false
		}
		k.rest = k.buf[:n]
		if k.take() {
			return true
		}
	}
}

// take looks at what was read, up to the first change.
func (k *keyLine) take() bool {
	for len(k.rest) >= inputEvent {
		ev := k.rest[inputTime:inputEvent]
		k.rest = k.rest[inputEvent:]
		kind, code, value := binary.NativeEndian.Uint16(ev), binary.NativeEndian.Uint16(ev[2:]), int32(binary.NativeEndian.Uint32(ev[4:]))
		i := slices.Index(k.codes, code)
		if v, ok := volumeOf(kind, code, value); ok && i < 0 && k.volume != nil {
			k.volume(v)
		}
		switch {
		case kind == evSyn && code == synDropped: // the queue was full: what the keys are now, Linux must be asked
			if k.sync() {
				return true
			}
		case kind == evKey && value != valueRepeat:
			if i < 0 {
				continue
			}
			before := k.held
			if k.held &^= 1 << i; value != valueUp {
				k.held |= 1 << i
			}
			if (before == 0) != (k.held == 0) {
				return true
			}
		}
	}
	return false
}

// sync asks for the keys as they are, and says whether that is news.
func (k *keyLine) sync() bool {
	if k.raw == nil {
		return false
	}
	var failed error
	err := k.raw.Control(func(fd uintptr) {
		failed = host.ioctl(int(fd), inputRequest(inputRead, 0x18, uint(len(k.state))), unsafe.Pointer(&k.state)) // EVIOCGKEY
	})
	if errors.Join(err, failed) != nil {
		return false // reading will say so
	}
	before := k.held
	k.held = 0
	for i, code := range k.codes {
		if bitSet(k.state[:], code) {
			k.held |= 1 << i
		}
	}
	return (before == 0) != (k.held == 0)
}
