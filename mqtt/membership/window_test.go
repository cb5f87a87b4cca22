package membership

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// A table of what a window lets in, and when.
func TestWhomAWindowLetsIn(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, row := range []struct {
		name  string
		w     *window
		id    string
		after time.Duration
		guest round.DeviceID
		want  error
	}{
		{"no window", nil, "w", AnnounceFor, "eve", ErrWindow},
		{"an older member names none", &window{id: "w"}, "", AnnounceFor, "eve", ErrUnannounced},
		{"another window", &window{id: "w"}, "v", AnnounceFor, "eve", ErrWindow},
		{"at once", &window{id: "w"}, "w", 0, "eve", ErrEarly},
		{"a moment too soon", &window{id: "w"}, "w", AnnounceFor - 1, "eve", ErrEarly},
		{"in time", &window{id: "w"}, "w", AnnounceFor, "eve", nil},
		{"the last moment", &window{id: "w"}, "w", windowLife - 1, "eve", nil},
		{"too late", &window{id: "w"}, "w", windowLife, "eve", ErrWindow},
		{"shut", &window{id: "w", shut: true}, "w", AnnounceFor, "eve", ErrWindow},
		{"a second device", &window{id: "w", guest: "ann"}, "w", AnnounceFor, "eve", ErrWindow},
		{"the same once more", &window{id: "w", guest: "eve", shut: true}, "w", AnnounceFor, "eve", nil},
	} {
		if row.w != nil {
			row.w.at = began
		}
		if err := row.w.admits(row.id, row.guest, began.Add(row.after)); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v; want %v", row.name, err, row.want)
		}
	}
}

// liar is a member whose real key says what its program never would.
type liar struct{ *device }

func (l liar) admits(host *device, id mqtt.Identity, window string) string {
	request := newRequest()
	l.client.SendNote(note(noteAdmit, admitBody{request, id.ID(), id.PublicKey(), "eve", window}))
	return l.answer(request)
}

// answer is what the host says to a request: "admitted", or why not.
func (l liar) answer(request string) string {
	for {
		n := mqtttest.Await(l.t, l.notes, "the host's answer")
		b, err := read[answerBody](n)
		switch {
		case err != nil || b.Request != request:
		case n.Method == noteAdmitted:
			return "admitted"
		case n.Method == noteRefused:
			return b.Why
		}
	}
}

// repeat says something again and again, as devices do until they are answered: on a busy machine what has waited too long is not sent.
func repeat(say func()) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { // awaited by stop
		defer close(ended)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			say()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// A member admits whom it likes: without a window, at once, two by one window, one that was removed. Each with its own key, over the real broker.
func TestALiarAdmitsNobodyUnheard(t *testing.T) {
	host, m := room(t, "pantry", "cellar")
	pantry, cellar := liar{m[0]}, m[1]
	eve, ann := identity(t), identity(t)
	refused := func(what, want, got string) {
		t.Helper()
		if got != want || host.Member(eve.ID()) {
			t.Errorf("%s: %s, want %q; it is a member: %v", what, got, want, host.Member(eve.ID()))
		}
	}
	refused("without a window", "announce", pantry.admits(host, eve, ""))
	if c := host.change(Outdated, pantry.id.ID()); c.Name != "pantry" {
		t.Errorf("an older conch is called %q", c.Name)
	}
	refused("by a window that nobody opened", "window", pantry.admits(host, eve, "w0"))
	stop := repeat(func() { pantry.client.SendNote(note(noteOpen, openBody{"w1"})) })
	for _, d := range []*device{host, cellar} {
		if c := d.change(WindowOpened, pantry.id.ID()); c.Name != "pantry" || c.Window != "w1" {
			t.Errorf("it is told of %+v", c)
		}
	}
	stop()
	refused("before anybody could press", "early", pantry.admits(host, eve, "w1"))
	host.mu.Lock()
	host.windows.all[0].at = host.windows.all[0].at.Add(-AnnounceFor) // nobody waits here
	host.mu.Unlock()
	if got := pantry.admits(host, ann, "w1"); got != "admitted" || !host.Member(ann.ID()) {
		t.Fatalf("by a window that everybody heard of: %s", got)
	}
	cellar.change(WindowShut, pantry.id.ID())
	refused("a second device by one window", "window", pantry.admits(host, eve, "w1"))
	until(t, "the cellar knows who let it in", func() bool {
		l, _ := cellar.Room().Member(ann.ID())
		return l.By == pantry.id.ID()
	})

	if err := cellar.Expel(t.Context(), ann.ID(), false); err != nil {
		t.Fatal(err)
	}
	stop = repeat(func() { pantry.client.SendNote(note(noteOpen, openBody{"w2"})) })
	for host.change(WindowOpened, pantry.id.ID()).Window != "w2" { // the first one may have been said twice
		continue
	}
	stop()
	host.mu.Lock()
	host.windows.all[len(host.windows.all)-1].at = time.Now().Add(-AnnounceFor)
	host.mu.Unlock()
	if got := pantry.admits(host, ann, "w2"); got != "removed" || host.Member(ann.ID()) {
		t.Errorf("one that was removed: %s", got)
	}
	if r := cellar.Room().Removed; len(r) != 1 || r[0].ID != ann.ID() || r[0].By != cellar.id.ID() {
		t.Errorf("removed: %+v", r)
	}
	if _, err := host.Admit(t.Context(), Party{ann.ID(), ann.PublicKey(), "ann"}); err != nil || len(host.Room().Removed) > 0 {
		t.Errorf("by the host's own window: %v, and removed are %+v", err, host.Room().Removed)
	}
}

// A button anywhere in the room shuts the window, from that moment on.
func TestAPressShutsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, cellar := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, pantry, "pantry")
		pair(t, host, cellar, "cellar")
		hearEachOther(host, pantry, cellar)
		eve := identity(t)
		admitted := make(chan error, 1)
		if err := pantry.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		cellar.change(WindowOpened, pantry.id.ID())
		go func() {
			_, err := pantry.Admit(t.Context(), Party{eve.ID(), eve.PublicKey(), "eve"})
			admitted <- err
		}()
		time.Sleep(AnnounceFor - time.Millisecond)
		host.Pressed(cellar.id.ID())
		if err := <-admitted; !errors.Is(err, ErrWindow) || host.Member(eve.ID()) {
			t.Errorf("%v; it is a member: %v", err, host.Member(eve.ID()))
		}
		for _, d := range []*device{host, pantry, cellar} {
			if c := d.change(WindowShut, pantry.id.ID()); c.By != cellar.id.ID() {
				t.Errorf("shut by %s", c.By)
			}
		}
		host.Pressed(cellar.id.ID()) // when nothing is open, it is nothing
		if err := pantry.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := pantry.Admit(t.Context(), Party{eve.ID(), eve.PublicKey(), "eve"}); err != nil || time.Since(began) > AnnounceFor+time.Second {
			t.Errorf("the next window: %v after %v", err, time.Since(began))
		}
	})
}

