package intercom

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/language"
	"conch/mqtt"
)

// Two exchanges on the loopback, with sockets and time as they are. The room between them is a function call, and the way between them may be
// a bad one.

// house is what they have in common.
type house struct {
	t   *testing.T
	mu  sync.Mutex
	all map[round.DeviceID]*phone
	out map[round.DeviceID]bool // removed from the room
	way *badWay                 // nil: the loopback itself
}

// phone is a device with a person, who answers by begin and speaks in tones.
type phone struct {
	h     *house
	x     *Exchange
	id    mqtt.Identity
	said  chan string
	rings chan Claim
	busy  atomic.Bool
	log   syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

func newHouse(t *testing.T) *house {
	return &house{t: t, all: map[round.DeviceID]*phone{}, out: map[round.DeviceID]bool{}}
}

func (h *house) phone(name string) *phone {
	h.t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		h.t.Fatal(err)
	}
	p := &phone{h: h, id: id, said: make(chan string, 16), rings: make(chan Claim, 16)}
	p.x = New(Options{
		Identity: id, Listen: "127.0.0.1", Language: language.English, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Member: func(d round.DeviceID) bool { h.mu.Lock(); defer h.mu.Unlock(); return !h.out[d] },
		Present: func() (all []Device) {
			h.mu.Lock()
			defer h.mu.Unlock()
			for d, other := range h.all {
				if other != p {
					all = append(all, Device{d, other.name()})
				}
			}
			return all
		},
		Send: func(n mqtt.Note) {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, other := range h.all {
				other.x.Note(id.ID(), n)
			}
		},
		Reachable: func(port int) []string {
			if h.way != nil {
				port = h.way.to(port)
			}
			return []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		},
		Offer: func(_ context.Context, c Claim) (func(), error) {
			if p.busy.Load() {
				return nil, io.ErrClosedPipe
			}
			p.rings <- c
			return sync.OnceFunc(c.Ended), nil
		},
		Say:   func(text string) { p.said <- text },
		Speak: func(context.Context, string) ([]int16, error) { return tones(over), nil },
	})
	names.Store(id.ID(), name)
	h.mu.Lock()
	h.all[id.ID()] = p
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.x.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			h.t.Error("a call did not end with its device")
		}
	})
	return p
}

var names sync.Map

func (p *phone) name() string { n, _ := names.Load(p.id.ID()); return n.(string) }

// talking is a call as a coordinator would run it: a microphone that hears a tone, and a loudspeaker of 10 ms a frame.
type talking struct {
	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	heard  []int16
	mute   atomic.Bool
	cut    atomic.Bool // nothing can be written any more, and the context does not know it yet
}

func begin(c Claim, hz float64) *talking {
	ctx, cancel := context.WithCancel(context.Background())
	k := &talking{cancel: cancel, done: make(chan struct{})}
	mic := make(chan []int16, 20)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for at := 0; ctx.Err() == nil; {
			<-tick.C
			if k.mute.Load() {
				continue
			}
			pcm := make([]int16, 240)
			for i := range pcm {
				pcm[i] = int16(6000 * math.Sin(2*math.Pi*hz*float64(at+i)/rate))
			}
			at += 240
			select {
			case mic <- pcm:
			default:
			}
		}
	}()
	pace := time.NewTicker(10 * time.Millisecond)
	go func() {
		defer close(k.done)
		defer pace.Stop()
		_ = c.Run(ctx, mic, func(pcm []int16) error {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			if k.cut.Load() {
				return errors.New("the stream was cut")
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.heard = append(k.heard, pcm...)
			return nil
		})
		c.Ended()
	}()
	return k
}

func (k *talking) tape() []int16 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]int16(nil), k.heard...)
}

// loud is how loud a tone is in the last second of a tape, the mean of pieces of 20 ms: on a busy machine a gap in it breaks its phase.
func (k *talking) loud(hz float64) (sum float64) {
	pcm := k.tape()
	pcm = pcm[max(0, len(pcm)-rate):]
	for piece := range slices.Chunk(pcm, rate/50) {
		var a, b float64
		for i, x := range piece {
			w := 2 * math.Pi * hz * float64(i) / rate
			a, b = a+float64(x)*math.Cos(w), b+float64(x)*math.Sin(w)
		}
		sum += 2 * math.Hypot(a, b)
	}
	return sum / float64(max(1, len(pcm)))
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not %s within half a minute", what)
		}
	}
}

func after[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("no %s within half a minute", what)
	}
	return v
}

// connect has one call the other, and the other answer.
func connect(t *testing.T, from, to *phone) (a, b *talking) {
	t.Helper()
	c, err := from.x.Call("the " + strings.ToUpper(to.name()))
	if err != nil {
		t.Fatal(err)
	}
	a = begin(c, 700)
	b = begin(after(t, "ringing", to.rings), 1000)
	return a, b
}

