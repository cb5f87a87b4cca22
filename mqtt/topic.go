package mqtt

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/printable"
)

// Kind is the fourth level of a topic: what sort of thing is said there (ROOM.md 2).
type Kind string

// Kinds.
const (
	KindPresence Kind = "presence"
	KindMessages Kind = "messages"
	KindStates   Kind = "states"
	KindFloor    Kind = "floor"
	KindLedger   Kind = "ledger"
	KindMembers  Kind = "members" // notes: who belongs to the room (PAIRING.md)
)

// TopicRoot is the first two levels; a change of the wire that old devices cannot read is a new version.
const TopicRoot = "conch/v1/"

// maxRoom bounds a room's name in bytes.
const maxRoom = 64

// Names of what is spoken behind a broker's listener to the network (RFC 7301).
const (
	ALPNCall = "conch-call/1" // people who speak with one another, device to device
	ALPNRoom = "mqtt"         // the room; a client that names nothing wants this, too
	ALPNPair = "conch-pair/1" // pairing
	ALPNKeep = "conch-keep/1" // two devices of a room settle which of them keeps it
)

// CheckRoom says whether a room's name can stand in a topic.
func CheckRoom(room string) error {
	switch {
	case room == "" || len(room) > maxRoom:
		return fmt.Errorf("mqtt: room %q: must be 1 to %d bytes long", room, maxRoom)
	case !utf8.ValidString(room):
		return fmt.Errorf("mqtt: room %q: must be UTF-8", room)
	case strings.ContainsAny(room, "/+#"):
		return fmt.Errorf("mqtt: room %q: must not contain / + or #, which mean something in a topic", room)
	case strings.ContainsFunc(room, unicode.IsControl):
		return fmt.Errorf("mqtt: room %q: must not contain control characters", room)
	}
	return nil
}

// Topic is where a device says things of a kind.
func Topic(room string, k Kind, d round.DeviceID) string {
	return TopicRoot + room + "/" + string(k) + "/" + string(d)
}

// Filter is a whole room, and no other.
func Filter(room string) string { return TopicRoot + room + "/+/+" }

// filters are the subscriptions of a client, by QoS. The broker keeps back what is not wanted: to receive an envelope only to
// drop it costs as much as a vote. QoS is 0 whatever was published: a session ends with its connection, so that QoS 1 from the broker
// on adds nothing to TCP but a queue for each client. One member can fill it, and then brokers drop presses of QoS 0, too (Mosquitto does).
func filters(room string, ledgers, notes bool) map[string]byte {
	f := map[string]byte{}
	for _, k := range [...]Kind{KindPresence, KindMessages, KindStates, KindFloor} {
		f[TopicRoot+room+"/"+string(k)+"/+"] = 0
	}
	if notes {
		f[TopicRoot+room+"/"+string(KindMembers)+"/+"] = 0
	}
	if ledgers {
		f[TopicRoot+room+"/"+string(KindLedger)+"/+"] = 0
	}
	return f
}

// SplitTopic takes a topic of a room apart; false for any other topic.
func SplitTopic(room, t string) (Kind, round.DeviceID, bool) {
	rest, ok := strings.CutPrefix(t, TopicRoot+room+"/")
	if !ok {
		return "", "", false
	}
	k, d, ok := strings.Cut(rest, "/")
	if !ok || !IsDeviceID(round.DeviceID(d)) {
		return "", "", false
	}
	if !Kind(k).Known() {
		return "", "", false
	}
	return Kind(k), round.DeviceID(d), true
}

// Known says whether there is such a kind.
func (k Kind) Known() bool {
	switch k {
	case KindPresence, KindMessages, KindStates, KindFloor, KindLedger, KindMembers:
		return true
	}
	return false
}

// FitName makes a name that can be shown and said, of at most so many bytes: what turns the direction of writing is left out, too.
// other serves when nothing is left.
func FitName(s string, most int, other string) string {
	s = strings.TrimSpace(strings.ReplaceAll(printable.Text(s), string(utf8.RuneError), ""))
	for len(s) > most || s != "" && !printable.IsName(s) {
		_, n := utf8.DecodeLastRuneInString(s)
		s = strings.TrimSpace(s[:len(s)-n])
	}
	return cmp.Or(s, other)
}
