package mqtt

import (
	"io"
	"net"
	"syscall"
	"testing"
)

// Whoever answers what it reads is soon taken for a talker by the kernel, which then waits with acknowledgements for the next
// answer. A connection of ours is not.
func TestReadIsAcknowledgedAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	prompt := func(wrap func(net.Conn) net.Conn) bool {
		near, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = near.Close() }()
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = far.Close() }()
		ours := wrap(near)
		one := make([]byte, 1)
		for range 20 {
			for _, way := range [][2]net.Conn{{far, ours}, {ours, far}, {far, ours}} {
				if _, err := way[0].Write(one); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(way[1], one); err != nil {
					t.Fatal(err)
				}
			}
		}
		raw, err := near.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var on int
		if err := raw.Control(func(fd uintptr) { on, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK) }); err != nil {
			t.Fatal(err)
		}
		return on == 1
	}
	if !prompt(quicken) {
		t.Error("the kernel waits with acknowledgements")
	}
	if prompt(func(c net.Conn) net.Conn { return c }) {
		t.Log("this kernel acknowledges a talker at once by itself: the test shows nothing here")
	}
}
