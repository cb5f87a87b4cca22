package mqtt_test

import (
	"conch/mqtt"
	"conch/mqtt/broker"
)

func init() {
	mqtt.NewBroker = func(c mqtt.BrokerConfig) (mqtt.Broker, error) {
		cfg := broker.Config{Listen: c.Listen, Room: c.Room}
		if c.Network != nil {
			cfg.Network = &broker.Network{Listen: "127.0.0.1:0", TLS: c.Network}
		}
		if c.Admit != nil {
			cfg.Admit = func(p broker.Peer) error { return c.Admit(p.Device, p.User, p.TLS) }
		}
		return broker.New(cfg)
	}
}
