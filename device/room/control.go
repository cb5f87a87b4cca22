package room

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/language"
)

// What the control socket says of the room.
//
//	GET  /room            -> RoomStatus
//	GET  /room/watch      -> one ledger entry a line, as they happen, until the client goes away
//	GET  /room/why        -> {"text": …}: who spoke last and why, and why the others did not
//	GET  /room/people     -> PeopleReport; DELETE /room/people/NAME forgets one who was learnt
//	POST /room/control    {"companion": …, "involvement": …, "mute": …} -> Turned

// Status tells who is in the room; whoever knows how it is reached says the rest.
func (d *Driver) Status() (control.RoomStatus, error) {
	if d.Room == nil {
		return control.RoomStatus{}, noRoom(d)
	}
	s := control.RoomStatus{Device: d.o.Self, Members: d.Members(), Setting: d.Room.Setting(), Driver: d.Room.Stats()}
	slices.SortStableFunc(s.Members, func(a, b round.Member) int {
		switch {
		case a.Device == s.Device:
			return -1
		case b.Device == s.Device:
			return 1
		}
		return 0
	})
	for _, id := range d.o.Config.Room.IDs() {
		if !present(d.Members(), id) && id != d.o.Self {
			s.Missing = append(s.Missing, id)
		}
	}
	for _, c := range d.o.Conditions.List() {
		if c.Code == condition.RoomCut {
			s.Trouble = c.Text + ". " + c.Do
		}
	}
	return s, nil
}

// Mux serves the room; status is whole.
func (d *Driver) Mux(mux *http.ServeMux, status func() (control.RoomStatus, error)) {
	mux.HandleFunc("GET /room", func(w http.ResponseWriter, _ *http.Request) {
		s, err := status()
		control.Reply(w, s, err)
	})
	mux.HandleFunc("GET /room/why", func(w http.ResponseWriter, r *http.Request) {
		if d.Room == nil {
			control.Reply(w, nil, noRoom(d))
			return
		}
		control.Reply(w, map[string]string{"text": d.Room.Why(language.Language(r.URL.Query().Get("lang")))}, nil)
	})
	mux.HandleFunc("POST /room/control", func(w http.ResponseWriter, r *http.Request) {
		var c round.Control
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, control.MaxRequest)).Decode(&c); err != nil {
			http.Error(w, fmt.Sprintf("control: request: %v", err), http.StatusBadRequest)
			return
		}
		turned, err := d.TurnManners(c)
		control.Reply(w, turned, err)
	})
	HouseholdOf(d).serve(mux)
	mux.HandleFunc("GET /room/watch", func(w http.ResponseWriter, r *http.Request) { serveWatch(d, w, r) })
}

// serveWatch streams the ledger's entries until the client goes away.
func serveWatch(d *Driver, w http.ResponseWriter, r *http.Request) {
	if d.Room == nil {
		control.Reply(w, nil, noRoom(d))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	entries := d.Room.Watch(ctx)
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

// TurnManners turns a companion's manners or the room's, and refuses what does not exist.
func (d *Driver) TurnManners(c round.Control) (control.Turned, error) {
	if d.Room == nil {
		return control.Turned{}, noRoom(d)
	}
	allowed := []round.Involvement{round.InvolvementOff, round.InvolvementLow, round.InvolvementMedium, round.InvolvementHigh}
	if c.Involvement != nil && !slices.Contains(allowed, *c.Involvement) {
		return control.Turned{}, fmt.Errorf("%w: involvement %q: must be off, low, medium or high", control.ErrRefused, *c.Involvement)
	}
	if c.Involvement == nil && c.Mute == nil {
		return control.Turned{}, fmt.Errorf("%w: nothing to change: give off, low, medium or high, --mute or --unmute", control.ErrRefused)
	}
	who := "everybody in the room"
	if c.Companion != "" {
		var err error
		if c.Companion, err = d.companion(string(c.Companion)); err != nil {
			return control.Turned{}, err
		}
		who = namer(d.Members()).companion(c.Companion)
	}
	var what []string
	if c.Involvement != nil {
		what = append(what, map[round.Involvement]string{
			round.InvolvementOff: "speaks only when asked by name", round.InvolvementLow: "joins in seldom",
			round.InvolvementMedium: "joins in as usual", round.InvolvementHigh: "joins in often",
		}[*c.Involvement])
	}
	if c.Mute != nil {
		what = append(what, map[bool]string{true: "is muted", false: "may speak"}[*c.Mute])
	}
	d.Room.Control(c)
	return control.Turned{Companion: c.Companion, Text: who + " " + strings.Join(what, " and ") + " from now on"}, nil
}
