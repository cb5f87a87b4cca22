package turn

import (
	"strings"
	"testing"
	"time"
)

// A room's answer is made ready while the one before still sounds, and is heard from the moment the floor is free.
func TestHeldAnswerIsHeardWhenTheFloorOpens(t *testing.T) {
	b := newBench(t, Config{Room: true}).run("ready", "wait 1s", "floor t-1 - true you know birds", "wait 800ms", "started t-1 r1", "delta t-1 r1 a 24000", "done t-1 r1", "wait 9s")
	b.want(
		"OpenSpeech turn=t-1 held=true",
		`CreateResponse turn=t-1 prompt="you know birds"`,
		"CloseSpeech turn=t-1",
	)
	b.wantState(InResponse)
	if !b.m.Held() || !b.m.Complete() || b.m.Speech() != 24000 {
		t.Errorf("held %v, complete %v, %d samples; want a complete answer of 24000, held", b.m.Held(), b.m.Complete(), b.m.Speech())
	}
	b.forget().run("floor-opened t-1", "wait 50ms", "heard t-1 1200", "wait 950ms", "drained t-1")
	b.want(
		"ReleaseSpeech turn=t-1",
		"EndTurn turn=t-1 reason=done source=room tofirstaudio=9.8s heard=24000 speech=24000 responses=1 began=1s ended=11.8s",
	)
}

// A held answer that is not complete when the floor opens goes on like any other, with the thinking cue and deadlines of
// one that has just begun.
func TestFloorOpensBeforeTheAnswerIsReady(t *testing.T) {
	b := newBench(t, Config{Room: true}).run("ready", "floor t-1 - true", "wait 2s").forget().run("floor-opened t-1", "wait 500ms")
	b.want("ReleaseSpeech turn=t-1", "PlayCue turn=t-1 cue=thinking")
	b.forget().run("started t-1 r1", "delta t-1 r1 a 24000", "done t-1 r1", "heard t-1 480", "wait 1s", "drained t-1")
	b.want("StopCue cue=thinking", "CloseSpeech turn=t-1",
		"EndTurn turn=t-1 reason=done source=room tofirstaudio=2.48s heard=24000 speech=24000 responses=1 ended=3.5s")

	// The server falls silent in the middle of the answer: 15 s from the opening, not from the last delta.
	b = newBench(t, Config{Room: true}).run(toHeldSpeaking...).run("wait 20s", "floor-opened t-1").forget().run("wait 15s")
	b.wantState(InResponse)
	b.run("wait 2s")
	b.wantHas("SayWords turn=t-1 words=lost_midway")
}

// What ends a held turn, in each of its phases, ends it without a sound and leaves nothing of it in the conversation.
func TestHeldTurnEndsUnheard(t *testing.T) {
	for _, s := range situations {
		if !s.held {
			continue
		}
		for _, end := range []struct{ fact, reason string }{
			{"vote-lost t-1", "lost_vote"},
			{"wait 30s", "lost_vote"},
			{"hush", "interrupted"},
			{"hush true", "interrupted"},
			{"press t-2", "interrupted"},
			{"ask t-2 why", "interrupted"},
			{"lost true", "failed"},
			{"drained t-1", "failed"},
		} {
			if s.phase == asking && end.fact == "wait 30s" { // the server's own deadline comes first
				end.reason = "expired"
			}
			if s.phase != draining && end.fact == "drained t-1" || s.phase == draining && end.fact == "lost true" {
				continue // no fact of that phase; an answer that is complete needs no session
			}
			b := newBench(t, Config{Room: true}).run(s.lines...).forget().run(end.fact)
			b.wantHas("EndTurn turn=t-1 reason=" + end.reason)
			b.wantNot("PlayCue", "SayWords", "CallTool", "TruncateItem", "ReleaseSpeech")
			if !b.has("CutSpeech turn=t-1") && !b.has("FlushSpeaker turn=t-1") {
				t.Errorf("%s, %s: the speech stays\n\t%s", s.name, end.fact, strings.Join(b.orders(), "\n\t"))
			}
			if s.phase != asking && !b.has("DeleteItem turn=t-1 who=ben item=a") && end.fact != "lost true" {
				t.Errorf("%s, %s: the item stays\n\t%s", s.name, end.fact, strings.Join(b.orders(), "\n\t"))
			}
			if s.phase == working && !b.has("SendToolOutput turn=t-1 who=ben call=c1") {
				t.Errorf("%s, %s: the call has no answer", s.name, end.fact)
			}
			for _, o := range b.orders() {
				if strings.HasPrefix(o, "EndTurn turn=t-1") && strings.Contains(o, "heard=") {
					t.Errorf("%s, %s: %s", s.name, end.fact, o)
				}
			}
			if w := b.m.wordsUntil; w != 0 {
				t.Errorf("%s, %s: words until %v", s.name, end.fact, w)
			}
		}
	}
}

