package intercom

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
	"conch/device/language"
	"conch/mqtt"
	"conch/mqtt/pairing"
)

// Bounds of calling. Our choices.
const (
	ringFor       = 30 * time.Second // then it was missed
	comeFor       = 6 * time.Second  // the one that is called is there by then, or away
	offerEvery    = time.Second      // a note may get lost
	handshake     = 3 * time.Second
	maxHandshakes = 8               // of strangers at a caller's port
	callsOfOne    = 6               // that ring here, of one device, …
	callsIn       = 5 * time.Minute // … in this time; more are not heard
)

// Log events.
const (
	logBegin   = "call.begin"   // peer, from
	logEnd     = "call.end"     // peer, why, ms, and how the sound came
	logRefused = "call.refused" // peer, err: it did not come to ring here
)

// A Device is somebody who can be called.
type Device struct {
	ID   round.DeviceID
	Name string
}

// Claim is a call as the coordinator runs it: microphone and loudspeaker are its own.
type Claim struct {
	Run   func(ctx context.Context, mic <-chan []int16, write func([]int16) error) error
	Ended func() // once, also where it never began
}

// Options are what an Exchange needs of its device.
type Options struct {
	Identity  mqtt.Identity
	Member    func(round.DeviceID) bool // who belongs to the room just now
	Present   func() []Device           // who can be called, without this device
	Send      func(mqtt.Note)
	Listen    string                                                    // host that a caller's port is opened on; empty: all of this machine's
	Port      int                                                       // of a caller; one that is taken: any
	Reachable func(port int) []string                                   // host:port at which others reach it
	Offer     func(context.Context, Claim) (withdraw func(), err error) // it rings here; a press begins the claim. An error: busy
	Say       func(text string)                                         // aloud, when the device is free
	Speak     func(ctx context.Context, text string) ([]int16, error)
	Language  language.Language
	Log       *slog.Logger
}

// Exchange is the telephone of a device: one call at a time.
type Exchange struct {
	o     Options
	root  context.Context // of all calls
	end   context.CancelFunc
	calls sync.WaitGroup // that came in

	mu     sync.Mutex
	on     *line                     // nil: none
	latest map[round.DeviceID]string // the call that it offered last
	rings  map[round.DeviceID][]time.Time
}

// line is the one call: it rings, is rung for, or is on.
type line struct {
	peer     Device
	hangUp   context.CancelFunc
	claim    *Claim // of one that rings here
	withdraw func() // likewise
	claimed  bool   // by whoever asked for it, in place of a press
}

// New is an exchange without a call.
func New(o Options) *Exchange {
	x := &Exchange{o: o, latest: map[round.DeviceID]string{}, rings: map[round.DeviceID][]time.Time{}}
	x.root, x.end = context.WithCancel(context.Background())
	return x
}

// Run ends every call with ctx.
func (x *Exchange) Run(ctx context.Context) error {
	<-ctx.Done()
	x.mu.Lock()
	x.end() // under the lock: no other call comes in after it
	x.mu.Unlock()
	x.calls.Wait()
	return nil
}

// Names are those who can be called.
func (x *Exchange) Names() (names []string) {
	for _, d := range x.o.Present() {
		names = append(names, d.Name)
	}
	return names
}

// find is the device of a name, as people say it: "the kitchen".
func (x *Exchange) find(name string) (Device, error) {
	plain := func(s string) string { return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "the ") }
	for _, d := range x.o.Present() {
		if plain(d.Name) == plain(name) {
			return d, nil
		}
	}
	if names := x.Names(); len(names) > 0 {
		return Device{}, fmt.Errorf("there is no %s to call; there are %s", name, strings.Join(names, ", "))
	}
	return Device{}, errors.New("no other device of the room is there to be called")
}

// take makes a line the one call, unless there is one.
func (x *Exchange) take(l *line) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.on != nil {
		return false
	}
	x.on = l
	return true
}

func (x *Exchange) leave(l *line) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.on == l {
		x.on = nil
	}
}

