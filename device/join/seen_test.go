package join

import (
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt/membership"
)

// A member was here last when it was heard last, not when it was paired.
func TestSeenIsWhenAMemberWasHeard(t *testing.T) {
	paired := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := &Link{}
	l.heard.Store(round.DeviceID("kitchen"), paired.Add(time.Hour))
	l.heard.Store(round.DeviceID("hall"), paired.Add(-time.Hour)) // its clock was behind
	for id, want := range map[round.DeviceID]time.Time{"kitchen": paired.Add(time.Hour), "bath": paired, "hall": paired} {
		if got := l.seen(membership.Member{ID: id, Seen: paired}); !got.Equal(want) {
			t.Errorf("%s: seen %s; want %s", id, got, want)
		}
	}
}
