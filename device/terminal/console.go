package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"conch/device/printable"
	"conch/gpio"
)

// Options are what standard input needs beside itself.
type Options struct {
	Screen *Screen              // nil: nobody sees anything
	Clock  func() time.Duration // shared by all facts; nil: a clock of its own
	Plain  bool                 // of Lines: every line is a question, whatever its first word
	Help   func() string        // what "?" and "help" say besides the keys; nil: nothing
}

// help is what "?" says. The keys are the same wherever somebody types.
func (o *Options) help() string {
	l := o.Screen.look.Language
	keys := HelpRow("?, help", l.Phrase("terminal.help_this")) + HelpRow(l.Phrase("terminal.key_arrows"), l.Phrase("terminal.help_before")) +
		HelpRow("Ctrl-Z", l.Phrase("terminal.help_pause")) + HelpRow("q, Ctrl-C", l.Phrase("terminal.help_end"))
	if o.Help == nil {
		return keys
	}
	return o.Help() + keys
}

// HelpRow is a line of what "?" says: what is typed, and what comes of it.
func HelpRow(key, what string) string { return fmt.Sprintf("  %s %s\n", printable.Pad(key, 17), what) }

func (o *Options) fill() {
	if o.Screen == nil {
		o.Screen = New(io.Discard)
	}
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
}

// Keys says that a person sits at a terminal which gives single keys.
func Keys(in *os.File) bool { return hasKeys && term.IsTerminal(int(in.Fd())) }

// Open takes standard input as it is: a Keyboard when a person sits at a terminal, Lines otherwise.
func Open(in *os.File, o Options) gpio.Events {
	if Keys(in) {
		return NewKeyboard(in, o)
	}
	return NewLines(in, o)
}

var errTimeout = errors.New("timeout")

// Nobody says that a file is /dev/null, as standard input is under a service manager or when it was closed: no button at
// all, and its end says nothing. A pipe that ends is different: somebody had something to say and has said it.
func Nobody(in *os.File) bool {
	st, err := in.Stat()
	if err != nil {
		return true
	}
	return st.Mode()&os.ModeCharDevice != 0 && isNull(in, st)
}
