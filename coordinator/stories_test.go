package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// The rows of TURNS.md 8, each told through the whole coordinator: real machine, real runner, fake ports, virtual time.

// heardAfter lists the values that were audible after at, without the local words.
func (g *rig) heardAfter(at time.Duration) []int16 {
	var values []int16
	for _, p := range g.speaker.played() {
		if p.value != wordsValue && p.to.After(g.start.Add(at)) && !slices.Contains(values, p.value) {
			values = append(values, p.value)
		}
	}
	return values
}

// answer carries a turn from the commit to the end of its speech.
func (g *rig) answer(id turn.ID, resp turn.ResponseID, d time.Duration, value int16) {
	g.t.Helper()
	g.respond(id, resp)
	if n := g.speak(id, resp, d, value); n == 0 {
		g.t.Errorf("the speech of %s was refused", id)
	}
	g.finish(id, resp)
	time.Sleep(d + time.Second)
	g.settle()
}

func (g *rig) inState(want turn.State) {
	g.t.Helper()
	g.settle()
	if s := g.State(); s != want {
		g.t.Fatalf("state %v; want %v", s, want)
	}
}

func TestATurnFromPressToQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		id := g.utter(time.Second)
		g.inState(turn.Committing)
		g.answer(id, "r1", 300*time.Millisecond, 1)
		g.inState(turn.Idle)
		wantInOrder(t, g.take(), "drop 2", "mic open", "mic end", "commit", "open speech", "respond", "end t-1 done")
		wantEqual(t, "ends", g.ends(), []string{"t-1 done"})
		if r := g.records[0]; r.ListenMS != 1000 || r.HeardMS != 300 || r.Responses != 1 || r.PressToSilence != nil {
			t.Errorf("record %+v; want 1000 ms listened, 300 ms heard, one response, no time of silence", r)
		}
	})
}

func TestLateNewsOfACancelledResponseDoesNotEndTheNewTurn(t *testing.T) { // row 1
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		old := g.utter(time.Second)
		g.respond(old, "r1")
		g.speak(old, "r1", 300*time.Millisecond, 1)
		time.Sleep(100 * time.Millisecond)
		edge := g.Now()
		id := g.press()
		g.inState(turn.Listening)
		if n := g.speak(old, "r1", 300*time.Millisecond, 1); n != 0 {
			t.Errorf("%d samples of the cancelled response accepted", n)
		}
		g.finish(old, "r1")
		g.inState(turn.Listening)
		wantInOrder(t, g.take(), "cancel r1", "truncate item_r1 at 100ms", "mic open")

		g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
		time.Sleep(time.Second)
		g.Release(g.Now(), rate, button)
		g.settle()
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
		g.Post(turn.InputCommitted{At: g.Now(), Turn: id, Item: "u2"})
		g.finish(old, "r1") // once more
		g.inState(turn.Committing)
		g.answer(id, "r2", 200*time.Millisecond, 2)
		if got := g.heardAfter(edge); !slices.Equal(got, []int16{2}) {
			t.Errorf("heard the values %v after the press; want only 2", got)
		}
		wantEqual(t, "ends", g.ends(), []string{"t-1 interrupted", "t-2 done"})
	})
}

func TestAToolRunningAtThePressAnswersItsCallAndLosesItsEffect(t *testing.T) { // row 2
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		release := make(chan struct{})
		g.tools["book"] = func(context.Context, string) ToolResult {
			<-release
			return ToolResult{Output: "reading", Effect: turn.EffectAudioStream, Stream: StreamFunc{
				Run: func(context.Context, func([]int16) error) error {
					t.Error("the stream of a dropped effect ran")
					return nil
				},
				Ended: func(turn.EndedHow, int) { t.Error("a stream that never started ended") },
			}}
		}
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "book"})
		g.finish(id, "r1")
		next := g.press()
		g.inState(turn.Listening)
		close(release)
		g.settle()
		g.Post(turn.CaptureStarted{At: g.Now(), Turn: next})
		time.Sleep(time.Second)
		g.Release(g.Now(), rate, button)
		g.settle()
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: next, Samples: rate})
		g.settle()
		g.answer(next, "r2", 200*time.Millisecond, 2)
		wantEqual(t, "ends", g.ends(), []string{"t-1 interrupted", "t-2 done"})
		if !g.has(`output c1 "reading"`) {
			t.Errorf("the call was never answered: %q", g.take())
		}
	})
}

