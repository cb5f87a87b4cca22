package mqtt

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"conch/companions/round"
	"conch/device/benchtest"
)

// floodRoom is what the processes of BenchmarkFlood are told: room.json in their directory.
type floodRoom struct {
	Room    string
	Foreign string // the broker's host:port; empty: the host's own
	Network string // the own broker's
	Members []round.DeviceID
}

// floodRole is one of those processes: "host DIR", "member DIR", "flooder DIR KIND".
func floodRole(arg string) int {
	f := strings.Fields(arg)
	err := errors.New("no such role")
	switch dir := f[1]; f[0] {
	case "host", "member":
		err = floodDevice(dir, f[0])
	case "flooder":
		err = flood(dir, f[2])
	}
	fmt.Fprintln(os.Stderr, f[0], err)
	return 1
}

func openFloodRoom(dir, name string) (r floodRoom, id Identity, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "room.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err == nil {
		id, err = OpenIdentity(filepath.Join(dir, name))
	}
	return r, id, err
}

// floodTLS is both sides' configuration: the certificate of that device, of the room's authority.
func floodTLS(dir string, id Identity) (*tls.Config, error) {
	ca, err := os.ReadFile(filepath.Join(dir, "ca"))
	if err != nil {
		return nil, err
	}
	cert, err := os.ReadFile(filepath.Join(dir, string(id.id)+".cert"))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(cert)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: id.key}}, MinVersion: tls.VersionTLS13,
		RootCAs: pool, ClientCAs: pool, ServerName: "room", NextProtos: []string{ALPNRoom},
	}, nil
}

