package device

import (
	"strings"
	"testing"

	"conch/companions/voice/rehearsal"
)

// Whoever looks at the box (status, light, doctor) learns what the voice lacks and what to do, and that it is over.
func TestTroubleOfTheVoiceIsACondition(t *testing.T) {
	t.Parallel()
	trouble := func(b *box, remedy string) {
		t.Helper()
		b.until("the condition", func() bool { return b.holds(voiceLost) })
		for _, c := range b.conds.list() {
			if c.Code == voiceLost && (!strings.Contains(c.Do, remedy) || c.Text == "") {
				t.Errorf("condition %+v; want a remedy with %q", c, remedy)
			}
		}
	}
	refused := newBox(t, boxOptions{offline: true, key: "another key"})
	trouble(refused, "valid key")

	b := newBox(t, boxOptions{})
	if b.holds(voiceLost) {
		t.Error("a voice that is there is a condition")
	}
	b.server.SetFaults(rehearsal.Faults{RateLimit: true})
	b.wires.cut()
	trouble(b, "")
	b.server.SetFaults(rehearsal.Faults{})
	b.until("its end", func() bool { return !b.holds(voiceLost) })
}
