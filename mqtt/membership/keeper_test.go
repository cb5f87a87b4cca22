package membership

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
)

// Who follows whom: a member that has heard its keeper a moment ago, and a keeper to which others come, follow nobody.
func TestWhoFollowsAnotherKeeper(t *testing.T) {
	const me, old, other = round.DeviceID("b"), round.DeviceID("a"), round.DeviceID("c")
	gone := standing{self: me, host: old, others: 3, missing: keeperPatience, patience: keeperPatience}
	keeper := standing{self: me, host: me, others: 3, up: time.Hour, served: true, patience: keeperPatience}
	was := func(s standing, f func(*standing)) standing { f(&s); return s }
	for _, row := range []struct {
		name string
		s    standing
		r    rival
		want error
	}{
		{"a member whose keeper is gone", gone, rival{id: other, listed: true, term: 1}, nil},
		{"somebody who is not on the list", gone, rival{id: other, term: 1}, errRivalStranger},
		{"a number that is not higher", was(gone, func(s *standing) { s.term = 1 }), rival{id: other, listed: true, term: 1}, errRivalOlder},
		{"a number that is too high", gone, rival{id: other, listed: true, term: maxTermLead + 1}, errRivalFar},
		{"the keeper was heard", was(gone, func(s *standing) { s.missing-- }), rival{id: other, listed: true, term: 1}, errKeeperLives},
		{"it is here, and a hundred have signed", was(gone, func(s *standing) { s.missing = 0 }), rival{id: other, listed: true, term: 1, acks: 100}, errKeeperLives},
		{"its own keeper sends it there", was(gone, func(s *standing) { s.missing, s.released = 0, other }), rival{id: other, listed: true, term: 1}, nil},
		{"its own keeper, under a new authority", was(gone, func(s *standing) { s.missing = 0 }), rival{id: old, listed: true, term: 2}, nil},

		{"a keeper, and one member says so", keeper, rival{id: other, listed: true, term: 1}, errFewAcks},
		{"a keeper, and half of the others", was(keeper, func(s *standing) { s.others = 4 }), rival{id: other, listed: true, term: 1, acks: 1}, errFewAcks},
		{"a keeper, and most of the others", keeper, rival{id: other, listed: true, term: 1, acks: 1}, nil},
		{"a keeper of one other, which says so", was(keeper, func(s *standing) { s.others = 1 }), rival{id: other, listed: true, term: 1}, errFewAcks},
		{"a keeper that is back", was(keeper, func(s *standing) { s.served, s.up = false, time.Minute }), rival{id: other, listed: true, term: 1}, errFewAcks},
		{"and nobody comes to it", was(keeper, func(s *standing) { s.served = false }), rival{id: other, listed: true, term: 1}, nil},
		{"two who made the room", keeper, rival{id: old, listed: true}, errRivalOlder},
		{"as many on either side, and the lower id", was(keeper, func(s *standing) { s.term = 1 }), rival{id: old, listed: true, term: 1}, nil},
		{"as many on either side, and the higher id", was(keeper, func(s *standing) { s.term = 1 }), rival{id: other, listed: true, term: 1}, errRivalOlder},
		{"more on the other side", was(keeper, func(s *standing) { s.term = 1 }), rival{id: other, listed: true, term: 1, acks: 1}, nil},
		{"fewer on the other side", was(keeper, func(s *standing) { s.term, s.acks = 1, 1 }), rival{id: old, listed: true, term: 1}, errRivalOlder},
		{"the one before was never away", was(keeper, func(s *standing) { s.term = 1 }), rival{id: old, listed: true, before: true, refuses: true, served: true}, nil},
		{"it stays, and most are here", was(keeper, func(s *standing) { s.term, s.acks = 1, 1 }), rival{id: old, listed: true, before: true, refuses: true, served: true}, errRivalOlder},
		{"it stays, and nobody is there", was(keeper, func(s *standing) { s.term = 1 }), rival{id: old, listed: true, before: true, refuses: true}, errRivalOlder},
	} {
		if err := row.s.follows(row.r); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v; want %v", row.name, err, row.want)
		}
	}
}

