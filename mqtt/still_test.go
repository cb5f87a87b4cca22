package mqtt

import (
	"testing"
	"time"
)

// What waits to be sent does not grow old while nobody could send it.
func TestWhatWaitsGrowsNoOlderWhileTheProcessStandsStill(t *testing.T) {
	var w wakeful
	for _, row := range []struct{ now, want time.Duration }{
		{0, 0},
		{witness, witness},
		{2*witness + Lateness, 2*witness + Lateness},
		{2*witness + Lateness + 10*time.Second, 3*witness + Lateness}, // it stood for nine
		{2*witness + Lateness + 10*time.Second, 3*witness + Lateness}, // whoever reads second sees the same
		{2*witness + Lateness + 11*time.Second, 4*witness + Lateness},
	} {
		if got := w.at(row.now); got != row.want {
			t.Errorf("at %v it shows %v; want %v", row.now, got, row.want)
		}
	}
}
