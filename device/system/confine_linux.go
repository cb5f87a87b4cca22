package system

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// Confine starts cmd, which may then read and run what is at the given paths and read the given files. It opens no other file, no socket,
// and reaches no other process. On a kernel without Landlock, as that of Raspberry Pi OS, it can read what its user can, and change nothing.
func Confine(cmd *exec.Cmd, paths []string, files ...*os.File) error {
	err := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, because what it gave up does not come back
		e := landlock(paths, files)
		if e == nil {
			e = filter()
		}
		if e == nil {
			e = cmd.Start()
		}
		err <- e
	}()
	return <-err
}

// landlock closes the file system to this thread and to what it starts (landlock(7)).
func landlock(paths []string, files []*os.File) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	size := unsafe.Offsetof(attr.Handled_access_net)
	if version >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 6 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(rules))
	allow := func(fd uintptr, access uint64) error {
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return os.NewSyscallError("landlock_add_rule", errno)
		}
		return nil
	}
	for _, path := range paths {
		f, err := os.OpenFile(path, unix.O_PATH, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		access := uint64(unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE)
		if st, err := f.Stat(); err == nil && st.IsDir() {
			access |= unix.LANDLOCK_ACCESS_FS_READ_DIR
		}
		err = allow(f.Fd(), access)
		f.Close()
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := allow(f.Fd(), unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// refused are calls of the system that what decodes has no use for: sockets, other processes, changes of files, more rights.
var refused = []string{
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "io_uring_setup",
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kill", "tkill",
	"open", "openat2", "creat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink",
	"symlinkat", "mknod", "mknodat", "truncate", "truncate64", "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat",
	"chown32", "lchown32", "fchown32", "setxattr", "lsetxattr",
	"mount", "umount2", "pivot_root", "unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open",
}

// filter refuses them to this thread and to what it starts, and to open a file for writing (seccomp(2)). It holds without Landlock, too.
func filter() error {
	of, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	var names []string // others have no such call
	for _, name := range refused {
		if _, ok := of.SyscallNames[name]; ok {
			names = append(names, name)
		}
	}
	const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: names, NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "openat", Conditions: seccomp.ArgumentConditions{{Argument: 2, Operation: seccomp.BitsSet, Value: writes}}},
		}}},
	}})
}
