package tuner

import (
	"bufio"
	"io"
	"net"
)

// icyConn has a server that answers "ICY 200 OK", as SHOUTcast does, answer as HTTP has it.
type icyConn struct {
	net.Conn

	rest []byte // read and not given yet
	read bool
}

func (c *icyConn) Read(p []byte) (int, error) {
	if !c.read {
		c.read = true
		head := make([]byte, 4)
		n, err := io.ReadFull(c.Conn, head)
		if c.rest = head[:n]; string(c.rest) == "ICY " {
			c.rest = []byte("HTTP/1.0 ")
		}
		if n == 0 {
			return 0, err
		}
	}
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// icyReader takes out what a server says between the pieces of its sound: a length in sixteenths, and so many bytes, each so often.
type icyReader struct {
	r     *bufio.Reader
	every int
	left  int // bytes of sound until the next words
}

func (i *icyReader) Read(p []byte) (int, error) {
	if i.left == 0 {
		n, err := i.r.ReadByte()
		if err != nil {
			return 0, err
		}
		if _, err := i.r.Discard(16 * int(n)); err != nil {
			return 0, err
		}
		i.left = i.every
	}
	n, err := i.r.Read(p[:min(len(p), i.left)])
	i.left -= n
	return n, err
}
