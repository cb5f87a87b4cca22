package printable

import "testing"

func TestNamesThatAreAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Kitchen", "kitchen", true}, {"Küche", "KÜCHE", true}, {"Küche", "Ku\u0308che", true}, {"Küche", "Kuche", false},
		{"Living room", "living-room", true}, {"Living  room", "living_room", true}, {"Living room", "livingroom", false}, {"-", "", true},
		{"room", "r\u043eom", true}, {"KOMHATA", "комната", true}, {"Τ", "T", true}, {"厨房", "厨房", true}, {"厨房", "浴室", false},
		{"ｋｉｔｃｈｅｎ", "kitchen", true}, {"Room 1", "Room １", true}, {"Room 1", "Room 2", false}, {"Straße", "Strasse", false},
	} {
		if got := Key(c.a) == Key(c.b); got != c.same {
			t.Errorf("%q and %q: alike is %v; want %v (%q, %q)", c.a, c.b, got, c.same, Key(c.a), Key(c.b))
		}
	}
	for _, s := range []string{"Küche", "Living room", "厨房", "ΑΒΓ", "İstanbul", "ǅ"} {
		if Key(Key(s)) != Key(s) {
			t.Errorf("the key of %q is %q, and its key %q", s, Key(s), Key(Key(s)))
		}
	}
}

func TestFind(t *testing.T) {
	names := []string{"Küche", "Kuche 2", "厨房", "Living room", "José", "Josè"}
	for want, i := range map[string]int{"küche": 0, "kuche": 0, "kuche 2": 1, "厨房": 2, "living-room": 3, "jose": -1, "josé": 4, "attic": -1, "": -1} {
		if got := Find(names, want); got != i {
			t.Errorf("%q is %d; want %d", want, got, i)
		}
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "kitchen": 7, "Küche": 5, "Ku\u0308che": 5, "厨房": 4, "👩‍🍳": 2, "ｋ": 2} {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns; want %d", s, got, want)
		}
		if got := Width(Pad(s, 9)); got != 9 {
			t.Errorf("%q is padded to %d", s, got)
		}
	}
}
