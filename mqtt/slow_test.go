package mqtt

import (
	"errors"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/mqtt/mqtttest"
)

// A broker that takes longer to let a device in than the device waits is a trouble in words, and is tried again.
func TestConnectionThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := embedded(t, BrokerConfig{})
	p, err := mqtttest.NewProxy(b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Delay(400*time.Millisecond, 0)
	d := start(t, Config{URL: p.URL(), ConnectTimeout: 50 * time.Millisecond, RetryMin: time.Millisecond})
	if err := mqtttest.Await(t, d.trouble, "trouble"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("trouble %v; want %v", err, ErrUnreachable)
	}
	p.Delay(0, 0)
	d.up()
}

// Nor may it pass for a connection that the library has not said anything at all in that time: the reader would take the
// missing reason for an envelope.
func TestConnectionOfWhichNothingIsKnown(t *testing.T) {
	err := connected(new(paho.ConnectToken), time.Millisecond) // it never completes, and has no error
	if err == nil {
		t.Fatal("no error")
	}
	if got := explain("mqtt://host", err); !errors.Is(got, ErrUnreachable) {
		t.Errorf("%v; want %v", got, ErrUnreachable)
	}
}
