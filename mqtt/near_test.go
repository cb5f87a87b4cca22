package mqtt

import (
	"fmt"
	"testing"
	"time"

	"conch/companions/round"
)

// By the second way only a member's press or confirmation is heard, of a session that has shown that it lives, and once.
func TestADatagramIsAMembersOwn(t *testing.T) {
	id := func() Identity {
		x, err := NewIdentity()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	self, member, stranger := id(), id(), id()
	c, err := NewClient(Config{URL: "mqtt://localhost", Room: "home", Identity: self, OnPacket: func(round.DeviceID, round.Packet) {},
		Member: func(d round.DeviceID) bool { return d != stranger.ID() }})
	if err != nil {
		t.Fatal(err)
	}
	l, live := &link{guard: newGuard(self.ID(), newSession(), 0)}, newSession()
	c.near.remember(l)
	l.guard.peers[member.ID()] = &peer{live: &session{id: live}}
	l.guard.peers[stranger.ID()] = &peer{live: &session{id: live}}
	press := func(d round.DeviceID) round.Press { return round.Press{Epoch: round.Epoch{N: 1, Device: d}} }
	age := time.Minute // of the sessions, by their devices
	said := func(by Identity, session string, seq uint64, p round.Packet) []byte {
		m, params, err := pack(by.id, p, extra{age: age.Milliseconds()})
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte(Topic("home", m.kind, by.id)+"\n"), seal("home", by, m, session, seq, params)...)
	}
	beats := func(d round.DeviceID) {
		l.guard.learn(c.now(), &Envelope{From: d, Session: live, age: age.Milliseconds()}, false)
	}
	beats(member.ID())
	beats(stranger.ID())
	hears := func(b []byte) bool {
		_, ok := c.openNearly(b, func() bool { return true })
		return ok
	}
	good := said(member, live, 5, press(member.ID()))
	forged := append([]byte{}, good...)
	forged[len(forged)-5] ^= 1
	for what, b := range map[string][]byte{
		"nothing": nil, "no topic": []byte("x"), "no envelope": []byte("conch/v1/home/floor/" + string(member.ID()) + "\n{}"), "forged": forged,
		"a stranger": said(stranger, live, 5, press(stranger.ID())), "a session that nobody knows": said(member, newSession(), 5, press(member.ID())),
		"a goodbye":         said(member, live, 6, round.Beat{Name: "hall", Left: true, Confirms: true}),
		"its cards":         said(member, live, 6, round.Beat{Name: "hall", Cards: []round.Card{}, Confirms: true}),
		"a mere beat":       said(member, live, 6, round.Beat{Name: "hall"}),
		"a control":         said(member, live, 6, round.Control{Mute: new(bool)}),
		"this device's own": said(self, live, 6, press(self.ID())),
	} {
		if hears(b) {
			t.Errorf("%s is heard", what)
		}
	}
	if !hears(good) {
		t.Error("a member's press is not heard")
	}
	if !hears(said(member, live, 6, round.Beat{Name: "hall", Confirms: true})) {
		t.Error("a member's confirmation is not heard")
	}
	if _, ok := c.openNearly(good, func() bool { return false }); ok {
		t.Error("more signatures are looked at than may be")
	}
	l.guard.peers[member.ID()].live.window.take(5)
	if hears(good) {
		t.Error("a recording is heard")
	}
	kept := said(member, live, 7, press(member.ID()))
	for _, later := range []time.Duration{nearLate - time.Second, time.Hour} {
		c.start, age = c.start.Add(-later), age+later
		if got := hears(kept); got != (later < nearLate) {
			t.Errorf("a press that was kept for %v and never delivered is heard: %v", later, got)
		}
		if !hears(said(member, live, 8, press(member.ID()))) {
			t.Errorf("a press is not heard %v after the last beat", later)
		}
	}
	age = 0
	if hears(said(member, live, 8, press(member.ID()))) {
		t.Error("a press without an age is heard")
	}
	c.meetNear(member.ID(), []string{"8.8.8.8:53", "kitchen.local:80", "10.0.0.7:0", "[2001:db8::1]:4000", "[fe80::1]:4000", "10.0.0.8:4000", "[fd00::8]:4000"})
	if at := c.near.at[member.ID()]; fmt.Sprint(at) != "[10.0.0.8:4000 [fd00::8]:4000]" {
		t.Errorf("datagrams go to %v; want the house's own addresses alone", at)
	}
}
