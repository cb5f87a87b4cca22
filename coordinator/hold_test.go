package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// heldRig is a rig in a room whose speech events are in the journal.
func heldRig(t *testing.T) (*rig, *[]SpeechEvent) {
	var events []SpeechEvent // written by the runner, read after settle
	g := newRig(t, func(g *rig, o *Options) {
		o.Turn.Room = true
		o.OnSpeech = func(e SpeechEvent) {
			events = append(events, e)
			g.add("speech %s %v", e.Turn, e.Kind)
		}
	})
	return g, &events
}

// grant begins a turn of the room's, held or not.
func (g *rig) grant(id turn.ID, hold bool) {
	g.Post(turn.FloorGranted{At: g.Now(), Turn: id, Hold: hold, Prompt: "you know birds"})
	g.settle()
}

func (g *rig) open(id turn.ID) {
	g.Post(turn.FloorOpened{At: g.Now(), Turn: id})
	g.settle()
}

// say hands over words and their speech.
func (g *rig) say(id turn.ID, resp turn.ResponseID, text string, d time.Duration) {
	g.Post(turn.Spoken{At: g.Now(), Turn: id, Response: resp, Item: turn.ItemID("item_" + string(resp)), Text: text})
	g.speak(id, resp, d, 1)
}

// ROOM.md 3.5: the answer is ready when the floor is free, and is heard from that moment on.
func TestHeldAnswerIsReadyWhenTheFloorOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.grant("room-1", true)
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "A wren sings loudly.", 300*time.Millisecond)
		g.finish("room-1", "r1")
		time.Sleep(20 * time.Second) // longer than an answer may take to drain
		g.settle()
		if p := g.speaker.played(); len(p) != 0 || len(*events) != 0 || len(g.ends()) != 0 {
			t.Fatalf("held: %v was audible, events %v, ends %q", p, *events, g.ends())
		}
		if g.has("cue thinking") || g.has("light IN_RESPONSE") {
			t.Errorf("a held turn is noticed: %q", g.take())
		}
		opened := g.Now()
		g.open("room-1")
		time.Sleep(100 * time.Millisecond)
		g.settle()
		time.Sleep(time.Second)
		g.settle()
		p := g.speaker.played()
		if len(p) != 1 || p[0].from.Sub(g.start) != opened || p[0].to.Sub(p[0].from) != 300*time.Millisecond {
			t.Errorf("audible %v; want 300 ms from %v", p, opened)
		}
		if len(*events) != 2 || (*events)[0].Kind != SpeechBegan || (*events)[1].Kind != SpeechKnown {
			t.Fatalf("events %+v; want began, known", *events)
		}
		began, known := (*events)[0], (*events)[1]
		if began.At < opened || began.At > opened+time.Millisecond {
			t.Errorf("began at %v; want %v", began.At, opened)
		}
		if known.Text != "A wren sings loudly." || known.At+known.Left < opened+299*time.Millisecond || known.At+known.Left > opened+301*time.Millisecond {
			t.Errorf("known %+v; want the whole text, ending at %v", known, opened+300*time.Millisecond)
		}
		wantInOrder(t, g.take(), "open speech", "hold", "respond", "light COMMITTING", "release", "light IN_RESPONSE", "speech room-1 began", "speech room-1 known", "end room-1 done")
		rec := g.records[0]
		if rec.HeardText != "A wren sings loudly." || !rec.Audible || rec.SpeechMS != 300 || rec.HeardMS != 300 || rec.CommitToFirstAudio != 20000 {
			t.Errorf("record %+v", rec)
		}
	})
}

// Whose turn it is comes with everything that is told of it, and changes no field of the line and the record that people read.
func TestATurnTellsWhoseItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.Post(turn.FloorGranted{At: g.Now(), Turn: "room-1", Who: "ben"})
		g.settle()
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "A wren sings loudly.", 300*time.Millisecond)
		g.finish("room-1", "r1")
		g.quiet()
		if len(*events) != 2 || (*events)[0].Who != "ben" || (*events)[1].Who != "ben" || len(g.records) != 1 || g.records[0].Who != "ben" {
			t.Errorf("events %+v, records %+v; want ben's", *events, g.records)
		}
		for _, l := range g.Recent() {
			if (l.Name == "FloorGranted" || l.Name == "CreateResponse" || l.Name == "EndTurn") && !strings.Contains(l.Text, "Who:ben") {
				t.Errorf("%s does not say whose it is", l)
			}
		}
		told, err := json.Marshal(g.records[0])
		if line := fmt.Sprint(g.records[0].attributes()...); err != nil || strings.Contains(string(told), "ben") || strings.Contains(line, "ben") {
			t.Errorf("%s, %s, %v: people are told a name, and not here", told, line, err)
		}
	})
}

