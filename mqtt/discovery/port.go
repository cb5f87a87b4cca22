package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const mdnsPort = 5353

var (
	group4 = netip.MustParseAddr("224.0.0.251")
	group6 = netip.MustParseAddr("ff02::fb")
)

// packet is one that came in, and on which link.
type packet struct {
	data  []byte
	link  link
	from  netip.AddrPort
	group bool // it was sent to the group, so its sender is a neighbour
}

// port is UDP port 5353 in both families, one socket each for all interfaces, shared with whoever else answers on this
// machine. Sockets are told on which interface to send and learn on which one a packet came; the kernel's habit of giving
// every member of a group what any socket has joined is switched off (IP_MULTICAST_ALL), so an interface that is not joined is not heard.
type port struct {
	v4      *ipv4.PacketConn // nil: this machine has none
	v6      *ipv6.PacketConn
	packets chan packet
	readers sync.WaitGroup
	done    chan struct{}
	joined  map[link]string // owned by who calls join: the interface's name, for an index may be given to another one
}

// openPort opens what it can of the two.
func openPort(ctx context.Context) (*port, error) {
	lc := net.ListenConfig{Control: shared}
	p := &port{packets: make(chan packet, 64), done: make(chan struct{}), joined: map[link]string{}}
	c4, err4 := lc.ListenPacket(ctx, "udp4", fmt.Sprintf("0.0.0.0:%d", mdnsPort))
	if err4 == nil {
		p.v4 = ipv4.NewPacketConn(c4)
		err4 = errors.Join(p.v4.SetControlMessage(ipv4.FlagInterface|ipv4.FlagDst, true),
			p.v4.SetMulticastTTL(255), p.v4.SetTTL(255), p.v4.SetMulticastLoopback(true)) // RFC 6762 11
	}
	c6, err6 := lc.ListenPacket(ctx, "udp6", fmt.Sprintf("[::]:%d", mdnsPort))
	if err6 == nil {
		p.v6 = ipv6.NewPacketConn(c6)
		err6 = errors.Join(p.v6.SetControlMessage(ipv6.FlagInterface|ipv6.FlagDst, true),
			p.v6.SetMulticastHopLimit(255), p.v6.SetHopLimit(255), p.v6.SetMulticastLoopback(true))
	}
	if err4 != nil && err6 != nil {
		p.close()
		return nil, fmt.Errorf("discovery: open UDP port %d, which another program may hold for itself alone: %w", mdnsPort, errors.Join(err4, err6))
	}
	if p.v4 != nil {
		p.readers.Go(func() { p.read(p.read4) })
	}
	if p.v6 != nil {
		p.readers.Go(func() { p.read(p.read6) })
	}
	return p, nil
}

// close ends the readers and waits for them.
func (p *port) close() {
	close(p.done)
	if p.v4 != nil {
		_ = p.v4.Close()
	}
	if p.v6 != nil {
		_ = p.v6.Close()
	}
	p.readers.Wait()
}

// join listens on exactly these interfaces from now on.
func (p *port) join(ifs []iface) {
	now := map[link]string{}
	for _, i := range ifs {
		for _, l := range i.links() {
			now[l] = i.name
			if p.joined[l] != i.name {
				p.member(l, true)
			}
		}
	}
	for l, name := range p.joined {
		if now[l] != name {
			p.member(l, false)
		}
	}
	p.joined = now
}

// member joins or leaves. An error means that it is so already, or that the interface is gone; neither can be helped here.
func (p *port) member(l link, join bool) {
	i := &net.Interface{Index: l.index}
	switch {
	case !l.v6 && p.v4 != nil && join:
		_ = p.v4.JoinGroup(i, net.UDPAddrFromAddrPort(netip.AddrPortFrom(group4, 0)))
	case !l.v6 && p.v4 != nil:
		_ = p.v4.LeaveGroup(i, net.UDPAddrFromAddrPort(netip.AddrPortFrom(group4, 0)))
	case l.v6 && p.v6 != nil && join:
		_ = p.v6.JoinGroup(i, net.UDPAddrFromAddrPort(netip.AddrPortFrom(group6, 0)))
	case l.v6 && p.v6 != nil:
		_ = p.v6.LeaveGroup(i, net.UDPAddrFromAddrPort(netip.AddrPortFrom(group6, 0)))
	}
}

// everybody is the group of the link.
var everybody netip.AddrPort

// send sends on one link, to the group where to is not valid.
func (p *port) send(l link, to netip.AddrPort, data []byte) error {
	if !l.v6 {
		if p.v4 == nil {
			return net.ErrClosed
		}
		if !to.IsValid() {
			to = netip.AddrPortFrom(group4, mdnsPort)
		}
		_, err := p.v4.WriteTo(data, &ipv4.ControlMessage{IfIndex: l.index}, net.UDPAddrFromAddrPort(to))
		return err
	}
	if p.v6 == nil {
		return net.ErrClosed
	}
	if !to.IsValid() {
		to = netip.AddrPortFrom(group6, mdnsPort)
	}
	_, err := p.v6.WriteTo(data, &ipv6.ControlMessage{IfIndex: l.index}, net.UDPAddrFromAddrPort(to))
	return err
}

// perSecond is how many packets are looked at in a second and a family; a busy office has less than a tenth. Of a flood the
// rest is left to the kernel, which drops it.
const perSecond = 400

// read runs until the socket is closed.
func (p *port) read(next func([]byte) (packet, error)) {
	buf := make([]byte, maxMessage)
	var second time.Time
	count := 0
	for {
		pk, err := next(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if now := time.Now(); now.Sub(second) >= time.Second {
			second, count = now, 0
		}
		if count++; count > perSecond {
			select {
			case <-time.After(time.Second - time.Since(second)):
			case <-p.done:
				return
			}
		}
		if err != nil || len(pk.data) == 0 {
			continue
		}
		pk.data = append([]byte(nil), pk.data...)
		select {
		case p.packets <- pk:
		default: // whoever owns the port is behind: a question comes again
		}
	}
}

func (p *port) read4(buf []byte) (packet, error) {
	n, cm, src, err := p.v4.ReadFrom(buf)
	if err != nil || cm == nil {
		return packet{}, err
	}
	dst, _ := netip.AddrFromSlice(cm.Dst)
	return packet{data: buf[:n], link: link{cm.IfIndex, false}, from: addrPort(src), group: dst.Unmap() == group4}, nil
}

func (p *port) read6(buf []byte) (packet, error) {
	n, cm, src, err := p.v6.ReadFrom(buf)
	if err != nil || cm == nil {
		return packet{}, err
	}
	dst, _ := netip.AddrFromSlice(cm.Dst)
	return packet{data: buf[:n], link: link{cm.IfIndex, true}, from: addrPort(src), group: dst == group6}, nil
}

func addrPort(a net.Addr) netip.AddrPort {
	u, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := u.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
