package gpio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The queue of an input device, told by hand: what the kernel sends, byte for byte, through a pipe. Finding, asking and
// grabbing need a kernel with uinput, which is the machine test's (systemd/vm).

func event(kind, code uint16, value int32) []byte {
	b := make([]byte, inputTime, inputEvent)
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, code)
	return binary.NativeEndian.AppendUint32(b, uint32(value))
}

func keyPipe(t *testing.T, keys string) (*keyLine, *os.File) {
	t.Helper()
	codes, err := ParseKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return newKeyLine(r, "Jabra SPEAK 510", codes), w
}

func send(t *testing.T, w *os.File, events ...[]byte) {
	t.Helper()
	if _, err := w.Write(bytes.Join(events, nil)); err != nil {
		t.Fatal(err)
	}
}

var synEvent = event(evSyn, 0, 0)

// levels waits for n changes and says what each was.
func levels(t *testing.T, l *keyLine, n int) (down []bool) {
	t.Helper()
	for range n {
		if !l.Wait(5 * time.Second) {
			t.Fatalf("after %v: no change; %v", down, l.Err())
		}
		down = append(down, l.Down())
	}
	return down
}

func TestKeysAreALine(t *testing.T) {
	const phone, space, play = 169, 57, 164
	for _, c := range []struct {
		name   string
		events [][]byte
		want   []bool
	}{
		{"press and release", [][]byte{event(evKey, phone, 1), synEvent, event(evKey, phone, 0), synEvent}, []bool{true, false}},
		{"repeats are no edges", [][]byte{event(evKey, phone, 1), synEvent, event(evKey, phone, 2), synEvent, event(evKey, phone, 2), synEvent, event(evKey, phone, 0)}, []bool{true, false}},
		{"other keys are not ours", [][]byte{event(evKey, space, 1), synEvent, event(evKey, space, 0), synEvent, event(evKey, phone, 1)}, []bool{true}},
		{"two keys are one button", [][]byte{event(evKey, phone, 1), event(evKey, play, 1), event(evKey, phone, 0), event(evKey, play, 0)}, []bool{true, false}},
		{"other events", [][]byte{event(4, 4, 786464), event(evKey, phone, 1), event(17, 7, 1), event(evKey, phone, 0)}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, w := keyPipe(t, "KEY_PHONE,KEY_PLAYPAUSE")
			send(t, w, c.events...)
			if got := levels(t, l, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("%v; want %v", got, c.want)
			}
			if l.Wait(time.Millisecond) || l.Err() != nil {
				t.Errorf("one more change, or an end: %v", l.Err())
			}
		})
	}
}

func TestKeyDeviceThatIsPulledOutEnds(t *testing.T) {
	l, w := keyPipe(t, "KEY_PHONE")
	send(t, w, event(evKey, 169, 1), synEvent)
	b := observe(t, NewButton(l, ButtonOptions{}))
	w.Close()
	if err := b.end(); !errors.Is(err, ErrNoKeys) {
		t.Errorf("Run = %v; want %v", err, ErrNoKeys)
	}
}

func TestKeyOfADeviceIsAButton(t *testing.T) {
	l, w := keyPipe(t, "KEY_PHONE")
	b := observe(t, NewButton(l, ButtonOptions{}))
	b.settled()
	send(t, w, event(evKey, 169, 1), synEvent)
	b.next(Touched)
	b.next(Pressed)
	send(t, w, event(evKey, 169, 0), synEvent)
	b.next(Released)
}

func TestKeysAreReadAsWritten(t *testing.T) {
	if got, err := ParseKeys("key_phone, 58,BTN_0"); err != nil || !slices.Equal(got, []uint16{169, 58, 256}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "KEY_PHONE,", "KEY_FONE", "0", "768"} {
		if got, err := ParseKeys(bad); err == nil {
			t.Errorf("%q is %v; want an error", bad, got)
		}
	}
	if _, err := ParseKeys(DefaultKeys); err != nil {
		t.Error(err)
	}
	for name, code := range keyCodes {
		if keyName(code) != name {
			t.Errorf("%s is %d, which is %s", name, code, keyName(code))
		}
	}
}

