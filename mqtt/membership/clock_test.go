package membership

import (
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// says lets one device say something that the other one must hear. What is said while a link begins anew, as on a machine that is busy, is lost: it is said again.
func says(t *testing.T, from, to *device) {
	t.Helper()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	late := time.After(mqtttest.Patience)
	for {
		from.client.Send(round.HistoryAsk{})
		for waiting := true; waiting; {
			select {
			case id := <-to.packets:
				if id == from.id.ID() {
					return
				}
			case <-again.C:
				waiting = false
			case <-late:
				t.Fatal("waited in vain for what is said")
			}
		}
	}
}

func TestCertificatesRenewBeforeTheyExpire(t *testing.T) {
	c := at(today)
	host, m := roomAt(t, c, c, "kitchen")
	kitchen := m[0]
	until0, until1 := host.Room().CertificateUntil, kitchen.Room().CertificateUntil
	if life := until1.Sub(today); life != leafLife {
		t.Fatalf("a certificate lasts %v", life)
	}
	c.set(today.Add(leafLife/2 + day))
	host.change(Renewed, host.id.ID())
	host.LinkUp() // its list says what day it is
	kitchen.change(Renewed, kitchen.id.ID())
	if a, b := host.Room().CertificateUntil, kitchen.Room().CertificateUntil; !a.After(until0) || !b.After(until1) {
		t.Errorf("valid until %v and %v, as before", a, b)
	}
	c.set(today.Add(leafLife + day)) // the first ones are over, and the connection that was made with them goes on
	says(t, kitchen, host)
	if n := kitchen.client.Stats().Connects; n != 1 || !kitchen.client.Stats().Up {
		t.Errorf("%d connections", n)
	}
	// A new connection shows the new ones, also after a restart.
	kitchen.stop()
	again := open(t, kitchen.dir, kitchen.id, c.Clock())
	again.connect(host.network())
	again.up()
	says(t, again, host)
}

// A member that was switched off for longer than its certificate lasts cannot come back; the broker says why.
func TestAnExpiredCertificateIsTheEnd(t *testing.T) {
	c := at(today)
	host, m := roomAt(t, c, c, "kitchen")
	m[0].stop()
	c.set(today.Add(leafLife + day))
	host.change(Renewed, host.id.ID())
	again := open(t, m[0].dir, m[0].id, c.Clock())
	again.connect(host.network())
	if err := mqtttest.Await(t, again.trouble, "trouble"); again.Room() == nil {
		t.Errorf("it left the room: %v", err)
	}
	if why := mqtttest.Await(t, host.refusals, "the broker's reason"); !strings.Contains(why, "expired") {
		t.Errorf("refused because %q", why)
	}
}

func TestDevicesWithoutAClock(t *testing.T) {
	for _, row := range []struct {
		name          string
		host, theirs  time.Time
		blind         bool
		learnsFromOne bool
	}{
		{"the host's clock is at 1970", epoch, today, true, false},
		{"the member's clock is at 1970", today, epoch, false, true},
		{"both are", epoch, epoch, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			hosts, theirs := at(row.host), at(row.theirs)
			host, m := roomAt(t, hosts, theirs, "kitchen")
			kitchen := m[0]
			says(t, kitchen, host)
			life := kitchen.creds.Load().leaf.NotAfter.Sub(kitchen.creds.Load().leaf.NotBefore)
			if blind := life == blindLife; blind != row.blind {
				t.Errorf("a certificate lasts %v", life)
			}
			if row.learnsFromOne { // it never has a clock, and its certificate is renewed all the same
				hosts.set(today.Add(leafLife/2 + day))
				host.change(Renewed, host.id.ID())
				host.LinkUp()
				kitchen.change(Renewed, kitchen.id.ID())
			} else { // a network brings the time
				hosts.set(today)
				theirs.set(today)
				host.change(Renewed, host.id.ID())
				kitchen.change(Renewed, kitchen.id.ID())
			}
			if life := kitchen.creds.Load().leaf.NotAfter.Sub(kitchen.creds.Load().leaf.NotBefore); life != leafLife {
				t.Errorf("and then %v", life)
			}
			// Power is gone, and with it the time, at both.
			kitchen.stop()
			host.stop()
			host.broker.Close()
			host2 := open(t, host.dir, host.id, at(epoch).Clock())
			host2.serve("127.0.0.1:0")
			host2.up()
			kitchen2 := open(t, kitchen.dir, kitchen.id, at(epoch).Clock())
			kitchen2.connect(host2.network())
			kitchen2.up()
			says(t, kitchen2, host2)
		})
	}
}

func TestWhoNeverComesIsForgotten(t *testing.T) {
	c := at(epoch)
	host, b := fresh(t, c.Clock()), fresh(t, c.Clock())
	pair(t, host, b, "kitchen")
	c.set(today) // 56 years later, and no day
	until(t, "the clock has been seen", func() bool {
		host.mu.Lock()
		defer host.mu.Unlock()
		return host.rec.Members[1].Since > floor.Unix()
	})
	if !host.Member(b.id.ID()) {
		t.Fatal("forgotten because the clock was set")
	}
	c.set(today.Add(pendingFor + time.Minute))
	host.change(Removed, b.id.ID())
	if host.Member(b.id.ID()) {
		t.Error("still expected")
	}
}

// A member comes back from a long time without power, thinks it is 1970, and meets a certificate that is younger than anything it has seen.
func TestACertificateIsNeverTooNew(t *testing.T) {
	c := at(today)
	host, m := roomAt(t, c, c, "kitchen")
	m[0].stop()
	c.set(today.Add(leafLife/2 + day))
	host.change(Renewed, host.id.ID())
	again := open(t, m[0].dir, m[0].id, at(epoch).Clock())
	again.connect(host.network())
	again.up()
	says(t, again, host)
}
