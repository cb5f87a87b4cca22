package web

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"time"
)

// metered is an answer whose socket counts frames as they arrive, whatever they carry: pings, pongs, empty ones and pieces of a message too.
type metered struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (m metered) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(m.ResponseWriter).Hijack()
	if err != nil {
		return c, rw, err
	}
	f := &framed{Conn: c, bytes: talkBurst, frames: talkMessages, at: time.Now()}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	f.frames -= float64(f.split.feed(early))
	return f, rw, nil
}

// framed is a connection that ends when more comes than a microphone and a finger send.
type framed struct {
	net.Conn

	// by the goroutine that reads
	split         frames
	bytes, frames float64 // that may still come
	at            time.Time
}

func (f *framed) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	now := time.Now()
	passed := now.Sub(f.at).Seconds()
	f.at = now
	f.bytes = min(talkBurst, f.bytes+passed*talkBytes) - float64(n)
	f.frames = min(talkMessages, f.frames+passed*talkMessages) - float64(f.split.feed(p[:n]))
	if f.bytes < 0 || f.frames < 0 {
		_ = f.Conn.SetWriteDeadline(now.Add(talkWrite))
		_, _ = f.Conn.Write(floodClose) // it has gone: its loss
		_ = f.Conn.Close()
		return 0, errFlood
	}
	return n, err
}

// floodClose is a frame that closes (RFC 6455, 5.5.1): status 1008, and why.
var floodClose = append(binary.BigEndian.AppendUint16([]byte{0x88, byte(2 + len(errFlood.Error()))}, 1008), errFlood.Error()...)

// frames finds where the frames of a stream begin (RFC 6455, 5.2). It only computes.
type frames struct {
	head [14]byte
	have int
	skip uint64 // bytes of the present frame that are to come
}

// feed says how many heads are whole now that were not before.
func (f *frames) feed(p []byte) (n int) {
	for len(p) > 0 {
		if f.skip > 0 {
			k := min(f.skip, uint64(len(p)))
			f.skip -= k
			p = p[k:]
			continue
		}
		f.head[f.have] = p[0]
		f.have++
		p = p[1:]
		if f.have >= 2 && f.have == f.length() {
			n++
			f.skip, f.have = f.payload(), 0
		}
	}
	return n
}

// length is that of the head, of which two bytes are there.
func (f *frames) length() int {
	n := 2
	switch f.head[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if f.head[1]&0x80 != 0 {
		n += 4
	}
	return n
}

func (f *frames) payload() uint64 {
	switch short := f.head[1] & 0x7f; short {
	case 126:
		return uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		return binary.BigEndian.Uint64(f.head[2:])
	default:
		return uint64(short)
	}
}
