package membership

import (
	"testing"
	"time"

	"conch/mqtt/mqtttest"
)

// The clock of the host, of one without a battery, says something else for a while, and then the right time again: whoever was there,
// whoever was switched off meanwhile, and whoever comes after that is in the room.
func TestAClockThatWasWrongForAWhile(t *testing.T) {
	for _, row := range []struct {
		name  string
		wrong time.Time
	}{
		{"ten years ahead", today.AddDate(10, 0, 0)},
		{"2099, when the room's authority is over", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"1970", epoch},
	} {
		t.Run(row.name, func(t *testing.T) {
			hosts := at(today)
			host, m := roomAt(t, hosts, at(today), "kitchen", "cellar")
			kitchen, cellar := m[0], m[1]
			cellar.stop()
			hosts.set(row.wrong)
			before := host.looked()
			until(t, "the host has looked at its clock", func() bool { return host.looked() > before+2 })
			host.LinkUp() // its list says what day it is
			kitchen.LinkUp()
			before = kitchen.looked()
			until(t, "the kitchen has heard it", func() bool { return kitchen.looked() > before+10 })
			hosts.set(today.Add(time.Hour))

			kitchen.stop()
			host.stop()
			host.broker.Close()
			host = open(t, host.dir, host.id, hosts.Clock())
			host.serve("127.0.0.1:0")
			host.up()
			for _, d := range []*device{kitchen, cellar} {
				again := open(t, d.dir, d.id, at(today.Add(time.Hour)).Clock())
				again.connect(host.network())
				again.up()
				says(t, again, host)
			}
			den := fresh(t, at(today.Add(time.Hour)).Clock())
			pair(t, host, den, "den")
			den.connect(host.network())
			den.up()
			says(t, den, host)
		})
	}
}

// A member that thinks it is 2099 is in the room as one that thinks it is 1970 is.
func TestAMemberWhoseClockIsFarAhead(t *testing.T) {
	host, m := roomAt(t, at(today), at(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)), "kitchen")
	says(t, m[0], host)
}

// A room that was made by a clock that was ahead is one when the clock is right.
func TestARoomMadeIn2099(t *testing.T) {
	hosts := at(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	host := fresh(t, hosts.Clock())
	kitchen, cellar := fresh(t, at(today).Clock()), fresh(t, at(epoch).Clock())
	pair(t, host, kitchen, "kitchen")
	hosts.set(today)
	pair(t, host, cellar, "cellar")
	host.serve("127.0.0.1:0")
	host.up()
	for _, d := range []*device{kitchen, cellar} {
		d.connect(host.network())
		d.up()
		says(t, d, host)
	}
}

// looked is how often Run has looked what is due.
func (d *device) looked() int {
	ch := make(chan int, 1)
	if !d.post(func() { ch <- d.looks }) {
		return 0
	}
	return mqtttest.Await(d.t, ch, "Run")
}
