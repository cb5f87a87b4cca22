package control

import (
	"time"

	"conch/companions/round"
)

// What the control socket takes and says of pairing. The same person's way as the button's, without the finger.
//
//	POST /room/pair     {}                              -> PairOpened     the window is open; a second call tells of the same one
//	POST /room/join     {"code": …, "host": …}          -> PairingLine    when it has ended: paired; else an error with the words
//	                    {"listen": true}                                  the code comes by the microphone
//	POST /room/cancel   {}                              -> PairingLine    what there is now; nothing to cancel is no error
//	POST /room/remove   {"device": id or name}          -> RemoveAnswer   "guests": with whom it let in; "look": only say whom
//	POST /room/rename   {"device": …, "name": …}        -> RenameAnswer
//	POST /room/leave    {}                              -> LeaveAnswer
//	POST /room/keep     {}                              -> PairingLine    this device keeps the room now, in place of one that is gone
//	                    {"at": …}                                         the device at that address does, which is not found by itself
//	GET  /room/pairing                                  -> PairingLine, one a line: the present one first, then each change, until
//	                                                       the client goes away or the appliance begins anew
//
// What was refused (a malformed code, a name that nobody has) is status 400, what failed is 503; the text is for people.

// PairOpened is an open window.
type PairOpened struct {
	Code      string         `json:"code"`      // six digits, to be told to whoever stands at the other device
	Seconds   float64        `json:"seconds"`   // until it closes
	Device    round.DeviceID `json:"device"`    // this one
	Name      string         `json:"name"`      // of this device
	Room      string         `json:"room"`      // for people
	Addresses []string       `json:"addresses"` // host:port at which the other device finds this one without discovery
}

// JoinRequest asks to join a room whose window is open.
type JoinRequest struct {
	Code   string `json:"code,omitempty"`   // six digits; blanks and hyphens between them are taken out
	Host   string `json:"host,omitempty"`   // host or host:port of the device with the window; empty: looked for
	Listen bool   `json:"listen,omitempty"` // hear the code, instead of Code
}

// RemoveRequest names a member by its id or by its name in the room.
type RemoveRequest struct {
	Device string `json:"device"`
	Guests bool   `json:"guests,omitempty"` // with those that it has let in
	Look   bool   `json:"look,omitempty"`   // only say what would happen
}

// RemoveAnswer says who is out.
type RemoveAnswer struct {
	Device round.DeviceID `json:"device"`
	Name   string         `json:"name"`
	Guests []string       `json:"guests,omitempty"` // names of those that it has let in, and that these have: out with it, if that was asked for
	Text   string         `json:"text"`
}

// KeepRequest says who keeps the room, in place of a device that is gone.
type KeepRequest struct {
	At string `json:"at,omitempty"` // host or host:port of the device that keeps it already; empty: this one
}

// RenameRequest names a member by its id or by its name in the room, and says what it is to be called.
type RenameRequest struct {
	Device string `json:"device"`
	Name   string `json:"name"`
}

// RenameAnswer says who is called what.
type RenameAnswer struct {
	Device round.DeviceID `json:"device"`
	Name   string         `json:"name"`
	Text   string         `json:"text"`
}

// LeaveAnswer says which room was left. The appliance begins anew once it has said so.
type LeaveAnswer struct {
	Room string `json:"room"`
	Text string `json:"text"`
}

// PairingState is how far this device has come. The last eight are ends, and stay until something begins.
type PairingState string

// States of pairing.
const (
	PairingIdle      PairingState = "idle"      // nothing has been tried since the start
	PairingLooking   PairingState = "looking"   // for an open window
	PairingOpen      PairingState = "open"      // this device's window is open
	PairingListening PairingState = "listening" // for the code
	PairingJoining   PairingState = "joining"   // the code is known: it is being tried
	PairingLeaving   PairingState = "leaving"   // the room is being told
	PairingKeeping   PairingState = "keeping"   // it is made the keeper of its room
	PairingPaired    PairingState = "paired"    // with Peer
	PairingFailed    PairingState = "failed"    // Why and Text say how
	PairingCancelled PairingState = "cancelled" // by a press, or POST /room/cancel
	PairingLeft      PairingState = "left"      // this device has left its room
	PairingRemoved   PairingState = "removed"   // it was removed from its room
	PairingKeeper    PairingState = "keeper"    // this device keeps the room now
	PairingMoved     PairingState = "moved"     // Peer does, in place of another one
	PairingRenamed   PairingState = "renamed"   // this device is Called otherwise

	PairingElsewhere PairingState = "elsewhere" // Peer, of the same room, has opened its window; told once, and no state of this device
)

