package realtime

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// texts lists what the server was told in words, in order, as "role: text".
func (p *peer) texts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, ev := range p.got {
		it, ok := ev["item"].(map[string]any)
		if !ok || it["type"] != "message" {
			continue
		}
		out = append(out, it["role"].(string)+": "+it["content"].([]any)[0].(map[string]any)["text"].(string))
	}
	return out
}

func (p *peer) wantTexts(want ...string) {
	p.w.t.Helper()
	p.w.took()
	if got := p.texts(); strings.Join(got, "|") != strings.Join(want, "|") {
		p.w.t.Errorf("the server was told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (w *world) remember(texts ...string) {
	for _, s := range texts {
		w.c.Do(turn.AddText{Role: "user", Text: s})
	}
}

// What others say is in the conversation at once, between turns and in the middle of one, and the turn does not notice.
func TestTheRoomIsHeardBetweenAndDuringTurns(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.remember("[Ben] one", "[Ben] two")
		p.wantTexts("user: [Ben] one", "user: [Ben] two")
		w.say("t-1", 4800)
		w.remember("[Ben] three") // the person is still speaking
		w.took()
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1", Prompt: "Be brief."})
		w.want("committed t-1")
		if s := p.last("response.create")["response"].(map[string]any)["instructions"]; s != "You are Ada.\n\nBe brief." {
			t.Errorf("instructions = %q; want who it is, then the guidance", s)
		}
		w.remember("[Ben] four") // asked, not yet answered
		p.created("r1", "t-1")
		p.delta("r1", "i1", 2400)
		w.remember("[Ben] five") // it answers
		p.doneResponse("r1", "completed")
		w.want("started t-1 r1", "delta t-1 r1 2400", "done t-1 r1 completed")
		p.wantTexts("user: [Ben] one", "user: [Ben] two", "user: [Ben] three", "user: [Ben] four", "user: [Ben] five")
	})
}

// What the room said survives a press, the loss of the session and its renewal, in order, once.
func TestTheRoomSurvivesPressesAndSessions(t *testing.T) {
	in(t, nil, func(w *world) {
		w.remember("[Ben] one")
		w.c.Do(turn.ClearInput{Turn: "t-1"}) // a press, and at once another one
		w.remember("[Ben] two")
		w.c.Do(turn.ClearInput{Turn: "t-2"})
		w.c.Append("t-2", make([]int16, 4800))
		w.took()
		w.peer(0).hangUp() // in the middle of the utterance
		w.took()
		w.remember("[Ben] three") // nobody is there
		w.c.Do(turn.CommitInput{Turn: "t-2"})
		w.c.Do(turn.CreateResponse{Turn: "t-2"})
		time.Sleep(time.Second) // in a bubble
		w.want("ready", "committed t-2")
		p := w.peer(1)
		p.want("session.update", "conversation.item.create", "conversation.item.create", "conversation.item.create", "clear", "append", "commit", "response.create")
		p.wantTexts("user: [Ben] one", "user: [Ben] two", "user: [Ben] three")

		// Lost again before the answer, which it was at: that is told, the room is not told of twice.
		w.remember("[Ben] four")
		w.took()
		p.hangUp()
		w.want("lost offline", "no answer t-2 no_answer")
		time.Sleep(time.Second) // in a bubble
		w.took()
		p = w.peer(2)
		p.wantTexts("user: [Ben] one", "user: [Ben] two", "user: [Ben] three", "user: [Ben] four")
		w.ask("t-3")
		p.created("r1", "t-3")
		p.delta("r1", "i1", 2400)
		p.doneResponse("r1", "completed")
		w.want("started t-3 r1", "delta t-3 r1 2400", "done t-3 r1 completed")

		// A room that talks all the time does not keep the session from being renewed before the server ends it.
		for range 58 * 6 {
			w.remember("[Ben] on and on")
			time.Sleep(10 * time.Second) // in a bubble
		}
		w.want()
		p = w.peer(3)
		if got := p.texts(); len(got) < 30 || got[len(got)-1] != "user: [Ben] on and on" {
			t.Errorf("the renewed session was told %q", got)
		}
	})
}

