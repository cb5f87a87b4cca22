package membership

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// A member's window (mqtt/pairing) is announced before anybody is let in by it. Whether a person opened it cannot be known: so all hear
// of it, have the time to press, and it is good for one device.
//
//	member                       host                                   all
//	  members.open ──────────────> counts the time from here
//	                               members.window (open) ─────────────> say it aloud
//	     (AnnounceFor later, the code was right)
//	  members.admit ─────────────> the first one of that window
//	                               members.admitted, members.window (shut)
//	  members.shut, a press of any member, another window of the same device, the end of its time: members.window (shut)
const (
	// AnnounceFor is from the announcement at the host to the first admission: the sentence takes three seconds, a hand on its way to a
	// button some more. The code that is said takes as long, so that who pairs by two buttons never waits for it.
	AnnounceFor = 6 * time.Second
	windowLife  = 135 * time.Second // pairing's, and a run that has begun at its end
	maxWindows  = 4                 // of different devices at a time
	// announcePatience is how long an admission waits for the word of a host that may be older than announcements.
	announcePatience = 4 * time.Second
)

// window is one that the host has announced.
type window struct {
	device round.DeviceID
	id     string // drawn by it
	at     time.Time
	behind time.Duration  // until the sentences of others, which were opened just before, have been said
	guest  round.DeviceID // whom it let in; empty: nobody
	shut   bool
}

func (w *window) over(now time.Time) bool { return w.shut || now.Sub(w.at) >= windowLife }

// admits says whether the window lets that device in now.
func (w *window) admits(id string, guest round.DeviceID, now time.Time) error {
	switch {
	case id == "":
		return ErrUnannounced
	case w == nil || w.id != id || now.Sub(w.at) >= windowLife:
		return ErrWindow
	case w.guest == guest: // the answer got lost
		return nil
	case w.shut, w.guest != "":
		return ErrWindow
	case now.Sub(w.at) < AnnounceFor+w.behind:
		return ErrEarly
	}
	return nil
}

// ownWindow is this device's, as far as its host knows.
type ownWindow struct {
	id   string
	at   time.Time
	told chan struct{} // closed once the host has announced it
	due  time.Time     // when it admits, once told is closed
}

// windows are those of this device and, at the host, of all. mu of the book guards what is not atomic.
type windows struct {
	*book
	requests *requests
	bounds   *bounds

	own *ownWindow // this device's; nil: none, or nobody is told
	all []*window  // at the host: announced, also some that are over

	// atomic
	opens   atomic.Bool                    // a window is, at the host: a press shuts it
	pressed atomic.Pointer[round.DeviceID] // whose press has shut what is open; nil: nobody's
	poke    chan struct{}                  // 1: there was one
}

// Announce tells the room that this device's window is open, and returns when the host has announced it. A window that founds a room has
// nobody to tell. Unannounced ends it.
func (ws *windows) Announce(ctx context.Context) error { return ws.Announcing()(ctx) }

// Announcing is the beginning of Announce, which waits for nothing: from now on an admission waits for the rest.
func (ws *windows) Announcing() func(context.Context) error {
	own := &ownWindow{id: newRequest(), at: time.Now(), told: make(chan struct{})}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.rec == nil {
		return func(context.Context) error { return nil }
	}
	ws.own = own
	if ws.rec.isHost() {
		return func(context.Context) error { return ws.opened(ws.id.ID(), own.id) }
	}
	return func(ctx context.Context) error {
		_, err := ws.requests.askAs(ctx, own.id, func(request string) mqtt.Note { return note(noteOpen, openBody{request}) })
		return err
	}
}

// Unannounced says that this device's window is shut.
func (ws *windows) Unannounced() {
	ws.mu.Lock()
	own := ws.own
	ws.own = nil
	host := ws.rec != nil && ws.rec.isHost()
	ws.mu.Unlock()
	switch {
	case own == nil:
	case host:
		ws.shutWindow(ws.id.ID(), own.id, ws.id.ID())
	default:
		ws.say(note(noteShut, openBody{own.id}))
	}
}

// announced waits until this device's window may let somebody in, and gives its name; empty: it was not announced.
func (ws *windows) announced(ctx context.Context) (string, error) {
	ws.mu.Lock()
	own := ws.own
	ws.mu.Unlock()
	if own == nil {
		return "", nil
	}
	patient, cancel := context.WithDeadline(ctx, own.at.Add(announcePatience))
	defer cancel()
	select {
	case <-own.told:
	case <-patient.Done():
		select {
		case <-own.told:
		default:
			return "", ctx.Err() // none: an older host knows no windows, and a newer one refuses by name
		}
	}
	ws.mu.Lock()
	due := own.due
	ws.mu.Unlock()
	wait := time.NewTimer(time.Until(due))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return own.id, nil
}

// tellOwn: the host knows of this device's window. The lock is held.
func (ws *windows) tellOwn(id string, wait time.Duration) {
	if ws.own == nil || ws.own.id != id {
		return
	}
	select {
	case <-ws.own.told:
	default:
		ws.own.due = time.Now().Add(max(0, min(wait, maxWindows*AnnounceFor)))
		close(ws.own.told)
	}
}

