package mqtt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/device/redact"
)

// Bounds of a link.
const (
	echoTimeout  = 5 * time.Second         // until our own hello has come back
	leaveTimeout = 1500 * time.Millisecond // for the last word; a machine that is busy needs some
	maxUnacked   = 1024                    // QoS 1 envelopes that the broker has not acknowledged
)

// link is one connection: one session, one library client. A link that is lost is thrown away with everything that was
// waiting in it. The library would connect again by itself, but then it also resends what it had stored (a stale vote), and the
// last will of its first connection.
type link struct {
	session string
	target  target
	paho    paho.Client
	out     *queue
	lost    chan error    // 1: why the connection ended
	up      chan struct{} // closed by the reader when the room can be heard
	carries atomic.Bool   // the broker carries more than the room, as it has shown

	mu    sync.Mutex
	guard *guard
	heard bool   // up is closed
	addr  string // which of Config.Addresses this leads to

	over bool // owned by the reader: it has seen the last of it

	flight []paho.Token // owned by the writer: unacknowledged, oldest first
}

// connect makes one connection and returns when it is over: whether it was up, and why it ended.
func (c *Client) connect(ctx context.Context, t target, writers *sync.WaitGroup) (up bool, err error) {
	password, err := c.cfg.password()
	if err != nil {
		return false, err
	}
	l := &link{session: newSession(), target: t, out: newQueue(), lost: make(chan error, 1), up: make(chan struct{})}
	l.guard = newGuard(c.cfg.Identity.id, l.session, c.now())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts, err := c.options(ctx, l, password)
	if err != nil {
		return false, err
	}
	l.paho = paho.NewClient(opts)
	if err := connected(l.paho.Connect(), c.cfg.ConnectTimeout+c.cfg.dialTimeout()); err != nil {
		l.paho.Disconnect(0)
		return false, errors.Join(err, ctx.Err())
	}
	if !l.paho.IsConnectionOpen() { // refused with a code that the library has no error for
		l.paho.Disconnect(0)
		return false, fmt.Errorf("%w: it refused this device without a reason that is known", ErrNotAuthorized)
	}
	err = c.serve(ctx, l, writers)
	l.paho.Disconnect(quiesce)
	if n := l.out.drop(); n > 0 {
		c.stats.unsent(unsentOffline, n, "the link was lost")
	}
	// The reader says that the link is down when it has handled everything that came before.
	down := make(chan struct{})
	c.in <- arrival{link: l, down: down}
	<-down
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard, err
}

// age is how long the session has lasted, in milliseconds.
func (l *link) age(now time.Duration) int64 { return (now - l.guard.born).Milliseconds() + 1 }

// reached is the address that the link leads to; "" where the URL says it.
func (l *link) reached() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

// serve subscribes, waits for the proof that it is heard, and stays until the link is lost or ctx ends.
func (c *Client) serve(ctx context.Context, l *link, writers *sync.WaitGroup) error {
	sub := l.paho.SubscribeMultiple(filters(c.cfg.Room, c.cfg.Ledgers, c.cfg.OnNote != nil), nil)
	if !sub.WaitTimeout(c.cfg.ConnectTimeout) {
		return fmt.Errorf("%w: no answer to the subscription", ErrNoBroker)
	}
	if err := sub.Error(); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	if s, ok := sub.(*paho.SubscribeToken); ok {
		for f, code := range s.Result() {
			if code == subackFailed {
				return fmt.Errorf("%w: it may not read %s", ErrNotAuthorized, f)
			}
		}
	}
	written := make(chan struct{})
	gone := make(chan struct{})
	writers.Go(func() { defer close(written); c.write(l, gone) })
	defer close(gone)
	select {
	case <-l.up:
	case err := <-l.lost:
		return fmt.Errorf("%w: %w", errWelcomed, err)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(echoTimeout):
		return fmt.Errorf("%w: what it says under %s does not come back: may it write there and read %s?",
			ErrNotAuthorized, Topic(c.cfg.Room, KindPresence, c.cfg.Identity.id), Filter(c.cfg.Room))
	}
	select {
	case err := <-l.lost:
		return fmt.Errorf("%w: %w", errWelcomed, err)
	case <-ctx.Done():
		c.leave(l, written)
		return ctx.Err()
	}
}

// leave says goodbye behind everything that was already waiting, and gives it a moment.
func (c *Client) leave(l *link, written <-chan struct{}) {
	c.mu.Lock()
	bye := round.Beat{Left: true}
	if c.lastBeat != nil {
		bye = *c.lastBeat
		bye.Cards, bye.Ask, bye.Left = nil, false, true
	}
	left := c.left
	c.link, c.goodbye = nil, true
	c.mu.Unlock()
	if !left {
		l.out.push(c.waited(), bye)
	}
	l.out.close()
	select {
	case <-written:
	case <-time.After(leaveTimeout):
	}
}

// options are those of a link.
func (c *Client) options(ctx context.Context, l *link, password string) (*paho.ClientOptions, error) {
	will, err := l.will(c.cfg.Room, c.cfg.Identity)
	if err != nil {
		return nil, err
	}
	// Two clients with one id put each other out: the key's id is nobody else's.
	o := c.cfg.options(l.target, string(c.cfg.Identity.id), password, c.cfg.KeepAlive)
	o.SetBinaryWill(Topic(c.cfg.Room, KindPresence, c.cfg.Identity.id), will, 0, false)
	o.SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) { c.arrived(l, m.Topic(), m.Payload()) })
	o.SetConnectionLostHandler(func(_ paho.Client, err error) {
		if err == nil {
			err = net.ErrClosed
		}
		select {
		case l.lost <- err:
		default:
		}
	})
	o.SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
		conn, addr, err := c.cfg.dial(ctx, l.target)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.addr = addr
		l.mu.Unlock()
		context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now().Add(leaveTimeout + quiesce*time.Millisecond)) })
		return newPatient(conn, c.door), nil
	})
	return o, nil
}