// Both hear each other, and who hangs up ends it at both; the next call works.
func TestACall(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hall, kitchen := h.phone("hall"), h.phone("kitchen")
	for _, hangUp := range []func(*talking){func(k *talking) { k.cancel() }, func(k *talking) { k.cut.Store(true) }} {
		a, b := connect(t, hall, kitchen)
		until(t, "heard there", func() bool { return b.loud(700) > 1000 })
		hangUp(b)
		after(t, "end", a.done)
		after(t, "end", b.done)
		hall, kitchen = kitchen, hall
	}
	select {
	case said := <-hall.said:
		t.Errorf("said of a call that was hung up: %q", said)
	case said := <-kitchen.said:
		t.Errorf("said of a call that was hung up: %q", said)
	default:
	}
}

// Whoever does not belong to the room, or does not any more, neither rings nor is rung.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"the caller", "the one that is called"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			hall, kitchen := h.phone("hall"), h.phone("kitchen")
			h.mu.Lock()
			h.out[map[bool]*phone{true: hall, false: kitchen}[who == "the caller"].id.ID()] = true
			h.mu.Unlock()
			c, err := hall.x.Call("kitchen")
			if err != nil {
				t.Fatal(err)
			}
			a := begin(c, 700)
			if said := after(t, "word", hall.said); said != "kitchen cannot be reached." {
				t.Errorf("the caller is told %q", said)
			}
			after(t, "end", a.done)
			if len(kitchen.rings) > 0 {
				t.Error("it rang")
			}
			if who == "the caller" && !strings.Contains(kitchen.log.String(), "does not belong to the room") ||
				who != "the caller" && !strings.Contains(hall.log.String(), "does not belong to the room") {
				t.Errorf("nobody says why: %s%s", hall.log.String(), kitchen.log.String())
			}
		})
	}
}

// One who is not the one that was called is refused at the caller's port, and the call goes on.
func TestAnotherMemberDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hall, kitchen, liar := h.phone("hall"), h.phone("kitchen"), h.phone("liar")
	caught := make(chan offer, 1)
	send := hall.x.o.Send
	hall.x.o.Send = func(n mqtt.Note) {
		if o, err := readOffer(n.Body); err == nil {
			select {
			case caught <- o:
				if _, err := liar.x.come(hall.id.ID(), o); err == nil {
					until(t, "refused", func() bool { return strings.Contains(hall.log.String(), "is not the device of this call") })
				}
			default:
			}
		}
		send(n)
	}
	a, b := connect(t, hall, kitchen)
	until(t, "heard there", func() bool { return b.loud(700) > 1000 })
	a.cancel()
	after(t, "end", b.done)
	if len(liar.rings) > 0 {
		t.Error("it rang at another one")
	}
}

// A second caller is told that it is busy, in words, and so is one to whom nobody can be offered.
func TestBusy(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hall, kitchen, attic := h.phone("hall"), h.phone("kitchen"), h.phone("attic")
	a, b := connect(t, hall, kitchen)
	c, err := attic.x.Call("kitchen")
	if err != nil {
		t.Fatal(err)
	}
	begin(c, 500)
	if said := after(t, "word", attic.said); said != "kitchen is speaking with somebody else." {
		t.Errorf("said: %q", said)
	}
	if _, err := hall.x.Call("attic"); err == nil {
		t.Error("a second call is made beside the first")
	}
	a.cancel()
	after(t, "end", b.done)
	kitchen.busy.Store(true)
	until(t, "free", func() bool { c, err = attic.x.Call("kitchen"); return err == nil })
	begin(c, 500)
	if said := after(t, "word", attic.said); said != "kitchen is speaking with somebody else." {
		t.Errorf("said: %q", said)
	}
}

// One that calls again and again rings a few times, and is named.
func TestOneThatCallsTooOften(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hall, kitchen := h.phone("hall"), h.phone("kitchen")
	for range 2 * callsOfOne {
		o := offer{To: kitchen.id.ID(), Call: strings.Repeat("0", nameLength-8) + strconv.Itoa(10000000+rand.IntN(80000000)), At: []string{"127.0.0.1:9999"}}
		n, _ := o.note()
		kitchen.x.Note(hall.id.ID(), n)
	}
	until(t, "named", func() bool { return strings.Count(kitchen.log.String(), "it calls too often") == callsOfOne })
	if !strings.Contains(kitchen.log.String(), string(hall.id.ID())) {
		t.Error("it is not named")
	}
}

// badWay carries the calls of a caller: it loses datagrams, keeps what it saw of them, and can be cut.
type badWay struct {
	t    *testing.T
	loss float64
	mu   sync.Mutex
	rng  *rand.Rand
	saw  [][]byte
	dark atomic.Bool // everything is swallowed
}

