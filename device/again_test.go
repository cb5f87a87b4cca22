package device

import (
	"strings"
	"testing"
	"time"

	"conch/companions/skills"
	"conch/device/config"
)

// double presses twice, for so long each, and says whether it was in time: a hand that the machine holds up presses for longer.
func (b *box) double(held time.Duration) (inTime bool) {
	const late = 20 * time.Millisecond
	inTime = true
	for range 2 {
		began := time.Now()
		b.taps(held)
		inTime = inTime && time.Since(began) < held+late
		b.pause(80 * time.Millisecond)
	}
	return inTime
}

// A double press says the last answer again, without asking anybody, however little or much of the two was recorded; in tap mode it is two
// taps.
func TestADoublePressSaysTheLastAnswerAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		on   bool
		held time.Duration
	}{{true, 60 * time.Millisecond}, {true, 150 * time.Millisecond}, {false, 60 * time.Millisecond}} {
		answered := func() *box {
			b := newBox(t, boxOptions{config: func(c *config.Config) { c.Button.Again = row.on }})
			b.answered(b.ask("short"))
			return b
		}
		b := answered()
		for n := 1; !b.double(row.held); n++ {
			if n == 10 {
				t.Fatal("ten double presses were held up by the machine")
			}
			b.quiet()
			b = answered()
		}
		b.until("both presses have ended", func() bool { return len(b.turnsEnded()) == 3 })
		said := func() bool { return strings.Contains(b.log.text(), "key=again outcome=delivered") }
		if row.on {
			b.until("it was said again", said)
		} else {
			b.pause(3 * time.Second)
		}
		if said() != row.on {
			t.Errorf("button.again %t: said again %t", row.on, said())
		}
		for _, r := range b.turnsEnded()[1:] {
			if r.Reason != "too_short" && r.Reason != "interrupted" {
				t.Errorf("held for %v, a press ended as %s", row.held, r.Reason)
			}
		}
		b.fine()
	}
}

// Who hammers at an alert wants it to end, and no more.
func TestADoublePressOnAnAlertSaysNothingAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.answered(b.ask("short"))
	b.skillHost("test").Ring(skills.Alert{})
	b.until("ringing", b.audible)
	b.pause(500 * time.Millisecond)
	b.double(60 * time.Millisecond)
	b.asked.Add(-1)
	b.until("both presses have ended", func() bool { return len(b.turnsEnded()) == 2 })
	b.pause(time.Second)
	if strings.Contains(b.log.text(), "turn.again") {
		t.Error("the last answer was said again")
	}
}
