package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"conch/device"
)

// load reads the configuration as this invocation wants it and says what it warned of.
func (e *env) load() (device.Config, error) {
	cfg, err := device.Load(device.LoadOptions{File: e.config, Flags: e.set})
	if err != nil {
		return device.Config{}, fmt.Errorf("%w: %w", device.ErrRefused, err)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(e.err, "conch:", w)
	}
	return *cfg, nil
}

func (e *env) logger(cfg device.Config) *slog.Logger { return device.NewLogger(cfg.Log, e.err) }

func (e *env) json(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type runCmd struct{}

func (runCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	// A person at a terminal talks, and wants to read the talk; whoever wants the log as well sets log.level or 2> it.
	if f, ok := e.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(e.in.Fd())) && cfg.Unset("log.level") {
		cfg.Log.Level = "error"
	}
	return device.Appliance(e.ctx, cfg, e.logger(cfg), e.in, e.out)
}

type rehearseCmd struct {
	Script string `help:"Script to play (- is standard input); see README, Rehearsal." placeholder:"FILE"`
	JSON   bool   `help:"One JSON object a line on standard output." name:"json"`
	Out    string `help:"Directory for a WAV of what each speaker said." placeholder:"DIR"`
	Faults string `help:"What goes wrong with --serve, e.g. slow=2s,duplicate=0.1,fail." placeholder:"LIST"`
	Serve  string `help:"Serve the rehearsal voice (Realtime protocol) to other clients instead." placeholder:"HOST:PORT"`
}

func (c rehearseCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	log := e.logger(cfg)
	switch {
	case c.Serve != "" && c.Script != "":
		return fmt.Errorf("%w: --serve and --script exclude each other", device.ErrRefused)
	case c.Serve != "":
		return device.ServeRehearsal(e.ctx, c.Serve, c.Faults, log, e.out)
	case c.Script == "":
		return fmt.Errorf("%w: rehearse needs --script FILE or --serve HOST:PORT (without a script, talk to it with: conch run)", device.ErrRefused)
	}
	in, dir := io.Reader(e.in), "."
	if c.Script != "-" {
		f, err := os.OpenFile(c.Script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
		if err != nil {
			return fmt.Errorf("%w: --script: %w", device.ErrRefused, err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("%w: --script: %s is not a regular file", device.ErrRefused, c.Script)
		}
		in, dir = f, filepath.Dir(c.Script)
	}
	lines, err := device.ReadScript(in, c.Script, dir, device.RehearsalDevices)
	if err != nil {
		return fmt.Errorf("%w: %w", device.ErrRefused, err)
	}
	r := device.Rehearsal{Config: cfg, Script: lines, Out: c.Out, Log: log, Text: e.out}
	if c.JSON {
		r.JSON = e.out
	}
	return r.Run(e.ctx)
}

type checkCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c checkCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	rows := cfg.Describe()
	if c.JSON {
		return e.json(rows)
	}
	for _, r := range rows {
		fmt.Fprintf(e.out, "%-24s %-40s %s\n", r.Key, r.Value, r.Origin)
	}
	return device.CheckDevices(e.ctx, cfg, e.out)
}

type doctorCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c doctorCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	findings := device.Doctor(e.ctx, cfg)
	bad := 0
	for _, f := range findings {
		if f.Level == "bad" {
			bad++
		}
	}
	if c.JSON {
		if err := e.json(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintf(e.out, "%-5s %-12s %s\n", f.Level, f.Check, f.Text)
			if f.Do != "" {
				fmt.Fprintf(e.out, "%-5s %-12s -> %s\n", "", "", f.Do)
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("doctor: %d of %d findings keep conch from working", bad, len(findings))
	}
	return nil
}

type audioCmd struct {
	List audioListCmd `cmd:"" help:"List sound devices by their stable identity."`
	Test audioTestCmd `cmd:"" help:"Play a tone, then record three seconds and play them back."`
}

type audioListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c audioListCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	devices, err := device.SoundDevices(cfg, e.logger(cfg))
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(devices)
	}
	if len(devices) == 0 {
		fmt.Fprintln(e.out, "no sound device: no card and no sound server (conch runs without sound and says so)")
	}
	for _, d := range devices {
		fmt.Fprintf(e.out, "%-9s %-40s %s\n", d.Kind, d.ID, d.Name)
	}
	return nil
}

