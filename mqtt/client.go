package mqtt

import (
	"context"
	"crypto/hpke"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
)

// Config is what a client needs. URL, Room, Identity and OnPacket must be there; the rest has defaults. The callbacks are
// called one at a time from one goroutine of the client, a sender's packets in order: OnLink(true) before the packets of a link, OnLink(false)
// after them. They must not block: what arrives meanwhile waits in bounded queues (lanes) and is then dropped and counted. Member is also
// called from another one.
type Config struct {
	URL      string   // mqtt://host:1883, mqtts://, ws://, wss:// (tcp://, ssl://, tls:// as well)
	More     []string // further nodes of the same cluster, as URL: tried in turn
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
	OnReached func(addr string) // before OnLink(true): which of them it was; of a cluster, which URL

	Member    func(round.DeviceID) bool // nil: every device whose signature is good
	OnPacket  func(from round.DeviceID, p round.Packet)
	OnNote    func(from round.DeviceID, n Note) // nil: notes are not even asked for
	OnLink    func(up bool)
	Near      func(port int) []string // host:port at which members in the house reach a port of this device; none: presses go by the broker alone
	Listen    string                  // address of that port; empty: all
	OnTaken   func(round.Epoch)       // the broker has acknowledged a press; from a goroutine of its own
	OnTrouble func(err error)         // once for each change; nil: over
	OnRefused func(r Refusal)         // everything that was read and not delivered
	OnFlood   func(f Flood)           // who says more than Bounds; at the beginning, now and then while it lasts, and when it is over
	Ledgers   bool                    // hear other devices' ledgers, too (round.Seen): no device needs them, and they are half of what is said
	Bounds    Bounds                  // of one member; the defaults where zero
	Log       *slog.Logger

	KeepAlive      time.Duration // 2 s: a broker notices a silent device within 1.5 of it
	ConnectTimeout time.Duration // 3 s
	RetryMin       time.Duration // 200 ms, doubled each time
	RetryMax       time.Duration // 2 s
}

// Client carries packets between this device and its room. Its goroutines: Run's (connects, waits for the end of each link), the
// reader (checks and delivers what arrives, for all links), a writer for each link (signs and publishes), and the library's.
type Client struct {
	cfg     Config   // fixed after NewClient
	targets []target // likewise; more than one: nodes of a cluster
	stats   *counters
	whisper hpke.PrivateKey // opens what is private
	start   time.Time
	waits   wakeful // how long something has waited to be sent

	nudged  chan struct{} // 1: do not wait
	reading chan struct{} // 1: somebody reads what is none of the room's
	in      chan arrival  // ends of links, failed attempts and calls
	lanes   *lanes        // what arrived
	near    near          // the second way of presses

	mu       sync.Mutex
	link     *link     // that is up; nil: Send drops
	known    directory // who lives where, across links
	lastBeat *round.Beat
	goodbye  bool          // Run has said it, or sent what said so
	left     bool          // the last beat sent said so
	asked    time.Duration // when cards were last asked for
	wishes   int           // histories that may still come
	tells    teller        // histories that have gone

	// Owned by the reader.
	askers   askers
	trouble  string          // as last told
	own      map[string]bool // sessions of this client
	settling *link           // hears itself and is not up yet
	settled  *time.Timer     // when it is
}

const (
	maxCalls = 64  // that wait for the reader
	maxOwn   = 256 // sessions of our own that are kept in mind
	// settle is given to the devices that are there to show that they live, before OnLink lets anybody speak: after a
	// broker's restart all begin at the same moment, and what is said before is lost to those who are no older.
	settle = 50 * time.Millisecond
)

// arrival is an envelope, or with down set the end of its link, or with trouble set a failed attempt, or a call.
type arrival struct {
	link    *link
	near    bool // it came by the second way, which outlasts the link
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
	targets, err := cfg.targets()
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
		cfg: cfg, targets: targets, start: time.Now(), known: directory{}, asked: -time.Hour, own: map[string]bool{}, settled: time.NewTimer(time.Hour),
		reading: make(chan struct{}, 1), nudged: make(chan struct{}, 1), in: make(chan arrival, maxCalls), lanes: newLanes(cfg.Bounds), askers: askers{},
		near: near{out: make(chan outward, maxPresses), at: map[round.DeviceID][]netip.AddrPort{}},
	}
	c.stats = newCounters(cfg.Log, c.now)
	if c.whisper, err = cfg.Identity.whisperKey(); err != nil {
		return nil, fmt.Errorf("mqtt: the key for what is private: %w", err)
	}
	return c, nil
}