// A held answer that fails is no half answer: the next candidate gives a whole one.
func TestHeldAnswerThatFailsIsNotHeard(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toHeldSpeaking...).forget().run("done t-1 r1 failed")
	b.want("DeleteItem turn=t-1 who=ben item=a", "CutSpeech turn=t-1",
		"EndTurn turn=t-1 reason=failed who=ben source=room words=server_error speech=24000 responses=1")
	b = newBench(t, Config{Room: true}).run(toHeld...).forget().run("response-refused t-1 quota")
	b.want("CutSpeech turn=t-1", "EndTurn turn=t-1 reason=failed who=ben source=room words=quota")
	b = newBench(t, Config{Room: true}).run("ready", "lost true key_refused").forget().run("floor t-1 - true")
	b.wantHas("EndTurn turn=t-1 reason=failed source=room words=key_refused")
	b.wantNot("SayWords", "PlayCue")
}

// A tool changes the volume, stops the music, starts a timer: it waits for the floor as the speech does.
func TestToolOfAHeldTurnWaitsForTheFloor(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toHeldWorking...)
	b.wantNot("CallTool")
	b.forget().run("wait 3s", "floor-opened t-1")
	b.want("ReleaseSpeech turn=t-1", "CallTool turn=t-1 who=ben response=r1 call=c1 name=clock cause=room")
	b.forget().run("tool-returned t-1 c1 noon")
	b.want("SendToolOutput turn=t-1 who=ben call=c1 output=noon", "CreateResponse turn=t-1 who=ben prompt=guidance")
}

// Who is alone in the room is granted the floor while still speaking: the answer is asked for without a wait.
func TestFloorGrantedWhileListening(t *testing.T) {
	b := newBench(t, Config{Room: true}).run("ready", "press t-1", "floor t-1 - - you are alone", "capture-started t-1", "wait 1s", "release 24000", "wait 120ms").forget()
	b.run("capture-ended t-1 26880")
	b.want("CommitInput turn=t-1", "OpenSpeech turn=t-1", `CreateResponse turn=t-1 prompt="you are alone"`)

	// Lost again before it was committed; and a loss while it is recorded is for a message that nobody has said.
	b = newBench(t, Config{Room: true}).run("ready", "press t-1", "floor t-1", "capture-started t-1", "wait 1s", "release 24000", "vote-lost t-1", "wait 120ms").forget()
	b.run("capture-ended t-1 26880")
	b.want("CommitInput turn=t-1", "EndTurn turn=t-1 reason=lost_vote listen=1s ended=1.12s")
	b = newBench(t, Config{Room: true}).run(toClosing...).run("vote-lost t-1", "floor t-1 - - after all").forget()
	b.run("capture-ended t-1 26880") // the room's last word counts
	b.want("CommitInput turn=t-1", "OpenSpeech turn=t-1", `CreateResponse turn=t-1 prompt="after all"`)
	b = newBench(t, Config{Room: true}).run(toListening...).forget().run("vote-lost t-1")
	b.wantHas("DropStale turn=t-1 event=VoteLost")

	// Granted with hold, and opened before there was anything to hold.
	b = newBench(t, Config{Room: true}).run("ready", "press t-1", "floor t-1 - true", "capture-started t-1", "wait 1s", "floor-opened t-1", "release 24000", "wait 120ms").forget()
	b.run("capture-ended t-1 26880")
	b.wantHas("OpenSpeech turn=t-1")
	if b.m.Held() {
		t.Error("held although the floor was open")
	}
}

// The button's own turn, held while a better claim may still come: its thinking cue stops, and starts again when the floor
// is open and there is still nothing to hear.
func TestThinkingCueOfAHeldTurn(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toVoting...).run("wait 600ms")
	b.wantHas("PlayCue turn=t-1 cue=thinking")
	b.forget().run("floor t-1 - true", "wait 5s")
	b.want("StopCue cue=thinking", "OpenSpeech turn=t-1 held=true", "CreateResponse turn=t-1")
	b.forget().run("floor-opened t-1", "wait 400ms")
	b.want("ReleaseSpeech turn=t-1", "PlayCue turn=t-1 cue=thinking")

	// A grant without hold opens what an earlier one held.
	b = newBench(t, Config{Room: true}).run(toVoting...).run("floor t-1 - true").forget().run("floor t-1 - false")
	b.want("ReleaseSpeech turn=t-1")
	b.forget().run("floor-opened t-1").want(`DropStale turn=t-1 event=FloorOpened why="nothing is held"`)
}

