package intercom

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"conch/audio/call"
)

// How a call ends, but for a mistake of ours.
var (
	errHungUp  = errors.New("hung up")              // there
	errLost    = errors.New("the call was lost")    // the other end does not answer any more
	errBusy    = errors.New("busy")                 // there
	errRefused = errors.New("refused")              // there
	errNoReply = errors.New("nobody answered")      // there
	errAway    = errors.New("it cannot be reached") // it did not come
	errNowhere = errors.New("this device has no address at which another could reach it (is it in a network?)")
)

// Bounds of a call. Our choices.
const (
	aliveEvery = time.Second
	lostAfter  = 4 * time.Second        // without a line: the cable is out, or the other end is frozen
	writeLimit = 2 * time.Second        // of a line
	mutedAfter = 200 * time.Millisecond // without a frame of the microphone
	stillEvery = 100 * time.Millisecond // then a datagram without sound, so that the way stays open
	exporter   = "EXPORTER-conch-call"
)

// talk is a call that two devices have agreed on, or are about to.
type talk struct {
	conn   *tls.Conn
	read   *bufio.Reader
	udp    *net.UDPConn
	to     *net.UDPAddr // nil: from where the first authentic datagram comes
	seal   *seal
	open   *open
	said   chan message  // what the other end says that is not about being alive
	over   chan struct{} // closed when it says no more, and why
	why    error
	write  sync.Mutex // of conn
	begun  time.Time
	counts call.Jitter // as they were at the end
}

// newTalk takes a connection on which both have shown who they are.
func newTalk(conn *tls.Conn, udp *net.UDPConn, caller bool) (*talk, error) {
	state := conn.ConnectionState()
	const each = keyLength + saltLength
	keys, err := state.ExportKeyingMaterial(exporter, nil, 2*each)
	if err != nil {
		return nil, err
	}
	t := &talk{
		conn: conn, read: bufio.NewReaderSize(conn, maxLine), udp: udp,
		said: make(chan message, 16), over: make(chan struct{}), begun: time.Now(),
	}
	ours, theirs := keys[:each], keys[each:]
	mine, its := uint32(1), uint32(2)
	if !caller {
		ours, theirs, mine, its = theirs, ours, its, mine
	}
	if t.seal, err = newSeal(ours, mine); err != nil {
		return nil, err
	}
	if t.open, err = newOpen(theirs, its); err != nil {
		return nil, err
	}
	return t, nil
}

// say sends a line; that it cannot is noticed by whoever reads.
func (t *talk) say(m message) {
	t.write.Lock()
	defer t.write.Unlock()
	_ = t.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	_, _ = t.conn.Write(m.line())
}

// listen reads lines until there are no more, and says that this end is alive.
func (t *talk) listen(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.say(message{Is: isAlive})
			case <-ctx.Done():
				return
			}
		}
	}()
	t.why = errLost
	defer close(t.over)
	for {
		_ = t.conn.SetReadDeadline(time.Now().Add(lostAfter))
		m, err := lines(t.read)
		if err != nil {
			return
		}
		switch m.Is {
		case "", isAlive:
			continue
		case isBye:
			t.why = errHungUp
			return
		case isBusy:
			t.why = errBusy
			return
		}
		select {
		case t.said <- m:
		default: // it floods
			return
		}
	}
}

// close ends it; polite: the other end is told.
func (t *talk) close(polite bool) {
	if polite {
		t.say(message{Is: isBye})
	}
	_ = t.conn.Close()
	_ = t.udp.Close()
}

// ear is what the loudspeaker is to play, put together by whoever receives and taken by whoever plays.
type ear struct {
	mu     sync.Mutex
	jitter *call.Jitter
	gate   call.Switch
}

// converse carries sound both ways until somebody ends it: why.
func (t *talk) converse(ctx context.Context, mic <-chan []int16, write func([]int16) error, muted func(context.Context, bool) []int16) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &ear{jitter: call.NewJitter()}
	spoken := make(chan []int16, 2) // words of this device about the call
	var parts sync.WaitGroup
	failed := make(chan error, 2)
	parts.Go(func() { t.receive(e) })
	parts.Go(func() { t.send(ctx, e, mic) })
	parts.Go(func() { failed <- t.play(ctx, e, write, spoken) })
	end := func(err error) error {
		cancel()
		_ = t.udp.Close()
		parts.Wait()
		t.counts = *e.jitter
		return err
	}
	for {
		select {
		case m := <-t.said:
			if m.Is == isMuted {
				parts.Go(func() { // it takes a while
					select {
					case spoken <- muted(ctx, m.On):
					default:
					}
				})
			}
		case <-t.over:
			return end(t.why)
		case err := <-failed:
			return end(err)
		case <-ctx.Done():
			return end(ctx.Err())
		}
	}
}

// send carries what the microphone hears to the other end.
func (t *talk) send(ctx context.Context, e *ear, mic <-chan []int16) {
	muted, still := false, time.NewTimer(mutedAfter)
	defer still.Stop()
	out := func(pcm []int16) {
		b, err := t.seal.packet(pcm)
		e.mu.Lock()
		to := t.to
		e.mu.Unlock()
		if err == nil && to != nil {
			_, _ = t.udp.WriteToUDP(b, to) // what is lost is concealed
		}
	}
	out(nil) // the way is open from now on
	for len(mic) > 0 {
		<-mic // of before anybody answered: the other end would hear all of it later
	}
	for {
		select {
		case pcm := <-mic:
			if muted {
				muted = false
				t.say(message{Is: isMuted})
			}
			still.Reset(mutedAfter)
			e.mu.Lock()
			e.gate.Near(pcm)
			e.mu.Unlock()
			out(pcm)
		case <-still.C:
			if !muted {
				muted = true
				t.say(message{Is: isMuted, On: true})
			}
			out(nil)
			still.Reset(stillEvery)
		case <-ctx.Done():
			return
		}
	}
}

// receive takes datagrams until the socket is closed.
func (t *talk) receive(e *ear) {
	buf, pcm := make([]byte, 2048), make([]int16, 0, 1024)
	for {
		n, from, err := t.udp.ReadFromUDP(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // ICMP: the other end is not there yet
		}
		number, samples, err := t.open.packet(buf[:n], pcm[:0])
		if err != nil {
			continue // anybody can send us something
		}
		e.mu.Lock()
		t.to = from
		if len(samples) == call.Frame {
			e.jitter.Put(number, samples)
		}
		e.mu.Unlock()
	}
}

// play keeps the loudspeaker fed, at its own pace.
func (t *talk) play(ctx context.Context, e *ear, write func([]int16) error, spoken <-chan []int16) error {
	var words []int16
	for ctx.Err() == nil {
		var frame [call.Frame]int16
		e.mu.Lock()
		e.jitter.Pull(&frame)
		e.gate.Far(frame[:])
		e.mu.Unlock()
		if len(words) == 0 {
			select {
			case words = <-spoken:
			default:
			}
		}
		if len(words) > 0 {
			words = words[copy(frame[:], words):]
		}
		if err := write(frame[:]); err != nil {
			return err
		}
	}
	return ctx.Err()
}
