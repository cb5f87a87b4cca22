package device

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/coordinator/turn"
)

// What the machine went through is in the log, at debug, and in the recorder: from which state to which, by what, in which turn.
func TestTheMachinesWayIsInTheLogAndTheRecorder(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.question("long")
	b.until("speaking", b.Speaking)
	b.talk(300 * time.Millisecond)
	b.until("both turns' end", func() bool { return len(b.turnsEnded()) == 2 })
	b.quiet()
	asked, pressed := b.turnsEnded()[0].Turn, b.turnsEnded()[1].Turn
	var want []string
	for _, w := range []struct {
		id           turn.ID
		from, to, by string
	}{
		{asked, "IDLE", "COMMITTING", "Asked"},
		{asked, "COMMITTING", "IN_RESPONSE", "DeltaArrived"},
		{asked, "IN_RESPONSE", "INTERRUPTED", "Pressed"},
		{pressed, "INTERRUPTED", "LISTENING", "Pressed"},
		{pressed, "LISTENING", "COMMITTING", "Released"},
		{pressed, "COMMITTING", "IN_RESPONSE", "DeltaArrived"},
		{pressed, "IN_RESPONSE", "APPLYING_FACTORIES", "SpeechDrained"},
		{pressed, "APPLYING_FACTORIES", "IDLE", "SpeechDrained"},
	} {
		want = append(want, fmt.Sprintf("turn=%s from=%s to=%s by=%s", w.id, w.from, w.to, w.by))
	}
	var logged, kept []string
	for line := range strings.Lines(b.log.text()) {
		if _, way, ok := strings.Cut(line, " turn.state "); ok {
			logged = append(logged, strings.TrimSpace(way))
		}
	}
	for _, l := range b.coordinator.Recent() {
		if l.Name == "Transition" {
			kept = append(kept, l.Text)
			if s := l.String(); !strings.Contains(s, " == ") {
				t.Errorf("the recorder shows %q; want it marked ==, as in the scripts of package turn", s)
			}
		}
	}
	if !slices.Equal(logged, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(logged, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(kept, want) {
		t.Errorf("the recorder has\n%s\nwant\n%s", strings.Join(kept, "\n"), strings.Join(want, "\n"))
	}
}
