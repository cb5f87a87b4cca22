package membership

import (
	"errors"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/mqtttest"
)

// The device that is removed is Mosquitto's client, which sends without a pause, and wants to come back.
func TestARemovedDeviceIsOutAtOnce(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	kitchen, cellar := m[0], m[1]
	kitchen.stop()
	host.knocks.forget()
	p, addr, id := kitchen.papers(), host.network(), kitchen.id.ID()
	path, err := mqtttest.Find("mosquitto_pub")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto-clients", err)
	}
	cmd := exec.Command(path, append(p.args(addr, string(id)), "-t", "conch/v1/"+host.Room().ID+"/floor/"+string(id), "-l")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		line := []byte(strings.Repeat("speaking ", 20) + "\n")
		for {
			if _, err := in.Write(line); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = in.Close(); feeding.Wait(); _ = cmd.Wait() })
	until(t, "it is connected", func() bool { return slices.Contains(host.broker.Clients(), id) })

	began := time.Now()
	if err := cellar.Remove(t.Context(), id); err != nil { // any member may ask for it
		t.Fatal(err)
	}
	asked := time.Since(began)
	until(t, "its connection is gone", func() bool { return !slices.Contains(host.broker.Clients(), id) })
	took := time.Since(began)
	t.Logf("removed %v after the word, gone after %v", asked.Round(time.Millisecond/10), took.Round(time.Millisecond/10))
	if can := canDo(t, host, p, kitchen.id, id); len(can) > 0 {
		t.Errorf("it comes back and can %v", can)
	}
	if slices.Contains(host.broker.Clients(), id) || host.Member(id) {
		t.Error("it is still there")
	}
	until(t, "the other member knows", func() bool { return !cellar.Member(id) })
}

func TestARemovedDeviceLearnsIt(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	if err := host.Remove(t.Context(), m[0].id.ID()); err != nil {
		t.Fatal(err)
	}
	if c := m[0].change(Out, m[0].id.ID()); !errors.Is(c.Why, ErrRemoved) {
		t.Errorf("%v", c.Why)
	}
	m[1].change(Removed, m[0].id.ID())
	if m[0].Room() != nil || open(t, m[0].dir, m[0].id, Clock{}).Room() != nil {
		t.Error("it still has a room")
	}
}

// It was away when it was removed: the broker's answer tells it.
func TestADeviceThatWasRemovedWhileItWasAwayLearnsItWhenItComes(t *testing.T) {
	host, m := room(t, "kitchen")
	m[0].stop()
	until(t, "it is away", func() bool { return len(host.broker.Clients()) == 1 })
	if err := host.Remove(t.Context(), m[0].id.ID()); err != nil {
		t.Fatal(err)
	}
	again := open(t, m[0].dir, m[0].id, Clock{})
	again.connect(host.network())
	if c := again.change(Out, again.id.ID()); !errors.Is(c.Why, ErrRemoved) {
		t.Errorf("%v", c.Why)
	}
}

func TestLeaving(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	id := m[0].id.ID()
	if err := m[0].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := m[0].change(Out, id); !errors.Is(c.Why, ErrLeft) {
		t.Errorf("%v", c.Why)
	}
	host.change(Removed, id)
	m[1].change(Removed, id)
	if err := host.Leave(t.Context()); err != nil { // and with it the room ends
		t.Fatal(err)
	}
	if c := m[1].change(Out, m[1].id.ID()); !errors.Is(c.Why, ErrEnded) && !errors.Is(c.Why, ErrRemoved) {
		t.Errorf("%v", c.Why)
	}
	if err := host.Leave(t.Context()); !errors.Is(err, ErrNotPaired) {
		t.Errorf("%v", err)
	}
}

func TestWhoKeepsTheRoomCannotBeRemoved(t *testing.T) {
	host, m := room(t, "kitchen")
	if err := m[0].Remove(t.Context(), host.id.ID()); !errors.Is(err, ErrHost) {
		t.Errorf("%v", err)
	}
	if err := m[0].Remove(t.Context(), identity(t).ID()); !errors.Is(err, ErrNoMember) {
		t.Errorf("%v", err)
	}
}

func TestAMemberAdmitsThroughTheHost(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	b := fresh(t, at(today).Clock())
	pair(t, m[0], b, "kitchen") // a name that is taken
	if got := b.Room().Called; got != "kitchen 2" {
		t.Errorf("called %q; want kitchen 2", got)
	}
	if b.Room().Host != host.id.ID() || b.IsHost() || !host.Member(b.id.ID()) {
		t.Errorf("%+v", b.Room())
	}
	m[1].change(Admitted, b.id.ID())
	b.connect(host.network())
	b.up()
	host.change(Confirmed, b.id.ID())
	host.stop()
	host.broker.Close()
	if _, err := m[0].requests.ask(expired(t), func(string) mqtt.Note { return note(noteAsk, askBody{}) }); !errors.Is(err, ErrNoHost) {
		t.Errorf("%v", err)
	}
}

