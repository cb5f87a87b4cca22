package device

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that are left when all tests are over.
func TestMain(m *testing.M) {
	_ = os.Setenv("LC_ALL", "C.UTF-8") // English, wherever this runs
	if spec := os.Getenv(lossyEnv); spec != "" {
		lossyWay(spec)
	}
	if spec := os.Getenv(liarEnv); spec != "" {
		liarProcess(spec)
		os.Exit(0)
	}
	if spec := os.Getenv(pairProcessEnv); spec != "" {
		pairProcess(spec)
		os.Exit(0)
	}
	if spec := os.Getenv(roomProcessEnv); spec != "" {
		roomProcess(spec)
		os.Exit(0)
	}
	// The tests that run side by side are devices in real time, which wait nearly always: one takes 4 % of a core. A
	// -parallel on the command line comes later and wins.
	_ = flag.Set("test.parallel", "12") // every test binary has it
	debug.SetGCPercent(400)             // the heap of dozens of devices is small, and collecting it was a tenth of the work
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if program.dir != "" {
			_ = os.RemoveAll(program.dir)
		}
		os.Exit(status)
	}))
}

var program struct {
	sync.Once
	dir string
	err error
}

// shipped is conch as it is built here, for tests that run it as a process: built once for all of them, and gone when they are over.
func shipped(t *testing.T) (path string) {
	t.Helper()
	program.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "conch-shipped"); program.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program.dir, "../cmd/conch").CombinedOutput(); err != nil {
			program.err = fmt.Errorf("go build ../cmd/conch: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, "conch")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