// floodDevice is a good device. "press N" on its standard input is an edge of its button, "stats" asks what it has counted; it says what
// it did and heard, and when (benchtest.Now).
func floodDevice(dir, name string) error {
	debug.SetGCPercent(50) // as device.Run does
	r, id, err := openFloodRoom(dir, name)
	if err != nil {
		return err
	}
	conf, err := floodTLS(dir, id)
	if err != nil {
		return err
	}
	said := make(chan string, 1<<16)
	go func() {
		for line := range said {
			fmt.Println(line)
		}
	}()
	member := map[round.DeviceID]bool{}
	for _, m := range r.Members {
		member[m] = true
	}
	cfg := Config{
		Room: r.Room, Identity: id, Member: func(d round.DeviceID) bool { return member[d] },
		OnPacket: func(from round.DeviceID, p round.Packet) {
			if p, ok := p.(round.Press); ok {
				said <- fmt.Sprintf("heard %s %d %d", from, p.Epoch.N, benchtest.Now())
			}
		},
		OnNote: func(round.DeviceID, Note) {},
		OnLink: func(up bool) { said <- fmt.Sprintf("link %v", up) },
	}
	switch {
	case r.Foreign != "":
		cfg.URL = "mqtt://" + r.Foreign
	case name == "host":
		server := conf.Clone()
		server.ClientAuth = tls.RequireAndVerifyClientCert
		b, err := NewBroker(BrokerConfig{
			Room: r.Room, Network: server,
			Admit: func(d round.DeviceID, _ string, state *tls.ConnectionState) error {
				if state != nil && state.PeerCertificates[0].Subject.CommonName != string(d) {
					return errors.New("not its certificate")
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		said <- "network " + b.NetworkAddr().String()
		cfg.URL = b.URL()
	default:
		cfg.Addresses = func(context.Context) []string { return []string{r.Network} }
		cfg.TLS = func() (*tls.Config, error) { return conf, nil }
	}
	c, err := NewClient(cfg)
	if err != nil {
		return err
	}
	go func() {
		for range time.Tick(time.Second) {
			c.Send(cards("ada"))
		}
	}()
	go floodButton(c, said)
	return c.Run(context.Background())
}

// floodButton takes edges from a pipe, as the device's own button takes them from the kernel.
func floodButton(c *Client, said chan<- string) {
	var dropped atomic.Uint64 // stands for the loudspeaker's generation (audio.Speaker.Drop)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var n uint64
		if _, err := fmt.Sscanf(in.Text(), "press %d", &n); err == nil {
			dropped.Add(1)
			at := benchtest.Now()
			c.Send(round.Press{Epoch: round.Epoch{N: n, Device: c.ID()}})
			said <- fmt.Sprintf("own %d %d", n, at)
			continue
		}
		b, _ := json.Marshal(c.Stats())
		said <- "stats " + string(b)
	}
	os.Exit(0)
}

// flooder is a member that speaks the wire by itself.
type flooder struct {
	room    floodRoom
	id      Identity
	conn    net.Conn
	guard   *guard
	start   time.Time
	next    uint16 // packet number
	sent    atomic.Int64
	victim  round.DeviceID
	hear    chan *Envelope // hellos
	session string         // the victim's, once heard
	key     string
}

func flood(dir, kind string) error {
	r, id, err := openFloodRoom(dir, "flooder-"+kind)
	if err != nil {
		return err
	}
	conf, err := floodTLS(dir, id)
	if err != nil {
		return err
	}
	f := &flooder{room: r, id: id, start: time.Now(), victim: r.Members[1]}
	go func() {
		for range time.Tick(500 * time.Millisecond) {
			fmt.Println("sent", f.sent.Load(), int64(time.Since(f.start)))
		}
	}()
	for { // whoever puts it out has it back at once
		if err := f.connect(conf); err == nil {
			err = f.run(kind)
			fmt.Println("out", err)
			_ = f.conn.Close()
		}
		time.Sleep(20 * time.Millisecond) // it is a process of its own
	}
}

func (f *flooder) connect(conf *tls.Config) (err error) {
	if f.room.Foreign != "" {
		f.conn, err = net.Dial("tcp", f.room.Foreign)
	} else {
		f.conn, err = tls.Dial("tcp", f.room.Network, conf)
	}
	if err != nil {
		return err
	}
	c := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	c.ProtocolName, c.ProtocolVersion, c.CleanSession, c.ClientIdentifier, c.Keepalive = "MQTT", 4, true, string(f.id.id), 60
	s := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	s.MessageID, s.Topics, s.Qoss = 1, []string{TopicRoot + f.room.Room + "/presence/+"}, []byte{0}
	for _, p := range []packets.ControlPacket{c, s} {
		if err := p.Write(f.conn); err != nil {
			return err
		}
	}
	f.guard = newGuard(f.id.id, newSession(), time.Since(f.start))
	f.hear = make(chan *Envelope, 64)
	go func(conn net.Conn, hear chan<- *Envelope) {
		defer close(hear)
		r := bufio.NewReaderSize(conn, 64<<10)
		for {
			p, err := packets.ReadPacket(r)
			if err != nil {
				return
			}
			if p, ok := p.(*packets.PublishPacket); ok {
				if l, r := look(f.room.Room, p.TopicName, p.Payload); r == nil && l.from != f.id.id {
					if e, r := l.open(f.room.Room); r == nil && e.hello != nil {
						if l.from == f.victim {
							f.session, f.key = l.Session, l.Key // read by run after e has been taken from hear
						}
						hear <- &e
					}
				}
			}
		}
	}(f.conn, f.hear)
	return nil
}

// publish appends the bytes of a PUBLISH.
func (f *flooder) publish(b []byte, t string, qos byte, payload []byte) []byte {
	n := 2 + len(t) + len(payload) + 2*int(qos)
	b = append(b, 0x30|qos<<1)
	for ; n > 127; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	b = append(b, byte(n), byte(len(t)>>8), byte(len(t)))
	b = append(b, t...)
	if qos > 0 {
		f.next = max(1, f.next+1)
		b = append(b, byte(f.next>>8), byte(f.next))
	}
	f.sent.Add(1)
	return append(b, payload...)
}

// run introduces itself, until both good devices have proved themselves, and then does what it came for.
func (f *flooder) run(kind string) error {
	began, sure := time.Now(), false
	var batch []byte
	for n := uint64(1); ; {
		batch = batch[:0]
		now := time.Since(f.start)
		for more := true; more; {
			select {
			case e, ok := <-f.hear:
				if !ok {
					return errors.New("put out")
				}
				_, _ = f.guard.admit(now, e)
			default:
				more = false
			}
		}
		if h, seq, ok := f.guard.hello(now); ok {
			params, _ := json.Marshal(h)
			m := methodNamed(methodHello)
			batch = f.publish(batch, Topic(f.room.Room, m.kind, f.id.id), 0, seal(f.room.Room, f.id, m, f.guard.session, seq, params))
		}
		if known := len(f.guard.peers); !sure && (known >= 2 && time.Since(began) > time.Second || time.Since(began) > 3*time.Second) {
			sure = true
			fmt.Println("flooding", kind)
		}
		if sure && kind != "none" {
			for len(batch) < 64<<10 {
				batch = f.one(batch, kind, n)
				n++
				if kind == "junk" {
					break
				}
			}
		}
		if len(batch) > 0 {
			if _, err := f.conn.Write(batch); err != nil {
				return err
			}
		}
		switch {
		case !sure || kind == "none":
			time.Sleep(5 * time.Millisecond) // it is a process of its own
		case kind == "junk":
			time.Sleep(time.Until(began.Add(time.Second + time.Duration(n)*time.Millisecond))) // 1,000 a second
		}
	}
}

// one is an envelope of the flood.
func (f *flooder) one(b []byte, kind string, n uint64) []byte {
	floor := Topic(f.room.Room, KindFloor, f.id.id)
	press := fmt.Appendf(nil, `{"epoch":{"n":%d,"device":"%s"}}`, n, f.id.id)
	switch kind {
	case "junk":
		junk := make([]byte, 300)
		for i := range junk {
			junk[i] = byte(rand.Uint32())
		}
		return f.publish(b, Topic(f.room.Room, KindPresence, f.id.id), 0, junk)
	case "forged":
		return f.publish(b, floor, 0, f.forged(methodPress, f.guard.session, b64.EncodeToString(f.id.PublicKey()), press, n))
	case "large":
		params := append(append([]byte(`{"to":"`), strings.Repeat("x", 250<<10)...), `"}`...)
		return f.publish(b, Topic(f.room.Room, KindMessages, f.id.id), 0, f.forged("message.history", f.guard.session, b64.EncodeToString(f.id.PublicKey()), params, n))
	case "qos1":
		return f.publish(b, Topic(f.room.Room, KindMessages, f.id.id), 1,
			f.forged("message.send", f.guard.session, b64.EncodeToString(f.id.PublicKey()), []byte(`{"id":"x","from":"eve","text":"hello"}`), n))
	case "foreign": // what another one's device might say, under its own topic
		press = fmt.Appendf(nil, `{"epoch":{"n":%d,"device":"%s"}}`, n, f.victim)
		return f.publish(b, floor, 0, f.forged(methodPress, f.session, f.key, press, n))
	case "noise": // the same under the other one's topic, where nobody forbids it
		press = fmt.Appendf(nil, `{"epoch":{"n":%d,"device":"%s"}}`, n, f.victim)
		return f.publish(b, Topic(f.room.Room, KindFloor, f.victim), 0, f.forged(methodPress, f.session, f.key, press, 1<<20+n))
	case "hammered":
		return f.publish(b, floor, 0, seal(f.room.Room, f.id, methodNamed(methodPress), f.guard.session, f.guard.seq(), press))
	}
	return b
}

// forged is an envelope in which only the signature is wrong.
func (f *flooder) forged(method, session, key string, params []byte, n uint64) []byte {
	sig := make([]byte, 64)
	for i := range sig[:32] {
		sig[i] = byte(rand.Uint32())
	}
	return fmt.Appendf(nil, `%s%s","params":%s,"key":"%s","session":"%s","seq":%d,"sig":"%s"}`, methodPrefix, method, params, key, session, n+1, b64.EncodeToString(sig))
}
