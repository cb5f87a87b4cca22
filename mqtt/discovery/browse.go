package discovery

import (
	"context"
	"slices"
	"time"
)

// queries is when a browse asks. The first answer may get lost: sent to this machine's port 5353, it reaches only one of those
// who share the port, usually the one that opened it last, which is this browse. Those to the later questions go to everybody, and may be
// a second late because the same was said on that link a moment ago (RFC 6762 6).
var queries = []time.Duration{0, 250 * time.Millisecond, 1000 * time.Millisecond, 3000 * time.Millisecond, 7000 * time.Millisecond}

// browseOwn asks on all interfaces until ctx ends or there is enough.
func (d *Discovery) browseOwn(ctx context.Context, ifs []iface, enough func(Found) bool) ([]Found, error) {
	p, err := openPort(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.join(ifs)
	c := newCollector(d.cfg.Device, ifs)
	begin := time.Now()
	asked := 0
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.found(), nil
		case <-wake.C:
			d.ask(p, c, asked == 0)
			if asked++; asked < len(queries) {
				wake.Reset(queries[asked] - time.Since(begin))
			}
		case pk := <-p.packets:
			m, err := parse(pk.data)
			if err != nil || pk.from.Port() != mdnsPort { // RFC 6762 6: an answer from elsewhere is none
				continue
			}
			c.take(pk.link.index, m)
			if found := c.found(); enough != nil && slices.ContainsFunc(found, enough) {
				return found, nil
			}
		}
	}
}

func (d *Discovery) ask(p *port, c *collector, first bool) {
	known, missing := c.open()
	data, err := query(known, missing, first)
	if err != nil { // somebody's name cannot be asked for: ask without
		data, err = query(nil, nil, first)
	}
	if err != nil {
		d.cfg.Log.Warn("discovery.query", "error", err)
		return
	}
	for _, i := range c.ifs {
		for _, l := range i.links() {
			_ = p.send(l, everybody, data) // an interface that cannot send now is asked again with the next question
		}
	}
}
