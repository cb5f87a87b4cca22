package mqtt

import (
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// A probe asks to read what a client of the room reads, and nothing beyond that: a broker may allow no more.
func TestProbeAsksForWhatAClientReads(t *testing.T) {
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	refuse := "" // this one
	probe := func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		done := make(chan error, 1)
		go func() { done <- subscribed(l, &asked, refuse) }()
		err = Probe(t.Context(), Config{URL: "mqtt://" + l.Addr().String(), Room: "kitchen", Identity: id})
		if e := <-done; e != nil {
			t.Fatal(e)
		}
		return err
	}
	if err := probe(); err != nil {
		t.Error(err)
	}
	want := slices.Sorted(maps.Keys(filters("kitchen", false, false)))
	if slices.Sort(asked); !slices.Equal(asked, want) {
		t.Errorf("asked to read %q; want %q", asked, want)
	}
	refuse = want[2]
	if err := probe(); !errors.Is(err, ErrNotAuthorized) || !strings.Contains(err.Error(), refuse) {
		t.Errorf("%v; want that it may not read %s", err, refuse)
	}
}

// subscribed is a broker for one client, as far as its subscription: it keeps what is asked for, and refuses one filter.
func subscribed(l net.Listener, asked *[]string, refuse string) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := packets.ReadPacket(conn); err != nil {
		return err
	}
	if err := packets.NewControlPacket(packets.Connack).Write(conn); err != nil {
		return err
	}
	in, err := packets.ReadPacket(conn)
	if err != nil {
		return err
	}
	sub, ok := in.(*packets.SubscribePacket)
	if !ok {
		return errors.New("no subscription: " + in.String())
	}
	*asked = sub.Topics
	ack := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
	ack.MessageID = sub.MessageID
	for i, f := range sub.Topics {
		code := sub.Qoss[i]
		if f == refuse {
			code = subackFailed
		}
		ack.ReturnCodes = append(ack.ReturnCodes, code)
	}
	if err := ack.Write(conn); err != nil {
		return err
	}
	_, _ = packets.ReadPacket(conn) // it goes
	return nil
}
