package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// MaxPacket is the largest MQTT packet that is read: a history and its topic. The library would take 256 MB, and any member
// of a foreign broker could send that to a device with half a gigabyte.
const MaxPacket = maxHistory + 1024

var errFraming = errors.New("mqtt: the broker sent a packet whose length cannot be read")

// door says whether a message is wanted, before it is read: under which topic it came, whether it seems to be a press, and its bytes.
type door func(topic string, press bool, size int) bool

// limited reads packets from a broker and empties the too large ones: such a message arrives without its payload, so that it is
// acknowledged and counted but never in memory. What the door does not want goes nowhere: it is acknowledged here, where QoS 1 asks
// for that, and the library, which would take a hundred times as long, never sees it.
type limited struct {
	net.Conn
	r           *bufio.Reader
	most        int
	door        door // nil: all
	acknowledge func([]byte) error

	digits [5]byte // of the present packet's fixed header

	ready []byte // bytes to hand on before anything else is read
	pass  int    // bytes of the present packet that go through
	skip  int    // bytes of the present packet that go nowhere
	acks  []byte // PUBACKs (3.4) that wait until nothing is left to read at once
}

const (
	limitedBuffer = 16 << 10
	maxTopic      = 256 // bytes; no topic of a room is longer
	maxAcks       = 1 << 10
)

func newLimited(conn net.Conn, most int) *limited {
	return &limited{Conn: conn, r: bufio.NewReaderSize(conn, limitedBuffer), most: most}
}

func (l *limited) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for len(l.ready) == 0 && l.pass == 0 {
		if err := l.header(); err != nil {
			return 0, err
		}
	}
	if len(l.ready) > 0 {
		n := copy(b, l.ready)
		l.ready = l.ready[n:]
		return n, nil
	}
	n, err := l.r.Read(b[:min(len(b), l.pass)])
	l.pass -= n
	return n, err
}

// header reads the next packet's fixed header (MQTT 3.1.1, 2.2) and decides what becomes of the rest.
func (l *limited) header() error {
	for l.skip > 0 {
		n, err := l.r.Discard(min(l.skip, limitedBuffer))
		l.skip -= n
		if err != nil {
			return err
		}
	}
	if len(l.acks) >= maxAcks || len(l.acks) > 0 && l.r.Buffered() == 0 {
		if err := l.acknowledge(l.acks); err != nil {
			return err
		}
		l.acks = l.acks[:0]
	}
	first, err := l.r.ReadByte()
	if err != nil {
		return err
	}
	l.digits[0] = first
	length, n := 0, 1
	for shift := 0; ; shift += 7 {
		if shift > 21 {
			return errFraming
		}
		d, err := l.r.ReadByte()
		if err != nil {
			return noEOF(err)
		}
		l.digits[n] = d
		n++
		length |= int(d&0x7f) << shift
		if d&0x80 == 0 {
			break
		}
	}
	publish := first>>4 == packets.Publish
	if publish && l.door != nil {
		wanted, err := l.wanted(first, length)
		if err != nil || !wanted {
			return err
		}
	}
	if length <= l.most {
		l.ready, l.pass = l.digits[:n:n], length
		return nil
	}
	if !publish { // nothing else can be that long
		return errFraming
	}
	return l.empty(first, length)
}

// wanted asks the door. What is not wanted is to be skipped.
func (l *limited) wanted(first byte, length int) (bool, error) {
	start, err := l.r.Peek(2)
	if err != nil {
		return false, noEOF(err)
	}
	n, qos := int(binary.BigEndian.Uint16(start)), int(first>>1&3)
	head := 2 + n + 2*min(qos, 1)
	if head > length || qos > 1 {
		return false, errFraming
	}
	if n > maxTopic {
		return true, nil // it is nobody's, and will be refused
	}
	if start, err = l.r.Peek(min(length, head+len(pressPrefix))); err != nil {
		return false, noEOF(err)
	}
	if l.door(string(start[2:2+n]), isPress(start[head:]), min(length, l.most)) {
		return true, nil
	}
	if qos == 1 {
		l.acks = append(l.acks, packets.Puback<<4, 2, start[2+n], start[3+n])
	}
	l.skip = length
	return false, nil
}

// empty hands on a PUBLISH (3.3) without its payload.
func (l *limited) empty(first byte, length int) error {
	var size [2]byte
	if _, err := io.ReadFull(l.r, size[:]); err != nil {
		return noEOF(err)
	}
	n := int(binary.BigEndian.Uint16(size[:]))
	if first&0x06 != 0 {
		n += 2 // the packet's number, needed for its acknowledgement
	}
	if n > l.most-2 || n+2 > length {
		return errFraming
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(l.r, rest); err != nil {
		return noEOF(err)
	}
	l.ready = binary.AppendUvarint([]byte{first}, uint64(n+2)) // the same encoding as 2.2.3's
	l.ready = append(append(l.ready, size[:]...), rest...)
	l.skip = length - n - 2
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
