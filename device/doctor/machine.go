package doctor

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"conch/audio/mixer"
	"conch/device/system"
	"conch/gpio"
)

// Machine is what the checks may see of the machine, and nothing else. Here is the real one; tests have trees of files below
// a root of their own, and functions that break one thing.
type Machine struct {
	Root   string // put before every absolute path; empty: the machine itself
	UID    int    // of the caller
	Groups []int  // of the caller
	People []string
	// Now is the clock; Synced says whether something keeps it right.
	Now    func() time.Time
	Synced func() (bool, error)
	// Run runs a program, bounded by the context, and returns what it wrote to standard output.
	Run    func(ctx context.Context, name string, args ...string) (string, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Proxy  func(*http.Request) (*url.URL, error) // nil: none
	GPIO   func(gpio.InventoryOptions) gpio.Inventory
	Inputs func() (all []gpio.InputDevice, denied int)
	Space  func(path string) (Space, error)
	Owner  func(fs.FileInfo) (uid, gid int)
	Roots  *x509.CertPool         // authorities; nil: the system's
	RTPrio func() (uint64, error) // highest real-time priority the caller may have
	CPUs   int                    // processors
	Levels func(card string) ([]mixer.Control, error)
}

// Space is a file system, as statfs tells it.
type Space struct {
	Free      uint64 // bytes a user who is not root may have
	Inodes    uint64 // of the file system; 0: it does not count them
	Left      uint64 // inodes that are left
	ReadOnly  bool
	Temporary bool // lost at a restart
}

// Real is the machine this program runs on.
func Real() *Machine {
	groups, _ := os.Getgroups()
	m := &Machine{
		UID: os.Geteuid(), Groups: append(groups, os.Getegid()),
		Now: time.Now, Synced: clockSynced,
		Run: run, Dial: (&net.Dialer{}).DialContext, Proxy: http.ProxyFromEnvironment,
		GPIO: gpio.Inspect, Inputs: func() ([]gpio.InputDevice, int) { return gpio.InputDevices("") },
		Space: space, Owner: owner, RTPrio: rtprio, CPUs: runtime.NumCPU(), Levels: levels,
	}
	for _, name := range []string{"USER", "LOGNAME", "SUDO_USER"} {
		m.People = append(m.People, os.Getenv(name))
	}
	return m
}

// levels are those of a sound card's own mixer.
func levels(card string) ([]mixer.Control, error) {
	c, err := mixer.Open(card)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Controls()
}

func owner(info fs.FileInfo) (uid, gid int) {
	uid, gid, _ = system.Owner(info)
	return uid, gid
}

// maxOutput bounds what a program or a file may tell.
const maxOutput = 1 << 20

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0")
	cmd.WaitDelay = grace
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &atMost{&out}, &atMost{&errs}
	err := cmd.Run()
	if err != nil && errs.Len() > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		err = fmt.Errorf("%w: %s", err, line)
	}
	return out.String(), err
}

// atMost takes what is written and keeps the first of it.
type atMost struct{ to *bytes.Buffer }

func (a *atMost) Write(p []byte) (int, error) {
	a.to.Write(p[:min(len(p), max(0, maxOutput-a.to.Len()))])
	return len(p), nil
}

// Path is where a file of the machine is.
func (m *Machine) Path(p string) string {
	if m.Root == "" {
		return p
	}
	return filepath.Join(m.Root, p)
}

// read is the content of a file without the spaces and zeros around it (device tree strings end with one).
func (m *Machine) read(p string) (string, error) {
	f, err := os.OpenFile(m.Path(p), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not wait
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOutput))
	return strings.Trim(string(data), " \t\r\n\x00"), err
}

// say is read for what may be missing.
func (m *Machine) say(p string) string {
	text, _ := m.read(p)
	return text
}

// Exists says whether there is a file, even one that may not be looked at.
func (m *Machine) Exists(p string) bool {
	_, err := os.Stat(m.Path(p))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// glob gives paths as the machine has them, without the root before them, sorted.
func (m *Machine) glob(pattern string) []string {
	found, _ := filepath.Glob(m.Path(pattern))
	for i := range found {
		found[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(found[i], m.Root), "/")
	}
	return found
}

// Account is a user, as /etc/passwd and /etc/group have it, or the caller.
type Account struct {
	Name   string
	UID    int
	Groups []int
	Caller bool
}

// account finds a user by name.
func (m *Machine) account(name string) (Account, bool) {
	a := Account{Name: name}
	for line := range strings.Lines(m.say("/etc/passwd")) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[0] != name {
			continue
		}
		uid, err1 := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		if err := errors.Join(err1, err2); err != nil {
			return a, false
		}
		a.UID, a.Groups = uid, []int{gid}
		for _, g := range m.groups() {
			if slices.Contains(g.members, name) {
				a.Groups = append(a.Groups, g.id)
			}
		}
		return a, true
	}
	return a, false
}

type group struct {
	name    string
	id      int
	members []string
}

func (m *Machine) groups() (all []group) {
	for line := range strings.Lines(m.say("/etc/group")) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 {
			continue
		}
		if id, err := strconv.Atoi(f[2]); err == nil {
			all = append(all, group{f[0], id, strings.Split(f[3], ",")})
		}
	}
	return all
}

// groupID is the number of a group, -1 where there is none.
func (m *Machine) groupID(name string) int {
	for _, g := range m.groups() {
		if g.name == name {
			return g.id
		}
	}
	return -1
}

// groupName is the name of a group, or its number.
func (m *Machine) groupName(id int) string {
	for _, g := range m.groups() {
		if g.id == id {
			return g.name
		}
	}
	return strconv.Itoa(id)
}

// may says whether a user has the rights (of 0o7: read 4, write 2, search 1) on a file, and which group would give them.
func (m *Machine) may(a Account, p string, want fs.FileMode) (can bool, group string, err error) {
	info, err := os.Stat(m.Path(p))
	if err != nil {
		return false, "", err
	}
	uid, gid := m.Owner(info)
	mode := info.Mode().Perm()
	group = m.groupName(gid)
	switch {
	case a.UID == 0:
		return true, group, nil
	case a.UID == uid:
		can = mode>>6&want == want
	case slices.Contains(a.Groups, gid):
		can = mode>>3&want == want
	default:
		can = mode&want == want
	}
	if mode>>3&want != want || gid == 0 {
		group = "" // no group helps, or only root's
	}
	return can, group, nil
}
