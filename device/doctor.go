package device

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"conch/audio"
	"conch/companions/voice/realtime"
	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/doctor"
	"conch/device/provider"
	"conch/device/sound"
	"conch/device/state"
	"conch/gpio"
)

// DoctorOptions says what to examine.
type DoctorOptions struct {
	config.LoadOptions
	// Anonymous also leaves out names and addresses of the house and its room.
	Anonymous bool
	Machine   *doctor.Machine // nil: this one
}

// A Diagnosis is what doctor found.
type Diagnosis struct {
	Findings []doctor.Finding
	Refused  error // why the configuration was refused; the findings are then about what the service does without
}

// Doctor examines this machine, and conch as it is configured here: the installed service, where there is one and nobody
// names another configuration. It changes nothing, starts no turn, and says no secret.
func Doctor(ctx context.Context, o DoctorOptions) Diagnosis {
	m := o.Machine
	if m == nil {
		m = doctor.Real()
	}
	s, cfg := subject(o, m)
	switch roots, err := provider.Authorities(cfg.Voice.CAFile); {
	case err != nil && s.Refused == nil:
		s.Refused = err
	case roots != nil:
		mine := *m
		mine.Roots = roots
		m = &mine
	}
	checks := slices.Concat(doctor.Checks(), roomChecks(cfg))
	return Diagnosis{doctor.Run(ctx, m, s, checks), s.Refused}
}

const (
	serviceUnit   = "conch.service"
	serviceUser   = "conch"
	serviceConfig = "/etc/conch/conch.toml"
	serviceKeys   = "/etc/conch/credentials"
)

// subject reads the configuration and puts together what doctor shall look at.
func subject(o DoctorOptions, m *doctor.Machine) (*doctor.Subject, config.Config) {
	s := &doctor.Subject{Anonymous: o.Anonymous}
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
		return s, config.Default()
	}
	cfg := *loaded
	s.File, s.Warnings, s.Refused = cfg.File, cfg.Warnings, cfg.Refused()
	if s.Refused != nil {
		s.Meanwhile = cfg.Meanwhile()
	}
	s.Board = cfg.Device.Board
	s.Button = doctor.ButtonSetting{Source: cfg.Button.Source, Chip: cfg.Button.Chip, Pin: cfg.Button.Pin, Device: cfg.Button.Device}
	pins, _ := config.ParsePins(cfg.Light.Pins) // the loader has refused what is none
	s.Light = doctor.LightSetting{Driver: gpio.LightDriver(cfg.Light.Driver), Pins: pins, SPI: cfg.Light.SPI, Sysfs: cfg.Light.Sysfs}
	if s.Light.Driver == "auto" { // no board said otherwise
		s.Light.Driver = gpio.LightNone
	}
	for _, x := range cfg.Misfits() {
		s.Misfits = append(s.Misfits, doctor.Misfit{Part: x.Part, Text: strings.TrimPrefix(x.Text, "config: "), Do: x.Do})
	}
	s.Sound = doctor.SoundSetting{Backend: cfg.Audio.Backend, Playback: cfg.Audio.Playback, Capture: cfg.Audio.Capture, Fade: cfg.Audio.Fade,
		Promise: state.SilenceBudgetMS * time.Millisecond, Priority: audioPriority}
	kind, why := provider.Kind(&cfg)
	s.Voice.Rehearsal, s.Voice.Why = kind == "rehearsal", why
	s.Voice.URL, s.Voice.Model, s.Voice.Transcription = cfg.Voice.URL, cfg.Voice.Model, cfg.Voice.Transcription
	if dialect, err := provider.Dialect(cfg.Voice.Dialect, cfg.Voice.URL); err == nil && kind == "realtime" {
		s.Voice.Dialect, s.Voice.Guessed, s.Voice.KeyHeader = dialect.Name, dialect.Guess, dialect.KeyHeader
		s.Voice.URL = dialect.Address(cfg.Voice.URL)
		if cfg.Voice.Transcription == config.Default().Voice.Transcription && (dialect.Guess || !dialect.Models) {
			s.Voice.Transcription = "" // such a server is not asked for it
		}
	}
	s.Voice.KeyTrouble = cfg.KeyTrouble()
	s.Voice.Key, s.Voice.Ceiling, s.Voice.CeilingCost = cfg.LiveKey(), cfg.Voice.Ceiling, cfg.Voice.CeilingCost
	if kind == "realtime" {
		s.Voice.Called = provider.Called(&cfg)
		s.Voice.Session = func(ctx context.Context) doctor.Session { return trySession(ctx, &cfg) }
	}
	s.StateDir, s.RuntimeDir = cfg.State.Dir, cfg.State.Runtime
	if r, err := control.Dial(cfg); err == nil {
		s.Running = func(ctx context.Context) (doctor.Running, error) { return askRunning(ctx, r) }
	}
	s.Open = func(context.Context) (doctor.Opened, error) { return openSound(cfg) }
	s.Measured, s.Used = measured(cfg), usedToday(cfg, m.Now())
	s.Secrets = secrets(cfg, o.Environ)
	s.Hosts = houseNames(cfg)
	return s, cfg
}

