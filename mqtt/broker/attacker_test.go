package broker

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// attacker speaks the wire by hand, through the broker's listener to the network, with the key of a member.
type attacker struct {
	net.Conn
	id round.DeviceID
}

// attack connects as a member does, and says who it is.
func attack(addr string, conf *tls.Config, id round.DeviceID, from net.IP) (*attacker, error) {
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: from}}
	c, err := tls.DialWithDialer(&d, "tcp", addr, conf)
	if err != nil {
		return nil, err
	}
	a := &attacker{Conn: c, id: id}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0}, str(string(id))...) // clean, no keep-alive
	if _, err := a.Write(frameOf(0x10, body)); err != nil {
		return nil, err
	}
	var ack [4]byte
	if _, err := io.ReadFull(c, ack[:]); err != nil {
		_ = c.Close()
		return nil, err
	}
	if ack[3] != 0 {
		_ = c.Close()
		return nil, fmt.Errorf("refused: %d", ack[3])
	}
	_ = c.SetDeadline(time.Time{})
	return a, nil
}

func str(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }

// frameOf is a packet (MQTT 3.1.1, 2.2).
func frameOf(first byte, body []byte) []byte {
	return append(binary.AppendUvarint([]byte{first}, uint64(len(body))), body...)
}

func (a *attacker) subscribe(number uint16, qos byte, filters ...string) error {
	body := binary.BigEndian.AppendUint16(nil, number)
	for _, f := range filters {
		body = append(append(body, str(f)...), qos)
	}
	_, err := a.Write(frameOf(0x82, body))
	return err
}

func (a *attacker) publish(k mqtt.Kind, qos byte, number uint16, payload []byte) error {
	body := str(mqtt.Topic("kitchen", k, a.id))
	if qos > 0 {
		body = binary.BigEndian.AppendUint16(body, number)
	}
	_, err := a.Write(frameOf(0x30|qos<<1, append(body, payload...)))
	return err
}

// drain reads what comes until the connection ends.
func (a *attacker) drain() { _, _ = io.Copy(io.Discard, a.Conn) }

// keeper is a broker in a process of its own, whose memory can be looked at.
type keeper struct {
	t     testing.TB
	pid   int
	plain string
	addr  string
	a     *mqtttest.Authority
	lines <-chan string // its log
}

// keepRoom starts the test binary as a broker with the bounds that it has by default.
func keepRoom(t testing.TB) *keeper {
	t.Helper()
	k := &keeper{t: t, a: mqtttest.NewAuthority(t)}
	process, lines := mqtttest.Process(t, "CONCH_BROKER_HELPER=keep "+keepPair(t, k.a))
	k.pid, k.lines = process.Pid, lines
	for {
		if at, ok := strings.CutPrefix(mqtttest.Await(t, lines, "the broker"), "at "); ok {
			if _, err := fmt.Sscan(at, &k.plain, &k.addr); err != nil {
				t.Fatal(err)
			}
			return k
		}
	}
}

// runKeeper is that process.
func runKeeper(dir string) int {
	conf, err := readPair(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conf.ClientCAs, conf.ClientAuth = conf.RootCAs, tls.RequireAndVerifyClientCert
	b, err := New(keeperConfig(conf))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("at", b.Addr(), b.NetworkAddr())
	select {}
}

// member is a good one, connected.
func (k *keeper) member() *device {
	k.t.Helper()
	id := identity(k.t)
	return start(k.t, mqtt.Config{Identity: id, Addresses: at(k.addr), TLS: k.a.Client(k.t, id)}).up()
}

// attacker is a bad one, whose key is as good as everybody's.
func (k *keeper) attacker() func() (*attacker, error) {
	id := identity(k.t)
	conf, _ := k.a.Client(k.t, id)()
	from := address()
	return func() (*attacker, error) { return attack(k.addr, conf, id.ID(), from) }
}

var addresses atomic.Int32

// address is one that nobody else comes from.
func address() net.IP {
	n := addresses.Add(1)
	return net.IPv4(127, 3, byte(n>>8), byte(n))
}

// resident is what the broker's process has in memory, in KiB: now, and at most.
func (k *keeper) resident() (now, most int) {
	k.t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(k.pid) + "/status")
	if err != nil {
		k.t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		switch f[0] {
		case "VmRSS:":
			now, _ = strconv.Atoi(f[1])
		case "VmHWM:":
			most, _ = strconv.Atoi(f[1])
		}
	}
	return now, most
}

// an assault is what one member does until the time is over. Whatever it is put out for, it comes back at once and goes on.
type assault struct {
	name string
	run  func(connect func() (*attacker, error), over func() bool)
}