// now is the client's own clock.
func (c *Client) now() time.Duration { return time.Since(c.start) }

// waited is the clock of what waits to be sent: it is too late because of a slow broker, not because this process stood still.
func (c *Client) waited() time.Duration { return c.waits.at(c.now()) }

// ID is the device's id.
func (c *Client) ID() round.DeviceID { return c.cfg.Identity.id }

// Stats is what was counted so far.
func (c *Client) Stats() Stats {
	s := c.stats.snapshot()
	for who, n := range c.lanes.dropped() {
		s.Refused[ReasonFlood] += n
		by := s.Senders[who]
		if by == nil {
			by = map[Reason]uint64{}
			s.Senders[who] = by
		}
		by[ReasonFlood] += n
	}
	return s
}

// Send publishes a packet under this device's name, and never waits: without a link it is dropped and counted, and at the
// bound of what may wait (queue) the oldest of its kind is.
func (c *Client) Send(p round.Packet) {
	c.mu.Lock()
	l, said := c.link, c.goodbye
	if _, ok := p.(round.HistoryAsk); ok {
		c.wishes = maxTellers
	}
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
	c.sendNear(p)
	if l == nil {
		b, beat := p.(round.Beat)
		if _, press := p.(round.Press); !press && !(beat && (b.Left && said || b.Confirms)) { // these have a second way
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

// SendNote publishes a note under this device's name, like Send: it never waits, and without a link the note is dropped and
// counted, so that whoever needs an answer asks again.
func (c *Client) SendNote(n Note) {
	if err := n.check(); err != nil {
		c.stats.unsent(unsentInvalid, 1, err.Error())
		return
	}
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		c.stats.unsent(unsentOffline, 1, n.Method)
		return
	}
	switch dropped, ok := l.out.push(c.waited(), n); {
	case !ok:
		c.stats.unsent(unsentOffline, 1, n.Method)
	case dropped > 0:
		c.stats.unsent(unsentFull, dropped, n.Method)
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
	c.stats.begin(ctx)
	stop := make(chan struct{})
	var reader, writers sync.WaitGroup
	reader.Go(func() { c.read(stop) })
	c.openNear(ctx, &writers)
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
	wait   time.Duration
	flaps  int     // links in a row that were lost soon after they came up
	at     int     // which of the targets is next
	failed []error // of those that were tried since the last link, at most one each
}

// attempt makes one connection, stays while it lasts, and waits a little before the next.
func (c *Client) attempt(ctx context.Context, r *retry, writers *sync.WaitGroup) {
	began := c.now()
	t := c.targets[r.at]
	up, err := c.connect(ctx, t, writers)
	if ctx.Err() != nil {
		return
	}
	r.at = (r.at + 1) % len(c.targets)
	if !up {
		r.flaps = 0
	} else {
		r.wait, r.failed = c.cfg.RetryMin, nil
		// Two clients with one id put each other out for ever.
		if r.flaps++; c.now()-began > steady {
			r.flaps = 0
		}
		if r.flaps >= maxFlaps {
			err = fmt.Errorf("%w soon after it came up: is there a second device with this device's key (a copied card)?", ErrTaken)
		}
	}
	wait := r.wait
	switch r.failed = append(r.failed, explain(t.String(), err)); {
	case up: // the link was lost: it is said at once
		c.in <- arrival{trouble: r.failed[0]}
		r.failed = nil
		if r.flaps >= maxFlaps { // a device that is alone answers a press; one that comes and goes does not
			wait = apart
		}
	case len(r.failed) < len(c.targets): // another node may be there
		wait = c.cfg.RetryMin
	default:
		c.in <- arrival{trouble: inOrder(r.failed)}
		r.failed = nil
		r.wait = min(2*r.wait, c.cfg.RetryMax)
	}
	timer := time.NewTimer(jitter(wait))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-c.nudged:
		r.wait = c.cfg.RetryMin
	}
}

// inOrder is what went wrong, the same text whichever of the nodes was tried first.
func inOrder(errs []error) error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

const (
	maxFlaps = 3               // links in a row that broke at once: two clients have one id
	apart    = 8 * time.Second // between links, then
)

// steady is how long a link lasts that did not break at once.
const steady = 10 * time.Second

// tell reports a change of what is wrong; nil: nothing is.
func (c *Client) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == c.trouble {
		return
	}
	c.trouble = text
	if err != nil {
		c.cfg.Log.Log(context.Background(), c.stats.fault(), eventTrouble, "err", err)
	}
	if c.cfg.OnTrouble != nil {
		c.cfg.OnTrouble(err)
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
