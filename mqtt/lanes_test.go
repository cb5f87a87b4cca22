package mqtt

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"pgregory.net/rapid"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// Whatever others say: a sender's first press is handed on after at most one of each other's, its own go in order, memory is bounded, and
// who keeps within its place loses nothing.
func TestLanesAreFair(t *testing.T) {
	room := make([]byte, maxHistory)
	rapid.Check(t, func(t *rapid.T) {
		q := newLanes(Bounds{})
		type said struct {
			from  round.DeviceID
			press bool
			n     int
		}
		var modest [2][]said // of the good one: waiting
		n, waited := 0, 0
		check := func(a arrival) {
			var s said
			if _, err := fmt.Sscanf(a.topic, "%s %t %d", &s.from, &s.press, &s.n); err != nil {
				t.Fatal(err)
			}
			if s.from != "good" {
				s.press = s.press && len(a.payload) <= maxPress
				if len(modest[1]) > 0 {
					if waited++; waited > 3 || !s.press {
						t.Fatalf("a press waits behind %d of others; the last is %v", waited, s)
					}
				}
				return
			}
			k := 0
			if s.press {
				k, waited = 1, 0
			}
			if len(modest[k]) == 0 || modest[k][0] != s {
				t.Fatalf("%v came; want the first of %v", s, modest[k])
			}
			modest[k] = modest[k][1:]
		}
		for range rapid.IntRange(1, 2000).Draw(t, "steps") {
			from := rapid.SampledFrom([]round.DeviceID{"bad1", "bad2", "bad3", "good", ""}).Draw(t, "from")
			if from == "" {
				if a, ok := q.next(); ok {
					check(a)
				}
				continue
			}
			s := said{from, rapid.Bool().Draw(t, "press"), n}
			n++
			size := rapid.SampledFrom([]int{100, 1000, maxHistory}).Draw(t, "size")
			if from == "good" {
				k, most, sum := 0, maxArrived, 300
				if s.press {
					k, most = 1, maxUrgent
				}
				if size = sum; len(modest[k]) == most {
					continue
				}
				modest[k] = append(modest[k], s)
			}
			q.push(0, from, s.press, arrival{topic: fmt.Sprint(s.from, " ", s.press, " ", s.n), payload: room[:size]})
			for id, l := range q.of {
				if len(l.presses) > maxUrgent || len(l.rest) > maxArrived || l.bytes > maxArrivedOne {
					t.Fatalf("%s: %d presses, %d others, %d bytes", id, len(l.presses), len(l.rest), l.bytes)
				}
			}
		}
		for a, ok := q.next(); ok; a, ok = q.next() {
			check(a)
		}
		if len(modest[0])+len(modest[1]) > 0 || q.bytes != 0 || len(q.others)+len(q.hasty) > 0 {
			t.Fatalf("left: %v; %d bytes", modest, q.bytes)
		}
	})
}

// Two that say as much as they can get the same share, in bytes.
func TestLanesShareByBytes(t *testing.T) {
	q := newLanes(Bounds{})
	got := map[string]int{}
	for range 10_000 {
		for from, size := range map[round.DeviceID]int{"large": 60 << 10, "small": 300} {
			for len(q.lane(0, from).rest) < 4 {
				q.push(0, from, false, arrival{topic: string(from), payload: make([]byte, size)})
			}
		}
		a, _ := q.next()
		got[a.topic] += len(a.payload) + overhead
	}
	if r := float64(got["large"]) / float64(got["small"]); r < 0.9 || r > 1.1 {
		t.Errorf("shares: %v", got)
	}
}

// All senders together hold no more than maxArrivedBytes, and it is those with most that pay.
func TestAllLanesAreBounded(t *testing.T) {
	q := newLanes(Bounds{})
	q.push(0, "good", false, arrival{topic: "good", payload: make([]byte, 4000)})
	for i := range 10 * maxPeers {
		q.push(0, round.DeviceID(fmt.Sprint("bad", i)), false, arrival{payload: make([]byte, maxHistory)})
		if q.bytes > maxArrivedBytes || len(q.of) > maxPeers {
			t.Fatalf("%d bytes of %d senders", q.bytes, len(q.of))
		}
	}
	for a, ok := q.next(); ok; a, ok = q.next() {
		if a.topic == "good" {
			return
		}
	}
	t.Error("what a modest one said is lost")
}

