package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
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
	path := filepath.Join(c.Dir, "openai_api_key")
	// Before asking: nobody shall type a key for nothing.
	if err := writable(c.Dir); err != nil {
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
		return e.restartService()
	}
	text, err := e.readKey()
	if err != nil {
		return err
	}
	key, hint, err := config.CheckKey(text)
	if err != nil {
		return fmt.Errorf("%w: key: %w", control.ErrRefused, err)
	}
	if hint != "" {
		fmt.Fprintln(e.err, "conch:", hint)
	}
	if err := storeKey(path, key); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "stored in %s\n", path)
	return e.restartService()
}

func writable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: key: %s belongs to root: run it as sudo conch key", control.ErrRefused, dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: key: there is no %s: it comes with the Debian package; without that, put the key into a file of mode 0600 "+
			"and name it in voice.key_file", control.ErrRefused, dir)
	case err != nil:
		return fmt.Errorf("%w: key: %w", control.ErrRefused, err)
	case !info.IsDir():
		return fmt.Errorf("%w: key: %s is not a directory", control.ErrRefused, dir)
	}
	switch err := syscall.Access(dir, 3); { // W_OK and X_OK
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("key: %s is on a file system that is read-only (a worn or full card, or an overlay): mount it writable first", dir)
	case err != nil:
		return fmt.Errorf("%w: key: %s belongs to root: run it as sudo conch key", control.ErrRefused, dir)
	}
	return nil
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

// storeKey replaces the file as a whole: whatever happens, the old key or the new one is there. The name of what is being
// written begins with a dot, which LoadCredential passes over.
func storeKey(path, key string) (err error) {
	defer func() {
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			err = fmt.Errorf("key: %s: no space left on this file system; what was stored is as it was (free some: df -h %s)", path, filepath.Dir(path))
		case err != nil:
			err = fmt.Errorf("key: %w (what was stored is as it was)", err)
		}
	}()
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op once renamed
	_, err = f.WriteString(key + "\n")
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync() // or a power cut brings the old name back
}

// restartService makes the running service take the key: credentials are read when it starts. A service that somebody stopped
// stays so.
func (e *env) restartService() error {
	ctl, _ := exec.LookPath("systemctl")
	if ctl == "" {
		fmt.Fprintln(e.out, "there is no systemd here: it counts from the next start of conch")
		return nil
	}
	state := e.systemctl(ctl, "show", "--property=ActiveState", "--value", "conch.service")
	switch state.text {
	case "active", "activating", "reloading", "deactivating", "failed":
	case "inactive":
		fmt.Fprintln(e.out, "the service does not run; start it: sudo systemctl start conch")
		return nil
	default:
		fmt.Fprintln(e.out, "systemd does not answer: it counts from the next start of conch")
		return nil
	}
	fmt.Fprintln(e.out, "restarting the service")
	// It may have failed so often that systemd would refuse.
	e.systemctl(ctl, "reset-failed", "conch.service")
	if r := e.systemctl(ctl, "restart", "conch.service"); r.err != nil {
		return fmt.Errorf("key: it is stored, but the service did not come up: %s (see: systemctl status conch)", r.text)
	}
	fmt.Fprintln(e.out, "the service runs with it")
	return nil
}

type answer struct {
	text string
	err  error
}

func (e *env) systemctl(path string, args ...string) answer {
	ctx, cancel := context.WithTimeout(e.ctx, restartLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil && text == "" {
		text = err.Error()
	}
	return answer{text, err}
}

// restartLimit is longer than the unit's own limits for stopping and starting together.
const restartLimit = 90 * time.Second
