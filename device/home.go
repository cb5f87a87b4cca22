package device

import (
	"context"
	"errors"

	"conch/companions/skills"
	"conch/device/condition"
	"conch/device/config"
	"conch/mqtt"
)

// home is what a skill may know of the house, over the device's own connection with its broker; nil where nothing is configured.
func (d *Device) home() *skills.Home {
	h := things(d.cfg.Home)
	if h == nil {
		return nil
	}
	h.Publish = func(ctx context.Context, topic, payload string) error {
		bus, err := d.house()
		if err == nil {
			err = d.carried(bus.Publish(ctx, topic, []byte(payload)))
		}
		if errors.Is(err, errNoHouse) || errors.Is(err, errNoBroker) || errors.Is(err, mqtt.ErrAway) {
			return skills.UnsentError{Why: err}
		}
		return err
	}
	h.Read = func(ctx context.Context, topic string) (string, error) {
		bus, err := d.house()
		if err != nil {
			return "", err
		}
		b, err := bus.Retained(ctx, topic)
		return string(b), d.carried(err)
	}
	return h
}

// things are what [home] lists; nil: nothing.
func things(listed []config.Thing) *skills.Home {
	if len(listed) == 0 {
		return nil
	}
	h := &skills.Home{}
	for _, t := range listed {
		h.Things = append(h.Things, skills.Thing(t))
	}
	return h
}

// Errors of a house that cannot be reached as this device is set up.
var (
	errNoHouse  = errors.New("the broker of this room is one of conch's own, which carries nothing else; room.broker has to name that of the house")
	errNoBroker = errors.New("room.broker names no broker")
)

// unreachable says that what [home] lists cannot be reached, as long as this device is set up as it is.
func (d *Device) unreachable() {
	if _, err := d.house(); err != nil && len(d.cfg.Home) > 0 {
		d.noHouse(err)
	}
}

func (d *Device) noHouse(err error) {
	d.conds.Set(condition.HomeAway, "nothing of [home] can be switched or read: "+err.Error(),
		`name the broker of the house, as in room.broker = "mqtt://HOST:1883", on each device of the room, and restart`)
}

// carried also looks at what the broker was found to be: what room.broker names may be kept by another conch.
func (d *Device) carried(err error) error {
	if errors.Is(err, mqtt.ErrRoomOnly) {
		err = errNoHouse
		d.noHouse(err)
	}
	return err
}

// house is the connection with the broker of the house. A broker of conch's own lets nothing but the room through, and would acknowledge
// what it drops.
func (d *Device) house() (*mqtt.Client, error) {
	paired, host := d.link.Way()
	switch {
	case paired != nil || host || d.cfg.Room.Broker == "embedded":
		return nil, errNoHouse
	case d.bus == nil:
		return nil, errNoBroker
	}
	return d.bus, nil
}
