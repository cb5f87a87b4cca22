package mqtt

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// runHelper is the test binary as another process: a device that is there until it is killed.
func runHelper(url string) int {
	if arg, ok := strings.CutPrefix(url, "flood "); ok {
		return floodRole(arg)
	}
	if arg, ok := strings.CutPrefix(url, "line "); ok {
		return badLineRole(arg)
	}
	id, err := NewIdentity()
	if err != nil {
		return 1
	}
	var c *Client
	c, err = NewClient(Config{
		URL: url, Room: "kitchen", Identity: id,
		OnPacket: func(round.DeviceID, round.Packet) {},
		OnLink: func(up bool) {
			if up {
				fmt.Println(id.ID())
			}
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			c.Send(cards("eve"))
		}
	}()
	_ = c.Run(context.Background())
	return 0
}

// process starts a device as a process of its own and waits until it is there.
func process(t *testing.T, url string) (round.DeviceID, *os.Process) {
	t.Helper()
	p, lines := mqtttest.Process(t, "CONCH_MQTT_HELPER="+url)
	return round.DeviceID(mqtttest.Await(t, lines, "the other process")), p
}

// openWhole reads an envelope that came under a topic of the room and checks what can be known from itself.
func openWhole(room, t string, payload []byte) (Envelope, *Refusal) {
	l, r := look(room, t, payload)
	if r != nil {
		return Envelope{}, r
	}
	return l.open(room)
}
