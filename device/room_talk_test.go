package device

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"conch/companions/talk"
)

// An order that fails with a panic does not keep the next ones from being carried out.
func TestAPanicInAnOrderHangsNothing(t *testing.T) {
	var log bytes.Buffer
	talks := &roomTalk{d: &Device{log: slog.New(slog.NewTextHandler(&log, nil)), now: since(time.Now())}} // there is no room to tell
	for range 2 {
		talks.post(talk.Announced{Turn: "t-1"})
	}
	if n := strings.Count(log.String(), logTalkPanic); n != 2 {
		t.Errorf("%d of 2 orders came: %s", n, log.String())
	}
}
