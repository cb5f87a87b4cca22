package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
	"conch/gpio"
)

// Options say how conch setup talks, and what it need not ask.
type Options struct {
	In   *os.File
	Out  io.Writer
	Log  *slog.Logger
	Only []string // steps; none: all that are not in place
	Yes  bool     // nobody is asked: each question has its flag's answer, or that of Enter
	JSON bool     // one object a step; without Yes nothing is written

	Answers

	// Load reads the configuration, with these settings over it.
	Load func(set map[string]string) (config.Config, error)
	Keys string // directory of the service's credentials
	Root string // before /proc, /sys and /boot, for tests
	// Listen is gpio.Learn, or a test's.
	Listen func(context.Context, gpio.LearnOptions) (gpio.Learned, error)
}

// Answers are given beforehand; empty ones are asked for.
type Answers struct {
	Board             string
	Playback, Capture string
	Pin               int // -1: none was given
	Active            string
	URL, Model        string
	KeyFrom           string // file; - is standard input
	Votes             string
	Language          string
	Quiet             string // hours, or none
	Limit             string // money a day, or none
	Broker            string // of Home Assistant
	BrokerUser        string

	BrokerPasswordFrom string // file
	Reboot             bool
}

// settings are the answers as settings.
func (a Answers) settings() map[string]string {
	set := map[string]string{"device.board": a.Board, "audio.playback": a.Playback, "audio.capture": a.Capture, "button.active": a.Active,
		"voice.url": a.URL, "voice.model": a.Model, votesKey: a.Votes, languageKey: a.Language, quietKey: a.Quiet,
		"homeassistant.user": a.BrokerUser}
	if a.Broker != "" {
		set["homeassistant.broker"] = brokerOf(a.Broker)
	}
	if a.Quiet == noHours {
		set[quietKey] = ""
	}
	if a.Board == "none" {
		set["device.board"] = ""
	}
	if a.Pin >= 0 {
		set["button.pin"] = strconv.Itoa(a.Pin)
	}
	maps.DeleteFunc(set, func(_, value string) bool { return value == "" })
	return set
}

// A Step is what setup says of one of its steps, as JSON has it.
type Step struct {
	Step      string   `json:"step"`
	State     State    `json:"state"`
	Text      string   `json:"text"`
	Question  string   `json:"question,omitempty"` // the last one, that was asked or would have been
	Choices   []string `json:"choices,omitempty"`
	OnEnter   string   `json:"on_enter,omitempty"` // the answer that Enter gives
	Change    string   `json:"change,omitempty"`   // of files: lines with - and +
	Files     []string `json:"files,omitempty"`
	NeedsBoot bool     `json:"needs_reboot,omitempty"`
	Do        string   `json:"do,omitempty"` // what helps, where something failed
}

// State is how a step ended.
type State string

// The states.
const (
	InPlace   State = "in_place"  // it was there, and nothing was asked
	Changed   State = "changed"   // written
	Unchanged State = "unchanged" // asked, and all stays as it is
	Planned   State = "planned"   // would be written (JSON without Yes)
	Skipped   State = "skipped"
	Failed    State = "failed"
)

// A wizard is one run of setup.
type wizard struct {
	Options
	asker

	cfg     config.Config
	now     Step // being made
	paused  bool // the service was stopped, so that card and pins are free
	changed bool // the service has something new to take
	started bool // it was started with that
	failed  []string
	doubt   string // what is wrong with a voice that was written all the same
	boot    bool   // the machine has to be rebooted for it
}

// step is one of the questions, or the trial at the end.
type step struct {
	name  string
	look  func(*wizard) (text string, done bool)
	ask   func(*wizard, context.Context) error
	where func(*wizard) bool // it is asked there alone, or by its name; nil: everywhere
}

// steps in their order.
func steps() []step {
	return []step{
		{"language", (*wizard).lookLanguage, (*wizard).askLanguage, nil},
		{"board", (*wizard).lookBoard, (*wizard).askBoard, nil},
		{"sound", lookSound, (*wizard).askSound, nil},
		{"pin", (*wizard).lookPin, (*wizard).askPin, nil},
		{"voice", (*wizard).lookVoice, (*wizard).askVoice, nil},
		{"limit", lookLimit, (*wizard).askLimit, limitApplies},
		{"votes", lookVotes, (*wizard).askVotes, votesApply},
		{"house", lookHouse, (*wizard).askHouse, nil},
		{"quiet", (*wizard).lookQuiet, (*wizard).askQuiet, nil},
	}
}

