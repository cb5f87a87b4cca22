package mqtt

import (
	"net"
	"syscall"
)

// quick acknowledges what it has read at once. A broker that leaves Nagle's algorithm on, as Mosquitto does by default, holds
// a small packet back until the one before it is acknowledged; a receiver that has nothing to say waits up to 40 ms with
// that, and both wait together. The kernel leaves this mode by itself (tcp(7), TCP_QUICKACK), so it is asked for after each read.
type quick struct {
	*net.TCPConn
	raw syscall.RawConn
	ask func(fd uintptr)
}

func quicken(conn net.Conn) net.Conn {
	t, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return conn
	}
	return &quick{t, raw, func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) // without it, it is only slower
	}}
}

func (q *quick) Read(b []byte) (int, error) {
	n, err := q.TCPConn.Read(b)
	if n > 0 {
		_ = q.raw.Control(q.ask)
	}
	return n, err
}