// Call calls a device by its name. What it returns is the call, whether the other end answers or not.
func (x *Exchange) Call(name string) (Claim, error) {
	peer, err := x.find(name)
	if err != nil {
		return Claim{}, err
	}
	ctx, hangUp := context.WithCancel(x.root)
	l := &line{peer: peer, hangUp: hangUp}
	if !x.take(l) {
		hangUp()
		return Claim{}, errors.New("a call is on already")
	}
	return Claim{
		Run: func(run context.Context, mic <-chan []int16, write func([]int16) error) error {
			stop := context.AfterFunc(run, hangUp)
			defer stop()
			return x.caller(ctx, peer, mic, hungUpBy(write, hangUp))
		},
		Ended: func() { hangUp(); x.leave(l) },
	}, nil
}

// hungUpBy has who cannot be heard here any more have hung up here: write may know of it before its context does.
func hungUpBy(write func([]int16) error, hangUp func()) func([]int16) error {
	return func(pcm []int16) error {
		err := write(pcm)
		if err != nil {
			hangUp()
		}
		return err
	}
}

// caller is the life of a call that was made here.
func (x *Exchange) caller(ctx context.Context, peer Device, mic <-chan []int16, write func([]int16) error) error {
	began := time.Now()
	t, err := x.meet(ctx, peer)
	if err == nil {
		x.o.Log.Info(logBegin, "peer", peer.ID, "from", "here")
		if err = t.ringBack(ctx, write); err == nil {
			err = t.converse(ctx, mic, write, x.muted(peer))
		}
		t.close(ctx.Err() != nil || errors.Is(err, errNoReply))
	}
	x.ended(ctx, peer, t, began, err, write)
	return nil
}

// ended tells how it was.
func (x *Exchange) ended(ctx context.Context, peer Device, t *talk, began time.Time, err error, write func([]int16) error) {
	a := []any{"peer", peer.ID, "why", fmt.Sprint(err), "ms", time.Since(began).Milliseconds()}
	if t != nil {
		a = append(a, "lost", t.counts.Lost, "late", t.counts.Late, "dry", t.counts.Dry, "dropped", t.counts.Dropped)
	}
	x.o.Log.Info(logEnd, a...)
	if ctx.Err() != nil {
		return // by this end
	}
	lang, name := x.o.Language, peer.Name
	switch {
	case errors.Is(err, errHungUp):
		_ = write(tones(over))
	case errors.Is(err, errBusy):
		x.o.Say(lang.Phrase("say.call_busy", "peer", name))
	case errors.Is(err, errRefused), errors.Is(err, errNoReply):
		x.o.Say(lang.Phrase("say.call_no_reply", "peer", name))
	case errors.Is(err, errLost):
		x.o.Say(lang.Phrase("say.call_lost", "peer", name))
	default:
		x.o.Say(lang.Phrase("say.call_away", "peer", name))
	}
}

// muted are the words of the other end's microphone.
func (x *Exchange) muted(peer Device) func(context.Context, bool) []int16 {
	return func(ctx context.Context, on bool) []int16 {
		text := x.o.Language.Phrase("say.call_open", "peer", peer.Name)
		if on {
			text = x.o.Language.Phrase("say.call_muted", "peer", peer.Name)
		}
		pcm, err := x.o.Speak(ctx, text)
		if err != nil {
			return tones(over)
		}
		return pcm
	}
}

