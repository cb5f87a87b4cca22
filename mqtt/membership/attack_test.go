package membership

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/mqtttest"
)

// words are what makes a room do something: a vote, silence, and somebody speaking.
func words(id round.DeviceID) map[string]round.Packet {
	place := round.Place{Epoch: round.Epoch{N: 3, Device: id}, Number: 1, Message: "01J9Z3"}
	vote := round.Vote{From: "ada", MessageID: "01J9Z3", State: round.StateSpeak, Importance: 7, Closing: round.ClosingNone}
	return map[string]round.Packet{
		"be there":          round.Beat{Name: "eve", Digest: "d", Cards: []round.Card{{ID: "ada", Name: "Ada"}}},
		"vote":              round.Votes{Place: place, Votes: []round.Vote{vote}},
		"hush":              round.Press{Epoch: place.Epoch},
		"make anyone speak": round.Claim{Place: place, Companion: "ada", Votes: []round.Vote{vote}},
	}
}

// canDo tries everything that a member can do, with Mosquitto's clients.
func canDo(t *testing.T, host *device, p papers, id mqtt.Identity, client round.DeviceID) (can []string) {
	t.Helper()
	host.knocks.forget() // these clients do not knock; a host that has just begun lets in whom it knows all the same
	addr, room := host.network(), host.Room().ID
	if out, err := p.subscribe(t, addr, string(client), "conch/v1/"+room+"/presence/+"); err == nil || strings.Contains(out, "Timed out") {
		can = append(can, "read")
	}
	for what, packet := range words(id.ID()) {
		topic, payload, err := mqtt.Encode(room, id, "AAAAAAAAAAAAAAAAAAAAAA", 2, packet)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.publish(t, addr, string(client), topic, payload); err == nil {
			can = append(can, what)
		}
	}
	return can
}

// heardFrom says whether a member has been given anything of a device: it is asked after something has gone through that came later.
func heardFrom(m *device, id round.DeviceID) bool {
	for {
		select {
		case from := <-m.packets:
			if from == id {
				return true
			}
		default:
			return false
		}
	}
}

func TestWhoIsNoMemberCanDoNothing(t *testing.T) {
	host, members := room(t, "kitchen", "cellar")
	kitchen, cellar := members[0], members[1]
	other, otherMembers := room(t, "neighbour")
	caCert, caKey := foreignCA(t)
	ownCA := host.papers().ca
	eve := identity(t)
	kitchen.stop() // its name is free for those who borrow it

	if can := canDo(t, host, kitchen.papers(), kitchen.id, kitchen.id.ID()); len(can) != 5 {
		t.Fatalf("a member can only %v: this test shows nothing", can)
	}
	before := "" // why the row before was refused: under TLS 1.3 a client is through before the broker looks, and may be gone before it speaks
	for _, row := range []struct {
		name   string
		papers papers
		id     mqtt.Identity
		client round.DeviceID
		why    string
	}{
		{"no certificate", papers{ca: ownCA}, eve, eve.ID(), "client didn't provide a certificate"},
		{"no certificate, a member's name", papers{ca: ownCA}, eve, kitchen.id.ID(), "client didn't provide a certificate"},
		{"a certificate of a foreign authority", signedBy(t, eve, caCert, caKey, string(eve.ID()), "10").trusting(ownCA), eve, eve.ID(), "not of this room"},
		{"a foreign certificate in a member's name", signedBy(t, eve, caCert, caKey, string(kitchen.id.ID()), "10").trusting(ownCA), eve, kitchen.id.ID(), "not of this room"},
		{"a certificate of another room", otherMembers[0].papers().trusting(ownCA), otherMembers[0].id, otherMembers[0].id.ID(), "not of this room"},
		{"of another room, a member's name", otherMembers[0].papers().trusting(ownCA), otherMembers[0].id, kitchen.id.ID(), "not of this room"},
		{"the host of another room", other.papers().trusting(ownCA), other.id, other.id.ID(), "not of this room"},
		{"a member's certificate, another client id", kitchen.papers(), kitchen.id, eve.ID(), "of another device"},
		{"a member's certificate, another member's id", kitchen.papers(), kitchen.id, cellar.id.ID(), "of another device"},
		{"a member's certificate, the host's id", kitchen.papers(), kitchen.id, host.id.ID(), "of another device"},
		{"the room's certificate for a stranger", signedBy(t, eve, ownCA, host.keyFile(), string(eve.ID()), "10"), eve, eve.ID(), "not a member"},
		{"the room's certificate, a stranger's key, a member's name", signedBy(t, eve, ownCA, host.keyFile(), string(kitchen.id.ID()), "10"), eve, kitchen.id.ID(), "of another device"},
		{"an expired certificate", expiredFor(t, kitchen.id, ownCA, host.keyFile(), string(kitchen.id.ID())), kitchen.id, kitchen.id.ID(), "expired"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var whys []string
			if can := canDo(t, host, row.papers, row.id, row.client); len(can) != 0 {
				t.Errorf("can %v", can)
			}
			until(t, "the broker has said why", func() bool { // which it does a few times a second
				whys = append(whys, drain(host.refusals)...)
				said := slices.ContainsFunc(whys, func(why string) bool { return strings.Contains(why, row.why) })
				if !said {
					_, _ = row.papers.subscribe(t, host.network(), string(row.client), "conch/v1/"+host.Room().ID+"/+/+")
				}
				return said
			})
			for _, why := range whys {
				if !strings.Contains(why, row.why) && (before == "" || !strings.Contains(why, before)) {
					t.Errorf("refused because %q; want %q", why, row.why)
				}
			}
			before = row.why
		})
	}
	host.client.Send(round.HistoryAsk{})
	mqtttest.Await(t, cellar.packets, "what the host says")
	if heardFrom(cellar, eve.ID()) || heardFrom(cellar, otherMembers[0].id.ID()) || heardFrom(host, eve.ID()) {
		t.Error("a stranger was heard")
	}
	if got := len(host.broker.Clients()); got != 2 {
		t.Errorf("%d clients at the broker; want the host and the cellar", got)
	}
}

