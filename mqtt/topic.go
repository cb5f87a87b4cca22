package mqtt

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
)

// kind is the fourth level of a topic: what sort of thing is said there (ROOM.md 2).
type kind string

const (
	kindPresence kind = "presence"
	kindMessages kind = "messages"
	kindStates   kind = "states"
	kindFloor    kind = "floor"
	kindLedger   kind = "ledger"
	kindMembers  kind = "members" // notes: who belongs to the room (PAIRING.md)
)

// topicRoot is the first two levels; a change of the wire that old devices cannot read is a new version.
const topicRoot = "conch/v1/"

// deviceIDLen is the length of a fingerprint: 100 bits, and still within the 23 bytes of a client id that every broker
// has to take (MQTT 3.1.1, 3.1.3.1).
const deviceIDLen = 20

// maxRoom bounds a room's name in bytes.
const maxRoom = 64

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

func topic(room string, k kind, d round.DeviceID) string {
	return topicRoot + room + "/" + string(k) + "/" + string(d)
}

// filter is a whole room, and no other.
func filter(room string) string { return topicRoot + room + "/+/+" }

// filters are the subscriptions of a client, by QoS. The broker keeps back what is not wanted: to receive an envelope only to
// drop it costs as much as a vote.
func filters(room string, ledgers, notes bool) map[string]byte {
	f := map[string]byte{}
	for _, k := range [...]kind{kindPresence, kindMessages, kindStates, kindFloor} {
		f[topicRoot+room+"/"+string(k)+"/+"] = 1
	}
	if notes {
		f[topicRoot+room+"/"+string(kindMembers)+"/+"] = 1
	}
	if ledgers {
		f[topicRoot+room+"/"+string(kindLedger)+"/+"] = 0
	}
	return f
}

// splitTopic takes a topic of a room apart; false for any other topic.
func splitTopic(room, t string) (kind, round.DeviceID, bool) {
	rest, ok := strings.CutPrefix(t, topicRoot+room+"/")
	if !ok {
		return "", "", false
	}
	k, d, ok := strings.Cut(rest, "/")
	if !ok || !validDevice(round.DeviceID(d)) {
		return "", "", false
	}
	switch kind(k) {
	case kindPresence, kindMessages, kindStates, kindFloor, kindLedger, kindMembers:
		return kind(k), round.DeviceID(d), true
	}
	return "", "", false
}

// validDevice says whether d can be the fingerprint of a key.
func validDevice(d round.DeviceID) bool {
	return len(d) == deviceIDLen && strings.Trim(string(d), letters) == ""
}

// FitName makes a name that can be shown and said, of at most so many bytes: what turns the direction of writing is left out, too.
// other serves when nothing is left.
func FitName(s string, most int, other string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s))
	for len(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return cmp.Or(strings.TrimSpace(s), other)
}
