package broker

import (
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"conch/companions/round"
	"conch/mqtt"
)

// How long a client may take.
const (
	takeLimit = 10 * time.Second // for the next takeUnit
	byeLimit  = time.Second      // for what is left when its connection is closed
	takeUnit  = 16 << 10         // bytes, a record of TLS
	maxAsked  = 64 << 10         // bytes of answers that it has not taken
)

// served is a connection as the library sees it. What the library writes waits here and is bounded in bytes, so that writing never blocks: the
// library has a client's lock while it writes, publishing asks for that lock (Client.NextPacketID), and one that does not read would
// hold up everybody. What it reads is counted.
type served struct {
	net.Conn // TLS or the bare one
	bare     *counted
	bounds   *bounds
	device   round.DeviceID // that TLS has shown; empty: nobody is known, and no rates are held
	gone     chan struct{}  // closed by abort, and when it is closed
	client   atomic.Pointer[mochi.Client]

	scan scan // owned by the reader

	mu      sync.Mutex
	waiting fair
	unacked int       // QoS 1 messages
	acked   time.Time // the last one, or when the first one was sent
	dropped int       // packets, from this client's queue
	running bool      // deliver
	closed  bool
}

// serve makes one of a connection that the library is to have.
func serve(c net.Conn, bare *counted, d round.DeviceID) *served {
	s := &served{Conn: c, bare: bare, bounds: bare.gate.bounds, device: d, gone: make(chan struct{})}
	bare.served.Store(s)
	return s
}

// Write queues whole packets, as the library writes them without a buffer of its own (ClientNetWriteBufferSize).
func (s *served) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, net.ErrClosed
	}
	now := time.Now()
	if _, ok := numbered(b); ok {
		if s.unacked++; s.unacked == 1 {
			s.acked = now
		}
	}
	for _, lost := range s.waiting.push(slices.Clone(b), s.bounds.mayWait()) {
		s.dropped++
		if n, ok := numbered(lost); ok {
			s.unacked--
			if cl := s.client.Load(); cl != nil {
				cl.State.Inflight.Delete(n)
			}
		}
	}
	asked, unacked, silent := s.waiting.asked, s.unacked, now.Sub(s.acked) > takeLimit
	s.run()
	s.mu.Unlock()
	switch {
	case asked > maxAsked:
		s.offend(ExcessWaiting, asked, maxAsked)
	case unacked > s.bounds.limits.Unacked/2 && silent:
		s.offend(ExcessUnacked, unacked, s.bounds.limits.Unacked/2)
	}
	return len(b), nil
}

// run has deliver work. The lock is held.
func (s *served) run() {
	if !s.running {
		s.running = true
		s.bare.gate.writers.Go(s.deliver)
	}
}

// deliver writes what waits, and then closes the connection if that is wanted.
func (s *served) deliver() {
	for {
		b, limit, more := s.next()
		if !more {
			return
		}
		if b == nil {
			_ = s.bare.writeBy(time.Now().Add(limit))
			_ = s.Conn.Close()
			_ = s.bare.Close()
			continue
		}
		for unit := range slices.Chunk(b, takeUnit) {
			_ = s.bare.writeBy(time.Now().Add(limit))
			if _, err := s.Conn.Write(unit); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) && limit == takeLimit {
					s.offend(ExcessSlow, int(takeLimit/time.Second), int(takeLimit/time.Second))
				}
				s.abort()
				break
			}
		}
	}
}

// next is what is to be written, and how long that may take; nil: nothing, and the connection is to be closed. Not more: that is all.
func (s *served) next() (b []byte, limit time.Duration, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit = takeLimit
	if s.closed {
		limit = byeLimit
	}
	if b := s.waiting.pop(takeUnit); b != nil {
		return b, limit, true
	}
	if s.closed && !s.over() {
		close(s.gone)
		return nil, limit, true
	}
	s.running = false
	return nil, 0, false
}

