package broker

import (
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/mochi-mqtt/server/v2/packets"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

var home = netip.MustParseAddr("192.168.0.7")

// quietBounds hold one member, and collect what it is put out for.
func quietBounds(l Limits) (*bounds, *[]Offence) {
	var told []Offence
	return newBounds(l, slog.New(slog.DiscardHandler), func(o Offence) { told = append(told, o) }), &told
}

// Whoever sends more than it may is slowed, and put out when there is no end to it.
func TestMembersAreSlowedAndThenPutOut(t *testing.T) {
	limits := Limits{Packets: mqtt.Rate{Second: 50, AtOnce: 400}}
	for _, row := range []struct {
		name   string
		rate   int           // packets a second
		length time.Duration // so long
		at     int           // packets at a time
		slowed bool
		out    bool
	}{
		{"a device that talks", 15, time.Minute, 1, false, false},
		{"a burst that may be", 400, time.Second, 400, false, false},
		{"as many as may be, all the time", 50, time.Minute, 1, false, false},
		{"a burst and half as much again", 600, time.Second, 50, true, false},
		{"a few more than may be, all the time", 60, 2 * time.Minute, 1, true, true},
		// a press and its end are three packets, and a device in a lively room sends fifteen a second
		{"10 presses a second, all the time", 10*3 + 15, 2 * time.Minute, 3, false, false},
		{"20 presses a second for 15 s", 20*3 + 15, 15 * time.Second, 3, false, false},
		{"20 presses a second, all the time", 20*3 + 15, 2 * time.Minute, 3, true, true},
		{"40 presses a second for 4 s", 40*3 + 15, 4 * time.Second, 3, false, false},
		{"40 presses a second, all the time", 40*3 + 15, 2 * time.Minute, 3, true, true},
		{"as fast as it can", 1 << 20, 10 * time.Second, 100, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, told := quietBounds(limits)
				slowed, out := false, false
				for began := time.Now(); time.Since(began) < row.length && !out; {
					wait, ok := b.spend("d", ExcessPackets, row.at)
					slowed, out = slowed || wait > 0, !ok
					time.Sleep(max(wait, time.Second*time.Duration(row.at)/time.Duration(row.rate)))
				}
				if slowed != row.slowed || out != row.out || out != (len(*told) == 1) {
					t.Errorf("slowed %v, out %v, told %v; want %v, %v", slowed, out, *told, row.slowed, row.out)
				}
			})
		})
	}
}

// The more there are to hear it, the less one may say; but a history always fits.
func TestBytesAreSharedByTheRoom(t *testing.T) {
	b, _ := quietBounds(Limits{})
	for _, row := range []struct {
		crowd          int64
		second, atOnce float64
	}{{0, 64 << 10, 1 << 20}, {4, 64 << 10, 1 << 20}, {8, 64 << 10, 512 << 10}, {32, 32 << 10, 384 << 10}, {64, 16 << 10, 384 << 10}, {128, 16 << 10, 384 << 10}} {
		b.crowd.Store(row.crowd)
		if got := b.bytes(); got != (mqtt.Rate{Second: row.second, AtOnce: row.atOnce}) || got.AtOnce < mqtt.MaxPacket {
			t.Errorf("%d: %v; want %v, %v at once", row.crowd, got, row.second, row.atOnce)
		}
	}
}

// A ban doubles each time and is forgotten ten minutes after its end.
func TestBansGrowAndAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, told := quietBounds(Limits{})
		offend := func() time.Duration {
			b.offend(Offence{Device: "d", What: ExcessWaiting})
			b.offend(Offence{Device: "d", What: ExcessSlow}) // it is out already
			if b.arrive("d", home) {
				t.Error("it was let in")
			}
			if !b.arrive("e", home) {
				t.Error("another one was not")
			}
			time.Sleep((*told)[len(*told)-1].Out)
			if !b.arrive("d", home) {
				t.Error("it is kept out for longer than was said")
			}
			return (*told)[len(*told)-1].Out
		}
		for i, want := range []int{10, 20, 40, 80, 160, 320, 600, 600} {
			if got := offend(); got != time.Duration(want)*time.Second {
				t.Errorf("%d: %v; want %d s", i+1, got, want)
			}
		}
		if len(*told) != 8 {
			t.Errorf("told %d times", len(*told))
		}
		time.Sleep(Forgiveness + time.Second)
		if got := offend(); got != shortestBan {
			t.Errorf("after a while: %v", got)
		}
	})
}

