package roomtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
)

// House is several devices that make a room.
type House struct {
	Net *Net

	start time.Time
	done  chan struct{}
	keep  int // utterances that are kept; 0: all

	mu         sync.Mutex
	devices    []*Device // that were started
	utterances []*Utterance
	overlaps   []string
	slack      time.Duration
	turns      int
	said       int
}

// Device is one of them.
type Device struct {
	ID    round.DeviceID
	Name  string
	Room  *companions.Room
	Stage *Stage

	house   *House
	cancel  context.CancelFunc
	stopped chan error

	mu      sync.Mutex
	entries []round.Entry
	limit   int
}

// NewHouse makes an empty one. Close it.
func NewHouse(seed int64) *House {
	return &House{Net: NewNet(seed), start: time.Now().Add(-time.Second), done: make(chan struct{}), slack: 50 * time.Millisecond}
}

// Keep bounds the utterances and entries that are kept; 0: all.
func (h *House) Keep(n int) { h.keep = n }

// Slack is for how long two may speak at once before it counts as an overlap: the delay of the net.
func (h *House) Slack(d time.Duration) { h.mu.Lock(); h.slack = d; h.mu.Unlock() }

// Now is the clock of all devices.
func (h *House) Now() time.Duration { return time.Since(h.start) }

// Close stops the devices that still run, and every answer that is under way. The error is that of the devices.
func (h *House) Close() error {
	h.mu.Lock()
	devices := slices.Clone(h.devices)
	h.mu.Unlock()
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Stop())
	}
	close(h.done)
	return errors.Join(errs...)
}

// remove forgets a device that was stopped, and says whether it had been running.
func (h *House) remove(d *Device) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.devices)
	h.devices = slices.DeleteFunc(h.devices, func(o *Device) bool { return o == d })
	return len(h.devices) < before
}

// Plan is what a device is made of beyond its name.
type Plan struct {
	Options companions.RoomOptions // Self, Name, Stage, Now are filled in where they are empty
	Answer  func(round.Prepare) string
	Slow    time.Duration
	Alone   bool // no net
}

// Add makes a device and starts it.
func (h *House) Add(name string, p Plan) *Device {
	d := &Device{ID: round.DeviceID("d-" + name), Name: name, house: h, stopped: make(chan error, 1), limit: h.keep}
	d.Stage = &Stage{
		Answer: p.Answer, Slow: p.Slow, device: d.ID, house: h,
		remembered: map[round.CompanionID][]round.Message{}, corrected: map[round.MessageID]string{},
	}
	o := p.Options
	if o.Self == "" {
		o.Self = d.ID
	}
	o.Name, o.Now, o.Stage = name, h.Now, d.Stage
	if o.Room == "" {
		o.Room = "home"
	}
	onEntry := o.OnEntry
	o.OnEntry = func(e round.Entry) {
		d.note(e)
		if onEntry != nil {
			onEntry(e)
		}
	}
	room, err := companions.NewRoom(o)
	if err != nil {
		panic(err) //nolint:forbidigo // a plan of a test that cannot be
	}
	if !p.Alone {
		room.SendWith(h.Net.Bus(d.ID))
	}
	d.Room, d.Stage.room = room, room
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	h.mu.Lock()
	h.devices = append(h.devices, d)
	h.mu.Unlock()
	go func() { d.stopped <- room.Run(ctx) }()
	if !p.Alone {
		h.Net.Join(d.ID, room)
	}
	return d
}

// Stop ends a device in order: it says goodbye.
func (d *Device) Stop() error {
	if !d.house.remove(d) {
		return nil
	}
	d.cancel()
	err := <-d.stopped
	d.house.Net.Leave(d.ID, false)
	d.Stage.Press()
	return err
}

// Kill pulls the plug: nothing more comes from it; the broker notices if will is set.
func (d *Device) Kill(will bool) error {
	if !d.house.remove(d) {
		return nil
	}
	d.house.Net.Leave(d.ID, will)
	d.house.Net.Freeze(d.ID, true)
	d.Stage.Press()
	d.cancel()
	return <-d.stopped
}

func (d *Device) note(e round.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && len(d.entries) >= d.limit {
		d.entries = slices.Clone(d.entries[1:])
	}
	d.entries = append(d.entries, e)
}

// Entries are those of the device's ledger, oldest first.
func (d *Device) Entries() []round.Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

// Count says how many entries of a kind there are.
func (d *Device) Count(k round.EntryKind) int {
	n := 0
	for _, e := range d.Entries() {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// Press is a finger on the button: the device is silent at once, and the room is told. It returns the turn.
func (d *Device) Press() string {
	d.Stage.Press()
	turn := d.house.turn()
	d.Room.Pressed(d.Room.Now(), turn)
	return turn
}

// Ask is a press, words, and their end.
func (d *Device) Ask(text string, to ...round.Participant) round.MessageID {
	return d.Room.Said(d.Press(), text, to)
}

// Type is words without a press.
func (d *Device) Type(text string, to ...round.Participant) round.MessageID {
	d.Stage.Press() // an answer is interrupted by a typed question too
	return d.Room.Said(d.house.turn(), text, to)
}

func (h *House) turn() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns++
	return fmt.Sprintf("t-%06d", h.turns)
}

// began notes that somebody can be heard, and who else could for longer than the slack.
func (h *House) began(u Utterance) *Utterance {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keep > 0 && len(h.utterances) >= h.keep {
		h.utterances = slices.Clone(h.utterances[1:])
	}
	h.utterances = append(h.utterances, &u)
	return &u
}

func (h *House) ended(u *Utterance, heard string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u.End, u.Heard, u.Over = h.Now(), heard, true
	for _, o := range h.utterances {
		if o == u || len(h.overlaps) > 20 {
			continue
		}
		end := u.End
		if o.Over {
			end = min(end, o.End)
		}
		if both := end - max(u.Began, o.Began); both > h.slack {
			h.overlaps = append(h.overlaps,
				fmt.Sprintf("%s in %s and %s in %s both spoke for %v at %v", u.Companion, u.Device, o.Companion, o.Device, both, max(u.Began, o.Began)))
		}
	}
}

// Utterances are what could be heard, in order.
func (h *House) Utterances() []Utterance {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Utterance, 0, len(h.utterances))
	for _, u := range h.utterances {
		out = append(out, *u)
	}
	return out
}

// Overlaps are the times when two spoke at once for longer than the slack (I1).
func (h *House) Overlaps() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.overlaps)
}

// Speakers are who could be heard, in order: "ada ben".
func (h *House) Speakers() string {
	var who []string
	for _, u := range h.Utterances() {
		who = append(who, string(u.Companion))
	}
	return strings.Join(who, " ")
}