// will is what the broker says for us when the connection breaks: signed like everything, under the first number of the session.
func (l *link) will(room string, id Identity) ([]byte, error) {
	_, b, err := Encode(room, id, l.session, willSeq, round.Gone{})
	return b, err
}

// arrived runs in the library's goroutine and must not wait.
func (c *Client) arrived(l *link, topic string, payload []byte) {
	from := c.sender(topic)
	n := c.lanes.push(c.now(), from, isPress(payload), arrival{link: l, topic: topic, payload: payload})
	for range n {
		c.stats.refused(&Refusal{Reason: ReasonOverrun, From: from, Detail: "too much is waiting to be handled"})
	}
}

// write is a link's writer: it signs and publishes in the order of the queue, hellos when they are due.
func (c *Client) write(l *link, gone <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.greet(l)
		p, late, end := l.out.pop(c.waited())
		c.stats.unsent(unsentLate, late, "the broker is slow")
		switch p := p.(type) {
		case round.Packet:
			if t := c.publish(l, p); t != nil && c.cfg.OnTaken != nil {
				c.taken(p, t, gone)
			}
			continue
		case Note:
			c.publishNote(l, p)
			continue
		}
		if end {
			return
		}
		l.mu.Lock()
		at, due := l.guard.wake()
		l.mu.Unlock()
		wait := time.Hour
		if due {
			wait = max(0, at-c.now())
		}
		timer.Reset(wait)
		select {
		case <-l.out.poke:
		case <-timer.C:
		case <-gone:
			return
		}
	}
}

// greet sends the hello that is due.
func (c *Client) greet(l *link) {
	l.mu.Lock()
	h, seq, ok := l.guard.hello(c.now())
	l.mu.Unlock()
	if !ok {
		return
	}
	params, err := json.Marshal(h)
	if err != nil {
		return // numbers and names only
	}
	m := methodNamed(methodHello)
	c.put(l, m.kind, 0, seal(c.cfg.Room, c.cfg.Identity, m, l.session, seq, params))
	c.stats.add(func(s *Stats) { s.Hellos++ })
}

// taken waits for the broker's word on a press, as long as the link is there. At most maxUnacked wait.
func (c *Client) taken(p round.Packet, t paho.Token, gone <-chan struct{}) {
	press, ok := p.(round.Press)
	if !ok || c.cfg.qos() == 0 {
		return
	}
	go func() {
		select {
		case <-t.Done():
			if t.Error() == nil {
				c.cfg.OnTaken(press.Epoch)
			}
		case <-gone:
		}
	}()
}

// publish sends a packet. The token is that of its QoS 1 envelope; nil: there is none.
func (c *Client) publish(l *link, p round.Packet) paho.Token {
	x, err := c.extras(p)
	if err != nil { // in the clear it does not go
		c.stats.unsent(unsentInvalid, 1, err.Error())
		return nil
	}
	x.age = l.age(c.now())
	m, params, err := pack(c.cfg.Identity.id, p, x)
	if err != nil {
		c.stats.unsent(unsentInvalid, 1, err.Error())
		return nil
	}
	if h, ok := p.(round.History); ok && !c.mayTell(h.To, len(params)) {
		c.stats.unsent(unsentAsked, 1, fmt.Sprintf("%d bytes of history for %s", len(params), h.To))
		return nil
	}
	if m.name != methodPress && m.name != methodHistory { // which has no words, and has those of others as they were signed
		params = []byte(redact.Known(string(params)))
	}
	l.mu.Lock()
	seq := l.guard.seq()
	l.mu.Unlock()
	b := seal(c.cfg.Room, c.cfg.Identity, m, l.session, seq, params)
	if m.name == methodPress {
		c.put(l, m.kind, 0, b) // at once, whatever else is in flight; and again below so that it arrives (ROOM.md 2)
	}
	return c.put(l, m.kind, min(m.qos, c.cfg.qos()), b)
}

func (c *Client) mayTell(to round.DeviceID, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tells.may(c.now(), to, n)
}

// put hands an envelope to the library, which must be connected: it would store what it cannot send, and send it later.
func (c *Client) put(l *link, k Kind, qos byte, b []byte) paho.Token {
	if !l.paho.IsConnectionOpen() {
		c.stats.unsent(unsentOffline, 1, "the link is going down")
		return nil
	}
	if qos > 0 {
		for len(l.flight) > 0 && done(l.flight[0]) {
			l.flight = l.flight[1:]
		}
		if len(l.flight) >= maxUnacked {
			c.stats.unsent(unsentUnacked, 1, "the broker does not acknowledge")
			return nil
		}
	}
	t := l.paho.Publish(Topic(c.cfg.Room, k, c.cfg.Identity.id), qos, false, b)
	if done(t) && t.Error() != nil {
		c.stats.unsent(unsentBroken, 1, t.Error().Error())
		return nil
	}
	if qos > 0 {
		l.flight = append(l.flight, t)
	}
	c.stats.add(func(s *Stats) { s.Envelopes++; s.Bytes += uint64(len(b)) })
	return t
}

func done(t paho.Token) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}

func (c *Client) publishNote(l *link, n Note) {
	m := noteMethod(n.Method)
	l.mu.Lock()
	seq := l.guard.seq()
	l.mu.Unlock()
	c.put(l, m.kind, min(m.qos, c.cfg.qos()), seal(c.cfg.Room, c.cfg.Identity, m, l.session, seq, n.Body))
}
