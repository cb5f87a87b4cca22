package device

import (
	"testing"
	"time"

	"conch/coordinator/inject"
	"conch/device/condition"
)

func TestNightIsTenToSevenOrAsTheLightHasIt(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for s, want := range map[string]bool{
		"2026-11-21 21:59": false, "2026-11-21 22:00": true, "2026-11-22 00:00": true, "2026-11-22 06:59": true, "2026-11-22 07:00": false,
		"1970-01-01 03:00": false, // whatever the clock says, it is not known
	} {
		if got := night(at(s), ""); got != want {
			t.Errorf("%s: night: %v", s, got)
		}
	}
	const siesta = "13:00-15:00"
	if !night(at("2026-11-21 14:00"), siesta) || night(at("2026-11-21 23:00"), siesta) {
		t.Error("light.quiet is not heeded")
	}
	b := newBox(t, boxOptions{})
	running, next := b.cfg, b.cfg
	if next.Light.Quiet = siesta; !(reloads{b.Device}).Take("light.quiet", &next, &running) || b.lights.Quiet() != siesta {
		t.Errorf("after a reload it goes by %q", b.lights.Quiet())
	}
}

// A sentence waits for its gap, for minutes if need be. What is mended by then is not said.
func TestAloudDoesNotSayWhatIsMended(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	say := func() inject.Outcome {
		return <-b.coordinator.InjectLocal(b.announcer().clipOf(condition.NetworkLost, "network_lost"), "test", aloudTTL)
	}
	if how := say(); how != inject.Failed || b.audible() {
		t.Errorf("a network that is there: %s, audible %v; want failed, and silence", how, b.audible())
	}
	b.conds.Set(condition.NetworkLost, "no network", "wait")
	if how := say(); how != inject.Delivered {
		t.Errorf("a network that is lost: %s; want delivered", how)
	}
}
