package cascade

import (
	"testing"

	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
)

// The least that talks: a question is heard, thought about and answered, and all that the coordinator waits for is told.
func TestATurn(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}, Chat: func(cascadetest.Request) cascadetest.Reply {
		return cascadetest.Reply{Text: "It is three. The sun is shining outside today.", Pace: 30, In: 100, Out: 12}
	}}, nil, func(w *world) {
		w.press("t-1")
		if d := w.done(1); d.Status != turn.ResponseCompleted {
			t.Errorf("%+v", d)
		}
		heard := w.first(turn.Transcribed{}).(turn.Transcribed)
		if heard.Text != "hello there" || heard.Turn != "t-1" {
			t.Errorf("%+v", heard)
		}
		for _, stage := range []string{cascadetest.Hear, cascadetest.Chat, cascadetest.Say} {
			if id := w.asked(stage).Header.Get("X-Client-Request-Id"); id != "t-1" {
				t.Errorf("the server for %s is told that it is of turn %q", stage, id)
			}
		}
		t.Log(w.story())
		w.press("t-2")
		w.done(2)
		t.Log(w.last(), w.c.usage.Usage())
	})
}