// applying are the steps that this device has now: a key that was just given may bring one.
func applying(w *wizard) []step {
	return slices.DeleteFunc(steps(), func(s step) bool {
		return s.where != nil && !slices.Contains(w.Only, s.name) && !given(w, s.name) && !s.where(w)
	})
}

// Names are those of the steps, with the trial.
func Names() (names []string) {
	for _, s := range steps() {
		names = append(names, s.name)
	}
	return append(names, trial)
}

const trial = "try"

// Run asks what is not in place, or what is asked for, and ends with a trial.
func Run(ctx context.Context, o Options) (err error) {
	w := &wizard{Options: o, asker: asker{in: o.In, out: o.Out, nobody: o.Yes || o.JSON}}
	if w.Listen == nil {
		w.Listen = gpio.Learn
	}
	if w.JSON {
		w.asker.out = io.Discard
	}
	if !w.nobody && !term.IsTerminal(int(o.In.Fd())) {
		w.lang, _ = language.FromEnvironment(os.Getenv) // nothing was read yet
		return fmt.Errorf("%w: %s", control.ErrRefused, w.lang.Phrase("setup.nobody"))
	}
	if w.cfg, err = w.Load(nil); err != nil {
		return err
	}
	w.speak()
	if _, err := w.Load(w.Answers.settings()); err != nil { // before anything is asked or written
		return err
	}
	if !w.dry() {
		if err := mayWrite(w.cfg, w.lang); err != nil {
			return err
		}
	}
	defer func() {
		if errors.Is(err, errLeft) {
			err = errors.New(w.lang.Phrase("setup.left"))
		}
		err = errors.Join(err, w.resume(ctx))
	}()
	if err := w.walk(ctx); err != nil {
		return err
	}
	if err := end(ctx, w); err != nil {
		return err
	}
	if len(w.failed) > 0 && w.nobody {
		return errors.New(w.lang.Phrase("setup.failed", "steps", strings.Join(w.failed, ", ")))
	}
	return nil
}

// speak goes on in the language of the configuration; for programs there is one.
func (w *wizard) speak() {
	w.lang = w.cfg.Device.Language
	if w.JSON {
		w.lang = language.English
	}
}

// dry says that nothing is written.
func (w *wizard) dry() bool { return w.JSON && !w.Yes }

// wants says whether a step was asked for by name, or all are.
func (w *wizard) wants(name string) (wanted, named bool) {
	named = slices.Contains(w.Only, name)
	return named || len(w.Only) == 0, named
}

