package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"conch/companions/voice/kinds"
	"conch/device/doctor"
	"conch/gpio"
)

// breakage is one thing wrong with a healthy box, and what must be found. Nothing else may be.
type breakage struct {
	name      string
	breaks    func(b *box)
	check     string
	level     doctor.Level
	text      string // parts of what is found
	cause, do string
	also      []string // checks that rightly speak too
}

func TestEachBreakageIsNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range [][]breakage{machineBreakages, serviceBreakages, buttonBreakages, soundBreakages, networkBreakages, voiceBreakages} {
		for _, x := range table {
			seen[x.check] = true
			t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
				b := healthy(t)
				x.breaks(b)
				x.holds(t, b.findings())
			})
		}
	}
	for _, c := range doctor.Checks() {
		if !seen[c.Name] && c.Name != "voice" && c.Name != "programs" && c.Name != "buses" && // these have notes only: TestNotes
			c.Group != doctor.Room { // what is wrong there is not of one box: examine_test.go, pairing_test.go
			t.Errorf("nothing breaks %s: its alarm is not tested", c.Name)
		}
	}
}

func (x breakage) holds(t *testing.T, found []doctor.Finding) {
	t.Helper()
	named := false
	for _, f := range found {
		if f.Check == x.check && f.Level == x.level && strings.Contains(f.Text, x.text) && strings.Contains(f.Cause, x.cause) && strings.Contains(f.Do, x.do) {
			named = true
		}
		if (f.Level == doctor.Warn || f.Level == doctor.Bad) && (f.Cause == "" || f.Do == "") {
			t.Errorf("%s has no cause or no remedy: %+v", f.Check, f)
		}
	}
	if !named {
		t.Errorf("want %s %s %q, cause %q, do %q; got\n%s", x.level, x.check, x.text, x.cause, x.do, show(worse(found)))
	}
	if more := worse(found, append(x.also, x.check)...); len(more) > 0 {
		t.Errorf("false alarms beside it:\n%s", show(more))
	}
}

