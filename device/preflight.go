package device

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
	"conch/device/sound"
	"conch/device/state"
	"conch/device/terminal"
)

// preflight refuses what can be known to be wrong before anything has started: a second appliance on the same runtime
// directory, whose turns would fight with ours, and a sound device that is named and is not there. (One that goes away
// later is a condition and comes back by itself; at the start, a name with a slip in it looks the same, and whoever typed
// it must hear of it. Where nobody did, it is a condition from the beginning: the rest works.) The state directory is this one's
// until release.
func preflight(ctx context.Context, cfg config.Config, alone bool) (release func(), err error) {
	if _, err := control.DialSocket(cfg.State.Socket()); err == nil {
		return nil, fmt.Errorf("%w: another conch is running at %s (talk to it with conch ask, stop it, or set state.runtime)", control.ErrRefused,
			cfg.State.Socket())
	}
	if !alone {
		if err := sound.Check(ctx, cfg, io.Discard); err != nil {
			return nil, err
		}
	}
	return state.Own(cfg.State.Dir)
}

// Unattended says that conch run is started by a service manager, or as if by one: nobody reads what it says and starts it again.
// Then it starts with what works (LoadOptions.Anyway); whoever started it by hand is told what was refused, and can mend it.
func Unattended(in *os.File) bool {
	return terminal.Nobody(in) || os.Getenv("NOTIFY_SOCKET") != "" && !term.IsTerminal(int(in.Fd()))
}

// surviveReaders keeps a standard output or error that nobody reads any more from ending the program (os/signal, SIGPIPE);
// call what it returns at the end.
func surviveReaders() (stop func()) {
	c := make(chan os.Signal, 1) // never read: that it is asked for is enough
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