// opened is the host's part: a window of a device is open, and all are told.
func (ws *windows) opened(from round.DeviceID, id string) error {
	now := time.Now()
	ws.mu.Lock()
	if ws.rec == nil || !ws.rec.isHost() || ws.rec.find(from) < 0 {
		ws.mu.Unlock()
		return ErrNotPaired
	}
	i := slices.IndexFunc(ws.all, func(w *window) bool { return w.device == from && w.id == id })
	if i < 0 {
		ws.all = slices.DeleteFunc(ws.all, func(w *window) bool { return w.over(now) || w.device == from })
		if len(ws.all) >= maxWindows {
			ws.mu.Unlock()
			return ErrOften
		}
		if from != ws.id.ID() {
			if ok, over := ws.bounds.limits.take(from, "windows", windowRate, now); !ok {
				ws.mu.Unlock()
				ws.bounds.excess(from, "windows", over)
				return ErrOften
			}
		}
		w := &window{device: from, id: id, at: now}
		for _, o := range ws.all { // one sentence after the other
			w.behind = max(w.behind, AnnounceFor+o.behind-now.Sub(o.at))
		}
		i = len(ws.all)
		ws.all = append(ws.all, w)
		ws.pressed.Store(nil) // of before
	}
	w := *ws.all[i]
	wait := max(0, AnnounceFor+w.behind-now.Sub(w.at))
	if len(ws.rec.Members) < 2 {
		wait = 0
	}
	if from == ws.id.ID() {
		ws.tellOwn(id, wait)
	}
	name := ws.rec.Members[ws.rec.find(from)].Name
	ws.opens.Store(true)
	ws.mu.Unlock()
	if w.shut {
		return ErrWindow
	}
	ws.tell([]Change{{What: WindowOpened, Device: from, Name: name, Window: id}},
		note(noteWindow, windowBody{Window: id, Device: from, Open: true, WaitMS: wait.Milliseconds()}))
	return nil
}

// shutWindow ends a window at the host, and tells all. by is who ended it; empty: it has let somebody in.
func (ws *windows) shutWindow(device round.DeviceID, id string, by round.DeviceID) {
	ws.shutWindows(by, func(w *window) bool { return w.device == device && w.id == id })
}

func (ws *windows) shutWindows(by round.DeviceID, which func(*window) bool) {
	var changes []Change
	var notes []mqtt.Note
	now := time.Now()
	ws.mu.Lock()
	open := false
	for _, w := range ws.all {
		if !w.over(now) && which(w) {
			w.shut = true
			if by == "" && w.device == ws.id.ID() { // it knows
				notes = append(notes, note(noteWindow, windowBody{Window: w.id, Device: w.device}))
				continue
			}
			changes = append(changes, Change{What: WindowShut, Device: w.device, Name: ws.nameOf(w.device), Window: w.id, By: by})
			notes = append(notes, note(noteWindow, windowBody{Window: w.id, Device: w.device, By: by}))
		}
		open = open || !w.over(now)
	}
	ws.opens.Store(open)
	ws.mu.Unlock()
	ws.tell(changes, notes...)
}

// nameOf is what the list calls a device. The lock is held.
func (b *book) nameOf(id round.DeviceID) string {
	if b.rec != nil {
		if i := b.rec.find(id); i >= 0 {
			return b.rec.Members[i].Name
		}
	}
	return string(id)
}

// Pressed says that a button of the room was pressed: whatever window is open is shut, from this moment on. It never waits.
func (ws *windows) Pressed(by round.DeviceID) {
	if !ws.opens.Load() {
		return
	}
	ws.pressed.CompareAndSwap(nil, &by)
	select {
	case ws.poke <- struct{}{}:
	default: // Run has yet to look at the one before
	}
}

// afterPress shuts what a press has ended.
func (ws *windows) afterPress() {
	if by := ws.pressed.Load(); by != nil {
		ws.shutWindows(*by, func(*window) bool { return true })
		ws.pressed.Store(nil)
	}
}

// windowNote is the host's word about a window. It says much of it if many are opened, and without end if it lies.
func (ws *windows) windowNote(b *windowBody) {
	if room := ws.Room(); room == nil || b.Device != ws.id.ID() && !ws.bounds.take(room.Host, "windows announced", announced) {
		return
	}
	ws.mu.Lock()
	c := Change{What: WindowShut, Device: b.Device, Name: ws.nameOf(b.Device), Window: b.Window, By: b.By}
	if b.Device == ws.id.ID() {
		own := ws.own != nil && ws.own.id == b.Window
		if b.Open {
			ws.tellOwn(b.Window, time.Duration(min(b.WaitMS, (maxWindows*AnnounceFor).Milliseconds()))*time.Millisecond)
		}
		ws.mu.Unlock()
		if b.Open || !own || b.By == "" {
			ws.requests.answered(b.Window, answer{})
			return
		}
		ws.requests.answered(b.Window, answer{err: ErrWindow})
		ws.tell([]Change{c})
		return
	}
	ws.mu.Unlock()
	if b.Open {
		c.What = WindowOpened
	}
	ws.tell([]Change{c})
}
