package vm

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// seed decides what is random, and is printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if v := os.Getenv("CONCH_VM_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s = n
	}
	t.Logf("CONCH_VM_SEED=%d", s)
	return s
}

func distribution(ms []float64) string {
	if len(ms) == 0 {
		return "none"
	}
	s := slices.Sorted(slices.Values(ms))
	at := func(p float64) float64 { return s[min(len(s)-1, int(p*float64(len(s))))] }
	return fmt.Sprintf("min %.1f, p50 %.1f, p95 %.1f, p99 %.1f, max %.1f ms", s[0], at(0.5), at(0.95), at(0.99), s[len(s)-1])
}
