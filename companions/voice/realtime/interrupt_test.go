package realtime

import (
	"testing"
	"time"

	"conch/coordinator/turn"
)

// ask speaks, commits and asks; the server has response.create when it returns.
func (w *world) ask(id turn.ID) {
	w.say(id, 4800)
	w.c.Do(turn.CommitInput{Turn: id})
	w.c.Do(turn.CreateResponse{Turn: id})
	w.want("committed " + string(id))
}

func TestInterruptCancelsTruncatesAndDropsWhatComesLate(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 24000)
		w.want("started t-1 r1", "delta t-1 r1 24000")
		// 12,345 samples are 514.375 ms: rounded down, because the server refuses what is beyond the item.
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
		w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 12345})
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"}) // twice is harmless
		w.want()
		if id := p.last("response.cancel")["response_id"]; id != "r1" {
			t.Errorf("response.cancel of %v; want r1", id)
		}
		if ms := p.last("conversation.item.truncate")["audio_end_ms"]; ms != 514.0 {
			t.Errorf("truncate at %v ms; want 514", ms)
		}
		w.say("t-2", 4800)
		w.c.Do(turn.CommitInput{Turn: "t-2"})
		w.c.Do(turn.CreateResponse{Turn: "t-2"})
		p.delta("r1", "i1", 2400) // late
		w.want("committed t-2")
		p.want("session.update", "clear", "append", "commit", "response.create", "response.cancel", "conversation.item.truncate", "clear", "append", "commit")
		p.doneResponse("r1", "cancelled") // only now may the next answer be asked for
		w.want("done t-1 r1 cancelled")
		if got := p.last("response.create")["response"].(map[string]any)["metadata"].(map[string]any)["turn"]; got != "t-2" {
			t.Fatalf("the latest response.create is for %v; want t-2", got)
		}
		p.created("r2", "t-2")
		p.delta("r1", "i1", 2400)         // later still
		p.doneResponse("r1", "completed") // and the end of r1 once more: it does not end r2
		p.delta("r2", "i2", 2400)
		p.doneResponse("r2", "completed")
		w.want("started t-2 r2", "delta t-2 r2 2400", "done t-2 r2 completed")
	})
}

func TestTruncateNeverBeyondWhatCame(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2423)
		w.took()
		w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "i1", Heard: 1 << 30})
		w.c.Do(turn.TruncateItem{Turn: "t-1", Item: "nobody's", Heard: 24})
		w.c.Do(turn.DeleteItem{Turn: "t-1", Item: "i1"})
		w.want()
		if ms := p.last("conversation.item.truncate")["audio_end_ms"]; ms != 100.0 {
			t.Errorf("truncate at %v ms; want 100 (2423 samples came)", ms)
		}
		if id := p.last("conversation.item.delete")["item_id"]; id != "i1" {
			t.Errorf("deleted %v; want i1", id)
		}
	})
}

func TestCancelBeforeTheAnswerBegan(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		w.want()
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		w.want() // nobody is told of an answer nobody wants
		if id := p.last("response.cancel")["response_id"]; id != "r1" {
			t.Errorf("response.cancel of %v; want r1", id)
		}
		p.doneResponse("r1", "cancelled")
		w.want("done t-1 r1 cancelled")
	})
}

func TestOneAnswerIsAskedForAtATime(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		w.ask("t-2") // nothing is known of the first yet
		p.want("session.update", "clear", "append", "commit", "response.create", "clear", "append", "commit")
		p.created("r1", "t-1")
		p.doneResponse("r1", "cancelled")
		w.want("done t-1 r1 cancelled")
		if got := p.last("response.create")["response"].(map[string]any)["metadata"].(map[string]any)["turn"]; got != "t-2" {
			t.Errorf("the latest response.create is for %v; want t-2", got)
		}
	})
}

