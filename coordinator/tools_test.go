package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// Tools as they are: each on a goroutine of its own, and back when it is.

// turns.md 3: what was called later counts, whichever tool returns first. Each tool takes a time drawn by chance.
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