// Nobody opens it and nobody takes it back: the deadline of its own, and no other, ends it.
func TestHoldHasItsOwnDeadline(t *testing.T) {
	b := newBench(t, Config{Room: true, Hold: 5 * time.Second}).run(toHeldDraining...)
	if at, ok := b.m.Wake(); !ok || at != 5*time.Second {
		t.Errorf("wakes at %v, %v; want 5s", at, ok)
	}
}

// Two companions of one device follow each other: the second one's turn begins when the first one's has ended, and every
// floor that was granted ends in one line, whatever happens first.
func TestFloorGrantedWhileATurnIsLive(t *testing.T) {
	b := newBench(t, Config{}).run(toDraining...).run("floor t-2 - true guidance").forget().run("wait 500ms", "drained t-1")
	b.want("EndTurn turn=t-1 reason=done listen=1s heard=24000 speech=24000 responses=1 ended=1.62s",
		"OpenSpeech turn=t-2 held=true", "CreateResponse turn=t-2 prompt=guidance")
	b.forget().run("floor-opened t-2").want("ReleaseSpeech turn=t-2")

	// Opened before it could begin: nothing to hold any more.
	b = newBench(t, Config{}).run(toDraining...).run("floor t-2 - true", "floor-opened t-2").forget().run("drained t-1")
	b.wantHas("OpenSpeech turn=t-2")
	b.wantNot("OpenSpeech turn=t-2 held=true")

	// The answer before fails in words: after them.
	b = newBench(t, Config{}).run(toSpeaking...).run("floor t-2", "lost true", "done t-1 r1 failed lost_midway", "heard t-1 24000", "drained t-1").forget().run("ready", "wait 1s")
	b.want()
	b.run("words-said").wantHas("CreateResponse turn=t-2")

	const refused = "EndTurn turn=t-2 reason=lost_vote source=room"
	for _, row := range []struct {
		name string
		way  []string
		then []string
	}{
		{"taken back", toDraining, []string{"vote-lost t-2"}},
		{"another one", toDraining, []string{"floor t-3 - true"}},
		{"a press", toDraining, []string{"press t-3"}},
		{"a hush", toDraining, []string{"hush"}},
		{"a question", toDraining, []string{"ask t-3 why"}},
		{"nothing for too long", toWorking, []string{"wait 30s"}},
		{"a person speaks", toListening, nil},
		{"a person has just spoken", toClosing, nil},
		{"a call", []string{"ready", "ask t-1 call", "started t-1 r1", "tool-called t-1 r1 c1 call", "tool-returned t-1 c1 ok input_claim 7", "done t-1 r1", "drained t-1"}, nil},
		{"the call that was about to begin, and a press that bounces", append(clone(toSpeaking), "tool-called t-1 r1 c1 call", "tool-returned t-1 c1 ok input_claim 7", "done t-1 r1"),
			[]string{"drained t-1", "wait 100ms", "press t-3"}},
	} {
		b := newBench(t, Config{Hold: 10 * time.Second}).run(row.way...).forget().run("floor t-2 - true")
		for _, line := range row.then {
			b.wantNot(refused)
			b.run(line)
		}
		n := 0
		for _, o := range b.orders() {
			if strings.HasPrefix(o, refused) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d ends of the granted turn among\n\t%s", row.name, n, strings.Join(b.orders(), "\n\t"))
		}
		b.forget().run("floor t-2 - true", "drained t-1", "words-said").wantNot("OpenSpeech turn=t-2")
	}
}

// The figure is what a person waits: not from the end of the recording, which may come late, to what has only arrived.
func TestTheWaitIsMeasuredToTheFirstSampleHeard(t *testing.T) {
	b := newBench(t, Config{}).run(toClosing...).run("wait 600ms", "capture-ended t-1 30000", "committed t-1 u", "started t-1 r1", "delta t-1 r1 a 24000",
		"wait 400ms", "heard t-1 2400", "wait 1s", "done t-1 r1", "drained t-1")
	b.wantHas("EndTurn turn=t-1 reason=done listen=1s tofirstaudio=900ms heard=24000")
}