// A cut turn takes none of it away: neither what came before nor what came during the turn.
func TestACutTurnLeavesTheRoom(t *testing.T) {
	in(t, nil, func(w *world) {
		w.peer(0).hangUp()
		w.took()
		w.remember("[Ben] one")
		w.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "a question"})
		w.remember("[Ben] two")
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		w.c.Do(turn.CancelResponse{Turn: "t-1"})
		time.Sleep(time.Second) // in a bubble
		w.want("ready")
		w.peer(1).wantTexts("user: [Ben] one", "user: [Ben] two")
	})
}

// At each bound: the newest are kept, in order; no session is given up, and no order of a turn is lost for it.
func TestABurstOfTheRoomIsBounded(t *testing.T) {
	burst := func(w *world, n int) {
		for i := range n {
			w.remember(fmt.Sprintf("[Ben] %d", i))
		}
	}
	t.Run("before anybody looks", func(t *testing.T) {
		r, stop := bareRun(t)
		defer stop()
		w := r.out.(*world)
		r.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "before"})
		for i := range 5000 {
			r.c.Do(turn.AddText{Role: "user", Text: fmt.Sprintf("[Ben] %d", i)})
		}
		r.c.Do(turn.AddText{Turn: "t-1", Role: "user", Text: "after"})
		r.step()
		if r.link == nil || len(w.facts) != 0 {
			t.Fatalf("link %v, facts %v; want nothing to have happened", r.link, w.facts)
		}
		e := r.history.Entries
		if len(e) != kit.MaxHistory || e[len(e)-3].Text != "[Ben] 4999" || e[len(e)-2].Text != "before" || e[len(e)-1].Text != "after" {
			t.Errorf("%d entries, the last %+v", len(e), e[max(0, len(e)-3):])
		}
	})
	t.Run("online", func(t *testing.T) {
		in(t, nil, func(w *world) {
			burst(w, 50)
			w.took()
			burst(w, 50)
			w.want()
			if got := w.peer(0).texts(); len(got) != 100 || got[99] != "user: [Ben] 49" {
				t.Errorf("%d texts, the last %q", len(got), got[len(got)-1])
			}
			w.ask("t-1")
		})
	})
	t.Run("offline", func(t *testing.T) {
		in(t, nil, func(w *world) {
			w.peer(0).hangUp()
			w.want("lost offline")
			burst(w, 1000)
			w.remember(strings.Repeat("ö", kit.MaxHistoryText))
			time.Sleep(time.Second) // in a bubble
			w.want("ready")
			got := w.peer(1).texts()
			if len(got) > kit.MaxHistory || !strings.HasPrefix(got[len(got)-1], "user: ööö") || len(got[len(got)-1]) > maxMemoryText+20 || got[len(got)-2] != "user: [Ben] 999" {
				t.Errorf("%d texts, the last %.20q", len(got), got[max(0, len(got)-2):])
			}
			w.ask("t-1")
		})
	})
}

// The room's memory under a turn's name that is not this device's: it is text of a turn that is never answered, and lives
// as long.
func TestTextOfAForeignTurnIsKept(t *testing.T) {
	in(t, nil, func(w *world) {
		w.c.Do(turn.AddText{Turn: "t-elsewhere", Role: "user", Text: "[Ben] one"})
		w.say("t-1", 4800)
		w.took()
		w.peer(0).hangUp()
		w.c.Do(turn.AddText{Turn: "t-elsewhere", Role: "user", Text: "[Ben] two"})
		w.c.Do(turn.CommitInput{Turn: "t-1"})
		w.c.Do(turn.CreateResponse{Turn: "t-1"})
		time.Sleep(time.Second) // in a bubble
		w.took()
		w.peer(1).wantTexts("user: [Ben] one", "user: [Ben] two")
	})
}
