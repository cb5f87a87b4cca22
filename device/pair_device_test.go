package device

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/join"
)

// holds holds the button for d, and something is done meanwhile.
func (x *tenant) holds(d time.Duration, meanwhile func()) (edge, up time.Duration) {
	x.t.Helper()
	edge = x.now()
	x.hand.Press()
	x.state(turn.Listening)
	if meanwhile != nil {
		meanwhile()
	}
	x.pause(d - (x.now() - edge))
	up = x.now()
	x.hand.Release()
	return edge, up
}

const longEnough = 5*time.Second + 200*time.Millisecond

// A button held in silence is a gesture: the turn that it began ends without an answer, a cue or a word, and a window opens.
func TestHeldInSilenceOpensAWindow(t *testing.T) {
	h := newHousehold(t)
	x := h.raise("kitchen", "Ada", nil)
	_, up := x.holds(longEnough, nil)
	x.awaits(control.PairingLooking)
	x.awaits(control.PairingOpen)
	opened := x.now()
	if r := x.turnsEnded(); len(r) != 1 || r[0].Said != "" || r[0].Words != "" || r[0].HeardMS != 0 {
		t.Errorf("the turn of the gesture: %+v; want nothing said", r)
	}
	if peak := audio.Peak(x.card.Between(up, min(opened, up+1500*time.Millisecond))); peak > 0 {
		t.Errorf("after the gesture something sounds (peak %d) before the window is open", peak)
	}
	if asked := x.mind.last(); asked.Words != "" || len(asked.Talk) > 0 {
		t.Errorf("a model was asked: %+v", asked)
	}
	x.until("the code is said", x.audible)
	x.hand.Press() // it ends the pairing, and is a press like any other
	x.awaits(control.PairingCancelled)
	x.state(turn.Listening)
	x.until("silent", func() bool { return !x.audible() })
	x.hand.Release()
	x.quiet()
	x.fine()
}

// Whoever speaks while holding it asks a question, however long.
func TestALongQuestionIsNoGesture(t *testing.T) {
	h := newHousehold(t)
	x := h.raise("kitchen", "Ada", nil)
	r := x.nextTurn(func() {
		x.holds(longEnough, func() {
			x.pause(time.Second)
			x.card.Feed(whistle(200, audio.Samples(1500*time.Millisecond)))
		})
	})
	x.answered(r)
	if s := x.pairing.Now().State; s != control.PairingIdle {
		t.Errorf("a long question is followed by pairing: %s", s)
	}
}

// Held while an answer sounds: the press silences it, as ever, and then the hold counts.
func TestHeldOverAnAnswer(t *testing.T) {
	h := newHousehold(t)
	x := h.raise("kitchen", "Ada", nil)
	x.question("tell me something long")
	x.until("speaking", x.Speaking)
	edge, _ := x.holds(longEnough, nil)
	x.awaits(control.PairingLooking)
	if end := x.speaker.LastAudible(); x.turnsEnded()[0].Reason != turn.InterruptedByPress.String() || end > edge+time.Second {
		t.Errorf("the answer: %s, heard until %s after the edge", x.turnsEnded()[0].Reason, end-edge)
	}
	x.hand.Press()
	x.hand.Release()
}

// Whoever has turned that off holds for nothing.
func TestPairingByTheButtonCanBeTurnedOff(t *testing.T) {
	h := newHousehold(t)
	x := h.raise("kitchen", "Ada", func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Pairing = false }
	})
	x.nextTurn(func() { x.holds(longEnough, nil) })
	if s := x.pairing.Now().State; s != control.PairingIdle {
		t.Errorf("pairing: %s", s)
	}
}

