//go:build unix

package system

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Rights are those that the mode of a file gives.
func Rights(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }

// Owner is whose a file is; not ok: nobody knows.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return int(st.Uid), int(st.Gid), true
	}
	return -1, -1, false
}

// Place is on which disk a file is, and which of its files; not ok: nobody knows.
func Place(info fs.FileInfo) (device, inode uint64, ok bool) {
	if st, is := info.Sys().(*syscall.Stat_t); is {
		return uint64(st.Dev), st.Ino, true //nolint:unconvert,nolintlint // 32 bits wide on some machines
	}
	return 0, 0, false
}

// Access says why this user may not Write to a directory, or Pass through it (access(2)).
func Access(path string, how uint32) error { return syscall.Access(path, how) }

// Lock has a file for this process alone until it is closed, or says ErrTaken.
func Lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrTaken
	}
	return err
}

// LockDirectory has a directory for this process alone until what it returns is closed, or says ErrTaken.
func LockDirectory(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := Lock(d); err != nil {
		_ = d.Close() // nothing was written
		return nil, err
	}
	return d, nil
}

// SyncDirectory has the names of a directory written to the disk, or a power cut brings the old ones back.
func SyncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// SignalGroup sends a signal to a process that was started Apart, and to what it has started.
func SignalGroup(process *os.Process, sig syscall.Signal) { _ = syscall.Kill(-process.Pid, sig) }

// Is says whether an error of the network is this one.
func Is(err error, errno syscall.Errno) bool { return errors.Is(err, errno) }

// Peer is who is at the other end of a unix socket: which user, and which process (0: not known). Not ok: nobody knows.
func Peer(c net.Conn) (uid, pid int, ok bool) {
	u, is := c.(*net.UnixConn)
	if !is {
		return 0, 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	if raw.Control(func(fd uintptr) { uid, pid, err = peer(int(fd)) }) != nil || err != nil {
		return 0, 0, false
	}
	return uid, pid, true
}
