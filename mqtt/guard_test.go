package mqtt

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"conch/companions/round"
)

// node is a device in virtual time: its guard, and a clock that has nothing to do with anybody else's.
type node struct {
	id     round.DeviceID
	skew   time.Duration // of its clock
	starts int
	born   time.Duration // true time
	g      *guard
	heard  map[string]int // envelopes delivered, by name
	hellos int
}

// air is the network between nodes, and the attacker's recorder: everything ever sent.
type air struct {
	now     time.Duration
	nodes   []*node
	archive []recorded
	flying  []flight
	delay   func() time.Duration
	lose    func() bool
}

type recorded struct {
	e    *Envelope
	made time.Duration
}

type flight struct {
	at time.Duration
	to *node
	r  recorded
}

func newAir(n int) *air {
	a := &air{now: 1000 * time.Hour, delay: func() time.Duration { return 5 * time.Millisecond }, lose: func() bool { return false }}
	for i := range n {
		a.nodes = append(a.nodes, &node{id: round.DeviceID(fmt.Sprintf("device%d", i)), skew: time.Duration(i) * 7 * time.Hour})
	}
	return a
}

func (a *air) start(n *node) {
	n.starts++
	n.born = a.now
	n.heard = map[string]int{}
	n.g = newGuard(n.id, fmt.Sprintf("%s/%d", n.id, n.starts), a.now-n.skew)
}

func (a *air) say(n *node, p round.Packet) *Envelope {
	e := &Envelope{From: n.id, Session: n.g.session, Seq: n.g.seq(), Packet: p, Size: 100}
	a.send(n, e)
	return e
}

func (a *air) will(n *node) *Envelope {
	return &Envelope{From: n.id, Session: n.g.session, Seq: willSeq, Packet: round.Gone{}, Size: 100}
}

func (a *air) send(n *node, e *Envelope) {
	r := recorded{e, a.now}
	a.archive = append(a.archive, r)
	for _, to := range a.nodes {
		if to != n && !a.lose() {
			a.flying = append(a.flying, flight{a.now + a.delay(), to, r})
		}
	}
}

// arrive gives an envelope to a node, as the client does.
func (a *air) arrive(to *node, r recorded) (delivered []*Envelope, reason Reason) {
	if to.g == nil {
		return nil, ""
	}
	if reason := to.g.stale(r.e.From, r.e.Session, r.e.Seq); reason != "" {
		return nil, reason
	}
	e := *r.e
	delivered, reason = to.g.admit(a.now-to.skew, &e)
	for _, d := range delivered {
		to.heard[name(d)]++
	}
	return delivered, reason
}

func name(e *Envelope) string { return fmt.Sprintf("%s#%d", e.Session, e.Seq) }

// pass lets time go by in steps of a millisecond.
func (a *air) pass(d time.Duration) {
	for end := a.now + d; a.now < end; a.now += time.Millisecond {
		for _, n := range a.nodes {
			if n.g == nil {
				continue
			}
			if h, seq, ok := n.g.hello(a.now - n.skew); ok {
				n.hellos++
				a.send(n, &Envelope{From: n.id, Session: n.g.session, Seq: seq, hello: h, Size: 200})
			}
		}
		rest := a.flying[:0]
		due := []flight(nil)
		for _, f := range a.flying {
			if f.at <= a.now {
				due = append(due, f)
			} else {
				rest = append(rest, f)
			}
		}
		a.flying = rest
		for _, f := range due {
			a.arrive(f.to, f.r)
		}
	}
}

func TestNewcomersFirstWordsAreHeard(t *testing.T) {
	a := newAir(2)
	old, young := a.nodes[0], a.nodes[1]
	a.start(old)
	a.pass(time.Minute)
	a.start(young)
	first := a.say(young, round.HistoryAsk{}) // before it has heard anybody
	a.pass(100 * time.Millisecond)
	if old.heard[name(first)] != 1 {
		t.Errorf("the first thing a newcomer said was delivered %d times; want 1", old.heard[name(first)])
	}
	reply := a.say(old, round.History{})
	a.pass(100 * time.Millisecond)
	if young.heard[name(reply)] != 1 {
		t.Errorf("the answer to it was delivered %d times; want 1", young.heard[name(reply)])
	}
}