type audioTestCmd struct {
	Seconds int `help:"Length of the recording." default:"3"`
}

func (c audioTestCmd) Run(e *env) error {
	if c.Seconds < 1 || c.Seconds > 30 {
		return fmt.Errorf("%w: --seconds %d: must be 1 to 30", device.ErrRefused, c.Seconds)
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	return device.SoundTest(e.ctx, cfg, e.logger(cfg), time.Duration(c.Seconds)*time.Second, e.out)
}

type benchCmd struct {
	Silence   benchSilenceCmd   `cmd:"" help:"Press a virtual button while sound plays; print press to silence for each state."`
	Footprint benchFootprintCmd `cmd:"" help:"Start a private appliance; print memory, processor time, size and time to ready."`
}

type benchSilenceCmd struct {
	Presses int      `help:"Presses per state." default:"20" short:"n"`
	State   []string `help:"Only these states." placeholder:"STATE"`
	Virtual bool     `help:"On the virtual card instead of this machine's."`
	JSON    bool     `help:"Print JSON." name:"json"`
}

func (c benchSilenceCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	report, err := device.MeasureSilence(e.ctx, cfg, c.Presses, c.State, c.Virtual, e.err)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(report)
	}
	fmt.Fprintln(e.out, "method:", report.Method)
	report.Print(e.out)
	return nil
}

type benchFootprintCmd struct {
	Idle time.Duration `help:"How long to watch it idle." default:"10s"`
	Talk time.Duration `help:"How long to watch it talk." default:"20s"`
}

func (c benchFootprintCmd) Run(e *env) error {
	if c.Idle < time.Second || c.Talk < time.Second {
		return fmt.Errorf("%w: --idle and --talk: must be 1s or more", device.ErrRefused)
	}
	var set []string
	for k, v := range e.set {
		set = append(set, k+"="+v)
	}
	return device.Footprint{Config: e.config, Set: set, Idle: c.Idle, Talk: c.Talk, Out: e.out}.Run(e.ctx)
}

type askCmd struct {
	Text []string `arg:"" help:"The question."`
	JSON bool     `help:"Print JSON." name:"json"`
}

func (c askCmd) Run(e *env) error {
	var a device.Answer
	if err := e.request("POST", "/ask", textOf(c.Text), &a); err != nil {
		return err
	}
	switch {
	case c.JSON:
		return e.json(a)
	case a.Text != "":
		fmt.Fprintln(e.out, a.Text)
	}
	switch {
	case a.Summary.Reason == "done":
		return nil
	case a.Words == "":
		return fmt.Errorf("ask: %s", a.Summary.Reason) // cut by a press, for one
	}
	return fmt.Errorf("ask: %s: %s", a.Summary.Reason, a.Words)
}

type sayCmd struct {
	Text []string `arg:"" help:"What to say."`
}

func (c sayCmd) Run(e *env) error {
	var out struct{ Outcome string }
	if err := e.request("POST", "/say", textOf(c.Text), &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Outcome)
	if out.Outcome != "delivered" {
		return errors.New("say: " + out.Outcome)
	}
	return nil
}

type whyCmd struct{}

func (whyCmd) Run(e *env) error {
	var lines []device.RecentLine
	if err := e.request("GET", "/recent", nil, &lines); err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintln(e.out, l)
	}
	return nil
}

func (e *env) request(method, path string, in, out any) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	r, err := device.Dial(cfg)
	if err != nil {
		return err
	}
	return r.Do(e.ctx, method, path, in, out)
}

func textOf(words []string) map[string]string {
	text := ""
	for i, w := range words {
		if i > 0 {
			text += " "
		}
		text += w
	}
	return map[string]string{"text": text}
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.out, device.Version())
	return nil
}
