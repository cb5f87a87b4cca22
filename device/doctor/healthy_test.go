package doctor_test

import (
	"slices"
	"testing"

	"conch/device/doctor"
)

// A box with nothing wrong draws no word but "in order", and every check has looked. The room is none of a box: examine_test.go.
func TestHealthyBoxIsInOrder(t *testing.T) {
	b := healthy(t)
	found := b.findings()
	if w := worse(found); len(w) > 0 {
		t.Errorf("false alarms on a healthy box:\n%s", show(w))
	}
	for _, c := range doctor.Checks() {
		if c.Group != doctor.Room && !slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Check == c.Name || slices.Contains(c.Also, f.Check)
		}) {
			t.Errorf("the check %s says nothing about a healthy box", c.Name)
		}
	}
	if n := len(b.server.asked); n != 1 {
		t.Errorf("%d requests to the server; one is enough", n)
	}
}
