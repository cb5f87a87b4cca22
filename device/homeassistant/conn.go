package homeassistant

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// maxPacket is the largest packet that is read. The library would take 256 MB, and whoever may write at the house's broker could send
// that to a device with half a gigabyte.
const maxPacket = 64 << 10

var errFraming = errors.New("the broker sent a packet whose length cannot be read")

// patient is a connection on which no write takes for ever, and no packet of the broker's is too large: such a message is not read at all.
// It is asked for with QoS 0, so nobody waits for it to be acknowledged. It lets the broker hang up once it was told goodbye: a
// connection that is closed while something is on its way to us is reset, and a broker that meets that first sends the will.
type patient struct {
	net.Conn
	r     *bufio.Reader
	ready []byte // bytes to hand on before anything else is read
	pass  int    // bytes of the present packet that go through
	skip  int    // bytes of the present packet that go nowhere
	head  [5]byte

	bye  atomic.Bool
	over chan struct{}
	once sync.Once
}

func newPatient(c net.Conn) *patient {
	return &patient{Conn: c, r: bufio.NewReader(c), over: make(chan struct{})}
}

// Write implements net.Conn.
func (p *patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := p.Conn.Write(b)
	if err == nil && n > 0 && b[0]>>4 == packets.Disconnect {
		p.bye.Store(true)
	}
	return n, err
}

// Read implements net.Conn.
func (p *patient) Read(b []byte) (n int, err error) {
	defer func() {
		if err != nil {
			p.once.Do(func() { close(p.over) })
		}
		if err != nil && p.bye.Load() {
			err = net.ErrClosed // as it should be
		}
	}()
	if len(b) == 0 {
		return 0, nil
	}
	for len(p.ready) == 0 && p.pass == 0 {
		if err := p.header(); err != nil {
			return 0, err
		}
	}
	if len(p.ready) > 0 {
		n = copy(b, p.ready)
		p.ready = p.ready[n:]
		return n, nil
	}
	n, err = p.r.Read(b[:min(len(b), p.pass)])
	p.pass -= n
	return n, err
}

// header reads a packet's fixed header (MQTT 3.1.1, 2.2) and decides what becomes of the rest.
func (p *patient) header() error {
	for p.skip > 0 {
		n, err := p.r.Discard(min(p.skip, maxPacket))
		p.skip -= n
		if err != nil {
			return err
		}
	}
	first, err := p.r.ReadByte()
	if err != nil {
		return err
	}
	p.head[0] = first
	length, n := 0, 1
	for shift := 0; ; shift += 7 {
		if shift > 21 {
			return errFraming
		}
		d, err := p.r.ReadByte()
		if err != nil {
			return err
		}
		p.head[n] = d
		n++
		length |= int(d&0x7f) << shift
		if d&0x80 == 0 {
			break
		}
	}
	switch {
	case length <= maxPacket:
		p.ready, p.pass = p.head[:n:n], length
	case first>>4 == packets.Publish:
		p.skip = length
	default: // nothing else can be that long
		return errFraming
	}
	return nil
}

// Close implements net.Conn.
func (p *patient) Close() error {
	if p.bye.Load() {
		limit := time.NewTimer(hangUp)
		defer limit.Stop()
		select {
		case <-p.over:
		case <-limit.C:
		}
	}
	return p.Conn.Close()
}