// isService: the service is meant where it is installed and nobody says otherwise, by a configuration, a flag or the
// environment of their own.
func isService(o config.LoadOptions, m *doctor.Machine) bool {
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
func serviceEnvironment(environ []string, m *doctor.Machine) (env []string, hidden bool) {
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

// askRunning asks the running appliance for its status and metrics.
func askRunning(ctx context.Context, r *control.Remote) (doctor.Running, error) {
	var s control.Status
	if err := r.Do(ctx, "GET", "/status", nil, &s); err != nil {
		return doctor.Running{}, err
	}
	out := doctor.Running{Version: s.Version, State: s.State, Sound: s.Sound, Voice: s.Voice, Button: s.Button, Turns: s.Turns, Ready: s.Ready, Muted: s.Muted,
		Metrics: map[string]float64{}}
	for _, c := range s.Conditions {
		out.Conditions = append(out.Conditions, doctor.Condition{Code: string(c.Code), Text: c.Text, Do: c.Do, Since: c.Since})
	}
	usage, _ := json.Marshal(s.Usage)
	var u struct{ All realtime.Counts }
	if json.Unmarshal(usage, &u) == nil {
		out.Used = usedOf(u.All)
	}
	_ = r.Lines(ctx, "/metrics", func(line []byte) { // its error is the end of the text
		name, value, _ := strings.Cut(string(line), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out.Metrics[name] = v
		}
	})
	return out, nil
}

func usedOf(c realtime.Counts) doctor.Used { return doctor.Used{Tokens: int(c.Tokens()), Cost: c.Cost} }

// trySession opens a session as the appliance's first companion does.
func trySession(ctx context.Context, cfg *config.Config) doctor.Session {
	cards, _ := cards.Find(cfg) // their problems are a check of their own
	conf, err := provider.Session(cfg, cards[0], "realtime", cfg.Voice.URL)
	if err != nil {
		return doctor.Session{Err: err, Cause: "a setting of the voice", Do: "conch check"}
	}
	conf.Log = slog.New(slog.DiscardHandler)
	tried, err := realtime.Try(ctx, conf)
	out := doctor.Session{Took: tried.Took, Without: tried.Without, Said: fitToPrint(tried.Why), Err: err}
	var no *realtime.SessionError
	if errors.As(err, &no) {
		out.Said = fitToPrint(no.Said)
		out.Cause, _, _ = strings.Cut(wordsText(no.Say), ". ")
		out.Do = cmp.Or(provider.Remedy(no.Say), "see the server")
	}
	return out
}

// fitToPrint is what a server says, fit for a terminal and for one line.
func fitToPrint(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

func usedToday(cfg config.Config, now time.Time) doctor.Used {
	files, _ := filepath.Glob(filepath.Join(cfg.State.Dir, provider.UsageFile+"*.json")) // one a companion; its error is a pattern that cannot be
	var all doctor.Used
	for _, file := range files {
		var u struct {
			Day   string          `json:"day"`
			Today realtime.Counts `json:"today"`
		}
		if state.Look(cfg.State.Dir, strings.TrimSuffix(filepath.Base(file), ".json"), &u) != nil || u.Day != now.Format(time.DateOnly) {
			continue
		}
		one := usedOf(u.Today)
		all.Tokens, all.Cost = all.Tokens+one.Tokens, all.Cost+one.Cost
	}
	return all
}

func measured(cfg config.Config) doctor.Measured {
	var last state.Silence
	switch err := state.Look(cfg.State.Dir, state.SilenceFile, &last); {
	case errors.Is(err, os.ErrNotExist):
		return doctor.Measured{}
	case errors.Is(err, os.ErrPermission):
		return doctor.Measured{Hidden: true}
	case err != nil:
		return doctor.Measured{Err: errors.New("the last measurement cannot be read: it is broken")}
	}
	if last.Granted.Backend == audio.BackendNull { // of a conch that took one for a card
		return doctor.Measured{}
	}
	worst, p99 := last.Worst()
	return doctor.Measured{When: last.When, Card: last.Card, P99: p99, Worst: worst}
}

// openSound opens loudspeaker and microphone as the appliance would, and closes them.
func openSound(cfg config.Config) (o doctor.Opened, err error) {
	card, err := audio.NewCard(cfg.Audio.Backend, slog.New(slog.DiscardHandler))
	if err != nil {
		return o, err
	}
	defer card.Close()
	g, err := sound.OpenLoudspeaker(cfg, card)
	if err != nil {
		return o, err
	}
	o = doctor.Opened{Backend: g.Backend, Playback: g.Name, Buffer: g.Buffer(sound.Playback(cfg.Audio)), Bound: g.Bound(cfg.Audio.Fade)}
	c, err := card.OpenCapture(sound.Capture(cfg.Audio), func([]int16) {})
	if err != nil {
		o.CaptureErr = err
		return o, nil
	}
	o.Capture = c.Granted().Name
	_ = c.Close()
	return o, nil
}

// audioPriority is what the audio thread asks for (audio/FACTS.md 4.6: SCHED_FIFO 50).
const audioPriority = 50

// secrets are what doctor may never print, whoever repeats it to us.
func secrets(cfg config.Config, environ []string) (all []string) {
	env := config.ReadEnvironment(environ)
	all = append(all, cfg.LiveKey(), cfg.Voice.Key.Reveal(), env.Get("OPENAI_API_KEY"))
	for _, file := range []string{cfg.Voice.KeyFile, cfg.Room.PasswordFile, cfg.Room.VoteKeyFile, filepath.Join(serviceKeys, "openai_api_key")} {
		if file == "" {
			continue
		}
		if text, _, err := config.ReadBounded(file, config.MaxKey); err == nil {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	return all
}

// Bad is how many findings keep conch, or a part of it, from working.
func (d Diagnosis) Bad() int { return doctor.Counts(d.Findings)[doctor.Bad] }

// Print writes the report for people.
func (d Diagnosis) Print(w io.Writer, verbose bool) { doctor.Print(w, d.Findings, verbose) }