// A device whose connections come from two addresses in turn is two devices; one that has moved once is not.
func TestTwoDevicesWithOneKeyAreNamed(t *testing.T) {
	there := netip.MustParseAddr("192.168.0.9")
	six := netip.MustParseAddr("fd00::9")
	for name, c := range map[string]struct {
		from  func(int) netip.Addr
		twin  bool
		apart time.Duration
	}{
		"two devices":    {func(i int) netip.Addr { return []netip.Addr{home, there}[i%2] }, true, 8 * time.Second},
		"one device":     {func(int) netip.Addr { return home }, false, 0},
		"one that moves": {func(i int) netip.Addr { return []netip.Addr{home, there}[min(i/10, 1)] }, false, 0},
		"one that roams": {func(i int) netip.Addr { return []netip.Addr{home, there}[i/2%2] }, false, 0},
		"both kinds":     {func(i int) netip.Addr { return []netip.Addr{home, six}[i%2] }, false, 0},
		"a day each":     {func(i int) netip.Addr { return []netip.Addr{home, there}[i%2] }, false, 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, told := quietBounds(Limits{})
			for i := 0; len(*told) == 0 && i < 100; i++ {
				b.arrive("d", c.from(i))
				time.Sleep(c.apart)
			}
			if c.apart > time.Minute {
				if len(*told) > 0 {
					t.Errorf("%s: %+v", name, *told)
				}
				return
			}
			if o := (*told)[0]; o.What != ExcessConnects || o.Twin != c.twin || c.twin != (o.Out == 0) {
				t.Errorf("%s: %+v", name, *told)
			}
		})
	}
}

// A connection that can only be somebody's who is kept out is not worth a handshake.
func TestWhoIsKeptOutCostsNoHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := quietBounds(Limits{})
		other := netip.MustParseAddr("192.168.0.8")
		count := func(a netip.Addr) (n int) {
			for range 100 {
				if b.knock(a) {
					n++
				}
			}
			return n
		}
		b.arrive("d", home)
		b.arrive("e", other)
		if n := count(home); n != 100 {
			t.Errorf("%d of 100 before", n)
		}
		b.offend(Offence{Device: "d"})
		if n, m := count(home), count(other); n != 0 || m != 100 {
			t.Errorf("%d from there, %d from elsewhere", n, m)
		}
		b.arrive("e", home) // others come from there, too
		if n := count(home); n != 10 {
			t.Errorf("%d of 100 where others come from", n)
		}
		time.Sleep(time.Second)
		if n := count(home); n != 5 {
			t.Errorf("%d a second later", n)
		}
		time.Sleep(shortestBan)
		if n := count(home); n != 100 {
			t.Errorf("%d of 100 afterwards", n)
		}
		// With IPv6 everybody has many addresses: those of one network are one.
		six, seven := netip.MustParseAddr("fd00::6"), netip.MustParseAddr("fd00::7")
		b.arrive("f", six)
		b.offend(Offence{Device: "f"})
		if n := count(seven); n != 10 {
			t.Errorf("%d of 100 from another address of that network", n)
		}
	})
}

func TestTheBooksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := quietBounds(Limits{})
		b.offend(Offence{Device: "bad"})
		for i := range 2 * maxBooks {
			b.arrive(round.DeviceID(rune('a'+i)), netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
			time.Sleep(time.Millisecond)
		}
		if len(b.books) > maxBooks || len(b.places) > maxPlaces {
			t.Errorf("%d books, %d places", len(b.books), len(b.places))
		}
		if b.arrive("bad", home) {
			t.Error("who is kept out was forgotten for the sake of those who come")
		}
	})
}

// pipe is a served connection, and its other end.
func pipe(t *testing.T, l Limits) (*served, net.Conn, *[]Offence) {
	b, told := quietBounds(l)
	ours, theirs := net.Pipe()
	c := &counted{forgiving: &forgiving{Conn: ours}, gate: newGate(nil, 1, b)}
	s := serve(c, c, "d")
	t.Cleanup(func() {
		s.abort()
		_ = theirs.Close()
		c.gate.writers.Wait()
		if n := s.waiting.bytes; n != 0 {
			t.Errorf("%d bytes are kept of one who is out", n)
		}
	})
	return s, theirs, told
}

