package device

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/mqtt"
)

// What the control socket says of the room.
//
//	GET  /room            -> RoomStatus
//	GET  /room/watch      -> one ledger entry a line, as they happen, until the client goes away
//	GET  /room/why        -> {"text": …}: who spoke last and why, and why the others did not
//	POST /room/control    {"companion": …, "involvement": …, "mute": …}

// RoomStatus is who is in the room, as this device sees it.
type RoomStatus struct {
	Room      string               `json:"room"`
	Device    round.DeviceID       `json:"device"` // this one
	Broker    string               `json:"broker"` // empty: none
	Connected bool                 `json:"connected"`
	Members   []round.Member       `json:"members"` // this device first
	Driver    companions.RoomStats `json:"driver"`
	Wire      *mqtt.Stats          `json:"wire,omitempty"`
}

// RoomStatus tells who is in the room.
func (d *Device) RoomStatus() (RoomStatus, error) {
	if d.room == nil {
		return RoomStatus{}, errNoRoom
	}
	s := RoomStatus{Room: d.cfg.Room.Name, Device: d.self, Broker: d.cfg.Room.Broker, Members: d.room.Members(), Driver: d.room.Stats()}
	slices.SortStableFunc(s.Members, func(a, b round.Member) int {
		switch {
		case a.Device == s.Device:
			return -1
		case b.Device == s.Device:
			return 1
		}
		return 0
	})
	if d.bus != nil {
		wire := d.bus.Stats()
		s.Wire, s.Connected = &wire, wire.Up
	}
	return s, nil
}

// Ignored counts what came and changed nothing, by reason.
func (s RoomStatus) Ignored() map[string]uint64 {
	all := map[string]uint64{}
	for why, n := range s.Driver.Ignored {
		all[why] += n
	}
	if s.Wire != nil {
		for why, n := range s.Wire.Refused {
			all[string(why)] += n
		}
	}
	return all
}

func (d *Device) roomMux(mux *http.ServeMux) {
	mux.HandleFunc("GET /room", func(w http.ResponseWriter, _ *http.Request) {
		s, err := d.RoomStatus()
		reply(w, s, err)
	})
	mux.HandleFunc("GET /room/why", func(w http.ResponseWriter, _ *http.Request) {
		if d.room == nil {
			reply(w, nil, errNoRoom)
			return
		}
		reply(w, map[string]string{"text": d.room.Why()}, nil)
	})
	mux.HandleFunc("POST /room/control", func(w http.ResponseWriter, r *http.Request) {
		var c round.Control
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&c); err != nil {
			http.Error(w, fmt.Sprintf("control: request: %v", err), http.StatusBadRequest)
			return
		}
		if err := d.manners(c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /room/watch", d.serveWatch)
}

// serveWatch streams the ledger's entries until the client goes away.
func (d *Device) serveWatch(w http.ResponseWriter, r *http.Request) {
	if d.room == nil {
		reply(w, nil, errNoRoom)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	entries := d.room.Watch(ctx)
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	_ = out.Flush() // the client learns at once that it is connected
	enc := json.NewEncoder(w)
	for e := range entries {
		if enc.Encode(e) != nil || out.Flush() != nil {
			return
		}
	}
}

// manners turns a companion's manners or the room's, and refuses what does not exist.
func (d *Device) manners(c round.Control) error {
	if d.room == nil {
		return errNoRoom
	}
	if c.Involvement != nil && !slices.Contains([]round.Involvement{round.InvolvementOff, round.InvolvementLow, round.InvolvementMedium, round.InvolvementHigh}, *c.Involvement) {
		return fmt.Errorf("involvement %q: must be off, low, medium or high", *c.Involvement)
	}
	if c.Involvement == nil && c.Mute == nil {
		return fmt.Errorf("nothing to change: give involvement or mute")
	}
	if c.Companion != "" {
		var all []string
		for _, m := range d.room.Members() {
			for _, card := range m.Cards {
				all = append(all, string(card.ID))
			}
		}
		if !slices.Contains(all, string(c.Companion)) {
			return fmt.Errorf("companion %q is not in the room: it has %v", c.Companion, all)
		}
	}
	d.room.Control(c)
	return nil
}
