package doctor

import (
	"context"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/mcp"
	"conch/gpio"
)

// Subject is what is examined: how conch is configured here, and what only the running appliance or its own parts can tell.
// The zero value of a field means that it is not configured.
type Subject struct {
	Config  *config.Config // nil: none, and nothing of the room is looked at
	Servers []config.MCP   // of tools
	File    string         // that it was read from; empty: there is none
	Refused error          // why the configuration was refused; then the rest is what the service does without it
	// Meanwhile says what holds until what was refused is mended.
	Meanwhile string
	Warnings  []string // of the configuration
	Unit      string   // systemd's unit of the appliance; empty: it is not installed
	User      string   // that the unit runs as

	Board  string // preset, as configured
	Button ButtonSetting
	Light  LightSetting
	Knob   KnobSetting
	Sound  SoundSetting
	Voice  VoiceSetting

	Web config.Web // the page

	Misfits []Misfit // what does not go together

	StateDir   string
	Library    string // the folder of the household's own sound; empty: none
	RuntimeDir string

	// Running asks the running appliance; nil: none is there.
	Running func(ctx context.Context) (Running, error)
	// Open opens the loudspeaker and the microphone as the appliance would, and closes them again.
	Open func(ctx context.Context) (Opened, error)
	// Measured is the last measurement of silence; zero When: none.
	Measured Measured
	Used     Used // today, from the state directory

	Secrets   []string // never to be printed
	Hosts     []string // of the house: names that Anonymous leaves out
	Anonymous bool

	once struct {
		unit    sync.Once
		running sync.Once
		gpio    sync.Once
	}
	seen struct {
		unit    unitState
		running Running
		err     error
		gpio    gpio.Inventory
	}
}

// ButtonSetting is where presses come from.
type ButtonSetting struct {
	Source string // auto, gpio, evdev, keyboard, lines, none
	Device string // of evdev: name or part of it
	Chip   string // label; empty: the header's
	Pin    int
}

// LightSetting is the light, after the board's preset.
type LightSetting struct {
	Driver gpio.LightDriver
	Pins   []int
	SPI    string
	Sysfs  string
}

// KnobSetting is how the volume is changed without a word.
type KnobSetting struct {
	Encoder string // two pins; empty: none
	Keys    bool   // volume keys of USB devices count
}

// SoundSetting is what is asked of the sound card.
type SoundSetting struct {
	Backend  string
	Playback string // stable identity; empty: any
	Capture  string
	Fade     time.Duration
	Promise  time.Duration // longest time to silence that was promised
	Priority uint64        // real-time priority the audio thread asks for
}

// VoiceSetting is where answers come from.
type VoiceSetting struct {
	Kind voice.Kind
	Why  string // it is of this kind
	voice.Settings
	Misfit     string // why the address and the kind are not of one voice
	KeyTrouble string // why the key that is there cannot be used
	KeyHidden  bool   // there may be one, which the caller may not read
	// Companion is the one whose session is tried; nil: none is.
	Companion func() (voice.Companion, error)
	Tools     []turn.ToolSpec // that the device offers to it
}

// Used is what counts towards the ceilings.
type Used struct {
	Tokens    int64
	Cost      float64
	Estimated int // answers whose tokens the server did not count
}

// Misfit is a setting that cannot be with the others. Part is button, light, knob or board.
type Misfit struct{ Part, Text, Do string }

// Running is what the running appliance says of itself.
type Running struct {
	Version, State, Sound, Voice, Button string
	Turns                                uint64
	Ready, Muted                         bool
	Used                                 Used // today
	Conditions                           []Condition
	Metrics                              map[string]float64
	Servers                              []mcp.State
}

// Condition is something the running appliance knows to be wrong.
type Condition struct {
	Code, Text, Do string
	Since          time.Time
}

// Opened is what the sound devices gave.
type Opened struct {
	Backend, Playback, Capture string
	Buffer                     string        // what it holds, and whether it gives that back
	Bound                      time.Duration // from a press to silence
	CaptureErr                 error
}

// Measured is a run of conch bench silence.
type Measured struct {
	When       time.Time
	Card       string
	P99, Worst float64 // ms
	Hidden     bool    // the caller may not read it
	Err        error
}

// running asks the appliance once, whoever needs it first.
func (s *Subject) running(ctx context.Context) (r Running, here bool, err error) {
	if s.Running == nil {
		return r, false, nil
	}
	s.once.running.Do(func() { s.seen.running, s.seen.err = s.Running(ctx) })
	return s.seen.running, true, s.seen.err
}

// pins looks at the GPIO chips and at what the machine shows of its board, once. It takes no line.
func (s *Subject) pins(m *Machine) gpio.Inventory {
	s.once.gpio.Do(func() {
		s.seen.gpio = m.GPIO(gpio.InventoryOptions{Chip: s.Button.Chip, Board: s.Board, Detect: gpio.DetectOptions{Root: m.Root}})
	})
	return s.seen.gpio
}

// account is the user whose rights count: the service's, or the caller.
func (s *Subject) account(m *Machine) Account {
	if s.Unit != "" {
		if a, known := m.account(s.User); known {
			return a
		}
	}
	return Account{UID: m.UID, Groups: m.Groups, Caller: true}
}

// rights is the command that gives the user a group.
func (a Account) rights(group string) string {
	if a.Caller {
		return "sudo usermod -aG " + group + " $USER, and log in again"
	}
	return "sudo usermod -aG " + group + " " + a.Name + " && sudo systemctl restart conch"
}

func (a Account) String() string {
	if a.Caller {
		return "this user"
	}
	return "user " + a.Name
}
