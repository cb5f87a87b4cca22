package device

import (
	"runtime/debug"
	"strings"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/join"
	"conch/device/provider"
	"conch/device/room"
	"conch/mqtt"
)

// The device around its room (package device/room) and its way to the others (package join).

// RoomOptions are what a rehearsal or a test gives a device instead of what it would find by its configuration.
type RoomOptions struct {
	Cards    []companions.Card         // nil: those of the configuration
	Identity mqtt.Identity             // zero: the one in the state directory
	Member   func(round.DeviceID) bool // nil: room.members
	OnEntry  func(round.Entry)         // each entry of this device's ledger; must not block
	Volatile bool                      // keep no memory, ledger or identity on disk
	Presses  int                       // of one other device in a minute that count (round.Config); 0: as many as anywhere

	Finder    join.Finder               // nil: DNS-SD, as room.discovery says
	Listen    string                    // host that pairing's and the paired room's port is opened on; empty: all of this machine's
	Reachable func(port int) []string   // host:port at which the others reach that port; nil: this machine's own addresses
	Calls     func(port int) []string   // the same for a call; nil: Reachable
	Missing   time.Duration             // how long the paired room's keeper must be gone until this device may take its place; 0: three minutes
	OnPairing func(control.PairingLine) // each, as GET /room/pairing has it; must not block
	Step      func(string)              // told before and after what a power cut must not tear (package join); for tests
}

// wireCards finds who lives here.
func (d *Device) wireCards() {
	o := room.Options{
		Config: &d.cfg, Self: d.self, Cards: d.opts.Room.Cards, Networked: d.link.Networked(), Room: d.link.MemoryName(), Memory: d.memory,
		Volatile: d.opts.Room.Volatile, Anyway: d.opts.Anyway,
		Presses: d.opts.Room.Presses, OnEntry: d.entered, Conditions: d.conds, Now: d.now, Log: d.log,
		Joining: func() bool { return d.pairing.Restarts() },
	}
	if d.opts.Page {
		o.Page = strings.ToLower(d.pageOfHouse()) // as names are compared
	}
	if o.VoteURL, o.VoteModel, _ = provider.Votes(&d.cfg); o.VoteURL != "" {
		o.Voted, o.MayVote = d.usage.Voted(provider.VotePrices(o.VoteURL, o.VoteModel)), d.usage.Left
		if provider.Host(o.VoteURL) == provider.Host(d.cfg.Voice.URL) {
			o.VoteKey = d.cfg.LiveKey
		}
	}
	d.room = room.New(o)
}

// wireRoom makes the room, after the coordinator and the voices.
func (d *Device) wireRoom() error {
	if err := d.room.Open(roomHost{d.coordinator, d}, d.connect); err != nil {
		return err
	}
	d.unreachable()
	if d.room.Room != nil {
		d.actors = append(d.actors, actor{"room", d.room.Run})
	}
	return nil
}

// connect makes the way to the other devices.
func (d *Device) connect(r *companions.Room) (companions.Bus, error) {
	client, err := d.link.Connect(r)
	starts(d, d.link.Parts())
	if err != nil || client == nil {
		return nil, err
	}
	d.bus = client
	return client, nil
}

// logSayPanic: the room's words could not be said.
const logSayPanic = "room.panic"

// roomHost is the device as the driver of its room sees it.
type roomHost struct {
	*coordinator.Coordinator // Post
	d                        *Device
}

func (h roomHost) Hush()              { h.HushRoom(h.d.now(), h.d.speaker.Drop()) }
func (h roomHost) Quiet()             { h.QuietRoom(h.d.now()) }
func (h roomHost) Generation() uint64 { return h.d.speaker.Generation() }
func (h roomHost) Floor(p round.Participant) {
	h.d.lights.Floor(p)
	h.d.floor.Store(&p)
	h.d.feed.Nudge()
}
func (h roomHost) Say(w turn.Words, generation uint64) { // to unpack a clip takes a small machine a while
	h.d.spawn(func() {
		defer func() {
			if p := recover(); p != nil { // no words are worth the end of the device
				h.d.log.Error(logSayPanic, "words", w, "err", p, "stack", string(debug.Stack()))
			}
		}()
		h.d.speaker.Play(phrases{h.d.cfg.Device.Language, h.d.conds, h.d.log}.Phrase(w), false, generation)
	})
}
