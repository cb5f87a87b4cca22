package vm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPowerCut takes the power away ten times, while it talks and writes. What had been confirmed must be there: the volume
// that an answer said was set, and the question that was answered. And it must start each time.
func TestPowerCut(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	for i := range 10 {
		percent := 20 + 5*i
		b.volume(percent) // returns when it is answered
		before := b.talk()
		mark := fmt.Sprintf("set the volume to %d", percent)
		if !strings.Contains(before, mark) {
			t.Errorf("cycle %d: %q was answered and is not in the conversation on the disk: %s", i, mark, before)
		}
		// More is being said and written at the moment of the cut.
		if _, err := b.Begin("while :; do conch ask what time is it; done >/dev/null 2>&1"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Begin("conch ask tell me a story >/dev/null 2>&1"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(400+i*170) * time.Millisecond)
		b.Cut()
		ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
		err := b.PowerOn(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		b.active(2 * time.Minute)
		if now := b.volumeNow(); now != percent {
			t.Errorf("cycle %d: the volume is %d %%; %d were confirmed before the power went", i, now, percent)
		}
		if after := b.talk(); !strings.Contains(after, mark) {
			t.Errorf("cycle %d: %q was answered before the power went and is forgotten: %s", i, mark, after)
		}
		if out := b.run("find /var/lib/conch -name '*.broken' -o -name '*.tmp'"); out != "" {
			t.Errorf("cycle %d: left behind: %s", i, out)
		}
		b.well(2 * time.Minute)
	}
}

// talk is the conversation on the disk.
func (b *box) talk() string {
	b.t.Helper()
	return b.run("cat /var/lib/conch/talk-*.json")
}
