package device

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/wait"
)

// What those see who look on: a page, Home Assistant, a program at the socket (control.Feed). Nothing is looked at while nobody does.

// How often at most. Our choices: a level that glows needs some ten pictures a second, and a knob that was turned shows within a blink. Who
// needs fewer says so (control.Feed.WatchEvery), and hears at once of another state or another floor.
const (
	lookEvery   = 100 * time.Millisecond
	statusEvery = 250 * time.Millisecond // at the next look after that
)

// Feed is what happens here, for whoever looks on.
func (d *Device) Feed() *control.Feed { return d.feed }

// Control is what the control socket serves, for whoever stands in for it in this process.
func (d *Device) Control() http.Handler { return socket{d}.mux() }

// Picture is all there is to see of the device now, but for what was before.
func (d *Device) Picture(ctx context.Context) control.Picture {
	p := control.Picture{Alive: true, Status: socket{d}.Status(), Doing: d.doing(ctx)}
	if r, err := (status{d}).RoomStatus(); err == nil {
		p.Room = &r
	}
	return p
}

// doing is what the device does now.
func (d *Device) doing(ctx context.Context) control.Doing {
	now := control.Doing{State: d.coordinator.State().String()}
	if p := d.floor.Load(); p != nil {
		if c, ok := p.Companion(); ok {
			now.Floor = string(c)
		}
	}
	if d.audible() {
		now.Level = d.speaker.Level() * 100 / math.MaxInt16
	}
	if now.State == turn.InResponse.String() {
		speech, asked := d.Saying(ctx)
		now.Turn, now.Who, now.Asked, now.Heard, now.Rest = speech.ID, speech.Who, asked, speech.Heard, speech.Rest
	}
	return now
}

// mostReminders are shown. Our choice: what is next is wanted, and a status is told some times a second.
const mostReminders = 6

// goesOn is what does besides turns; nil: nothing.
func (d *Device) goesOn() *control.Now {
	now := control.Now{Ringing: d.alerts.rows()}
	for _, s := range d.shows {
		for _, one := range s.Shows() {
			switch {
			case !one.Ends.IsZero():
				now.Timers = append(now.Timers, control.TimerRow{Name: one.Name, Ends: one.Ends, Length: one.Length.Seconds()})
			case one.Due.IsZero():
				now.Playing = &control.Playing{Title: one.Name, Position: int(one.Position.Seconds()), Length: int(one.Length.Seconds())}
			case len(now.Reminders) < mostReminders:
				now.Reminders = append(now.Reminders, control.ReminderRow{Text: one.Name, Due: one.Due})
			}
		}
	}
	if now.Ringing == nil && now.Timers == nil && now.Reminders == nil && now.Playing == nil {
		return nil
	}
	return &now
}

// look tells what is different, for as long as anybody looks on.
func (d *Device) look(ctx context.Context) error {
	for d.feed.Watched(ctx) {
		seen := seen{}
		var last time.Time // that the status was looked at
		for d.feed.Due(ctx, lookEvery) {
			seen.tell(d.feed, control.EventDoing, d.doing(ctx))
			if now := time.Now(); now.Sub(last) >= statusEvery {
				last = now
				seen.tell(d.feed, control.EventStatus, socket{d}.Status())
				if r, err := (status{d}).RoomStatus(); err == nil {
					r.Driver, r.Wire = control.RoomStatus{}.Driver, nil // what counts with each beat is no news
					seen.tell(d.feed, control.EventRoom, r)
				}
			}
		}
	}
	return nil
}

// lit is the light, and has those look who look on when it shows something else.
type lit struct {
	coordinator.Light
	feed *control.Feed
}

func (l lit) Show(s turn.State, condition string) {
	l.Light.Show(s, condition)
	l.feed.Nudge()
}

// seen is what was told of last.
type seen map[control.EventKind][]byte

func (s seen) tell(f *control.Feed, kind control.EventKind, v any) {
	text, err := json.Marshal(v)
	if err != nil || bytes.Equal(s[kind], text) {
		return
	}
	s[kind] = text
	f.Post(kind, json.RawMessage(text))
}

// entered tells of what is entered in the room's ledger here. It does not block.
func (d *Device) entered(e round.Entry) {
	d.feed.Post(control.EventEntry, e)
	if d.opts.Room.OnEntry != nil {
		d.opts.Room.OnEntry(e)
	}
}

// serveEvents serves the feed, a line an event, until the client goes away.
func (d *Device) serveEvents(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out, enc := http.NewResponseController(w), json.NewEncoder(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	for ctx.Err() == nil {
		recent, events := d.feed.Watch(ctx)
		p := d.Picture(ctx)
		p.Recent = recent
		if enc.Encode(d.feed.Picture(p)) != nil || out.Flush() != nil {
			return
		}
		for e := range events {
			if enc.Encode(e) != nil || out.Flush() != nil {
				return
			}
		}
		if wait.For(ctx, lookEvery) != nil { // behind: anew, and not in a hurry
			return
		}
	}
}
