package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"conch/device"
	"conch/device/config"
	"conch/device/control"
	"conch/device/join"
	"conch/device/printable"
	"conch/device/reload"
	"conch/device/service"
	"conch/device/terminal"
)

type runCmd struct {
	Log bool `help:"Show the log between the talk, at a terminal, and all of it where a script or a pipe gets warnings only."`
}

// Run is the appliance, until it has become another one on disk, by pairing or by leaving its room: then this process becomes the
// same program anew, which reads what it is from there. Its id, its open standard streams and its environment stay, so that a service
// manager sees a reload and no end.
func (c runCmd) Run(e *env) error {
	if err := service.Conceal(); err != nil {
		fmt.Fprintln(e.err, "conch:", err)
	}
	err := c.once(e)
	if !errors.Is(err, join.ErrRestart) {
		return err
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // whoever wants it to end, ends it from here on
	if e.ctx.Err() != nil {
		return nil //nolint:nilerr // it was to end anyway
	}
	if f := e.in; !term.IsTerminal(int(f.Fd())) {
		signal.Ignore(syscall.SIGHUP) // a reload: the new one takes the newest file in any case, and listens from its first moment
	}
	return become(os.Args)
}

// become replaces this process by the same program. It returns only if that cannot be.
func become(args []string) error {
	var errs []error
	// The file may have been replaced by an upgrade, which is then what runs; deleted, it is still there for its own process (proc(5)).
	if path, err := os.Executable(); err == nil {
		errs = append(errs, syscall.Exec(path, args, os.Environ()))
	}
	errs = append(errs, syscall.Exec("/proc/self/exe", args, os.Environ()))
	return fmt.Errorf("begin anew: %w (start it again)", errors.Join(errs...))
}

// once is one life. What it leaves open is closed when it returns: the log is written, the terminal is as it was.
func (c runCmd) once(e *env) error {
	load := e.load
	if device.Unattended(e.in) {
		load = e.loadAnyway
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	if trouble := cfg.KeyTrouble(); trouble != "" && term.IsTerminal(int(e.in.Fd())) { // whoever typed it can mend it
		return fmt.Errorf("%w: %s", control.ErrRefused, trouble)
	}
	for _, m := range cfg.MissingFiles() {
		fmt.Fprintln(e.err, "conch:", m)
	}
	out := service.NewScreenSpill(printable.Behind(e.out)) // a reader that sleeps must not hold up who says something
	defer out.Close()
	screen := terminal.New(out)
	screen.On(e.out)
	screen.In(cfg.Device.Language)
	logged := e.logPlace(c.Log).choose(&cfg, e.err, screen)
	journal := service.NewSpill(logged) // nobody waits for it
	defer journal.Close()
	log, level := service.LiveLogger(cfg.Log, journal)
	again := func() (*config.Config, error) {
		cfg, err := config.Load(config.LoadOptions{File: e.config, Flags: e.set, Keyless: true})
		if err == nil {
			e.logPlace(c.Log).choose(cfg, e.err, screen)
		}
		return cfg, err
	}
	return device.Appliance(e.ctx, cfg, reload.Options{Load: again, Level: level}, log, e.in, screen)
}