// again keeps an attacker connected.
func again(connect func() (*attacker, error), over func() bool, do func(*attacker) error) {
	for !over() {
		a, err := connect()
		if err != nil {
			time.Sleep(5 * time.Millisecond) // an attacker that was refused comes again at once
			continue
		}
		_ = a.SetWriteDeadline(time.Now().Add(20 * time.Second))
		stop := make(chan struct{})
		go func() {
			for !over() {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
			_ = a.Conn.(*tls.Conn).NetConn().Close()
		}()
		for err == nil && !over() {
			err = do(a)
		}
		close(stop)
		_ = a.Conn.(*tls.Conn).NetConn().Close()
	}
}

var whole = mqtt.Filter("kitchen")

func assaults() []assault {
	small, envelope, large := make([]byte, 300), make([]byte, 60<<10), make([]byte, 250_000)
	flood := func(qos byte, k mqtt.Kind, payload []byte, reads bool, filters ...string) func(func() (*attacker, error), func() bool) {
		return func(connect func() (*attacker, error), over func() bool) {
			var last *attacker
			n := uint16(0)
			again(connect, over, func(a *attacker) error {
				if a != last {
					last = a
					if reads {
						go a.drain()
					}
					if len(filters) > 0 {
						if err := a.subscribe(1, 1, filters...); err != nil {
							return err
						}
					}
				}
				n = max(1, n+1)
				return a.publish(k, qos, n, payload)
			})
		}
	}
	return []assault{
		{"nothing", func(_ func() (*attacker, error), over func() bool) {
			for !over() {
				time.Sleep(10 * time.Millisecond) // the calm that the attacks are compared with
			}
		}},
		{"subscribes, publishes 250 kB, reads nothing", flood(0, mqtt.KindMessages, large, false, whole)},
		{"publishes 60 KiB, reads nothing, QoS 1", flood(1, mqtt.KindMessages, envelope, false, whole)},
		{"250 kB payloads", flood(0, mqtt.KindMessages, large, true)},
		{"300 bytes, QoS 0", flood(0, mqtt.KindFloor, small, true)},
		{"300 bytes, QoS 1, acknowledges nothing", flood(1, mqtt.KindFloor, small, true, whole)},
		{"300 bytes, QoS 2", flood(2, mqtt.KindStates, small, true, whole)},
		{"180,000 subscriptions", func(connect func() (*attacker, error), over func() bool) {
			n := 0
			again(connect, over, func(a *attacker) error {
				if n == 0 {
					go a.drain()
				}
				if n >= 180_000 {
					time.Sleep(10 * time.Millisecond) // holds what it has subscribed until the attack is over
					return nil
				}
				var fs []string
				for range 100 {
					n++
					fs = append(fs, fmt.Sprintf("%skitchen/floor/%d/%d", mqtt.TopicRoot, n%300, n))
				}
				return a.subscribe(uint16(1+n%60000), 0, fs...)
			})
		}},
		{"one SUBSCRIBE of 250 kB after the other", func(connect func() (*attacker, error), over func() bool) {
			fs := make([]string, 9000)
			for i := range fs {
				fs[i] = fmt.Sprintf("%skitchen/%d", mqtt.TopicRoot, i)
			}
			again(connect, over, func(a *attacker) error { return a.subscribe(1, 0, fs...) })
		}},
		{"PINGREQ", func(connect func() (*attacker, error), over func() bool) {
			pings := []byte(strings.Repeat("\xc0\x00", 1000))
			again(connect, over, func(a *attacker) error { _, err := a.Write(pings); return err })
		}},
		{"PUBREL and PUBREC of nothing", func(connect func() (*attacker, error), over func() bool) {
			junk := []byte(strings.Repeat("\x62\x02\x00\x07\x50\x02\x00\x09", 500))
			again(connect, over, func(a *attacker) error { _, err := a.Write(junk); return err })
		}},
		{"connects without end", func(connect func() (*attacker, error), over func() bool) {
			again(connect, over, func(*attacker) error { return errors.New("and again") })
		}},
		{"another's presses", func(connect func() (*attacker, error), over func() bool) {
			again(connect, over, func(a *attacker) error {
				_, err := a.Write(frameOf(0x30, append(str(mqtt.Topic("kitchen", mqtt.KindFloor, fixed(2).ID())), small...)))
				return err
			})
		}},
		{"reads a byte a second", func(connect func() (*attacker, error), over func() bool) {
			var last *attacker
			again(connect, over, func(a *attacker) error {
				if a != last {
					last = a
					if t, ok := a.Conn.(*tls.Conn).NetConn().(*net.TCPConn); ok {
						_ = t.SetReadBuffer(4096)
					}
					if err := a.subscribe(1, 1, whole); err != nil {
						return err
					}
				}
				_ = a.publish(mqtt.KindMessages, 0, 0, envelope)
				time.Sleep(time.Second) // long enough to be dropped for what it sent
				_, err := a.Read(make([]byte, 1))
				return err
			})
		}},
	}
}
