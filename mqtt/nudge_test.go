package mqtt

import (
	"testing"
	"time"

	"conch/mqtt/mqtttest"
)

// A network that is back: nobody waits for the rest of a back-off, here an hour. And what delivers answers a call at any time.
func TestNudgeTriesAtOnce(t *testing.T) {
	b, err := NewBroker(BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	addr, url := b.Addr().String(), b.URL()
	b.Close()
	d := start(t, Config{URL: url, RetryMin: time.Hour, RetryMax: time.Hour})
	if err := mqtttest.Await(t, d.trouble, "the trouble"); err == nil {
		t.Fatal("there is no broker, and no trouble")
	}
	answers(t, d)
	embedded(t, BrokerConfig{Listen: addr})
	d.Nudge()
	d.Nudge() // as good as one
	d.up()
	answers(t, d)
}

func answers(t *testing.T, d *device) {
	t.Helper()
	back := make(chan struct{})
	if !d.Call(func() { close(back) }) {
		t.Fatal("a call does not go in")
	}
	mqtttest.Await(t, back, "the call")
}
