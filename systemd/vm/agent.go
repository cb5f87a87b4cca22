package vm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The agent inside the guest: no network, no terminal to scrape, output and exit status of each command by themselves
// (QEMU: Guest Agent Protocol).

// Result is what a command in the guest came to.
type Result struct {
	Command  string
	Out, Err string
	Code     int
}

// Text is all it printed, what went to standard output first.
func (r Result) Text() string { return r.Out + r.Err }

// Failed is an error unless the command ended with 0.
func (r Result) Failed() error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("in the guest: %s: exit status %d\n%s", r.Command, r.Code, strings.TrimSpace(r.Text()))
}

const (
	// agentLimit is for one answer. Loaded and emulated, a guest has been seen to take seconds.
	agentLimit = 60 * time.Second
	// RunLimit is how long Run lets a command take.
	RunLimit = 3 * time.Minute
)

// reach waits until the agent answers.
func (g *Guest) reach(ctx context.Context) error {
	var err error
	for {
		if err = g.greet(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("vm: the guest's agent does not answer: %w", errors.Join(ctx.Err(), err))
		case <-g.ended:
			return fmt.Errorf("vm: QEMU has ended: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// greet connects anew and makes sure that what is read belongs to what was asked: an answer to an earlier connection may
// still be on its way.
func (g *Guest) greet(ctx context.Context) error {
	if g.agent != nil {
		g.agent.close()
	}
	w, err := dialWire(ctx, "agent", g.socket("agent"))
	if err != nil {
		return err
	}
	g.agent = w
	token := rand.Int64N(1 << 50)
	if _, err := w.conn.Write([]byte{0xff}); err != nil { // ends whatever half a command is there
		return err
	}
	_ = w.conn.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := fmt.Fprintf(w.conn, `{"execute":"guest-sync-delimited","arguments":{"id":%d}}`+"\n", token); err != nil {
		return err
	}
	for {
		a, err := w.read()
		if err != nil {
			return err
		}
		if string(a.Return) == fmt.Sprint(token) {
			return nil
		}
	}
}

// Run runs a line of shell in the guest as root and waits for it, for at most RunLimit. An error means that it could not be
// run or did not end; what it ended with is in the result.
func (g *Guest) Run(line string) (Result, error) { return g.RunFor(RunLimit, line) }

// RunFor is Run with a limit of its own.
func (g *Guest) RunFor(limit time.Duration, line string) (Result, error) {
	pid, err := g.Begin(line)
	if err != nil {
		return Result{Command: line}, err
	}
	return g.Await(limit, pid, line)
}

// Begin starts a line of shell and returns its process id.
func (g *Guest) Begin(line string) (pid int, err error) {
	var started struct{ PID int }
	err = g.agent.call(agentLimit, "guest-exec", map[string]any{
		"path": "/bin/sh", "arg": []string{"-c", line}, "capture-output": true,
		"env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "LC_ALL=C.UTF-8"},
	}, &started)
	return started.PID, err
}

// Await waits for the end of what Begin started.
func (g *Guest) Await(limit time.Duration, pid int, line string) (Result, error) {
	r := Result{Command: line}
	deadline := time.Now().Add(limit)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		var s struct {
			Exited   bool
			ExitCode int `json:"exitcode"`
			Signal   int
			Out      []byte `json:"out-data"`
			Err      []byte `json:"err-data"`
		}
		if err := g.agent.call(agentLimit, "guest-exec-status", map[string]any{"pid": pid}, &s); err != nil {
			return r, err
		}
		if s.Exited {
			r.Out, r.Err, r.Code = string(s.Out), string(s.Err), s.ExitCode
			if s.Signal != 0 {
				r.Code = 128 + s.Signal
			}
			return r, nil
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("vm: in the guest: %s: still running after %s", line, limit)
		}
		<-time.After(pause)
	}
}

// piece is how much of a file goes into one message.
const piece = 512 << 10

// Write puts a file into the guest.
func (g *Guest) Write(path string, data []byte, mode uint32) error {
	handle, err := g.open(path, "w")
	if err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), piece)
		if err := g.agent.call(agentLimit, "guest-file-write", map[string]any{"handle": handle, "buf-b64": base64.StdEncoding.EncodeToString(data[:n])},
			nil); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		data = data[n:]
	}
	if err := g.agent.call(agentLimit, "guest-file-close", map[string]any{"handle": handle}, nil); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := g.Run(fmt.Sprintf("chmod %o %s", mode, path))
	return errors.Join(err, r.Failed())
}

// Read gets a file out of the guest.
func (g *Guest) Read(path string) ([]byte, error) {
	handle, err := g.open(path, "r")
	if err != nil {
		return nil, err
	}
	var all []byte
	for {
		var part struct {
			Data []byte `json:"buf-b64"`
			EOF  bool
		}
		if err := g.agent.call(agentLimit, "guest-file-read", map[string]any{"handle": handle, "count": piece}, &part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, part.Data...)
		if part.EOF || len(part.Data) == 0 {
			return all, g.agent.call(agentLimit, "guest-file-close", map[string]any{"handle": handle}, nil)
		}
	}
}

func (g *Guest) open(path, mode string) (handle int, err error) {
	if err := g.agent.call(agentLimit, "guest-file-open", map[string]any{"path": path, "mode": mode}, &handle); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return handle, nil
}
