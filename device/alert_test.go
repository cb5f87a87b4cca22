package device

import (
	"context"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/round"
	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/gpio"
)

// A skill's alert on a whole device: it rings offline and with the microphone off, and a press ends it within what a press may take,
// and begins nothing.
func TestASkillsAlertRingsUntilAPress(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]boxOptions{"with a session": {}, "offline": {offline: true}} {
		for _, muted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newBox(t, o)
				if muted {
					if err := b.sound.SetMuted(true); err != nil {
						t.Fatal(err)
					}
				}
				ended := make(chan skills.Ended, 2)
				host := b.skillHost("test")
				stop := host.Ring(skills.Alert{Text: "the pasta", Ended: func(how skills.Ended) { ended <- how }})
				b.until("ringing", b.audible)
				b.pause(400 * time.Millisecond)
				before := b.seen.presses.Load()
				b.hand.Press()
				b.until("pressed", func() bool { return b.seen.presses.Load() > before })
				b.asked.Add(-1) // it begins no turn
				b.pause(200 * time.Millisecond)
				b.hand.Release()
				if how := <-ended; how != skills.Finished {
					t.Errorf("it ended as %s; want finished", how)
				}
				b.until("silence", func() bool { return !b.audible() })
				b.pause(2 * time.Second)
				if n := len(b.turnsEnded()); n != 0 || b.audible() || b.coordinator.State() != turn.Idle {
					t.Errorf("the press began %d turns, state %v, audible %t; want none", n, b.coordinator.State(), b.audible())
				}
				stop()
				stop = host.Ring(skills.Alert{Ended: func(how skills.Ended) { ended <- how; panic("of a skill") }})
				b.until("ringing again", b.audible)
				stop()
				if how := <-ended; how != skills.Interrupted {
					t.Errorf("it was taken back, and ended as %s; want interrupted", how)
				}
				if len(ended) > 0 {
					t.Error("it ended twice")
				}
			})
		}
	}
}

// What it is about is said in its second round, and once another has joined, in the voice of this machine; tones alone where there is none.
func TestAnAlertSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	a := &alarm{voice: namesVoice{b.synthesizer, b.cfg.Device.Language}}
	plain, told := len(a.round(t.Context(), "", 2)), len(a.round(t.Context(), "the pasta", 2))
	if told < plain+pausedFor+audio.Rate/4 {
		t.Errorf("with words it is %d samples long, without %d", told, plain)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := len(a.round(over, "something else", 2)); got != plain {
		t.Errorf("without a voice it is %d samples long; want the chime's %d", got, plain)
	}
	if got := len(a.round(t.Context(), "the pasta", 3)); got != plain {
		t.Errorf("the third round is %d samples long; want the chime's %d", got, plain)
	}
	if got := len(a.round(t.Context(), "the pasta, the eggs", 3)); got <= told {
		t.Errorf("once another has joined it is %d samples long; want more than the %d of one", got, told)
	}
}

// The press that stops an alert hushes the room, as each does, and leaves it the floor.
func TestFlatStoppingAnAlertLeavesTheFloor(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	for i := range 3 { // whichever is told first, of the press and of its end
		ended := make(chan skills.Ended, 1)
		kitchen.skillHost("test").Ring(skills.Alert{Ended: func(how skills.Ended) { ended <- how }})
		kitchen.until("ringing", kitchen.audible)
		kitchen.pause(400 * time.Millisecond)
		kitchen.hand.Press()
		if how := <-ended; how != skills.Finished {
			t.Errorf("it ended as %s; want finished", how)
		}
		kitchen.hand.Release()
		kitchen.asked.Add(-1)
		hall.until("the press is heard, and the floor is free", func() bool {
			heard := hall.ledger(func(e round.Entry) bool { return e.Kind == round.EntryPress && e.Why == "a press elsewhere" })
			return len(heard) == i+1 && !hall.Device.room.Taken()
		})
	}
	hall.types("Ben, are you there")
	hall.wait("Ben has spoken", kind(round.EntrySpoke, "ben"))
	f.calm()
}

// In tap mode the tap after the one that stopped an alert begins a question.
func TestTheTapAfterAnAlertBegins(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{buttons: nil})
	var c tapCount
	b.Device.presses.recording.begin(&contact{Events: &c}, 7, func() turn.ID { return "t-x" })
	b.spent("t-x")
	if c.ended != 7 {
		t.Errorf("the button was told of the end of press %d; want 7", c.ended)
	}
}

// tapCount is a button that notes which of its presses is over.
type tapCount struct {
	gpio.Events
	ended uint64
}

func (c *tapCount) CaptureEnded(press uint64) { c.ended = press }
