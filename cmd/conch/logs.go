package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"conch/device/control"
)

type logsCmd struct {
	Follow bool `help:"Go on showing what comes, until Ctrl-C." short:"f"`
	Lines  int  `help:"How many of the last lines." default:"100" short:"n" placeholder:"N"`
}

// Help is what conch logs --help says on top.
func (logsCmd) Help() string {
	return "Of the service it is the journal (journalctl -u conch), of a conch that was started by hand what it still knows: " +
		"the last thousand lines. What people say " +
		"is in neither. A line is one event; conch why tells in words what happened last."
}

func (c logsCmd) Run(e *env) error {
	if c.Lines < 0 {
		return fmt.Errorf("%w: --lines %d: must be 0 or more", control.ErrRefused, c.Lines)
	}
	r, err := e.dial()
	if errors.Is(err, control.ErrRefused) {
		return err
	}
	journal := journalctl()
	switch {
	case journal != "" && (err == nil && r.Service() || err != nil && installed()):
		if err == nil && !journalReadable() {
			fmt.Fprintln(e.err, "conch: this user may not read the journal (sudo conch logs does); this is what the running service still knows:")
			break
		}
		args := []string{"journalctl", "--unit=conch.service", "--lines=" + strconv.Itoa(c.Lines), "--no-hostname", "--output=short-iso"}
		if c.Follow {
			args = append(args, "--follow")
		}
		return fmt.Errorf("logs: %s: %w", journal, syscall.Exec(journal, args, os.Environ()))
	case err != nil:
		return err
	}
	q := url.Values{"lines": {strconv.Itoa(c.Lines)}}
	if c.Follow {
		q.Set("follow", "1")
	}
	err = r.Lines(e.ctx, "/logs?"+q.Encode(), func(line []byte) { fmt.Fprintf(e.out, "%s\n", line) })
	if errors.Is(err, control.ErrEnded) && !c.Follow {
		return nil
	}
	return err
}

func journalctl() string {
	path, _ := exec.LookPath("journalctl") // empty: there is none
	return path
}

// installed says whether there is a service whose journal may have something.
func installed() bool {
	for _, path := range []string{"/lib/systemd/system/conch.service", "/usr/lib/systemd/system/conch.service", "/etc/systemd/system/conch.service"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// journalReadable says whether this user may read the system's journal, as journalctl finds out: its files can be opened.
func journalReadable() bool {
	for _, dir := range []string{"/var/log/journal", "/run/log/journal"} {
		machines, _ := os.ReadDir(dir) // one that cannot be read has nothing for this user
		for _, m := range machines {
			f, err := os.Open(dir + "/" + m.Name() + "/system.journal")
			if err == nil {
				f.Close()
				return true
			}
		}
	}
	return false
}
