package system

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"conch/companions/skills"
)

// What was missed is told with its time and the reason, the newest first, and no more than can be listened to.
func TestWhatWasMissedIsTold(t *testing.T) {
	now := time.Date(2026, 11, 27, 8, 30, 0, 0, time.UTC)
	var all []skills.Missed
	for i := range 7 {
		all = append(all, skills.Missed{At: now.Add(-time.Duration(i) * 90 * time.Minute), Text: fmt.Sprint("take pill ", i, "."), Why: skills.OutcomeUnheard})
	}
	for _, row := range []struct {
		missed []skills.Missed
		want   string
	}{
		{nil, "Nothing was missed in the last day."},
		{all[:1], "at 08:30, take pill 0, which was silenced twice."},
		{[]skills.Missed{{At: now.Add(-10 * time.Hour), Text: "the pasta", Why: skills.OutcomeUnanswered}}, "yesterday at 22:30, the pasta, which rang, and nobody pressed."},
		{all, "take pill 4, which was silenced twice; and 2 others."},
	} {
		s := New(skills.Host{Missed: func() []skills.Missed { return row.missed }})
		for _, tool := range s.Tools() {
			if tool.Name != "list_missed" {
				continue
			}
			r, err := tool.Handler(skills.Context{Now: func() time.Time { return now }}, nil)
			if err != nil || !strings.HasSuffix(r.Output, row.want) {
				t.Errorf("told %q, %v; want %q", r.Output, err, row.want)
			}
		}
	}
	for _, tool := range New(skills.Host{}).Tools() {
		if tool.Name == "list_missed" || tool.Name == "mute" {
			t.Errorf("there is %s, and nothing to ask", tool.Name)
		}
	}
	for how := range why {
		if why[how] == "" {
			t.Errorf("no words for %s", how)
		}
	}
}