func TestTheHostMayMoveAndItsBrokerMayRestart(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	host.stop()
	host.broker.Close()
	for _, d := range m {
		d.link(false)
	}
	// The whole host starts anew, at another address: the members are told by the network where a room of that id is.
	again := open(t, host.dir, host.id, at(today).Clock())
	again.serve("127.0.0.2:0")
	again.up()
	addr := again.broker.NetworkAddr().String()
	for _, d := range m {
		d.found.Store(&addr)
		d.up()
	}
	until(t, "they remember where it was", func() bool { return m[0].Room().Addresses[0] == addr && m[1].Room().Addresses[0] == addr })
	if got := open(t, m[0].dir, m[0].id, Clock{}).Room().Addresses; got[0] != addr {
		t.Errorf("on disk: %v", got)
	}
}

// A network that lies about where the host is costs an attempt.
func TestALieAboutTheHostCostsOnlyTime(t *testing.T) {
	host, m := room(t, "kitchen")
	other, _ := room(t, "neighbour")
	d := m[0]
	d.stop()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	again := open(t, d.dir, d.id, at(today).Clock())
	again.post(func() { again.reached(silent.Addr().String()) })
	until(t, "the lie is believed", func() bool { return again.Room().Addresses[0] == silent.Addr().String() })
	again.connect(other.network(), host.network())
	again.up()
	if again.Room().Addresses[0] != host.network() {
		until(t, "it knows better", func() bool { return again.Room().Addresses[0] == host.network() })
	}
}

func TestTwoRoomsOnOneNetworkStayApart(t *testing.T) {
	a, inA := room(t, "kitchen")
	b, inB := room(t, "kitchen")
	for _, row := range []struct {
		name string
		d    *device
		host *device
	}{{"one's member at the other's host", inA[0], b}, {"the other's member at the one's host", inB[0], a}} {
		row.d.stop()
		again := open(t, row.d.dir, row.d.id, at(today).Clock())
		again.only = row.host.network()
		again.connect()
		if err := mqtttest.Await(t, again.trouble, "trouble"); !errors.Is(err, mqtt.ErrTLS) && !strings.Contains(err.Error(), "room") {
			t.Errorf("%s: %v", row.name, err)
		} else {
			t.Logf("%s: %v", row.name, err)
		}
		if slices.Contains(row.host.broker.Clients(), row.d.id.ID()) {
			t.Errorf("%s is connected", row.name)
		}
		// And a client that does not care whose broker it is.
		if can := canDo(t, row.host, row.d.papers().trusting(row.host.papers().ca), row.d.id, row.d.id.ID()); len(can) > 0 {
			t.Errorf("%s can %v", row.name, can)
		}
		if again.Room() == nil {
			t.Errorf("%s: it left its room because another one refused it", row.name)
		}
		again.stop()
	}
	if a.Room().ID == b.Room().ID || a.Room().Name != b.Room().Name {
		t.Errorf("rooms %q and %q", a.Room().ID, b.Room().ID)
	}
}

// The device is removed in the moment between the broker's asking and its being among those that Drop finds.
func TestRemovalInTheMomentOfConnecting(t *testing.T) {
	host, m := room(t, "kitchen")
	m[0].stop()
	until(t, "it is away", func() bool { return len(host.broker.Clients()) == 1 })
	host.broker.Close()
	host.stop()
	again := open(t, host.dir, host.id, at(today).Clock())
	asked := make(chan struct{}, 16)
	b, err := broker.New(broker.Config{
		Room: again.Room().ID, Network: &broker.Network{Listen: "127.0.0.1:0", TLS: again.BrokerTLS()},
		Admit: func(p broker.Peer) error {
			err := again.Admits(p)
			if p.Device == m[0].id.ID() {
				asked <- struct{}{}
				if err := again.Remove(t.Context(), p.Device); err != nil && !errors.Is(err, ErrNoMember) {
					t.Error(err)
				}
			}
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	again.broker = b
	d := open(t, m[0].dir, m[0].id, at(today).Clock())
	d.connect(again.network())
	mqtttest.Await(t, asked, "the first question")
	mqtttest.Await(t, asked, "the second question")
	d.change(Out, d.id.ID())
	if got := b.Clients(); len(got) > 0 {
		t.Errorf("%v are there", got)
	}
	if d.client.Stats().Connects > 0 {
		t.Error("it was in the room")
	}
}
