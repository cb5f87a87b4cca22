package broker

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// A client that nobody here wrote tries what a device may not do.
func TestAccessList(t *testing.T) {
	b := embedded(t, Config{Room: "kitchen"})
	me, other := fixed(1).ID(), fixed(2).ID()
	rec := make(chan paho.Message, 100)
	watch := raw(t, b.URL(), string(other))
	if tok := watch.Subscribe(mqtt.Filter("kitchen"), 1, func(_ paho.Client, m paho.Message) { rec <- m }); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
		t.Fatal(tok.Error())
	}
	for _, f := range []string{"#", "conch/#", "conch/v1/#", "conch/v1/+/+/+", "$SYS/#", "conch/v1/cellar/#", "$share/g/conch/v1/kitchen/+/+"} {
		tok := watch.Subscribe(f, 0, nil)
		tok.WaitTimeout(mqtttest.Patience)
		if s := tok.(*paho.SubscribeToken); s.Result()[f] != subackFailed && s.Result()[strings.TrimPrefix(f, "$share/g/")] != subackFailed {
			t.Errorf("%s may be read: %v", f, s.Result())
		}
	}
	c := raw(t, b.URL(), string(me))
	for _, top := range []string{
		mqtt.Topic("kitchen", mqtt.KindFloor, other), mqtt.Topic("cellar", mqtt.KindFloor, me), "conch/v1/kitchen/secrets/" + string(me),
		mqtt.Topic("kitchen", mqtt.KindFloor, me) + "/x", mqtt.RoomOnly, "elsewhere/" + string(me), mqtt.TopicRoot + "kitchen/" + string(me),
	} {
		c.Publish(top, 0, false, "forbidden").WaitTimeout(mqtttest.Patience)
	}
	c.Publish(mqtt.Topic("kitchen", mqtt.KindFloor, me), 1, true, "allowed").WaitTimeout(mqtttest.Patience)
	if m := mqtttest.Await(t, rec, "what is allowed"); string(m.Payload()) != "allowed" {
		t.Errorf("%s under %s was let through", m.Payload(), m.Topic())
	}
	// Nothing is retained, whatever a client asks for.
	late := raw(t, b.URL(), string(fixed(3).ID()))
	if tok := late.Subscribe(mqtt.Filter("kitchen"), 1, func(_ paho.Client, m paho.Message) { rec <- m }); !tok.WaitTimeout(mqtttest.Patience) {
		t.Fatal("no suback")
	}
	c.Publish(mqtt.Topic("kitchen", mqtt.KindFloor, me), 1, false, "later").WaitTimeout(mqtttest.Patience)
	for range 2 {
		if m := mqtttest.Await(t, rec, "the later one, twice"); string(m.Payload()) != "later" || m.Retained() {
			t.Errorf("%s was kept", m.Payload())
		}
	}
}

// A device whose room is kept by such a broker does not lose it for a lamp: it knows, before it says anything, that no house is there.
func TestALampIsNotAskedFor(t *testing.T) {
	b := embedded(t, Config{})
	d := start(t, mqtt.Config{URL: b.URL()})
	d.up()
	for range 2 {
		if err := d.Publish(t.Context(), "house/lamp/set", []byte("ON")); !errors.Is(err, mqtt.ErrRoomOnly) {
			t.Errorf("a lamp is switched: %v", err)
		}
		if _, err := d.Retained(t.Context(), "house/lamp"); !errors.Is(err, mqtt.ErrRoomOnly) {
			t.Errorf("a lamp is read: %v", err)
		}
	}
	if !slices.Contains(b.Clients(), d.ID()) || len(d.links) > 0 {
		t.Errorf("%d changes of its connection, and these are there: %v", len(d.links), b.Clients())
	}
}

// ofThisTest admits who is no device or one of this test: a device of another test that runs meanwhile may look for its broker on the port that
// this one was given.
func ofThisTest(p Peer) error {
	for n := byte(1); mqtt.IsDeviceID(p.Device) && p.Device != fixed(n).ID(); n++ {
		if n == 3 {
			return errors.New("it is not of this test")
		}
	}
	return nil
}

