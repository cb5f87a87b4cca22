package mqtt

import (
	"testing"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/mqtt/mqtttest"
)

// recorder is a client that nobody here wrote, and keeps everything it hears.
type recorder struct {
	t  testing.TB
	ch chan paho.Message
}

func record(t testing.TB, url, room string) *recorder {
	t.Helper()
	r := &recorder{t: t, ch: make(chan paho.Message, 4096)}
	c := raw(t, url, "recorder")
	if tok := c.Subscribe(TopicRoot+room+"/#", 1, func(_ paho.Client, m paho.Message) { r.ch <- m }); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
		t.Fatal(tok.Error())
	}
	return r
}

func (r *recorder) until(last func(paho.Message) bool) (out []paho.Message) {
	r.t.Helper()
	for {
		m := mqtttest.Await(r.t, r.ch, "a recording")
		if out = append(out, m); last(m) {
			return out
		}
	}
}

func raw(t testing.TB, url, id string) paho.Client {
	t.Helper()
	c := paho.NewClient(paho.NewClientOptions().AddBroker(url).SetClientID(id).SetAutoReconnect(false).SetProtocolVersion(4))
	if tok := c.Connect(); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
		t.Fatalf("connect %s: %v", id, tok.Error())
	}
	t.Cleanup(func() { c.Disconnect(100) })
	return c
}
