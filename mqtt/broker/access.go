package broker

import (
	"crypto/tls"
	"log/slog"
	"strings"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"conch/companions/round"
	"conch/mqtt"
)

// access is the broker's access list: a client is a device; it reads its room, and writes only under its own id.
type access struct {
	mochi.HookBase
	room   string
	admit  func(Peer) error
	bounds *bounds
	log    *slog.Logger
}

func (*access) ID() string { return "access" }

func (*access) Provides(b byte) bool {
	switch b {
	case mochi.OnConnectAuthenticate, mochi.OnSessionEstablished, mochi.OnDisconnect, mochi.OnACLCheck, mochi.OnSubscribe, mochi.OnPublish, mochi.OnQosPublish:
		return true
	}
	return false
}

// OnSessionEstablished asks again, now that the client is among those that Drop finds: it may have been removed in between.
func (a *access) OnSessionEstablished(cl *mochi.Client, pk packets.Packet) {
	a.bounds.crowd.Add(1)
	if a.admit != nil && a.admit(peerOf(cl, pk)) != nil {
		cl.Stop(packets.ErrNotAuthorized)
		return
	}
	if s, ok := cl.Net.Conn.(*served); ok {
		s.client.Store(cl)
		s.bare.known()
	}
}

func (a *access) OnDisconnect(*mochi.Client, error, bool) { a.bounds.crowd.Add(-1) }

func peerOf(cl *mochi.Client, pk packets.Packet) Peer {
	p := Peer{Device: round.DeviceID(cl.ID), User: string(pk.Connect.Username), Password: pk.Connect.Password, Remote: cl.Net.Conn.RemoteAddr()}
	if s, ok := cl.Net.Conn.(*served); ok {
		if c, ok := s.Conn.(*tls.Conn); ok {
			state := c.ConnectionState()
			p.TLS = &state
		}
	}
	return p
}

// OnConnectAuthenticate also looks at the last will, which the library would publish without asking anybody.
func (a *access) OnConnectAuthenticate(cl *mochi.Client, pk packets.Packet) bool {
	no := func(why string, args ...any) bool {
		a.log.Warn(eventBroker, append([]any{"refused", why, "client", cl.ID, "remote", cl.Net.Remote}, args...)...)
		return false
	}
	if pk.ProtocolVersion != 4 { // another one has more that would have to be bounded
		return no("does not speak MQTT 3.1.1", "version", pk.ProtocolVersion)
	}
	if !mqtt.IsDeviceID(round.DeviceID(cl.ID)) {
		return no("the client id is no device id")
	}
	if pk.Connect.WillFlag && !a.OnACLCheck(cl, pk.Connect.WillTopic, true) {
		return no("last will under another's name", "topic", pk.Connect.WillTopic)
	}
	if !pk.Connect.Clean {
		return no("wants its session kept: nothing is kept here")
	}
	if a.admit == nil {
		return true
	}
	if err := a.admit(peerOf(cl, pk)); err != nil {
		return no(err.Error())
	}
	return true
}

// OnACLCheck is asked for each publish, each subscription (after OnSubscribe) and each delivery.
func (a *access) OnACLCheck(cl *mochi.Client, t string, write bool) bool {
	if t == mqtt.RoomOnly {
		return !write
	}
	rest, ok := strings.CutPrefix(t, mqtt.TopicRoot)
	room, rest, found := strings.Cut(rest, "/")
	if !ok || !found || mqtt.CheckRoom(room) != nil || a.room != "" && room != a.room {
		return false
	}
	if !write {
		return true // one level below the room is named, so that no filter reaches into another
	}
	_, d, ok := mqtt.SplitTopic(room, t)
	if ok && string(d) != cl.ID { // no device does that by mistake
		if s, ok := cl.Net.Conn.(*served); ok && s.device != "" {
			s.offend(ExcessForeign, 1, 0)
		}
		return false
	}
	return ok && rest != ""
}

// OnSubscribe empties the filters that are not to be had, which the library then refuses one by one.
func (a *access) OnSubscribe(cl *mochi.Client, pk packets.Packet) packets.Packet {
	has := cl.State.Subscriptions.GetAll()
	for i, f := range pk.Filters {
		if f.Filter == mqtt.RoomOnly {
			pk.Filters[i].Qos = 0 // which says what this broker is
		}
		if _, again := has[f.Filter]; again {
			continue
		}
		if len(has) >= a.bounds.limits.Filters || !a.readable(f.Filter) {
			pk.Filters[i].Filter = ""
			continue
		}
		has[f.Filter] = f
	}
	return pk
}

// readable says whether a filter is one of a room's topics: all of them, all of a kind or of a device, or one.
func (a *access) readable(filter string) bool {
	if filter == mqtt.RoomOnly {
		return true
	}
	rest, ok := strings.CutPrefix(filter, mqtt.TopicRoot)
	room, rest, found := strings.Cut(rest, "/")
	if !ok || !found || mqtt.CheckRoom(room) != nil || a.room != "" && room != a.room {
		return false
	}
	k, d, two := strings.Cut(rest, "/")
	if k == "#" {
		return !two
	}
	return two && (k == "+" || mqtt.Kind(k).Known()) && (d == "+" || d == "#" || mqtt.IsDeviceID(round.DeviceID(d)))
}

// OnPublish is asked about each message: only a history may be as long as a history.
func (*access) OnPublish(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	if len(pk.Payload) > mqtt.MaxEnvelope && !strings.Contains(pk.TopicName, "/"+string(mqtt.KindMessages)+"/") {
		return pk, packets.ErrRejectPacket
	}
	return pk, nil
}

// OnQosPublish takes the payload from what waits for an acknowledgement: no session is kept, so it is never sent again.
func (*access) OnQosPublish(cl *mochi.Client, pk packets.Packet, _ int64, _ int) {
	if pk.FixedHeader.Type == packets.Publish {
		pk.Payload = nil
		cl.State.Inflight.Set(pk)
	}
}
