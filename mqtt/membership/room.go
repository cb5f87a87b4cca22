package membership

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"conch/companions/round"
)

// Room is what this device knows of its room: a snapshot that nobody changes.
type Room struct {
	ID        string // of the room; in topics and in the announcement
	Name      string // for people
	Called    string // this device's name in it, which need not be the configured one
	Host      round.DeviceID
	Addresses []string       // where the host was, host:port, last good one first
	Foreign   bool           // the broker is somebody else's: no certificates, and the topics' room is Name
	Version   uint64         // of the list
	Members   []Member       // this device and the host included, by name
	Listed    []round.Listed // the same, in the order in which they became members
	Removed   []Removal      // the latest; none of these is let in but by a window of the host

	CertificateUntil time.Time // of this device; zero where Foreign

	Succeeded round.DeviceID // whom the host has taken the room over from; empty: it has made it
	KeptSince time.Time      // since when; zero: not known
}

// Member is one device of the room.
type Member struct {
	ID      round.DeviceID
	Name    string
	Since   time.Time      // zero: the host had no clock then
	Seen    time.Time      // when it last connected, as the host last said; zero: not known
	Pending bool           // was let in, and has not come yet
	By      round.DeviceID // whose window let it in; empty: not known
}

// Removal is a device that was removed.
type Removal struct {
	ID   round.DeviceID
	Name string
	By   round.DeviceID // who asked for it
	At   time.Time      // zero: the host had no clock
}

// Guests are the members that a device has let in, and whom these have let in, and so on. The host is nobody's guest.
func (r *Room) Guests(of round.DeviceID) (all []Member) {
	from := []round.DeviceID{of}
	for len(from) > 0 {
		by := from[0]
		from = from[1:]
		for _, m := range r.Members {
			known := m.ID == of || m.ID == r.Host || slices.ContainsFunc(all, func(o Member) bool { return o.ID == m.ID })
			if m.By == by && !known {
				all, from = append(all, m), append(from, m.ID)
			}
		}
	}
	return all
}

// Topic is the room's name in topics.
func (r *Room) Topic() string {
	if r.Foreign {
		return r.Name
	}
	return r.ID
}

// Alone says that nobody else is in the room of that device, nor expected.
func (r *Room) Alone(self round.DeviceID) bool { return r.Host == self && len(r.Members) == 1 }

// Member finds a device in the list.
func (r *Room) Member(id round.DeviceID) (Member, bool) {
	i := slices.IndexFunc(r.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, false
	}
	return r.Members[i], true
}

// Candidates are where to look for the host, in order: where it last was, where it was found just now, where it was before.
func (r *Room) Candidates(found []string) []string {
	all := append(slices.Clone(r.Addresses[:min(1, len(r.Addresses))]), found...)
	all = append(all, r.Addresses[min(1, len(r.Addresses)):]...)
	var out []string
	for _, a := range all {
		if !slices.Contains(out, a) && len(out) < maxAddresses {
			out = append(out, a)
		}
	}
	return out
}

// Party is a device that pairs.
type Party struct {
	Device round.DeviceID
	Key    ed25519.PublicKey
	Name   string
}

// What changes.
const (
	Admitted  = "admitted"  // Device was let in; it may be pending
	Confirmed = "confirmed" // it came
	Removed   = "removed"   // Device is out: drop its connection
	Renamed   = "renamed"   // Device is called Name now
	Out       = "out"       // this device is no longer in a room: why, in Why
	Stuck     = "stuck"     // likewise, but it is on disk still, for the reason in Why: Out comes when it no longer is
	Renewed   = "renewed"   // this device has a new certificate; what is connected stays so
	Moved     = "moved"     // Device keeps the room now, in place of another one
	Rival     = "rival"     // Device has kept the room as well, and came back to this one

	WindowOpened = "window.open" // Device has opened Window, as the host says; it may be told more than once
	WindowShut   = "window.shut" // by By: a press, its own word, or the host, for somebody has come in
	Outdated     = "outdated"    // Device wants to let somebody in without announcing a window: an older version
	Excess       = "excess"      // Device asks for too much: what, in Why
	Calm         = "calm"        // and no longer
)

// Change is something that happened to the room.
type Change struct {
	What   string
	Device round.DeviceID
	Name   string
	Why    error // of Out: ErrRemoved, ErrEnded, ErrLeft; of Stuck, Excess
	Anew   bool  // of Moved: this device kept the room, and must begin anew

	Window string         // of WindowOpened and WindowShut: which one
	By     round.DeviceID // of WindowShut, Admitted, Removed and, at the host, Renamed: whose doing; empty: not known
}

// Errors. What they are about is in front of them.
var (
	ErrNotPaired   = errors.New("this device is in no room")
	ErrPaired      = errors.New("this device is in a room already; leave that first (conch room leave)")
	ErrNoHost      = errors.New("the device that keeps the room does not answer; switch it on, or bring it back into the network")
	ErrFull        = errors.New("the room is full")
	ErrNoMember    = errors.New("no such member of the room")
	ErrHost        = errors.New("this device keeps the room: it can only leave by itself, and the room ends with that (conch room leave, there)")
	ErrDamaged     = errors.New("damaged; restore it from a backup, or leave the room (conch room leave) and pair again")
	ErrOpen        = errors.New("others can read it")
	ErrRemoved     = errors.New("this device was removed from the room")
	ErrEnded       = errors.New("the device that kept the room has ended it")
	ErrLeft        = errors.New("this device has left the room")
	ErrStranger    = errors.New("not a member of the room")
	ErrWelcome     = errors.New("the welcome cannot be used")
	ErrOtherRoom   = errors.New("the certificate is not of this room")
	ErrOtherHost   = errors.New("that is not the device that keeps the room")
	ErrUnannounced = errors.New("its window was not announced to the room; that device runs an older conch: upgrade it")
	ErrWindow      = errors.New("the window is shut: a button in the room was pressed, or it has let its one device in")
	ErrEarly       = errors.New("the window was announced only just now")
	ErrKeptOut     = errors.New("that device was removed from the room; only a window at the device that keeps the room lets it in again")
	ErrOften       = errors.New("too many windows were opened; wait ten minutes, or use the device that keeps the room")
	ErrNotItsName  = errors.New("the certificate is of another device")
)
