package companions

import "testing"

func TestDefaultCardsLoad(t *testing.T) {
	cards := DefaultCards()
	voices := map[string]bool{}
	for _, c := range cards {
		t.Logf("%s\n", c.Instructions(RoomContext{Place: "kitchen", Others: []Other{{Name: "Ben", Role: "the reader", Place: "bedroom"}}}))
		if c.Voice == "" || voices[c.Voice] {
			t.Errorf("%s has voice %q, which is not its own", c.ID, c.Voice)
		}
		voices[c.Voice] = true
	}
	if len(cards) != 3 {
		t.Errorf("%d cards; want 3", len(cards))
	}
}
