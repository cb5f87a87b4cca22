package mqtt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// brokers runs a test on the embedded broker and on Mosquitto.
func brokers(t *testing.T, test func(t *testing.T, url, addr string)) {
	t.Run("embedded", func(t *testing.T) {
		b := embedded(t, BrokerConfig{})
		test(t, b.URL(), b.Addr().String())
	})
	t.Run("mosquitto", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{})
		test(t, m.URL(), m.Addr())
	})
}

// pair is two devices that know each other.
func pair(t testing.TB, url string) (a, b *device) {
	t.Helper()
	a, b = start(t, Config{URL: url, Ledgers: true}).up(), start(t, Config{URL: url, Ledgers: true}).up()
	meet(t, map[*device]round.Beat{a: cards("ada"), b: cards("ben")})
	return a, b
}

func TestEveryPacketReachesAnotherDevice(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, b := pair(t, url)
		for _, p := range samples(a.ID()) {
			switch p := p.(type) {
			case round.Beat, round.Gone: // beats come from meet, too; and a will is the broker's to send
				continue
			default:
				a.Send(p)
				for {
					g := mqtttest.Await(t, b.packets, fmt.Sprintf("%T", p))
					if _, beat := g.p.(round.Beat); beat {
						continue
					}
					switch m := g.p.(type) { // besides, they come with their envelopes
					case round.Message:
						m.Envelope = nil
						g.p = m
					case round.Release:
						m.Envelope = nil
						g.p = m
					}
					if g.from != a.ID() || !reflect.DeepEqual(g.p, p) {
						t.Errorf("sent     %#v\nreceived %#v", p, g.p)
					}
					break
				}
			}
		}
		if s := b.Stats(); s.Again != 1 || len(s.Refused) > 0 {
			t.Errorf("%d second copies of presses, refused %v; want 1 and nothing", s.Again, s.Refused)
		}
		a.stop()
		for {
			if _, p := next[round.Beat](b); p.Left {
				break
			}
		}
	})
}

// Ledgers are told to whoever wants them: the broker does not send them to the others.
func TestLedgersGoToWhoWantsThem(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, watcher := pair(t, url)
		plain := start(t, Config{URL: url}).up()
		meet(t, map[*device]round.Beat{a: cards("ada"), plain: cards("cleo")})
		seen := round.Seen{Entry: round.Entry{Kind: round.EntryRound, Device: a.ID(), Why: "for the watcher"}}
		a.Send(seen)
		if from, p := next[round.Seen](watcher); from != a.ID() || !reflect.DeepEqual(p, seen) {
			t.Errorf("%v of %s; want %v of %s", p, from, seen, a.ID())
		}
		a.Send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
		for {
			g := mqtttest.Await(t, plain.packets, "what was said after it")
			switch g.p.(type) {
			case round.Seen:
				t.Errorf("%#v came to a device that does not want it", g.p)
			case round.Ended:
				return
			}
		}
	})
}

func TestRoomsNeverMix(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, b := pair(t, url)
		c := start(t, Config{URL: url, Room: "kitchen2"}).up()
		d := start(t, Config{URL: url, Room: "kitchen2"}).up()
		meet(t, map[*device]round.Beat{c: cards("ada"), d: cards("ben")})
		a.Send(round.Press{Epoch: round.Epoch{N: 1, Device: a.ID()}})
		next[round.Press](b)
		c.Send(round.Press{Epoch: round.Epoch{N: 9, Device: c.ID()}})
		next[round.Press](d)
		for _, x := range []*device{a, b, c, d} {
			refused := x.Stats()
			if delete(refused.Refused, ReasonOld); len(refused.Refused) > 0 { // a hello that a busy machine held up is old
				t.Errorf("%v", refused.Last)
			}
			for len(x.packets) > 0 {
				if g := <-x.packets; (x == a || x == b) != (g.from == a.ID() || g.from == b.ID()) {
					t.Errorf("%#v came from another room", g.p)
				}
			}
		}
	})
}