// A tool of a turn long cut returns while the way is blocked, and somebody presses again: its call is answered all the same, or
// it would stand open in the conversation for ever.
func TestAnAnswerToACallOutlivesThePressesBehindIt(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.send(map[string]any{"type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "i1", "output_index": 0, "call_id": "c1", "name": "clock", "arguments": "{}"})
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "call t-1 c1 clock({})", "done t-1 r1 completed")
		w.ask("t-2")
		p.created("r2", "t-2")
		w.want("started t-2 r2")
		w.c.Do(turn.CancelResponse{Turn: "t-2", Response: "r2"})
		w.ask("t-3") // waits for the end of r2
		w.c.Do(turn.SendToolOutput{Turn: "t-1", Call: "c1", Output: "noon"})
		w.c.Do(turn.CancelResponse{Turn: "t-3"})
		w.ask("t-4")
		w.took()
		p.doneResponse("r2", "cancelled")
		w.took()
		if item, _ := p.last("conversation.item.create")["item"].(map[string]any); item["call_id"] != "c1" || item["output"] != "noon" {
			t.Errorf("the last item created is %v; want the answer to c1", item)
		}
		if got := p.last("response.create")["response"].(map[string]any)["metadata"].(map[string]any)["turn"]; got != "t-4" {
			t.Errorf("the latest response.create is for %v; want t-4", got)
		}
	})
}

func TestAnAnswerThatNeverEndsIsWaitedForOnlySoLong(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
		w.want("started t-1 r1")
		w.ask("t-2")
		creates := func() (n int) {
			for _, typ := range p.types() {
				if typ == "response.create" {
					n++
				}
			}
			return n
		}
		if n := creates(); n != 1 {
			t.Fatalf("%d response.create while an answer lives; want 1", n)
		}
		time.Sleep(createPatience) // in a bubble
		w.want()
		if n := creates(); n != 2 {
			t.Fatalf("%d response.create after %v; want 2", n, createPatience)
		}
		p.created("r2", "t-2")
		p.delta("r2", "i2", 2400)
		p.doneResponse("r2", "completed")
		w.want("started t-2 r2", "delta t-2 r2 2400", "done t-2 r2 completed")
	})
}

// A turn waited for a server that said nothing, and was given up: the next one does not wait for it once more.
func TestARequestThatWasLeftWithoutAWordDoesNotDelayTheNextTurn(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		time.Sleep(createPatience) // in a bubble
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		w.ask("t-2")
		w.want()
		if got := p.last("response.create")["response"].(map[string]any)["metadata"].(map[string]any)["turn"]; got != "t-2" {
			t.Errorf("the latest response.create is for %v; want t-2 at once", got)
		}
		p.created("r1", "t-1") // now it comes: it names its turn, and is not the answer to the other one
		w.want()
		if id := p.last("response.cancel")["response_id"]; id != "r1" {
			t.Errorf("response.cancel of %v; want r1", id)
		}
		p.created("r2", "t-2")
		w.want("started t-2 r2")
	})
}

func TestAFullSpeakerStopsNeitherTheReaderNorTheCut(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.full = make(chan struct{})
		w.ask("t-1")
		p.created("r1", "t-1")
		for range 100 {
			p.delta("r1", "i1", 2400)
		}
		p.send(map[string]any{"type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "i2", "output_index": 1, "call_id": "c1", "name": "clock", "arguments": "{}"})
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "call t-1 c1 clock({})") // the call passes the speech
		w.c.Do(turn.CancelResponse{Turn: "t-1", Response: "r1"})
		w.want("done t-1 r1 cancelled")
		for _, typ := range p.types() {
			if typ == "response.cancel" {
				t.Error("response.cancel for an answer the server had ended")
			}
		}
	})
}

func TestSpeechOfATurnThatIsOverIsSwallowed(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask("t-1")
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		w.took()
		w.mu.Lock()
		w.deaf["t-1"] = true
		w.mu.Unlock()
		p.delta("r1", "i1", 24000)
		p.delta("r1", "i1", 24000)
		p.doneResponse("r1", "completed")
		w.want("done t-1 r1 completed")
	})
}

func TestAnswerThatIsTooLongFailsInWords(t *testing.T) {
	in(t, func(c *Config) { c.MaxAnswer = time.Second }, func(w *world) {
		p := w.peer(0)
		w.full = make(chan struct{})
		w.ask("t-1")
		p.created("r1", "t-1")
		for range 12 {
			p.delta("r1", "i1", 2400)
		}
		w.want("started t-1 r1", "done t-1 r1 failed server_error")
		p.last("response.cancel")
		p.doneResponse("r1", "cancelled")
		w.want()
		close(w.full)
		w.ask("t-2")
	})
}
