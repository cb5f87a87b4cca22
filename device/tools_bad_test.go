package device

import (
	"context"
	"strings"
	"testing"
	"time"

	"conch/companions/skills"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// Tools as nobody wishes them, on a whole device: each costs the call that meets it, in words, and the device goes on.

func TestAToolThatPanicsIsToldInWords(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{mind: caller{}, tools: skill{
		"boom": func(skills.Context) (skills.Result, error) { panic("boom") },
		"look": func(skills.Context) (skills.Result, error) { return skills.Result{Output: "well"}, nil },
	}})
	if r := b.ask(":boom look"); r.Reason != "done" || !strings.Contains(r.Said, "went wrong on my side") || !strings.Contains(r.Said, "well") {
		t.Errorf("%s, said %q; want the apology, and what the other tool said", r.Reason, r.Said)
	}
	if !strings.Contains(b.log.text(), "tool.panicked") {
		t.Error("the log has no line of it")
	}
	b.fine()
}

func TestAToolThatReturnsAMegabyteIsCut(t *testing.T) {
	t.Parallel()
	got := make(chan int, 1)
	b := newBox(t, boxOptions{mind: measuring{got}, tools: skill{
		"talks": func(skills.Context) (skills.Result, error) {
			return skills.Result{Output: strings.Repeat("ü", 1<<19)}, nil
		},
	}})
	b.answered(b.ask(":talks"))
	if n := <-got; n == 0 || n > 16<<10+40 { // its source is on top
		t.Errorf("the model was given %d bytes of a megabyte", n)
	}
	b.answered(b.ask("short"))
}

// A press while a tool works: silence and a listening device at once; the tool is told, and what it brings later counts for nothing.
func TestAPressDuringASlowTool(t *testing.T) {
	t.Parallel()
	told := make(chan error, 1)
	b := newBox(t, boxOptions{mind: caller{}, tools: skill{
		"slow": func(ctx skills.Context) (skills.Result, error) {
			<-ctx.Done()
			told <- context.Cause(ctx)
			return skills.Result{Output: "late", Effect: skills.SetVolume{Percent: 1}}, nil
		},
	}})
	rec := b.nextTurn(func() {
		b.question("let me see:slow")
		b.state(turn.AwaitingNextResponse)
		b.hand.Press()
		b.state(turn.Listening)
		b.hand.Release()
	})
	if rec.Reason != "interrupted" {
		t.Errorf("%s; want the turn interrupted", rec.Reason)
	}
	select {
	case <-told: //nolint:errcheck // why its context ended is told elsewhere
	case <-time.After(patience):
		t.Error("the tool was not told")
	}
	b.quiet()
	if v := b.memory.Volume(); v == 1 {
		t.Error("the effect of a turn that was cut was carried out")
	}
	b.fine()
}

// Play and then stop in one turn: whichever returns first, nothing plays, and the end is told.
func TestPlayThenStopInOneTurn(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"play", "stop"} {
		stopped := make(chan struct{})
		wait := func(name string) {
			if name == late {
				<-stopped
				return
			}
			close(stopped)
		}
		began := make(chan struct{}, 1)
		b := newBox(t, boxOptions{mind: caller{}, tools: skill{
			"play": func(skills.Context) (skills.Result, error) {
				wait("play")
				return skills.Result{Effect: skills.AudioStream{Run: func(context.Context, func([]int16) error) error {
					began <- struct{}{}
					return nil
				}}}, nil
			},
			"stop": func(skills.Context) (skills.Result, error) {
				wait("stop")
				return skills.Result{Effect: skills.CancelMedia{}}, nil
			},
		}})
		if r := b.ask("as you wish:play stop"); r.Reason != "done" {
			t.Errorf("%s returns last: %s", late, r.Reason)
		}
		b.quiet()
		if len(began) != 0 {
			t.Errorf("%s returns last: the stream began, though stop was called after it", late)
		}
	}
}

// measuring is caller, and tells how much the model was given.
type measuring struct{ got chan int }

func (m measuring) Think(t rehearsal.Thought) rehearsal.Reply {
	if len(t.Outputs) > 0 {
		select {
		case m.got <- len(t.Outputs[0]):
		default:
		}
		return rehearsal.Reply{Text: "that was long"}
	}
	return caller{}.Think(t)
}
