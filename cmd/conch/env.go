package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"conch/device/config"
	"conch/device/control"
	"conch/device/service"
)

// load reads the configuration as this invocation wants it and says what it warned of, once. A key that cannot be used is no
// reason to refuse: most commands need none, and the appliance starts without (device.Config.KeyTrouble).
func (e *env) load() (config.Config, error) { return e.read(config.LoadOptions{}) }

// loadNew does so for who writes it: one that is named and not there is empty.
func (e *env) loadNew() (config.Config, error) { return e.read(config.LoadOptions{New: true}) }

// loadAnyway reads what can be read of it; the rest tells (device.Config.Refused).
func (e *env) loadAnyway() (config.Config, error) { return e.read(config.LoadOptions{Anyway: true}) }

func (e *env) read(o config.LoadOptions) (config.Config, error) {
	if e.loaded != nil && (o.Anyway || e.loaded.Refused() == nil) {
		return *e.loaded, nil
	}
	o.File, o.Flags, o.Keyless = e.config, e.set, true
	cfg, err := config.Load(o)
	if err != nil {
		return config.Config{}, fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(e.err, "conch:", w)
	}
	e.loaded = cfg
	return *cfg, nil
}

func (e *env) logger(cfg config.Config) *slog.Logger {
	to := e.logPlace(false).choose(&cfg, e.err, nil)
	return service.NewLogger(cfg.Log, to)
}

func (e *env) json(v any) error {
	data, err := asJSON(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = e.out.Write(b.Bytes())
	return err
}

// dial finds the running appliance. All that it takes from the configuration is where its socket is, so one that is refused is no
// obstacle; a flag of this very command is, for whoever typed it can mend it.
func (e *env) dial() (*control.Remote, error) {
	cfg, err := e.loadAnyway()
	if err != nil {
		return nil, err
	}
	if cfg.RefusedFlags() {
		return nil, fmt.Errorf("%w: %w", control.ErrRefused, cfg.Refused())
	}
	r, err := control.Dial(cfg)
	if err != nil && cfg.Refused() != nil {
		err = fmt.Errorf("%w; or it is elsewhere: the configuration, which may say where, is refused (conch check)", err)
	}
	return r, err
}

// loadForClient is the configuration of a command that asks the running appliance, and does without one where none runs: only then
// does it have to be a good one.
func (e *env) loadForClient() (config.Config, error) {
	if _, err := e.dial(); err == nil {
		return e.loadAnyway()
	}
	return e.load()
}

func (e *env) request(method, path string, in, out any) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	err = r.Do(e.ctx, method, path, in, out)
	if err != nil && e.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// errInterrupted: whoever asked does not wait any more.
var errInterrupted = errors.New("interrupted: what has not begun is taken back, the rest goes on")