func TestAProducerThatNeedsHalfASecondToDieDelaysNothing(t *testing.T) { // row 3
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var how []turn.EndedHow
		var cleaned atomic.Bool
		g.tools["book"] = func(context.Context, string) ToolResult {
			return ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{
				Run: func(ctx context.Context, write func([]int16) error) error {
					for write(tone(20*time.Millisecond, 1)) == nil {
					}
					time.Sleep(500 * time.Millisecond)
					cleaned.Store(true)
					return nil
				},
				Ended: func(h turn.EndedHow, _ int) { how = append(how, h) },
			}}
		}
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "book"})
		g.finish(id, "r1")
		g.respond(id, "r2")
		g.speak(id, "r2", 100*time.Millisecond, 2)
		g.finish(id, "r2")
		time.Sleep(2 * time.Second)
		g.settle()
		g.take()

		edge := g.Now()
		g.Hush(edge, g.speaker.Drop())
		next := g.press()
		g.inState(turn.Listening)
		wantInOrder(t, g.take(), "mic open")
		if g.Now() != edge {
			t.Errorf("%v passed between the edge and the open microphone; want none", g.Now()-edge)
		}
		g.Post(turn.CaptureStarted{At: g.Now(), Turn: next})
		time.Sleep(150 * time.Millisecond)
		g.Release(g.Now(), rate*150/1000, button)
		g.settle()
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: next, Samples: rate * 150 / 1000})
		g.settle()
		g.respond(next, "r3")
		if n := g.speak(next, "r3", 100*time.Millisecond, 3); n != rate/10 {
			t.Errorf("%d samples of the next answer accepted while the producer dies; want all", n)
		}
		if cleaned.Load() {
			t.Error("the producer had already returned: this test proves nothing")
		}
		g.finish(next, "r3")
		g.quiet()
		if got := g.heardAfter(edge); !slices.Equal(got, []int16{3}) {
			t.Errorf("heard the values %v after the press; want only 3", got)
		}
		if !slices.Equal(how, []turn.EndedHow{turn.EndedStopped}) {
			t.Errorf("the stream ended %v; want once, interrupted", how)
		}
		if got := g.ends(); !slices.Contains(got, "t-2 done") {
			t.Errorf("ends %q; want t-2 done among them", got)
		}
	})
}

func TestASecondPressWithoutAReleaseBeginsAnEmptyUtterance(t *testing.T) { // row 9
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		first := g.press()
		g.settle()
		g.Post(turn.CaptureStarted{At: g.Now(), Turn: first})
		time.Sleep(time.Second)
		g.settle()
		g.take()
		second := g.press()
		g.settle()
		lines := g.take()
		wantInOrder(t, lines, "mic discard", "mic open")
		wantInOrder(t, lines, "clear", "mic open")
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: first, Samples: rate}) // late
		g.Post(turn.CaptureStarted{At: g.Now(), Turn: second})
		time.Sleep(time.Second)
		g.Release(g.Now(), rate, button)
		g.settle()
		if g.has("commit") {
			t.Error("committed before the capture of the second press had ended")
		}
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: second, Samples: rate})
		g.settle()
		if !g.has("commit") {
			t.Error("the second utterance was not committed")
		}
		g.quiet()
	})
}

func TestEveryWaitingStateEndsInWordsAndIdle(t *testing.T) { // row 10
	for name, wait := range map[string]func(g *rig){
		"LISTENING, no release": func(g *rig) {
			id := g.press()
			g.settle()
			g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
			g.inState(turn.Listening)
		},
		"LISTENING, no frame": func(g *rig) {
			g.press()
			g.inState(turn.Listening)
		},
		"COMMITTING, no capture end": func(g *rig) {
			id := g.press()
			g.settle()
			g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			g.settle()
		},
		"COMMITTING, no answer": func(g *rig) {
			g.utter(time.Second)
			g.inState(turn.Committing)
		},
		"IN_RESPONSE, no more deltas": func(g *rig) {
			id := g.utter(time.Second)
			g.respond(id, "r1")
			g.speak(id, "r1", 100*time.Millisecond, 1)
			g.inState(turn.InResponse)
		},
		"AWAITING_NEXT_RESPONSE, no next response": func(g *rig) {
			g.tools["time"] = func(context.Context, string) ToolResult { return ToolResult{Output: "noon"} }
			id := g.utter(time.Second)
			g.respond(id, "r1")
			g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "time"})
			g.finish(id, "r1")
			g.inState(turn.AwaitingNextResponse)
		},
		"AWAITING_NEXT_RESPONSE, tool never returns": func(g *rig) {
			g.tools["stuck"] = func(ctx context.Context, _ string) ToolResult { <-ctx.Done(); return ToolResult{Output: "late"} }
			id := g.utter(time.Second)
			g.respond(id, "r1")
			g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "stuck"})
			g.finish(id, "r1")
			g.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				wait(g)
				g.quiet()
				if len(g.records) != 1 || g.records[0].Reason != "failed" && g.records[0].Reason != "expired" || g.records[0].Words == "" {
					t.Errorf("records %+v; want one that failed or expired, with words", g.records)
				}
				if !slices.ContainsFunc(g.speaker.played(), func(a audible) bool { return a.value == wordsValue }) {
					t.Errorf("no words were heard; journal %q", g.take())
				}
			})
		})
	}
}

