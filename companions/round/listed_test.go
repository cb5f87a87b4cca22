package round

import (
	"strings"
	"testing"
	"time"
)

// A device is called what the list of members says, whatever its beats say, and a name of the list is nobody else's.
func TestDevicesAreCalledAsListed(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, LinkChanged{Up: true})
	name := func(d DeviceID) string { return m.nameOf(d) }
	m, _ = Step(m, from("c", beatOf("hall", "cleo")))
	if got := name("c"); got != "hall" {
		t.Errorf("without a list it is called %q, not as it says", got)
	}
	m, _ = Step(m, MembersListed{At: time.Second, Members: []Listed{{"c", "cellar"}, {"b", "bath"}}})
	m, _ = Step(m, from("c", beatOf("bath", "cleo")))
	m, _ = Step(m, from("x", beatOf("Cellar", "eve")))
	for d, want := range map[DeviceID]string{"c": "cellar", "b": "bath", "x": "x"} {
		if got := name(d); got != want {
			t.Errorf("%s is called %q; want %q", d, got, want)
		}
	}
	for _, x := range m.Members() {
		version := 1 // beats that do not say so
		if x.Device == "b" {
			version = Version
		}
		if x.Name != name(x.Device) || x.Version != version {
			t.Errorf("Members has %+v", x)
		}
	}
	for _, c := range []struct{ a, b DeviceID }{{"c", "b"}, {"b", "a"}, {"a", "x"}} {
		if !m.listed.senior(c.a, c.b) || m.listed.senior(c.b, c.a) {
			t.Errorf("%s has been a member for longer than %s", c.a, c.b)
		}
	}
}

// A device may press before its first beat has come: it has the list's name all the same.
func TestADeviceThatHasNotBeatIsCalledByTheList(t *testing.T) {
	m := New(Config{Self: "b"})
	m, _ = Step(m, LinkChanged{At: time.Second, Up: true})
	m, _ = Step(m, MembersListed{At: time.Second, Members: []Listed{{"c", "cellar"}, {"b", "bath"}}})
	_, out := Step(m, Received{At: 2 * time.Second, From: "c", Packet: Press{Epoch: Epoch{1, "c"}}})
	for _, e := range out {
		if h, ok := e.(Hush); ok && strings.Contains(h.Why, "cellar") {
			return
		}
	}
	t.Errorf("a press of the cellar makes %+v; want a hush that names it", out)
}

// A name that two others bear as well goes to the longest member of the three, whichever of them this device looks at first.
func TestANameOfThree(t *testing.T) {
	m := New(tableConfig())
	m, _ = Step(m, MembersListed{Members: []Listed{{"c", "cellar"}, {"b", "bath"}, {"a", "attic"}}})
	m, _ = Step(m, LinkChanged{Up: true})
	m, _ = Step(m, from("a", beatOf("attic", "ben")))
	m, _ = Step(m, from("c", beatOf("cellar", "ben")))
	m, _ = Step(m, Tick{At: m.cfg.Join})
	if id := m.cards[0].ID; id != "ben-2" || !m.livesThere("ben", "c") || m.livesThere("ben", "a") {
		t.Errorf("here lives %s; elsewhere %+v", id, m.members)
	}
}
