package program

import (
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChildIsBounded(t *testing.T) {
	yes, err := exec.LookPath("yes")
	if err != nil {
		t.Skip("missing: yes")
	}
	c := New(1, 10*time.Second, 1<<10)
	if out, err := c.Run(t.Context(), nil, nil, yes); err == nil {
		t.Errorf("endless output was taken, %d bytes", len(out))
	}
	c.limit = 50 * time.Millisecond
	cat, _ := exec.LookPath("tail")
	if _, err := c.Run(t.Context(), nil, nil, cat, "-f", "/dev/null"); err == nil {
		t.Error("an endless child was waited for")
	}
}
