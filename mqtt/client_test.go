package mqtt

import (
	"testing"

	"conch/companions/round"
)

func TestTwoDevicesHearEachOther(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	a := start(t, Config{URL: b.URL()}).up()
	o := start(t, Config{URL: b.URL()}).up()
	meet(t, map[*device]round.Beat{a: cards("ada"), o: cards("ben")})
	a.Send(round.Press{Epoch: round.Epoch{N: 1, Device: a.ID()}})
	from, p := next[round.Press](o)
	if from != a.ID() || p.Epoch.N != 1 {
		t.Errorf("got %v from %s", p, from)
	}
	t.Logf("%+v", o.Stats())
}
