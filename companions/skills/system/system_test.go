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
		s := New(skills.Host{Missed: func(turn string, most int) ([]skills.Missed, int) {
			n := min(most, len(row.missed))
			return row.missed[:n], len(row.missed) - n
		}})
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

// The time elsewhere is that of the place, or it is said that it is not known: never the time here under another name.
func TestTheTimeElsewhere(t *testing.T) {
	now := time.Date(2026, 11, 27, 20, 56, 0, 0, time.UTC)
	for place, want := range map[string]string{
		"":                   "It is 8:56 PM on Friday, November 27, 2026.",
		"tokyo":              "In Tokyo it is 5:56 AM on Saturday, November 28, 2026.",
		"new york":           "In New York it is 3:56 PM on Friday, November 27, 2026.",
		"Europe/Berlin":      "In Europe/Berlin it is 9:56 PM on Friday, November 27, 2026.",
		"entenhausen":        "What time it is in Entenhausen is not known here.",
		"europe/../../hosts": "What time it is in Europe/../../hosts is not known here.",
		"indiana":            "What time it is in Indiana is not known here.",
	} {
		r, err := getTime(skills.Context{Now: func() time.Time { return now }}, fmt.Appendf(nil, `{"place":%q}`, place))
		if err != nil || r.Output != want {
			t.Errorf("%q: %q, %v; want %q", place, r.Output, err, want)
		}
	}
}