// walk shows what is in place, and asks for the rest.
func (w *wizard) walk(ctx context.Context) error {
	if len(w.Only) == 0 {
		all := applying(w)
		w.say("%s", w.lang.Phrase("setup.begin", "n", len(all)))
		for _, s := range all {
			text, done := s.look(w)
			state := w.lang.Phrase("setup.open")
			if done {
				state = w.lang.Phrase("setup.done")
			}
			w.say("  %s %-9s %s", printable.Pad(state, 6), s.name, text)
		}
	}
	for _, s := range steps() {
		wanted, named := w.wants(s.name)
		all := applying(w)
		i := slices.IndexFunc(all, func(a step) bool { return a.name == s.name })
		if !wanted || i < 0 {
			continue
		}
		text, done := s.look(w)
		w.now = Step{Step: s.name, State: InPlace, Text: text}
		w.question, w.choices, w.answer = "", nil, ""
		if done && !named && !given(w, s.name) {
			if err := w.told(); err != nil {
				return err
			}
			continue
		}
		w.say("\n%s", w.lang.Phrase("setup.one_of", "n", i+1, "all", len(all), "what", w.lang.Phrase("step."+s.name)))
		w.now.State = Unchanged
		switch err := s.ask(w, ctx); {
		case errors.Is(err, errSkip):
			w.skip("%s", w.lang.Phrase("setup.later", "step", s.name))
		case errors.Is(err, errLeft), ctx.Err() != nil:
			return errLeft
		case err != nil:
			w.fail(err.Error(), "")
		}
		if err := w.told(); err != nil {
			return err
		}
		if w.boot && s.name == "board" {
			if err := offerReboot(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// given says whether a flag has something to say to a step.
func given(w *wizard, name string) bool {
	a := w.Answers
	return map[string]bool{
		"board": a.Board != "", "sound": a.Playback+a.Capture != "", "pin": a.Pin >= 0 || a.Active != "",
		"voice": a.URL+a.Model+a.KeyFrom != "", "votes": a.Votes != "", "language": a.Language != "", "quiet": a.Quiet != "",
		"limit": a.Limit != "", "house": a.Broker != "",
	}[name]
}

// told prints the step as JSON.
func (w *wizard) told() error {
	if w.nobody {
		w.now.Question, w.now.Choices, w.now.OnEnter = w.question, w.choices, w.answer
	}
	if !w.JSON {
		return nil
	}
	return json.NewEncoder(w.Options.Out).Encode(w.now)
}

// ends with: how a step ended, said and kept.
func (w *wizard) with(state State, format string, args ...any) {
	w.now.State, w.now.Text = state, fmt.Sprintf(format, args...)
	w.say("  %s", w.now.Text)
}

func (w *wizard) skip(format string, args ...any) { w.with(Skipped, format, args...) }

// fail says what went wrong; the other steps go on.
func (w *wizard) fail(text, do string) {
	w.with(Failed, "%s", strings.TrimPrefix(text, control.ErrRefused.Error()+": "))
	w.failed = append(w.failed, w.now.Step)
	if w.now.Do = do; do != "" {
		w.say("  %s", do)
	}
}

// set writes settings into the configuration file, and other files with them, after a person has seen the lines. It says
// whether it was done; all are checked before the first is written.
func (w *wizard) set(ctx context.Context, edits []config.Edit, others ...change) (bool, error) {
	all := others
	if len(edits) > 0 {
		over := map[string]string{}
		for _, e := range edits {
			over[e.Key] = e.Plain()
		}
		if _, err := w.Load(over); err != nil {
			return false, err
		}
		c, err := planned(w.cfg, edits, w.lang)
		if err != nil {
			return false, err
		}
		all = append(all, c)
	}
	all = slices.DeleteFunc(all, func(c change) bool { return c.before == c.after })
	if len(all) == 0 {
		return false, nil
	}
	for _, c := range all {
		if c.copy {
			continue
		}
		w.now.Files = append(w.now.Files, c.path)
		w.now.Change += c.diff()
		w.say("%s", c.path)
		fmt.Fprint(w.asker.out, c.diff())
	}
	if yes, err := w.yes(ctx, w.lang.Phrase("setup.write"), true); err != nil || !yes {
		if err == nil {
			w.skip("%s", w.lang.Phrase("setup.not_written"))
		}
		return false, err
	}
	if w.dry() {
		w.now.State = Planned
		return false, nil
	}
	if err := writeAll(all, "setup "+w.now.Step, w.lang); err != nil { // Ctrl-C waits meanwhile
		return false, err
	}
	w.changed, w.now.State = true, Changed
	cfg, err := w.Load(nil)
	if err == nil {
		w.cfg = cfg
		w.speak()
	}
	return err == nil, err
}

// path is where a file of the machine is.
func (w *wizard) path(p string) string { return filepath.Join(w.Root, p) }

// read is a file of the machine in one line; empty: there is none.
func (w *wizard) read(p string) string {
	data, _, err := config.ReadBounded(w.path(p), 1<<20)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(data), "\x00\n")
}

// exists says whether there is any file like this.
func (w *wizard) exists(pattern string) bool {
	found, _ := filepath.Glob(w.path(pattern))
	return len(found) > 0
}

// pause has the service let go of card and pins while they are tried.
func (w *wizard) pause(ctx context.Context) error {
	if w.paused {
		return nil
	}
	if !up(ctx) {
		return nil
	}
	w.say("  %s", w.lang.Phrase("setup.stands_still"))
	w.paused = true
	if text, err := systemctl(ctx, "stop", unit); err != nil {
		return errors.New(w.lang.Phrase("setup.cannot_stop", "why", text))
	}
	return nil
}

// resume starts again what pause has stopped, however setup ends.
func (w *wizard) resume(ctx context.Context) error {
	if !w.paused {
		return nil
	}
	w.paused = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serviceLimit)
	defer cancel()
	if err := restart(ctx, w.lang); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	return nil
}

// offerReboot: what is in config.txt counts from the next boot.
func offerReboot(ctx context.Context, w *wizard) error {
	now := w.Reboot
	if !w.nobody {
		var err error
		now, err = w.yes(ctx, w.lang.Phrase("setup.reboot_now"), true)
		if err != nil && !errors.Is(err, errSkip) {
			return err
		}
	}
	if !now || w.dry() {
		w.say("  %s", w.lang.Phrase("setup.reboot_later"))
		return nil
	}
	text, err := systemctl(ctx, "reboot")
	if err == nil {
		w.say("  %s", w.lang.Phrase("setup.rebooting"))
		<-ctx.Done() // the machine ends this
		return errLeft
	}
	w.say("  %s", w.lang.Phrase("setup.no_reboot", "why", text))
	return nil
}

const pollEvery = 300 * time.Millisecond
