package homeassistant

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt/mqtttest"
)

var update = flag.Bool("update", false, "write testdata/session.txt anew")

// leftOf is what is kept of a device at a broker.
func leftOf(t *testing.T, addr string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(kept(t, addr)))
}

// Switched off in the configuration, the device is nowhere any more: not in Home Assistant, and not at its broker.
func TestRemoval(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker, d.o.Note = m.URL(), filepath.Join(t.TempDir(), "homeassistant.json")
	m.Publish("somebody/else", []byte("stays"), "-r")
	m.Publish("conch-ha/bbbbbbbbbbbbbbbbbbbb/avail", []byte("online"), "-r")
	m.Publish(baseTopic+"/of/an/older/version", []byte("x"), "-r")
	w := watch(t, m.Addr())
	stop := runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	stop()
	if n := len(leftOf(t, m.Addr())); n < 20 {
		t.Fatalf("%d topics are kept; this test would prove nothing", n)
	}
	// The lines of the broker are gone with it.
	d.o.Config = config.HomeAssistant{Prefix: "homeassistant"}
	runs(t, d)
	w.until("the note's end", func() bool { _, err := os.Stat(d.o.Note); return os.IsNotExist(err) })
	if got := leftOf(t, m.Addr()); !slices.Equal(got, []string{"conch-ha/bbbbbbbbbbbbbbbbbbbb/avail", "somebody/else"}) {
		t.Errorf("left: %v", got)
	}
	seen := strings.Join(w.lines(), "\n")
	config, avail := strings.LastIndex(seen, "0 "+configTopic+" \n"), strings.LastIndex(seen, "0 "+baseTopic+"/avail \n")
	if config < 0 || config > avail {
		t.Error("Home Assistant is not told first that the device is gone")
	}
}

// Elsewhere, or under another prefix, the device is shown there and no longer here.
func TestMoved(t *testing.T) {
	m, other := mqtttest.Start(t, mqtttest.Options{}), mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker, d.o.Note = m.URL(), filepath.Join(t.TempDir(), "homeassistant.json")
	w := watch(t, m.Addr())
	stop := runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	first := w.last(configTopic)
	stop()

	d.o.Config.Prefix = "ha"
	stop = runs(t, d)
	w.shows("ha/device/conch_"+string(kitchen)+"/config", first)
	w.shows(configTopic, "")
	w.shows(baseTopic+"/avail", "online")
	stop()
	if got := leftOf(t, m.Addr()); slices.Contains(got, configTopic) || !slices.Contains(got, baseTopic+"/volume/state") {
		t.Errorf("under another prefix: %v", got)
	}

	d.o.Config.Broker = other.URL()
	there := watch(t, other.Addr())
	runs(t, d)
	there.shows(baseTopic+"/problem/state", "OFF")
	w.until("an empty broker", func() bool {
		n, err := load(d.o.Note)
		return err == nil && len(n.Places) == 1 && n.Places[0].Broker == other.URL()
	})
	if got := leftOf(t, m.Addr()); len(got) > 0 {
		t.Errorf("at the broker where it was: %v", got)
	}
}

// last is what was said under a topic at last.
func (w *onlooker) last(topic string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now[topic]
}

// What may not be there any more is taken away, with what was kept of it, and stays away.
func TestEntityIsTakenAway(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker, d.o.Config.MayListen, d.o.Note = m.URL(), true, filepath.Join(t.TempDir(), "homeassistant.json")
	d.o.Settle = 20 * time.Millisecond
	w := watch(t, m.Addr())
	stop := runs(t, d)
	w.shows(baseTopic+"/talk/state", "OFF")
	w.shows(baseTopic+"/problem/state", "OFF")
	d.change(func(p *control.Picture) { p.Room.Members[0].Cards = p.Room.Members[0].Cards[:1] }) // Ben moves out
	w.until("that Ben is gone", func() bool { return strings.Contains(w.last(configTopic), `"involvement_ben":{"p":"select"}`) })
	w.shows(baseTopic+"/involvement_ben/state", "")
	stop()
	d.o.Config.MayListen = false
	runs(t, d)
	w.shows(baseTopic+"/talk/state", "")
	now := kept(t, m.Addr())
	if c := now[configTopic]; !strings.Contains(c, `"talk":{"p":"switch"}`) || !strings.Contains(c, `"involvement_ben":{"p":"select"}`) {
		t.Errorf("discovery is %s", c)
	}
	for topic := range now {
		if strings.Contains(topic, "/talk/") || strings.Contains(topic, "_ben/") {
			t.Errorf("%s is still kept", topic)
		}
	}
}