func TestTheBrokerRefuses(t *testing.T) {
	b := embedded(t, Config{Clients: 2, Admit: ofThisTest})
	for _, row := range []struct {
		name string
		set  func(*paho.ClientOptions)
	}{
		{"a client id that is no device", func(o *paho.ClientOptions) { o.SetClientID("mallory") }},
		{"no client id", func(o *paho.ClientOptions) { o.SetClientID("") }},
		{"a will under another's name", func(o *paho.ClientOptions) {
			o.SetClientID(string(fixed(1).ID())).SetWill(mqtt.Topic("kitchen", mqtt.KindPresence, fixed(2).ID()), "gone", 0, false)
		}},
		{"a retained will", func(o *paho.ClientOptions) {
			o.SetClientID(string(fixed(1).ID())).SetWill(mqtt.Topic("kitchen", mqtt.KindPresence, fixed(1).ID()), "gone", 0, true)
		}},
		{"a session that is to be kept", func(o *paho.ClientOptions) { o.SetClientID(string(fixed(1).ID())).SetCleanSession(false) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := paho.NewClientOptions().AddBroker(b.URL()).SetProtocolVersion(4).SetAutoReconnect(false)
			row.set(o)
			c := paho.NewClient(o)
			tok := c.Connect()
			if !tok.WaitTimeout(mqtttest.Patience) {
				t.Error("no answer")
			}
			// The library has no error for some of the broker's answers, and who is refused is known to the broker until it is gone.
			late := time.After(mqtttest.Patience)
			for len(b.Clients()) > 0 {
				select {
				case <-late:
					t.Fatalf("let in: %v", tok.Error())
				case <-time.After(time.Millisecond):
				}
			}
			c.Disconnect(100)
		})
	}
	raw(t, b.URL(), string(fixed(1).ID()))
	raw(t, b.URL(), string(fixed(2).ID()))
	c := paho.NewClient(paho.NewClientOptions().AddBroker(b.URL()).SetClientID(string(fixed(3).ID())).SetProtocolVersion(4).SetAutoReconnect(false))
	if tok := c.Connect(); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() == nil {
		t.Errorf("a third client of two was let in: %v", tok.Error())
	}
}

func TestABrokerOnATakenPortSaysSo(t *testing.T) {
	b := embedded(t, Config{})
	if _, err := New(Config{Listen: b.Addr().String()}); err == nil || !strings.Contains(err.Error(), "choose another port") {
		t.Errorf("%v", err)
	}
}

func TestTheEmbeddedBrokerRestartsOnItsPort(t *testing.T) {
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	a := start(t, mqtt.Config{URL: b.URL()}).up()
	cancel()
	if err := mqtttest.Await(t, done, "the broker's end"); err != nil {
		t.Error(err)
	}
	a.link(false)
	embedded(t, Config{Listen: addr})
	a.up()
}

func TestADroppedDeviceIsOut(t *testing.T) {
	removed := make(chan struct{})
	b := embedded(t, Config{Admit: func(Peer) error {
		select {
		case <-removed:
			return refusal("removed from the room")
		default:
			return nil
		}
	}})
	a := start(t, mqtt.Config{URL: b.URL()}).up()
	close(removed)
	b.Drop(a.ID())
	a.link(false)
	_ = mqtttest.Await(t, a.trouble, "trouble")
	if s := a.Stats(); s.Connects != 1 {
		t.Errorf("it came back: %d links", s.Connects)
	}
}

type refusal string

func (e refusal) Error() string { return string(e) }

// A pulled cable is noticed by the ping and does not hang anything.
func TestAFrozenBrokerIsNoticed(t *testing.T) {
	t.Parallel()
	b := embedded(t, Config{})
	p, err := mqtttest.NewProxy(b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	a := start(t, mqtt.Config{URL: p.URL()}).up()
	p.Freeze()
	began := time.Now()
	a.link(false)
	t.Logf("noticed after %v", time.Since(began).Round(10*time.Millisecond))
	p.Heal()
	a.up()
	p.Reset()
	a.link(false)
	a.up()
}

// A broker that closes leaves its library's list of clients alone: the library asks for the list's lock while it has it, and waits
// for itself for ever when a client that goes away asks in between.
func TestClosingDoesNotWaitForTheListOfClients(t *testing.T) {
	b := embedded(t, Config{})
	b.server.Clients.RLock()
	deleted := make(chan struct{})
	go func() { b.server.Clients.Delete("who goes away"); close(deleted) }()
	defer func() { b.server.Clients.RUnlock(); <-deleted }()
	for b.server.Clients.TryRLock() { // until it waits
		b.server.Clients.RUnlock()
		runtime.Gosched()
	}
	closed := make(chan struct{})
	go func() { b.Close(); close(closed) }()
	mqtttest.Await(t, closed, "the broker to close")
}
