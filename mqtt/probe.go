package mqtt

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"conch/companions/round"
)

// CheckDevice says whether d can be a device's id.
func CheckDevice(d round.DeviceID) error {
	if !IsDeviceID(d) {
		return fmt.Errorf("mqtt: device %q: must be %d lower case letters and digits 2 to 7, as conch room id prints them", d, deviceIDLen)
	}
	return nil
}

// ReadIdentity reads the device's identity from dir and, unlike OpenIdentity, makes none: then errors.Is(err, fs.ErrNotExist).
func ReadIdentity(dir string) (Identity, error) {
	return readIdentity(filepath.Join(dir, identityFile))
}

// Probe connects once as cfg says (of a cluster: to URL), asks to hear the room, and goes. It publishes nothing, so that nobody notices. The error
// is one of those of OnTrouble. While a client of the same identity is connected, the broker would end that one's connection
// (MQTT 3.1.1, 3.1.4-2): do not.
func Probe(ctx context.Context, cfg Config) error {
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = 3 * time.Second
	}
	all, err := cfg.targets()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	t := all[0]
	if err := cfg.probe(ctx, t); err != nil {
		return explain(t.String(), err)
	}
	return nil
}

func (c *Config) probe(ctx context.Context, t target) error {
	password, err := c.password()
	if err != nil {
		return err
	}
	conn, _, err := c.dial(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(c.ConnectTimeout)); err != nil {
		return err
	}
	hello := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	hello.ProtocolName, hello.ProtocolVersion, hello.CleanSession = "MQTT", 4, true
	hello.ClientIdentifier, hello.Keepalive = string(c.Identity.ID()), 10
	if c.User != "" {
		hello.UsernameFlag, hello.Username = true, c.User
		hello.PasswordFlag, hello.Password = password != "", []byte(password)
	}
	if err := hello.Write(conn); err != nil {
		return err
	}
	in, err := packets.ReadPacket(conn)
	if err != nil {
		return err
	}
	ack, ok := in.(*packets.ConnackPacket)
	switch {
	case !ok:
		return fmt.Errorf("%w: it answers a connection with something else", ErrNoBroker)
	case ack.ReturnCode != packets.Accepted && packets.ConnErrors[ack.ReturnCode] == nil:
		return fmt.Errorf("%w: it refused this device with code %d", ErrNotAuthorized, ack.ReturnCode)
	case ack.ReturnCode != packets.Accepted:
		return packets.ConnErrors[ack.ReturnCode]
	}
	sub := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	sub.MessageID = 1
	for f, qos := range filters(c.Room, c.Ledgers, c.OnNote != nil) { // as a client asks: a broker may allow these and no more
		sub.Topics, sub.Qoss = append(sub.Topics, f), append(sub.Qoss, qos)
	}
	if err := sub.Write(conn); err != nil {
		return err
	}
	for { // packets of the room may come before the answer
		in, err := packets.ReadPacket(conn)
		if err != nil {
			return err
		}
		if ack, ok := in.(*packets.SubackPacket); ok {
			for i, f := range sub.Topics {
				if i >= len(ack.ReturnCodes) || ack.ReturnCodes[i] == subackFailed {
					return fmt.Errorf("%w: it may not read %s", ErrNotAuthorized, f)
				}
			}
			break
		}
	}
	return packets.NewControlPacket(packets.Disconnect).Write(conn)
}
