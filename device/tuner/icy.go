package tuner

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
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

const sniffed = 512 // bytes by which a list is known

// isList says whether something is a list of streams, and no stream.
func isList(head []byte) bool {
	text := strings.ToLower(string(bytes.TrimPrefix(bytes.TrimSpace(head), []byte("\ufeff"))))
	for _, begins := range []string{"#extm3u", "[playlist]", "http://", "https://"} {
		if strings.HasPrefix(text, begins) {
			return true
		}
	}
	return false
}

// entries are the addresses that a list names.
func entries(list string) (all []string, err error) {
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		name, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#EXT-X-"):
			return nil, ownError("it sends HLS, which conch does not play; its MP3 or Ogg stream would be")
		case strings.HasPrefix(strings.ToLower(name), "file") && strings.Contains(value, "://"):
			all = append(all, strings.TrimSpace(value))
		case line != "" && !strings.ContainsAny(line[:1], "#[") && !strings.Contains(strings.SplitN(line, "/", 2)[0], "="):
			all = append(all, line)
		}
	}
	return all, nil
}
