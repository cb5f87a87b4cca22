package realtime

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"conch/coordinator/turn"
)

// What comes late of an answer is logged with the turn of that answer, also where that is over; an answer of nobody has none.
func TestALateDeltaIsLoggedWithItsTurn(t *testing.T) {
	for _, c := range []struct {
		name string
		late func(r *conversation)
		want string
	}{
		{"cancelled", func(r *conversation) { r.responses["resp_1"].cancelled = true }, "turn=t-1"},
		{"over", func(r *conversation) { r.over(r.responses["resp_1"]) }, "turn=t-1"},
		{"long over", func(r *conversation) {
			r.over(r.responses["resp_1"])
			for range maxPast {
				r.over(&response{id: "other", turn: "t-2"})
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, stop := bareRun(t)
			defer stop()
			var log bytes.Buffer
			r.log = slog.New(slog.NewTextHandler(&log, nil))
			r.responses["resp_1"] = &response{id: "resp_1", turn: turn.ID("t-1")}
			c.late(r)
			r.find("resp_1")
			if got := log.String(); !strings.Contains(got, "msg="+logStale) || !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "turn=") {
				t.Errorf("%q; want %s with %q", got, logStale, c.want)
			}
			if len(r.past) > maxPast {
				t.Errorf("%d answers that are over are kept; want at most %d", len(r.past), maxPast)
			}
		})
	}
}