// A press at each step of pairing, on either side: what is on disk counts, and both sides agree on it.
func TestAPressAtEachStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ who, at string }{
		{"host", join.StepOpen}, {"host", join.StepAdmitting}, {"host", join.StepAdmitted}, {"host", join.StepConfirmed},
		{"newcomer", join.StepTrying}, {"newcomer", join.StepStoring}, {"newcomer", join.StepJoined},
	} {
		t.Run(c.who+" "+c.at, func(t *testing.T) {
			h := newHousehold(t)
			var who atomic.Pointer[tenant]
			var once atomic.Bool
			press := func(name string) func(*boxOptions) {
				return func(o *boxOptions) {
					o.room.Step = func(at string) {
						if x := who.Load(); x != nil && name == c.who && at == c.at && !once.Swap(true) {
							x.hand.Press()
							x.until("the press has come", func() bool { return x.coordinator.State() == turn.Listening })
							x.hand.Release()
						}
					}
				}
			}
			a, b := h.raise("kitchen", "Ada", press("host")), h.raise("hall", "Ben", press("newcomer"))
			who.Store(map[string]*tenant{"host": a, "newcomer": b}[c.who])
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if o, err := a.pairing.Open(ctx); err == nil {
				_, _ = b.joins(o.Code, o.Addresses[0]) // what comes of it is seen below
			}
			for _, x := range []*tenant{b, a} {
				if x == a && b.link.Room() == nil { // its window waits for somebody else
					_, _ = a.pairing.Cancel(ctx)
				}
				x.until("at an end", func() bool {
					return x.box.gone.Load() || x.pairing.Now().Over() && x.pairing.Busy.Load() == 0 && x.link.Room() == nil
				})
				if x.box.gone.Load() {
					x.restarts()
				}
			}
			switch ra, rb := a.link.Room(), b.link.Room(); {
			case rb != nil && ra == nil:
				t.Fatal("the newcomer is in a room that nobody keeps")
			case rb == nil:
				if ra != nil && !ra.Members[1].Pending && !ra.Members[0].Pending {
					t.Errorf("the host counts on %+v", ra.Members)
				}
				a.until("its window is closed", func() bool { return a.pairing.Now().Over() })
				pairs(a, b)
			}
			meet(a, b)
		})
	}
}

// A name that is taken: the newcomer gets another, is told so, and is called so from then on.
func TestANameThatIsTaken(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("kitchen", "Ben", nil)
	o := a.opens()
	l, err := b.joins(o.Code, o.Addresses[0])
	if err != nil || l.Called != "kitchen 2" || !strings.Contains(l.Text, "kitchen 2") {
		t.Fatalf("%+v, %v; want to be called kitchen 2", l, err)
	}
	b.restarts()
	a.restarts()
	meet(a, b)
	if b.cfg.Device.Name != "kitchen 2" || (socket{a.Device}).Status().Paired.Members[1].Name != "kitchen 2" {
		t.Errorf("it is called %q; the other one calls it %+v", b.cfg.Device.Name, (socket{a.Device}).Status().Paired.Members[1])
	}
}

// A device that is removed while its companion speaks is silent at once, begins anew alone, and cannot come back.
func TestRemovedWhileItSpeaks(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	pairs(a, b)
	meet(a, b)
	a.types("Ben, say something long")
	b.until("Ben is heard", b.Speaking)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := a.pairing.Remove(ctx, control.RemoveRequest{Device: "hall"}); err != nil {
		t.Fatal(err)
	}
	removed := b.now()
	b.until("silent", func() bool { return !b.Speaking() })
	b.awaits(control.PairingRemoved)
	b.until("its turn has ended", func() bool { return len(b.turnsEnded()) > 0 })
	// Not how fast: that it did not speak on to its end, which is six seconds off.
	if r := b.turnsEnded(); len(r) == 0 || r[len(r)-1].Reason == turn.Done.String() {
		t.Errorf("Ben has ended %+v", r)
	}
	t.Logf("silent %s after the list was changed", b.now()-removed)
	b.restarts()
	if b.room.Room != nil || b.link.Room() != nil {
		t.Error("it is still in a room")
	}
	a.until("alone", func() bool { return len(a.room.Room.Members()) == 1 })
	a.Device.room.Put("Ada, and now") // the room goes on
	a.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
}

// Leaving: the device begins anew alone, and the room knows. When the one that keeps the room leaves, the room has ended for all.
func TestLeaving(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"newcomer", "host"} {
		t.Run(who, func(t *testing.T) {
			h := newHousehold(t)
			a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
			pairs(a, b)
			meet(a, b)
			a.types("Ben, this is for this room alone")
			b.until("it is remembered", func() bool { return len(b.room.Room.Recent()) == 2 })
			leaver, other := b, a
			if who == "host" {
				leaver, other = a, b
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if l, err := leaver.pairing.Leave(ctx); err != nil || l.Room != "home" {
				t.Fatalf("%+v, %v", l, err)
			}
			leaver.restarts()
			if leaver.room.Room != nil {
				t.Error("it has left, and has a room")
			}
			if who == "host" {
				other.awaits(control.PairingRemoved)
				other.restarts()
				if other.room.Room != nil {
					t.Error("the room has ended, and the other one is in it")
				}
			} else {
				other.until("the room knows", func() bool { return len(other.link.Room().Members) == 1 })
			}
			pairs(a, b) // and together again
			meet(a, b)
			if got := b.room.Room.Recent(); who == "host" && len(got) > 0 {
				t.Errorf("another room, and what was said in the one before is known: %v", got)
			}
		})
	}
}

