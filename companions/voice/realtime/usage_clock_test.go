package realtime

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"conch/companions/voice"
)

// A ceiling that was reached stays reached when the clock is not right yet, and gives way when it is and the day is another.
func TestUsageWithAClockThatIsNotRightYet(t *testing.T) {
	saved, err := json.Marshal(map[string]any{"day": "2026-11-21", "today": voice.Counts{TextOut: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		start, then string // the wall
		before      int64  // tokens of the day at the start
		after       int64  // and once the clock is right
		day         string // then
	}{
		{"right from the start", "2026-11-21", "2026-11-21", 1000, 1000, "2026-11-21"},
		{"the next day", "2026-11-22", "2026-11-22", 0, 0, "2026-11-22"},
		{"1970, then the same day", "1970-01-01", "2026-11-21", 1000, 1000, "2026-11-21"},
		{"1970, then the next day", "1970-01-01", "2026-11-22", 1000, 0, "2026-11-22"},
		{"the last shutdown but one, then the same day", "2026-11-20", "2026-11-21", 1000, 1000, "2026-11-21"},
		{"a clock that had been far ahead is right now", "2026-05-01", "2026-05-02", 0, 0, "2026-05-02"},
	} {
		wall := func(s string) time.Time {
			at, err := time.Parse(time.DateOnly, s)
			if err != nil {
				t.Fatal(err)
			}
			return at.Add(12 * time.Hour)
		}
		now := wall(c.start)
		client, err := New(Config{URL: "ws://127.0.0.1/", Log: slog.New(slog.DiscardHandler), Wall: func() time.Time { return now },
			Load: func() ([]byte, error) { return saved, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.Usage().Today.Tokens(); got != c.before {
			t.Errorf("%s: %d tokens at the start; want %d", c.name, got, c.before)
		}
		now = wall(c.then)
		if u := client.Usage(); u.Today.Tokens() != c.after || u.Day != c.day {
			t.Errorf("%s: then %d tokens of %s; want %d of %s", c.name, u.Today.Tokens(), u.Day, c.after, c.day)
		}
	}
}
