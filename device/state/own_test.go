package state_test

import (
	"errors"
	"path/filepath"
	"testing"

	"conch/device/control"
	"conch/device/state"
)

func TestADirectoryHasOneOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	release, err := state.Own(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Own(dir); !errors.Is(err, control.ErrRefused) {
		t.Errorf("a second one: %v", err)
	}
	release()
	if release, err = state.Own(dir); err != nil {
		t.Errorf("after it: %v", err)
	}
	release()
	for _, dir := range []string{"", "/dev/null/state"} {
		if release, err := state.Own(dir); err != nil {
			t.Errorf("%q: %v", dir, err)
		} else {
			release()
		}
	}
}
