package join

import (
	"strings"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// What the machine of way.go is told, and what it wants done.

// Window is a window somewhere else.
type Window struct {
	Device    round.DeviceID
	Name      string
	RoomID    string // empty: its device is in no room yet
	Room      string
	Addresses []string
}

// key tells windows apart: what a window says of its device is not believed, so that another one may say the same.
func (w Window) key() string { return string(w.Device) + " " + strings.Join(w.Addresses, " ") }

// event is an event.
type event interface{ event() }

// Events. Run names the attempt that they speak of, where it is one.
type (
	Held struct { // the button, for 5 s, and nobody spoke
		At      time.Duration
		Missing bool // the device that keeps the room has been gone for so long that this one may take its place
	}
	Alone      struct{ Is bool }          // in its own room nobody else is, nor expected; told before what may begin an attempt
	Unable     struct{ At time.Duration } // held like that, and this device cannot pair
	HeldLong   struct{ At time.Duration } // for 10 s
	Pressed    struct{ At time.Duration } // any press of this device
	Cancelled  struct{ At time.Duration } // by the control socket
	Ticked     struct{ At time.Duration } // time has passed
	OpenAsked  struct{ At time.Duration } // POST /room/pair
	LeaveAsked struct{ At time.Duration } // POST /room/leave
	KeepAsked  struct{ At time.Duration } // POST /room/keep
	Removed    struct{ At time.Duration } // this device was removed from its room
	JoinAsked  struct {                   // POST /room/join
		At     time.Duration
		Code   string // empty: listen
		Target Window
	}
	WindowsSeen struct { // all windows of others that can be seen now
		At      time.Duration
		Run     int
		Windows []Window
	}
	WindowShut struct { // the window is closed, or never opened
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	Stopped struct { // the room has shut this device's window: a button was pressed somewhere
		At time.Duration
		By string // where; empty: not known
	}
	Founded struct { // the window has admitted its first device: this one is a host, by what is on disk
		At  time.Duration
		Run int
	}
	Admitted struct { // the window's joiner is in
		At   time.Duration
		Run  int
		Peer Peer
	}
	CodeHeard struct { // the code
		At   time.Duration
		Run  int
		Code string
	}
	HearingFailed struct { // nothing can be heard: no microphone
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	Joined struct { // this device is in, by what is on disk
		At   time.Duration
		Run  int
		Peer Peer
	}
	JoinFailed struct {
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	Kept struct { // this device keeps the room now, by what is on disk; Why: it does not
		At  time.Duration
		Why control.PairingWhy
	}
	Moved struct { // another one keeps it now, by what is on disk
		At   time.Duration
		Peer Peer
		Anew bool // it was this one before
	}
	Renamed struct { // this device, by its room
		At     time.Duration
		Called string
	}
	Left struct { // this device has left its room; Why: it has not
		At   time.Duration
		Room string
		Why  control.PairingWhy
	}
)

func (Held) event()          {}
func (Alone) event()         {}
func (Unable) event()        {}
func (HeldLong) event()      {}
func (Pressed) event()       {}
func (Cancelled) event()     {}
func (Ticked) event()        {}
func (OpenAsked) event()     {}
func (LeaveAsked) event()    {}
func (KeepAsked) event()     {}
func (Kept) event()          {}
func (Moved) event()         {}
func (Renamed) event()       {}
func (Removed) event()       {}
func (JoinAsked) event()     {}
func (WindowsSeen) event()   {}
func (WindowShut) event()    {}
func (Stopped) event()       {}
func (Founded) event()       {}
func (Admitted) event()      {}
func (CodeHeard) event()     {}
func (HearingFailed) event() {}
func (Joined) event()        {}
func (JoinFailed) event()    {}
func (Left) event()          {}

// Peer is the other device of a pairing.
type Peer struct {
	Device round.DeviceID
	Name   string // in the room
	Room   string
	Called string // this device in it
}

// order is an order.
type order interface{ order() }

// Orders. Those that begin something name its attempt; stop ends all of an attempt's.
type (
	Look   struct{ Run int } // keep telling what windows there are
	Open   struct{ Run int } // a window
	Listen struct{ Run int } // for the code, until it was heard or stop
	Try    struct {
		Run     int
		Code    string
		Targets []Window // at each of them, until one is right
	}
	Shut   struct{ Run int } // the window only: looking goes on
	Unlook struct{ Run int }
	Stop   struct{ Run int }
	Leave  struct{}
	Keep   struct{} // the room, in place of a device that is gone
	Say    struct { // in words; what is being said of pairing already is cut
		Line control.PairingLine // its State and Why choose them
	}
	Restart struct{} // when what is being said has sounded
)

func (Look) order()    {}
func (Open) order()    {}
func (Listen) order()  {}
func (Try) order()     {}
func (Shut) order()    {}
func (Unlook) order()  {}
func (Stop) order()    {}
func (Leave) order()   {}
func (Keep) order()    {}
func (Say) order()     {}
func (Restart) order() {}
