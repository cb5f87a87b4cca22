package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"conch/companions/round"
)

// How a device announces and looks: the values of the configuration's room.discovery.
const (
	Auto  = "auto"  // avahi where it runs, else own answers
	Avahi = "avahi" // avahi only
	Own   = "own"   // own answers on port 5353, which may be shared with others
	Off   = "off"   // neither announces nor looks
)

// Config is what a Discovery is made of.
type Config struct {
	How    string         // Auto (also when empty), Avahi, Own, Off
	Device round.DeviceID // this device: what it announces itself is not found by it
	Log    *slog.Logger   // nil: nothing is logged
}

// Discovery announces this device and looks for others.
type Discovery struct {
	cfg Config // fixed after New

	mu      sync.Mutex
	service *Service      // guarded by mu
	changed chan struct{} // one place: the service is another than Run has seen
}

// New makes a Discovery. It opens nothing: Run does, and each Find does for itself.
func New(cfg Config) *Discovery {
	if cfg.How == "" {
		cfg.How = Auto
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Discovery{cfg: cfg, changed: make(chan struct{}, 1)}
}

// Announce says what Run is to announce from now on; nil: nothing. It returns at once, may be called at any time and from
// anywhere, and an announcement that was replaced before Run came to it is never made.
func (d *Discovery) Announce(s *Service) {
	if s != nil {
		c := *s
		s = &c
	}
	d.mu.Lock()
	d.service = s
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (d *Discovery) current() *Service {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.service == nil {
		return nil
	}
	s := *d.service
	return &s
}

// Find looks for others for as long as wait, or until enough, if there is one, says so of one service. It returns what it found, in
// the order of their device ids. It needs no Run, and several may look at a time. Without a network, and with Off, it returns nothing at
// once; that is no error. An error is that looking itself failed: no port, or no avahi though room.discovery says avahi.
func (d *Discovery) Find(ctx context.Context, wait time.Duration, enough func(Found) bool) ([]Found, error) {
	if d.cfg.How == Off {
		return nil, nil
	}
	ifs, err := interfaces()
	if err != nil {
		return nil, fmt.Errorf("discovery: list the network's interfaces: %w", err)
	}
	if len(ifs) == 0 {
		return nil, nil
	}
	looking, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var found []Found
	if d.cfg.How != Own {
		found, err = d.browseAvahi(looking, ifs, enough)
	}
	if err != nil && d.cfg.How == Auto {
		d.cfg.Log.Debug("discovery.browse_own", "because", err)
	}
	if d.cfg.How == Own || err != nil && d.cfg.How == Auto {
		found, err = d.browseOwn(looking, ifs, enough)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return found, err
}

// Run announces until ctx ends, and then takes back what it announced, for at most a second. It returns ctx's error.
// A network that is not there, an avahi that goes and comes, a port that is taken: it waits for them and heals by itself.
// One Run at a time.
func (d *Discovery) Run(ctx context.Context) error {
	last := ""
	for ctx.Err() == nil {
		if d.cfg.How == Off || d.current() == nil {
			select {
			case <-ctx.Done():
			case <-d.changed:
			}
			continue
		}
		if s := d.current(); !s.valid() {
			d.cfg.Log.Error("discovery.invalid", "device", s.Device, "room_id", s.RoomID, "port", s.Port)
			select {
			case <-ctx.Done():
			case <-d.changed:
			}
			continue
		}
		err := d.announce(ctx)
		if err == nil || ctx.Err() != nil {
			last = ""
			continue
		}
		if said := err.Error(); said != last { // once, not every five seconds
			d.cfg.Log.Warn("discovery.trouble", "error", err, "retry", retry)
			last = said
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
	return ctx.Err()
}

// announce announces until there is nothing to announce (nil), or the way to do it is gone.
func (d *Discovery) announce(ctx context.Context) error {
	switch d.cfg.How {
	case Own:
		return d.runOwn(ctx)
	case Avahi:
		return d.runAvahi(ctx)
	}
	err := d.runAvahi(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	d.cfg.Log.Info("discovery.own", "because", err)
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	hold := time.Duration(0)
	if !errors.Is(err, errNoAvahi) && !errors.Is(err, errAvahiGone) {
		hold = distrust
	}
	waited := make(chan struct{})
	go func() { // ends with own
		defer close(waited)
		if awaitAvahi(own, hold) {
			cancel()
		}
	}()
	err = d.runOwn(own)
	came := own.Err() != nil && ctx.Err() == nil
	cancel()
	<-waited
	if came {
		return nil // avahi's turn
	}
	return err
}
