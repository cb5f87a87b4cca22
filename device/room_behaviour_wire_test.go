package device

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/config"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/mqtttest"
)

// What anybody who reaches the broker can write (ROOM.md 2): it changes nothing, and is counted.

// letter is what was on the wire.
type letter struct {
	topic   string
	payload []byte
}

// eavesdrop keeps everything that is said in the room from now on.
func (h *roomHouse) eavesdrop() (all func() []letter) {
	h.t.Helper()
	id, err := mqtt.NewIdentity() // the embedded broker reads client ids
	if err != nil {
		h.t.Fatal(err)
	}
	var mu sync.Mutex
	var kept []letter
	c := paho.NewClient(paho.NewClientOptions().AddBroker("mqtt://" + h.broker.addr).SetClientID(string(id.ID())).SetProtocolVersion(4))
	if k := c.Connect(); !k.WaitTimeout(patience) || k.Error() != nil {
		h.t.Fatal("a bare client cannot connect:", k.Error())
	}
	h.t.Cleanup(func() { c.Disconnect(50) })
	k := c.Subscribe("conch/v1/"+h.room+"/+/+", 1, func(_ paho.Client, m paho.Message) {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, letter{m.Topic(), bytes.Clone(m.Payload())})
	})
	if !k.WaitTimeout(patience) || k.Error() != nil {
		h.t.Fatal("a bare client cannot listen:", k.Error())
	}
	return func() []letter { mu.Lock(); defer mu.Unlock(); return slices.Clone(kept) }
}

// guest is a member that takes part, is recorded, and has left: what follows is said in its name.
func (h *roomHouse) guest() (id mqtt.Identity, recorded []letter) {
	h.t.Helper()
	all := h.eavesdrop()
	l := h.liar("guest", "zoe")
	h.meet()
	m := round.Message{ID: "the-message", From: round.Human(l.self), Text: "How long does an egg have to boil?", Epoch: round.Epoch{N: 40, Device: l.self}, Number: 1}
	m.Metadata = round.PersonMetadata(m.Text, nil)
	l.hear(func(_ round.DeviceID, p round.Packet) {
		if c, ok := p.(round.Claim); ok {
			l.Send(round.Votes{Place: c.Place, Votes: []round.Vote{liarVote("zoe", c.Place.Message, 10)}})
		}
	})
	l.Send(round.Press{Epoch: m.Epoch})
	l.Send(m)
	off := round.InvolvementOff
	l.Send(round.Control{Companion: "zoe", Involvement: &off})
	h.until("the guest is answered", func() bool { return len(h.speakers()) > 0 })
	h.until("its votes are on the wire", func() bool {
		return slices.ContainsFunc(all(), func(o letter) bool { return strings.HasSuffix(o.topic, "states/"+string(l.self)) })
	})
	h.liars = nil
	l.stop()
	h.meet()
	h.quiet()
	for _, x := range h.alive() {
		h.until(x.name+" knows that ada has ended", func() bool { return x.has(about(round.EntrySpoke, m.ID)) })
	}
	for _, o := range all() {
		if strings.HasSuffix(o.topic, string(l.self)) {
			recorded = append(recorded, o)
		}
	}
	return l.id, recorded
}

// says lets mosquitto_pub write under the name of a device.
func (h *roomHouse) says(as round.DeviceID, o letter) {
	h.t.Helper()
	mqtttest.Publish(h.t, h.broker.addr, o.topic, o.payload, "-i", string(as), "-q", "1")
}

// state is all that a story can see of a device's room.
func (x *roomHome) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "members %v\n", x.Members())
	for _, e := range x.ledger(func(round.Entry) bool { return true }) {
		fmt.Fprintf(&b, "%s %s %s\n", e.Kind, e.Companion, e.Why)
	}
	for _, m := range x.Recent() {
		fmt.Fprintf(&b, "%s: %s\n", m.From, m.Text)
	}
	x.voice.mu.Lock()
	defer x.voice.mu.Unlock()
	fmt.Fprintf(&b, "prepared %d, hushed %d, corrected %d\n", len(x.voice.prepared), len(x.voice.hushes), len(x.voice.corrected))
	return b.String()
}

// refusals are what a device counted and did not deliver. The second copy of a press, which is always sent twice, has a
// counter of its own.
func (x *roomHome) refusals() uint64 {
	s := x.client.Stats()
	n := s.Again
	for _, k := range s.Refused {
		n += k
	}
	return n
}

