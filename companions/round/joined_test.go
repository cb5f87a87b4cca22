package round

import "testing"

// TestAnExclusionHoldsForWhatIsJoined: what the same person says at once goes on with it (ROOM.md 4.1), in either order.
func TestAnExclusionHoldsForWhatIsJoined(t *testing.T) {
	for _, lines := range [][2]string{
		{"Anybody but Ada, please.", "How do I bake bread?"},
		{"How do I bake bread?", "Anybody but Ada, please."},
		{"Not you, Ada.", "How do I bake bread?"},
	} {
		c := meet(t).says(eva, lines[0])
		first := c.v.Message.ID
		c.says(eva, lines[1], func(m *Message) { m.Metadata.Joins = []MessageID{first} })
		if v := c.vote("ada"); v.State == StateSpeak || v.Layer != LayerForbidden {
			t.Errorf("%q, %q: Ada votes %+v", lines[0], lines[1], v)
		}
		if c.d.Winner == "ada" || c.d.Winner == "" {
			t.Errorf("%q, %q: %q answers\n%s", lines[0], lines[1], c.d.Winner, explain(c.d))
		}
	}
	for _, row := range []struct{ first, then, who string }{
		{"Nobody answer this.", "How do I bake bread?", ""},
		{"Nobody answer this.", "Ada, how do I bake bread?", "ada"},
		{"Anybody but Ada, please.", "No, Ada, how do I bake bread?", "ada"}, // she has thought better of it
	} {
		c := meet(t).says(eva, row.first)
		c.says(eva, row.then, func(m *Message) { m.Metadata.Joins = []MessageID{c.v.Message.ID} }).want(row.who)
	}
}
