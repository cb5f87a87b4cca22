package round

import (
	"slices"
	"testing"
)

// A press that asks is confirmed by the device that it has silenced, as the presser numbers it; one that does not count is not.
func TestAPressThatAsksIsConfirmed(t *testing.T) {
	confirmed := func(out []Effect, e Epoch) bool {
		return slices.ContainsFunc(out, func(x Effect) bool {
			s, ok := x.(Send)
			b, beat := s.Packet.(Beat)
			return ok && beat && b.Silenced == e
		})
	}
	at := func(m Machine, p Packet) (Machine, []Effect) {
		return Step(m, Received{At: m.now, From: "a", Packet: p})
	}
	began := func() Machine {
		m, _ := Step(New(Config{Self: "b", Name: "bed"}), LinkChanged{Up: true})
		m, _ = at(m, Beat{Name: "hall", Version: Version, Epoch: Epoch{1, "a"}})
		return m
	}
	near, far := Epoch{3, "a"}, Epoch{1 << 20, "a"}
	for _, e := range []Epoch{near, far} {
		m, out := at(began(), Press{Epoch: e, Ask: true})
		if !confirmed(out, e) {
			t.Errorf("%v: not confirmed: %+v", e, out)
		}
		if _, out = at(m, Press{Epoch: e, Ask: true}); !confirmed(out, e) {
			t.Errorf("%v, once more: not confirmed", e)
		}
		if _, out = at(began(), Press{Epoch: e}); confirmed(out, e) {
			t.Errorf("%v: confirmed at once, and it did not ask", e)
		}
	}
	if _, out := at(began(), Press{Epoch: Epoch{3, "c"}, Ask: true}); confirmed(out, Epoch{3, "c"}) {
		t.Error("a press in another's name was confirmed")
	}
}
