package device

import (
	"context"
	"errors"

	"conch/companions/skills"
	"conch/mqtt"
)

// home is what a skill may know of the house, over the device's own connection with its broker; nil where nothing is configured.
func (d *Device) home() *skills.Home {
	if len(d.cfg.Home) == 0 {
		return nil
	}
	h := &skills.Home{
		Publish: func(ctx context.Context, topic, payload string) error {
			bus, err := d.house()
			if err != nil {
				return err
			}
			return bus.Publish(ctx, topic, []byte(payload))
		},
		Read: func(ctx context.Context, topic string) (string, error) {
			bus, err := d.house()
			if err != nil {
				return "", err
			}
			b, err := bus.Retained(ctx, topic)
			return string(b), err
		},
	}
	for _, t := range d.cfg.Home {
		h.Things = append(h.Things, skills.Thing(t))
	}
	return h
}

var errNoHouse = errors.New("the broker of this room is one of conch's own, which carries nothing else; room.broker has to name that of the house")

// house is the connection with the broker of the house. A broker of conch's own lets nothing but the room through, and would acknowledge
// what it drops.
func (d *Device) house() (*mqtt.Client, error) {
	paired, host := d.link.Way()
	switch {
	case paired != nil || host || d.cfg.Room.Broker == "embedded":
		return nil, errNoHouse
	case d.bus == nil:
		return nil, errors.New("room.broker names no broker")
	}
	return d.bus, nil
}