// hearEachOther has a host and its members hear each other, without a broker.
func hearEachOther(all ...*device) {
	for _, d := range all {
		d.SendWith(func(n mqtt.Note) {
			for _, o := range all {
				if o != d {
					o.HandleNote(d.id.ID(), n)
				}
			}
		})
	}
	all[0].LinkUp()
	time.Sleep(time.Second)
	synctest.Wait()
}

// The host's own window is heard and waits as every other; only where nobody else is in the room it admits at once.
func TestTheHostsOwnWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, b, c := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), identity(t), identity(t)
		pair(t, host, pantry, "pantry")
		hearEachOther(host, pantry)
		if err := host.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := host.Admit(t.Context(), Party{b.ID(), b.PublicKey(), "b"}); err != nil || time.Since(began) < AnnounceFor {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		pantry.change(WindowOpened, host.id.ID())
		pantry.change(WindowShut, host.id.ID())
		if _, err := host.Admit(t.Context(), Party{c.ID(), c.PublicKey(), "c"}); !errors.Is(err, ErrWindow) {
			t.Errorf("a second one: %v", err)
		}
		host.Unannounced()
		if err := host.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		host.Pressed(pantry.id.ID())
		if _, err := host.Admit(t.Context(), Party{c.ID(), c.PublicKey(), "c"}); !errors.Is(err, ErrWindow) {
			t.Errorf("after a press: %v", err)
		}
	})
}

// An older host knows no windows, and admits as it always did.
func TestAHostThatKnowsNoWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, eve := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), identity(t)
		pair(t, host, pantry, "pantry")
		pantry.SendWith(func(n mqtt.Note) {
			b, err := read[admitBody](n)
			if n.Method == noteAdmit && err == nil && b.Window == "" {
				pantry.HandleNote(host.id.ID(), note(noteAdmitted, answerBody{Request: b.Request, To: pantry.id.ID(), Welcome: []byte("{}")}))
			}
		})
		announced := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { announced <- pantry.Announce(ctx) }()
		synctest.Wait()
		if _, err := pantry.Admit(t.Context(), Party{eve.ID(), eve.PublicKey(), "eve"}); err != nil {
			t.Error(err)
		}
		cancel()
		t.Log("the announcement ended: ", <-announced)
	})
}

