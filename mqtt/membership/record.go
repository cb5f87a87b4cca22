package membership

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/printable"
	"conch/mqtt"
)

// Bounds of a room.
const (
	maxMembers   = 64 // devices (companions/round)
	maxName      = 64 // bytes
	maxAddresses = 8
	maxRemoved   = 32       // devices that were removed and are not forgotten; the oldest goes first
	maxAddress   = 128      // bytes
	maxRecord    = 31 << 10 // bytes: a sealed welcome has 32 KiB, and so has a note
	maxCert      = 2 << 10
	roomIDLen    = 16
)

// record is room.json, and a welcome is the newcomer's room.json. It is a value: whoever changes it changes a clone.
type record struct {
	V         int                               `json:"v"`
	Device    round.DeviceID                    `json:"device"` // whose it is
	ID        string                            `json:"room"`
	Name      string                            `json:"name"`
	Host      round.DeviceID                    `json:"host"`
	Foreign   bool                              `json:"foreign,omitempty"`
	Version   uint64                            `json:"version"`
	At        int64                             `json:"at,omitempty"` // when the host wrote the list, by its clock, seconds since 1970; 0: it had none
	Members   []listed                          `json:"members"`
	Addresses []string                          `json:"addresses,omitempty"`
	CA        []byte                            `json:"ca,omitempty"`      // DER
	Cert      []byte                            `json:"cert,omitempty"`    // DER, this device's
	Term      uint64                            `json:"term,omitempty"`    // counts who has kept the room; 0: the device that made it
	Claim     *claim                            `json:"claim,omitempty"`   // of the host, where Term is not 0
	Acks      []ack                             `json:"acks,omitempty"`    // of the others; at the host only
	Origins   map[round.DeviceID]round.DeviceID `json:"origins,omitempty"` // device: who let it in; in no newcomer's welcome
	Removed   []removal                         `json:"removed,omitempty"` // oldest first; in no newcomer's welcome
}

type listed struct {
	ID      round.DeviceID `json:"id"`
	Name    string         `json:"name"`
	Since   int64          `json:"since,omitempty"`
	Seen    int64          `json:"seen,omitempty"`
	Pending bool           `json:"pending,omitempty"`
}

// removal is a device that was removed: for a while only the host lets it in again.
type removal struct {
	ID   round.DeviceID `json:"id"`
	Name string         `json:"name"`
	By   round.DeviceID `json:"by"`
	At   int64          `json:"at,omitempty"` // by the host's clock as it was
}

func (r *record) clone() *record {
	c := *r
	c.Origins, c.Removed = maps.Clone(r.Origins), slices.Clone(r.Removed)
	c.Members, c.Addresses, c.Acks = slices.Clone(r.Members), slices.Clone(r.Addresses), slices.Clone(r.Acks)
	return &c
}

// encodeRecord is a welcome.
func encodeRecord(w *record) ([]byte, error) {
	data, err := mqtt.JSON(w)
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	if len(data) > maxRecord {
		return nil, fmt.Errorf("membership: %w", ErrFull)
	}
	return data, nil
}

func (r *record) find(id round.DeviceID) int {
	return slices.IndexFunc(r.Members, func(m listed) bool { return m.ID == id })
}

func (r *record) isHost() bool { return r.Device == r.Host }

// alone says that nobody else is in this device's own room, nor expected.
func (r *record) alone() bool { return r.isHost() && len(r.Members) == 1 }

