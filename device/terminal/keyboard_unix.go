//go:build unix

package terminal

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// settings are those of a terminal.
type settings unix.Termios

// singleKeys sets a terminal to give single keys, unechoed, Ctrl-C among them, and returns how it was.
func singleKeys(fd int) (*settings, error) {
	found, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("gpio: read the settings of the terminal: %w", err)
	}
	ours := *found
	ours.Iflag &^= unix.ICRNL | unix.INLCR | unix.IXON
	ours.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	ours.Cc[unix.VMIN], ours.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &ours); err != nil {
		return nil, fmt.Errorf("gpio: set the terminal: %w", err)
	}
	return (*settings)(found), nil
}

// restore sets a terminal to be as it was; one that is gone needs nothing.
func (s *settings) restore(fd int) { _ = unix.IoctlSetTermios(fd, setTermios, (*unix.Termios)(s)) }

// signalled are the signals that a keyboard is to know of.
func signalled() []os.Signal {
	return []os.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH, unix.SIGCONT}
}

// signalMeans says of a signal that the terminal has another size, or that we have it back; others are to end the program.
func signalMeans(s os.Signal) (resized, back bool) { return s == unix.SIGWINCH, s == unix.SIGCONT }

// quitAgain has SIGQUIT come as if nobody had caught it: Go prints all stacks.
func quitAgain(s os.Signal) {
	if s == unix.SIGQUIT {
		signal.Reset(unix.SIGQUIT)
		_ = unix.Kill(unix.Getpid(), unix.SIGQUIT)
	}
}
