package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is what the person sits at: a pseudo terminal with a command in it.
type terminal struct {
	keys  *os.File
	cmd   *exec.Cmd
	ended chan error

	mu     sync.Mutex
	screen bytes.Buffer
	from   int // what see looks at begins there
}

// columns are those of a terminal that nobody has made wider.
const columns, rows = 80, 24

// run starts a line of shell in a terminal of its own.
func (p *person) run(line string) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("/dev/ptmx: %w", err)
	}
	keys := os.NewFile(uintptr(master), "/dev/ptmx")
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})); err != nil {
		return err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer side.Close()
	t := &terminal{keys: keys, cmd: exec.Command("/bin/sh", "-c", line), ended: make(chan error, 1)}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = side, side, side
	t.cmd.Env = append(os.Environ(), "TERM=linux")
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		return err
	}
	p.terminal = t
	p.tell("run", p.now())
	go func() { // ends with the last who has the terminal open
		buf := make([]byte, 4096)
		for {
			n, err := keys.Read(buf)
			t.mu.Lock()
			t.screen.Write(buf[:n])
			t.mu.Unlock()
			if err != nil {
				t.ended <- t.cmd.Wait()
				return
			}
		}
	}()
	return nil
}

// types a line and Enter.
func (p *person) types(text string) error {
	_, err := p.terminal.keys.WriteString(text + "\r")
	p.tell("type", p.now())
	return err
}

// see waits for text behind what was seen before; lines that the terminal's width has broken count as one.
func (p *person) see(what string) error {
	i := strings.LastIndexByte(what, ' ')
	if i < 0 {
		return errors.New("see TEXT HOW-LONG")
	}
	text := what[:i]
	limit, err := time.ParseDuration(what[i+1:])
	if err != nil {
		return err
	}
	for until := p.now() + limit; p.now() < until; time.Sleep(20 * time.Millisecond) {
		if p.terminal.sees(text) {
			p.tell("see", p.now())
			return nil
		}
	}
	return fmt.Errorf("not within %s; the screen has\n%s", limit, p.terminal.text())
}

// finish waits for the command's end, which must be a good one.
func (p *person) finish(length string) error {
	limit, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	select {
	case err = <-p.terminal.ended:
	case <-time.After(limit):
		err = fmt.Errorf("not within %s", limit)
	}
	p.tell("finish", p.now())
	text := p.terminal.text()
	if err != nil {
		return fmt.Errorf("%w; the screen has\n%s", err, text)
	}
	return os.WriteFile(transcript, []byte(text), 0o644)
}

// transcript is all that a command which has ended had shown.
const transcript = "/run/terminal.txt"

func (t *terminal) sees(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := strings.Join(strings.Fields(t.screen.String()), " ")
	i := strings.Index(words[min(t.from, len(words)):], text)
	if i < 0 {
		return false
	}
	t.from += i + len(text)
	return true
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ReplaceAll(t.screen.String(), "\r", "")
}
