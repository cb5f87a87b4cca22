package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"conch/device"
	"conch/device/config"
	"conch/device/printable"
	"conch/device/terminal"
)

// logPlace is who would read the log of run and rehearse; that of commands that end by themselves is as without --log.
//
//	                                                     without --log                 with it
//	a service manager; standard error is a file,         all that log.level asks for   the same
//	a socket (the journal)
//	a person at a terminal                               nothing: what they have to    above the prompt
//	                                                     know is said in words
//	a script, a pipe                                     log.level if it is set,       all that log.level asks for
//	                                                     else warnings
type logPlace struct {
	person bool // standard input and standard error are a terminal
	kept   bool // whoever gets it keeps it
	wished bool // --log
}

func (e *env) logPlace(wished bool) logPlace {
	p := logPlace{wished: wished, kept: device.Unattended(e.in)}
	if f, ok := printable.Behind(e.err).(*os.File); ok {
		errAtTerminal := term.IsTerminal(int(f.Fd()))
		p.person = errAtTerminal && term.IsTerminal(int(e.in.Fd()))
		if st, err := f.Stat(); err == nil && !errAtTerminal {
			p.kept = p.kept || st.Mode().IsRegular() || st.Mode()&os.ModeSocket != 0
		}
	}
	return p
}

// logTo is what becomes of the log.
type logTo int

const (
	logAll      logTo = iota // as log.level says
	logWarnings              // less, unless log.level says otherwise
	logScreen                // above the prompt, as log.level says
	logNowhere
)

func (p logPlace) decide() logTo {
	switch {
	case p.person && p.wished:
		return logScreen
	case p.person:
		return logNowhere
	case p.kept || p.wished:
		return logAll
	}
	return logWarnings
}

// choose sets the level of the log, and returns where it is written.
func (p logPlace) choose(cfg *config.Config, errs io.Writer, screen *terminal.Screen) io.Writer {
	switch p.decide() {
	case logScreen:
		return screen
	case logNowhere:
		return io.Discard
	case logWarnings:
		if cfg.Unset("log.level") {
			cfg.Log.Level = "warn"
		}
	}
	return errs
}
