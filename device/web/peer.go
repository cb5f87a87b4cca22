package web

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"conch/device/system"
)

// Whose socket is at the other end of a connection on this machine: TCP has no SO_PEERCRED, but the kernel lists sockets with their
// owners (proc_pid_net(5), /proc/net/tcp).

// maxTable bounds how much of such a list is read: some 50,000 sockets. Whoever stands behind that needs a link.
const maxTable = 8 << 20

// established is TCP_ESTABLISHED in the list. In other states, and without an inode, the kernel says root of a socket that was closed
// already, whoever had it.
const established = "01"

// tables are the lists. A connection to 127.0.0.1 may have been made by a socket for IPv6.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// SocketGroup is the group that may use the control socket of this process, by the directory that it is in: the gid, or -1 where it is
// root's, or nobody of it gets there, as below a directory of the owner alone.
func SocketGroup(directory string) int {
	path, err := filepath.EvalSymlinks(directory)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	group := os.Getegid() // a socket has that of the process
	if err != nil || group == 0 {
		return -1
	}
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return -1
		}
		if _, gid, ok := system.Owner(info); !ok || info.Mode()&0o001 == 0 && (gid != group || info.Mode()&0o010 == 0) {
			return -1
		}
		if path == filepath.Dir(path) {
			return group
		}
	}
}

// peerUID is whose socket has called from remote, here at local. Not ok: nobody knows.
//
// It asks twice: between the state and the owner of a row a socket can be closed, and belong to root from then on. Then it is not
// established the second time.
func peerUID(remote, local netip.AddrPort) (uid int, ok bool) {
	for _, table := range tables {
		first, inode, found := look(table, remote, local)
		if !found {
			continue
		}
		again, same, found := look(table, remote, local)
		return first, found && again == first && same == inode && first != overflow()
	}
	return 0, false
}

// overflow is the uid that stands for everybody whom this process has no number for, as in a namespace of users (user_namespaces(7)).
func overflow() int {
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
		return n
	}
	return 65534
}

// look finds the row of the socket that is local to remote: its local address is our remote one.
func look(path string, remote, local netip.AddrPort) (uid int, inode string, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", false
	}
	defer f.Close()
	return lookIn(f, remote, local)
}

func lookIn(f io.Reader, remote, local netip.AddrPort) (uid int, inode string, ok bool) {
	lines := bufio.NewScanner(io.LimitReader(f, maxTable))
	theirs, ours := spellings(remote), spellings(local)
	for lines.Scan() {
		row := strings.Fields(lines.Text())
		if len(row) < 10 || row[3] != established || row[9] == "0" || !slices.Contains(theirs, row[1]) || !slices.Contains(ours, row[2]) {
			continue
		}
		n, err := strconv.ParseUint(row[7], 10, 31)
		return int(n), row[9], err == nil
	}
	return 0, "", false
}

// spellings are how the kernel writes an address: words of 32 bits, each in the order of this machine, and the port.
func spellings(a netip.AddrPort) (list []string) {
	words := func(b []byte) string {
		out := make([]byte, len(b))
		for i := 0; i < len(b); i += 4 {
			binary.BigEndian.PutUint32(out[i:], binary.NativeEndian.Uint32(b[i:]))
		}
		return strings.ToUpper(hex.EncodeToString(out)) + ":" + strings.ToUpper(hex.EncodeToString(binary.BigEndian.AppendUint16(nil, a.Port())))
	}
	ip := a.Addr().Unmap()
	if ip.Is4() {
		four := ip.As4()
		list = append(list, words(four[:]))
	}
	sixteen := ip.As16()
	return append(list, words(sixteen[:]))
}

// mayUse says whether a user is let in without more: root, whoever runs this, and the group of the control socket.
func mayUse(uid, self, group int) bool {
	if uid == 0 || uid == self {
		return true
	}
	if group < 0 {
		return false
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return false
	}
	ids, err := u.GroupIds()
	return err == nil && slices.Contains(ids, strconv.Itoa(group))
}

// addrPort is an address of a connection; not valid: it is none of TCP.
func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	}
	return netip.AddrPort{}
}
