package device

import (
	"testing"

	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
)

// The household's own limit is told as its own, says until when, is lifted by a reset, and is none of the provider's.
func TestTheOwnCeilingIsToldAsSuchAndLifted(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Voice.CeilingCost, c.Voice.PriceOut = 0.000001, 10 }})
	b.answered(b.ask("short"))
	b.failed(b.ask("short"), turn.Failed, turn.WordsCeiling)
	if !b.conds.Holds(condition.VoiceCeiling) {
		t.Error("no condition says that the limit is reached")
	}
	u, err := b.usage.Report()
	if err != nil || u.Refusing == "" || u.Cost < 0.000001 || u.CeilingCost != 0.000001 || u.Until.Hour() != 0 || u.Until.Format("2006-01-02") <= u.Day {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err = b.usage.Reset(); err != nil || u.Refusing != "" || u.Tokens != 0 {
		t.Errorf("after a reset: %+v, %v", u, err)
	}
	if b.conds.Holds(condition.VoiceCeiling) || b.log.count("usage.reset") != 1 {
		t.Error("the reset is not known, or not in the log")
	}
	b.answered(b.ask("short"))
}
