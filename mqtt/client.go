package mqtt

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
)

// Config is what a client needs. URL, Room, Identity and OnPacket must be there; the rest has defaults. The callbacks are
// called one at a time from one goroutine of the client, in order: OnLink(true) before the packets of a link, OnLink(false)
// after them. They must not block: what arrives meanwhile waits in a bounded queue and is then dropped and counted.
type Config struct {
	URL      string // mqtt://host:1883, mqtts://, ws://, wss:// (tcp://, ssl://, tls:// as well)
	Room     string
	Identity Identity

	User         string
	Password     string // already read, e.g. from a credential
	PasswordFile string // or read for each attempt
	CAFile       string
	CertFile     string
	KeyFile      string
	TLS          func() (*tls.Config, error) // instead of the files

	// Addresses are where the broker may be, host:port, asked for before each attempt and tried in this order, each a little after
	// the one before; the first that proves to be the broker is it. They replace the URL, which may then be empty: MQTT over TLS, and it is
	// TLS's configuration that knows the broker, for a host's name proves nothing here.
	Addresses func(ctx context.Context) []string
	OnReached func(addr string) // before OnLink(true): which of them it was

	Member    func(round.DeviceID) bool // nil: every device whose signature is good
	OnPacket  func(from round.DeviceID, p round.Packet)
	OnNote    func(from round.DeviceID, n Note) // nil: notes are not even asked for
	OnLink    func(up bool)
	OnTrouble func(err error) // once for each change; nil: over
	OnRefused func(r Refusal) // everything that was not delivered
	Ledgers   bool            // hear other devices' ledgers, too (round.Seen): no device needs them, and they are half of what is said
	Log       *slog.Logger

	KeepAlive      time.Duration // 2 s: a broker notices a silent device within 1.5 of it
	ConnectTimeout time.Duration // 3 s
	RetryMin       time.Duration // 200 ms, doubled each time
	RetryMax       time.Duration // 2 s
}

// Client carries packets between this device and its room. Its goroutines: Run's (connects, waits for the end of each link), the
// reader (checks and delivers what arrives, for all links), a writer for each link (signs and publishes), and the library's.
type Client struct {
	cfg    Config // fixed after NewClient
	target target
	stats  *counters
	start  time.Time
	waits  wakeful // how long something has waited to be sent

	nudged chan struct{} // 1: do not wait
	in     chan arrival  // what arrived, in order, and ends of links
	urgent chan arrival  // presses
	bytes  atomic.Int64  // waiting in both

	mu       sync.Mutex
	link     *link     // that is up; nil: Send drops
	known    directory // who lives where, across links
	lastBeat *round.Beat
	goodbye  bool          // Run has said it, or sent what said so
	left     bool          // the last beat sent said so
	asked    time.Duration // when cards were last asked for

	// Owned by the reader.
	trouble  string          // as last told
	own      map[string]bool // sessions of this client
	settling *link           // hears itself and is not up yet
	settled  *time.Timer     // when it is
}

// Bounds of what has arrived and was not handled yet.
const (
	maxArrived      = 1024
	maxArrivedBytes = 8 << 20
	maxUrgent       = 64
	maxOwn          = 256 // sessions of our own that are kept in mind
	// settle is given to the devices that are there to show that they live, before OnLink lets anybody speak: after a
	// broker's restart all begin at the same moment, and what is said before is lost to those who are no older.
	settle = 50 * time.Millisecond
)

// arrival is an envelope, or with down set the end of its link, or with trouble set a failed attempt, or a call.
type arrival struct {
	link    *link
	topic   string
	payload []byte
	down    chan struct{}
	trouble error
	call    func()
}

// NewClient checks the settings; Run connects.
func NewClient(cfg Config) (*Client, error) {
	if err := CheckRoom(cfg.Room); err != nil {
		return nil, err
	}
	t, err := cfg.target()
	if err != nil {
		return nil, err
	}
	if cfg.Identity.key == nil {
		return nil, errors.New("mqtt: a client needs an identity")
	}
	if cfg.OnPacket == nil {
		return nil, errors.New("mqtt: a client needs OnPacket")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.KeepAlive, 2*time.Second)
	def(&cfg.ConnectTimeout, 3*time.Second)
	def(&cfg.RetryMin, 200*time.Millisecond)
	def(&cfg.RetryMax, 2*time.Second)
	c := &Client{
		cfg: cfg, target: t, start: time.Now(), known: directory{}, asked: -time.Hour, own: map[string]bool{}, settled: time.NewTimer(time.Hour),
		nudged: make(chan struct{}, 1), in: make(chan arrival, maxArrived), urgent: make(chan arrival, maxUrgent),
	}
	c.stats = newCounters(cfg.Log, c.now)
	return c, nil
}