func TestWritingNeverWaits(t *testing.T) {
	const waiting = 100 << 10
	all := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	nobody := func(net.Conn) {}
	publish, ping := byte(0x30), byte(0xd0)
	for _, row := range []struct {
		name    string
		first   byte
		size    int
		read    func(net.Conn) // in a goroutine
		n       int            // packets, one each 10 ms
		want    Excess         // empty: nothing
		dropped bool
	}{
		{"a reader", publish, 10 << 10, all, 2000, "", false},
		{"nobody reads", publish, 10 << 10, nobody, 900, "", true},
		{"nobody reads, for longer", publish, 100, nobody, 1100, ExcessSlow, false},
		{"a byte a second", publish, 100, func(c net.Conn) {
			for b := make([]byte, 1); ; time.Sleep(time.Second) {
				if _, err := c.Read(b); err != nil {
					return
				}
			}
		}, 1100, ExcessSlow, false},
		{"a slow one", publish, 1000, func(c net.Conn) {
			for b := make([]byte, 16<<10); ; time.Sleep(time.Second) {
				if _, err := c.Read(b); err != nil {
					return
				}
			}
		}, 3000, "", true},
		{"more at once than may wait", publish, waiting + 1, all, 1, "", true},
		{"answers, and nobody reads", ping, 1000, nobody, 100, ExcessWaiting, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, theirs, told := pipe(t, Limits{Waiting: waiting})
				var reading sync.WaitGroup
				reading.Go(func() { row.read(theirs) })
				defer reading.Wait()
				defer s.abort()
				packet := make([]byte, row.size)
				copy(packet, frameOf(row.first, str("a/b")))
				for range row.n {
					began := time.Now()
					_, _ = s.Write(packet)
					if d := time.Since(began); d > 0 {
						t.Fatalf("writing took %v", d)
					}
					s.mu.Lock()
					if n := s.waiting.bytes; n > waiting {
						t.Fatalf("%d bytes wait", n)
					}
					s.mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
				got := Excess("")
				if len(*told) > 0 {
					got = (*told)[0].What
				}
				if got != row.want || len(*told) > 1 || (s.dropped > 0) != row.dropped {
					t.Errorf("%+v, %d dropped; want %q", *told, s.dropped, row.want)
				}
			})
		})
	}
}

// Whoever floods a client's queue loses what is too much of it, and the others neither wait behind that nor lose anything.
func TestSendersTakeTurns(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	packet := func(first byte, from string, n, size int) []byte {
		return frameOf(first, append(str("conch/v1/kitchen/floor/"+from), append(binary.BigEndian.AppendUint16(nil, uint16(n)), make([]byte, size)...)...))
	}
	const most = 64 << 10
	var f fair
	sent, got := map[string]int{}, map[string]int{} // numbers
	var lost int
	waits := map[string]int{} // pops since a packet of a good one came to wait
	for range 5000 {
		switch r.IntN(4) {
		case 0, 1:
			for range r.IntN(20) {
				sent["flood"]++
				for _, d := range f.push(packet(0x32, "flood", sent["flood"], r.IntN(8<<10)), most) {
					if senderOf(d) != "flood" {
						t.Fatalf("%s lost a packet", senderOf(d))
					}
					lost++
				}
			}
		case 2:
			good := []string{"a", "b", "c"}[r.IntN(3)]
			if sent[good]-got[good] < 10 {
				sent[good]++
				for _, d := range f.push(packet(0x30, good, sent[good], 300), most) {
					if senderOf(d) != "flood" {
						t.Fatalf("%s lost a packet", senderOf(d))
					}
				}
			}
		case 3:
			f.push([]byte{0xd0, 0}, most)
		}
		if f.bytes-f.asked > most {
			t.Fatalf("%d bytes wait", f.bytes)
		}
		if r.IntN(2) == 0 {
			continue
		}
		took := f.pop(4 << 10)
		for rest := took; len(rest) > 0; {
			length, digits := binary.Uvarint(rest[1:])
			p := rest[:1+digits+int(length)]
			rest = rest[len(p):]
			if p[0]>>4 != packets.Publish {
				continue
			}
			_, to := publication(p)
			from, n := senderOf(p), int(binary.BigEndian.Uint16(p[to:]))
			if from != "flood" && n != got[from]+1 {
				t.Fatalf("%d of %s after %d", n, from, got[from])
			}
			got[from], waits[from] = n, 0
		}
		for _, good := range []string{"a", "b", "c"} {
			if got[good] < sent[good] && len(took) > 2*10 { // more than answers
				waits[good]++
			}
			if waits[good] > 5 { // senders, and one more
				t.Fatalf("%s has waited for %d", good, waits[good])
			}
		}
	}
	if lost == 0 {
		t.Error("nothing was too much; this would prove nothing")
	}
}

