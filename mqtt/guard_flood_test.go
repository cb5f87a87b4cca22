package mqtt

import (
	"fmt"
	"testing"
	"time"

	"conch/companions/round"
)

// A member that opens session after session, or asks for proof after proof, makes the others say little, and costs a newcomer nothing.
func TestOneMembersHellosDoNotMakeAllAnswerWithoutEnd(t *testing.T) {
	const seconds = 20
	for name, say := range map[string]func(a *air, bad, good *node, i int) *Envelope{
		"session after session": func(_ *air, bad, _ *node, i int) *Envelope {
			return &Envelope{From: bad.id, Session: fmt.Sprint("s", i), Seq: 2, hello: &hello{}, Size: 200}
		},
		"a word in each": func(_ *air, bad, _ *node, i int) *Envelope {
			return &Envelope{From: bad.id, Session: fmt.Sprint("s", i), Seq: 2, Packet: round.Beat{}, Size: 200}
		},
		"proof after proof": func(_ *air, bad, good *node, _ int) *Envelope {
			return &Envelope{From: bad.id, Session: bad.g.session, Seq: bad.g.seq(), hello: &hello{Prove: []round.DeviceID{good.id}}, Size: 200}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAir(5)
			good, bad, young := a.nodes[0], a.nodes[3], a.nodes[4]
			for _, n := range a.nodes[:4] {
				a.start(n)
			}
			a.pass(5 * time.Second)
			for _, n := range a.nodes {
				n.hellos = 0
			}
			in, slowest := 0, time.Duration(0)
			for i := range seconds * 1000 {
				if i%5 == 0 {
					in++
					a.send(bad, say(a, bad, good, i))
				}
				if i%4000 == 2500 { // somebody else comes back
					a.start(young)
					for from := a.now; good.g.peers[young.id] == nil || !good.g.believes(young.id, young.g.session); a.pass(time.Millisecond) {
						slowest = max(slowest, a.now+time.Millisecond-from)
						if slowest > 10*time.Second {
							t.Fatal("a newcomer is not believed")
						}
					}
				}
				a.pass(time.Millisecond)
			}
			young.hellos = 0
			out := 0
			for _, n := range a.nodes[:3] {
				out += n.hellos
			}
			t.Logf("%d envelopes in, %d hellos out of three devices (%.3f each), of which the newcomer's 5 connections need some; it was believed within %v", in, out, float64(out)/3/float64(in), slowest)
			if most := 3 * (5*2 + helloSpare + int(seconds*time.Second/helloEvery)); out > most {
				t.Errorf("%d envelopes made three devices send %d hellos; want at most %d", in, out, most)
			}
			if slowest > 100*time.Millisecond {
				t.Errorf("a newcomer was believed after %v", slowest)
			}
		})
	}
}

// What waits for proofs is bounded in all, and it is whoever has most there that pays: one that has little keeps it.
func TestWhatWaitsForProofsIsBoundedInAll(t *testing.T) {
	a := newAir(1)
	bob := a.nodes[0]
	a.start(bob)
	say := func(from round.DeviceID, session string, seq, size int) {
		a.arrive(bob, recorded{&Envelope{From: from, Session: session, Seq: uint64(seq), Packet: round.Beat{}, Size: size}, a.now})
	}
	sum := func() (n int) {
		for _, p := range bob.g.peers {
			held := 0
			for _, s := range p.candidates {
				held += s.bytes
			}
			if held != p.held {
				t.Fatalf("%d bytes wait; counted are %d", held, p.held)
			}
			n += held
		}
		if n != bob.g.held {
			t.Fatalf("%d bytes wait; counted are %d", n, bob.g.held)
		}
		return n
	}
	say("good", "g", 2, 1000)
	most := 0
	for d := range maxPeers - 1 {
		for s := range maxCandidates + 1 {
			for i := range maxHeld {
				say(round.DeviceID(fmt.Sprint("bad", d)), fmt.Sprint(s), i+2, 60<<10)
			}
		}
		most = max(most, sum())
	}
	t.Logf("at most %d KiB wait", most>>10)
	if most > maxHeldAll {
		t.Errorf("%d bytes wait; want at most %d", most, maxHeldAll)
	}
	if p := bob.g.peers["good"]; p.held != 1000 {
		t.Errorf("of a modest one %d bytes wait; want all 1000", p.held)
	}
	bob.g.expire(a.now - bob.skew + heldFor)
	if n := sum(); n != 0 {
		t.Errorf("%d bytes wait when all is given up", n)
	}
}
