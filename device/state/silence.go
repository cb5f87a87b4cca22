package state

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"conch/audio"
)

// SilenceRow is the distribution for one state.
type SilenceRow struct {
	State string    `json:"state"`
	N     int       `json:"n"`
	Quiet int       `json:"already_quiet"` // presses at which nothing was audible any more: not counted in N
	P50   float64   `json:"p50_ms"`
	P95   float64   `json:"p95_ms"`
	P99   float64   `json:"p99_ms"`
	Max   float64   `json:"max_ms"`
	Raw   []float64 `json:"-"`
}

// Silence is one run of conch bench silence. It is kept in the state directory for doctor.
type Silence struct {
	When    time.Time          `json:"when"`
	Card    string             `json:"card"`
	Granted audio.Granted      `json:"granted"`
	Asked   audio.StreamConfig `json:"-"`
	Fade    float64            `json:"fade_ms"`
	Bound   float64            `json:"bound_ms"`
	Method  string             `json:"method"`
	Rows    []SilenceRow       `json:"rows"`
}

// SilenceFile is the name of the value, SilenceBudgetMS the promise (TURNS.md 2).
const (
	SilenceFile     = "silence"
	SilenceBudgetMS = 30
)

// Worst is the longest, and the longest p99 of a state, in ms.
func (r Silence) Worst() (worst, p99 float64) {
	for _, row := range r.Rows {
		worst, p99 = max(worst, row.Max), max(p99, row.P99)
	}
	return worst, p99
}

// Print writes the report for people.
func (r Silence) Print(w io.Writer) {
	bound := "(P+1)T+fade"
	if r.Granted.Rewinds() {
		bound = fmt.Sprintf("T+%d frames+fade", r.Granted.Margin+audio.RewindStep)
	}
	fmt.Fprintf(w, "%s (%s): granted %s; fade %.1f ms, bound %s = %.1f ms\n", r.Card, r.Granted.Backend, r.Granted.Buffer(r.Asked), r.Fade, bound, r.Bound)
	fmt.Fprintf(w, "  %-12s %5s %8s %8s %8s %8s\n", "state", "n", "p50 ms", "p95 ms", "p99 ms", "max ms")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "  %-12s %5d %8.1f %8.1f %8.1f %8.1f", row.State, row.N, row.P50, row.P95, row.P99, row.Max)
		if row.Quiet > 0 {
			fmt.Fprintf(w, "  (%d more found it quiet already)", row.Quiet)
		}
		fmt.Fprintln(w)
	}
}

// Fill counts Raw.
func (row *SilenceRow) Fill() {
	s := slices.Clone(row.Raw)
	slices.Sort(s)
	if row.N = len(s); row.N == 0 {
		return
	}
	at := func(q float64) float64 { return s[min(len(s)-1, int(math.Ceil(q*float64(len(s))))-1)] }
	row.P50, row.P95, row.P99, row.Max = at(.50), at(.95), at(.99), s[len(s)-1]
}
