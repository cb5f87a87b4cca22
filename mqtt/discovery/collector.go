package discovery

import (
	"net"
	"net/netip"
	"slices"
	"strconv"

	"conch/companions/round"

	"golang.org/x/net/dns/dnsmessage"
)

// place is where an address was heard of: an address that means this link is nothing on another one.
type place struct {
	addr netip.Addr
	on   int // the interface's index
}

// maxKnown bounds what a browse remembers of services, and with them of hosts. A network with more is lying, and what came first stays.
const maxKnown = 2 * maxFound

// collector puts services together from records in whatever order they come. It is pure; owned by a browse.
type collector struct {
	self      round.DeviceID
	ifs       []iface
	instances map[string]*heard // by folded name
	hosts     map[string][]place
}

// heard is what is known of an instance.
type heard struct {
	label  string
	named  bool // a PTR says that it is there
	target string
	port   uint16
	text   []string // nil: not yet
}

func newCollector(self round.DeviceID, ifs []iface) *collector {
	return &collector{self: self, ifs: ifs, instances: map[string]*heard{}, hosts: map[string][]place{}}
}

func (c *collector) on(index int) (iface, bool) {
	for _, i := range c.ifs {
		if i.index == index {
			return i, true
		}
	}
	return iface{}, false
}

// take reads an answer that came on an interface.
func (c *collector) take(index int, m message) {
	if _, ok := c.on(index); !ok || !m.response {
		return
	}
	for _, r := range m.records {
		switch r.kind {
		case dnsmessage.TypePTR:
			if h := c.instance(r.target, r.label); r.name == serviceName && h != nil {
				h.named = r.ttl > 0
			}
		case dnsmessage.TypeSRV:
			if h := c.instance(r.name, r.label); h != nil && r.ttl > 0 {
				h.target, h.port = r.target, r.port
			} else if h != nil {
				h.target, h.port = "", 0 // it says goodbye
			}
		case dnsmessage.TypeTXT:
			if h := c.instance(r.name, r.label); h != nil {
				h.text = r.text
			}
		}
	}
	// Now it is known whose addresses are of interest; those of printers are not.
	for _, r := range m.records {
		if r.addr.IsValid() && c.wanted(r.name) {
			c.host(r, index)
		}
	}
}

func (c *collector) wanted(host string) bool {
	for _, h := range c.instances {
		if h.target == host {
			return true
		}
	}
	return false
}

func (c *collector) instance(name, label string) *heard {
	if label == "" {
		return nil
	}
	h := c.instances[name]
	if h == nil && len(c.instances) < maxKnown {
		h = &heard{label: label}
		c.instances[name] = h
	}
	return h
}

// host keeps an address that can be one of a device here.
func (c *collector) host(r record, index int) {
	at := place{r.addr.Unmap(), index}
	i, _ := c.on(index)
	if _, ok := i.near(at.addr); !ok {
		return
	}
	known := c.hosts[r.name]
	where := slices.Index(known, at)
	switch {
	case r.ttl == 0 && where >= 0:
		c.hosts[r.name] = slices.Delete(known, where, where+1)
	case r.ttl == 0, where >= 0, len(known) >= 2*maxAddresses:
	default:
		c.hosts[r.name] = append(known, at)
	}
}

// open is what to ask for next: services that need not be repeated, and what is missing of others.
func (c *collector) open() (known []string, missing []question) {
	for name, h := range c.instances {
		switch {
		case !h.named:
		case h.port == 0 && len(missing) < maxQuestions/2:
			missing = append(missing, question{name: h.label + "." + serviceName, kind: dnsmessage.TypeALL})
		case h.text == nil && len(missing) < maxQuestions/2:
			missing = append(missing, question{name: name, kind: dnsmessage.TypeTXT})
		case len(c.hosts[h.target]) == 0 && len(missing) < maxQuestions/2:
			missing = append(missing, question{name: h.target, kind: dnsmessage.TypeA}, question{name: h.target, kind: dnsmessage.TypeAAAA})
		case h.port != 0 && h.text != nil && len(known) < 16:
			known = append(known, h.label)
		}
	}
	return known, missing
}

// found lists the services that are complete.
func (c *collector) found() []Found {
	var out []Found
	for _, h := range c.instances {
		if !h.named || h.port == 0 || h.text == nil {
			continue
		}
		if f, ok := c.service(h.label, h.text, h.port, c.hosts[h.target]); ok && len(out) < maxFound {
			out = append(out, f)
		}
	}
	return sorted(out)
}

// service is false for this device itself, for other versions, and for what has no address that makes sense.
func (c *collector) service(label string, text []string, port uint16, at []place) (Found, bool) {
	s, ok := readText(text)
	if !ok || port == 0 || s.IsDevice(c.self) {
		return Found{}, false
	}
	s.Name, s.Port = nameOf(label), int(port)
	f := Found{Service: s, Addresses: c.addresses(at, port)}
	return f, len(f.Addresses) > 0
}

// addresses are the likeliest first: in one of our networks, IPv4 before IPv6 (its addresses change less); then those of
// the link alone; then private ones of other networks.
func (c *collector) addresses(at []place, port uint16) []string {
	rank := func(p place) int {
		i, _ := c.on(p.on)
		onLink, _ := i.near(p.addr)
		switch {
		case p.addr.IsLinkLocalUnicast():
			return 2
		case !onLink:
			return 3
		case p.addr.Is4():
			return 0
		default:
			return 1
		}
	}
	at = slices.Clone(at)
	slices.SortStableFunc(at, func(a, b place) int { return rank(a) - rank(b) })
	var out []string
	for _, p := range at {
		host := p.addr.String()
		if i, ok := c.on(p.on); ok && p.addr.Is6() && p.addr.IsLinkLocalUnicast() {
			host += "%" + i.name
		}
		if hp := net.JoinHostPort(host, strconv.Itoa(int(port))); !slices.Contains(out, hp) && len(out) < maxAddresses {
			out = append(out, hp)
		}
	}
	return out
}