// Both ends of a meeting come to the same end, whatever they have said.
func TestBothKnowWhoGoesOver(t *testing.T) {
	bools := []bool{false, true}
	for n := range 1 << 8 {
		a := side{n&1 > 0, n&2 > 0, uint64(n >> 6 & 1), n&8 > 0}
		b := side{n&16 > 0, n&32 > 0, uint64(n >> 7 & 1), n&4 > 0}
		for _, dialed := range bools {
			x, y := over(a, b, dialed), over(b, a, !dialed)
			if x != -y {
				t.Errorf("%+v and %+v: %d and %d", a, b, x, y)
			}
			if x == 1 && !b.keeper || x == -1 && !a.keeper {
				t.Errorf("%+v and %+v: one goes over to a device that keeps nothing", a, b)
			}
		}
	}
}

// wire is a channel in memory.
type wire struct {
	in, out chan []byte
	peer    ed25519.PublicKey
	closed  chan struct{}
	once    *sync.Once
	lost    func(frame []byte) bool // nil: none; what is lost ends the channel
}

func wires(a, b *device) (x, y *wire) {
	l, r, closed := make(chan []byte, 8), make(chan []byte, 8), make(chan struct{})
	once := new(sync.Once)
	return &wire{l, r, b.id.PublicKey(), closed, once, nil}, &wire{r, l, a.id.PublicKey(), closed, once, nil}
}

func (w *wire) Send(f []byte) error {
	if w.lost != nil && w.lost(f) {
		_ = w.Close()
		return io.ErrClosedPipe
	}
	select {
	case w.out <- f:
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

func (w *wire) Receive(ctx context.Context) ([]byte, error) {
	select {
	case f := <-w.in:
		return f, nil
	default:
	}
	select {
	case f := <-w.in:
		return f, nil
	case <-w.closed:
		return nil, io.ErrUnexpectedEOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) Peer() ed25519.PublicKey { return w.peer }
func (w *wire) Close() error            { w.once.Do(func() { close(w.closed) }); return nil }

// meets has a call b.
func meets(a, b *device) (here, there error) {
	x, y := wires(a, b)
	done := make(chan error, 1)
	go func() { done <- b.Meet(context.Background(), y, false) }()
	here = a.Meet(context.Background(), x, true)
	return here, <-done
}

// offline is a room of devices that are connected to nothing, in a bubble of virtual time.
func offline(t *testing.T, names ...string) (host *device, members []*device) {
	t.Helper()
	host = fresh(t, at(today).Clock())
	for _, n := range names {
		m := fresh(t, at(today).Clock())
		pair(t, host, m, n)
		host.Confirm(m.id.ID())
		members = append(members, m)
	}
	for _, m := range members { // the list as it is now
		m.copies(host)
	}
	return host, members
}

// copies takes the host's list over.
func (d *device) copies(host *device) {
	d.mu.Lock()
	r := host.rec
	d.mu.Unlock()
	if err := d.listed(&listBody{Room: r.ID, Version: r.Version, At: r.At, Members: r.Members, Claim: r.Claim}); err != nil {
		d.t.Fatal(err)
	}
}

// acks has members say what they say at each link.
func (d *device) acks(members ...*device) {
	for _, m := range members {
		if err := d.accepted(m.rec.Claim.ack(m.id, m.rec.ID)); err != nil {
			d.t.Fatal(err)
		}
	}
}

func keepsAt(t *testing.T, d *device, host round.DeviceID, why string) {
	t.Helper()
	if room := d.Room(); room == nil || room.Host != host {
		t.Errorf("%s: %+v", why, room)
	}
	if got := open(t, d.dir, d.id, Clock{}).Room(); got == nil || got.Host != host {
		t.Errorf("%s: on disk: %+v", why, got)
	}
}

// The host is gone for good. One member keeps the room, the others come over with their old keys, and what was the host is a member when it
// is back.
func TestTheRoomOutlivesItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, m := offline(t, "kitchen", "cellar", "attic")
		kitchen, cellar, attic := m[0], m[1], m[2]
		if err := kitchen.Keep(); !errors.Is(err, ErrHeard) || kitchen.IsHost() {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(keeperPatience)
		if err := kitchen.Keep(); err != nil {
			t.Fatal(err)
		}
		if err := kitchen.Keep(); !errors.Is(err, ErrKeeps) {
			t.Errorf("twice: %v", err)
		}
		before := host.Room().Version
		if r := kitchen.Room(); !kitchen.IsHost() || r.Version <= before || len(r.Members) != 4 || r.Succeeded != host.id.ID() {
			t.Errorf("%+v", r)
		}
		for _, d := range []*device{cellar, attic} {
			if here, there := meets(d, kitchen); here != nil || there != nil {
				t.Errorf("%v, %v", here, there)
			}
			keepsAt(t, d, kitchen.id.ID(), "a member comes over")
			if c := d.change(Moved, kitchen.id.ID()); c.Name != "kitchen" || c.Anew {
				t.Errorf("%+v", c)
			}
		}
		kitchen.acks(cellar, attic)

		again := open(t, host.dir, host.id, at(today).Clock()) // repaired
		if !again.IsHost() {
			t.Fatal("it has forgotten that it keeps the room")
		}
		if here, there := meets(again, kitchen); here != nil || there != nil {
			t.Errorf("%v, %v", here, there)
		}
		keepsAt(t, again, kitchen.id.ID(), "the old keeper yields")
		if c := again.change(Moved, kitchen.id.ID()); !c.Anew {
			t.Error("it goes on as if it kept the room")
		}
		if left := files(t, again.dir); len(left) != 1 {
			t.Errorf("it has %v", left)
		}
		if _, err := kitchen.Admit(t.Context(), fresh(t, Clock{}).party("porch")); err != nil {
			t.Errorf("the new keeper admits nobody: %v", err)
		}
	})
}

// While the host lives nobody takes the room over: not its members, not itself, whoever says so and how often.
func TestNobodyTakesALivingRoomOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, m := offline(t, "kitchen", "cellar", "liar")
		kitchen, cellar, liar := m[0], m[1], m[2]
		host.came()
		for _, d := range []*device{kitchen, cellar} {
			d.linked(true)
		}
		time.Sleep(keeperPatience) // the liar says that it hears nothing
		if err := liar.Keep(); err != nil {
			t.Fatal(err)
		}
		liar.mu.Lock()
		for range 100 { // signed by itself, and by nobody that counts
			liar.rec.Acks = append(liar.rec.Acks, liar.rec.Claim.ack(liar.id, liar.rec.ID), liar.rec.Claim.ack(identity(t), liar.rec.ID))
		}
		liar.mu.Unlock()
		for _, d := range []*device{kitchen, cellar, host} {
			was := d.Room().Host
			here, _ := meets(d, liar)
			var rival *RivalError
			if d != host && !errors.As(here, &rival) {
				t.Errorf("the claim is not told: %v", here)
			}
			keepsAt(t, d, was, "a claim while the host lives")
		}
		keepsAt(t, liar, host.id.ID(), "one that claims while the host lives is a member again")
		if host.Room().Version == 0 || host.rec.Term <= 1 {
			t.Errorf("the host's number is %d: what was signed for the liar may be used again", host.rec.Term)
		}
	})
}

