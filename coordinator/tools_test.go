package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// Tools as they are: each on a goroutine of its own, and back when it is.

// TURNS.md 3: what was called later counts, whichever tool returns first. Each tool takes a time drawn by chance.
func TestALaterCallBeatsAnEarlierOneInWhateverOrderToolsReturn(t *testing.T) {
	const bookValue, newsValue = 5, 6
	plays := func(value int16) ToolResult {
		return stream(func(_ context.Context, write func([]int16) error) error { return write(tone(time.Second, value)) }, nil)
	}
	seed := rand.Uint64()
	rng, overtaken := rand.New(rand.NewPCG(seed, 0)), 0
	for run := range 200 {
		took := make([]time.Duration, 5)
		for i := range took {
			took[i] = time.Duration(rng.IntN(1000)) * time.Millisecond
		}
		if !slices.IsSorted(took) {
			overtaken++
		}
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			for i, res := range []ToolResult{
				{Output: "softer", Effect: turn.EffectSetVolume, Volume: 10},
				plays(bookValue),
				{Output: "stopped", Effect: turn.EffectCancelMedia},
				{Output: "louder", Effect: turn.EffectSetVolume, Volume: 90},
				plays(newsValue),
			} {
				g.tools[fmt.Sprint("tool", i)] = func(context.Context, string) ToolResult {
					time.Sleep(took[i])
					return res
				}
			}
			id := g.utter(time.Second)
			g.respond(id, "r1")
			for i := range took {
				g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: turn.CallID(fmt.Sprint("c", i)), Name: fmt.Sprint("tool", i)})
			}
			g.finish(id, "r1")
			time.Sleep(time.Second)
			g.answer(id, "r2", 100*time.Millisecond, 1)
			g.quiet()
			volume := ""
			for _, l := range g.take() {
				if l == "volume 10" || l == "volume 90" {
					volume = l
				}
			}
			if volume != "volume 90" {
				t.Errorf("seed %d run %d, tools that took %v: %q is what is left; want volume 90", seed, run, took, volume)
			}
			var heard []int16
			for _, p := range g.speaker.played() {
				heard = append(heard, p.value)
			}
			if !slices.Equal(heard, []int16{1, newsValue}) {
				t.Errorf("seed %d run %d, tools that took %v: heard %v; want the answer, then the stream called last", seed, run, took, heard)
			}
		})
	}
	if overtaken < 100 {
		t.Errorf("in %d of 200 runs a tool overtook another: too tame", overtaken)
	}
}

// cutTurns has n turns call the tool eight times each, and cuts each with a press.
func (g *rig) cutTurns(n int, tool string) (last turn.ID) {
	g.t.Helper()
	for k := range n {
		id := g.utter(200 * time.Millisecond)
		resp := turn.ResponseID(fmt.Sprint("r-", id))
		g.respond(id, resp)
		for i := range 8 {
			g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: resp, Call: turn.CallID(fmt.Sprint(id, "-", i)), Name: tool})
		}
		g.finish(id, resp)
		g.inState(turn.AwaitingNextResponse)
		if k == n-1 {
			last = g.press()
			g.inState(turn.Listening)
		}
	}
	return last
}

// speakUp goes on with a turn that was pressed for, up to its response.
func (g *rig) speakUp(id turn.ID, resp turn.ResponseID) {
	g.t.Helper()
	g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
	time.Sleep(time.Second)
	g.Release(g.Now(), rate, button)
	g.settle()
	g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
	g.settle()
	g.respond(id, resp)
}

