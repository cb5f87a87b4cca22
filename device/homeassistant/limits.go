package homeassistant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	mochi "github.com/mochi-mqtt/server/v2/packets"

	"conch/device/config"
)

// limits are what a broker takes.
type limits struct {
	packet int  // bytes of a message, all in all; 0: any
	qos    byte // at most
	keeps  bool // what is to be retained
}

// unlimited is what a broker takes as it is installed.
var unlimited = limits{qos: 1, keeps: true}

func (l limits) String() string {
	var not []string
	if l.packet > 0 {
		not = append(not, fmt.Sprintf("a message of more than %d bytes (max_packet_size)", l.packet))
	}
	if l.qos == 0 {
		not = append(not, "one that is to be acknowledged (max_qos)")
	}
	if !l.keeps {
		not = append(not, "one that is to be kept (retain_available)")
	}
	return strings.Join(not, ", ")
}

// fits says whether a message is small enough.
func (l limits) fits(m message) bool {
	const head = 1 + 4 + 2 + 2 // fixed header, length of the topic, number (MQTT 3.1.1, 3.3)
	return l.packet == 0 || head+len(m.topic)+len(m.payload) <= l.packet
}

// limitsOf asks a broker. Its answer in MQTT 5 has them (3.2.2.3); in 3.1.1 it hangs up without a word when one is passed.
func limitsOf(ctx context.Context, c config.HomeAssistant, clientID string) limits {
	t, password, conf, err := way(c)
	if err != nil {
		return unlimited
	}
	conn, err := open(ctx, t, conf)
	if err != nil {
		return unlimited
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	var hello bytes.Buffer
	p := mochi.Packet{ProtocolVersion: 5, FixedHeader: mochi.FixedHeader{Type: mochi.Connect}, Connect: mochi.ConnectParams{
		ProtocolName: []byte("MQTT"), ClientIdentifier: clientID, Clean: true, Keepalive: 10,
		UsernameFlag: c.User != "", Username: []byte(c.User), PasswordFlag: c.User != "" && password != "", Password: []byte(password),
	}}
	if err := p.ConnectEncode(&hello); err != nil {
		return unlimited
	}
	if _, err := conn.Write(hello.Bytes()); err != nil {
		return unlimited
	}
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil || head[0]>>4 != mochi.Connack || head[1] > 127 {
		return unlimited
	}
	body := make([]byte, head[1])
	ack := mochi.Packet{ProtocolVersion: 5, FixedHeader: mochi.FixedHeader{Type: mochi.Connack, Remaining: len(body)}}
	if _, err := io.ReadFull(conn, body); err != nil || ack.ConnackDecode(body) != nil || ack.ReasonCode != 0 {
		return unlimited
	}
	_, _ = conn.Write([]byte{mochi.Disconnect << 4, 0})
	l := limits{packet: int(ack.Properties.MaximumPacketSize), qos: 1, keeps: !ack.Properties.RetainAvailableFlag || ack.Properties.RetainAvailable == 1}
	if ack.Properties.MaximumQosFlag {
		l.qos = min(l.qos, ack.Properties.MaximumQos)
	}
	return l
}

// hungUp says that the broker has ended a connection without a word.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}
