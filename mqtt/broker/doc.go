// Package broker is the embedded broker of a room: an MQTT 3.1.1 broker that retains nothing, keeps no session, lets each device
// write under its own id only, and holds every member within its limits. What is said through it is package mqtt's.
//
// # Listeners
//
//	own client ──plain, loopback──> gate ─────────────────────────────┐
//	                                                                  ├──> access list: CONNECT, publish, subscribe
//	member ─────TLS 1.3, "mqtt" or no ALPN, certificate──> listener ──┘
//	newcomer ───TLS 1.3, "conch-pair/1", while a window is open──> listener ──> Network.Pair
//	member ─────TLS 1.3, "conch-keep/1", device keys──> listener ──> Network.Keep
//
// The second listener exists only with Config.Network. Its certificates say which device is there; whether that may come in is for
// Config.Admit, which is asked for each connection, and once more when the client is among those that Drop finds, so that a
// device removed in between does not stay. A connection that has not got that far is a stranger: 5 s for the handshake and 5 s for CONNECT,
// 64 at a time, of which the oldest gives way, 16 of one address. Nobody is identified by a name or an address: a member tries all
// the addresses at which its host may be (mqtt.Config.Addresses), a quarter of a second apart, and believes the one that has the host's
// key. What one of them may cost the broker and the others is in FLOODS.md 1: bytes, packets, connections, filters, and what waits for
// one that does not read.
//
// Nothing but rooms goes through it. It says so to whoever subscribes to mqtt.RoomOnly with QoS 1, by granting 0.
package broker
