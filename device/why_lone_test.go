package device

import (
	"testing"

	roomskill "conch/companions/skills/room"

	"conch/companions/skills"
)

// Whoever is alone is asked why it spoke, too: it knows from its own turns.
func TestALoneCompanionTellsWhyItSpoke(t *testing.T) {
	b := newBox(t, boxOptions{})
	b.asked.Add(1)
	if _, err := b.room.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	skill := roomskill.New(b.Device.skillHost("room"))
	if skill == nil {
		t.Fatal("nothing can tell why it spoke")
	}
	const want = "Ada spoke after a person said “hello”: it is the only companion here."
	if r, err := skill.Tools()[0].Handler(skills.Context{Companion: "ada"}, nil); err != nil || r.Output != want {
		t.Errorf("%q, %v; want %q", r.Output, err, want)
	}
}
