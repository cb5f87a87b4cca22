package vm

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPinsOnTheKernel runs the tests of package gpio that need a kernel with gpio-sim and uinput, inside the guest: a chip that
// is unbound and comes back, a pin in use and freed, more edges than the kernel keeps, a button that is learnt, a keypad that
// is pulled out.
func TestPinsOnTheKernel(t *testing.T) {
	b := fresh(t)
	binary := filepath.Join(b.o.Dir, "gpio.test")
	arch := map[string]string{"arm64": "GOARCH=arm64", "armhf": "GOARCH=arm GOARM=7", "amd64": "GOARCH=amd64"}[shared.arch]
	here(t, "cd ../.. && CGO_ENABLED=0 "+arch+" go test -c -trimpath -ldflags '-s -w' -o "+binary+" ./gpio")
	b.put(binary, "/root/gpio.test", 0o755)
	r, err := b.RunFor(10*time.Minute, "cd /root && ./gpio.test -test.v -test.run TestKernel")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(r.Text()) {
		t.Log(strings.TrimRight(line, "\n"))
	}
	if r.Code != 0 || strings.Contains(r.Text(), "SKIP") {
		t.Errorf("exit status %d, or some were skipped", r.Code)
	}
}
