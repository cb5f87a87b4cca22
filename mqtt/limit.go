package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// maxPacket is the largest MQTT packet that is read: a history and its topic. The library would take 256 MB, and any member
// of a foreign broker could send that to a device with half a gigabyte.
const maxPacket = maxHistory + 1024

var errFraming = errors.New("mqtt: the broker sent a packet whose length cannot be read")

// limited reads packets from a broker and empties the too large ones: such a message arrives without its payload, so that it is
// acknowledged and counted but never in memory.
type limited struct {
	net.Conn
	r    *bufio.Reader
	most int

	ready []byte // bytes to hand on before anything else is read
	pass  int    // bytes of the present packet that go through
	skip  int    // bytes of the present packet that go nowhere
}

func newLimited(conn net.Conn, most int) *limited {
	return &limited{Conn: conn, r: bufio.NewReaderSize(conn, 4096), most: most}
}

func (l *limited) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for l.skip > 0 {
		n, err := l.r.Discard(min(l.skip, 4096))
		l.skip -= n
		if err != nil {
			return 0, err
		}
	}
	if len(l.ready) == 0 && l.pass == 0 {
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
	first, err := l.r.ReadByte()
	if err != nil {
		return err
	}
	length, digits := 0, []byte{first}
	for shift := 0; ; shift += 7 {
		if shift > 21 {
			return errFraming
		}
		d, err := l.r.ReadByte()
		if err != nil {
			return noEOF(err)
		}
		digits = append(digits, d)
		length |= int(d&0x7f) << shift
		if d&0x80 == 0 {
			break
		}
	}
	if length <= l.most {
		l.ready, l.pass = digits, length
		return nil
	}
	if first>>4 != 3 { // only a PUBLISH (3.3) can be that long
		return errFraming
	}
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