// What a member may say comes back by the second; beyond it nothing of it gets in, others and its presses do, and who it is is told.
func TestWhoSaysTooMuchIsToldOf(t *testing.T) {
	q := newLanes(Bounds{Envelopes: Rate{10, 20}, Bytes: Rate{1000, 5000}, Presses: Rate{2, 4}})
	count := func(now time.Duration, from round.DeviceID, press bool, size, n int) (in int) {
		for range n {
			if q.admit(now, from, press, size) {
				in++
			}
		}
		return in
	}
	for _, c := range []struct {
		at    time.Duration
		from  round.DeviceID
		press bool
		size  int
		n     int
		in    int
		told  string
	}{
		{0, "bad", false, 10, 100, 20, "bad: 80 envelopes, 800 bytes in 1s, over false"},
		{0, "bad", true, 10, 100, 4, ""},
		{0, "good", false, 10, 20, 20, ""},
		{time.Second, "bad", false, 10, 100, 10, "bad: 186 envelopes, 1860 bytes in 1s, over false"},
		{2 * time.Second, "bad", true, MaxEnvelope + 1, 1, 0, ""}, // no press is that long: it counts as all the rest
		{4 * time.Second, "bad", false, 4000, 9, 1, "bad: 9 envelopes, 97537 bytes in 3s, over false"},
		{13 * time.Second, "good", false, 10, 1, 1, ""},
		{14 * time.Second, "good", false, 10, 1, 1, "bad: 0 envelopes, 0 bytes in 10s, over true"},
		{15 * time.Second, "good", false, 10, 1, 1, ""},
	} {
		if in := count(c.at, c.from, c.press, c.size, c.n); in != c.in {
			t.Errorf("%v: %d of %s got in; want %d", c.at, in, c.from, c.in)
		}
		told := ""
		for _, f := range q.floods(c.at) {
			told = fmt.Sprintf("%s: %d envelopes, %d bytes in %v, over %v", f.From, f.Envelopes, f.Bytes, f.For, f.Over)
		}
		if told != c.told {
			t.Errorf("%v: told %q; want %q", c.at, told, c.told)
		}
	}
	if got := q.dropped(); len(got) != 1 || got["bad"] != 275 {
		t.Errorf("dropped: %v", got)
	}
}

// Noise under every name at once has no more of it looked at than one device can bear, and whoever says as much as a good device does is heard.
func TestNoiseUnderAllNamesIsBounded(t *testing.T) {
	q := newLanes(Bounds{})
	const names, seconds = 63, 60
	in := 0
	for now := time.Duration(0); now < seconds*time.Second; now += time.Millisecond {
		for i := range names {
			if q.admit(now, round.DeviceID(fmt.Sprint("name", i)), i%2 == 0, 300) {
				in++
			}
		}
		if now%(100*time.Millisecond) == 0 && !q.admit(now, "good", now%time.Second == 0, 300) {
			t.Fatalf("%v: a good one is not heard", now)
		}
	}
	t.Logf("%d of %d a second are looked at", in/seconds, names*1000)
	if most := 6000 + 64*names + seconds*(1500+16*names); in > most {
		t.Errorf("%d get in; want at most %d", in, most)
	}
}