// Must show: forged, replayed, oversized, malformed input by mosquitto_pub: nothing changes, counters do.
func TestForeignersChangeNothing(t *testing.T) {
	t.Parallel()
	// Nobody can write under another's name on the embedded broker, see TestAccessList; so this is for foreign ones.
	func(t *testing.T, url, addr string) {
		a, b := pair(t, url)
		press := round.Press{Epoch: round.Epoch{N: 7, Device: a.ID()}}
		b.mustRefuse(ReasonForged, addr, Topic("kitchen", KindFloor, a.ID()), func() []byte {
			_, p, err := Encode("kitchen", fixed(3), testSession, 99, round.Press{Epoch: round.Epoch{N: 7, Device: fixed(3).id}})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}())
		_, own, err := Encode("kitchen", a.cfg.Identity, newSession(), 99, press)
		if err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(ReasonForged, addr, Topic("kitchen", KindFloor, a.ID()), []byte(strings.Replace(string(own), `"n":7`, `"n":8`, 1)))
		b.mustRefuse(ReasonMalformed, addr, Topic("kitchen", KindStates, a.ID()), []byte(`{"jsonrpc":"2.0","method":`))
		b.mustRefuse(ReasonMalformed, addr, Topic("kitchen", KindStates, a.ID()), []byte("\xff\xfe"))
		b.mustRefuse(ReasonOversized, addr, Topic("kitchen", KindMessages, a.ID()), []byte(strings.Replace(string(own), `"floor.press"`, `"message.send","x":"`+strings.Repeat("x", MaxEnvelope)+`"`, 1)))
		// Larger than a packet may be: it comes emptied, and the link stays.
		b.mustRefuse(ReasonMalformed, addr, Topic("kitchen", KindMessages, a.ID()), make([]byte, 3<<20))
		if s := b.Stats(); s.Connects != 1 {
			t.Errorf("%d links; want the first one still", s.Connects)
		}
		b.mustRefuse(ReasonTopic, addr, Topic("kitchen", KindStates, a.ID()), own)
		b.mustRefuse(ReasonMethod, addr, Topic("kitchen", KindFloor, a.ID()), []byte(strings.Replace(string(own), "floor.press", "floor.dance", 1)))
		// A signature that is good, from a device that nobody knows: it waits for a proof that does not come.
		stranger := fixed(4)
		_, words, err := Encode("kitchen", stranger, testSession, 5, round.Press{Epoch: round.Epoch{N: 99, Device: stranger.id}})
		if err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(ReasonUnproven, addr, Topic("kitchen", KindFloor, stranger.id), words)
		for len(b.packets) > 0 {
			if g := <-b.packets; !reflect.DeepEqual(reflect.TypeOf(g.p), reflect.TypeOf(round.Beat{})) {
				t.Errorf("%#v of %s was delivered", g.p, g.from)
			}
		}
		a.Send(press)
		if _, p := next[round.Press](b); p != press {
			t.Errorf("afterwards %v came; want %v", p, press)
		}
	}(foreign(t))
}

func foreign(t *testing.T) (*testing.T, string, string) {
	m := mqtttest.Start(t, mqtttest.Options{})
	return t, m.URL(), m.Addr()
}

// mustRefuse lets mosquitto_pub say something and waits until it is counted.
func (d *device) mustRefuse(want Reason, addr, top string, payload []byte) {
	d.t.Helper()
	before := d.Stats().Refused[want]
	mqtttest.Publish(d.t, addr, top, payload)
	for {
		if r := mqtttest.Await(d.t, d.refused, string(want)); r.Reason == want {
			break
		}
	}
	if after := d.Stats().Refused[want]; after <= before {
		d.t.Errorf("%s was %d and is %d", want, before, after)
	}
}

func TestRecordingsDoNotComeBackOverABroker(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	rec := record(t, m.URL(), "kitchen")
	a, b := pair(t, m.URL())
	epoch := round.Epoch{N: 1, Device: a.ID()}
	a.Send(round.Press{Epoch: epoch})
	next[round.Press](b)
	recordings := rec.until(func(m paho.Message) bool { return isPress(m.Payload()) && m.Qos() == 1 })
	replay := func(to *device) {
		t.Helper()
		for _, r := range recordings {
			if strings.HasSuffix(r.Topic(), string(a.ID())) {
				mqtttest.Publish(t, m.Addr(), r.Topic(), r.Payload())
			}
		}
		to.mustRefuse(ReasonMalformed, m.Addr(), Topic("kitchen", KindFloor, a.ID()), []byte("the end"))
		if s := to.Stats(); s.Again+s.Refused[ReasonRepeated]+s.Refused[ReasonOld]+s.Refused[ReasonUnproven]+uint64(to.waiting()) == 0 {
			t.Errorf("recordings were not counted: %+v", s)
		}
	}
	replay(b) // while the sender is there
	for len(b.packets) > 0 {
		if g := <-b.packets; g.p == (round.Press{Epoch: epoch}) {
			t.Error("a press was delivered again")
		}
	}
	a.stop()
	b.stop()
	c := start(t, Config{URL: m.URL(), Identity: b.cfg.Identity}).up() // restarted, and the sender is away
	replay(c)
	for len(c.packets) > 0 {
		t.Errorf("%#v was delivered to a receiver that restarted", (<-c.packets).p)
	}
}

