package device

import (
	"testing"

	"conch/coordinator/inject"
	"conch/device/condition"
)

// A sentence waits for its gap, for minutes if need be. What is mended by then is not said.
func TestAloudDoesNotSayWhatIsMended(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	say := func() inject.Outcome {
		return <-b.coordinator.InjectLocal(b.announcer().clipOf(condition.NetworkLost), "test", aloudTTL)
	}
	if how := say(); how != inject.Failed || b.audible() {
		t.Errorf("a network that is there: %s, audible %v; want failed, and silence", how, b.audible())
	}
	b.conds.Set(condition.NetworkLost, "no network", "wait")
	if how := say(); how != inject.Delivered {
		t.Errorf("a network that is lost: %s; want delivered", how)
	}
}
