package coordinator

import "context"

// earFrames is how much of the microphone waits for a claim that does not take it: 200 ms, as anything older is of no use in a call.
const earFrames = 20

// ear is the microphone as a claim has it.
type ear struct{ frames chan []int16 }

func newEar() ear { return ear{make(chan []int16, earFrames)} }

// hear never waits: the oldest gives way. One goroutine calls it.
func (e ear) hear(pcm []int16) {
	for {
		select {
		case e.frames <- pcm:
			return
		default:
		}
		select {
		case <-e.frames:
		default:
		}
	}
}

// producer runs a claim with the microphone in its hands, until it returns or is cut, whichever comes first.
func (f ClaimFunc) producer(mic Mic) producer {
	if f.Run == nil {
		return nil
	}
	return func(ctx context.Context, write func([]int16) error) error {
		e := newEar()
		back := mic.Lend(e.hear)
		defer back()
		cut := context.AfterFunc(ctx, back)
		defer cut()
		return f.Run(ctx, e.frames, write)
	}
}
