package homeassistant

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/device/condition"
	"conch/device/control"
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
	// It has subscribed when this arrives. At QoS 1 it arrives behind what is kept: at QoS 0 a broker sends it ahead of a queue.
	marker := append([]string{"-q", "1"}, args...)
	w.until("its own subscription", func() bool {
		mqtttest.Publish(t, addr, "test/there", []byte("yes"), marker...)
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
	b := New(d.o)
	d.b = b
	go func() { ended <- b.Run(ctx) }()
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
func kept(t *testing.T, addr string, args ...string) map[string]string {
	t.Helper()
	w := watch(t, addr, args...)
	m := map[string]string{}
	for _, line := range w.lines() {
		if strings.HasPrefix(line, "1 ") {
			topic, payload, _ := strings.Cut(line[2:], " ")
			m[topic] = payload
		}
	}
	return m
}

// A client that connects later receives everything: discovery, that the device is there, and each state.
func TestDiscoveryIsKept(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	states := map[string]string{
		"avail": "online", "state/state": "idle", "microphone/state": "ON", "volume/state": "40", "involvement/state": "low", "involvement_ada/state": "high",
		"involvement_ben/state": "medium", "floor/state": "nobody", "reason/state": "None", "tokens/state": "1234", "room_reconnects/state": "2",
		"silence_p99/state": "None",
		"reconnects/state":  "0", "problem/state": "OFF",
	}
	for topic, want := range states {
		w.shows(baseTopic+"/"+topic, want)
	}
	later := kept(t, m.Addr())
	if got := check(later[configTopic], configTopic); len(got) > 0 {
		t.Errorf("what is kept is not what Home Assistant takes: %v", got)
	}
	for topic, want := range states {
		if got := later[baseTopic+"/"+topic]; got != want {
			t.Errorf("%s is %q; want %q", topic, got, want)
		}
	}
}

// Home Assistant that has begun anew is told everything again, once for a flood of births, and not for one that was kept.
func TestBirthIsAnswered(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	m.Publish("homeassistant/status", []byte("online"), "-r")
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	d.change(func(p *control.Picture) { p.Status.Volume = 41 })
	w.shows(baseTopic+"/volume/state", "41")
	if n := w.count(configTopic); n != 1 {
		t.Errorf("discovery was told %d times, with a birth that was kept; want once", n)
	}
	m.Publish("homeassistant/status", []byte("offline"))
	for range 20 {
		m.Publish("homeassistant/status", []byte("online"))
	}
	w.until("another discovery", func() bool {
		return w.count(configTopic) == 2 && w.count(baseTopic+"/avail") == 2 && w.count(baseTopic+"/volume/state") == 3
	})
	d.change(func(p *control.Picture) { p.Status.Volume = 42 })
	w.shows(baseTopic+"/volume/state", "42")
	if n := w.count(configTopic); n != 2 {
		t.Errorf("20 births at once: discovery was told %d times; want 2", n)
	}
}

// A device that was unplugged is shown as gone: the broker says so.
func TestKilledDeviceIsOffline(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	w := watch(t, m.Addr())
	p, lines := mqtttest.Process(t, childVar+"="+m.URL())
	if got := mqtttest.Await(t, lines, "a bridge in another process"); got != "running" {
		t.Fatal(got)
	}
	w.shows(baseTopic+"/problem/state", "OFF")
	w.shows(baseTopic+"/avail", "online")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	w.shows(baseTopic+"/avail", "offline")
	if got := kept(t, m.Addr())[baseTopic+"/avail"]; got != "offline" {
		t.Errorf("who comes later finds %q", got)
	}
}

// One that goes by itself says so.
func TestGoodbye(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	stop := runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	stop()
	w.shows(baseTopic+"/avail", "offline")
	if n := w.count(baseTopic + "/avail"); n != 2 {
		t.Errorf("it was said %d times whether the device is there; want 2: no last will beside the goodbye", n)
	}
	if _, ok := kept(t, m.Addr())[configTopic]; !ok {
		t.Error("a device that is switched off is no longer known")
	}
}

// What is wanted there is done; what the device does then is shown.
func TestCommandsOfAForeignClient(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"), "-r")
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	asked := func(what string) {
		t.Helper()
		w.until(what, func() bool { return slices.Contains(d.done(), what) })
	}
	m.Publish(baseTopic+"/volume/set", []byte("70"), "-q", "1")
	asked(`POST /volume {"percent":70}`)
	if slices.Contains(d.done(), "POST /hush") {
		t.Error("a command that was kept is obeyed at the start")
	}
	d.change(func(p *control.Picture) { p.Status.Volume = 70 })
	w.shows(baseTopic+"/volume/state", "70")
	m.Publish(baseTopic+"/microphone/set", []byte("ON")) // it may not
	m.Publish(baseTopic+"/talk/set", []byte("ON"))       // there is none
	m.Publish(baseTopic+"/microphone/set", []byte("OFF"))
	asked(`POST /mute {"muted":true}`)
	m.Publish(baseTopic+"/involvement_ben/set", []byte("off"))
	asked(`POST /room/control {"companion":"ben","involvement":"off"}`)
	m.Publish(baseTopic+"/announce/set", []byte("Dinner is ready."))
	m.Publish(baseTopic+"/announce/set", []byte("Dinner is ready."))
	asked(`POST /say {"text":"Dinner is ready."}`)
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"))
	asked("POST /hush")
	all := d.done()
	for _, no := range []string{`POST /mute {"muted":false}`, "POST /press"} {
		if slices.Contains(all, no) {
			t.Errorf("%s is done, though it may not", no)
		}
	}
	if n := strings.Count(strings.Join(all, "\n"), "/say"); n != 1 {
		t.Errorf("a sentence that was delivered twice is said %d times", n)
	}
	d.o.Feed.Post(control.EventPress, nil)
	w.shows(baseTopic+"/button/event", `{"event_type":"press"}`)
	if got, ok := kept(t, m.Addr())[baseTopic+"/button/event"]; ok {
		t.Errorf("an event is kept: %s", got)
	}
}

// Where it may listen, it can press, and let go; and if it goes away meanwhile, the button is let go all the same.
func TestPushToTalk(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	proxy, err := mqtttest.NewProxy(m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	d := newFake()
	d.o.Config.Broker, d.o.Config.MayListen = proxy.URL(), true
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	asked := func(what ...string) {
		t.Helper()
		w.until(strings.Join(what, ", "), func() bool { return slices.Equal(d.done(), what) })
	}
	m.Publish(baseTopic+"/talk/set", []byte("ON"))
	asked("POST /press")
	m.Publish(baseTopic+"/talk/set", []byte("OFF"))
	asked("POST /press", "POST /release")
	m.Publish(baseTopic+"/talk/set", []byte("ON"))
	asked("POST /press", "POST /release", "POST /press")
	m.Publish("homeassistant/status", []byte(offline)) // the last will of Home Assistant
	asked("POST /press", "POST /release", "POST /press", "POST /release")
	m.Publish(baseTopic+"/talk/set", []byte("ON"))
	asked("POST /press", "POST /release", "POST /press", "POST /release", "POST /press")
	proxy.Reset()
	asked("POST /press", "POST /release", "POST /press", "POST /release", "POST /press", "POST /release")
}

// A flood does what a person could want, and no more; whoever wants silence is heard in it.
func TestFloodOfCommands(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	began := time.Now()
	mqtttest.Publish(t, m.Addr(), baseTopic+"/announce/set", []byte("x"))
	flood := func(topic, line string, times int) {
		t.Helper()
		tool, err := mqtttest.Find("mosquitto_pub")
		if err != nil {
			t.Skip(err)
		}
		host, port, _ := net.SplitHostPort(m.Addr())
		cmd := exec.Command(tool, "-h", host, "-p", port, "-V", "311", "-l", "-t", topic)
		var all strings.Builder
		for i := range times {
			all.WriteString(strings.ReplaceAll(line, "#", string(rune('a'+i%26))+strings.Repeat("!", i/26)) + "\n")
		}
		cmd.Stdin = strings.NewReader(all.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	flood(baseTopic+"/announce/set", "sentence #", 500)
	flood(baseTopic+"/volume/set", "50", 1500)
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"))
	w.until("silence in the flood", func() bool { return slices.Contains(d.done(), "POST /hush") })
	took := time.Since(began)
	all := strings.Join(d.done(), "\n")
	if n, most := strings.Count(all, "POST /")-1, burst+int(perSecond*took.Seconds())+1; n > most {
		t.Errorf("2000 commands in %v: %d are done; want %d at most", took, n, most)
	}
}

// What takes long stands before nothing that makes it quiet; of sentences some wait, and no more.
func TestSilenceWaitsForNothing(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.hold = make(chan struct{})
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	for i := range 3 * maxSaying {
		m.Publish(baseTopic+"/announce/set", []byte("sentence "+string(rune('a'+i))))
	}
	m.Publish(baseTopic+"/volume/set", []byte("50"))
	m.Publish(baseTopic+"/microphone/set", []byte("OFF"))
	w.until("that both take long", func() bool {
		all := d.done()
		return slices.Contains(all, `POST /volume {"percent":50}`) && slices.Contains(all, `POST /mute {"muted":true}`)
	})
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"))
	w.until("silence", func() bool { return slices.Contains(d.done(), "POST /hush") })
	m.Publish(baseTopic+"/announce/set", []byte(`{"text":"Fire!","priority":"preempt"}`))
	sentences := func() (all []string) {
		for _, asked := range d.done() {
			if _, text, ok := strings.Cut(asked, `/say {"text":"`); ok {
				text, _, _ = strings.Cut(text, `"`)
				all = append(all, text)
			}
		}
		return all
	}
	w.until("what is urgent", func() bool { return fmt.Sprint(sentences()) == "[sentence a Fire!]" })
	close(d.hold)
	w.until("the others, in order", func() bool { return fmt.Sprint(sentences()) == "[sentence a Fire! sentence b sentence c sentence d]" })
}

// How loud it is just now is told to nobody, and nobody thinks of it ten times a second.
func TestLevelIsNoNews(t *testing.T) {
	b := New(Options{})
	b.see(event(t, control.EventDoing, control.Doing{State: "IN_RESPONSE", Level: 10}))
	<-b.changed
	b.see(event(t, control.EventDoing, control.Doing{State: "IN_RESPONSE", Level: 20}))
	if len(b.changed) > 0 {
		t.Error("another level is another view")
	}
	b.see(event(t, control.EventDoing, control.Doing{State: "IDLE"}))
	if len(b.changed) == 0 {
		t.Error("another state is none")
	}
}

// A message of a megabyte is not read, and the link goes on.
func TestHugeCommand(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	for range 3 {
		m.Publish(baseTopic+"/announce/set", []byte(strings.Repeat("x", 1<<20)))
	}
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"))
	w.until("the command behind them", func() bool { return slices.Equal(d.done(), []string{"POST /hush"}) })
	w.shows(baseTopic+"/reconnects/state", "0")
}

// A broker that has lost everything is told everything.
func TestBrokerBeginsAnew(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	m.Kill()
	w.until("the condition", func() bool { return d.o.Conditions.Holds(condition.HomeUnseen) })
	d.change(func(p *control.Picture) { p.Status.Volume = 12 })
	d.o.Feed.Post(control.EventPress, nil)
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	again := watch(t, m.Addr())
	again.shows(baseTopic+"/volume/state", "12")
	again.shows(baseTopic+"/avail", "online")
	again.shows(baseTopic+"/reconnects/state", "1")
	again.until("the end of the condition", func() bool { return !d.o.Conditions.Holds(condition.HomeUnseen) })
	if got := check(kept(t, m.Addr())[configTopic], configTopic); len(got) > 0 {
		t.Error(got)
	}
}

// Nobody on the device waits for a broker that stands still, and the newest counts when it goes on.
func TestBrokerStandsStill(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	d := newFake()
	d.o.Config.Broker = m.URL()
	w := watch(t, m.Addr())
	runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	m.Freeze()
	for i := range 1000 {
		d.change(func(p *control.Picture) { p.Status.Volume = i % 100 })
	}
	d.change(func(p *control.Picture) { p.Status.Volume = 33 })
	w.until("that the bridge knows", func() bool {
		d.b.mu.Lock()
		defer d.b.mu.Unlock()
		return d.b.v.p.Status.Volume == 33
	})
	m.Thaw()
	w.shows(baseTopic+"/volume/state", "33")
	if n := w.count(baseTopic + "/volume/state"); n > 3 {
		t.Errorf("of 1000 volumes %d are told; want the first, the one that was on its way, and the newest", n)
	}
}