// to opens a way to a port and gives its own.
func (w *badWay) to(port int) int {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	at := tcp.Addr().(*net.TCPAddr)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port})
	if err != nil {
		w.t.Fatal(err)
	}
	there := &net.UDPAddr{IP: at.IP, Port: port}
	w.t.Cleanup(func() { _ = tcp.Close(); _ = udp.Close() })
	go func() {
		for {
			a, err := tcp.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", there.String())
			if err != nil {
				_ = a.Close()
				continue
			}
			for _, p := range [][2]net.Conn{{a, b}, {b, a}} {
				go func() {
					buf := make([]byte, 4096)
					for {
						n, err := p[0].Read(buf)
						if err != nil {
							_ = p[1].Close()
							return
						}
						if !w.dark.Load() {
							_, _ = p[1].Write(buf[:n])
						}
					}
				}()
			}
		}
	}()
	go func() {
		var far *net.UDPAddr
		buf := make([]byte, 2048)
		for {
			n, from, err := udp.ReadFromUDP(buf)
			if err != nil {
				return
			}
			to := there
			if from.Port == port {
				to = far
			} else {
				far = from
			}
			w.mu.Lock()
			lost := w.rng.Float64() < w.loss
			w.saw = append(w.saw, bytes.Clone(buf[:n]))
			w.mu.Unlock()
			if to != nil && !lost && !w.dark.Load() {
				_, _ = udp.WriteToUDP(buf[:n], to)
			}
		}
	}()
	return at.Port
}

func newBadWay(t *testing.T, loss float64) *badWay {
	return &badWay{t: t, loss: loss, rng: rand.New(rand.NewPCG(1, 2))}
}

// Of datagrams 5 % get lost: what is heard is the tone all the same, and whoever listens to the wire hears nothing.
func TestFivePercentAreLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.way = newBadWay(t, 0.05)
	hall, kitchen := h.phone("hall"), h.phone("kitchen")
	a, b := connect(t, hall, kitchen)
	b.mute.Store(true) // only one speaks, and loudly
	until(t, "ten seconds of it", func() bool { return len(b.tape()) > 12*rate })
	a.cancel()
	after(t, "end", b.done)
	pcm := b.tape()[2*rate : 12*rate]
	silent, held := 0, 0 // frames that are nearly silent
	for i := 0; i+240 <= len(pcm); i += 240 {
		var sum float64
		for _, x := range pcm[i : i+240] {
			sum += math.Abs(float64(x))
		}
		if held++; sum/240 < 400 {
			silent++
		}
	}
	h.way.mu.Lock()
	defer h.way.mu.Unlock()
	t.Logf("of %d frames %d are nearly silent; the wire carried %d datagrams", held, silent, len(h.way.saw))
	if silent*100 > held {
		t.Errorf("of %d frames %d are nearly silent, at 5 %% loss", held, silent)
	}
	var like, power float64
	for n, d := range h.way.saw {
		if len(d) != headerSize+2*240+tagSize {
			continue
		}
		for i := range 240 {
			x := float64(int16(binary.BigEndian.Uint16(d[headerSize+2*i:])))
			like, power = like+x*math.Sin(2*math.Pi*700*float64(n*240+i)/rate), power+x*x
		}
	}
	if power == 0 || like*like/power > 0.001*power {
		t.Errorf("the tone can be heard on the wire (%.3g of %.3g)", like*like, power*power)
	}
}

// The cable is pulled, or the other end dies without a word: both are told within seconds that the call was lost.
func TestACallIsLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.way = newBadWay(t, 0)
	hall, kitchen := h.phone("hall"), h.phone("kitchen")
	a, b := connect(t, hall, kitchen)
	until(t, "heard there", func() bool { return b.loud(700) > 1000 })
	h.way.dark.Store(true)
	for who, p := range map[string]*phone{"kitchen": hall, "hall": kitchen} {
		if said, want := after(t, "word", p.said), "The call with "+who+" was lost."; said != want {
			t.Errorf("said: %q; want %q", said, want)
		}
	}
	after(t, "end", a.done)
	after(t, "end", b.done)
}

// Muted, the other end hears silence, and is told.
func TestTheOtherEndIsMuted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hall, kitchen := h.phone("hall"), h.phone("kitchen")
	a, b := connect(t, hall, kitchen)
	until(t, "heard there", func() bool { return b.loud(700) > 1000 })
	a.mute.Store(true)
	until(t, "told", func() bool { return b.loud(425) > 300 })
	until(t, "silent", func() bool { return b.loud(700) < 30 && b.loud(425) < 30 })
	a.mute.Store(false)
	until(t, "heard again", func() bool { return b.loud(700) > 1000 })
	b.cancel()
	after(t, "end", a.done)
}
