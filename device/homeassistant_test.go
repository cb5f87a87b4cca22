package device

import (
	"strings"
	"sync"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/device/wait"
	"conch/mqtt/mqtttest"
)

// house is Home Assistant switched on.
const house = "[homeassistant]\ndiscovery = true\n"

// shown is the topic under which a real broker has the discovery of a device, and whether its microphone can be opened by it.
func shown(s *seam) string {
	broker := mqtttest.Start(s, mqtttest.Options{})
	s.cfg.HomeAssistant.Broker = broker.URL()
	var mu sync.Mutex
	kept := map[string]string{}
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + broker.Addr()).SetClientID("onlooker").SetDefaultPublishHandler(
		func(_ paho.Client, m paho.Message) {
			mu.Lock()
			defer mu.Unlock()
			kept[m.Topic()] = string(m.Payload())
		}))
	for _, begin := range []func() paho.Token{c.Connect, func() paho.Token { return c.Subscribe("#", 1, nil) }} {
		if t := begin(); t.Wait() && t.Error() != nil {
			s.Fatal(t.Error())
		}
	}
	defer c.Disconnect(0)
	d := s.new(Options{Anyway: true})
	d.actors = nil
	d.wireHomeAssistant()
	ctx, stop := s.run(runs(d.actors)...)
	defer stop()
	found := ""
	_ = wait.Until(ctx, func() bool {
		mu.Lock()
		defer mu.Unlock()
		for topic, text := range kept {
			if strings.HasSuffix(topic, "/config") {
				found = topic + " no talk"
				if strings.Contains(text, `"talk":{`) && strings.Contains(text, "Push to talk") {
					found = topic + " and talk"
				}
			}
		}
		return found != ""
	})
	return found
}
