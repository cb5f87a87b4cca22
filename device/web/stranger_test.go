package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asStranger is set for a process of another user: the address that it opens.
const asStranger = "CONCH_TEST_STRANGER"

func stranger() int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv(asStranger), nil)
	if err != nil {
		return 1
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%d %s", resp.StatusCode, body)
	return 0
}

// Another user of this machine, in a process of its own, is what the kernel says: a stranger without the group, and let in with it.
func TestAnotherLocalUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be two users: run this test as root")
	}
	dir, err := os.MkdirTemp("", "conch-stranger-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	program := filepath.Join(dir, "stranger")
	if err != nil || os.Chmod(dir, 0o755) != nil || os.WriteFile(program, self, 0o755) != nil {
		t.Fatal("the program cannot be copied")
	}
	const other = 33 // www-data, of base-passwd in every Debian; its group has the same number
	ask := func(s *scene, uid uint32) string {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env, cmd.Dir = []string{asStranger + "=http://127.0.0.1:" + s.port + "/"}, dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: 65000}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for name, c := range map[string]struct {
		uid         uint32
		self, group int
		want        string
	}{
		"without the group": {other, 4242, 34, "403 "},
		"with it":           {other, 4242, other, `200 {"Session":"local-33"`},
		"conch's own user":  {other, other, -1, `200 {"Session":"local-33"`},
		"root":              {0, 4242, -1, `200 {"Session":"local-0"`},
		"no group at all":   {other, 4242, -1, "403 "},
		"a user of no name": {4243, 4242, other, "403 "},
		"whoever has no number here, even as conch's own": {uint32(overflow()), overflow(), -1, "403 "},
	} {
		s := newScene(t, atHome, func(o *DoorOptions) { o.Self, o.Group = c.self, c.group })
		s.users(peerUID)
		if got := ask(s, c.uid); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.60s; want %s", name, got, c.want)
		}
	}
}

// The kernel calls root the owner of a socket that was closed: whoever hangs up at once must not be taken for it.
func TestWhoHangsUpIsNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 20 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ours, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		remote, local := addrPort(ours.RemoteAddr()), addrPort(ours.LocalAddr())
		if uid, ok := peerUID(remote, local); !ok || uid != os.Getuid() {
			t.Fatalf("while it is there: %d %v", uid, ok)
		}
		if _, ok := peerUID(local, remote); !ok {
			t.Error("the other end is a socket as well")
		}
		c.Close()
		if uid, ok := peerUID(remote, local); ok {
			t.Errorf("after it has gone: %d", uid)
		}
		ours.Close()
	}
}

// Rows as Linux writes them, on a little-endian machine.
func TestLook(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	row := func(local, remote, state, uid, inode string) string {
		return fmt.Sprintf("   0: %s %s %s 00000000:00000000 00:00000000 00000000 %s        0 %s 1 0000000017f7ecea 20 4 30 10 -1\n", local, remote, state, uid, inode)
	}
	remote, local := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7485")
	const them, us = "0100007F:9C40", "0100007F:1D3D"
	if spellings(remote)[0] != them || spellings(local)[0] != us {
		t.Skip("a big-endian machine writes other rows")
	}
	for name, c := range map[string]struct {
		text string
		uid  int
		ok   bool
	}{
		"the client's row":              {row(us, them, "01", "0", "9") + row(them, us, "01", "1000", "7"), 1000, true},
		"only ours":                     {row(us, them, "01", "1000", "9"), 0, false},
		"closed, with its inode":        {row(them, us, "04", "0", "7"), 0, false},
		"waiting for the end":           {row(them, us, "06", "0", "0"), 0, false},
		"nobody has it":                 {row(them, us, "01", "0", "0"), 0, false},
		"another port":                  {row("0100007F:9C41", us, "01", "1000", "7"), 0, false},
		"a socket of IPv6":              {row("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:1D3D", "01", "1000", "7"), 1000, true},
		"a uid that is none":            {row(them, us, "01", "-1", "7"), 0, false},
		"a uid beyond any":              {row(them, us, "01", "4294967295", "7"), 0, false},
		"nothing":                       {"", 0, false},
		"half a row":                    {"0: " + them + " " + us, 0, false},
		"behind more than what is read": {strings.Repeat(row("0100007F:0001", "0100007F:0002", "01", "0", "1"), maxTable/100) + row(them, us, "01", "1000", "7"), 0, false},
	} {
		uid, _, ok := lookIn(strings.NewReader(head+c.text), remote, local)
		if ok != c.ok || ok && uid != c.uid {
			t.Errorf("%s: %d %v", name, uid, ok)
		}
	}
}

func FuzzLook(f *testing.F) {
	f.Add("   0: 0100007F:9C40 0100007F:1D3D 01 00000000:00000000 00:00000000 00000000  1000        0 7 1 x")
	f.Fuzz(func(t *testing.T, text string) {
		uid, inode, ok := lookIn(strings.NewReader(text), netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7485"))
		if ok && (uid < 0 || inode == "" || inode == "0") {
			t.Errorf("%d %q", uid, inode)
		}
	})
}

// A group counts where all of it get to the socket: not below a directory of the owner alone, as one's own runtime directory is.
func TestSocketGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives directories away: run this test as root")
	}
	if got := SocketGroup("/"); got != -1 {
		t.Errorf("root's: %d", got)
	}
	const group = 33
	if err := syscall.Setegid(group); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setegid(0) }()
	top, err := os.MkdirTemp("", "conch-group-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	dir := filepath.Join(top, "conch")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		above, mode os.FileMode
		gid, want   int
	}{{0o755, 0o750, group, group}, {0o755, 0o710, group, group}, {0o755, 0o700, group, -1}, {0o755, 0o750, 34, -1}, {0o700, 0o750, group, -1}, {0o755, 0o755, 34, group}} {
		if os.Chmod(top, c.above) != nil || os.Chmod(dir, c.mode) != nil || os.Chown(dir, 0, c.gid) != nil {
			t.Fatal("chown")
		}
		if got := SocketGroup(dir); got != c.want {
			t.Errorf("%v: %d", c, got)
		}
	}
	if SocketGroup(filepath.Join(dir, "none")) != -1 {
		t.Error("a directory that is not there has a group")
	}
}
