package homeassistant

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/mqtt/mqtttest"
)

// onlooker is mosquitto_sub: a client that nobody here wrote, and that sees what Home Assistant sees.
type onlooker struct {
	t    *testing.T
	mu   sync.Mutex
	seen []string // retained or not, topic, payload
	now  map[string]string
}

// watch starts one at a broker, until the test ends. It sees what is kept first.
func watch(t *testing.T, addr string, args ...string) *onlooker {
	t.Helper()
	tool, err := mqtttest.Find("mosquitto_sub")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto-clients", err)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	w := &onlooker{t: t, now: map[string]string{}}
	cmd := exec.Command(tool, append([]string{"-h", host, "-p", port, "-V", "311", "-q", "1", "-t", "#", "-F", "%r %t %p"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			w.add(s.Text())
		}
	})
	t.Cleanup(func() { _ = cmd.Process.Kill(); reader.Wait(); _ = cmd.Wait() })
	// It has subscribed when it hears.
	w.until("its own subscription", func() bool {
		mqtttest.Publish(t, addr, "test/there", []byte("yes"))
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now["test/there"] == "yes"
	})
	return w
}

func (w *onlooker) add(line string) {
	_, rest, _ := strings.Cut(line, " ")
	topic, payload, _ := strings.Cut(rest, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(topic, "test/") {
		w.seen = append(w.seen, line)
	}
	w.now[topic] = payload
}

func (w *onlooker) until(what string, cond func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), mqtttest.Patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Fatalf("waited in vain for %s; seen:\n%s", what, strings.Join(w.seen, "\n"))
		case <-tick.C:
		}
	}
}

// shows waits until a topic has that payload.
func (w *onlooker) shows(topic, payload string) {
	w.t.Helper()
	w.until(topic+" = "+payload, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now[topic] == payload
	})
}

// count is how often a topic was published.
func (w *onlooker) count(topic string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.seen {
		if strings.HasPrefix(line[2:], topic+" ") {
			n++
		}
	}
	return n
}

func (w *onlooker) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// runs runs a bridge until the test, or stop, ends it.
func runs(t *testing.T, d *fake) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- New(d.o).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := mqtttest.Await(t, ended, "the bridge's end"); err != nil {
			t.Errorf("the bridge ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

const (
	configTopic = "homeassistant/device/conch_" + string(kitchen) + "/config"
	baseTopic   = "conch-ha/" + string(kitchen)
)

// kept is what a broker keeps, as a client sees it that comes later.
func kept(t *testing.T, addr string) map[string]string {
	t.Helper()
	w := watch(t, addr)
	m := map[string]string{}
	for _, line := range w.lines() {
		if strings.HasPrefix(line, "1 ") {
			topic, payload, _ := strings.Cut(line[2:], " ")
			m[topic] = payload
		}
	}
	return m
}

// Who comes later finds everything: discovery, that the device is there, and each state.
func TestDiscoveryIsKept(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/reconnects/state", "0")
	w.shows(baseTopic+"/problem/state", "OFF")
	later := kept(t, m.Addr())
	if got := check(later[configTopic], configTopic); len(got) > 0 {
		t.Errorf("what is kept is not what Home Assistant takes: %v", got)
	}
	for topic, want := range map[string]string{
		"avail": "online", "state/state": "idle", "microphone/state": "ON", "volume/state": "40", "involvement/state": "low", "involvement_ada/state": "high",
		"involvement_ben/state": "medium", "floor/state": "nobody", "reason/state": "None", "tokens/state": "1234", "room_reconnects/state": "2",
		"silence_p99/state": "None",
	} {
		if got := later[baseTopic+"/"+topic]; got != want {
			t.Errorf("%s is %q; want %q", topic, got, want)
		}
	}
}
