package device

import (
	"runtime/debug"
	"testing"
)

// The appliance keeps less garbage, unless somebody has said how much.
func TestGarbageIsBounded(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for set, want := range map[string]int{"": garbagePercent, "200": 100, "off": 100} {
		debug.SetGCPercent(100)
		spareMemory(set)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: %d %%; want %d", set, got, want)
		}
	}
}
