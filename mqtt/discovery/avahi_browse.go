package discovery

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/net/dns/dnsmessage"
)

// browsing is one look through avahi: it names services (ItemNew), each is resolved, and what comes back is put together by
// the same collector that puts together our own answers. Owned by browseAvahi.
type browsing struct {
	bus      *avahi
	c        *collector
	items    map[item]struct{}
	asked    int             // calls so far
	resolved chan *dbus.Call // with room for maxAsked: the library would wait for it to be read
}

// hesitant is how long avahi may take to begin a look.
const hesitant = 400 * time.Millisecond

// maxAsked bounds what a browse asks avahi.
const maxAsked = 2 * maxKnown

// item is a service on one link, as avahi names it.
type item struct {
	index, protocol int32
	label           string
}

// browseAvahi asks avahi until ctx ends or there is enough. An error is that avahi is not there or went away.
func (d *Discovery) browseAvahi(ctx context.Context, ifs []iface, enough func(Found) bool) ([]Found, error) {
	// One that does not even begin has this long: the rest of the time is for our own questions.
	beginning, begun := context.WithTimeout(ctx, hesitant)
	defer begun()
	bus, err := dialAvahi(beginning)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bus.Close() }()
	b := &browsing{
		bus: bus, c: newCollector(d.cfg.Device, ifs),
		items: map[item]struct{}{}, resolved: make(chan *dbus.Call, maxAsked),
	}
	var path dbus.ObjectPath
	if err := bus.call(beginning, "/", avahiServer+".ServiceBrowserNew", []any{avahiAny, avahiAny, ServiceType, "local", uint32(0)}, &path); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return b.c.found(), nil
		case s, ok := <-bus.signals:
			if !ok {
				return nil, errAvahiGone
			}
			if err := b.heard(ctx, s); err != nil {
				return nil, err
			}
		case call := <-b.resolved:
			b.take(call)
			if found := b.c.found(); enough != nil && slices.ContainsFunc(found, enough) {
				return found, nil
			}
		}
	}
}

func (b *browsing) heard(ctx context.Context, s *dbus.Signal) error {
	if _, changed := owner(s); changed {
		return errAvahiGone
	}
	if s.Name == avahiBrowser+".Failure" {
		return fmt.Errorf("discovery: avahi cannot look: %v", s.Body)
	}
	var it item
	var kind, domain string
	var flags uint32
	if s.Name != avahiBrowser+".ItemNew" && s.Name != avahiBrowser+".ItemRemove" {
		return nil
	}
	if err := dbus.Store(s.Body, &it.index, &it.protocol, &it.label, &kind, &domain, &flags); err != nil {
		return fmt.Errorf("discovery: avahi names a service in another way than it used to: %w", err)
	}
	_, known := b.items[it]
	if s.Name == avahiBrowser+".ItemRemove" {
		delete(b.items, it)
		for other := range b.items {
			if other.label == it.label {
				return nil // still there on another link
			}
		}
		b.c.take(int(it.index), message{response: true, records: []record{it.record(dnsmessage.TypePTR, 0)}})
		return nil
	}
	if _, ours := b.c.on(int(it.index)); known || !ours || b.asked+2 > maxAsked {
		return nil
	}
	b.items[it] = struct{}{}
	// One answer has one address: ask for one of each family.
	for _, family := range []int32{0, 1} {
		b.asked++
		b.bus.Object(avahiName, "/").GoWithContext(ctx, avahiServer+".ResolveService", dbus.FlagNoAutoStart, b.resolved,
			it.index, it.protocol, it.label, kind, domain, family, uint32(0))
	}
	return nil
}

// record names the service; it.label has been unescaped by avahi.
func (it item) record(kind dnsmessage.Type, seconds uint32) record {
	name := fold(it.label) + "." + serviceName
	r := record{name: name, kind: kind, ttl: seconds, label: it.label}
	if kind == dnsmessage.TypePTR {
		r.name, r.target = serviceName, name
	}
	return r
}

// take turns an answer into the records it was made of. One that failed (no address of that family, gone meanwhile) is nothing.
func (b *browsing) take(call *dbus.Call) {
	var it item
	var kind, domain, host, addr string
	var family int32
	var port uint16
	var text [][]byte
	var flags uint32
	if call.Err != nil || call.Store(&it.index, &it.protocol, &it.label, &kind, &domain, &host, &family, &addr, &port, &text, &flags) != nil {
		return
	}
	ptr, srv, txt := it.record(dnsmessage.TypePTR, ttl), it.record(dnsmessage.TypeSRV, ttl), it.record(dnsmessage.TypeTXT, ttl)
	srv.target, srv.port = fold(host), port
	for _, t := range text[:min(len(text), maxText)] {
		txt.text = append(txt.text, string(t))
	}
	a := record{name: fold(host), kind: dnsmessage.TypeA, ttl: ttl}
	a.addr, _ = netip.ParseAddr(addr)
	b.c.take(int(it.index), message{response: true, records: []record{ptr, srv, txt, a}})
}
