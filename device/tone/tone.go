// Package tone is a voice that answers with a tone, for benchmarks of whole devices: what sounds after a press is old.
package tone

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"conch/audio"
	"conch/companions/voice"
	"conch/coordinator"
	"conch/coordinator/turn"
)

// Voice answers with a tone, in the manner the state under test needs.
type Voice struct {
	orders   chan turn.Order
	Sounding atomic.Bool

	mu    sync.Mutex
	state string
	end   context.CancelFunc // of what sounds now
}

// Second is one of 1 kHz at a third of full scale, which the recording end can tell from silence at once.
var Second = sync.OnceValue(func() []int16 {
	pcm := make([]int16, audio.Rate)
	for i := range pcm {
		pcm[i] = At(i, audio.Rate)
	}
	return pcm
})

// At is sample i of it.
func At(i, rate int) int16 {
	return int16(11000 * math.Sin(2*math.Pi*1000*float64(i)/float64(rate)))
}

// New is one that plays nothing yet.
func New() *Voice { return &Voice{orders: make(chan turn.Order, 64)} }

// Play chooses how the next answer goes: the name of the state that is measured.
func (v *Voice) Play(state string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = state
	v.Sounding.Store(false)
}

// Stop ends the answer.
func (v *Voice) Stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Sounding.Store(false)
	if v.end != nil {
		v.end()
	}
}

// Cue is a tone for the thinking cue, and silence for all others: they would sound after the press.
func (v *Voice) Cue(c turn.Cue) []int16 {
	if c == turn.CueThinking {
		return Second()
	}
	return nil
}

// Alarm is three tones for a round of an alert.
func (v *Voice) Alarm(context.Context, string, int) []int16 {
	v.Sounding.Store(true)
	return slices.Concat(Second(), Second(), Second())
}

// Tools: it calls those that it knows.
func (v *Voice) Tools([]turn.ToolSpec) {}

// Names: it does not listen.
func (v *Voice) Names([]string) {}

// Append: it does not listen.
func (v *Voice) Append(turn.ID, []int16) {}

// Nudge does nothing: it waits for nobody.
func (v *Voice) Nudge() {}

// Call calls f at once: it has no loop that could stand still.
func (v *Voice) Call(f func()) bool { f(); return true }

// Do takes an order.
func (v *Voice) Do(o turn.Order) {
	select {
	case v.orders <- o:
	default: // the bench waits for each state; it cannot fall 64 orders behind
	}
}

// Run answers until ctx ends.
func (v *Voice) Run(ctx context.Context, out voice.Outlet) error {
	out.Post(turn.SessionReady{At: out.Now()})
	var answers sync.WaitGroup
	defer answers.Wait()
	n := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-v.orders:
			create, ok := o.(turn.CreateResponse)
			if !ok {
				continue
			}
			n++
			id := turn.ResponseID(fmt.Sprintf("tone-%d", n))
			v.mu.Lock()
			state := v.state
			actx, cancel := context.WithCancel(ctx)
			v.end = cancel
			v.mu.Unlock()
			answers.Go(func() { defer cancel(); v.answer(actx, out, create.Turn, id, state) })
		}
	}
}

func (v *Voice) answer(ctx context.Context, out voice.Outlet, id turn.ID, response turn.ResponseID, state string) {
	if state == "committing" { // never answers: the thinking cue is what sounds
		v.Sounding.Store(true)
		return
	}
	out.Post(turn.ResponseStarted{At: out.Now(), Turn: id, Response: response})
	speak := func(seconds int) {
		for range seconds {
			n := out.Audio(ctx, id, Second())
			out.Post(turn.DeltaArrived{At: out.Now(), Turn: id, Response: response, Item: "item", Samples: n})
			v.Sounding.Store(true)
			if n < len(Second()) {
				return
			}
		}
	}
	done := func() { out.Post(turn.ResponseDone{At: out.Now(), Turn: id, Response: response}) }
	call := func(name string) {
		out.Post(turn.ToolCalled{At: out.Now(), Turn: id, Response: response, Call: turn.CallID("call-" + response), Name: name, Args: "{}"})
	}
	switch state {
	case "speaking", "injected": // goes on until cut
		speak(3600)
	case "tail": // all of it has come, and is still sounding
		speak(2)
		done()
	case "tool": // spoken, and a tool is still at work
		call("slow")
		speak(3600)
	case "awaiting": // the thinking cue sounds until the tool has returned
		call("slow")
		done()
		v.Sounding.Store(true)
	case "content", "call":
		call(state)
		done()
	}
}

// Tools are the tools the states need: one that takes its time, one that streams, one that claims the line.
type Tools struct{ Voice *Voice }

// Specs: the voice knows them.
func (Tools) Specs() []turn.ToolSpec { return nil }

// Call runs a tool.
func (t Tools) Call(ctx context.Context, c turn.CallTool) coordinator.ToolResult {
	stream := coordinator.StreamFunc{Run: func(ctx context.Context, write func([]int16) error) error {
		for ctx.Err() == nil {
			if err := write(Second()[:audio.Rate/10]); err != nil {
				return err
			}
			t.Voice.Sounding.Store(true)
		}
		return ctx.Err()
	}}
	switch c.Name {
	case "content":
		return coordinator.ToolResult{Effect: turn.EffectAudioStream, Stream: stream}
	case "call":
		return coordinator.ToolResult{Effect: turn.EffectInputClaim, Claim: coordinator.ClaimFunc{
			Run: func(ctx context.Context, _ <-chan []int16, write func([]int16) error) error {
				return stream.Run(ctx, write)
			},
		}}
	default:
		<-ctx.Done()
		return coordinator.ToolResult{Output: "cut"}
	}
}
