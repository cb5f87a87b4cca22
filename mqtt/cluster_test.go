package mqtt

import (
	"strings"
	"testing"
	"time"

	"conch/mqtt/mqtttest"
)

// Addresses of a cluster: whichever is there is used, the next one when a node goes, and that none is there is told once, of
// all of them, whichever was tried first.
func TestAClusterIsTriedInTurn(t *testing.T) {
	var brokers [3]Broker
	var urls []string
	for i := range brokers {
		brokers[i] = embedded(t, BrokerConfig{Listen: "127.77.0.3:0"})
		urls = append(urls, brokers[i].URL())
	}
	brokers[0].Close()
	reached := make(chan string, 16)
	d := start(t, Config{URL: urls[0], More: urls[1:], OnReached: func(s string) { reached <- s }, RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond}).up()
	if got := mqtttest.Await(t, reached, "a node"); got != urls[1] {
		t.Fatalf("reached %s; want %s, the first that is there", got, urls[1])
	}
	brokers[1].Close()
	d.link(false)
	d.up()
	if got := mqtttest.Await(t, reached, "another node"); got != urls[2] {
		t.Fatalf("reached %s; want %s", got, urls[2])
	}
	brokers[2].Close()
	d.link(false)
	names := func(err error) (n int) {
		for _, u := range urls {
			if err != nil && strings.Contains(err.Error(), u) {
				n++
			}
		}
		return n
	}
	for names(mqtttest.Await(t, d.trouble, "the trouble of all three")) < len(urls) { // the loss of a link is told at once, of its node
		continue
	}
	back := embedded(t, BrokerConfig{Listen: strings.TrimPrefix(urls[1], "mqtt://")})
	d.up()
	if err := mqtttest.Await(t, d.trouble, "the end of it"); err != nil {
		t.Errorf("told once more of the same trouble: %v", err)
	}
	if got := mqtttest.Await(t, reached, "the node that is back"); got != back.URL() {
		t.Fatalf("reached %s; want %s", got, back.URL())
	}
}

func TestEveryAddressOfAClusterIsChecked(t *testing.T) {
	_, err := NewClient(Config{URL: "mqtt://a", More: []string{"http://b"}, Room: "kitchen", Identity: identity(t), OnPacket: nil})
	if err == nil || !strings.Contains(err.Error(), "http://b") {
		t.Errorf("error %v; want one that names the address", err)
	}
}
