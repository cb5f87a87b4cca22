package membership

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Two devices of a room settle which of them, if either, keeps it. Each has shown its key to the other (the channel), and is on the other's
// list; nothing is said to anybody else.
//
//	hello     both      room, keeper, term, version, list; a keeper's claim and who has signed it
//	verdict   both      I follow you; or not, and why; or I would, if you stay
//	welcome   followed  the room for the other one, under the new authority
//	done      follower  it is on my disk

// Channel carries frames to one device, in order, each whole; it has proven the device's key (pairing.Channel).
type Channel interface {
	Send(frame []byte) error
	Receive(ctx context.Context) ([]byte, error)
	Peer() ed25519.PublicKey
	Close() error
}

// meetLimit is how long settling may take. Our choice: both write to their disks.
const meetLimit = 10 * time.Second

// RivalError is a keeper besides the one that this device knows, or is.
type RivalError struct {
	Device round.DeviceID
	Name   string
	Why    error // that this device does not follow it
}

func (e *RivalError) Error() string {
	return fmt.Sprintf("%s says that it keeps the room: %v", e.Name, e.Why)
}

func (e *RivalError) Unwrap() error { return e.Why }

type meetHello struct {
	Type    string           `json:"type"`
	V       int              `json:"v"`
	Room    string           `json:"room"`
	Host    round.DeviceID   `json:"host"`
	Term    uint64           `json:"term"`
	Version uint64           `json:"version"`
	Served  bool             `json:"served"`
	Devices []round.DeviceID `json:"devices"`
	Claim   *claim           `json:"claim,omitempty"`
	Acks    []ack            `json:"acks,omitempty"`
}

type meetVerdict struct {
	Type   string `json:"type"`
	Follow bool   `json:"follow"`
	Back   bool   `json:"back"` // follows, if the other one does not
	Why    string `json:"why,omitempty"`
}

type meetWelcome struct {
	Type    string          `json:"type"`
	Welcome json.RawMessage `json:"welcome"`
}

type meetDone struct {
	Type string `json:"type"`
}

// maxFrame is a frame's bound: a welcome, and what is around it.
const maxFrame = 32 << 10

func receive[T any](ctx context.Context, ch Channel, kind string) (*T, error) {
	data, err := ch.Receive(ctx)
	if err != nil {
		return nil, fmt.Errorf("membership: settle: %w", err)
	}
	if len(data) > maxFrame {
		return nil, fmt.Errorf("membership: settle: a frame of %d bytes", len(data))
	}
	var t struct {
		Type string `json:"type"`
	}
	v := new(T)
	if err := errors.Join(json.Unmarshal(data, &t), json.Unmarshal(data, v)); err != nil || t.Type != kind {
		return nil, fmt.Errorf("membership: settle: %.20q where %q was to come: %w", t.Type, kind, err)
	}
	return v, nil
}

func sendFrame(ch Channel, v any) error {
	data, err := mqtt.JSON(v)
	if err == nil {
		err = ch.Send(data)
	}
	if err != nil {
		return fmt.Errorf("membership: settle: %w", err)
	}
	return nil
}

// Meet settles with the device at the other end who keeps the room, and closes the channel. dialed: this device has called. It returns nil
// when they agree; *RivalError: the other one keeps the room and this one does not follow.
func (k *keeping) Meet(ctx context.Context, ch Channel, dialed bool) error {
	defer func() { _ = ch.Close() }()
	if !k.meeting.TryLock() {
		return errors.New("membership: settle: another one is at it")
	}
	defer k.meeting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, meetLimit)
	defer cancel()
	peer := Party{Device: mqtt.Fingerprint(ch.Peer()), Key: ch.Peer()}
	k.mu.Lock()
	r := k.rec
	k.mu.Unlock()
	if r == nil || r.Foreign || r.find(peer.Device) < 0 || peer.Device == r.Device {
		return ErrStranger // and no word to it
	}
	if !dialed && !k.bounds.take(peer.Device, "settling who keeps the room", settleRate) {
		return errExcess
	}
	peer.Name = r.Members[r.find(peer.Device)].Name
	own := k.hello(r)
	other, err := exchange[meetHello](ctx, ch, dialed, "hello", own)
	if err != nil {
		return err
	}
	if other.V != 1 || other.Room != r.ID || other.Term > maxVersion || other.Version > maxVersion || len(other.Devices) > maxMembers {
		return ErrOtherRoom
	}
	if own.Host != r.Device && other.Host != peer.Device {
		return nil // neither keeps it
	}
	follow, back, why := k.judge(r, peer, other)
	mine := meetVerdict{Type: "verdict", Follow: follow, Back: back}
	if why != nil {
		mine.Why = why.Error()
	}
	theirs, err := exchange[meetVerdict](ctx, ch, dialed, "verdict", mine)
	if err != nil {
		return err
	}
	here := side{mine.Follow, mine.Back, own.Term, own.Host == r.Device}
	there := side{theirs.Follow, theirs.Back, other.Term, other.Host == peer.Device}
	switch over(here, there, dialed) {
	case 1:
		return k.follow(ctx, ch, peer, max(own.Term, other.Term))
	case -1:
		return k.lead(ctx, ch, peer, other)
	}
	if there.keeper && other.Host != r.Host {
		return &RivalError{peer.Device, peer.Name, why}
	}
	return nil
}