func TestJoiningTakesOneRoundTripAndAHalf(t *testing.T) {
	a := newAir(2)
	a.start(a.nodes[0])
	a.pass(time.Minute)
	a.start(a.nodes[1])
	from := a.now
	for a.nodes[0].g.peers[a.nodes[1].id] == nil || a.nodes[0].g.peers[a.nodes[1].id].live == nil {
		a.pass(time.Millisecond)
		if a.now-from > time.Second {
			t.Fatal("not believed within a second")
		}
	}
	if took := a.now - from; took > 25*time.Millisecond {
		t.Errorf("believed after %v at 5 ms each way; want 3 ways and what the steps of this test add", took)
	}
	if n := a.nodes[0].hellos + a.nodes[1].hellos; n > 4 {
		t.Errorf("%d hellos; want at most 4 (the first of each, one answer of each)", n)
	}
}

func TestHellosGrowWithTheDevices(t *testing.T) {
	for _, n := range []int{10, 50} {
		a := newAir(n + 1)
		for _, d := range a.nodes[:n] {
			a.start(d)
		}
		a.pass(2 * time.Second)
		cold := 0
		for _, d := range a.nodes {
			cold += d.hellos
			d.hellos = 0
		}
		a.start(a.nodes[n])
		a.pass(2 * time.Second)
		join := 0
		for _, d := range a.nodes {
			join += d.hellos
		}
		for _, d := range a.nodes {
			for _, o := range a.nodes {
				if d != o && (d.g.peers[o.id] == nil || d.g.peers[o.id].live == nil) {
					t.Fatalf("%d devices: %s does not believe %s", n, d.id, o.id)
				}
			}
		}
		fmt.Printf("hellos, %d devices: %d when all start at once, %d when one more joins\n", n, cold, join)
		if join > n+5 || cold > 4*n {
			t.Errorf("%d devices: %d hellos when all start at once, %d when one more joins; want O(devices)", n, cold, join)
		}
	}
}

func TestRecordingsAreNotBelieved(t *testing.T) {
	setup := func() (a *air, alice, bob *node) {
		a = newAir(2)
		alice, bob = a.nodes[0], a.nodes[1]
		a.start(alice)
		a.start(bob)
		a.pass(time.Second)
		for range 20 {
			a.say(alice, round.Press{})
			a.pass(50 * time.Millisecond)
		}
		return a, alice, bob
	}
	replay := func(t *testing.T, a *air, to *node, from round.DeviceID) {
		t.Helper()
		recordings := a.archive
		before := map[string]int{}
		for k, v := range to.heard {
			before[k] = v
		}
		for range 3 {
			for _, r := range recordings {
				if r.e.From != from {
					continue
				}
				if d, _ := a.arrive(to, r); len(d) > 0 {
					t.Fatalf("%s of %v ago was delivered as %v", name(r.e), a.now-r.made, d[0])
				}
				a.pass(7 * time.Millisecond)
			}
		}
		for k, v := range to.heard {
			if before[k] == 0 && v > 0 {
				t.Errorf("%s was delivered", k)
			}
		}
	}
	t.Run("to a receiver that heard them", func(t *testing.T) {
		a, alice, bob := setup()
		replay(t, a, bob, alice.id)
	})
	t.Run("to a receiver that restarted, the sender being away", func(t *testing.T) {
		a, alice, bob := setup()
		alice.g = nil
		a.start(bob)
		replay(t, a, bob, alice.id)
	})
	t.Run("to a receiver that restarted, the sender being there", func(t *testing.T) {
		a, alice, bob := setup()
		a.start(bob)
		a.pass(time.Second)
		replay(t, a, bob, alice.id)
		e := a.say(alice, round.Press{})
		a.pass(time.Second)
		if bob.heard[name(e)] != 1 {
			t.Error("after the recordings the living one is not heard")
		}
	})
	t.Run("to a receiver that restarts and hears them before the sender's proof", func(t *testing.T) {
		a, alice, bob := setup()
		a.start(bob)
		for _, r := range a.archive {
			if r.e.From == alice.id {
				if d, _ := a.arrive(bob, r); len(d) > 0 {
					t.Fatalf("%s was delivered", name(r.e))
				}
			}
		}
		a.pass(time.Second) // alice answers bob's hello meanwhile
		for k := range bob.heard {
			t.Errorf("%s was delivered", k)
		}
	})
	t.Run("of a session that was followed by another", func(t *testing.T) {
		a, alice, bob := setup()
		a.start(alice)
		a.pass(time.Second)
		replay(t, a, bob, alice.id)
	})
}

