package coordinator

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// A claim hears the microphone from its beginning to its end and no longer; of what it does not take the oldest is lost. The light says that
// somebody listens.
func TestAClaimHasTheMicrophone(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"hung up":     func(g *rig) { g.press() },
		"cut, deaf":   func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
		"it returned": func(*rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				var heard []int16
				var ears <-chan []int16
				g.tools["dial"] = func(context.Context, string) ToolResult {
					return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(ctx context.Context, mic <-chan []int16, _ func([]int16) error) error {
						ears = mic
						for range 10 {
							heard = append(heard, (<-mic)[0])
						}
						time.Sleep(1005 * time.Millisecond)
						for range earFrames {
							heard = append(heard, (<-mic)[0])
						}
						switch name {
						case "hung up":
							<-ctx.Done()
						case "cut, deaf":
							time.Sleep(4 * time.Second) // it ignores its context
						}
						return nil
					}}}
				}
				g.call(g.utter(time.Second), "dial")
				g.inState(turn.Idle)
				g.settle()
				if !g.has("mic lent") || !g.has("light LISTENING") {
					t.Fatalf("nothing is lent, or nothing shows it: %q", g.take())
				}
				time.Sleep(1500 * time.Millisecond)
				g.settle()
				end(g)
				time.Sleep(time.Millisecond)
				g.settle()
				lines := g.take()
				if !slices.Contains(lines, "mic back") || !slices.Contains(lines, "light IDLE") {
					t.Errorf("it has the microphone still, or that shows: %q", lines)
				}
				for len(ears) > 0 {
					<-ears
				}
				time.Sleep(2 * time.Second)
				if len(ears) > 0 {
					t.Errorf("%d frames came after the end", len(ears))
				}
				var want []int16
				for i := range 10 {
					want = append(want, int16(i+1))
				}
				for i := range earFrames {
					want = append(want, int16(110-earFrames+i+1))
				}
				if fmt.Sprint(heard) != fmt.Sprint(want) {
					t.Errorf("heard %v; want %v", heard, want)
				}
				time.Sleep(3 * time.Second)
				g.quiet()
			})
		})
	}
}

// A claim that cannot run borrows nothing.
func TestAClaimWithoutAPlaceBorrowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.StreamLimit = 1 })
		b := newBook(time.Minute)
		g.plays(b.StreamFunc)
		time.Sleep(time.Second)
		g.tools["dial"] = func(context.Context, string) ToolResult {
			return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{
				Run: func(ctx context.Context, _ <-chan []int16, _ func([]int16) error) error { <-ctx.Done(); return nil },
			}}
		}
		g.call(g.utter(time.Second), "dial")
		time.Sleep(time.Second)
		g.settle()
		if g.has("mic lent") || !g.has("words tool_failed") {
			t.Errorf("of a claim without a place: %q", g.take())
		}
	})
}
