package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
)

// group is what avahi announces for us. Owned by runAvahi.
type group struct {
	bus     *avahi
	path    dbus.ObjectPath
	level   int    // of label
	name    string // the service's, for which level holds
	running bool   // avahi knows its own name
	// What is registered; ifs is nil when nothing is.
	ifs   []int32
	label string
	port  int
	text  []string
}

// runAvahi has avahi announce until ctx ends or there is nothing to announce.
func (d *Discovery) runAvahi(ctx context.Context) error {
	bus, err := dialAvahi(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = bus.Close() }() // avahi says goodbye
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := watchNetwork(watch)
	if err != nil {
		d.cfg.Log.Info("discovery.blind", "error", err, "look_every", lookAll)
	}
	g := &group{bus: bus}
	var state int32
	if err := bus.call(ctx, "/", avahiServer+".GetState", nil, &state); err != nil {
		return err
	}
	g.running = state == serverRunning
	if err := bus.call(ctx, "/", avahiServer+".EntryGroupNew", nil, &g.path); err != nil {
		return err
	}
	settled := stopped()
	all := time.NewTicker(lookAll)
	defer all.Stop()
	defer settled.Stop()
	look := true
	var ifs []iface
	for {
		if look {
			if ifs, err = interfaces(); err != nil {
				return fmt.Errorf("discovery: list the network's interfaces: %w", err)
			}
		}
		s := d.current()
		if s == nil {
			return nil
		}
		if err := g.register(ctx, *s, ifs); err != nil {
			return err
		}
		look = false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.changed:
		case <-settled.C:
			look = true
		case <-all.C:
			look = true
		case <-changes:
			settled.Reset(settle)
		case sig, ok := <-bus.signals:
			if !ok {
				return errAvahiGone
			}
			before := g.level
			if err := g.heard(sig); err != nil {
				return err
			}
			if g.level != before {
				d.cfg.Log.Info("discovery.renamed", "label", label(*s, g.level), "from", "avahi")
			}
		}
	}
}

// heard takes a signal.
func (g *group) heard(s *dbus.Signal) error {
	if _, changed := owner(s); changed {
		return errAvahiGone // a new one, if there is, knows nothing of our group
	}
	if len(s.Body) < 1 {
		return nil
	}
	state, _ := s.Body[0].(int32)
	switch {
	case s.Name == avahiServer+".StateChanged":
		// Avahi is finding a name for the machine, or has one: what is registered names the old one.
		g.running = state == serverRunning
		g.ifs = nil
	case s.Name != avahiGroup+".StateChanged" || s.Path != g.path:
	case state == groupCollision && g.level < lastLevel:
		g.level++
		g.ifs = nil
	case state == groupCollision || state == groupFailure:
		return fmt.Errorf("discovery: avahi cannot announce %q: state %d, %v", g.label, state, s.Body[1:])
	}
	return nil
}

// register makes avahi announce s on these interfaces, if it does not so already.
func (g *group) register(ctx context.Context, s Service, ifs []iface) error {
	if s.Name != g.name {
		g.name, g.level, g.ifs = s.Name, 0, nil
	}
	var on []int32
	for _, i := range ifs {
		on = append(on, int32(i.index))
	}
	text := s.text()
	same := g.ifs != nil && slices.Equal(g.ifs, on) && g.port == s.Port && g.label == label(s, g.level)
	if same && slices.Equal(g.text, text) {
		return nil
	}
	if same && g.update(ctx, on, text) == nil {
		g.text = text
		return nil
	}
	if err := g.bus.call(ctx, g.path, avahiGroup+".Reset", nil); err != nil {
		return err
	}
	g.ifs = nil
	if !g.running || len(on) == 0 {
		return nil
	}
	for {
		err := g.add(ctx, on, s, text)
		if err == nil {
			break
		}
		var refused dbus.Error
		if !errors.As(err, &refused) || refused.Name != avahiName+".CollisionError" || g.level >= lastLevel {
			return err
		}
		g.level++ // somebody on this machine has the name
		if err := g.bus.call(ctx, g.path, avahiGroup+".Reset", nil); err != nil {
			return err
		}
	}
	g.ifs, g.port, g.text = on, s.Port, text
	return nil
}

func (g *group) add(ctx context.Context, on []int32, s Service, text []string) error {
	g.label = label(s, g.level)
	for _, i := range on {
		args := []any{i, avahiAny, uint32(0), g.label, ServiceType, "local", "", uint16(s.Port), bytesOf(text)}
		if err := g.bus.call(ctx, g.path, avahiGroup+".AddService", args); err != nil {
			return err
		}
	}
	return g.bus.call(ctx, g.path, avahiGroup+".Commit", nil)
}

// update changes what is said without a new contest for the name.
func (g *group) update(ctx context.Context, on []int32, text []string) error {
	for _, i := range on {
		args := []any{i, avahiAny, uint32(0), g.label, ServiceType, "local", bytesOf(text)}
		if err := g.bus.call(ctx, g.path, avahiGroup+".UpdateServiceTxt", args); err != nil {
			return err
		}
	}
	return nil
}

func bytesOf(text []string) [][]byte {
	out := make([][]byte, 0, len(text))
	for _, t := range text {
		out = append(out, []byte(t))
	}
	return out
}