func TestWillCountsOnceAndOnlyForALivingSession(t *testing.T) {
	a := newAir(2)
	alice, bob := a.nodes[0], a.nodes[1]
	a.start(alice)
	a.start(bob)
	first := a.will(alice)
	a.pass(time.Second)
	for range windowBits + 10 {
		a.say(alice, round.Beat{})
	}
	a.pass(100 * time.Millisecond)
	deliver := func(e *Envelope) int {
		d, _ := a.arrive(bob, recorded{e, a.now})
		return len(d)
	}
	if n := deliver(first); n != 1 {
		t.Errorf("the will of a device that was there for long was delivered %d times; want 1", n)
	}
	if n := deliver(first); n != 0 {
		t.Error("the same will again was delivered")
	}
	a.start(alice)
	second := a.will(alice)
	if n := deliver(second); n != 0 {
		t.Error("the will of a session that has not shown that it lives was delivered")
	}
	a.pass(time.Second)
	if n := deliver(first); n != 0 {
		t.Error("the will of the session before was delivered")
	}
	if n := deliver(second); n != 1 {
		t.Error("the will of the present session was not delivered")
	}
}

func TestWhatWaitsForAProofIsBounded(t *testing.T) {
	a := newAir(2)
	alice, bob := a.nodes[0], a.nodes[1]
	a.start(bob)
	for s := range 3 * maxCandidates {
		for i := range 3 * maxHeld {
			e := &Envelope{From: alice.id, Session: fmt.Sprint("old", s), Seq: uint64(i + 2), Packet: round.Beat{}, Size: 1000}
			a.arrive(bob, recorded{e, a.now})
		}
	}
	p := bob.g.peers[alice.id]
	if len(p.candidates) != maxCandidates || len(p.owed) > maxCandidates+1 {
		t.Errorf("%d candidates, %d proofs owed; want %d and as many", len(p.candidates), len(p.owed), maxCandidates)
	}
	for _, s := range p.candidates {
		if len(s.held) > maxHeld || s.bytes > maxHeldBytes {
			t.Errorf("%d envelopes, %d bytes wait; want at most %d and %d", len(s.held), s.bytes, maxHeld, maxHeldBytes)
		}
	}
	if n := bob.g.expire(a.now - bob.skew + heldFor); n == 0 || len(p.candidates) != 0 {
		t.Errorf("%d given up, %d candidates left after %v", n, len(p.candidates), heldFor)
	}
	for i := range 2 * maxPeers {
		e := &Envelope{From: round.DeviceID(fmt.Sprint("stranger", i)), Session: "s", Seq: 2, Packet: round.Beat{}, Size: 10}
		a.arrive(bob, recorded{e, a.now})
	}
	if len(bob.g.peers) > maxPeers {
		t.Errorf("%d devices are kept in mind; want at most %d", len(bob.g.peers), maxPeers)
	}
}

// A proof that was made for us but came late, or was kept back, must not put out the session that followed.
func TestALateProofDoesNotPutOutALaterSession(t *testing.T) {
	a := newAir(2)
	alice, bob := a.nodes[0], a.nodes[1]
	a.start(bob)
	a.pass(time.Second)
	a.start(alice)
	for range 100 { // alice's second hello is her proof; it does not reach bob
		if alice.g.sent == 1 && len(alice.g.peers) > 0 {
			a.lose = func() bool { return true }
		}
		a.pass(time.Millisecond)
	}
	a.lose = func() bool { return false }
	var proofs []recorded
	for _, r := range a.archive {
		if r.e.From == alice.id && r.e.hello != nil && len(r.e.hello.Heard) > 0 {
			proofs = append(proofs, r)
		}
	}
	if len(proofs) == 0 || bob.g.peers[alice.id].live != nil {
		t.Fatal("this test keeps back no proof")
	}
	a.start(alice)
	a.pass(time.Second)
	for _, r := range proofs {
		a.arrive(bob, r)
	}
	a.pass(time.Second)
	if live := bob.g.peers[alice.id].live; live == nil || live.id != alice.g.session {
		t.Fatalf("bob believes %+v; want %s", live, alice.g.session)
	}
}

