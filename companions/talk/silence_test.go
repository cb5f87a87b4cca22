package talk

import (
	"fmt"
	"testing"

	"conch/companions/round"
)

// Only a device's own word for this press confirms it; a device that was here and said no goodbye may sound.
func TestSilenceNamesEachDeviceOnce(t *testing.T) {
	press := round.Epoch{N: 7, Device: "me"}
	member := func(d round.DeviceID) round.Member { return round.Member{Device: d, Name: "the " + string(d)} }
	roster := NewRoster("me").List([]round.Listed{{Device: "me", Name: "me"}, {Device: "attic", Name: "the attic"}}).List(nil).
		Meet([]round.Member{member("me"), member("bed"), member("hall"), member("bath")}).Meet([]round.Member{member("me"), member("bed"), member("hall")})
	for _, c := range []struct {
		what string
		do   func(Silence) Silence
		want string
	}{
		{"nothing was taken", func(s Silence) Silence { return s }, "[] [] [the attic the bath the bed the hall] []"},
		{"taken", func(s Silence) Silence { return s.Taken(press) }, "[] [the bed the hall] [] [the attic the bath]"},
		{"another press was taken", func(s Silence) Silence { return s.Taken(round.Epoch{N: 6, Device: "me"}) }, "[] [] [the attic the bath the bed the hall] []"},
		{"one confirmed", func(s Silence) Silence { return s.Taken(press).Heard("bed", press) }, "[the bed] [the hall] [] [the attic the bath]"},
		{"one that was away confirmed, by another way than the broker", func(s Silence) Silence { return s.Heard("bath", press) },
			"[the bath] [] [the attic the bed the hall] []"},
		{"an older press, and a stranger", func(s Silence) Silence {
			return s.Taken(press).Heard("bed", round.Epoch{N: 6, Device: "me"}).Heard("who", press)
		}, "[] [the bed the hall] [] [the attic the bath]"},
	} {
		silent, unconfirmed, unreached, away := c.do(roster.Demand(press)).Result()
		if got := fmt.Sprint(silent, unconfirmed, unreached, away); got != c.want {
			t.Errorf("%s: %s; want %s", c.what, got, c.want)
		}
	}
	s := roster.Leave("attic").Leave("bath").Leave("hall").Demand(press)
	if s.Complete() || !s.Heard("bed", press).Complete() || !NewRoster("me").Demand(press).Complete() {
		t.Error("complete is when all that may sound have confirmed")
	}
	if roster.Demand(round.Epoch{}).Heard("bed", round.Epoch{}).Complete() {
		t.Error("a demand without a press was confirmed by an empty beat")
	}
	removed := roster.List([]round.Listed{{Device: "bed", Name: "Bed"}}).Demand(press)
	if _, _, unreached, _ := removed.Result(); fmt.Sprint(unreached) != "[Bed]" {
		t.Errorf("after the others were removed: %v", unreached)
	}
	full := NewRoster("me")
	for i := range 2 * mostOthers {
		full = full.Meet([]round.Member{member(round.DeviceID(fmt.Sprint(i)))})
	}
	if n := len(full.others); n != mostOthers {
		t.Errorf("%d devices; at most %d", n, mostOthers)
	}
}