// Whatever takes the floor back, nothing is heard, and the model is told that nothing was.
func TestHeldAnswerThatIsTakenBackIsNeverHeard(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"vote lost":       func(g *rig) { g.Post(turn.VoteLost{At: g.Now(), Turn: "room-1"}) },
		"press":           func(g *rig) { g.press() },
		"question":        func(g *rig) { g.Ask("why?") },
		"hush":            func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
		"hush, elsewhere": func(g *rig) { g.HushRoom(g.Now(), g.speaker.Drop()) },
		"shutdown":        func(g *rig) { _ = g.stop() },
		"press, then opened": func(g *rig) {
			gen := g.speaker.Drop() // the edge; its fact comes after the room's
			g.Post(turn.FloorOpened{At: g.Now(), Turn: "room-1"})
			g.settle()
			g.Press(g.Now(), gen, button)
		},
		"vote lost, then opened": func(g *rig) {
			g.Post(turn.VoteLost{At: g.Now(), Turn: "room-1"})
			g.Post(turn.FloorOpened{At: g.Now(), Turn: "room-1"})
		},
	} {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", complete ", complete), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g, events := heldRig(t)
					g.grant("room-1", true)
					g.respond("room-1", "r1")
					g.say("room-1", "r1", "A wren sings loudly.", 300*time.Millisecond)
					if complete {
						g.finish("room-1", "r1")
					}
					time.Sleep(time.Second)
					end(g)
					time.Sleep(2 * time.Second)
					g.settle()
					if p := g.speaker.played(); len(p) != 0 || len(*events) != 0 {
						t.Errorf("%v was audible, events %v", p, *events)
					}
					if !g.has("delete item_r1") {
						t.Errorf("the item was not deleted: %q", g.take())
					}
					if len(g.records) == 0 {
						t.Fatal("no record")
					}
					if rec := g.records[0]; rec.Audible || rec.HeardMS != 0 || rec.HeardText != "" || rec.SpeechMS != 300 || rec.Said == "" {
						t.Errorf("record %+v; want 300 ms of speech that nobody heard", rec)
					}
				})
			})
		}
	}
}

// What was only prepared takes nothing else with it: the book goes on.
func TestTakingBackAHeldAnswerLeavesContentAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := heldRig(t)
		g.tools["book"] = func(context.Context, string) ToolResult {
			return ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{Run: func(_ context.Context, write func([]int16) error) error {
				return write(tone(time.Minute, 5))
			}}}
		}
		g.grant("room-1", false)
		g.respond("room-1", "r1")
		g.Post(turn.ToolCalled{At: g.Now(), Turn: "room-1", Response: "r1", Call: "c1", Name: "book"})
		g.settle()
		g.finish("room-1", "r1")
		time.Sleep(time.Second)
		g.settle()
		wantEqual(t, "ends", g.ends(), []string{"room-1 done"})

		g.grant("room-2", true)
		g.respond("room-2", "r2")
		g.say("room-2", "r2", "Never mind.", 300*time.Millisecond)
		time.Sleep(time.Second)
		g.Post(turn.VoteLost{At: g.Now(), Turn: "room-2"})
		time.Sleep(5 * time.Second)
		g.settle()
		wantEqual(t, "ends", g.ends(), []string{"room-1 done", "room-2 lost_vote"})
		p := g.speaker.played()
		if len(p) != 1 || p[0].value != 5 || p[0].to.Sub(p[0].from) < 6*time.Second {
			t.Errorf("audible %v; want the book alone, without a gap", p)
		}
	})
}

