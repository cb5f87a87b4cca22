package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/device/setup"
)

// keyCmd stores the provider's key where systemd takes it from (LoadCredential in conch.service).
type keyCmd struct {
	Remove bool   `help:"Remove the key; the rehearsal voice answers then."`
	Dir    string `help:"Directory of the service's credentials." default:"/etc/conch/credentials" placeholder:"DIR"`
}

// Help is what conch key --help says on top.
func (keyCmd) Help() string {
	return "Asks for the key without showing it, or takes it from standard input where that is a pipe or a file. It is stored so that only " +
		"root can read it, is handed to the service by systemd, and is never printed."
}

func (c keyCmd) Run(e *env) error {
	path, l := setup.KeyFile(c.Dir), e.language()
	if err := setup.KeyWritable(c.Dir, l); err != nil {
		return err
	}
	if c.Remove {
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(e.out, "there is no key in %s\n", path)
			return nil
		case err != nil:
			return fmt.Errorf("key: %w", err)
		}
		fmt.Fprintf(e.out, "removed %s\n", path)
		return c.restart(e, "removed")
	}
	text, err := e.readKey()
	if err != nil {
		return err
	}
	key, hint, err := config.CheckKey(text, l)
	if err != nil {
		return fmt.Errorf("%w: key: %w", control.ErrRefused, err)
	}
	if hint != "" {
		fmt.Fprintln(e.err, "conch:", hint)
	}
	if err := setup.StoreKey(path, key, l); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "stored in %s\n", path)
	return c.restart(e, "stored")
}

// language is that of the configuration, as far as it can be read.
func (e *env) language() language.Language {
	cfg, err := e.loadAnyway()
	if err != nil {
		l, _ := language.FromEnvironment(os.Getenv)
		return l
	}
	return cfg.Device.Language
}

// readKey takes one key from the terminal, unseen, or all of standard input. ctx ends the wait, and the terminal is then as it
// was; the read itself cannot be ended, but the program is about to be.
func (e *env) readKey() (string, error) {
	from, after := "standard input", func() {}
	read := func() ([]byte, error) { // a line's end, and one byte to see that it is too long
		return io.ReadAll(io.LimitReader(e.in, config.MaxKey+2))
	}
	if fd := int(e.in.Fd()); term.IsTerminal(fd) {
		from = "the terminal"
		before, err := term.GetState(fd)
		if err != nil {
			return "", fmt.Errorf("key: the terminal: %w", err)
		}
		fmt.Fprint(e.err, "key (it is not shown): ")
		read = func() ([]byte, error) { return term.ReadPassword(fd) }
		after = func() {
			_ = term.Restore(fd, before)
			fmt.Fprintln(e.err)
		}
	}
	type result struct {
		text []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := read()
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		after()
		if errors.Is(r.err, io.EOF) {
			return "", errNoKey
		}
		if r.err != nil {
			return "", fmt.Errorf("key: %s: %w", from, r.err)
		}
		return string(r.text), nil
	case <-e.ctx.Done():
		after()
		return "", errNoKey
	}
}

var errNoKey = errors.New("key: none was given; what was stored is as it was")

// restart has the running service take what was done.
func (keyCmd) restart(e *env, done string) error {
	if err := setup.RestartService(e.ctx, e.out, e.language()); err != nil {
		return fmt.Errorf("key: it is %s, but %w", done, err)
	}
	return nil
}
