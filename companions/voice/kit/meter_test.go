package kit

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"conch/companions/voice"
)

// metered is a meter with a day that was kept, and what it keeps.
func metered(t *testing.T, of Metering, kept string) (*Meter, *[]byte) {
	t.Helper()
	saved := []byte(kept)
	of.Load = func() ([]byte, error) { return saved, nil }
	of.Save = func(b []byte) error { saved = b; return nil }
	of.Wall = func() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }
	if of.Log == nil {
		of.Log = slog.New(slog.DiscardHandler)
	}
	m, err := NewMeter(of)
	if err != nil {
		t.Fatal(err)
	}
	return m, &saved
}

// A server that reports absurd numbers reaches the ceiling, and does not go around it. A file can keep the day.
func TestAnAbsurdReportReachesTheCeiling(t *testing.T) {
	p := voice.Prices{TextIn: 4, TranscriptionMinute: 1}
	m, saved := metered(t, Metering{Prices: p, Ceiling: Ceiling{Tokens: 100, Cost: 1}}, "")
	huge := voice.Counts{TextIn: math.MaxInt64, TextOut: math.MaxInt64, Cost: p.Of(voice.Counts{TextIn: math.MaxInt64})}
	m.Count("t-1", huge)
	m.Count("t-2", p.Hearing(math.MaxFloat64))
	if m.Refuses() == "" {
		t.Errorf("it goes on with %+v", m.Usage().Today)
	}
	if err := m.keep(); err != nil {
		t.Error(err)
	}
	again, _ := metered(t, Metering{Ceiling: Ceiling{Tokens: 100}}, string(*saved))
	if again.Refuses() == "" {
		t.Errorf("a restart lifts it: kept was %s", *saved)
	}
}

// A file with negative numbers is no credit.
func TestAKeptDayIsNoCredit(t *testing.T) {
	m, _ := metered(t, Metering{Ceiling: Ceiling{Cost: 1}}, `{"day":"2026-11-28","today":{"text_in":-500,"cost":-20}}`)
	m.Count("t", voice.Counts{Cost: 1})
	if why := m.Refuses(); !strings.Contains(why, "1.00 of 1.00") {
		t.Errorf("refuses: %q, used %+v", why, m.Usage().Today)
	}
}

// Votes of a cheap model, or of one at home, do not cost what sound of the voice's model does.
func TestVotesHaveTheirOwnPrice(t *testing.T) {
	for name, row := range map[string]struct {
		prices *voice.Prices
		want   float64
	}{"its own": {&voice.Prices{TextIn: 0.1, TextOut: 0.5}, 0.6}, "at home": {&voice.Prices{}, 0}, "not known": {nil, 28}} {
		m, _ := metered(t, Metering{Prices: voice.Prices{TextIn: 4, TextOut: 24}}, "")
		m.Spent(voice.Counts{Votes: 1, TextIn: 1e6, TextOut: 1e6}, row.prices)
		if u := m.Usage().Today; math.Abs(u.Cost-row.want) > 1e-9 || u.Votes != 1 || u.Tokens() != 2e6 {
			t.Errorf("%s: %+v; want %v", name, u, row.want)
		}
	}
}
