package coordinator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// Content offers its gaps by being silent: what waits for one begins where it is heard, not where it was written.
func TestAnInjectionWaitsForAGapInContent(t *testing.T) {
	for name, row := range map[string]struct {
		pause       time.Duration // in the book, behind 5 s
		live        bool
		from, until time.Duration // of the turn, since the book began
	}{
		"a paragraph ends":                {800 * time.Millisecond, false, 5 * time.Second, 5800 * time.Millisecond},
		"a sentence ends":                 {500 * time.Millisecond, false, 31 * time.Second, 31100 * time.Millisecond},
		"a paragraph ends, on the radio":  {800 * time.Millisecond, true, 5 * time.Second, 5800 * time.Millisecond},
		"it is silent for a whole minute": {time.Minute, false, 5 * time.Second, 5800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began []time.Duration
				var g *rig
				g = newRig(t, func(_ *rig, o *Options) { o.OnInject = func(turn.ID) { began = append(began, g.Now()) } })
				g.plays(StreamFunc{Live: row.live, Run: func(_ context.Context, write func([]int16) error) error {
					return write(slices.Concat(tone(5*time.Second, 3000), tone(row.pause, 200), tone(time.Minute, -3000)))
				}})
				from := g.Now()
				g.answering(300 * time.Millisecond)
				time.Sleep(time.Second)
				done := g.Inject("tea is ready", inject.Normal, "", time.Hour)
				time.Sleep(35 * time.Second)
				wantOutcome(t, "the injection", done, inject.Delivered)
				if len(began) != 1 || began[0]-from < row.from || began[0]-from > row.until {
					t.Errorf("it began %v after the book; want one between %v and %v", began, from+row.from, from+row.until)
				}
				g.Hush(g.Now(), g.speaker.Drop())
				g.quiet()
			})
		})
	}
}

// Whoever has a call that something urgent ends is told that it was, and by whom it was not.
func TestACallIsToldThatItWasPreempted(t *testing.T) {
	for name, online := range map[string]bool{"by a turn": true, "by the local voice": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
				var ends []turn.EndedHow
				g.tools["dial"] = func(context.Context, string) ToolResult {
					return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{
						Run: func(_ context.Context, _ <-chan []int16, write func([]int16) error) error {
							return write(tone(time.Minute, 1))
						},
						Ended: func(how turn.EndedHow) { ends = append(ends, how) },
					}}
				}
				g.call(g.utter(time.Second), "dial")
				if !online {
					g.Post(turn.SessionLost{At: g.Now()})
				}
				g.answering(300 * time.Millisecond)
				time.Sleep(time.Second)
				for _, p := range []inject.Priority{inject.Normal, inject.BlockBehindComms} {
					waits := g.Inject("tea is ready", p, "", 2*time.Second)
					time.Sleep(time.Second)
					if g.settle(); len(waits) != 0 || len(ends) != 0 {
						t.Errorf("%v did not wait for the call", p)
					}
				}
				urgent := g.Inject("fire", inject.Preempt, "", 0)
				time.Sleep(1500 * time.Millisecond)
				wantOutcome(t, "the urgent one", urgent, inject.Delivered)
				wantEqual(t, "ends of the call", ends, []turn.EndedHow{turn.EndedPreempted})
				g.quiet()
			})
		})
	}
}

// An announcement has its companion, and whoever is told that it begins is told before a sample of it is heard.
func TestWhatBeginsIsToldBeforeItIsHeard(t *testing.T) {
	for name, online := range map[string]bool{"a turn": true, "the local voice": false} {
		for writes, heardAt := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: beginsFor} {
			t.Run(name+", after "+writes.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
					if !online {
						g.Post(turn.SessionLost{At: g.Now()})
					}
					answer := g.answerer(300 * time.Millisecond)
					var who []turn.Who
					g.voice.set(func(o turn.Order) {
						if o, ok := o.(turn.CreateResponse); ok {
							who = append(who, o.Who)
						}
						answer(o)
					})
					begun, free, from := 0, make(chan struct{}), g.Now()
					time.AfterFunc(writes, func() { close(free) })
					done := g.Announce(t.Context(), Announcement{
						Injection: inject.Injection{Prompt: "the pasta", Priority: inject.Preempt}, Who: "cleo",
						Begins: func() { begun++; <-free },
					})
					time.Sleep(heardAt - time.Millisecond)
					g.settle()
					if begun != 1 || len(g.speaker.played()) != 0 {
						t.Errorf("told %d times, and %d pieces were heard before that was known", begun, len(g.speaker.played()))
					}
					time.Sleep(1500 * time.Millisecond)
					wantOutcome(t, "the announcement", done, inject.Delivered)
					if p := g.speaker.played(); len(p) == 0 || p[0].from.Sub(g.start) > from+heardAt+50*time.Millisecond {
						t.Errorf("heard: %v; want it from %v on", p, from+heardAt)
					}
					if online {
						wantEqual(t, "whose turn it was", who, []turn.Who{"cleo"})
					}
					time.Sleep(writes)
					g.quiet()
				})
			})
		}
	}
}

// Somebody who asks for what is being said just then shares its outcome, and what begins has begun for both.
func TestWhoJoinsIsToldThatItHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.answering(300 * time.Millisecond)
		var begun [2]int
		ask := func(i int) <-chan inject.Outcome {
			return g.Announce(t.Context(), Announcement{Injection: inject.Injection{Prompt: "the pasta", Key: "pasta"}, Begins: func() { begun[i]++ }})
		}
		first := ask(0)
		time.Sleep(100 * time.Millisecond)
		second := ask(1)
		time.Sleep(time.Second)
		wantOutcome(t, "the first", first, inject.Delivered)
		wantOutcome(t, "the second", second, inject.Delivered)
		wantEqual(t, "begun", begun[:], []int{1, 1})
		g.quiet()
	})
}
