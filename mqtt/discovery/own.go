package discovery

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	settle  = 150 * time.Millisecond // a network changes in several steps
	lookAll = 30 * time.Second       // where nobody tells of changes, and in case a word was lost
	retry   = 5 * time.Second        // to open the port
)

// runOwn answers for this device until ctx ends or there is nothing to announce. The port is open only so long: a device that
// has nothing to say does not listen.
func (d *Discovery) runOwn(ctx context.Context) error {
	p, err := openPort(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := watchNetwork(watch)
	if err != nil {
		d.cfg.Log.Info("discovery.blind", "error", err, "look_every", lookAll)
	}
	r := newResponder(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	d.refresh(p, r)
	d.post(p, r, r.setService(time.Now(), d.current()))
	settled := stopped()
	wake := stopped()
	all := time.NewTicker(lookAll)
	defer all.Stop()
	defer settled.Stop()
	defer wake.Stop()
	for r.service != nil {
		if next := r.next(); !next.IsZero() {
			wake.Reset(time.Until(next))
		} else {
			wake.Stop()
		}
		select {
		case <-ctx.Done():
			d.post(p, r, r.setService(time.Now(), nil))
			return ctx.Err()
		case <-d.changed:
			d.post(p, r, r.setService(time.Now(), d.current()))
		case <-changes:
			settled.Reset(settle)
		case <-settled.C:
			d.refresh(p, r)
		case <-all.C:
			d.refresh(p, r)
		case <-wake.C:
			d.post(p, r, r.tick(time.Now()))
		case pk := <-p.packets:
			if m, err := parse(pk.data); err == nil {
				before := r.level
				d.post(p, r, r.handle(time.Now(), pk, m))
				if r.level != before {
					d.cfg.Log.Info("discovery.renamed", "label", label(*r.service, r.level), "from", pk.from.String())
				}
			}
		}
	}
	return nil
}

// stopped is a timer that is not running.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (d *Discovery) refresh(p *port, r *responder) {
	ifs, err := interfaces()
	if err != nil {
		d.cfg.Log.Warn("discovery.interfaces", "error", err)
		return
	}
	p.join(ifs)
	r.setInterfaces(time.Now(), ifs)
	names := make([]string, 0, len(ifs))
	for _, i := range ifs {
		names = append(names, i.name)
	}
	d.cfg.Log.Debug("discovery.interfaces", slog.Any("names", names))
}

func (d *Discovery) post(p *port, r *responder, out []sending) {
	for _, s := range out {
		if err := p.send(s.link, s.to, s.data); err != nil && s.tell {
			r.unsent(s.link)
		}
	}
}
