// Package intercom carries the calls of people who speak with one another through two devices of a room.
//
//	caller                                        the one that is called
//	opens a port, for this call alone
//	note members.call ── room (MQTT) ───────────> a member? not too often? no call yet?
//	   <───────────────────── TLS 1.3 ─────────── comes to that port; each knows the other by its key
//	   <── hello, ringing, accept; busy; bye ───> (lines of JSON)
//	   <── 10 ms of sound, a datagram each ─────> (RTP in AES-GCM, keyed by that TLS session)
//
// Nothing of the sound goes through the room's broker, and nothing listens while nobody calls. A device is its key (mqtt.Fingerprint), and
// the room's list says who belongs to it: whoever does not, or was removed, is refused in the handshake, before any sound and before it rings.
//
// What the machines do with a call, that it rings and that a press answers it, is TURNS.md 4.
package intercom