// TURNS.md 3: tools of a turn that was cut are told at once, and hold no place that a new turn needs; also those that do not
// care. What they return before their deadline answers their calls, and no effect of theirs counts.
func TestToolsOfACutTurnAreToldAndHoldNoPlace(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf ", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				told := make(chan time.Duration, 64)
				g.tools["slow"] = func(ctx context.Context, _ string) ToolResult {
					if deaf {
						time.Sleep(4 * time.Second)
						return ToolResult{Output: "slow after all", Effect: turn.EffectSetVolume, Volume: 3}
					}
					<-ctx.Done()
					told <- g.Now()
					return ToolResult{Output: "stopped", Effect: turn.EffectSetVolume, Volume: 3}
				}
				took := time.Duration(-1)
				g.tools["quick"] = func(context.Context, string) ToolResult {
					took = g.Now()
					return ToolResult{Output: "noon"}
				}
				id := g.cutTurns(3, "slow") // 24 calls; a turn may have 16
				pressed := g.Now()
				if !deaf {
					if n := len(told); n != 24 {
						t.Fatalf("%d of 24 tools were told after the press", n)
					}
					for range 23 {
						<-told
					}
					if at := <-told; at != pressed {
						t.Errorf("the last tool was told %v after the press; want at once", at-pressed)
					}
				}
				g.speakUp(id, "r-new")
				asked := g.Now()
				g.Post(turn.ToolCalled{At: asked, Turn: id, Response: "r-new", Call: "c-new", Name: "quick"})
				g.settle()
				if took != asked || !g.has(`output c-new "noon"`) {
					t.Errorf("the new turn's tool ran at %v; want at once, at %v, and its output in %q", took, asked, g.take())
				}
				time.Sleep(9 * time.Second)
				g.settle()
				answered := map[string]int{}
				for _, l := range g.take() {
					if l == "volume 3" {
						t.Error("a tool of a cut turn has set the volume")
					}
					if call, out, ok := strings.Cut(l, " \""); ok && strings.HasPrefix(call, "output ") {
						answered[call]++
						late := strings.HasPrefix(out, "slow after") || strings.HasPrefix(out, "stopped") || strings.Contains(out, "interrupted before") // beyond the bound of the machine
						if call != "output c-new" && !late {
							t.Errorf("%s %s", call, out)
						}
					}
				}
				for call, n := range answered {
					if n != 1 {
						t.Errorf("%s came %d times", call, n)
					}
				}
				if len(answered) != 25 {
					t.Errorf("%d calls were answered; want all 25", len(answered))
				}
				g.quiet()
			})
		})
	}
}

// lockedBuffer is a log that is read while tools still write it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A tool that never returns is told, answered for at its deadline, and in the end refused; no other tool is.
func TestAToolThatNeverReturnsIsTheOnlyOneRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		g := newRig(t, func(_ *rig, o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		release := make(chan struct{})
		g.tools["stuck"] = func(context.Context, string) ToolResult { <-release; return ToolResult{Output: "late"} }
		g.tools["quick"] = func(context.Context, string) ToolResult { return ToolResult{Output: "noon"} }
		id := g.cutTurns(leftOfOne/8, "stuck")
		g.speakUp(id, "r-new")
		for _, name := range []string{"stuck", "quick"} {
			g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r-new", Call: turn.CallID(name), Name: name})
		}
		g.settle()
		wantInOrder(t, g.take(), fmt.Sprintf("output stuck %q", sorryBusy), `output quick "noon"`)
		if want := "64 calls of it ignore that they are over, of 64 in all"; !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
		time.Sleep(11 * time.Second)
		g.settle()
		if n := strings.Count(log.String(), "msg=tool.abandoned"); n != leftOfOne {
			t.Errorf("%d lines tell of a tool that was given up; want %d", n, leftOfOne)
		}
		close(release)
		g.settle()
		if n := strings.Count(log.String(), "msg=tool.late"); n != leftOfOne {
			t.Errorf("%d lines tell of a tool that came late; want %d", n, leftOfOne)
		}
		g.quiet()
	})
}

// The context of a tool ends with its turn, however the turn ends.
func TestTheContextOfAToolEndsWithItsTurn(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"press":        func(g *rig) { g.press() },
		"question":     func(g *rig) { g.Ask("why?") },
		"hush":         func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
		"session lost": func(g *rig) { g.Post(turn.SessionLost{At: g.Now()}) },
		"shutdown":     func(g *rig) { _ = g.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				ended := time.Duration(-1)
				g.tools["wait"] = func(ctx context.Context, _ string) ToolResult {
					<-ctx.Done()
					ended = g.Now()
					return ToolResult{}
				}
				id := g.utter(time.Second)
				g.respond(id, "r1")
				g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "wait"})
				g.finish(id, "r1")
				time.Sleep(time.Second)
				at := g.Now()
				end(g)
				g.settle()
				if ended != at {
					t.Errorf("the tool was told at %v; want at %v", ended, at)
				}
			})
		})
	}
}