func TestPortsAndCallbacksMayPostFromWithinTheRunner(t *testing.T) { // row 11
	synctest.Test(t, func(t *testing.T) {
		var c *Coordinator
		n := 0
		g := newRig(t, func(g *rig, o *Options) {
			o.InboxLimit = 1
			g.voice.set(func(turn.Order) {
				for range 10 { // more than the inbox has places
					c.Post(turn.Transcribed{Turn: "t-0"})
				}
				n++
			})
		})
		c = g.Coordinator
		id := g.utter(time.Second)
		g.answer(id, "r1", 100*time.Millisecond, 1)
		g.quiet()
		if n == 0 {
			t.Error("the voice was never asked: this test proves nothing")
		}
		wantEqual(t, "ends", g.ends(), []string{"t-1 done"})
	})
}

func TestAThousandPressesInTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		for range 1000 {
			g.press()
			time.Sleep(5 * time.Millisecond)
			g.Release(g.Now(), rate*5/1000, button)
			time.Sleep(5 * time.Millisecond)
		}
		g.quiet()
		if len(g.records) != 1000 {
			t.Errorf("%d turns ended; want each of 1,000", len(g.records))
		}
		seen := map[turn.ID]bool{}
		for _, r := range g.records {
			if seen[r.Turn] {
				t.Fatalf("turn %s ended twice", r.Turn)
			}
			seen[r.Turn] = true
		}
		id := g.utter(time.Second)
		g.answer(id, "r1", 100*time.Millisecond, 1)
		if last := g.records[len(g.records)-1]; last.Reason != "done" {
			t.Errorf("the turn after them ended %s; want done", last.Reason)
		}
	})
}

func TestAPressPassesAFloodOfFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.InboxLimit = 4 })
		id := g.utter(time.Second)
		g.respond(id, "r1")
		stop := make(chan struct{})
		for range 8 {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
						g.Post(turn.DeltaArrived{At: g.Now(), Turn: id, Response: "r1", Item: "i"})
						time.Sleep(time.Microsecond)
					}
				}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		edge := g.Now()
		g.press()
		for g.State() != turn.Listening {
			time.Sleep(time.Microsecond)
		}
		if took := g.Now() - edge; took > time.Millisecond {
			t.Errorf("the press was taken after %v; want less than 1 ms", took)
		}
		close(stop)
		g.quiet()
	})
}

func TestASlowVoiceDoesNotDelayAPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		id := g.utter(time.Second)
		g.respond(id, "r1")
		accepted := -1
		go func() { accepted = g.Audio(t.Context(), id, tone(10*time.Second, 1)) }() // blocks at the pace of the speaker
		time.Sleep(time.Second)
		edge := g.Now()
		g.press()
		g.inState(turn.Listening)
		if g.Now() != edge {
			t.Errorf("the press was taken after %v; want at once", g.Now()-edge)
		}
		if accepted < 0 || accepted > 2*rate {
			t.Errorf("the writer was let go with %d samples; want what fitted", accepted)
		}
		g.quiet()
	})
}

func TestRunEndsTheLiveTurnAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		if err := g.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		wantEqual(t, "ends", g.ends(), []string{"t-1 interrupted"})
		g.Post(turn.SessionReady{}) // nobody is there; must not block
		g.press()
		if g.Audio(t.Context(), id, tone(time.Second, 1)) != 0 {
			t.Error("speech was accepted after Run had ended")
		}
		if err := g.Run(t.Context()); err == nil {
			t.Error("a second Run was accepted")
		}
	})
}

func TestRunReportsWhoDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		release := make(chan struct{})
		g.tools["stuck"] = func(context.Context, string) ToolResult { <-release; return ToolResult{} }
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "stuck"})
		g.settle()
		began := g.Now()
		if err := g.stop(); err == nil {
			t.Error("Run reported no error though a tool still runs")
		}
		if took := g.Now() - began; took != shutdownWait {
			t.Errorf("Run waited %v; want %v", took, shutdownWait)
		}
		close(release)
	})
}