// A replayed, altered or borrowed claim is none.
func TestAClaimIsItsKeepersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, m := offline(t, "kitchen", "cellar", "liar")
		kitchen, cellar, liar := m[0], m[1], m[2]
		time.Sleep(keeperPatience)
		if err := errors.Join(kitchen.Keep(), liar.Keep()); err != nil {
			t.Fatal(err)
		}
		for name, lie := range map[string]func(r *record){
			"another's claim": func(r *record) { r.Claim = kitchen.rec.Claim },
			"a higher number": func(r *record) { c := *r.Claim; c.Term, r.Term, r.Claim = 7, 7, &c },
			"another room's":  func(r *record) { c := *r.Claim; c.sign(liar.id, "raaaaaaaaaaaaaaa"); r.Claim = &c },
			"none":            func(r *record) { r.Claim = nil },
		} {
			true_ := liar.rec
			liar.mu.Lock()
			liar.rec = true_.clone()
			lie(liar.rec)
			liar.mu.Unlock()
			_, _ = meets(cellar, liar)
			keepsAt(t, cellar, host.id.ID(), name)
			liar.mu.Lock()
			liar.rec = true_
			liar.mu.Unlock()
		}
		stranger := open(t, t.TempDir(), identity(t), at(today).Clock()) // has the files, but another key
		x, y := wires(stranger, kitchen)
		go func() { _ = y.Close() }()
		if err := kitchen.Meet(t.Context(), x2(y, stranger), false); !errors.Is(err, ErrStranger) {
			t.Errorf("%v", err)
		}
		if len(x.in) > 0 {
			t.Error("a stranger was told something")
		}
	})
}

func x2(w *wire, peer *device) *wire { w.peer = peer.id.PublicKey(); return w }

