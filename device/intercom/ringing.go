package intercom

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/pairing"
)

// Note takes what a member says to the room. It never waits.
func (x *Exchange) Note(from round.DeviceID, n mqtt.Note) {
	if n.Method != Method || from == x.o.Identity.ID() {
		return
	}
	o, err := readOffer(n.Body)
	if err != nil {
		x.o.Log.Warn(logRefused, "peer", from, "err", err)
		return
	}
	if o.To != x.o.Identity.ID() || !x.fresh(from, o.Call) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.root.Err() == nil {
		x.calls.Go(func() { x.called(from, o) })
	}
}

// fresh says whether an offer is a new one, and not one too many.
func (x *Exchange) fresh(from round.DeviceID, name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.latest[from] == name {
		return false
	}
	x.latest[from] = name
	now, kept := time.Now(), x.rings[from][:0]
	for _, at := range x.rings[from] {
		if now.Sub(at) < callsIn {
			kept = append(kept, at)
		}
	}
	if len(kept) >= callsOfOne {
		x.rings[from] = kept
		x.o.Log.Warn(logRefused, "peer", from, "err", "it calls too often")
		return false
	}
	x.rings[from] = append(kept, now)
	return true
}

// called is the life of a call that was made elsewhere.
func (x *Exchange) called(from round.DeviceID, o offer) {
	t, err := x.come(from, o)
	if err != nil {
		x.o.Log.Warn(logRefused, "peer", from, "err", err)
		return
	}
	peer := Device{from, string(from)}
	for _, d := range x.o.Present() {
		if d.ID == from {
			peer = d
		}
	}
	ctx, hangUp := context.WithCancel(x.root)
	defer hangUp()
	l := &line{peer: peer, hangUp: hangUp}
	if !x.take(l) {
		t.say(message{Is: isBusy})
		t.close(false)
		return
	}
	defer x.leave(l)
	go t.listen(ctx)
	answered, done := make(chan struct{}), make(chan struct{})
	ended := sync.OnceFunc(func() { close(done) })
	l.claim = &Claim{
		Run: func(run context.Context, mic <-chan []int16, write func([]int16) error) error {
			if ctx.Err() != nil {
				return nil // it was over just then
			}
			close(answered)
			stop := context.AfterFunc(run, hangUp)
			defer stop()
			write = hungUpBy(write, hangUp)
			began := time.Now()
			x.o.Log.Info(logBegin, "peer", peer.ID, "from", "there")
			t.say(message{Is: isAccept})
			err := t.converse(ctx, mic, write, x.muted(peer))
			t.close(ctx.Err() != nil)
			x.ended(ctx, peer, t, began, err, write)
			return nil
		},
		Ended: ended,
	}
	withdraw, err := x.o.Offer(ctx, Claim{Run: l.claim.Run, Ended: func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !l.claimed {
			ended()
		}
	}})
	if err != nil {
		t.say(message{Is: isBusy})
		t.close(false)
		return
	}
	x.mu.Lock()
	l.withdraw = withdraw
	x.mu.Unlock()
	t.say(message{Is: isRinging})
	why := t.rings(ctx, answered, done)
	if why == "" {
		<-done
		return
	}
	withdraw()
	hangUp()
	select { // it may have been answered just now
	case <-answered:
		<-done
		return
	default:
	}
	t.close(true)
	x.o.Log.Info(logEnd, "peer", peer.ID, "why", why, "ms", time.Since(t.begun).Milliseconds())
	if why == missed {
		x.o.Say(x.o.Language.Phrase("say.call_missed", "peer", peer.Name))
	}
}

const missed = "missed"

// rings waits for what becomes of a call that rings here; empty: it was answered.
func (t *talk) rings(ctx context.Context, answered, done <-chan struct{}) (why string) {
	long := time.NewTimer(ringFor)
	defer long.Stop()
	select {
	case <-answered:
		return ""
	case <-done:
		return "refused"
	case <-ctx.Done():
		return "refused"
	case <-t.over: // given up there
	case <-long.C:
	}
	return missed
}

// come goes to where a device waits for the one that it calls.
func (x *Exchange) come(from round.DeviceID, o offer) (t *talk, err error) {
	conf := pairing.CallTLS(x.o.Identity, x.only(from))
	conf.ServerName = "call" // a name is asked for; the key is what counts
	for _, at := range o.At {
		ctx, cancel := context.WithTimeout(x.root, handshake)
		var c net.Conn
		c, err = (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", at)
		cancel()
		if err != nil {
			continue
		}
		conn := c.(*tls.Conn)
		var udp *net.UDPConn
		if udp, err = net.ListenUDP("udp", nil); err == nil {
			if t, err = newTalk(conn, udp, false); err == nil {
				there := conn.RemoteAddr().(*net.TCPAddr)
				t.to = &net.UDPAddr{IP: there.IP, Port: there.Port, Zone: there.Zone}
				if err = t.hello(o.Call); err == nil {
					return t, nil
				}
			}
			_ = udp.Close()
		}
		_ = conn.Close()
	}
	return nil, err
}

// hello says for which call this end has come, and waits until the other one lets it in: under TLS 1.3 whoever comes learns of a refusal only
// by what follows.
func (t *talk) hello(name string) error {
	t.say(message{Is: isHello, Call: name})
	_ = t.conn.SetReadDeadline(time.Now().Add(handshake))
	m, err := lines(t.read)
	if err == nil && m.Is != isHello {
		err = errAway
	}
	return err
}

// Answer gives the call that rings here to whoever asks, as a press would.
func (x *Exchange) Answer() (Claim, error) {
	x.mu.Lock()
	l := x.on
	if l == nil || l.withdraw == nil || l.claimed {
		x.mu.Unlock()
		return Claim{}, errors.New("nobody is calling")
	}
	l.claimed = true
	x.mu.Unlock()
	l.withdraw()
	return *l.claim, nil
}

// HangUp ends or refuses the call; false: there is none.
func (x *Exchange) HangUp() bool {
	x.mu.Lock()
	l := x.on
	x.mu.Unlock()
	if l == nil {
		return false
	}
	l.hangUp()
	return true
}