// snapshot is what others may see of it.
func (r *record) snapshot(leaf *x509.Certificate) *Room {
	room := &Room{ID: r.ID, Name: r.Name, Host: r.Host, Addresses: slices.Clone(r.Addresses), Foreign: r.Foreign, Version: r.Version}
	for _, l := range r.Members {
		room.Members = append(room.Members, Member{ID: l.ID, Name: l.Name, Since: date(l.Since), Seen: date(l.Seen), Pending: l.Pending,
			By: r.Origins[l.ID]})
		room.Listed = append(room.Listed, round.Listed{Device: l.ID, Name: l.Name})
		if l.ID == r.Device {
			room.Called = l.Name
		}
	}
	if r.Claim != nil {
		room.Succeeded, room.KeptSince = r.Claim.Succeeds, date(r.Claim.At)
	}
	for _, g := range r.Removed {
		room.Removed = append(room.Removed, Removal{g.ID, g.Name, g.By, date(g.At)})
	}
	slices.SortFunc(room.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	if leaf != nil {
		room.CertificateUntil = leaf.NotAfter
	}
	return room
}

func date(seconds int64) time.Time {
	if seconds < floor.Unix() { // by a clock that was wrong
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// strict reads one JSON value, all of whose fields are known, and nothing besides it.
func strict(data []byte, most int, into any) error { return decodeJSON(data, most, into, true) }

// lenient ignores what a later version has added.
func lenient(data []byte, most int, into any) error { return decodeJSON(data, most, into, false) }

func decodeJSON(data []byte, most int, into any, known bool) error {
	if len(data) > most {
		return fmt.Errorf("%d bytes; at most %d", len(data), most)
	}
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if known {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// decode reads a record that is to be this device's, and checks everything that can be known from itself.
func decode(data []byte, id mqtt.Identity) (*record, error) {
	r := new(record)
	if err := strict(data, maxRecord, r); err != nil {
		return nil, err
	}
	if err := r.check(id); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *record) check(id mqtt.Identity) error {
	switch {
	case r.V != 1:
		return fmt.Errorf("its version is %d; this program knows 1", r.V)
	case r.Device != id.ID():
		return fmt.Errorf("it belongs to device %.20q, and this one is %s (was identity.key replaced?)", r.Device, id.ID())
	case !validRoomID(r.ID):
		return fmt.Errorf("room %.40q is no room's id", r.ID)
	case mqtt.CheckRoom(r.Name) != nil:
		return mqtt.CheckRoom(r.Name)
	}
	if err := checkList(r.Version, r.Members); err != nil {
		return err
	}
	if r.find(r.Device) < 0 || r.find(r.Host) < 0 {
		return errors.New("this device or the one that keeps the room is not in its list")
	}
	if err := errors.Join(checkAddresses(r.Addresses), r.checkClaim(), checkOrigins(r.Origins, r.Removed)); err != nil {
		return err
	}
	if r.Foreign {
		if r.CA != nil || r.Cert != nil {
			return errors.New("certificates in a room with somebody else's broker")
		}
		return nil
	}
	_, err := r.credentials(id)
	return err
}

func checkList(version uint64, members []listed) error {
	if version == 0 || version > maxVersion {
		return fmt.Errorf("the list's version is %d", version)
	}
	if len(members) > maxMembers {
		return fmt.Errorf("%d members; at most %d", len(members), maxMembers)
	}
	ids, names := map[round.DeviceID]bool{}, map[string]bool{}
	for _, l := range members {
		switch {
		case mqtt.CheckDevice(l.ID) != nil:
			return mqtt.CheckDevice(l.ID)
		case !goodName(l.Name):
			return fmt.Errorf("member %s: name %.80q: want 1 to %d bytes that can be shown", l.ID, l.Name, maxName)
		case ids[l.ID], names[fold(l.Name)]:
			return fmt.Errorf("member %s, %q: twice in the list", l.ID, l.Name)
		case !plausible(l.Since), !plausible(l.Seen):
			return fmt.Errorf("member %s: a date that cannot be", l.ID)
		}
		ids[l.ID], names[fold(l.Name)] = true, true
	}
	return nil
}

// checkOrigins looks at who let whom in, and who was removed.
func checkOrigins(origins map[round.DeviceID]round.DeviceID, gone []removal) error {
	if len(origins) > maxMembers || len(gone) > maxRemoved {
		return fmt.Errorf("%d devices that were let in, %d that were removed; at most %d and %d", len(origins), len(gone), maxMembers, maxRemoved)
	}
	for id, by := range origins {
		if err := errors.Join(mqtt.CheckDevice(id), mqtt.CheckDevice(by)); err != nil {
			return err
		}
	}
	for _, g := range gone {
		if err := errors.Join(mqtt.CheckDevice(g.ID), mqtt.CheckDevice(g.By)); err != nil {
			return err
		}
		if !goodName(g.Name) || !plausible(g.At) {
			return fmt.Errorf("removed %s: a name or a date that cannot be", g.ID)
		}
	}
	return nil
}

// maxVersion keeps a version within what every reader of JSON can hold.
const maxVersion = 1 << 53

func plausible(seconds int64) bool { return seconds >= 0 && seconds < 1<<36 }

func checkAddresses(addrs []string) error {
	if len(addrs) > maxAddresses {
		return fmt.Errorf("%d addresses; at most %d", len(addrs), maxAddresses)
	}
	for _, a := range addrs {
		if !goodAddress(a) {
			return fmt.Errorf("address %.80q: want HOST:PORT", a)
		}
	}
	return nil
}

func goodAddress(a string) bool {
	if len(a) > maxAddress || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	host, port, err := net.SplitHostPort(a)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && host != "" && bad == nil && n > 0
}

func goodName(s string) bool {
	return len(s) <= maxName && printable.IsName(s)
}

// tidyName makes a name of what a device says it is called.
func tidyName(s string) string { return mqtt.FitName(s, maxName, "device") }

// fold is what two names of a list are compared by. At the door more than that is alike (printable.Key); a list that an older device has
// made is none the worse for it.
func fold(s string) string { return strings.ToLower(s) }

// freeName is the name or, if another device has it, the name with the next number behind it.
func (r *record) freeName(want string, self round.DeviceID) string {
	want = tidyName(want)
	taken := func(s string) bool {
		return slices.ContainsFunc(r.Members, func(l listed) bool { return l.ID != self && printable.Key(l.Name) == printable.Key(s) })
	}
	name := want
	for n := 2; taken(name); n++ {
		suffix := " " + strconv.Itoa(n)
		name = mqtt.FitName(want, maxName-len(suffix), "device") + suffix
	}
	return name
}

func validRoomID(s string) bool {
	return len(s) == roomIDLen && s[0] == 'r' && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '2' || c > '7') })
}

// sameKey says whether a certificate is over this device's key.
func sameKey(c *x509.Certificate, id mqtt.Identity) bool {
	key, ok := c.PublicKey.(ed25519.PublicKey)
	return ok && mqtt.Fingerprint(key) == id.ID()
}
