package mqtt

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDirectoriesOfOthers: nothing is kept in a directory that somebody else has made in advance. This process looks as the user whom
// $LOOK_AS_UID names.
func TestDirectoriesOfOthers(t *testing.T) {
	if dir := os.Getenv("LOOK_AT"); dir != "" {
		id, err := OpenIdentity(dir)
		if err != nil {
			t.Logf("refused: %v", err)
			return
		}
		t.Logf("adopted: %s", id)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("to be two users takes root")
	}
	base, err := os.MkdirTemp("", "directories")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	const me, other = 65534, 4321
	program := filepath.Join(base, "program")
	copyProgram(t, program)
	for _, c := range []struct {
		name  string
		owner int
		mode  os.FileMode
		link  int // owner of a link to it; -1: none
		want  string
	}{
		{"own", me, 0o700, -1, "adopted"},
		{"own, and a link of root's (DynamicUser=)", me, 0o700, 0, "adopted"},
		{"another's, open to all", other, 0o777, -1, "belongs to another user (uid 4321)"},
		{"another's, open to its group", other, 0o775, -1, "refused"},
		{"another's link to one's own", me, 0o700, other, "belongs to another user (uid 4321)"},
		{"root's, open to all", 0, 0o777, -1, "everybody may write there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(c.name, " ", "-"))
			for _, err := range []error{os.Mkdir(dir, 0o700), os.Chown(dir, c.owner, me), os.Chmod(dir, c.mode)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			look := dir
			if c.link >= 0 {
				look += "-link"
				for _, err := range []error{os.Symlink(dir, look), os.Lchown(look, c.link, c.link)} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestDirectoriesOfOthers$", "-test.v")
			cmd.Env = []string{"LOOK_AT=" + look, "TMPDIR=" + base}
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: me, Gid: me}}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v; want %q:\n%s", err, c.want, out)
			}
		})
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