// With whom somebody is removed, if that is wanted: whom it let in, and whom these let in; never who keeps the room, nor who asks.
func TestRemovingWithGuests(t *testing.T) {
	host, _ := quiet(t)
	by := host.id.ID()
	var chain []round.DeviceID
	for _, name := range []string{"pantry", "hall", "attic"} {
		id := identity(t)
		host.mu.Lock()
		_, _, err := host.admitLocked(Party{id.ID(), id.PublicKey(), name}, by)
		host.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		chain, by = append(chain, id.ID()), id.ID()
	}
	if g := host.Room().Guests(chain[0]); len(g) != 2 || g[0].Name != "hall" || g[1].Name != "attic" {
		t.Errorf("guests of the pantry: %+v", g)
	}
	if g := host.Room().Guests(host.id.ID()); len(g) != 4 {
		t.Errorf("the host let in %d, by itself and by others; want 4", len(g))
	}
	if err := host.handle(chain[2], note(noteRemove, removeBody{"x", chain[0], true})); err != nil {
		t.Fatal(err)
	}
	if host.Member(chain[0]) || host.Member(chain[1]) || !host.Member(chain[2]) || len(host.Room().Members) != 3 {
		t.Errorf("left are %+v", host.Room().Members)
	}
	if err := host.Expel(t.Context(), chain[2], true); err != nil || len(host.Room().Removed) != 3 {
		t.Errorf("%v, removed: %+v", err, host.Room().Removed)
	}
	again, err := Open(host.dir, host.id, Clock{})
	if err != nil || len(again.Room().Removed) != 3 || again.Room().Removed[1].By != chain[2] {
		t.Errorf("after a restart: %v, %+v", err, again.Room())
	}
}

// Whoever types the code in the moment in which the window opens is let in by an announced window all the same.
func TestAnAdmissionWaitsForTheAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, eve := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), identity(t)
		pair(t, host, pantry, "pantry")
		hearEachOther(host, pantry)
		rest := pantry.Announcing()
		admitted := make(chan error, 1)
		go func() {
			_, err := pantry.Admit(t.Context(), Party{eve.ID(), eve.PublicKey(), "eve"})
			admitted <- err
		}()
		synctest.Wait()
		if err := rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-admitted; err != nil {
			t.Error(err)
		}
	})
}

// Windows that are opened in one moment are said one after the other, so the second one waits for its own sentence: it cannot hide behind the
// first one. And a member cannot have the room told of windows all night.
func TestEachWindowHasItsOwnSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, cellar := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, pantry, "pantry")
		pair(t, host, cellar, "cellar")
		hearEachOther(host, pantry, cellar)
		eve, ann := identity(t), identity(t)
		if err := errors.Join(pantry.Announce(t.Context()), cellar.Announce(t.Context())); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := pantry.Admit(t.Context(), Party{eve.ID(), eve.PublicKey(), "eve"}); err != nil || time.Since(began) < AnnounceFor {
			t.Errorf("the first one: %v after %v", err, time.Since(began))
		}
		if _, err := cellar.Admit(t.Context(), Party{ann.ID(), ann.PublicKey(), "ann"}); err != nil || time.Since(began) < 2*AnnounceFor {
			t.Errorf("the second one: %v after %v", err, time.Since(began))
		}

		said := 0
		for began := time.Now(); time.Since(began) < 8*time.Hour; time.Sleep(time.Minute) {
			w := newRequest()
			_ = host.handle(pantry.id.ID(), note(noteOpen, openBody{w}))
			_ = host.handle(pantry.id.ID(), note(noteShut, openBody{w}))
			synctest.Wait()
			for len(cellar.changes) > 0 {
				if c := <-cellar.changes; c.What == WindowOpened {
					said++
				}
			}
		}
		if said > 60 {
			t.Errorf("a member has had %d windows said aloud in a night", said)
		}
	})
}

// A host that lies has the others say one window after the other, of members that have opened none: most of that they do not, and it is named.
func TestALyingHostAnnouncesFewWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, pantry, cellar := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, pantry, "pantry")
		pair(t, host, cellar, "cellar")
		hearEachOther(host, pantry, cellar)
		said, named := 0, 0
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
			w := newRequest()
			for _, open := range []bool{true, false} {
				cellar.HandleNote(host.id.ID(), note(noteWindow, windowBody{Window: w, Device: pantry.id.ID(), Open: open, WaitMS: 6000}))
			}
			synctest.Wait()
			for len(cellar.changes) > 0 {
				switch c := <-cellar.changes; {
				case c.What == WindowOpened:
					said++
				case c.What == Excess && c.Device == host.id.ID():
					named++
				}
			}
		}
		if said > 40 || named == 0 {
			t.Errorf("in ten minutes %d windows are said aloud; it is named %d times", said, named)
		}
	})
}