// waiting is how many envelopes wait for a proof.
func (d *device) waiting() (n int) {
	d.mu.Lock()
	l := d.Client.link
	d.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.guard.peers {
		for _, s := range p.candidates {
			n += len(s.held)
		}
	}
	return n
}

// tally counts what of a sender's packets a receiver has got, and what had waited too long to be sent: on a busy machine that is right.
type tally struct {
	from, to   *device
	asked, got int
}

func (n *tally) send(p round.Packet) {
	n.asked++
	n.from.Send(p)
}

func (n *tally) late() int { return int(n.from.Stats().Unsent[unsentLate]) } //nolint:gosec // some hundreds at most

// settled waits until each packet of the type T has arrived or was too late.
func settled[T round.Packet](n *tally) {
	n.to.t.Helper()
	over, look := time.After(mqtttest.Patience), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for n.got+n.late() < n.asked {
		select {
		case g := <-n.to.packets:
			if _, ok := g.p.(T); ok {
				n.got++
			}
		case <-look.C:
		case <-over:
			n.to.t.Fatalf("of %d packets %d arrived and %d were late\nfrom %+v\nto %+v", n.asked, n.got, n.late(), n.from.Stats(), n.to.Stats())
		}
	}
}

func TestABurstDoesNotStall(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a, b := pair(t, url)
		const n = 1000
		began, burst := time.Now(), &tally{from: a, to: b}
		for i := range n {
			burst.send(round.Ended{Place: round.Place{Number: i + 1, Message: "m"}})
			if i%100 == 99 { // 512 may wait
				settled[round.Ended](burst)
			}
		}
		fmt.Printf("burst of %d in tens of 100: %v\n", n, time.Since(began).Round(time.Millisecond))
		unsent := a.Stats().Unsent
		if delete(unsent, unsentLate); len(unsent) > 0 || burst.got < n/2 {
			t.Errorf("of %d arrived %d; not sent: %v", n, burst.got, unsent)
		}
		if s := b.Stats(); len(s.Refused) > 0 {
			t.Errorf("refused: %v", s.Last)
		}
	})
}

func TestSendNeverBlocksAndASlowReceiverHoldsUpNobody(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	var block atomic.Bool
	hold, inside := make(chan struct{}), make(chan struct{}, 1)
	slow := newDevice(t, &Config{URL: b.URL(), OnPacket: func(round.DeviceID, round.Packet) {
		if block.Load() {
			select {
			case inside <- struct{}{}:
			default:
			}
			<-hold
		}
	}})
	slow.run()
	t.Cleanup(func() { close(hold); slow.stop() })
	slow.up()
	a, c := pair(t, b.URL())
	block.Store(true)
	mqtttest.Await(t, inside, "the slow one to be stuck") // beats go on
	const n = 3 * maxArrived
	all := &tally{from: a, to: c}
	for i := 0; i < n; i += 100 {
		for range 100 {
			all.send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
		}
		settled[round.Ended](all)
	}
	for slow.Stats().Refused[ReasonOverrun] == 0 {
		all.send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
		settled[round.Ended](all)
	}
}

func TestAPressOvertakesAFullQueue(t *testing.T) {
	q := newQueue()
	for i := range 2 * maxWaiting {
		q.push(0, round.Ended{Place: round.Place{Number: i}})
		q.push(0, round.Seen{})
	}
	for i := range 2 * maxPresses {
		q.push(0, round.Press{Epoch: round.Epoch{N: uint64(i + 1)}})
	}
	var presses, rest []uint64
	for {
		p, late, _ := q.pop(maxWait)
		if late > 0 {
			t.Fatalf("%d late", late)
		}
		if p == nil {
			break
		}
		switch p := p.(type) {
		case round.Press:
			presses = append(presses, p.Epoch.N)
			if len(rest) > 0 {
				t.Error("a press came behind something else")
			}
		case round.Ended:
			rest = append(rest, uint64(p.Place.Number))
		}
	}
	if len(presses) != maxPresses || presses[len(presses)-1] != 2*maxPresses {
		t.Errorf("presses %v; want the newest %d", presses, maxPresses)
	}
	if len(rest) != maxWaiting || rest[0] != maxWaiting {
		t.Errorf("%d others, from %d; want the newest %d", len(rest), rest[0], maxWaiting)
	}
	q.push(0, round.Ended{})
	q.push(0, round.Press{})
	if p, _, _ := q.pop(2 * maxWait); p != (round.Press{}) {
		t.Errorf("%v; want the press, however late", p)
	}
	if p, late, _ := q.pop(2 * maxWait); p != nil || late != 1 {
		t.Errorf("%v, %d late; want nothing, 1", p, late)
	}
}

