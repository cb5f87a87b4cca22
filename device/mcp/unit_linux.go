package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"conch/device/system"
)

// The service starts a command in a unit of its own (conch-mcp@.service): another user, without conch's files, socket and processes.
//
//	conch ── request, three pipes (SCM_RIGHTS) ──> conch-mcp.socket ──> Serve ──> the program, in a process group
//	      ── a signal, a byte each ──────────────────────────────────>
//	      <─ outcome, once the program has ended ────────────────────
//
// The connection is of whole messages (SOCK_SEQPACKET). Its end, on either side, is the program's end.

const (
	maxRequest = 64 << 10         // bytes of a command and its environment
	maxOutcome = 4 << 10          // bytes
	asking     = 10 * time.Second // that a unit waits for its request
)

// strict says that this process and its children may not write code that they run, as systemd's MemoryDenyWriteExecute= has it.
var strict = sync.OnceValue(func() bool {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		_ = unix.Munmap(page)
	}
	return err != nil
})

// outcome is how the program has ended.
type outcome struct {
	Started bool
	Err     string // empty: without an error
}

// inUnit has a unit start a command with these as standard input, output and error.
func (c *child) inUnit(socket string, r request, files ...*os.File) error {
	data, err := json.Marshal(r)
	if err == nil && len(data) > maxRequest {
		err = fmt.Errorf("its command and environment have %d bytes, and may have %d", len(data), maxRequest)
	}
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("%s: %s (systemctl status conch-mcp.socket)", socket, reason(err))
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_ = conn.SetWriteDeadline(time.Now().Add(stdinStall))
	_, _, err = conn.WriteMsgUnix(data, unix.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("%s: send the command: %s", socket, reason(err))
	}
	c.kill = func(sig syscall.Signal) {
		_ = conn.SetWriteDeadline(time.Now().Add(termGrace))
		_, _ = conn.Write([]byte{byte(sig)})
		if sig == syscall.SIGKILL { // a unit that does not answer this is left to systemd
			_ = conn.SetReadDeadline(time.Now().Add(termGrace))
		}
	}
	go c.attend(conn)
	return nil
}

// attend waits for the end of the program, or of its unit.
func (c *child) attend(conn *net.UnixConn) {
	buf := make([]byte, maxOutcome)
	n, err := conn.Read(buf)
	_ = conn.Close()
	var o outcome
	switch {
	case err != nil || json.Unmarshal(buf[:n], &o) != nil:
		c.err = plain("its unit has ended, and does not say why (journalctl -u 'conch-mcp@*')")
	case !o.Started:
		c.err = plain("it cannot be started: " + clip(o.Err, 300))
	case o.Err != "":
		c.err = errors.New(clip(o.Err, 300))
	}
	c.ended()
}

// Serve is the process of a unit: it starts the program that the connection in asks for, and ends with it. The end of the connection or of
// ctx ends the program.
func Serve(ctx context.Context, in *os.File) error {
	any, err := net.FileConn(in)
	if err != nil {
		return fmt.Errorf("standard input is no socket: conch-mcp.socket starts this (%w)", err)
	}
	defer any.Close()
	conn, ok := any.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("standard input is a socket of the kind %s: conch-mcp.socket starts this", any.LocalAddr().Network())
	}
	defer context.AfterFunc(ctx, func() { _ = conn.CloseRead() })()
	r, files, err := receive(conn)
	var o outcome
	if err == nil {
		o, err = r.run(conn, files)
	}
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		o.Err = clip(reason(err), maxOutcome/8)
	}
	data, _ := json.Marshal(o) // of two fields
	_ = conn.SetWriteDeadline(time.Now().Add(termGrace))
	_, _ = conn.Write(data) // conch may have gone
	return nil
}

// receive takes the request and its three descriptors. What comes with a request that is refused is closed by the caller.
func receive(conn *net.UnixConn) (r request, files []*os.File, err error) {
	buf, rights := make([]byte, maxRequest+1), make([]byte, unix.CmsgSpace(8*4))
	_ = conn.SetReadDeadline(time.Now().Add(asking))
	n, m, flags, _, err := conn.ReadMsgUnix(buf, rights)
	if err != nil {
		return r, nil, err
	}
	_ = conn.SetReadDeadline(time.Time{})
	all, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return r, nil, err
	}
	for _, one := range all {
		fds, err := unix.ParseUnixRights(&one)
		if err != nil {
			return r, files, err
		}
		for _, fd := range fds {
			_ = unix.SetNonblock(fd, false) // the program reads and writes as any other does
			files = append(files, os.NewFile(uintptr(fd), "pipe"))
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || n > maxRequest || len(files) != 3 {
		return r, files, fmt.Errorf("a request of %d bytes with %d descriptors: must have %d at most, and 3", n, len(files), maxRequest)
	}
	if err = json.Unmarshal(buf[:n], &r); err == nil && len(r.Command) == 0 {
		err = errors.New("a request without a command")
	}
	return r, files, err
}

// run starts the program, and waits for its end. A signal that conn says goes to its process group.
func (r request) run(conn *net.UnixConn, files []*os.File) (o outcome, err error) {
	cmd, err := program(r.Command)
	if err != nil {
		return o, err
	}
	runtime.LockOSThread() // it lives as long as the program
	defer runtime.UnlockOSThread()
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Env, files[0], files[1], files[2]
	if err := cmd.Start(); err != nil {
		return o, err
	}
	o.Started = true
	for _, f := range files {
		_ = f.Close()
	}
	over := make(chan struct{})
	go func() { // ends with the connection
		defer close(over)
		buf := make([]byte, 1)
		for {
			n, err := conn.Read(buf)
			if err != nil || n == 0 {
				buf[0] = byte(syscall.SIGKILL)
			}
			system.SignalGroup(cmd.Process, syscall.Signal(buf[0]))
			if err != nil || n == 0 {
				return
			}
		}
	}()
	err = cmd.Wait()
	_ = conn.CloseRead() // kills what it has left in its group
	<-over
	return o, err
}
