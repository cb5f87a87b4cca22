package device

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio/pulsetest"
)

// Two devices as processes in two network namespaces, each with a sound server of its own, and the broker in a third. The hall calls the
// kitchen; both hear each other while the broker stands still, for the sound does not go over it; a pulled cable and a kill -9 end the call at the
// other end in words.
//
//	hall    10.97.0.11 ─┐
//	kitchen 10.97.0.12 ─┴─ bridge 10.97.0.1: mosquitto :1883
func TestIntercomOnTwoNetworks(t *testing.T) {
	t.Parallel()
	if err := pulsetest.Missing(); err != nil {
		t.Skipf("no PulseAudio: %v", err)
	}
	n := newNetworks(t)
	conf := filepath.Join(t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(conf, []byte("listener 1883 0.0.0.0\nallow_anonymous true\npersistence false\nuser root\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broker, _ := n.process("m", nil, "mosquitto", "-c", conf)
	var tapes []*pulsetest.Tape
	var servers []*pulsetest.Server
	for i, who := range []struct{ device, companion string }{{"hall", "Ada"}, {"kitchen", "Ben"}} {
		n.boxes = append(n.boxes, n.box(who.device, who.companion, i))
		server, err := pulsetest.New()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		servers = append(servers, server)
		tape, err := servers[i].Record()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tape.Stop() })
		tapes = append(tapes, tape)
	}
	hall, kitchen := n.boxes[0], n.boxes[1]
	start := func(i int) {
		n.boxes[i].start(servers[i].Environ(), "audio.backend=pulse", "voice.kind=rehearsal", "room.broker=mqtt://10.97.0.1:1883",
			"room.discovery=off", "log.level=info", "room.members="+hall.id+","+kitchen.id)
	}
	start(0)
	start(1)
	logged := func(b *netBox, what string) int { return strings.Count(n.says(b.ns), what) }
	call := func(nth int) {
		t.Helper()
		for _, b := range n.boxes {
			b.until("two members", 20*time.Second, func() bool { return b.members() == 2 })
		}
		rung, begun := logged(kitchen, "call.rings"), logged(hall, "call.begin")
		hall.ask("Ada, call the kitchen")
		kitchen.until("ringing", 20*time.Second, func() bool { return logged(kitchen, "call.rings") > rung })
		kitchen.press()
		kitchen.release()
		hall.until("the call", 10*time.Second, func() bool { return logged(hall, "call.begin") > begun })
	}
	sings := func(from, to int, hz float64) bool {
		t.Helper()
		at := len(tapes[to].Samples())
		sung := make([]int16, 0, 4*pulsetest.Rate)
		for _, x := range whistle(hz, 2*pulsetest.Rate/2) { // at 24 kHz; the server takes 48
			sung = append(sung, x, x)
		}
		if err := servers[from].Play(nil, sung); err != nil {
			t.Fatal(err)
		}
		return tapes[to].WaitFor(5*time.Second, func(s []int16) bool { return pitch(s[min(at, len(s)):], hz) > 1000 })
	}

	call(1)
	_ = broker.Signal(syscall.SIGSTOP)
	if !sings(0, 1, 1900) {
		t.Error("the kitchen does not hear the hall while the broker stands still")
	}
	if !sings(1, 0, 2300) {
		t.Error("the hall does not hear the kitchen while the broker stands still")
	}
	_ = broker.Signal(syscall.SIGCONT)
	kitchen.press()
	kitchen.release()
	for _, b := range n.boxes {
		b.until("hung up", 10*time.Second, func() bool { return logged(b, "call.end") == 1 })
	}

	t.Log("the cable is pulled")
	call(2)
	n.link(kitchen, "down")
	for _, b := range n.boxes {
		b.until("the call is lost", 15*time.Second, func() bool { return logged(b, "the call was lost") == 1 })
	}
	n.link(kitchen, "up")

	t.Log("the kitchen is killed")
	call(3)
	_ = kitchen.process.Kill()
	hall.until("the call is lost", 15*time.Second, func() bool { return logged(hall, "the call was lost") == 2 })
	hall.until("quiet again", 30*time.Second, func() bool { return hall.state() == "IDLE" && hall.status().Quiet })
}