// trusting lets a client believe the server, so that it is the server who refuses.
func (p papers) trusting(ca string) papers {
	p.ca = ca
	return p
}

func (d *device) keyFile() string { return d.store.dir + "/" + keyFile }

func TestAMemberWritesOnlyUnderItsOwnName(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	kitchen, cellar := m[0], m[1]
	kitchen.stop()
	cellar.stop()
	host.knocks.forget()
	addr, root, own := host.network(), "conch/v1/"+host.Room().ID, string(kitchen.id.ID())
	p := kitchen.papers()
	lines := cellar.papers().listen(t, addr, string(cellar.id.ID()), root+"/+/+")
	say := func(topic, what string) {
		if err := p.publish(t, addr, own, topic, []byte(what)); err != nil {
			t.Logf("%s: %v", topic, err)
		}
	}
	until(t, "the listener hears", func() bool {
		say(root+"/floor/"+own, "are you there?")
		return len(lines) > 0
	})
	for _, topic := range []string{
		root + "/secrets/" + own, root + "/floor/" + own + "/x", "conch/v1/kitchen/floor/" + own,
	} {
		say(topic, "forbidden")
	}
	say(root+"/floor/"+own, "the last")
	for line := ""; !strings.Contains(line, "the last"); {
		if line = mqtttest.Await(t, lines, "the last word"); strings.Contains(line, "forbidden") {
			t.Errorf("it came: %s", line)
		}
	}
	for _, filter := range []string{"#", "conch/v1/+/floor/+", "conch/v1/kitchen/+/+", "$SYS/#"} {
		if out, err := p.subscribe(t, addr, own, filter); err == nil || !strings.Contains(out, "denied") {
			t.Errorf("%s may be read: %s", filter, out)
		}
	}
	say(root+"/members/"+string(host.id.ID()), "forbidden") // under another's name: it is put out
	if err := p.publish(t, addr, own, root+"/floor/"+own, []byte("and again")); err == nil {
		t.Error("it has spoken under another's name, and is let in again at once")
	}
	for len(lines) > 0 {
		if line := <-lines; strings.Contains(line, "forbidden") {
			t.Errorf("it came: %s", line)
		}
	}
}

