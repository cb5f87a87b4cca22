package discovery

import "testing"

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
