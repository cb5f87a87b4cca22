package discovery

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/companions/round"
)

// ServiceType is what devices announce and look for (PAIRING.md, Discovery).
const ServiceType = "_conch._tcp"

// Service is what a device says of itself. Nothing in it is secret, and nothing of it is believed.
type Service struct {
	Name    string // of the device, for people
	Room    string // the room's name, for people; empty: in no room yet
	RoomID  string // empty: in no room yet
	Device  round.DeviceID
	Salt    string // RoomID and Device are veiled under it; empty: they are what they are
	Pairing bool   // a pairing window is open
	Port    int
}

// Found is a service of somebody else. Everything in it was said by the network: it has been bounded and made printable, and
// is otherwise a hint where to knock.
type Found struct {
	Service
	Addresses []string // HOST:PORT, at most maxAddresses, the likeliest first; link-local ones with their zone
}

const (
	maxLabel     = 63  // bytes of one part of a domain name (RFC 1035 2.3.4)
	maxRoom      = 64  // bytes of a room's name, in and out
	maxText      = 16  // strings of a TXT record that are looked at; ours has six
	maxFound     = 64  // services that a browse keeps: a network with more is lying
	maxAddresses = 8   // of a service
	deviceLen    = 20  // letters of a device id (mqtt.Identity)
	roomIDLen    = 16  // "r" and fifteen of the same letters
	version      = "1" // of what the TXT record means
	lower32      = "abcdefghijklmnopqrstuvwxyz234567"
)

// text is the service's TXT record (RFC 6763 6). Keys are at most nine letters, as recommended there.
func (s Service) text() []string {
	pair := "no"
	if s.Pairing {
		pair = "yes"
	}
	text := []string{"v=" + version, "dev=" + string(s.Device), "id=" + s.RoomID, "pair=" + pair, "room=" + printable(s.Room, maxRoom)}
	if s.Salt != "" {
		text = append(text, "salt="+s.Salt)
	}
	return text
}

// readText makes a service of somebody's TXT record; false where it is none of this version's. Of a key that is said twice
// the first counts (RFC 6763 6.4); unknown ones are left alone, for a later version to use.
func readText(text []string) (Service, bool) {
	seen := map[string]string{}
	for _, t := range text[:min(len(text), maxText)] {
		key, value, ok := strings.Cut(t, "=")
		key = strings.ToLower(key)
		if _, twice := seen[key]; !ok || twice {
			continue
		}
		seen[key] = value
	}
	s := Service{Room: printable(seen["room"], maxRoom), RoomID: seen["id"], Device: round.DeviceID(seen["dev"]), Pairing: seen["pair"] == "yes"}
	if validSalt(seen["salt"]) {
		s.Salt = seen["salt"]
	}
	ok := seen["v"] == version && validDevice(s.Device) && (s.RoomID == "" || validRoomID(s.RoomID))
	return s, ok
}

func validDevice(d round.DeviceID) bool {
	return len(d) == deviceLen && strings.Trim(string(d), lower32) == ""
}

func validRoomID(id string) bool {
	return len(id) == roomIDLen && id[0] == 'r' && strings.Trim(id[1:], lower32) == ""
}

// valid says whether a service can be announced at all.
func (s Service) valid() bool {
	return validDevice(s.Device) && (s.RoomID == "" || validRoomID(s.RoomID)) && s.Port > 0 && s.Port < 1<<16
}

// printable makes of any bytes something that can be shown, spoken and logged: no control characters, nothing that turns the
// direction of writing, no runs of spaces, at most limit bytes.
func printable(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s[:min(len(s), 4*limit)] {
		switch {
		case r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r):
			space = b.Len() > 0
			continue
		case space && b.Len()+1+utf8.RuneLen(r) > limit, b.Len()+utf8.RuneLen(r) > limit:
			return b.String()
		case space:
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneDot looks like a dot and is none: a label with a real one is legal in DNS-SD, but golang.org/x/net/dns/dnsmessage
// refuses it, and so do others.
const oneDot = "\u2024"

// label is a service's name as the first part of its domain name. Names of two devices may be the same, and then each tries
// the next level: with four letters of its id, with eight, with all of them.
func label(s Service, level int) string {
	suffix := ""
	switch {
	case level <= 0:
	case level < lastLevel:
		suffix = " " + string(s.Device[:4*level])
	default:
		suffix = " " + string(s.Device)
	}
	name := printable(strings.ReplaceAll(printable(s.Name, maxLabel), ".", oneDot), maxLabel-len(suffix))
	if name == "" {
		name = "conch"
	}
	return name + suffix
}

// lastLevel is a name that nobody else has by accident; who then still objects is not listened to.
const lastLevel = 3

// nameOf is the name in somebody's label.
func nameOf(label string) string {
	if name := printable(strings.ReplaceAll(label, oneDot, "."), maxLabel); name != "" {
		return name
	}
	return "conch"
}

// sorted brings what was found into an order that two browses share.
func sorted(found []Found) []Found {
	slices.SortFunc(found, func(a, b Found) int {
		if c := strings.Compare(string(a.Device), string(b.Device)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found
}
