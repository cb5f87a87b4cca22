package light

import (
	"testing"
	"time"
)

func TestQuietHours(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatalf("no time zones on this machine (tzdata): %v", err)
	}
	at := func(s string) time.Time {
		when, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return when.In(berlin)
	}
	const h = time.Hour
	night, noon := Hours{22 * h, 7 * h}, Hours{13 * h, 14*h + 30*time.Minute}
	for _, c := range []struct {
		hours Hours
		when  string
		want  bool
	}{
		{night, "2026-11-21T21:59:59+01:00", false},
		{night, "2026-11-21T22:00:00+01:00", true},
		{night, "2026-11-22T06:59:59+01:00", true},
		{night, "2026-11-22T07:00:00+01:00", false},
		{noon, "2026-11-22T14:29:00+01:00", true},
		{noon, "2026-11-22T12:59:00+01:00", false},
		{Hours{}, "2026-11-22T00:00:00+01:00", false},
		{Hours{3 * h, 3 * h}, "2026-11-22T03:00:00+01:00", false},
		// Summer time begins: 2:00 becomes 3:00, and what begins in the hour there is not has begun.
		{Hours{2*h + 30*time.Minute, 6 * h}, "2026-03-29T00:59:59Z", false}, // 1:59:59
		{Hours{2*h + 30*time.Minute, 6 * h}, "2026-03-29T01:00:00Z", true},  // 3:00:00
		// It ends: the hour from 2:00 to 3:00 comes twice, and both are in it.
		{Hours{2 * h, 3 * h}, "2026-10-25T00:30:00Z", true},
		{Hours{2 * h, 3 * h}, "2026-10-25T01:30:00Z", true},
		{Hours{2 * h, 3 * h}, "2026-10-25T02:00:00Z", false},
		// A clock that has not been set says midnight, or whenever the image was made.
		{night, "1970-01-01T02:00:00Z", false},
	} {
		if got := c.hours.Contain(at(c.when)); got != c.want {
			t.Errorf("%s in %v: %v; want %v", c.when, c.hours, got, c.want)
		}
	}
}

func TestQuietIsNeverBrighter(t *testing.T) {
	s := Settings{Brightness: 0.1, Quiet: Hours{0, 24 * time.Hour}, Dimmed: 0.5}
	if got := s.at(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)); got != 0.1 {
		t.Errorf("brightness %g in quiet hours; want 0.1, the lower of the two", got)
	}
}