// PairingLine is one line of GET /room/pairing.
type PairingLine struct {
	At       time.Time      `json:"at"`
	State    PairingState   `json:"state"`
	Code     string         `json:"code,omitempty"`    // of this device's window
	Seconds  float64        `json:"seconds,omitempty"` // that are left of it
	Tries    int            `json:"tries,omitempty"`   // wrong codes so far
	Peer     string         `json:"peer,omitempty"`    // name of the other device
	Device   round.DeviceID `json:"device,omitempty"`  // its id
	Room     string         `json:"room,omitempty"`    // for people
	Called   string         `json:"called,omitempty"`  // paired: this device's name in the room, if it is not the configured one; renamed
	Windows  []string       `json:"windows,omitempty"` // names of several that say they pair: the code is tried at each
	Restarts bool           `json:"restarts,omitempty"`
	Why      PairingWhy     `json:"why,omitempty"`
	Text     string         `json:"text"` // one sentence for people

	Run int `json:"-"` // the attempt that it is of
}

// Over says that nothing is under way.
func (l PairingLine) Over() bool {
	switch l.State {
	case PairingLooking, PairingOpen, PairingListening, PairingJoining, PairingLeaving, PairingKeeping:
		return false
	}
	return true
}

// PairingWhy is why it failed; for programs and tests.
type PairingWhy string

// Reasons of failures.
const (
	WhyWrongCode   PairingWhy = "wrong_code"  // three times: the window is closed; a joiner: once
	WhyExpired     PairingWhy = "expired"     // the window's time was over
	WhyClosed      PairingWhy = "closed"      // the other device has closed its window, or somebody else was first
	WhyBusy        PairingWhy = "busy"        // too many try at once
	WhyNobody      PairingWhy = "nobody"      // no window to be seen
	WhyTwoWindows  PairingWhy = "two_windows" // there is more than one: no failure, the code is tried at each
	WhyNotHeard    PairingWhy = "not_heard"   // no code within a minute
	WhyUnreachable PairingWhy = "unreachable" // the other device does not answer
	WhyHost        PairingWhy = "host"        // the room's host cannot be asked
	WhyMissing     PairingWhy = "missing"     // likewise, and it has been gone for long: held once more, this device keeps the room
	WhyHeard       PairingWhy = "heard"       // the room's host was there a short time ago
	WhyFull        PairingWhy = "full"        // the room has as many devices as it can
	WhyDisk        PairingWhy = "disk"        // it could not be written down
	WhyMuted       PairingWhy = "muted"       // the code cannot be heard
	WhyDeaf        PairingWhy = "deaf"        // no microphone
	WhyAlready     PairingWhy = "already"     // this device is in a room
	WhyDevice      PairingWhy = "device"      // this device cannot (no state directory, no port)
	WhyStopped     PairingWhy = "stopped"     // a button of the room was pressed while this device's window was open
	WhyOften       PairingWhy = "often"       // too many windows
	WhyKeptOut     PairingWhy = "kept_out"    // that device was removed, and only the host lets it in again
	WhyUnsure      PairingWhy = "unsure"      // the other device was let in, and has not said that it knows
	WhyRefused     PairingWhy = "refused"     // the room did not let this device in
	WhyTwin        PairingWhy = "twin"        // the other device has this one's key: a card was copied
	WhyProtocol    PairingWhy = "protocol"    // the other device is no conch, or another version of it
)

// PairedRoom is what GET /room, GET /status and conch room list say of the paired room.
type PairedRoom struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`   // for people
	Called string         `json:"called"` // this device in it
	Host   round.DeviceID `json:"host"`   // keeps the list of members

	Succeeded round.DeviceID `json:"succeeded,omitempty"` // in place of this device; empty: it has made the room
	KeptSince time.Time      `json:"keptSince,omitzero"`  // that is

	Foreign bool           `json:"foreign"`           // the broker is none of the devices
	Members []PairedMember `json:"members"`           // this device first
	Removed []PairedGone   `json:"removed,omitempty"` // the latest: only a window of the host lets them in again
	Expires *time.Time     `json:"expires,omitzero"`  // this device's certificate
}

// PairedMember is one device of the paired room.
type PairedMember struct {
	Device     round.DeviceID `json:"device"`
	Name       string         `json:"name"`
	Since      time.Time      `json:"since,omitzero"`
	Seen       time.Time      `json:"seen,omitzero"` // last
	Here       bool           `json:"here"`          // in the room right now
	Host       bool           `json:"host,omitempty"`
	Pending    bool           `json:"pending,omitempty"`    // admitted, and has not been here yet
	Companions []string       `json:"companions,omitempty"` // by name, of those that are here
	By         string         `json:"by,omitempty"`         // name of the device that let it in, when it came (Since); or its id
}

// PairedGone is a device that was removed.
type PairedGone struct {
	Device round.DeviceID `json:"device"`
	Name   string         `json:"name"`
	By     string         `json:"by"` // as above
	At     time.Time      `json:"at,omitzero"`
}
