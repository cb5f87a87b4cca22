package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator/turn"
	"conch/device/cards"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/provider"
	"conch/device/state"
	"conch/gpio"
	"conch/mqtt"
)

// The device in its room (ROOM.md): cards of the companions that live here, the driver of the round machine, and the way to
// the other devices (join_connect.go). A device with one companion that was not paired and has no broker has no room, and pays
// nothing for it.

// RoomOptions are what a rehearsal or a test gives a device instead of what it would find by its configuration.
type RoomOptions struct {
	Cards    []companions.Card         // nil: those of the configuration
	Identity mqtt.Identity             // zero: the one in the state directory
	Member   func(round.DeviceID) bool // nil: room.members
	OnEntry  func(round.Entry)         // each entry of this device's ledger; must not block
	Volatile bool                      // keep no memory, ledger or identity on disk

	Finder    Finder                    // nil: DNS-SD, as room.discovery says
	Listen    string                    // host that pairing's and the paired room's port is opened on; empty: all of this machine's
	Reachable func(port int) []string   // host:port at which the others reach that port; nil: this machine's own addresses
	OnPairing func(control.PairingLine) // each, as GET /room/pairing has it; must not block
	Step      func(string)              // told before and after what a power cut must not tear (pair_open.go, pair_join.go); for tests
}

// wireCards finds who lives here. A refused card is a condition; if none is left, the device is Ada's.
func (d *Device) wireCards() {
	d.cards = d.opts.Room.Cards
	if d.cards == nil {
		var problems []error
		d.cards, problems = cards.Find(&d.cfg)
		if len(problems) > 0 {
			d.conds.Set(condition.RoomCard, errors.Join(problems...).Error(), "mend the card and restart; the other companions are here")
		}
	}
	if len(d.cards) == 0 {
		d.cards = companions.DefaultCards()[:1]
	}
	if !d.cfg.Unset("room.involvement") {
		d.cards = slices.Clone(d.cards)
		for i := range d.cards {
			d.cards[i].Involvement = round.Involvement(d.cfg.Room.Involvement)
		}
	}
}

// inRoom says whether the device has a room at all.
func (d *Device) inRoom() bool { return d.link.Networked() || len(d.cards) > 1 }

// openLink finds out what this device is among others.
func (d *Device) openLink() (err error) {
	r := d.opts.Room
	o := LinkOptions{
		Name: d.cfg.Device.Name, Room: d.cfg.Room, Floor: clockFloor, Anyway: d.opts.Anyway, Log: d.log, Conditions: d.conds,
		Identity: r.Identity, Member: r.Member, Finder: r.Finder, Listen: r.Listen, Reachable: r.Reachable,
	}
	if !r.Volatile {
		o.Dir = d.memory.Dir()
	}
	if d.link, err = OpenLink(o); err != nil {
		return err
	}
	d.self, d.cfg.Device.Name = d.link.Self(), d.link.Name()
	return nil
}

// run has Run start parts.
func (d *Device) run(parts []Part) {
	for _, p := range parts {
		d.actors = append(d.actors, actor{p.Name, p.Run})
	}
}

// here is who is in the room now, this device included.
func (d *Device) here() []round.Member {
	if d.room == nil {
		return nil
	}
	return d.room.Members()
}

// wireRoom makes the room, after the coordinator and the voices.
func (d *Device) wireRoom() error {
	forgets := !d.cfg.Voice.Remember
	if forgets && d.memory.Dir() != "" && !d.opts.Room.Volatile && !d.cfg.TalkStays {
		if err := companions.Forget(d.memory.Dir()); err != nil {
			_ = d.memory.Wrote(err)
		}
	}
	if !d.inRoom() {
		return nil
	}
	c, rc := d.cfg.Room, roundConfig(&d.cfg)
	o := companions.RoomOptions{
		Self: d.self, Name: d.cfg.Device.Name, Room: d.link.MemoryName(), Cards: d.cards, Round: rc, Now: d.now, Log: d.log,
		Stage: roomStage{d.talk}, OnEntry: d.roomEntry, Keep: c.Memory, OnTrouble: d.roomTrouble,
		OnFloor: d.lights.floor,
	}
	if !d.opts.Room.Volatile && !forgets {
		o.Dir = d.memory.Dir()
	}
	refiner, err := d.refiner()
	if err != nil {
		return err
	}
	if refiner != nil {
		o.Refiner, d.refined = refiner, refiner
	}
	if d.link.Networked() {
		if d.bus, err = d.link.Connect(func(from round.DeviceID, p round.Packet) { d.room.Deliver(from, p) }, func(up bool) { d.room.LinkChanged(up) }); err != nil {
			return err
		}
		if d.bus != nil {
			o.Bus = d.bus
		}
		d.run(d.link.Parts())
	}
	if d.room, err = companions.NewRoom(o); err != nil {
		return fmt.Errorf("%w: room: %w", control.ErrRefused, err)
	}
	d.talk.room = d.room
	d.actors = append(d.actors, actor{"room", func(ctx context.Context) error {
		if refiner != nil {
			defer refiner.Close()
		}
		return d.room.Run(ctx)
	}})
	return nil
}

