package system

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

var libraries = []string{"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/null"}

// A confined program reads its libraries and what it was given, and reaches nothing else; what started it keeps all that it had.
func TestConfine(t *testing.T) {
	dir := t.TempDir()
	secret, given := filepath.Join(dir, "key"), filepath.Join(dir, "book")
	for _, name := range []string{secret, given} {
		if err := os.WriteFile(name, []byte("word of "+filepath.Base(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(given)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, _, closed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	for _, c := range []struct{ name, script, says string }{
		{"what it was given", "cat", "word of book"},
		{"opened anew", "cat /dev/fd/0", "word of book"},
		{"another file", "cat " + secret, "ermission denied"},
		{"a file of the system", "cat /etc/passwd", "ermission denied"},
		{"what is written", "echo x >" + filepath.Join(dir, "new"), "not permitted"},
		{"what is written to", "echo x >>" + secret, "not permitted"},
		{"another name", "mv " + secret + " " + secret + "2 || echo refused", "refused"},
		{"what is removed", "rm -f " + secret + " || echo refused", "refused"},
		{"a list of files", "ls " + dir, "ermission denied"},
		{"another process", "kill -0 $PPID || echo refused", "refused"},
		{"a socket", `perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) or die "refused: $!"'`, "refused"},
		{"a socket of a file", `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die "refused: $!"'`, "refused"},
		{"the memory of another", "head -c 1 /proc/$PPID/mem; cat /proc/$PPID/environ", "ermission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath("perl"); err != nil && strings.HasPrefix(c.script, "perl") {
				t.Skip("perl is not installed")
			}
			if closed != 0 && c.says == "ermission denied" {
				t.Skipf("there is no Landlock here: %v", closed)
			}
			cmd := exec.Command("/bin/sh", "-c", c.script)
			var out bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = file, &out, &out
			if err := Confine(cmd, libraries, file); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "word of key") {
				t.Errorf("%q; want %q", out.String(), c.says)
			}
			if _, err := file.Seek(0, 0); err != nil {
				t.Fatal(err)
			}
		})
	}
	for range 20 { // on whatever thread this goes on
		if _, err := os.ReadFile(secret); err != nil {
			t.Fatal(err)
		}
	}
}

// Each processor that conch is built for has the calls that count, and no name in the list is misspelt.
func TestRefusedCalls(t *testing.T) {
	of := map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64, "arm": arch.ARM}
	for name, a := range of {
		for _, call := range []string{"socket", "connect", "ptrace", "openat", "unlinkat", "renameat2", "kill", "unshare"} {
			if _, ok := a.SyscallNames[call]; !ok {
				t.Errorf("%s has no %s", name, call)
			}
		}
	}
	for _, call := range refused {
		known := false
		for _, a := range of {
			_, ok := a.SyscallNames[call]
			known = known || ok
		}
		if !known {
			t.Errorf("no processor has %s", call)
		}
	}
}