// What only notes can be made of, and what must not alarm.
func TestNotes(t *testing.T) {
	for _, x := range []breakage{
		{name: "no key", check: "voice", level: doctor.Note, text: "rehearsal", do: "sudo conch key",
			breaks: func(b *box) { b.s.Voice.Kind, b.s.Voice.Why = kinds.Find("rehearsal"), "no key" }},
		{name: "programs of the rehearsal voice", check: "programs", level: doctor.Note, text: "flite", do: "sudo apt install flite", also: []string{"voice"},
			breaks: func(b *box) {
				b.s.Voice.Kind = kinds.Find("rehearsal")
				b.remove("/usr/bin/flite")
			}},
		{name: "a server in the house without TLS", check: "tls", level: doctor.Note, text: "house's network in the clear", also: []string{"key"},
			breaks: func(b *box) {
				b.s.Voice.URL = "ws://192.168.1.7:8080/v1/realtime"
				b.server.plain()
			}},
		{name: "server without a list of models", check: "key", level: doctor.Note, text: "no list of models",
			breaks: func(b *box) { b.s.Voice.URL = "wss://api.openai.com/other/realtime" }},
		{name: "one processor, and no real-time", check: "priority", level: doctor.Note, text: "one processor",
			breaks: func(b *box) {
				b.m.CPUs = 1
				b.write("/proc/613/task/614/stat", thread(0))
			}},
		{name: "could be one of several boards", check: "board", level: doctor.Note, text: "could be codec-zero (the sound card Zero is up)", do: "device.board",
			breaks: func(b *box) {
				b.s.Board = ""
				b.remove("/proc/device-tree/hat")
			}},
		{name: "a server in the house and no way out", check: "tls", level: doctor.Note, text: "in the clear", also: []string{"key"},
			breaks: func(b *box) {
				b.s.Voice.URL = "ws://192.168.1.7:8080/v1/realtime"
				b.write("/proc/net/route", "Iface\tDestination\n")
				b.server.plain()
			}},
		{name: "a stranger asks while the service runs", check: "buffer", level: doctor.Note, text: "without root", do: "sudo conch doctor", also: []string{"running", "silence", "disk"},
			breaks: func(b *box) {
				b.stopped()
				b.m.Groups = []int{1000}
				b.s.Measured = doctor.Measured{Hidden: true}
				b.s.Open = func(context.Context) (doctor.Opened, error) {
					b.t.Error("the service's card was opened")
					return doctor.Opened{}, nil
				}
			}},
		{name: "muted", check: "muted", level: doctor.Note, text: "by wish", breaks: func(b *box) { b.run.Muted = true }},
		{name: "no key, says the appliance", check: "condition key.missing", level: doctor.Note, text: "no key", do: "sudo conch key",
			breaks: func(b *box) {
				b.run.Conditions = []doctor.Condition{{Code: "key.missing", Text: "there is no key", Do: "sudo conch key"}}
			}},
		{name: "no knob", check: "knob", level: doctor.OK, text: "none", breaks: func(*box) {}},
		{name: "encoder and keys", check: "knob", level: doctor.OK, text: "encoder on GPIO5, GPIO6, held by conch",
			breaks: func(b *box) {
				b.s.Knob.Encoder = "GPIO5,GPIO6"
				b.held(5, "conch@613")
				b.held(6, "conch@613")
			}},
		{name: "encoder before conch runs", check: "knob", level: doctor.OK, text: "encoder on GPIO5, GPIO6, free", also: []string{"running", "service"},
			breaks: func(b *box) {
				b.s.Knob.Encoder = "GPIO5,GPIO6"
				b.s.Running = nil
			}},
		{name: "volume keys", check: "knob", level: doctor.OK, text: `volume keys of "Jabra"`,
			breaks: func(b *box) {
				b.s.Knob.Keys = true
				b.m.Inputs = func() ([]gpio.InputDevice, int) {
					return []gpio.InputDevice{{Name: "AT keyboard", Typed: true, Volume: true}, {Name: "Jabra", Volume: true}, {Name: "mouse"}}, 0
				}
			}},
		{name: "volume keys of nobody", check: "knob", level: doctor.Note, text: "no device here has any", do: "plug one in",
			breaks: func(b *box) { b.s.Knob.Keys = true }},
		{name: "volume keys that the caller may not see", check: "knob", level: doctor.Note, text: "without root", do: "sudo conch doctor",
			breaks: func(b *box) {
				b.s.Knob.Keys = true
				b.m.Inputs = func() ([]gpio.InputDevice, int) { return nil, 2 }
			}},
		{name: "I2C off", check: "buses", level: doctor.Note, text: "I2C is off", do: "do_i2c 0", also: []string{"overlay", "board"},
			breaks: func(b *box) {
				b.remove("/dev/i2c-1", "/proc/device-tree/hat")
				b.s.Board = "waveshare-wm8960"
			}},
		{name: "not installed", check: "service", level: doctor.Note, text: "not installed", breaks: (*box).person},
		{name: "not synchronised", check: "clock", level: doctor.Note, text: "nothing keeps it right",
			breaks: func(b *box) { b.m.Synced = func() (bool, error) { return false, nil } }},
		{name: "socket closed to the caller", check: "running", level: doctor.Note, text: "without root", do: "sudo conch doctor", also: []string{"disk"},
			breaks: func(b *box) {
				b.s.Running = nil
				b.m.Groups = []int{1000}
			}},
		{name: "kernel's messages closed to the caller", check: "card-errors", level: doctor.Note, text: "without root", do: "sudo conch doctor",
			breaks: func(b *box) {
				b.fails["dmesg"] = errors.New("exit status 1: dmesg: read kernel buffer failed: Operation not permitted")
			}},
		{name: "power unknown", check: "power", level: doctor.Note, text: "without root", do: "sudo vcgencmd get_throttled",
			breaks: func(b *box) { b.remove("/sys/devices/platform/soc/soc:firmware/get_throttled") }},
		{name: "key closed to the caller", check: "key", level: doctor.Note, text: "without root", do: "sudo conch doctor",
			breaks: func(b *box) { b.s.Voice.Key, b.s.Voice.KeyHidden = keyed(""), true }},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			b := healthy(t)
			x.breaks(b)
			x.holds(t, b.findings())
		})
	}
}