// The one that keeps the room goes away and comes back, at another port: it is found.
func TestTheHostComesBackElsewhere(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	pairs(a, b)
	meet(a, b)
	before := a.link.Port()
	a.dies()
	b.until("it misses the host, and says so", func() bool { return b.conds.Holds(condition.RoomCut) })
	b.types("Ben, are you there, on my own")
	b.wait("Ben answers alone", kind(round.EntrySpoke, "ben"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := b.pairing.Open(ctx); err == nil || !strings.Contains(err.Error(), "keeps the room") {
		t.Errorf("opening a window without the host: %v", err)
	}
	a.live()
	if a.link.Port() == before {
		t.Logf("the kitchen got the same port, %d: nothing was looked for", before)
	}
	meet(a, b)
	if b.conds.Holds(condition.RoomCut) {
		t.Error("the condition stays")
	}
}

// A third one comes in by a window of a device that is not the host: nobody who was there begins anew.
func TestAnyMemberOpensTheWindow(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
	pairs(a, b)
	meet(a, b)
	pairs(b, c)
	meet(a, b, c)
	for _, x := range []*tenant{a, b} {
		if x.box.gone.Load() {
			t.Errorf("%s has begun anew", x.name)
		}
	}
}

// Three wrong codes close the window; a code in between is malformed and costs nothing; the next window has another code.
func TestWrongCodes(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	o := a.opens()
	wrong := "000000"
	if o.Code == wrong {
		wrong = "111111"
	}
	for i := range 3 {
		if _, err := b.joins(wrong, o.Addresses[0]); err == nil || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("wrong code %d: %v", i+1, err)
		}
		if _, err := b.joins("12x456", o.Addresses[0]); !errors.Is(err, control.ErrRefused) {
			t.Errorf("a malformed code: %v", err)
		}
	}
	if l := a.awaits(control.PairingFailed); l.Why != control.WhyWrongCode {
		t.Errorf("the window: %+v", l)
	}
	a.until("said aloud", a.audible)
	if _, err := b.joins(o.Code, o.Addresses[0]); err == nil {
		t.Error("the right code, too late, is taken")
	}
	if a.link.Room() != nil || b.link.Room() != nil {
		t.Error("somebody is in a room")
	}
	again := a.opens()
	if again.Code == o.Code {
		t.Errorf("the next window has the same code")
	}
	if _, err := b.joins(again.Code, again.Addresses[0]); err != nil {
		t.Error(err)
	}
	b.restarts()
	a.restarts()
	meet(a, b)
}

// Two that are held at the same moment: one of them opens, the other listens to it.
func TestHeldAtTheSameMoment(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	a.pairing.Held(a.now(), false)
	b.pairing.Held(b.now(), false)
	// As a rule the one with the lower id opens; where one of them could not look in time, the one that saw nobody.
	a.until("one opens, the other listens", func() bool {
		x, y := a.pairing.Now().State, b.pairing.Now().State
		return x == control.PairingOpen && y == control.PairingListening || x == control.PairingListening && y == control.PairingOpen
	})
	opened, listens := a, b
	if b.pairing.Now().State == control.PairingOpen {
		opened, listens = b, a
	}
	listens.hearing()
	listens.card.Feed(codeTones(opened.pairing.Now().Code)) // these have no air between them
	listens.restarts()
	opened.restarts()
	meet(a, b)
}

// The disk of the newcomer is full, or the host's: in words, and clean.
func TestPairingOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"host", "newcomer"} {
		t.Run(who, func(t *testing.T) {
			h := newHousehold(t)
			a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
			full := a
			if who == "newcomer" {
				full = b
			}
			dir := filepath.Join(full.dir, "room")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
				t.Skipf("missing: the right to mount a small disk (root): %v", err)
			}
			unmount := func() {
				if err := syscall.Unmount(dir, 0); err != nil {
					t.Errorf("unmount: %v", err)
				}
			}
			filler, err := os.Create(filepath.Join(dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(filler, endless{}); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			_ = filler.Close() // nothing of it matters
			o := a.opens()
			_, err = b.joins(o.Code, o.Addresses[0])
			if err == nil {
				t.Error("paired, on a full disk")
			}
			if who == "newcomer" && b.pairing.Now().Why != control.WhyDisk {
				t.Errorf("the newcomer: %+v (%v)", b.pairing.Now(), err)
			}
			if b.link.Room() != nil || who == "host" && a.link.Room() != nil {
				t.Error("somebody is in a room that is on no disk")
			}
			unmount()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, _ = a.pairing.Cancel(ctx)
			if who == "newcomer" { // the host had let it in
				a.restarts()
			}
			pairs(a, b)
			meet(a, b)
		})
	}
}
