package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"conch/device"
)

// load reads the configuration as this invocation wants it and says what it warned of, once. A key that cannot be used is no
// reason to refuse: most commands need none, and the appliance starts without (device.Config.KeyTrouble).
func (e *env) load() (device.Config, error) {
	if e.loaded != nil {
		return *e.loaded, nil
	}
	cfg, err := device.Load(device.LoadOptions{File: e.config, Flags: e.set, Keyless: true})
	if err != nil {
		return device.Config{}, fmt.Errorf("%w: %w", device.ErrRefused, err)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(e.err, "conch:", w)
	}
	e.loaded = cfg
	return *cfg, nil
}

func (e *env) logger(cfg device.Config) *slog.Logger { return device.NewLogger(cfg.Log, e.err) }

func (e *env) json(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
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
