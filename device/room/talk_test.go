package room

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/talk"
)

// An order that fails with a panic does not keep the next ones from being carried out.
func TestAPanicInAnOrderHangsNothing(t *testing.T) {
	var log bytes.Buffer
	d := &Driver{Room: &companions.Room{}, o: Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Duration { return 0 }}} // a room that cannot be told
	for range 2 {
		d.post(talk.Announced{Turn: "t-1"})
	}
	if n := strings.Count(log.String(), logTalkPanic); n != 2 {
		t.Errorf("%d of 2 orders came: %s", n, log.String())
	}
}
