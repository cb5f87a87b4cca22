package printable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A real shell makes of it the name again, and nothing else, whatever the name is.
func TestArg(t *testing.T) {
	for _, name := range []string{"kitchen", "living room", "Zoë", "x; touch /tmp/y", "$(touch y)", "`touch y`", `"quoted" \ $HOME`, "it's", "a'b'c", "--yes", "-h", "*", "~", "a&b|c>d", "#1", ""} {
		out, err := exec.Command("sh", "-c", "set -f; printf '%s\n' "+Arg(name)).Output()
		if got := strings.TrimSuffix(strings.TrimPrefix(string(out), "--\n"), "\n"); err != nil || got != name {
			t.Errorf("%q as %s is %q to a shell, %v", name, Arg(name), got, err)
		}
		if strings.HasPrefix(name, "-") && !strings.HasPrefix(Arg(name), "-- ") {
			t.Errorf("%s is a flag", Arg(name))
		}
	}
	for _, plain := range []string{"kitchen", "Zoë", "ada-2", "/srv/books"} {
		if Arg(plain) != plain {
			t.Errorf("%s as %s", plain, Arg(plain))
		}
	}
}

// Only a person whose own file it is needs no sudo.
func TestChmod(t *testing.T) {
	own := filepath.Join(t.TempDir(), "a key")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sudo := "sudo "
	if os.Geteuid() >= people {
		sudo = ""
	}
	for path, want := range map[string]string{
		own: sudo + "chmod 600 '" + own + "'", "/etc/passwd": "sudo chmod 600 /etc/passwd", "/none": "sudo chmod 600 /none",
	} {
		if got := Chmod("600", path); got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	if err := os.Chown(own, people+1, -1); err != nil {
		t.Fatal(err)
	}
	if got := Chmod("600", own); !strings.HasPrefix(got, "sudo ") {
		t.Errorf("of another person's file: %s", got)
	}
}