// What was written before a connection is closed still arrives, if it is taken.
func TestClosingLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, theirs, _ := pipe(t, Limits{})
		_, _ = s.Write([]byte("one"))
		_, _ = s.Write([]byte("\xd0two"))
		_ = s.Close()
		if _, err := s.Write([]byte("three")); err == nil {
			t.Error("it takes more")
		}
		if b, err := io.ReadAll(theirs); string(b) != "one\xd0two" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // and if not, it ends all the same
		s, _, told := pipe(t, Limits{})
		_, _ = s.Write([]byte("one"))
		_ = s.Close()
		time.Sleep(byeLimit)
		s.bare.gate.writers.Wait()
		if len(*told) > 0 {
			t.Errorf("%v", *told)
		}
	})
}

func TestWhatIsNoPacketOfAClient(t *testing.T) {
	for name, row := range map[string]struct {
		in string
		ok bool
	}{
		"PUBLISH":                      {"\x30\x05\x00\x01axx", true},
		"two, and a piece":             {"\xc0\x00\xc0\x00\x30", true},
		"the largest":                  {"\x30\x80\x88\x10", true},
		"too large":                    {"\x30\x81\x88\x10", false},
		"a length of five digits":      {"\x30\x80\x80\x80\x80\x01", false},
		"a SUBSCRIBE that is long":     {"\x82\x81\x20", false},
		"an acknowledgement with more": {"\x40\x03", false},
		"a PINGREQ with more":          {"\xc0\x01", false},
		"CONNACK":                      {"\x20\x02\x00\x00", false},
		"AUTH":                         {"\xf0\x00", false},
		"reserved":                     {"\x00\x00", false},
	} {
		for _, step := range []int{1, 100} {
			synctest.Test(t, func(t *testing.T) {
				s, theirs, told := pipe(t, Limits{})
				go func() {
					for c := range slices.Chunk([]byte(row.in), step) {
						_, _ = theirs.Write(c)
					}
					_ = theirs.Close()
				}()
				got, _ := io.ReadAll(s)
				if row.ok != (string(got) == row.in) || row.ok == (len(*told) == 1 && (*told)[0].What == ExcessMalformed) {
					t.Errorf("%s: read %x, told %v", name, got, *told)
				}
			})
		}
	}
}

// What a subscription may be: of this room, of a kind that there is, sixteen of them; and giving back counts.
func TestSubscriptions(t *testing.T) {
	b := embedded(t, Config{Room: "kitchen"})
	c := raw(t, b.URL(), string(fixed(1).ID()))
	granted := func(f string) bool {
		tok := c.Subscribe(f, 0, func(paho.Client, paho.Message) {})
		if !tok.WaitTimeout(mqtttest.Patience) {
			t.Fatal("no suback")
		}
		return tok.(*paho.SubscribeToken).Result()[f] != subackFailed
	}
	device := string(fixed(2).ID())
	for f, want := range map[string]bool{
		"#": false, "conch/#": false, "conch/v1/+/floor/+": false, "conch/v1/cellar/floor/+": false, "conch/v1/kitchen": false,
		"conch/v1/kitchen/secrets/+": false, "conch/v1/kitchen/floor/" + device + "/x": false, "conch/v1/kitchen/floor": false,
		"conch/v1/kitchen/+/+/+": false, "conch/v1/kitchen/floor/me": false,
		"conch/v1/kitchen/#": true, "conch/v1/kitchen/+/+": true, "conch/v1/kitchen/floor/+": true, "conch/v1/kitchen/+/" + device: true,
		"conch/v1/kitchen/floor/" + device: true,
	} {
		if got := granted(f); got != want {
			t.Errorf("%s: %v; want %v", f, got, want)
		}
	}
	n := 5
	for i := byte(10); i < 60; i++ {
		if granted(mqtt.Topic("kitchen", mqtt.KindFloor, fixed(i).ID())) {
			n++
		}
	}
	if n != b.bounds.limits.Filters {
		t.Errorf("%d subscriptions; want %d", n, b.bounds.limits.Filters)
	}
	mine := mqtt.Topic("kitchen", mqtt.KindFloor, fixed(10).ID())
	if !granted(mine) {
		t.Error("what it has is refused when it asks again")
	}
	c.Unsubscribe(mine).WaitTimeout(mqtttest.Patience)
	if !granted(mqtt.Topic("kitchen", mqtt.KindStates, fixed(10).ID())) || granted(mine) {
		t.Error("one back is one more")
	}
	c.Disconnect(100)
	for late := time.After(mqtttest.Patience); b.server.Info.Clone().Subscriptions > 0; time.Sleep(time.Millisecond) {
		select {
		case <-late:
			t.Fatalf("%d subscriptions are left", b.server.Info.Clone().Subscriptions)
		default:
		}
	}
}
