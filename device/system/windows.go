//go:build windows

package system

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Rights are those of the owner alone: a file has a list of who may read it instead of a mode, and has it from its folder.
func Rights(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() & 0o700 }

// Owner is not known: whose a file is has no number.
func Owner(fs.FileInfo) (uid, gid int, ok bool) { return -1, -1, false }

// Place is not known.
func Place(fs.FileInfo) (device, inode uint64, ok bool) { return 0, 0, false }

// Access says whether there is such a path: what else there is to say, writing says.
func Access(path string, _ uint32) error {
	_, err := os.Stat(path)
	return err
}

// Lock has a file for this process alone until it is closed, or says ErrTaken. The byte that is locked is none that a file has, as
// nobody could read it, and not the one before the end of all numbers, which bbolt locks.
func Lock(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: 0, OffsetHigh: 1<<31 - 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrTaken
	}
	return err
}

// LockDirectory locks a file beside the directory, which cannot be locked itself; closed, it is left there.
func LockDirectory(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Clean(dir)+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// SyncDirectory does nothing: a directory cannot be told to, and its journal keeps names.
func SyncDirectory(string) error { return nil }

// Apart has a program not get the Ctrl-C of this console. Nothing here ends it with who started it.
func Apart(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// SignalGroup ends a process where the signal is SIGKILL; other signals there are none. What it has started lives on.
func SignalGroup(process *os.Process, sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		_ = process.Kill()
	}
}

// Is says whether an error of the network is this one, which has a number of its own here.
func Is(err error, errno syscall.Errno) bool {
	own := map[syscall.Errno]syscall.Errno{syscall.ECONNREFUSED: windows.WSAECONNREFUSED, syscall.EADDRINUSE: windows.WSAEADDRINUSE,
		syscall.EADDRNOTAVAIL: windows.WSAEADDRNOTAVAIL, syscall.EACCES: windows.WSAEACCES, syscall.ECONNRESET: windows.WSAECONNRESET}[errno]
	return errors.Is(err, errno) || own != 0 && errors.Is(err, own)
}

// Peer takes whoever has come through a unix socket for this user: nobody can ask, and the rights of its file say who gets there.
func Peer(c net.Conn) (uid, pid int, ok bool) {
	_, ok = c.(*net.UnixConn)
	return os.Getuid(), 0, ok
}

// MemoryFile is a file that is gone when it is closed.
func MemoryFile(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(os.TempDir(), name+"-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}

// Wait says at once that the first can be read: a console does not tell whether a line is whole, and who reads it waits.
func Wait(time.Duration, ...*os.File) (int, error) { return 0, nil }
