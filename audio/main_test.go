package audio_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// children are what a process of this test may be instead, by the variable that says so.
var children = map[string]func() error{}

// A callback needs one of Go's processors at once: as many are spare here as in conch itself.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	for env, run := range children {
		if os.Getenv(env) == "" {
			continue
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