func TestInputDevicesAreFoundByName(t *testing.T) {
	d := InputDevice{Name: "Jabra SPEAK 510 USB Consumer Control", Link: "usb-0b0e_Jabra_SPEAK_510-event-if03", Path: "/dev/input/event4"}
	for want, fits := range map[string]bool{"jabra": true, "Jabra SPEAK 510*": true, "usb-0b0e*if03": true, "/dev/input/event4": true,
		"Jabra": true, "Logitech": false, "event5": false} {
		if d.fits(want) != fits {
			t.Errorf("fits(%q) = %v", want, !fits)
		}
	}
	if all, denied := InputDevices(t.TempDir()); len(all) != 0 || denied != 0 {
		t.Errorf("an empty /dev has %v, %d denied", all, denied)
	}
	if _, err := OpenKeys(KeysOptions{Keys: DefaultKeys, Dev: t.TempDir()}); !errors.Is(err, ErrNoKeys) {
		t.Errorf("OpenKeys on an empty /dev = %v", err)
	}
}

// One thing that is plugged in is often several devices of one name; the one with the keys is meant, wherever it stands.
func TestTheDeviceWithTheKeysIsChosen(t *testing.T) {
	const hook, letter = 169, keyA
	device := func(name string, keys ...uint16) InputDevice {
		d := InputDevice{Name: name, keys: make([]byte, keyMax/8+1)}
		for _, k := range keys {
			d.keys[k/8] |= 1 << (k % 8)
			d.Typed = d.Typed || k == letter
		}
		return d
	}
	volume, phone, board := device("Jabra volume"), device("Jabra phone", hook), device("keyboard", letter, hook)
	for _, c := range []struct {
		named string
		all   []InputDevice
		want  string
		fails string
	}{
		{"jabra", []InputDevice{volume, phone}, "Jabra phone", ""},
		{"jabra", []InputDevice{phone, volume}, "Jabra phone", ""},
		{"jabra", []InputDevice{volume}, "", "it has none of the keys hook"},
		{"jabra", []InputDevice{board}, "", `"jabra"; there is "keyboard"`},
		{"keyboard", []InputDevice{phone, board}, "keyboard", ""}, // named, it may have letters
		{"", []InputDevice{volume, board, phone}, "Jabra phone", ""},
		{"", []InputDevice{board}, "", "and no letters"},
		{"", nil, "", "there is none at all"},
	} {
		got, err := KeysOptions{Device: c.named, Keys: "hook"}.choose(c.all, []uint16{hook})
		if got.Name != c.want || (err == nil) != (c.fails == "") || err != nil && (!errors.Is(err, ErrNoKeys) || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%q among %d: %q, %v; want %q, %q", c.named, len(c.all), got.Name, err, c.want, c.fails)
		}
	}
}

// A device that is the button brings its volume keys along; held, they repeat, but for mute.
func TestVolumeKeysOfTheButtonsDevice(t *testing.T) {
	l, w := keyPipe(t, "KEY_PHONE")
	var got []Volume
	l.volume = func(v Volume) { got = append(got, v) }
	const mute, down, up, phone = 113, 114, 115, 169
	send(t, w, event(evKey, up, 1), synEvent, event(evKey, up, 2), event(evKey, up, 0), event(evKey, down, 1), event(evKey, down, 0),
		event(evKey, mute, 1), event(evKey, mute, 2), event(evKey, mute, 0), event(4, up, 1), event(evKey, phone, 1))
	if down := levels(t, l, 1); !down[0] {
		t.Error("the button is not down")
	}
	if want := []Volume{Louder, Louder, Softer, Mute}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestVolumeKeysOfADeviceOfTheirOwn(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []Volume
	ended := make(chan error, 1)
	go func() { ended <- readVolume(t.Context(), r, func(v Volume) { got = append(got, v) }) }()
	send(t, w, event(evKey, 115, 1), synEvent, event(evKey, 115, 0), event(evKey, 113, 1))
	w.Close()
	if err := <-ended; !errors.Is(err, ErrNoKeys) || !slices.Equal(got, []Volume{Louder, Mute}) {
		t.Errorf("%v, %v; want louder, mute, and that it is gone", got, err)
	}
	r, w, err = os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- readVolume(ctx, r, nil) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("at the end of its context: %v", err)
	}
}
