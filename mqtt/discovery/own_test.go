package discovery

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// Three devices on one bridge see each other, with name, room and every address, over IPv4 and IPv6.
func TestThreeDevicesSeeEachOther(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	a, b, c := n.box(n.device(1), Own, 'a'), n.box(n.device(2), Own, 'b'), n.box(n.device(3), Own, 'c')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	s := c.service("St. John's · hall")
	s.Pairing = true
	c.announce(s)
	a.seesOnly(b, c)
	b.seesOnly(a, c)
	found := c.seesOnly(a, b)
	if f := one(found, a.id); f.Service != a.service("kitchen") || f.Addresses[0] != "10.98.0.1:7483" || len(f.Addresses) != 2 {
		t.Errorf("the kitchen is seen as %+v", f)
	}
	if f := one(a.seesOnly(b, c), c.id); f.Service != s {
		t.Errorf("the hall is seen as %+v", f)
	}

	t.Log("the window closes, and everybody knows")
	c.announce(c.service("St. John's · hall"))
	a.sees("the window closed", func(f []Found) bool { return has(f, c.id) && !one(f, c.id).Pairing })

	t.Log("goodbye")
	b.tell(order{Nothing: true})
	c.stop()
	a.seesOnly()
	b.seesOnly(a)
}

// Two rooms of a house with a network each, and one device in both: it says on each cable what is true there. Then its
// addresses change, a cable is pulled and put back, and an interface comes that was not there.
func TestInterfacesComeAndGo(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	n.ip(n.hub, "link add br1 type bridge mcast_snooping 0", "link set br1 up")
	both, left, right := n.device(1), n.device(2), n.space()
	n.cable(right, "eth0", n.hub, "br1", "10.99.0.3/24")
	a, b, c := n.box(both, Own, 'a'), n.box(left, Own, 'b'), n.box(right, Own, 'c')
	a.announce(a.service("kitchen"))
	b.announce(b.service("left"))
	c.announce(c.service("right"))
	a.seesOnly(b)
	c.seesOnly()

	t.Log("an interface comes")
	n.cable(both, "eth1", n.hub, "br1", "10.99.0.1/24")
	at := func(box *box, who *box, address string) {
		t.Helper()
		box.sees(address, func(f []Found) bool {
			o := one(f, who.id)
			return o != nil && o.Addresses[0] == address
		})
	}
	at(b, a, "10.98.0.1:7483")
	at(c, a, "10.99.0.1:7483")
	a.seesOnly(b, c)
	b.seesOnly(a)

	t.Log("an address changes")
	n.ip(both, "addr del 10.98.0.1/24 dev eth0", "addr add 10.98.0.77/24 dev eth0")
	at(b, a, "10.98.0.77:7483")
	for _, f := range b.seesOnly(a) {
		if strings.Contains(fmt.Sprint(f.Addresses), "10.98.0.1:") {
			t.Errorf("the old address is still told: %v", f.Addresses)
		}
	}

	t.Log("a cable is pulled, and put back")
	n.ip(both, "link set eth0 down")
	b.seesOnly()
	a.seesOnly(c)
	n.ip(both, "link set eth0 up")
	at(b, a, "10.98.0.77:7483")
	a.seesOnly(b, c)

	t.Log("an interface goes for good, and another one takes its place")
	n.ip(both, "link del eth0")
	n.cable(both, "eth9", n.hub, "br0", "10.98.0.9/24")
	at(b, a, "10.98.0.9:7483")

	t.Log("IPv6 alone")
	n.ip(both, "addr flush dev eth1")
	n.ip(both, "addr add fd00:99::1/64 dev eth1", "addr add fe80::99/64 dev eth1")
	at(c, a, "[fe80::99%eth0]:7483")
}

// Without a network nothing is found, at once; what was announced before one came is announced when it comes.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	alone := n.space()
	a, b := n.box(alone, Auto, 'a'), n.box(n.device(2), Own, 'b')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	if r := a.browse(time.Hour, ""); len(r.Found) > 0 || r.Error != "" {
		t.Errorf("found %+v", r)
	}
	n.cable(alone, "eth0", n.hub, "br0", "10.98.0.1/24")
	b.seesOnly(a)
	a.seesOnly(b)
}