// unmoved demands that what is written changes nothing on any device, and is counted by each. That all of it has been read
// shows an envelope after it, which is no more than a name.
func (h *roomHouse) unmoved(guest mqtt.Identity, why mqtt.Reason, write func() (count int)) {
	h.t.Helper()
	homes := h.alive()
	before, counted := map[*roomHome]string{}, map[*roomHome]uint64{}
	for _, x := range homes {
		before[x], counted[x] = x.state(), x.refusals()
	}
	n := write()
	mark := fmt.Sprint("mark.", rand.Uint64())
	h.says(guest.ID(), letter{"conch/v1/" + h.room + "/presence/" + string(guest.ID()), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{}}`, mark)})
	for _, x := range homes {
		h.until(x.name+" has read all", func() bool { return strings.Contains(x.client.Stats().Last[mqtt.ReasonMethod], mark) })
		h.until(fmt.Sprintf("%s has counted %d refusals", x.name, n), func() bool { return x.refusals() >= counted[x]+uint64(n) })
		if why != "" && x.client.Stats().Refused[why] == 0 {
			h.t.Errorf("%s has refused %v; want %q among them", x.name, x.client.Stats().Refused, why)
		}
		h.until(x.name+" has settled", x.Settled)
		if after := x.state(); after != before[x] {
			h.t.Errorf("%s has changed from\n%sto\n%s", x.name, before[x], after)
		}
	}
}

// hostile raises the three and a guest who has left, lets a story write, and wants the room to talk as before.
func hostile(t *testing.T, story func(t *testing.T, h *roomHouse, guest mqtt.Identity, recorded []letter)) {
	inRoom(t, func(t *testing.T, h *roomHouse) {
		_, _, hall := h.three()
		guest, recorded := h.guest()
		story(t, h, guest, recorded)
		hall.answered("Ada, how long does rice have to boil?", "ada")
	})
}

func TestRoomReplayedEnvelopesChangeNothing(t *testing.T) {
	hostile(t, func(t *testing.T, h *roomHouse, guest mqtt.Identity, recorded []letter) {
		kinds := map[string]bool{}
		for _, o := range recorded {
			kinds[strings.Split(o.topic, "/")[3]] = true
		}
		if len(kinds) < 4 {
			t.Fatalf("recorded %v; want presence, messages, states and floor", kinds)
		}
		h.unmoved(guest, "", func() (n int) {
			for _, o := range recorded {
				if !bytes.Contains(o.payload, []byte(`"presence.hello"`)) { // a hello by itself says nothing
					h.says(guest.ID(), o)
					n++
				}
			}
			return n
		})
	})
}

func TestRoomForgedEnvelopesChangeNothing(t *testing.T) {
	hostile(t, func(t *testing.T, h *roomHouse, guest mqtt.Identity, recorded []letter) {
		forger, err := mqtt.NewIdentity()
		if err != nil {
			t.Fatal(err)
		}
		const session = "0123456789abcdefghijkl"
		press := round.Press{Epoch: round.Epoch{N: 999, Device: forger.ID()}}
		_, signedByAnother, err := mqtt.Encode(h.room, forger, session, 2, press)
		if err != nil {
			t.Fatal(err)
		}
		floor := "conch/v1/" + h.room + "/floor/" + string(guest.ID())
		h.unmoved(guest, mqtt.ReasonForged, func() int {
			h.says(guest.ID(), letter{floor, signedByAnother})
			n := 1
			for _, o := range recorded { // words changed under a good signature
				for _, change := range [][2]string{{"egg", "leg"}, {`"importance":10`, `"importance":9`}, {`"n":40`, `"n":99`}, {`"seq":`, `"seq":9`}} {
					if forged := bytes.Replace(o.payload, []byte(change[0]), []byte(change[1]), 1); !bytes.Equal(forged, o.payload) && !bytes.Contains(forged, []byte(`"presence.hello"`)) {
						h.says(guest.ID(), letter{o.topic, forged})
						n++
					}
				}
			}
			return n
		})
		// Its own key, but another's name and another's companion: the session has not shown that it lives.
		h.unmoved(guest, "", func() int {
			topic, envelope, err := mqtt.Encode(h.room, guest, session, 2, round.Claim{Place: round.Place{Epoch: round.Epoch{N: 999, Device: guest.ID()}, Number: 1, Message: "m"}, Companion: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			h.says(guest.ID(), letter{topic, envelope})
			_, envelope, err = mqtt.Encode("another room", guest, session, 3, round.HistoryAsk{})
			if err != nil {
				t.Fatal(err)
			}
			h.says(guest.ID(), letter{topic, envelope})
			return 1
		})
		if !strings.Contains(t.Name(), "mosquitto") {
			return // the embedded broker lets nobody write under another's name
		}
		for _, x := range h.alive() {
			h.unmoved(guest, mqtt.ReasonForged, func() int {
				h.says(forger.ID(), letter{"conch/v1/" + h.room + "/floor/" + string(x.self), signedByAnother})
				return 1 // by x itself as somebody else in its name
			})
		}
	})
}

func TestRoomOversizedEnvelopesChangeNothing(t *testing.T) {
	hostile(t, func(t *testing.T, h *roomHouse, guest mqtt.Identity, recorded []letter) {
		topic := "conch/v1/" + h.room + "/messages/" + string(guest.ID())
		big := func(n int) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"message.send","params":{"text":"%s"},"session":"0123456789abcdefghijkl","seq":2}`, strings.Repeat("a", n))
		}
		h.unmoved(guest, mqtt.ReasonOversized, func() int {
			h.says(guest.ID(), letter{topic, big(70 << 10)})
			h.says(guest.ID(), letter{topic, big(255 << 10)})
			return 2
		})
		if !strings.Contains(t.Name(), "mosquitto") {
			return // the embedded broker closes the connection of whoever sends more
		}
		h.unmoved(guest, "", func() int {
			h.says(guest.ID(), letter{topic, big(1 << 20)})
			return 1
		})
	})
}