// meet opens a port for one device, asks it to come, and has it.
func (x *Exchange) meet(ctx context.Context, peer Device) (*talk, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, comeFor, errAway)
	defer cancel()
	name := make([]byte, nameLength/2)
	_, _ = rand.Read(name) // crypto/rand never fails
	tcp, udp, err := x.ports()
	if err != nil {
		return nil, err
	}
	defer tcp.Close() // one device comes, or none
	o := offer{To: peer.ID, Call: hex.EncodeToString(name), At: x.o.Reachable(tcp.Addr().(*net.TCPAddr).Port)}
	if len(o.At) == 0 {
		_ = udp.Close()
		return nil, errNowhere
	}
	o.At = o.At[:min(len(o.At), maxAddresses)]
	note, err := o.note()
	if err != nil {
		return nil, err
	}
	came := make(chan *talk)
	go x.admit(ctx, tcp, udp, peer.ID, o.Call, came)
	tick := time.NewTicker(offerEvery)
	defer tick.Stop()
	for {
		x.o.Send(note)
		select {
		case t := <-came:
			return t, nil
		case <-tick.C:
		case <-ctx.Done():
			_ = udp.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// ports opens one number for both, the one that is set if it is free.
func (x *Exchange) ports() (tcp net.Listener, udp *net.UDPConn, err error) {
	for _, port := range []int{x.o.Port, 0, 0, 0, 0} {
		if tcp, err = net.Listen("tcp", net.JoinHostPort(x.o.Listen, strconv.Itoa(port))); err != nil {
			continue
		}
		var at *net.UDPAddr
		if at, err = net.ResolveUDPAddr("udp", net.JoinHostPort(x.o.Listen, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port))); err == nil {
			if udp, err = net.ListenUDP("udp", at); err == nil {
				return tcp, udp, nil
			}
		}
		_ = tcp.Close()
	}
	return nil, nil, fmt.Errorf("intercom: open a port for a call: %w", err)
}

// admit takes the one device that was called and no other, until ctx ends.
func (x *Exchange) admit(ctx context.Context, tcp net.Listener, udp *net.UDPConn, who round.DeviceID, name string, came chan<- *talk) {
	stop := context.AfterFunc(ctx, func() { _ = tcp.Close() })
	defer stop()
	conf := pairing.CallTLS(x.o.Identity, x.only(who))
	places := make(chan struct{}, maxHandshakes)
	for {
		conn, err := tcp.Accept()
		if err != nil {
			return
		}
		select {
		case places <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		go func() {
			defer func() { <-places }()
			c := tls.Server(conn, conf)
			_ = c.SetDeadline(time.Now().Add(handshake))
			if err := c.HandshakeContext(ctx); err != nil {
				_ = c.Close()
				x.o.Log.Warn(logRefused, "at", conn.RemoteAddr(), "err", err)
				return
			}
			t, err := newTalk(c, udp, true)
			if err == nil {
				var m message
				if m, err = lines(t.read); err == nil && (m.Is != isHello || m.Call != name) {
					err = errors.New("it came for another call")
				}
			}
			if err != nil {
				_ = c.Close()
				x.o.Log.Warn(logRefused, "peer", who, "err", err)
				return
			}
			_ = c.SetDeadline(time.Time{})
			t.say(message{Is: isHello, Call: name})
			select {
			case came <- t:
			case <-ctx.Done():
				_ = c.Close()
			}
		}()
	}
}

// only says that one device and no other may be at the other end, while it belongs to the room.
func (x *Exchange) only(who round.DeviceID) func(round.DeviceID) error {
	return func(id round.DeviceID) error {
		switch {
		case id != who:
			return fmt.Errorf("intercom: %s is not the device of this call", id)
		case !x.o.Member(id):
			return fmt.Errorf("intercom: %s does not belong to the room", id)
		}
		return nil
	}
}

// ringBack sounds like a telephone that rings elsewhere, until somebody answers there.
func (t *talk) ringBack(ctx context.Context, write func([]int16) error) error {
	go t.listen(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, ringFor, errNoReply)
	defer cancel()
	answered := make(chan struct{})
	var sounds sync.WaitGroup
	sounds.Go(func() {
		pcm := tones(ringback)
		for at := 0; ; at = (at + 240) % len(pcm) {
			select {
			case <-answered:
				return
			default:
			}
			if write(pcm[at:min(at+240, len(pcm))]) != nil {
				return
			}
		}
	})
	defer sounds.Wait()
	defer close(answered)
	for {
		select {
		case m := <-t.said:
			if m.Is == isAccept {
				return nil
			}
		case <-t.over:
			if errors.Is(t.why, errHungUp) {
				return errRefused
			}
			return t.why
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
