package device

import (
	"flag"
	"os"
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
	goleak.VerifyTestMain(m)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