// exchange says a frame and hears the other's; who has called speaks first.
func exchange[T any](ctx context.Context, ch Channel, first bool, kind string, say any) (*T, error) {
	if first {
		if err := sendFrame(ch, say); err != nil {
			return nil, err
		}
		return receive[T](ctx, ch, kind)
	}
	v, err := receive[T](ctx, ch, kind)
	if err != nil {
		return nil, err
	}
	return v, sendFrame(ch, say)
}

func (k *keeping) hello(r *record) meetHello {
	h := meetHello{Type: "hello", V: 1, Room: r.ID, Host: r.Host, Term: r.Term, Version: r.Version}
	for _, l := range r.Members {
		h.Devices = append(h.Devices, l.ID)
	}
	if r.isHost() {
		h.Claim, h.Acks = r.Claim, r.Acks
		k.mu.Lock()
		h.Served = k.contact.served
		k.mu.Unlock()
	}
	return h
}

// judge says whether this device follows the other one; back: if that stays. why: it does not.
func (k *keeping) judge(r *record, peer Party, h *meetHello) (follow, back bool, why error) {
	v := rival{id: peer.Device, term: h.Term, served: h.Served, before: r.Claim != nil && r.Claim.Succeeds == peer.Device}
	switch c := h.Claim; {
	case h.Host != peer.Device:
		return false, false, errors.New("it does not keep the room")
	case c == nil && h.Term != 0, c != nil && (c.Term != h.Term || c.Keeper != peer.Device || c.check(r.ID) != nil):
		return false, false, errors.New("its claim is none")
	case c != nil:
		counts := r.counts()
		v.acks = len(c.taken(r.ID, h.Acks, func(id round.DeviceID) bool { return id != r.Device && counts(id) }))
	}
	v.listed = r.counts()(peer.Device)
	k.mu.Lock()
	s := k.standing(r)
	k.mu.Unlock()
	why = s.follows(v)
	v.refuses = true
	return why == nil, s.self == s.host && s.follows(v) == nil, why
}

// side is one of the two, as both know it after the verdicts.
type side struct {
	follow, back bool
	term         uint64
	keeper       bool
}

// over says who goes over: 1 this device, -1 the other one, 0 neither. Both come to the same.
func over(here, there side, dialed bool) int {
	a := here.follow && there.keeper
	b := there.follow && here.keeper
	switch {
	case a && (!b || dialed):
		return 1
	case b:
		return -1
	case here.back && here.keeper && there.keeper && here.term > there.term:
		return 1
	case there.back && here.keeper && there.keeper && there.term > here.term:
		return -1
	}
	return 0
}

// follow takes the room from the other one.
func (k *keeping) follow(ctx context.Context, ch Channel, peer Party, term uint64) error {
	w, err := receive[meetWelcome](ctx, ch, "welcome")
	if err != nil {
		return err
	}
	if err := k.comeOver(peer.Device, term, w.Welcome); err != nil {
		return err
	}
	return sendFrame(ch, meetDone{"done"})
}

// lead gives the room to the other one.
func (k *keeping) lead(ctx context.Context, ch Channel, peer Party, h *meetHello) error {
	if h.Host == peer.Device { // it kept the room: its number must be the lower one
		if err := k.outbids(h.Term, peer.Device); err != nil {
			return err
		}
	}
	k.mu.Lock()
	welcome, changes, err := k.welcomeOver(peer, h)
	k.mu.Unlock()
	if len(changes) > 0 || h.Host == peer.Device {
		k.tell(changes)
		k.sendList(false)
	}
	if err != nil {
		return err
	}
	if err := sendFrame(ch, meetWelcome{"welcome", welcome}); err != nil {
		return err
	}
	if _, err = receive[meetDone](ctx, ch, "done"); err == nil && h.Host == peer.Device && h.Claim != nil {
		k.tell([]Change{{What: Rival, Device: peer.Device, Name: peer.Name}})
	}
	return err
}