// A person who is being recorded goes on when somebody presses elsewhere, and is answered.
func TestHushOfTheRoomLetsARecordingGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := heldRig(t)
		id := g.press()
		g.settle()
		g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
		time.Sleep(300 * time.Millisecond)
		g.HushRoom(g.Now(), g.speaker.Drop())
		g.settle()
		if s := g.State(); s != turn.Listening {
			t.Fatalf("state %v after a press elsewhere; want LISTENING", s)
		}
		g.grant(id, false) // alone, as it turns out
		time.Sleep(700 * time.Millisecond)
		g.Release(g.Now(), rate, button)
		g.settle()
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
		g.settle()
		wantInOrder(t, g.take(), "mic open", "mic end", "commit", "open speech", "respond")
		g.respond(id, "r1")
		g.say(id, "r1", "Yes.", 200*time.Millisecond)
		g.finish(id, "r1")
		time.Sleep(time.Second)
		wantEqual(t, "ends", g.ends(), []string{string(id) + " done"})
	})
}

// A press in the middle: the record says what was heard, to a whole word, and how much there was.
func TestRecordOfACutAnswerSaysWhatWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.grant("room-1", false)
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "one two three four ", 200*time.Millisecond)
		g.finish("room-1", "r1")
		time.Sleep(110 * time.Millisecond)
		g.press()
		time.Sleep(time.Second)
		g.settle()
		rec := g.records[0]
		if rec.HeardText != "one two" || rec.Said != "one two three four" || !rec.Audible || rec.SpeechMS != 200 || rec.HeardMS != 110 {
			t.Errorf("record %+v; want \"one two\" of 200 ms", rec)
		}
		if len(*events) != 2 || (*events)[0].Kind != SpeechBegan || (*events)[1].Kind != SpeechKnown {
			t.Errorf("events %+v; want began, known", *events)
		}
	})
}

// While the answer still comes its words are ahead of its samples: no more of them counts than could have been said.
func TestWordsThatRunAheadAreNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.grant("room-1", false)
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "The wren is a small bird that sings louder than any other.", 500*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		g.press()
		time.Sleep(time.Second)
		g.settle()
		if got := g.records[0].HeardText; got != "The wren" {
			t.Errorf("heard %q; want \"The wren\", which is what half a second has room for", got)
		}
		if len(*events) != 1 || (*events)[0].Kind != SpeechBegan {
			t.Errorf("events %+v; want began alone: the answer never was complete", *events)
		}
	})
}

// An answer with a tool in the middle is known when its last round is, and not before.
func TestSpeechIsKnownAfterTheLastRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.tools["clock"] = func(context.Context, string) ToolResult { return ToolResult{Output: "noon"} }
		g.grant("room-1", false)
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "Let me see. ", 300*time.Millisecond)
		g.Post(turn.ToolCalled{At: g.Now(), Turn: "room-1", Response: "r1", Call: "c1", Name: "clock"})
		g.settle()
		g.finish("room-1", "r1")
		time.Sleep(time.Second)
		g.settle()
		if len(*events) != 1 {
			t.Fatalf("events %+v; want began alone", *events)
		}
		g.respond("room-1", "r2")
		g.say("room-1", "r2", "It is noon.", 300*time.Millisecond)
		g.finish("room-1", "r2")
		time.Sleep(100 * time.Millisecond)
		g.settle()
		if len(*events) != 2 || (*events)[1].Text != "Let me see. It is noon." {
			t.Fatalf("events %+v; want known with the text of both rounds", *events)
		}
		time.Sleep(time.Second)
		g.settle()
		if got := g.records[0].HeardText; got != "Let me see. It is noon." {
			t.Errorf("heard %q", got)
		}
	})
}

// A card that plays nothing: no event says that anything was heard.
func TestNothingIsSaidOfSpeechThatNobodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := heldRig(t)
		g.speaker.mu.Lock()
		g.speaker.dead = true
		g.speaker.mu.Unlock()
		g.grant("room-1", false)
		g.respond("room-1", "r1")
		g.say("room-1", "r1", "Anybody there?", 300*time.Millisecond)
		g.finish("room-1", "r1")
		g.quiet()
		if len(*events) != 0 || len(g.records) != 1 || g.records[0].Audible || g.records[0].Reason == "done" {
			t.Errorf("events %+v, records %+v; want none, and one that is not done", *events, g.records)
		}
	})
}

