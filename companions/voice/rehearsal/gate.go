package rehearsal

import (
	"context"
	"net"
	"sync"
)

// gate is a connection that can become a black hole: nothing goes in or out any more, and nothing is closed. This is
// what a pulled cable or a sleeping router looks like from the other end.
type gate struct {
	net.Conn
	hole   chan struct{}
	closed chan struct{}
	once   [2]sync.Once
}

func (g *gate) shut() { g.once[0].Do(func() { close(g.hole) }) }

func (g *gate) Close() error {
	g.once[1].Do(func() { close(g.closed) })
	return g.Conn.Close()
}

func (g *gate) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	select {
	case <-g.hole:
		<-g.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (g *gate) Write(b []byte) (int, error) {
	select {
	case <-g.hole:
		<-g.closed
		return 0, net.ErrClosed
	default:
		return g.Conn.Write(b)
	}
}

// gates makes gates of what a listener accepts.
type gates struct{ net.Listener }

func (l gates) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gate{Conn: c, hole: make(chan struct{}), closed: make(chan struct{})}, nil
}

type gateKey struct{}

// withGate lets ServeHTTP find the gate under a request.
func withGate(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, gateKey{}, c)
}