// round is how the round machine is to behave.
func roundConfig(c *config.Config) round.Config {
	r, rc := c.Room, round.DefaultConfig()
	rc.Manners = round.Manners{
		Threshold: float64(r.Threshold), ChainLimit: r.Chain, Handoffs: r.Handoffs, ExtraLimit: r.Extras,
		ShareLimit: float64(r.Share) / 100, Repetition: float64(r.Repetition) / 100,
	}
	rc.Pause, rc.NoPause, rc.Silence = r.Pause, r.Pause == 0, r.Silence
	if r.VoteURL != "" {
		rc.VoteBudget = r.VoteBudget
	}
	return rc
}

// roomEntry is told each entry of the ledger.
func (d *Device) roomEntry(e round.Entry) {
	d.talk.entry(e)
	if d.opts.Room.OnEntry != nil {
		d.opts.Room.OnEntry(e)
	}
}

// roomTrouble makes a condition of a file that cannot be written.
func (d *Device) roomTrouble(what string, err error) {
	if err == nil {
		d.conds.Clear(condition.Code("room." + what))
		return
	}
	d.conds.Set(condition.Code("room."+what), err.Error(), "free some space, or set state.dir; until then a restart forgets what was said in the room")
}

// refiner is the model that refines votes; nil when none is configured.
func (d *Device) refiner() (*companions.ModelRefiner, error) {
	c := d.cfg.Room
	if c.VoteURL == "" {
		return nil, nil
	}
	key := func() string { return "" }
	switch {
	case c.VoteKeyFile != "":
		path := c.VoteKeyFile
		if _, err := config.ReadSecret(path); err != nil && !d.opts.Anyway {
			return nil, fmt.Errorf("%w: config: room.vote_key_file: %w", control.ErrRefused, err)
		} else if err != nil {
			d.conds.Set(condition.RoomVoteKey, err.Error(), "mend the file; it is read again for each vote, and until then the rules alone vote")
		}
		key = func() string { s, _ := config.ReadSecret(path); return s } // read anew, so that a new key counts
	case provider.Host(c.VoteURL) == provider.Host(d.cfg.Voice.URL):
		key = d.cfg.LiveKey
	}
	r, err := companions.NewRefiner(companions.RefinerConfig{URL: c.VoteURL, Model: c.VoteModel, Key: key, Budget: c.VoteBudget, Now: d.now, Log: d.log,
		Cards: d.cardsInRoom, Members: func() []round.Member { return d.room.Members() }})
	if err != nil {
		return nil, fmt.Errorf("%w: config: room.vote_url: %w", control.ErrRefused, err)
	}
	return r, nil
}

// errNoRoom: one companion and no broker.
var errNoRoom = errors.New("this device is alone: hold its button and that of another one for five seconds (or: conch room pair), or name more companions in device.companion")

// pressed tells the coordinator and the room of a press; neither ever makes the button wait. Alone in the room there is nobody
// to wait for: the answer begins as soon as the question has ended, before its words are known.
func (d *Device) pressed(e gpio.Event, generation uint64, c *contact) {
	defer d.pairing.pressed() // it ends what is being paired, after everything that is in a hurry
	alone, press := d.room != nil && d.room.Alone(), d.coordinator.Press
	if alone {
		press = d.coordinator.PressAlone
	}
	id := d.recording.begin(c, e.Press, func() turn.ID { return press(e.At, generation, c.button) })
	if d.room != nil {
		d.talk.post(talk.Asked{Turn: id, Alone: alone})
		d.room.Pressed(e.At, string(id))
	}
}

// ask asks as if text had been spoken, to is whom in particular; it returns when the question is in the inboxes. Its words
// are known at once, so that a round costs nothing even where nobody else is.
func (d *Device) ask(id turn.ID, text string, to ...round.Participant) {
	if d.room != nil { // before the turn begins, so that its end finds it
		d.talk.post(talk.Asked{Turn: id, To: to})
	}
	d.coordinator.Post(turn.Asked{At: d.now(), Turn: id, Text: text})
	if d.room != nil {
		d.talk.words(id, text)
	}
}

// RoomID is the id of the device of this configuration, made if it has none yet.
func RoomID(cfg config.Config) (round.DeviceID, error) {
	s, err := state.Open(cfg.State.Dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	id, err := mqtt.OpenIdentity(s.Dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	return id.ID(), nil
}