func TestFiftyClientsOnOneBroker(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	const n = manyClients
	ds := make([]*device, n)
	var heard atomic.Int64
	all := make(chan struct{})
	for i := range ds {
		ds[i] = newDevice(t, &Config{URL: b.URL(), OnPacket: func(_ round.DeviceID, p round.Packet) {
			if _, ok := p.(round.Ended); ok && heard.Add(1) == n*(n-1) {
				close(all)
			}
		}})
		ds[i].run()
		ds[i].up()
	}
	// Everybody believes everybody when everybody's beat was delivered.
	deadline := time.After(mqtttest.Patience)
	for {
		ready := 0
		for _, d := range ds {
			d.Send(cards())
			if d.knows() == n-1 {
				ready++
			}
		}
		if ready == n {
			break
		}
		select {
		case <-time.After(time.Second): // as devices do
		case <-deadline:
			t.Fatalf("%d of %d know everybody", ready, n)
		}
	}
	began := time.Now()
	for _, d := range ds {
		d.Send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
	}
	mqtttest.Await(t, all, "everybody to hear everybody")
	took := time.Since(began)
	var hellos uint64
	for _, d := range ds {
		hellos += d.Stats().Hellos
		if r := d.Stats().Refused; r[ReasonForged]+r[ReasonOverrun] > 0 {
			t.Errorf("refused: %v", d.Stats().Last)
		}
	}
	fmt.Printf("50 clients: %d hellos until all believe each other; one envelope each to all others: %v\n", hellos, took.Round(time.Millisecond))
}

func (d *device) knows() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.known)
}

func TestSettingsAreRefused(t *testing.T) {
	id := fixed(1)
	on := func(round.DeviceID, round.Packet) {}
	for _, row := range []struct {
		cfg  Config
		want string
	}{
		{Config{URL: "http://x", Room: "r", Identity: id, OnPacket: on}, "must begin with"},
		{Config{URL: "mqtt://u:p@x", Room: "r", Identity: id, OnPacket: on}, "do not belong into the url"},
		{Config{URL: "mqtt://", Room: "r", Identity: id, OnPacket: on}, "host is missing"},
		{Config{URL: "mqtt://x", Room: "a/b", Identity: id, OnPacket: on}, "must not contain"},
		{Config{URL: "mqtt://x", Room: "", Identity: id, OnPacket: on}, "1 to 64"},
		{Config{URL: "mqtt://x", Room: "r", OnPacket: on}, "identity"},
		{Config{URL: "mqtt://x", Room: "r", Identity: id}, "OnPacket"},
	} {
		if _, err := NewClient(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v; want %q in it", row.cfg.URL, err, row.want)
		}
	}
}

func TestIdentityIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a, err := OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenIdentity(dir)
	if err != nil || a.ID() != b.ID() || !IsDeviceID(a.ID()) {
		t.Fatalf("%v then %v, %v", a, b, err)
	}
	path := filepath.Join(dir, identityFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want 0600", info.Mode(), err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v %s", a, a, a, a), b64.EncodeToString(a.key)) {
		t.Error("the key is printed")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIdentity(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(path, 0o600)
	if _, err := OpenIdentity(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged key: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left; want the key alone", len(files))
	}
}

// A broker that ends together with the device is no fault of either.
func TestTroubleAtTheEndIsNoFault(t *testing.T) {
	var log strings.Builder
	d := newDevice(t, &Config{URL: "mqtt://127.0.0.1:1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, end := context.WithCancel(t.Context())
	d.stats.begin(ctx)
	d.tell(errors.New("before"))
	end()
	d.tell(errors.New("behind"))
	if got := log.String(); !strings.Contains(got, "level=WARN msg=mqtt.trouble err=before") || !strings.Contains(got, "level=INFO msg=mqtt.trouble err=behind") {
		t.Error(got)
	}
}