// The network was in two, and a person on either side has made a keeper: one room is left, whoever calls first.
func TestTwoKeepersBecomeOne(t *testing.T) {
	for _, row := range []struct {
		name        string
		left, right int // members that have come over
	}{{"more on the left", 1, 0}, {"more on the right", 0, 1}, {"as many", 1, 1}, {"nobody", 0, 0}} {
		for _, first := range []string{"left calls", "right calls"} {
			t.Run(row.name+", "+first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, m := offline(t, "left", "right", "left's", "right's")
					left, right, leftOf, rightOf := m[0], m[1], m[2], m[3]
					time.Sleep(keeperPatience)
					if err := errors.Join(left.Keep(), right.Keep()); err != nil {
						t.Fatal(err)
					}
					if row.left > 0 {
						_, _ = meets(leftOf, left)
						left.acks(leftOf)
					}
					if row.right > 0 {
						_, _ = meets(rightOf, right)
						right.acks(rightOf)
					}
					win, lose, follower := left, right, rightOf
					if row.right > row.left || row.right == row.left && right.id.ID() < left.id.ID() {
						win, lose, follower = right, left, leftOf
					}
					a, b := left, right
					if first == "right calls" {
						a, b = b, a
					}
					if here, there := meets(a, b); here != nil || there != nil {
						t.Errorf("%v, %v", here, there)
					}
					keepsAt(t, win, win.id.ID(), "the winner")
					keepsAt(t, lose, win.id.ID(), "the loser")
					if follower.Room().Host == lose.id.ID() { // its keeper's last word
						follower.release(win.id.ID())
					}
					follower.linked(false)
					if here, there := meets(follower, win); here != nil || there != nil {
						t.Errorf("the loser's device: %v, %v", here, there)
					}
					keepsAt(t, follower, win.id.ID(), "the loser's device")
				})
			})
		}
	}
}

// Who knows a later list than the new keeper has seen somebody removed: that one does not come back.
func TestARemovalOutlivesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, m := offline(t, "kitchen", "cellar", "removed")
		kitchen, cellar, removed := m[0], m[1], m[2]
		if err := host.Remove(t.Context(), removed.id.ID()); err != nil {
			t.Fatal(err)
		}
		cellar.copies(host) // and the kitchen was away
		time.Sleep(keeperPatience)
		if err := kitchen.Keep(); err != nil {
			t.Fatal(err)
		}
		if here, there := meets(cellar, kitchen); here != nil || there != nil {
			t.Errorf("%v, %v", here, there)
		}
		kitchen.change(Removed, removed.id.ID())
		if kitchen.Member(removed.id.ID()) || cellar.Member(removed.id.ID()) {
			t.Error("it is a member again")
		}
		if here, _ := meets(removed, kitchen); here == nil || removed.Room().Host == kitchen.id.ID() {
			t.Errorf("it comes over: %v", here)
		}
	})
}

// A conversation that breaks off at any frame leaves both cleanly where they were, or over; and the next one ends well.
func TestAMeetingThatBreaksOff(t *testing.T) {
	for cut := range 7 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, m := offline(t, "kitchen", "cellar")
				kitchen, cellar := m[0], m[1]
				time.Sleep(keeperPatience)
				if err := kitchen.Keep(); err != nil {
					t.Fatal(err)
				}
				x, y := wires(cellar, kitchen)
				n := 0
				var mu sync.Mutex
				lost := func([]byte) bool {
					mu.Lock()
					defer mu.Unlock()
					n++
					return n == cut+1
				}
				x.lost, y.lost = lost, lost
				done := make(chan error, 1)
				go func() { done <- kitchen.Meet(context.Background(), y, false) }()
				here := cellar.Meet(context.Background(), x, true)
				there := <-done
				if broke := here != nil || there != nil; broke != (cut < 6) {
					t.Errorf("broken after %d frames: %v, %v", cut, here, there)
				}
				if d := open(t, cellar.dir, cellar.id, Clock{}); d.Room() == nil || d.Room().Host != cellar.Room().Host || strings.Join(files(t, d.dir), " ") != roomFile {
					t.Errorf("on disk %+v, in memory %+v, files %v", d.Room(), cellar.Room(), files(t, d.dir))
				}
				if _, there := meets(cellar, kitchen); there != nil {
					t.Error(there)
				}
				keepsAt(t, cellar, kitchen.id.ID(), "afterwards")
			})
		})
	}
}