// Off neither tells nor looks, and nothing listens.
func TestOff(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	off, other := n.device(1), n.device(2)
	a, b := n.box(off, Off, 'a'), n.box(other, Own, 'b')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	n.box(n.device(3), Own, 'c').seesOnly(b)
	if r := a.browse(time.Hour, ""); len(r.Found) > 0 || r.Error != "" {
		t.Errorf("found %+v", r)
	}
	if l := n.listening(off); l != "" {
		t.Errorf("open ports:\n%s", l)
	}
	if l := n.listening(other); !strings.Contains(l, ":5353") {
		t.Errorf("this test would not have seen the port:\n%s", l)
	}
	b.tell(order{Nothing: true})
	b.seesOnly()
	if l := n.listening(other); l != "" {
		t.Errorf("nothing is announced, and still open:\n%s", l)
	}
}

// Two devices of one name have two labels; one that is new says which it is, or both do when their networks meet.
func TestSameName(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	n.ip(n.hub, "link add br1 type bridge mcast_snooping 0", "link set br1 up")
	a, b := n.box(n.device(1), Own, 'a'), n.box(n.device(2), Own, 'b')
	apart := n.space()
	n.cable(apart, "eth0", n.hub, "br1", "10.98.0.3/24")
	c := n.box(apart, Own, 'c')
	watcher := n.box(n.device(4), Own, 'd')
	a.announce(a.service("kitchen"))
	watcher.seesOnly(a)
	b.announce(b.service("kitchen"))
	f := watcher.seesOnly(a, b)
	if f[0].Name != "kitchen" || f[1].Name != "kitchen bbbb" {
		t.Errorf("labels: %q and %q", f[0].Name, f[1].Name)
	}
	c.announce(c.service("kitchen"))
	c.seesOnly()
	t.Log("two bridges become one")
	n.ip(n.hub, "link add x0 type veth peer name x1", "link set x0 master br0 up", "link set x1 master br1 up")
	c.announce(Service{Name: "kitchen", Device: c.id, Port: 7484}) // it says something, and is heard
	watcher.sees("three names", func(f []Found) bool {
		names := map[string]bool{}
		for _, o := range f {
			names[o.Name] = true
		}
		return len(f) == 3 && len(names) == 3
	})
}

// A liar floods the port; the honest still find each other, and nobody falls over.
func TestGarbage(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	a, b, liar := n.box(n.device(1), Own, 'a'), n.box(n.device(2), Own, 'b'), n.box(n.device(3), Own, 'z')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	for k := range uint64(5) {
		liar.tell(order{Garbage: 1000, Seed: seed + k})
		r := a.browse(time.Second, "")
		if len(r.Found) > maxFound || r.Error != "" {
			t.Errorf("found %d services; error %q", len(r.Found), r.Error)
		}
		for _, f := range r.Found {
			for _, a := range f.Addresses { // noise may make an address of the house out of a lie: that one may be believed
				if ip := netip.MustParseAddrPort(a).Addr(); ip.IsLoopback() || !ip.IsPrivate() && !ip.IsLinkLocalUnicast() {
					t.Errorf("an address of the internet, or of this machine, was believed: %+v", f)
				}
			}
		}
		if err := liar.out.Decode(&r); err != nil || r.Error != "" {
			t.Fatal(err, r.Error)
		}
	}
	a.sees("the bedroom", func(f []Found) bool { return has(f, b.id) })
	b.sees("the kitchen", func(f []Found) bool { return has(f, a.id) })
}

// Docker's bridges, tunnels and other ways inward are neither told of nor listened to.
func TestOnlyWhereDevicesAre(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	host, container := n.device(1), n.space()
	n.ip(host, "link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up")
	n.cable(container, "eth0", host, "docker0", "172.17.0.2/16")
	n.ip(host, "tuntap add dev vpn0 mode tap", "addr add 10.8.0.2/24 dev vpn0", "link set vpn0 up")
	a, b, c := n.box(host, Own, 'a'), n.box(n.device(2), Own, 'b'), n.box(container, Own, 'c')
	a.announce(a.service("kitchen"))
	c.announce(c.service("container"))
	if f := b.seesOnly(a)[0]; strings.Contains(fmt.Sprint(f.Addresses), "172.17.") || strings.Contains(fmt.Sprint(f.Addresses), "10.8.") {
		t.Errorf("addresses that lead nowhere: %v", f.Addresses)
	}
	c.seesOnly()
	b.announce(b.service("bedroom"))
	a.seesOnly(b)
}

// The port is another program's alone: looking says so, and announcing begins when it is free.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	taken := n.device(1)
	hog := n.hog(taken)
	a, b := n.box(taken, Auto, 'a'), n.box(n.device(2), Own, 'b')
	a.announce(a.service("kitchen"))
	if r := a.browse(time.Second, ""); !strings.Contains(r.Error, "5353") {
		t.Errorf("it does not say which port is taken: %q", r.Error)
	}
	b.seesOnly()
	hog()
	b.seesOnly(a)
}
