package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/provider"
	"conch/device/state"
	"conch/gpio"
)

// Options say what to examine.
type Options struct {
	config.LoadOptions
	// Anonymous also leaves out names and addresses of the house and its room.
	Anonymous bool
	Machine   *Machine // nil: this one
	Tools     func(*config.Config) []turn.ToolSpec
}

// A Diagnosis is what doctor found.
type Diagnosis struct {
	Findings []Finding
	Refused  error // why the configuration was refused; the findings are then about what the service does without

	Hide func(text string) string // what it does to its own sentences, so that others may read them
}

// Examine examines this machine, and conch as it is configured here: the installed service, where there is one and nobody
// names another configuration. It changes nothing, starts no turn, and says no secret.
func Examine(ctx context.Context, o Options) Diagnosis {
	m := o.Machine
	if m == nil {
		m = Real()
	}
	s := subject(o, m)
	switch roots, err := provider.Authorities(s.Config.Voice.CAFile); {
	case err != nil && s.Refused == nil:
		s.Refused = err
	case roots != nil:
		mine := *m
		mine.Roots = roots
		m = &mine
	}
	return Diagnosis{Run(ctx, m, s, Checks()), s.Refused, m.hider(s)}
}

// voiceOf is whom the configuration talks with.
func voiceOf(cfg *config.Config) (v VoiceSetting) {
	v.Kind, v.Why = provider.Kind(cfg)
	settings, unsettled := provider.Settings(cfg, v.Kind) // authorities that cannot be read are told by who looks for them
	v.Settings, v.KeyTrouble = settings, cfg.KeyTrouble()
	if err := provider.Fits(cfg, v.Kind); err != nil {
		v.Misfit = control.Refusal(err)
	}
	v.Companion = func() (voice.Companion, error) {
		cards, _ := cards.Find(cfg) // their problems are a check of their own
		return provider.Companion(cfg, cards[0]), unsettled
	}
	return v
}

// TryVoice looks at the voice of a configuration alone, before anybody writes that down.
func TryVoice(ctx context.Context, cfg config.Config) []Finding {
	m := Real()
	if roots, err := provider.Authorities(cfg.Voice.CAFile); err == nil {
		m.Roots = roots
	}
	s := &Subject{Config: &cfg, Voice: voiceOf(&cfg), Secrets: secrets(cfg, nil)}
	all := Checks()
	return Run(ctx, m, s, all[slices.IndexFunc(all, func(c Check) bool { return c.Name == "voice" }):][:1])
}

const (
	serviceUnit   = "conch.service"
	serviceUser   = "conch"
	serviceConfig = "/etc/conch/conch.toml"
	serviceKeys   = "/etc/conch/credentials"
)

// subject reads the configuration and puts together what doctor shall look at.
func subject(o Options, m *Machine) *Subject {
	cfg := config.Default()
	s := &Subject{Anonymous: o.Anonymous, Config: &cfg}
	o.Keyless, o.Anyway = true, true
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if isService(o.LoadOptions, m) {
		s.Unit, s.User = serviceUnit, serviceUser
		o.Environ, s.Voice.KeyHidden = serviceEnvironment(o.Environ, m)
	}
	loaded, err := config.Load(o.LoadOptions)
	if err != nil { // never: it loads anyway
		return s
	}
	cfg = *loaded
	s.File, s.Warnings, s.Refused = cfg.File, cfg.Warnings, cfg.Refused()
	if s.Refused != nil {
		s.Meanwhile = cfg.Meanwhile()
	}
	s.Board, s.Servers, s.Web = cfg.Device.Board, cfg.MCP, cfg.Web
	s.Button = ButtonSetting{Source: cfg.Button.Source, Chip: cfg.Button.Chip, Pin: cfg.Button.Pin, Device: cfg.Button.Device}
	pins, _ := config.ParsePins(cfg.Light.Pins) // the loader has refused what is none
	s.Light = LightSetting{Driver: gpio.LightDriver(cfg.Light.Driver), Pins: pins, SPI: cfg.Light.SPI, Sysfs: cfg.Light.Sysfs}
	if s.Light.Driver == "auto" { // no board said otherwise
		s.Light.Driver = gpio.LightNone
	}
	s.Knob = KnobSetting{Encoder: cfg.Knob.Encoder, Keys: cfg.Knob.Pressed(cfg.Button.Source)}
	for _, x := range cfg.Misfits() {
		s.Misfits = append(s.Misfits, Misfit{Part: x.Part, Text: strings.TrimPrefix(x.Text, "config: "), Do: x.Do})
	}
	s.Sound = SoundSetting{Backend: cfg.Audio.Backend, Playback: cfg.Audio.Playback, Capture: cfg.Audio.Capture, Fade: cfg.Audio.Fade,
		Promise: state.SilenceBudgetMS * time.Millisecond, Priority: audioPriority}
	hidden := s.Voice.KeyHidden
	s.Voice = voiceOf(&cfg)
	if o.Tools != nil {
		s.Voice.Tools = o.Tools(&cfg)
	}
	s.Voice.KeyHidden = hidden
	s.StateDir, s.RuntimeDir, s.Library = cfg.State.Dir, cfg.State.Runtime, cfg.LibraryFolder()
	if r, err := control.Dial(cfg); err == nil {
		s.Running = func(ctx context.Context) (Running, error) { return askRunning(ctx, r) }
	}
	s.Open = func(context.Context) (Opened, error) { return openSound(cfg) }
	s.Measured, s.Used = measured(cfg), usedToday(cfg, m.Now())
	s.Secrets = secrets(cfg, o.Environ)
	s.Hosts = houseNames(cfg)
	return s
}

// isService: the service is meant where it is installed and nobody says otherwise, by a configuration, a flag or the
// environment of their own.
func isService(o config.LoadOptions, m *Machine) bool {
	file := o.File
	if file == "" {
		file = config.Find(o.Environ)
	}
	own := file != "" && file != serviceConfig || len(o.Flags) > 0 ||
		slices.ContainsFunc(o.Environ, func(e string) bool { return strings.HasPrefix(e, "CONCH_") })
	return !own && slices.ContainsFunc([]string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}, func(dir string) bool {
		return m.Exists(dir + serviceUnit)
	})
}

// serviceEnvironment is what the unit gives to conch (systemd/conch.service), and whether its key is hidden from the caller.
func serviceEnvironment(environ []string, m *Machine) (env []string, hidden bool) {
	env = slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{"OPENAI_API_KEY", "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CREDENTIALS_DIRECTORY"}, name)
	})
	env = append(env, "STATE_DIRECTORY=/var/lib/conch", "RUNTIME_DIRECTORY=/run/conch")
	switch dir, err := os.Open(m.Path(serviceKeys)); {
	case err == nil:
		_ = dir.Close()
		env = append(env, "CREDENTIALS_DIRECTORY="+m.Path(serviceKeys))
	case errors.Is(err, os.ErrPermission):
		hidden = true
	}
	return env, hidden
}

// audioPriority is what the audio thread asks for (audio/FACTS.md 4.6: SCHED_FIFO 50).
const audioPriority = 50

// Bad is how many findings keep conch, or a part of it, from working.
func (d Diagnosis) Bad() int { return Counts(d.Findings)[Bad] }

// Print writes the report for people.
func (d Diagnosis) Print(w io.Writer, verbose bool) { Print(w, d.Findings, verbose) }