func TestRoomMalformedEnvelopesChangeNothing(t *testing.T) {
	hostile(t, func(t *testing.T, h *roomHouse, guest mqtt.Identity, recorded []letter) {
		rest := `,"session":"0123456789abcdefghijkl","seq":2}`
		payloads := []string{
			"no JSON", "{", "[]", "null", `"text"`, "\xff\xfe{}", strings.Repeat("[", 5000), `{"jsonrpc":"1.0","method":"message.send","params":{}` + rest,
			`{"jsonrpc":"2.0","method":"message.send","params":{},"id":7` + rest, `{"jsonrpc":"2.0","method":"floor.steal","params":{}` + rest,
			`{"jsonrpc":"2.0","method":"message.send","params":{},"session":"short","seq":2}`, `{"jsonrpc":"2.0","method":"message.send","params":{}` + rest,
			`{"jsonrpc":"2.0","method":"floor.press","params":{}` + rest, `{"jsonrpc":"2.0","method":"message.send","seq":-1}`,
		}
		topic := "conch/v1/" + h.room + "/messages/" + string(guest.ID())
		h.unmoved(guest, mqtt.ReasonMalformed, func() int {
			for _, p := range payloads {
				h.says(guest.ID(), letter{topic, []byte(p)})
			}
			return len(payloads)
		})
		// And what chance makes of real ones.
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		chance := rand.New(rand.NewPCG(seed, 1))
		h.unmoved(guest, "", func() int {
			const most = 40
			for range most {
				o := recorded[chance.IntN(len(recorded))]
				b := bytes.Clone(o.payload)
				for range 1 + chance.IntN(4) {
					switch i := chance.IntN(len(b)); chance.IntN(3) {
					case 0:
						b[i] ^= 1 << chance.IntN(8)
					case 1:
						b = append(b[:i], b[min(len(b), i+1+chance.IntN(9)):]...)
					default:
						b = slices.Insert(b, i, byte(chance.IntN(256)))
					}
					if len(b) == 0 {
						b = []byte{'{'}
					}
				}
				h.says(guest.ID(), letter{o.topic, b})
			}
			return 0 // a hello that is damaged and read all the same is not counted
		})
	})
}

// A broker that does not take the password: the device says so in words, works alone meanwhile, and comes into the room by
// itself when the password is right.
func TestRoomBrokerThatRefusesThePassword(t *testing.T) {
	t.Parallel()
	m := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"house": "right"}})
	file := filepath.Join(t.TempDir(), "password")
	write := func(word string) {
		if err := os.WriteFile(file, []byte(word+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong")
	aloneMeanwhile(t, m.URL(), func(c *config.Config) { c.Room.User, c.Room.PasswordFile = "house", file }, "it wants a user and a password", func() { write("right") })
}

// The same with a broker that is not there.
func TestRoomBrokerThatIsUnreachable(t *testing.T) {
	t.Parallel()
	b, err := broker.New(broker.Config{Listen: "127.77.0.1:0"}) // where no other test gets a port meanwhile
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr().String()
	b.Close()
	aloneMeanwhile(t, "mqtt://"+addr, nil, "nothing listens there", func() {
		b, err := broker.New(broker.Config{Listen: addr})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
	})
}

// aloneMeanwhile raises a whole device whose broker does not let it in, until it is mended.
func aloneMeanwhile(t *testing.T, url string, configure func(*config.Config), words string, mend func()) {
	t.Helper()
	b := newBox(t, boxOptions{room: &RoomOptions{}, config: func(c *config.Config) {
		c.Room.Broker, c.Device.Companion = url, "Ada"
		if configure != nil {
			configure(c)
		}
	}})
	b.until("in trouble", func() bool { return b.conds.Holds(condition.RoomCut) })
	for _, c := range b.conds.List() {
		if c.Code == condition.RoomCut && (!strings.Contains(c.Text, words) || !strings.Contains(c.Do, "works alone meanwhile")) {
			t.Errorf("it says %q, %q; want %q in it, and that it works alone", c.Text, c.Do, words)
		}
	}
	if s, err := (status{b.Device}).RoomStatus(); err != nil || s.Connected || len(s.Members) != 1 {
		t.Errorf("room status %v %d %v; want not connected, alone", s.Connected, len(s.Members), err)
	}
	b.answered(b.say(300 * time.Millisecond))
	mend()
	b.until("in the room", func() bool {
		s, err := (status{b.Device}).RoomStatus()
		return err == nil && s.Connected && !b.conds.Holds(condition.RoomCut)
	})
	b.answered(b.say(300 * time.Millisecond))
}
