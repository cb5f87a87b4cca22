// Package program runs the programs that hear and speak on this machine: each a child with bounds of time, memory and output, never a
// shell.
package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"conch/device/system"
)

// Bounds of a child process. Memory is address space, of which pocketsphinx maps some 200 MB with its model. It is not nice: the
// sound card's thread comes first as it is, and beside busy programs an answer would come too late.
const (
	childMemory = 1 << 30
	childCPU    = 60 // seconds
)

// Children runs programs: a fixed name found once, fixed options, text or sound on standard input, the result on
// standard output. Never a shell.
type Children struct {
	slots chan struct{} // as many run at once
	limit time.Duration // each
	most  int           // bytes of output
}

// New is for so many at once, each as long and with as much output as that.
func New(atOnce int, limit time.Duration, most int) Children {
	return Children{slots: make(chan struct{}, atOnce), limit: limit, most: most}
}

// Run is one of them. beside is a file that it finds as /dev/fd/3; nil: none.
func (c Children) Run(ctx context.Context, in []byte, beside *os.File, path string, args ...string) ([]byte, error) {
	name := filepath.Base(path)
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no free slot: %w", name, ctx.Err())
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LANG=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=/"}
	cmd.Dir = os.TempDir()
	cmd.Stdin = bytes.NewReader(in)
	if beside != nil {
		cmd.ExtraFiles = []*os.File{beside}
	}
	// Standard output is a file in memory: flite goes back to read what it has written, which a pipe does not allow.
	out, err := system.MemoryFile("conch-" + name)
	if err != nil {
		return nil, fmt.Errorf("%s: memory file: %w", name, err)
	}
	defer out.Close()
	errs := &bounded{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = system.Apart(false) // a Ctrl-C at the terminal is ours to handle
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: start: %w", name, err)
	}
	system.Bound(cmd.Process, childMemory, childCPU, uint64(c.most))
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w (limit %s)", name, context.Cause(ctx), c.limit)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %s", name, err, strings.ToValidUTF8(string(bytes.TrimSpace(errs.Bytes()[:min(errs.Len(), 200)])), ""))
	}
	b, err := io.ReadAll(io.NewSectionReader(out, 0, int64(c.most)))
	if err != nil {
		return nil, fmt.Errorf("%s: read its output: %w", name, err)
	}
	return b, nil
}

// bounded keeps the first bytes of an output and swallows the rest.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), b.most-b.Len()))])
	return len(p), nil
}
