package round

import (
	"testing"
	"time"
)

// A voice that cannot get ready while another companion speaks is asked again when the floor is free, and not before: it may
// fail at once, every time.
func TestGettingReadyEarlyIsTriedOnce(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Self, cfg.Name, cfg.Cards = "kitchen", "kitchen", []Card{{ID: "ada", Name: "Ada"}, {ID: "ben", Name: "Ben"}}
	m := New(cfg)
	prepared := map[CompanionID]int{}
	var last Prepare
	now := time.Second
	feed := func(ev Event) {
		var out []Effect
		m, out = Step(m, ev)
		for _, e := range out {
			if p, ok := e.(Prepare); ok {
				prepared[p.Companion]++
				last = p
			}
		}
	}
	feed(Said{At: now, ID: "m1", Turn: "t1", Text: "Ada and Ben, what is one plus one?"})
	ada := last
	if ada.Companion != "ada" {
		t.Fatalf("%q is to get ready first, want ada", ada.Companion)
	}
	feed(SpeechBegan{At: now, Place: ada.Place, Companion: "ada"})
	feed(SpeechKnown{At: now, Place: ada.Place, Companion: "ada", ID: "m2", Text: "Two.", Left: time.Second})
	feed(Tick{At: now + time.Millisecond, ID: "x1"})
	if prepared["ben"] != 1 {
		t.Fatalf("ben got ready %d times while ada speaks, want once", prepared["ben"])
	}
	ben := last
	for i := range 20 {
		feed(SpeechEnded{At: now + time.Duration(2+i)*time.Millisecond, Place: ben.Place, Companion: "ben", Why: "its voice has no connection"})
		feed(Tick{At: now + time.Duration(2+i)*time.Millisecond, ID: "x2"})
	}
	if prepared["ben"] != 1 {
		t.Errorf("ben was asked to get ready %d times although that had failed, want once", prepared["ben"])
	}
	feed(SpeechEnded{At: now + time.Second, Place: ada.Place, Companion: "ada", OK: true, Heard: time.Second, Text: "Two."})
	if prepared["ben"] != 2 {
		t.Errorf("with the floor free, ben got ready %d times in all, want twice", prepared["ben"])
	}
}
