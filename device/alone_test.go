package device

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

const aloneEnv = "CONCH_TEST_ALONE"

// saidLast is what a test says, with its place.
var saidLast = regexp.MustCompile(`_test\.go:\d+: (.*)`)

// alone runs a test in a process of its own, beside all others: its environment, its memory and its sound library are nobody
// else's. It says whether this is that process; where it is not, the test is over. Under a coverage profile there is but one.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneEnv) == t.Name() || testing.CoverMode() != "" {
		return true
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run", "^" + t.Name() + "$", "-test.v"}
	if over, ok := t.Deadline(); ok { // it ends before this one would be killed, and says where it stood
		args = append(args, "-test.timeout", (time.Until(over) - 5*time.Second).String())
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, args...)
	cmd.Env = append(os.Environ(), aloneEnv+"="+t.Name())
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), "\n", "\n| ")
	switch {
	case err != nil:
		t.Errorf("in a process of its own: %v\n| %s", err, text)
	case strings.Contains(text, "\n| --- SKIP: "):
		said := saidLast.FindAllStringSubmatch(text, -1)
		t.Skip(said[len(said)-1][1])
	case !strings.Contains(text, "\n| --- PASS: "+t.Name()):
		t.Errorf("nothing was tried:\n| %s", text)
	default:
		t.Logf("in a process of its own:\n| %s", text)
	}
	return false
}