// now is the client's own clock.
func (c *Client) now() time.Duration { return time.Since(c.start) }

// waited is the clock of what waits to be sent: it is too late because of a slow broker, not because this process stood still.
func (c *Client) waited() time.Duration { return c.waits.at(c.now()) }

// ID is the device's id.
func (c *Client) ID() round.DeviceID { return c.cfg.Identity.id }

// Stats is what was counted so far.
func (c *Client) Stats() Stats { return c.stats.snapshot() }

// Send publishes a packet under this device's name, and never waits: without a link it is dropped and counted, and at the
// bound of what may wait (queue) the oldest of its kind is.
func (c *Client) Send(p round.Packet) {
	c.mu.Lock()
	l, said := c.link, c.goodbye
	if b, ok := p.(round.Beat); ok {
		cards := b.Cards
		if cards == nil && c.lastBeat != nil {
			cards = c.lastBeat.Cards
		}
		c.left = b.Left
		b.Cards = cards
		c.lastBeat = &b
	}
	c.mu.Unlock()
	if l == nil {
		if b, ok := p.(round.Beat); !ok || !b.Left || !said {
			c.stats.unsent(unsentOffline, 1, fmt.Sprintf("%T", p))
		}
		return
	}
	switch dropped, ok := l.out.push(c.waited(), p); {
	case !ok:
		c.stats.unsent(unsentOffline, 1, fmt.Sprintf("%T", p))
	case dropped > 0:
		c.stats.unsent(unsentFull, dropped, fmt.Sprintf("%T", p))
	}
}

// Call has f called by the goroutine that delivers what arrives, as a sign that it still does. It never waits; false: too
// much waits already.
func (c *Client) Call(f func()) bool {
	select {
	case c.in <- arrival{call: f}:
		return true
	default:
		return false
	}
}

// Nudge says that an attempt which would have failed a moment ago may now succeed: the wait for the next one ends. It never
// waits.
func (c *Client) Nudge() {
	select {
	case c.nudged <- struct{}{}:
	default:
	}
}

// Run connects, and connects again, until ctx ends. Then it tells the room that the device leaves, closes the connection
// properly and returns when everything of it has stopped. It returns nil.
func (c *Client) Run(ctx context.Context) error {
	stop := make(chan struct{})
	var reader, writers sync.WaitGroup
	reader.Go(func() { c.read(stop) })
	r := retry{wait: c.cfg.RetryMin}
	for ctx.Err() == nil {
		c.attempt(ctx, &r, &writers)
	}
	writers.Wait()
	close(stop)
	reader.Wait()
	return nil
}

// retry is how the last attempts went.
type retry struct {
	wait  time.Duration
	flaps int // links in a row that were lost soon after they came up
}

// attempt makes one connection, stays while it lasts, and waits a little before the next.
func (c *Client) attempt(ctx context.Context, r *retry, writers *sync.WaitGroup) {
	began := c.now()
	up, err := c.connect(ctx, writers)
	if ctx.Err() != nil {
		return
	}
	if !up {
		r.flaps = 0
	} else {
		r.wait = c.cfg.RetryMin
		// Two clients with one id put each other out for ever.
		if r.flaps++; c.now()-began > steady {
			r.flaps = 0
		}
		if r.flaps >= 3 {
			err = fmt.Errorf("%w soon after it came up: is there a second device with this device's key (a copied card)?", ErrTaken)
		}
	}
	c.in <- arrival{trouble: err}
	t := time.NewTimer(jitter(r.wait))
	defer t.Stop()
	r.wait = min(2*r.wait, c.cfg.RetryMax)
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-c.nudged:
		r.wait = c.cfg.RetryMin
	}
}

// steady is how long a link lasts that did not break at once.
const steady = 10 * time.Second

// tell reports a change of what is wrong; nil: nothing is.
func (c *Client) tell(err error) {
	text := ""
	if err != nil {
		err = explain(c.target.String(), err)
		text = err.Error()
	}
	if text == c.trouble {
		return
	}
	c.trouble = text
	if err != nil {
		c.cfg.Log.Warn(eventTrouble, "err", err)
	}
	if c.cfg.OnTrouble != nil {
		c.cfg.OnTrouble(err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// jitter keeps the devices of a room from coming back all at the same moment.
func jitter(d time.Duration) time.Duration {
	var b [1]byte
	_, _ = rand.Read(b[:])
	return d + d*time.Duration(b[0])/1024
}

func newSession() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return b64.EncodeToString(b[:])
}
