package device

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/round"
	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/device/control"
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
				if how := <-ended; how != skills.Pressed {
					t.Errorf("it ended as %s; want pressed", how)
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
				if how := <-ended; how != skills.Stopped {
					t.Errorf("it was taken back, and ended as %s; want stopped", how)
				}
				if len(ended) > 0 {
					t.Error("it ended twice")
				}
			})
		}
	}
}

// A person at a page sees what rings, ends it, or has it ring again in five minutes; no press and no turn is needed for it.
func TestAPageEndsWhatRings(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	local := control.Local(b.Control())
	asks := func(path string, id uint64) error {
		return local.Do(t.Context(), "POST", path, control.AlertRequest{ID: id}, nil)
	}
	ended := make(chan skills.Ended, 2)
	host := b.skillHost("test")
	host.Ring(skills.Alert{Text: "the tea", Ended: func(how skills.Ended) { ended <- how }})
	b.until("ringing", b.audible)
	rows := b.alerts.rows()
	if len(rows) != 1 || rows[0].Text != "the tea" || rows[0].Later {
		t.Fatalf("shown: %+v", rows)
	}
	if err := asks("/alert/later", rows[0].ID); err == nil || !strings.Contains(err.Error(), "the tea cannot ring later") {
		t.Errorf("what cannot ring later: %v", err)
	}
	if err := asks("/alert/stop", rows[0].ID); err != nil {
		t.Fatal(err)
	}
	if how := <-ended; how != skills.Stopped {
		t.Errorf("a person has stopped it, and it ended as %s", how)
	}
	b.until("silence", func() bool { return !b.audible() && b.Device.goesOn() == nil })
	if err := asks("/alert/stop", rows[0].ID); err == nil || !strings.Contains(err.Error(), "does not ring any more") {
		t.Errorf("once more: %v", err)
	}

	b.tool("set_timer", `{"seconds":1,"name":"the pasta"}`)
	b.until("the timer", b.audible)
	rows = b.Device.goesOn().Ringing
	if len(rows) != 1 || rows[0].Text != "the pasta" || !rows[0].Later {
		t.Fatalf("shown: %+v", rows)
	}
	if err := asks("/alert/later", rows[0].ID); err != nil {
		t.Fatal(err)
	}
	b.until("silence", func() bool { return !b.audible() && b.Device.goesOn().Ringing == nil })
	now := b.Device.goesOn()
	if len(now.Timers) != 1 || now.Timers[0].Name != "the pasta" || now.Timers[0].Length != 300 {
		t.Errorf("afterwards it runs: %+v", now.Timers)
	}
	if n := len(b.turnsEnded()); n != 0 {
		t.Errorf("%d turns", n)
	}
}

// tool calls a tool of those skills that have something to show.
func (b *box) tool(name, args string) {
	b.t.Helper()
	for _, s := range b.shows {
		for _, tool := range s.Tools() {
			if tool.Name != name {
				continue
			}
			if _, err := tool.Handler(skills.Context{Context: b.t.Context(), Now: time.Now}, json.RawMessage(args)); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// What is to come is shown, but no more of it than a person reads.
func TestRemindersThatAreToComeAreShown(t *testing.T) {
	t.Parallel()
	d := &Device{}
	for i := range mostReminders + 1 {
		d.shows = append(d.shows, visible{Name: fmt.Sprint(i), Due: time.Unix(int64(i+1), 0)})
	}
	now := d.goesOn()
	if now == nil || len(now.Reminders) != mostReminders || now.Reminders[0].Text != "0" || now.Playing != nil || now.Timers != nil {
		t.Errorf("shown: %+v", now)
	}
}

// visible is a skill that has one thing to look at.
type visible skills.Shown

func (visible) Tools() []skills.Tool    { return nil }
func (s visible) Shows() []skills.Shown { return []skills.Shown{skills.Shown(s)} }

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
		if how := <-ended; how != skills.Pressed {
			t.Errorf("it ended as %s; want pressed", how)
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