// The end of a turn overtakes the look at the card: what was heard is told all the same, in order.
func TestEndOfATurnTellsWhatWasNotToldBefore(t *testing.T) {
	for _, row := range []struct {
		reason turn.Reason
		heard  int
		want   string
	}{
		{turn.Done, 480, "[began known]"},
		{turn.InterruptedByPress, 480, "[began]"},
		{turn.LostVote, 0, "[]"},
		{turn.Done, 0, "[]"},
	} {
		var got []SpeechKind
		c, err := New(Options{
			Voice: nullVoice{}, Speaker: &nullSpeaker{}, Mic: nullVoice{}, Tools: fakeTools{}, Light: nullVoice{}, Phrases: nullVoice{},
			OnSpeech: func(e SpeechEvent) { got = append(got, e.Kind) },
			OnEnd:    func(Record) { got = append(got, 9) },
		})
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(t.Context(), c)
		r.endTurn(turn.EndTurn{Turn: "t-1", Summary: turn.Summary{Reason: row.reason, Heard: row.heard, Speech: row.heard}})
		if n := len(got); n == 0 || got[n-1] != 9 || fmt.Sprint(got[:n-1]) != row.want {
			t.Errorf("%v, %d heard: told %v before the record; want %s", row.reason, row.heard, got, row.want)
		}
	}
}

// A device that is alone in its room has the floor from the press on: one fact, which waits for no room in the inbox, and an
// answer that waits for no vote.
func TestPressAloneIsAnsweredWithoutAVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := heldRig(t)
		utter := func(press func(time.Duration, uint64, turn.Button) turn.ID) turn.ID {
			id := press(g.Now(), g.speaker.Drop(), button)
			g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			g.settle()
			g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
			g.settle()
			return id
		}
		utter(g.Press)
		if g.has("respond") {
			t.Fatalf("in a room, an answer was asked for without a vote: %q", g.take())
		}
		g.take()
		id := utter(g.PressAlone)
		g.answer(id, "r2", 300*time.Millisecond, 1)
		wantInOrder(t, g.take(), "mic open", "mic end", "commit", "open speech", "respond", "end "+string(id)+" done")
	})
}

// A press elsewhere that takes no floor silences an answer at once. The answer's words are still made: they are in the record whole, what was
// heard of them apart, and the figure of the silence is that of the press. A press at this device in the meantime interrupts as ever.
func TestASilencedAnswerIsWrittenToItsEnd(t *testing.T) {
	for _, pressed := range []bool{false, true} {
		t.Run(fmt.Sprint("pressed ", pressed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := heldRig(t)
				g.grant("room-1", false)
				g.respond("room-1", "r1")
				g.say("room-1", "r1", "A wren sings", 120*time.Millisecond)
				time.Sleep(100 * time.Millisecond)
				for range 20 {
					g.QuietRoom(g.Now())
					g.settle()
					time.Sleep(50 * time.Millisecond)
				}
				g.Post(turn.Spoken{At: g.Now(), Turn: "room-1", Response: "r1", Item: "item_r1", Text: " loudly in the hedge behind the house."})
				if n := g.speak("room-1", "r1", time.Second, 1); n != 0 || len(g.ends()) != 0 || g.has("light IDLE") != true {
					t.Fatalf("%d samples were taken; ends %q", n, g.ends())
				}
				if pressed {
					g.press()
					g.settle()
					if s := g.State(); s != turn.Listening {
						t.Errorf("a press leads to %v", s)
					}
				} else {
					g.finish("room-1", "r1")
				}
				time.Sleep(time.Second)
				g.settle()
				if p := g.speaker.played(); len(p) != 1 || p[0].to.Sub(p[0].from) > 120*time.Millisecond {
					t.Errorf("audible: %v", p)
				}
				wantInOrder(t, g.take(), "truncate item_r1 at 100ms", "end room-1 interrupted")
				rec := g.records[0]
				whole := rec.Said == "A wren sings loudly in the hedge behind the house."
				if !whole || rec.HeardMS != 100 || strings.Contains(rec.HeardText, "loudly") || rec.Whole ||
					rec.PressToSilence == nil || *rec.PressToSilence > 20 || !rec.Elsewhere {
					t.Errorf("record %+v", rec)
				}
			})
		})
	}
}
