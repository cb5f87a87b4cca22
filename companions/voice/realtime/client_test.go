package realtime

import (
	"testing"
	"testing/synctest"

	"conch/coordinator/turn"
)

// in runs a test in a bubble, in a world of its own, from SessionReady to a clean end.
func in(t *testing.T, change func(*Config), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change)
		w.run()
		defer w.stop()
		w.want("ready")
		f(w)
	})
}

func TestQuestionAndAnswer(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.say("t-1", 24000)
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.want("committed t-1")
		p.want("session.update", "clear", "append", "commit", "response.create")
		if got := p.samples(); got != 24000 {
			t.Errorf("the server heard %d samples; want 24000", got)
		}
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		p.send(map[string]any{"type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i1", "output_index": 0, "content_index": 0, "delta": "Hello there."})
		p.delta("r1", "i1", 4800)
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 7200", "done t-1 r1 completed")
		if w.heard["t-1"] != 7200 {
			t.Errorf("%d samples reached the speaker; want 7200", w.heard["t-1"])
		}
		if w.said != "Hello there." {
			t.Errorf("the words were %q", w.said)
		}
	})
}
