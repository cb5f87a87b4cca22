package homeassistant

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/mqtt/mqtttest"
)

// A broker that takes less than it would as it is installed is told what it takes: in parts that fit, once at most, kept by nobody.
func TestABrokerWithLimits(t *testing.T) {
	for name, row := range map[string]struct {
		extra string
		most  int // bytes of a message
		parts int // of the discovery, at least
		kept  bool
	}{
		"small messages": {"max_packet_size 2000", 2000, 3, true},
		"smaller ones":   {"max_packet_size 1200", 1200, 5, true},
		"large enough":   {"max_packet_size 60000", 60000, 1, true},
		"nothing kept":   {"retain_available false", 1 << 20, 1, false},
		"no answers":     {"max_qos 0", 1 << 20, 1, true},
		"all of it":      {"max_qos 0\nretain_available false\nmax_packet_size 2000", 2000, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := mqtttest.Start(t, mqtttest.Options{Extra: row.extra})
			d := newFake()
			d.o.Config.Broker, d.o.Note = m.URL(), filepath.Join(t.TempDir(), "note")
			w := watch(t, m.Addr(), "-q", "0")
			stop := runs(t, d)
			w.shows(baseTopic+"/problem/state", "OFF")
			w.shows(baseTopic+"/volume/state", "40")
			parts, components := 0, map[string]bool{}
			for _, line := range w.lines() {
				topic, payload, _ := strings.Cut(line[2:], " ")
				if len(topic)+len(payload) > row.most {
					t.Errorf("%s has %d bytes", topic, len(payload))
				}
				if !strings.HasPrefix(topic, "homeassistant/device/conch_"+string(kitchen)) {
					continue
				}
				parts++
				if got := check(payload, topic); len(got) > 0 {
					t.Errorf("%s is not what Home Assistant takes: %v", topic, got)
				}
				var part struct{ Cmps map[string]any }
				if err := json.Unmarshal([]byte(payload), &part); err != nil {
					t.Error(err)
				}
				for key := range part.Cmps {
					components[key] = true
				}
			}
			d.b.mu.Lock()
			want := d.b.v.entities(d.b.a.rules)
			d.b.mu.Unlock()
			if parts < row.parts || row.parts == 1 && parts > 1 || len(components) != len(want) {
				t.Errorf("%d of %d entities in %d parts", len(components), len(want), parts)
			}
			stop()
			if left := kept(t, m.Addr(), "-q", "0"); (len(left) > 0) != row.kept {
				t.Errorf("kept: %q", left)
			}
			d.o.Config.Discovery = false // and all of it is taken away again
			again := runs(t, d)
			w.until("nothing is noted", func() bool { _, err := os.Stat(d.o.Note); return err != nil })
			again()
			if left := kept(t, m.Addr(), "-q", "0"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// A broker that hangs up behind its welcome, and does not say why, is not said to be none.
func TestABrokerThatHangsUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			for _, answer := range []string{"\x20\x02\x00\x00", "\x90\x05\x00\x01\x00\x00\x00"} { // it welcomes, and lets subscribe
				if _, err := c.Read(buf); err == nil {
					_, _ = c.Write([]byte(answer))
				}
			}
			_, _ = c.Read(buf)
			_ = c.Close()
		}
	}()
	d := newFake()
	d.o.Config.Broker = "mqtt://" + l.Addr().String()
	said := make(chan struct{}, 1)
	d.o.Conditions.OnChange(func() {
		select {
		case said <- struct{}{}:
		default:
		}
	})
	runs(t, d)
	mqtttest.Await(t, said, "a condition")
	if c := d.o.Conditions.List()[0]; !strings.Contains(c.Text, "takes this device, and then hangs up when it is told "+configTopic) {
		t.Errorf("%+v", c)
	}
}