// over says whether the connection is closed. The lock is held.
func (s *served) over() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// Close has what waits written and then closes the connection, without waiting for that.
func (s *served) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	_ = s.bare.SetReadDeadline(time.Unix(1, 0)) // nothing more is read
	_ = s.bare.writeBy(time.Now().Add(byeLimit))
	s.run()
	return nil
}

// abort closes the connection at once: TLS says goodbye with patience, to one that may not be reading.
func (s *served) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = s.bare.Close()
	if s.over() {
		return
	}
	close(s.gone)
	s.waiting = fair{}
}

// SetDeadline is for reading: how long it may take to write is known here, and a client that speaks could put it off.
func (s *served) SetDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return s.bare.readBy(t)
}

// Read counts the packets, and takes its time where there are too many.
func (s *served) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n == 0 {
		return n, err
	}
	count := 0
	for rest := b[:n]; len(rest) > 0; {
		first, length, used, whole := s.scan.next(rest)
		rest = rest[used:]
		if !whole {
			continue
		}
		if most := longest(first); length > most {
			s.offend(ExcessMalformed, length, max(most, 0))
			return 0, net.ErrClosed
		}
		if first>>4 != packets.Puback || !s.acknowledged() {
			count++
		}
	}
	return n, errors.Join(err, s.spend(ExcessPackets, count))
}

// acknowledged says whether a message was waiting for that.
func (s *served) acknowledged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unacked == 0 {
		return false
	}
	s.unacked--
	s.acked = time.Now()
	return true
}

// spend waits until the member may send more.
func (s *served) spend(what Excess, n int) error {
	if s.device == "" {
		return nil
	}
	wait, ok := s.bounds.spend(s.device, what, n)
	if !ok {
		s.abort()
		return net.ErrClosed
	}
	if wait == 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.gone:
		return net.ErrClosed
	}
}

// offend puts the client out. Who is known is kept out for a while.
func (s *served) offend(what Excess, count, limit int) {
	s.mu.Lock()
	closed := s.over()
	s.mu.Unlock()
	if closed {
		return
	}
	s.abort()
	if s.device != "" {
		s.bounds.offend(Offence{Device: s.device, What: what, Count: count, Limit: limit})
		return
	}
	s.bounds.log.Warn(eventOffence, "remote", s.RemoteAddr().String(), "what", string(what), "count", count, "limit", limit)
}

// longest is how long a packet of a kind may be behind its fixed header; negative: no client sends that.
func longest(first byte) int {
	switch first >> 4 {
	case packets.Connect:
		return 8 << 10 // an id, a user, a password and a will
	case packets.Publish:
		return mqtt.MaxPacket
	case packets.Subscribe, packets.Unsubscribe:
		return 4 << 10 // sixteen of the longest filters
	case packets.Puback, packets.Pubrec, packets.Pubrel, packets.Pubcomp:
		return 2
	case packets.Pingreq, packets.Disconnect:
		return 0
	}
	return -1
}

// scan follows a client's packets by their fixed headers (MQTT 3.1.1, 2.2).
type scan struct {
	first  byte
	shift  int // of the next digit of the length; 0: the first byte is to come
	length int
	left   int // bytes of the present packet
}

// next looks at some bytes: how many it has used, and whether a fixed header ended with them. A length of more than four digits is
// longer than anything may be.
func (c *scan) next(b []byte) (first byte, length, used int, whole bool) {
	if c.left > 0 {
		n := min(c.left, len(b))
		c.left -= n
		return 0, 0, n, false
	}
	if c.shift == 0 {
		c.first, c.length, c.shift = b[0], 0, 1
		return 0, 0, 1, false
	}
	c.length |= int(b[0]&0x7f) << (c.shift - 1)
	c.shift += 7
	if b[0]&0x80 != 0 {
		if c.shift <= 28 {
			return 0, 0, 1, false
		}
		c.length = math.MaxInt32 // no packet has that
	}
	c.shift, c.left = 0, c.length
	return c.first, c.length, 1, true
}