// What is not wanted is acknowledged where it must be, and never reaches the library; what comes between it does, whole.
func TestTheDoorDropsWhatIsNotRead(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var asked []string
	p := newPatient(ours, func(topic string, press bool, size int) bool {
		asked = append(asked, fmt.Sprint(topic, press, size > 100))
		return topic != "bad"
	})
	press := []byte(pressPrefix + `,"params":{}`)
	send := func(topic string, qos byte, payload []byte) {
		pk := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
		pk.TopicName, pk.Qos, pk.MessageID, pk.Payload = topic, qos, 0x0102, payload
		if err := pk.Write(theirs); err != nil {
			t.Error(err)
		}
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send("bad", 0, make([]byte, 3*limitedBuffer))
		send("bad", 1, press)
		send("bad", 1, make([]byte, MaxPacket+1))
		send("good", 1, []byte("hello"))
	}()
	acks := make(chan []byte, 1)
	go func() {
		b := make([]byte, 8)
		_, _ = io.ReadFull(theirs, b)
		acks <- b
		<-sent
		send("good", 0, press)
	}()
	for i, want := range []string{"hello", string(press)} {
		cp, err := packets.ReadPacket(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := cp.(*packets.PublishPacket); got.TopicName != "good" || string(got.Payload) != want {
			t.Fatalf("%d: %v", i, got)
		}
	}
	if got := <-acks; !bytes.Equal(got, []byte{0x40, 2, 1, 2, 0x40, 2, 1, 2}) {
		t.Errorf("acknowledged: %x", got)
	}
	want := "[badfalse true badtrue false badfalse true goodfalse false goodtrue false]"
	if got := fmt.Sprint(asked); got != want {
		t.Errorf("asked %s; want %s", got, want)
	}
}

// A member that forges presses without end costs another one's true press nothing, whatever the reader is at. (One lane for all, of 64
// places, was full of the forged ones.)
func TestForgedPressesDoNotCostATrueOne(t *testing.T) {
	_, url, addr := foreign(t)
	hold, inside := make(chan struct{}), make(chan struct{}, 1)
	pressed, floods := make(chan round.DeviceID, 16), make(chan Flood, 16)
	var d *device
	d = newDevice(t, &Config{URL: url, OnFlood: func(f Flood) { floods <- f }, OnPacket: func(from round.DeviceID, p round.Packet) {
		switch p.(type) {
		case round.Ended:
			inside <- struct{}{}
			<-hold
		case round.Press:
			pressed <- from
		}
		d.packets <- got{from, p}
	}})
	d.run()
	d.up()
	good := start(t, Config{URL: url}).up()
	meet(t, map[*device]round.Beat{d: cards(), good: cards()})
	good.Send(round.Ended{Place: round.Place{Number: 1, Message: "m"}})
	mqtttest.Await(t, inside, "the reader to be busy")
	bad, client := fixed(9), raw(t, "tcp://"+addr, "bad")
	_, forged, err := Encode("kitchen", bad, testSession, 9, round.Press{Epoch: round.Epoch{N: 9, Device: bad.id}})
	if err != nil {
		t.Fatal(err)
	}
	forged = bytes.Replace(forged, []byte(`"n":9`), []byte(`"n":8`), 1)
	for range 300 {
		client.Publish(Topic("kitchen", KindFloor, bad.id), 0, false, forged)
	}
	last := client.Publish(Topic("kitchen", KindFloor, bad.id), 1, false, forged)
	if !last.WaitTimeout(mqtttest.Patience) {
		t.Fatal("the broker does not take it")
	}
	good.Send(round.Press{Epoch: round.Epoch{N: 1, Device: good.ID()}})
	waiting := func() int {
		d.lanes.mu.Lock()
		defer d.lanes.mu.Unlock()
		return len(d.lanes.lane(0, good.ID()).presses)
	}
	for late := time.Now().Add(mqtttest.Patience); waiting() == 0; time.Sleep(time.Millisecond) { // another process hands it on
		if time.Now().After(late) {
			t.Fatal("the press does not come")
		}
	}
	close(hold)
	if from := mqtttest.Await(t, pressed, "the press"); from != good.ID() {
		t.Errorf("a press of %s", from)
	}
	if s := d.Stats(); s.Senders[bad.id][ReasonForged] > maxUrgent || s.Senders[bad.id][ReasonFlood] == 0 || s.Senders[good.ID()] != nil {
		t.Errorf("by sender: %v", s.Senders)
	}
	if f := mqtttest.Await(t, floods, "word of it"); f.From != bad.id || f.Signed || f.Envelopes < 50 || f.Over {
		t.Errorf("told: %+v", f)
	}
}