func TestWindow(t *testing.T) {
	for _, row := range []struct {
		name string
		took []uint64
		n    uint64
		want Reason
	}{
		{"the first", nil, 2, ""},
		{"the next", []uint64{2, 3}, 4, ""},
		{"the same again", []uint64{2, 3}, 3, ReasonRepeated},
		{"overtaken by one", []uint64{2, 4}, 3, ""},
		{"overtaken by a thousand", []uint64{1002}, 2, ""},
		{"overtaken, and again", []uint64{1002, 2}, 2, ReasonRepeated},
		{"at the edge", []uint64{windowBits + 1}, 2, ""},
		{"over the edge", []uint64{windowBits + 2}, 2, ReasonOld},
		{"a place used before, one window later", []uint64{5, windowBits + 4}, windowBits + 5, ""},
		{"a place skipped over, one window later", []uint64{5, 3 * windowBits}, 2*windowBits + 5, ""},
		{"zero", nil, 0, ReasonOld},
		{"the highest there is", []uint64{7}, 1<<64 - 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var w window
			for _, n := range row.took {
				if r := w.take(n); r != "" {
					t.Fatalf("take(%d) = %s", n, r)
				}
			}
			if got := w.take(row.n); got != row.want {
				t.Errorf("after %v, take(%d) = %q; want %q", row.took, row.n, got, row.want)
			}
		})
	}
	var w window
	w.start(100)
	if w.take(99) != ReasonOld || w.take(100) != "" {
		t.Error("start(100) must rule out 99 and not 100")
	}
}

// Whatever is lost, late or replayed, and whoever restarts: nothing is delivered twice, and nothing that was made before
// the receiver's session began. And when the air is calm again, everybody is heard.
func TestGuardUnderReplayLossAndRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAir(3)
		chance := rapid.IntRange(0, 99)
		loss := rapid.SampledFrom([]int{0, 10, 40}).Draw(t, "loss")
		slow := rapid.SampledFrom([]int{1, 30, 400}).Draw(t, "delay")
		a.lose = func() bool { return loss > 0 && chance.Draw(t, "lost") < loss }
		a.delay = func() time.Duration { return time.Duration(rapid.IntRange(1, slow).Draw(t, "ms")) * time.Millisecond }
		deliver := func(to *node, r recorded) {
			d, _ := a.arrive(to, r)
			for _, e := range d {
				if to.heard[name(e)] > 1 {
					t.Fatalf("%s got %s twice", to.id, name(e))
				}
				for _, r := range a.archive {
					if name(r.e) == name(e) && r.made < to.born {
						t.Fatalf("%s, there since %v, got %s of %v", to.id, to.born, name(e), r.made)
					}
				}
			}
		}
		for _, n := range a.nodes {
			a.start(n)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := a.nodes[rapid.IntRange(0, 2).Draw(t, "device")]
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				a.start(n)
			case 1, 2:
				a.say(n, round.Press{})
			case 3:
				if len(a.archive) > 0 {
					deliver(n, a.archive[rapid.IntRange(0, len(a.archive)-1).Draw(t, "recording")])
				}
			case 4:
				for _, r := range a.archive {
					if r.e.From != n.id {
						continue
					}
					for _, to := range a.nodes {
						if to != n {
							deliver(to, r)
						}
					}
				}
			case 5:
				a.steps(time.Duration(rapid.IntRange(1, 300).Draw(t, "pass"))*time.Millisecond, deliver)
			}
		}
		a.lose = func() bool { return false }
		a.delay = func() time.Duration { return time.Millisecond }
		for range 4 { // beats, one a second
			for _, n := range a.nodes {
				a.say(n, round.Beat{})
			}
			a.steps(time.Second, deliver)
		}
		for _, n := range a.nodes {
			e := a.say(n, round.Press{})
			a.steps(10*time.Millisecond, deliver)
			for _, to := range a.nodes {
				if to != n && to.heard[name(e)] != 1 {
					t.Fatalf("when all was calm, %s (%s) did not hear %s, and says %+v", to.id, to.g.session, name(e), to.g.peers[n.id])
				}
			}
		}
	})
}

// steps is pass with a check of each delivery.
func (a *air) steps(d time.Duration, deliver func(*node, recorded)) {
	for end := a.now + d; a.now < end; a.now += time.Millisecond {
		for _, n := range a.nodes {
			if h, seq, ok := n.g.hello(a.now - n.skew); ok {
				a.send(n, &Envelope{From: n.id, Session: n.g.session, Seq: seq, hello: h, Size: 200})
			}
		}
		var due []flight
		rest := a.flying[:0]
		for _, f := range a.flying {
			if f.at <= a.now {
				due = append(due, f)
			} else {
				rest = append(rest, f)
			}
		}
		a.flying = rest
		for _, f := range due {
			deliver(f.to, f.r)
		}
	}
}
