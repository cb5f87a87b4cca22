package printable

import (
	"os/exec"
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
	for _, plain := range []string{"kitchen", "Zoë", "ada-2"} {
		if Arg(plain) != plain {
			t.Errorf("%s as %s", plain, Arg(plain))
		}
	}
}
