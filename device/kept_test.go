package device

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/store"
)

// keeps is a box whose skill has kept something before it starts.
func keeps(t *testing.T, o boxOptions, skill, key, value string) *box {
	t.Helper()
	dir := t.TempDir()
	db := store.New(filepath.Join(dir, store.File), condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
	err := db.Skill(skill).Put("", map[string][]byte{key: []byte(value)})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	o.config, o.mind = func(c *config.Config) { c.State.Dir = dir }, rehearsal.Rules{}
	return newBox(t, o)
}

// rings says that an alert sounds: nothing is said, and nobody has asked for anything else.
func (b *box) rings() bool { return b.audible() && b.coordinator.State() == turn.Idle }

// stops presses on what rings, which begins no turn.
func (b *box) stops() {
	b.t.Helper()
	n := len(b.turnsEnded())
	b.pause(400 * time.Millisecond)
	before := b.seen.presses.Load()
	b.hand.Press()
	b.until("pressed", func() bool { return b.seen.presses.Load() > before })
	b.asked.Add(-1) // it begins no turn
	b.pause(200 * time.Millisecond)
	b.hand.Release()
	b.until("silent", func() bool { return !b.audible() })
	b.pause(2 * time.Second)
	if b.audible() || len(b.turnsEnded()) > n {
		b.t.Error("it rings on, or began a turn")
	}
}

func TestATimerIsOverInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{mind: rehearsal.Rules{}})
	if r := b.ask("set a timer for two seconds for the pasta"); !strings.Contains(r.Said, "The timer for the pasta is set: 2 seconds") {
		t.Fatalf("%+v", r)
	}
	r := b.nextTurn(func() {
		b.question("count to sixty")
		b.until("over", func() bool { return b.log.count("timer.rings") > 0 })
		if b.coordinator.State() != turn.InResponse {
			t.Errorf("in %s when it was over; want an answer", b.coordinator.State())
		}
	})
	if r.Reason != turn.Done.String() {
		t.Errorf("the answer ended as %s", r.Reason)
	}
	b.until("ringing behind it", b.rings)
	b.stops()
	if r := b.ask("which timers are there"); !strings.Contains(r.Said, "There is no timer") {
		t.Errorf("%q", r.Said)
	}
}

func TestATimerIsOverWithoutASession(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(2 * time.Second).Format(time.RFC3339Nano)
	b := keeps(t, boxOptions{offline: true}, "timers", "timer 00000007", `{"id":7,"name":"the pasta","length":600000000000,"due":"`+due+`"}`)
	b.until("ringing", b.rings)
	b.stops()
}

// It was due while the device was off.
func TestAReminderThatWasMissedIsTold(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(-time.Hour).Truncate(time.Second)
	b := keeps(t, boxOptions{}, "reminders", "reminder 00000007", fmt.Sprintf(`{"id":7,"text":"take your pills","start":%q,"due":%q}`,
		due.Format("2006-01-02T15:04:05"), due.Format(time.RFC3339)))
	b.asked.Add(1) // it is told in a turn of its own
	b.until("told", func() bool { return b.log.count("reminder.told") > 0 })
	b.quiet()
	if r := b.turnsEnded()[0]; !strings.Contains(r.Said, "was missed: take your pills") {
		t.Errorf("%+v", r)
	}
	if r := b.ask("done"); !strings.Contains(r.Said, "Noted, done: take your pills") {
		t.Errorf("%q", r.Said)
	}
	if r := b.ask("what are my reminders"); !strings.Contains(r.Said, "There is no reminder") {
		t.Errorf("%q", r.Said)
	}
}
