// Package homeassistant shows the device to Home Assistant, and to whoever else speaks its MQTT discovery, and lets it do what is
// harmless (HOMEASSISTANT.md). It has a connection and topics of its own, never the room's, and what comes by them is data.
//
//	Feed ──> view (pure) ──> entities (pure) ──> wanted: topic and payload ──> session ──> broker     newest wins, one at a time
//	                                                                             │
//	Ask  <── workers  <──── bounded queues <── limits <── decode (pure) <───────┘
//
//	<prefix>/device/conch_ID/config   discovery: one payload for all entities, retained
//	conch-ha/ID/avail                 online; offline by the last will, retained
//	conch-ha/ID/KEY/state             of one entity, retained
//	conch-ha/ID/KEY/attributes        JSON, retained
//	conch-ha/ID/KEY/event             a press, JSON, never retained
//	conch-ha/ID/KEY/set               what somebody wants: read, never written
//
// Nobody on the device waits for a broker that is slow or not there: what is to be published is a map of which the newest values count,
// and one goroutine carries it, an acknowledgement at a time.
package homeassistant
