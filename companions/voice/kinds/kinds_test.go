package kinds_test

import (
	"testing"

	"conch/companions/voice/kinds"
)

// What a device or its doctor may ask of a kind is there.
func TestEachKindIsWhole(t *testing.T) {
	for _, k := range kinds.All {
		if k.Name == "" || k.New == nil || k.Check == nil {
			t.Errorf("%q lacks its name, New or Check", k.Name)
		}
		if kinds.Find(k.Name).Name != k.Name {
			t.Errorf("%q is not found by its name", k.Name)
		}
	}
}
