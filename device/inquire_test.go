package device

import (
	"errors"
	"slices"
	"testing"

	"conch/companions/skills"
	"conch/coordinator/turn"
	"conch/device/control"
)

// A question that a newer one, or a press, has displaced while its tool works: whoever asked is told which of the two it was, and what
// the tool has done, though no companion says it. What failed is not told as done.
func TestWhoeverAskedIsToldWhatDisplacedIt(t *testing.T) {
	const newer, pressed = "a newer question came", "somebody pressed a button, or asked for silence"
	for _, c := range []struct {
		tool, why string
		done      []string
	}{
		{"set", newer, []string{"It is set."}},
		{"fail", newer, nil},
		{"play", newer, nil},
		{"set", pressed, []string{"It is set."}},
	} {
		t.Run(c.tool+", "+c.why, func(t *testing.T) {
			release := make(chan struct{})
			b := newBox(t, boxOptions{mind: caller{}, tools: skill{
				"set": func(skills.Context) (skills.Result, error) {
					<-release
					return skills.Result{Output: "It is set."}, nil
				},
				"fail": func(skills.Context) (skills.Result, error) { <-release; return skills.Result{}, errors.New("no") },
				"play": func(skills.Context) (skills.Result, error) {
					<-release
					return skills.Result{Output: "It plays.", Effect: skills.AudioStream{}}, nil
				},
			}})
			inquire := func(text string) <-chan control.Answer {
				b.asked.Add(1)
				out := make(chan control.Answer, 1)
				go func() {
					a, err := b.room.Inquire(t.Context(), text)
					if err != nil {
						t.Error(err)
					}
					out <- a
				}()
				return out
			}
			first := inquire("hm:" + c.tool)
			b.state(turn.AwaitingNextResponse)
			if c.why == newer {
				second := inquire("hello")
				b.until("it is displaced", func() bool { return len(b.turnsEnded()) == 1 })
				close(release)
				if a := <-second; a.Outcome != control.OutcomeAnswered || len(a.Done) > 0 {
					t.Errorf("the newer one: %+v", a)
				}
			} else {
				b.hand.Press()
				b.until("it is displaced", func() bool { return len(b.turnsEnded()) == 1 })
				close(release)
				b.hand.Release()
			}
			if a := <-first; a.Outcome != control.OutcomeSuperseded || a.Why != c.why || !slices.Equal(a.Done, c.done) {
				t.Errorf("%s, %q, %q; want superseded, %q, %q", a.Outcome, a.Why, a.Done, c.why, c.done)
			}
			b.quiet()
		})
	}
}