// What is away for a moment is not taken away: Home Assistant would forget what a person has made of it.
func TestEntityIsAwayForAMoment(t *testing.T) {
	b := New(Options{})
	ever, all, one := map[string]string{"a": "switch", "b": "select"}, map[string]string{"a": "switch", "b": "select"}, map[string]string{"a": "switch"}
	at := time.Now()
	for _, c := range []struct {
		after time.Duration
		there map[string]string
		gone  int
	}{
		{0, all, 0}, {time.Second, one, 0}, {settle, one, 0}, {settle + time.Second, one, 1}, {settle + 2*time.Second, all, 0}, {2 * settle, one, 0},
		{3*settle - time.Second, all, 0}, {3 * settle, one, 0}, {4 * settle, one, 1},
	} {
		if got := b.gone(ever, c.there, at.Add(c.after)); len(got) != c.gone || c.gone > 0 && got["b"] != "select" {
			t.Errorf("after %s: gone %v; want %d", c.after, got, c.gone)
		}
	}
}

// A device that has no identity keeps one of its own.
func TestOwnID(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.ID, d.o.Config.Broker, d.o.Note = "", m.URL(), filepath.Join(t.TempDir(), "homeassistant.json")
	for range 2 {
		w := watch(t, m.Addr())
		stop := runs(t, d)
		w.until("a device", func() bool { return strings.Contains(strings.Join(w.lines(), "\n"), "/problem/state OFF") })
		stop()
	}
	ids := map[string]bool{}
	for topic := range kept(t, m.Addr()) {
		if id, ok := strings.CutPrefix(topic, "homeassistant/device/conch_"); ok && len(id) > len("0123456789abcdef/") {
			ids[id] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("two starts are %d devices: %v", len(ids), ids)
	}
}

// Which broker it is: the one that is named, else the house's that the room is at, never conch's own.
func TestResolve(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(c *config.Config)
		want config.HomeAssistant
	}{
		"none":     {func(*config.Config) {}, config.HomeAssistant{}},
		"embedded": {func(c *config.Config) { c.Room.Broker, c.Room.User = "embedded", "u" }, config.HomeAssistant{}},
		"of the house": {func(c *config.Config) {
			c.Room.Broker, c.Room.User, c.Room.PasswordFile, c.Room.CAFile = "mqtts://house:8883", "u", "/p", "/ca"
		}, config.HomeAssistant{Broker: "mqtts://house:8883", User: "u", PasswordFile: "/p", CAFile: "/ca"}},
		"of the house, another user": {func(c *config.Config) {
			c.Room.Broker, c.Room.User, c.Room.PasswordFile, c.HomeAssistant.User = "mqtt://house", "u", "/p", "ha"
		}, config.HomeAssistant{Broker: "mqtt://house", User: "ha"}},
		"a cluster": {func(c *config.Config) { c.Room.Broker = "mqtt://a, mqtt://b" }, config.HomeAssistant{Broker: "mqtt://a"}},
		"named": {func(c *config.Config) {
			c.Room.Broker, c.Room.User, c.HomeAssistant.Broker = "mqtt://house", "u", "mqtt://ha"
		}, config.HomeAssistant{Broker: "mqtt://ha"}},
	} {
		cfg := config.Default()
		c.set(&cfg)
		c.want.Prefix = "homeassistant"
		if got := Resolve(cfg); got != c.want {
			t.Errorf("%s: %+v; want %+v", name, got, c.want)
		}
	}
}

// Without a broker a person is told to name one.
func TestNoBroker(t *testing.T) {
	d := newFake()
	stop := runs(t, d)
	w := &onlooker{t: t}
	w.until("the condition", func() bool { return d.o.Conditions.Holds(condition.HomeUnseen) })
	if c := d.o.Conditions.List()[0]; !strings.Contains(c.Do, "set homeassistant.broker") {
		t.Errorf("%+v", c)
	}
	stop()
}

// The whole of it as a client sees it that nobody here wrote: discovery, birth, a press, removal.
func TestSession(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker, d.o.Priced, d.o.Note = m.URL(), true, filepath.Join(t.TempDir(), "homeassistant.json")
	w := watch(t, m.Addr())
	stop := runs(t, d)
	w.shows(baseTopic+"/room_reconnects/state", "2")
	w.shows(baseTopic+"/cost/state", `{"cost":0.25,"since":"2026-03-01T00:00:00Z"}`)
	d.o.Feed.Post(control.EventPress, nil)
	w.shows(baseTopic+"/button/event", `{"event_type":"press"}`)
	m.Publish("homeassistant/status", []byte("online"))
	w.until("the answer to the birth", func() bool { return w.count(baseTopic+"/cost/state") == 2 })
	stop()
	w.shows(baseTopic+"/avail", "offline")
	d.o.Config.Discovery = false
	runs(t, d)
	w.until("the note's end", func() bool { _, err := os.Stat(d.o.Note); return os.IsNotExist(err) })
	w.shows(baseTopic+"/volume/state", "")

	var b strings.Builder
	for _, line := range w.lines() {
		b.WriteString(strings.ReplaceAll(line[2:], string(kitchen), "ID") + "\n")
	}
	got, file := b.String(), filepath.Join("testdata", "session.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("what is said is not what testdata/session.txt has (-update writes it anew; read the diff):\n%s", got)
	}
}
