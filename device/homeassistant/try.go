package homeassistant

import (
	"context"
	"crypto/rand"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/device/config"
)

// Trouble is what is wrong with a broker, and what a person does about it; empty: nothing.
type Trouble struct{ Text, Do string }

// Try connects once, says nothing there, and goes.
func Try(ctx context.Context, c config.HomeAssistant) (t Trouble) {
	l, err := dial(ctx, c, unlimited, "conch-setup-"+rand.Text()[:8], message{}, func(paho.Message) {})
	if err != nil {
		t.Text, t.Do = explain(c.Broker, err, false)
		return t
	}
	l.client.Disconnect(quiesce)
	return t
}
