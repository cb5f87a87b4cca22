package tuner

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"conch/device/pattern"
)

const errHead = ownError("its server does not speak HTTP as others do")

// odd is a status line as SHOUTcast and others have it: "ICY 200 OK".
var odd = pattern.New(`(?i)^(icy|http)\S*[ \t]+`)

// looseConn has a server that answers about as HTTP has it answer so that net/http reads it: a head passes line by line.
type looseConn struct {
	net.Conn

	head  *bufio.Reader // nil: it has ended
	size  int           // of the head, so far
	seen  map[string]bool
	ready []byte // read and not given yet
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func loose(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &looseConn{Conn: c, head: bufio.NewReaderSize(c, maxHead), seen: map[string]bool{}}, nil
	}
}

func (c *looseConn) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		if c.head == nil {
			return c.Conn.Read(p)
		}
		if err := c.line(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// line reads a line of the head.
func (c *looseConn) line() error {
	b, err := c.head.ReadSlice('\n')
	if c.size += len(b); c.size > maxHead || errors.Is(err, bufio.ErrBufferFull) {
		return errHead
	}
	if len(b) == 0 {
		return err
	}
	line := strings.TrimRight(string(b), "\r\n")
	switch first := len(c.seen) == 0; {
	case first && line == "":
		return nil
	case first && !strings.HasPrefix(line, "HTTP/1.0 ") && !strings.HasPrefix(line, "HTTP/1.1 "):
		line = odd().ReplaceAllString(line, "HTTP/1.0 ")
	case !first && line == "":
		rest, _ := c.head.Peek(c.head.Buffered())
		c.ready, c.head = append([]byte("\r\n"), rest...), nil
		return nil
	case !first:
		c.ready = c.header(line)
		return nil
	}
	c.seen[""] = true
	c.ready = []byte(line + "\r\n")
	return nil
}

// header is a line as net/http takes it; nil: it would refuse the whole answer for such a length, coding or name.
func (c *looseConn) header(line string) []byte {
	name, value, ok := strings.Cut(line, ":")
	name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimRight(name, " \t")), strings.TrimSpace(value)
	switch name {
	case "Content-Length":
		_, err := strconv.ParseUint(value, 10, 63)
		ok = err == nil && !c.seen[name]
	case "Transfer-Encoding":
		ok = strings.EqualFold(value, "chunked") && !c.seen[name]
	}
	if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return nil
	}
	c.seen[name] = true
	return []byte(name + ": " + value + "\r\n")
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
