package pairing

import (
	"context"
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"io"
	"sync"

	"conch/companions/round"
)

// mqttChannel is a Channel over a meeting.
type mqttChannel struct {
	m        *meeting
	to       round.DeviceID
	joiner   bool
	run      []byte        // drawn by the joiner
	answer   []byte        // drawn by the window: what was recorded earlier does not have it
	answered chan struct{} // closed when answer is known
	peerKey  ed25519.PublicKey
	frames   chan []byte
	over     chan struct{}
	end      func() // closes over, once

	in  uint64 // number of the last frame, under the meeting's lock
	out uint64 // likewise; Send's alone
}

func (m *meeting) newChannel(to round.DeviceID, joiner bool) *mqttChannel {
	c := &mqttChannel{
		m: m, to: to, joiner: joiner, run: make([]byte, runSize), answer: make([]byte, runSize), answered: make(chan struct{}),
		frames: make(chan []byte, maxWaiting), over: make(chan struct{}),
	}
	c.end = sync.OnceFunc(func() { close(c.over) })
	return c
}

func (c *mqttChannel) key() runKey { return runKey{c.to, string(c.run)} }

func (c *mqttChannel) forget() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	delete(c.m.channels, c.key())
	c.end()
}

// arrived is called under the meeting's lock.
func (c *mqttChannel) arrived(n *note) {
	select {
	case <-c.answered:
	default:
		if c.joiner && n.Type == noteAnswer {
			c.answer, c.peerKey = n.Answer, n.Key
			close(c.answered)
			return
		}
		if c.joiner {
			return
		}
	}
	if string(n.Answer) != string(c.answer) || n.Type != noteFrame && n.Type != noteBye || n.Seq <= c.in {
		return // a recording, or the broker's repetition (QoS 1)
	}
	if n.Seq != c.in+1 {
		c.end() // one was lost: a run is never continued with a gap
		return
	}
	c.in = n.Seq
	if n.Type == noteBye {
		c.end()
		return
	}
	select {
	case c.frames <- n.Frame:
	default:
		c.end()
	}
}

func (c *mqttChannel) Peer() ed25519.PublicKey { return c.peerKey }

// Binding is both keys with what both have drawn: no other channel has these.
func (c *mqttChannel) Binding() []byte {
	joiner, window := c.m.self.PublicKey(), c.peerKey
	if !c.joiner {
		joiner, window = window, joiner
	}
	sum := sha512.Sum512(join([]byte("conch/v1 pairing over a broker"), []byte(c.m.room), joiner, window, c.run, c.answer))
	return sum[:]
}

func (c *mqttChannel) Send(frame []byte) error {
	select {
	case <-c.over:
		return io.ErrClosedPipe
	default:
	}
	if len(frame) > maxSealed {
		return fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrProtocol, len(frame), maxSealed)
	}
	return c.send(note{Type: noteFrame, Frame: frame})
}

func (c *mqttChannel) send(n note) error {
	c.m.mu.Lock()
	c.out++
	n.Seq = c.out
	c.m.mu.Unlock()
	n.To, n.Run, n.Answer = c.to, c.run, c.answer
	return c.m.send(n)
}

func (c *mqttChannel) Receive(ctx context.Context) ([]byte, error) {
	select {
	case f := <-c.frames: // what came before the end
		return f, nil
	default:
	}
	select {
	case f := <-c.frames:
		return f, nil
	case <-c.over:
		select {
		case f := <-c.frames:
			return f, nil
		default:
			return nil, io.EOF
		}
	case <-c.m.raw.Lost():
		return nil, fmt.Errorf("%w: the session at the broker", ErrLost)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *mqttChannel) Close() error {
	select {
	case <-c.over:
		c.forget()
		return nil
	default:
	}
	c.forget()
	return c.send(note{Type: noteBye})
}