func TestTheDoorSpeaksOnlyTLS13(t *testing.T) {
	host, m := room(t, "kitchen")
	host.knocks.forget()
	p := m[0].papers()
	connect := func(args ...string) string {
		out, _ := program(t, []byte("Q\n"), "openssl", append([]string{"s_client", "-connect", host.network(), "-CAfile", p.ca}, args...)...)
		return out
	}
	if out := connect("-tls1_3", "-cert", p.cert, "-key", p.key); !strings.Contains(out, "TLSv1.3") || strings.Contains(out, "alert") {
		t.Fatalf("a member is refused: this test shows nothing: %s", out)
	}
	for name, args := range map[string][]string{
		"TLS 1.2":               {"-tls1_2", "-cert", p.cert, "-key", p.key},
		"another protocol":      {"-tls1_3", "-cert", p.cert, "-key", p.key, "-alpn", "h2"},
		"pairing, and it is no": {"-tls1_3", "-cert", p.cert, "-key", p.key, "-alpn", mqtt.ALPNPair},
		"pairing and the room":  {"-tls1_3", "-cert", p.cert, "-key", p.key, "-alpn", mqtt.ALPNPair + ",mqtt"},
	} {
		if out := connect(args...); !strings.Contains(out, "alert") {
			t.Errorf("%s is let in: %s", name, out)
		}
	}
	// Without TLS it hears nothing at all.
	conn, err := net.Dial("tcp", host.network())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(mqtttest.Patience))
	_, _ = conn.Write([]byte("\x10\x20\x00\x04MQTT\x04\x02\x00\x0a\x00\x14aaaaaaaaaaaaaaaaaaaa"))
	if b, _ := io.ReadAll(conn); len(b) > 0 && b[0]>>4 == 2 {
		t.Errorf("plain MQTT is answered: %x", b)
	}
}

// Other programs on the host's computer reach its plain door, and nothing behind it.
func TestThePlainDoorIsForTheHostAlone(t *testing.T) {
	host, _ := room(t, "kitchen")
	addr, port, _ := net.SplitHostPort(host.broker.Addr().String())
	if ip := net.ParseIP(addr); !ip.IsLoopback() {
		t.Fatalf("it is at %s", addr)
	}
	_, password := host.Loopback()
	for _, row := range []struct {
		id, password string
		in           bool
	}{
		{string(host.id.ID()), "", false}, {string(host.id.ID()), "-" + password, false}, {string(identity(t).ID()), password, false},
		{string(host.id.ID()), password, true},
	} {
		args := []string{"-h", addr, "-p", port, "-V", "311", "-i", row.id, "-u", "host", "-P", row.password, "-t", "conch/v1/" + host.Room().ID + "/floor/" + row.id, "-m", "x", "-q", "1"}
		if out, err := program(t, nil, "mosquitto_pub", args...); (err == nil) != row.in {
			t.Errorf("%s with %q: %v %s", row.id, row.password, err, out)
		}
	}
}

// A client of Go's that shows a certificate it made itself, as pairing does, is not let to the broker.
func TestACertificateMadeByTheClientIsRefused(t *testing.T) {
	host, _ := room(t, "kitchen")
	eve := fresh(t, at(today).Clock())
	if err := eve.Found("kitchen", "eve", false); err != nil {
		t.Fatal(err)
	}
	f := eve.founding
	pair := tls.Certificate{Certificate: [][]byte{f.rec.Cert, f.rec.CA}, PrivateKey: eve.id.PrivateKey()}
	conn, err := tls.Dial("tcp", host.network(), &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err) // under TLS 1.3 the refusal comes after that
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(mqtttest.Patience))
	_, _ = conn.Write([]byte("\x10\x20\x00\x04MQTT\x04\x02\x00\x0a\x00\x14" + string(eve.id.ID())))
	if n, err := conn.Read(make([]byte, 16)); err == nil || n > 0 || !strings.Contains(err.Error(), "tls") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A member's certificate is good for a server, too, and the room's authority signed it: it is not the host's all the same.
func TestAMemberCannotPlayTheHost(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	kitchen, cellar := m[0], m[1]
	kitchen.stop()
	cellar.stop()
	b, err := broker.New(broker.Config{Network: &broker.Network{Listen: "127.0.0.1:0", TLS: &tls.Config{
		Certificates: []tls.Certificate{kitchen.creds.Load().pair}, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(tls.ConnectionState) error { return nil },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	again := open(t, cellar.dir, cellar.id, at(today).Clock())
	again.only = b.NetworkAddr().String()
	again.connect()
	if err := mqtttest.Await(t, again.trouble, "trouble"); !errors.Is(err, ErrOtherHost) {
		t.Errorf("%v", err)
	}
	if len(b.Clients()) > 0 || again.Room() == nil || host.Room() == nil {
		t.Errorf("%v are at the false host", b.Clients())
	}
}
