package audio_test

import (
	"os"
	"runtime"
	"testing"
)

// A callback needs one of Go's processors at once: as many are spare here as in conch itself.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	os.Exit(m.Run())
}
