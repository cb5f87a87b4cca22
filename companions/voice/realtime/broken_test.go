package realtime

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// told is what texts lists, and then the instructions of the answers that were asked for.
func (p *peer) told() []string {
	all := p.texts()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range p.got {
		if r, ok := ev["response"].(map[string]any); ok {
			s, _ := r["instructions"].(string)
			all = append(all, "create: "+s)
		}
	}
	return all
}

// broken asks for an answer of four seconds of which two have come, and breaks the link; the speaker has room for none of
// them before w.full is closed.
func (w *world) broken() {
	w.full = make(chan struct{})
	p := w.peer(0)
	w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "Tell me a story."})
	w.c.Do(turn.CreateResponse{Turn: "t-1"})
	synctest.Wait()
	p.created("r1", "t-1")
	p.delta("r1", "i1", 24000)
	p.send(map[string]any{"type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i1", "delta": "Once upon a time there was a shell. It lay on a beach."})
	p.delta("r1", "i1", 24000)
	w.want("started t-1 r1")
	p.hangUp()
}

func TestWhatWasReceivedIsHandedOverAndTheAnswerGoesOn(t *testing.T) {
	in(t, nil, func(w *world) {
		w.broken()
		w.want() // the person hears it
		time.Sleep(time.Second)
		w.peer(1).want("session.update", "conversation.item.create", "conversation.item.create")
		close(w.full)
		w.want("delta t-1 r1 48000", "done t-1 r1 failed lost_midway")
		w.c.Do(turn.CreateResponse{Turn: "t-1", Resume: true})
		q := w.peer(1)
		q.created("r2", "t-1")
		q.delta("r2", "i2", 24000)
		q.doneResponse("r2", "completed")
		w.want("started t-1 r2", "delta t-1 r2 24000", "done t-1 r2 completed")
		got := q.told()
		if len(got) != 3 || got[0] != "user: Tell me a story." || got[1] != "assistant: Once upon a time there was a shell. It" ||
			!strings.HasPrefix(got[2], "create: You are Ada.") || !strings.Contains(got[2], `"Once upon a time there was a shell. It"`) {
			t.Errorf("the next session was told %q; want the question, no more of the answer than two seconds can say, and where to go on", got)
		}
		if h := w.c.Usage().Today.SaidSeconds; h != 3 {
			t.Errorf("%v s of speech were counted; want 3", h)
		}
	})
}

// What has come and was not handed over yet, as on a machine that is busy, has come: the turn is not one that got no answer.
func TestWhatWaitsToBeHandedOverHasBegun(t *testing.T) {
	r, stop := bareRun(t)
	defer stop()
	p := &response{id: "r1", turn: "t-1", pump: kit.NewPump(t.Context(), "t-1", "r1", 2*rate)} // which nobody runs
	r.responses["r1"] = p
	r.delta(&inbound{ResponseID: "r1", ItemID: "i1"}, []byte("AAAA"))
	if broken, speaking := r.breakOff(); !speaking || len(broken) != 1 || p.say != turn.WordsLostMidway {
		t.Errorf("broken are %v, and something is on its way: %v", broken, speaking)
	}
}

func TestTheRequestToGoOnOutlivesAnotherSession(t *testing.T) {
	in(t, nil, func(w *world) {
		w.broken()
		close(w.full)
		w.want("delta t-1 r1 48000", "done t-1 r1 failed lost_midway", "lost offline")
		w.mu.Lock()
		w.status = http.StatusServiceUnavailable
		w.mu.Unlock()
		w.c.Do(turn.CreateResponse{Turn: "t-1", Resume: true})
		time.Sleep(time.Second)
		w.want("lost server_error")
		w.mu.Lock()
		w.status = 0
		w.mu.Unlock()
		time.Sleep(kit.BackoffMax)
		w.want("ready")
		q := w.peer(1)
		q.want("session.update", "conversation.item.create", "conversation.item.create", "response.create")
		q.hangUp() // before it has answered
		time.Sleep(kit.BackoffMax)
		w.want("lost offline", "ready")
		q = w.peer(2)
		q.want("session.update", "conversation.item.create", "conversation.item.create", "response.create")
		q.created("r2", "t-1")
		synctest.Wait()
		q.hangUp() // the machine knows of this one
		w.want("started t-1 r2", "done t-1 r2 failed lost_midway", "lost offline")
		time.Sleep(kit.BackoffMax)
		w.want("ready")
		w.peer(3).want("session.update", "conversation.item.create", "conversation.item.create")
	})
}

func TestAPressInABrokenAnswerIsKnownToTheNextSession(t *testing.T) {
	for _, early := range []bool{true, false} {
		in(t, nil, func(w *world) {
			w.broken()
			close(w.full)
			cut := func() {
				w.c.Do(turn.CancelResponse{Turn: "t-1"})
				w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 24000})
				synctest.Wait()
			}
			if early {
				synctest.Wait()
				w.c.Do(turn.CreateResponse{Turn: "t-1", Resume: true})
				cut()
			}
			time.Sleep(time.Second)
			q := w.peer(1)
			if !early {
				cut()
			}
			got := strings.Join(q.told(), "|")
			want := "user: Tell me a story.|assistant: Once upon a time"
			if !early {
				want = `user: Tell me a story.|assistant: Once upon a time there was a shell. It|system: The person interrupted you. Of your last answer they heard no more than the words that end in: "Once upon a time"`
			}
			if !strings.HasPrefix(got, want) || strings.Contains(got, "create:") {
				t.Errorf("pressed early: %v: the next session was told %q; want %q", early, got, want)
			}
			q.hangUp()
			time.Sleep(time.Second)
			if got := strings.Join(w.peer(2).told(), "|"); got != "user: Tell me a story.|assistant: Once upon a time" {
				t.Errorf("the session after it was told %q", got)
			}
		})
	}
}
