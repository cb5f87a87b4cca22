package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TURNS.md 8, row 1.
func TestLateDoneOfTheCancelledResponseDoesNotEndTheNewTurn(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...)
	b.run("press t-2", "capture-started t-2", "wait 1s", "release 24000", "wait 120ms", "capture-ended t-2 26880").forget()
	b.run("done t-1 r1 cancelled", "delta t-1 r1 a 2400", "drained t-1")
	b.want(
		`DropStale turn=t-1 event=ResponseDone why="another turn is live"`,
		`DropStale turn=t-1 event=DeltaArrived why="another turn is live"`,
	)
	b.wantState(Committing)
	// Nor under the new turn's name: a voice that mixes up turns still names the response.
	b.run("started t-2 r2", "delta t-2 r2 b 2400").forget().run("done t-2 r1 cancelled", "delta t-2 r1 a 2400")
	b.want(
		`DropStale turn=t-2 event=ResponseDone why="another response is live"`,
		`DropStale turn=t-2 event=DeltaArrived why="another response is live"`,
	)
	b.wantState(InResponse)
}

// TURNS.md 8, row 2.
func TestToolRunningAtThePressAnswersButHasNoEffect(t *testing.T) {
	for _, effect := range []string{"none", "audio_stream 7", "play_sound 7", "cancel_media", "set_volume - 50", "input_claim 7"} {
		b := newBench(t, Config{}).run(toWorking...).run("press t-2").forget()
		b.run("tool-returned t-1 c1 noon " + effect)
		want := []string{"SendToolOutput turn=t-1 call=c1 output=noon"}
		if kind, handle, ok := strings.Cut(effect, " 7"); ok {
			want = append(want, "DiscardHandle turn=t-1 handle=7 kind="+kind+" why=interrupted"+handle)
		}
		b.want(want...)
		b.wantState(Listening)
		if !b.m.Online() {
			t.Error("the session is gone")
		}
	}
}

// TURNS.md 8, row 3: silence is ordered before the producer is stopped, and nobody waits for its end. A press leaves content to the
// focus (TURNS.md 4).
func TestFlushComesBeforeStopAndNothingWaits(t *testing.T) {
	book := []string{"ready", "ask t-0 play", "started t-0 r0", "tool-called t-0 r0 c0 play", "tool-returned t-0 c0 ok audio_stream 7", "done t-0 r0", "drained t-0"}
	b := newBench(t, Config{}).run(book...)
	if !b.m.Streaming() {
		t.Fatal("no stream plays")
	}
	b.forget().run("wait 1s", "press t-1")
	b.want("FlushSpeaker turn=t-1", "OpenCapture turn=t-1", "ClearInput turn=t-1")
	b.wantState(Listening)
	if !b.m.Streaming() {
		t.Error("the press ended the stream")
	}
	b = newBench(t, Config{}).run(book...).forget().run("wait 1s", "hush")
	b.want("FlushSpeaker", "StopStream handle=7")

	// The same with an injected turn speaking over it and something latched: the six steps in their order.
	b = newBench(t, Config{}).run(book...).run("inject t-1 tea", "started t-1 r1", "delta t-1 r1 a 24000",
		"tool-called t-1 r1 c1 play", "tool-returned t-1 c1 ok audio_stream 8", "heard t-1 12000").forget().run("hush")
	var got []string
	for _, o := range b.orders() {
		got = append(got, strings.Fields(o)[0])
	}
	want := []string{"FlushSpeaker", "DiscardHandle", "StopStream", "CancelResponse", "TruncateItem", "EndTurn"}
	if !slices.Equal(got, want) {
		t.Errorf("ordered %v; want %v", got, want)
	}
}

// TURNS.md 8, row 4 as far as it is the machine's: an injection during the tail does not begin.
func TestInjectionDuringTheTailDoesNotCutIt(t *testing.T) {
	b := newBench(t, Config{}).run(toDraining...).forget().run("inject t-2 tea")
	b.want(`DropStale turn=t-2 event=TurnInjected why="the device is not quiet"`)
	b.run("drained t-1")
	if !b.m.Quiet() {
		t.Error("not quiet after the last sample")
	}
	b.forget().run("inject t-2 tea").want("OpenSpeech turn=t-2", "CreateResponse turn=t-2 prompt=tea notools=true")

	// Nor over the local words that say why an answer failed.
	b = newBench(t, Config{}).run(toAsking...).run("response-refused t-1 quota").forget().run("inject t-2 tea")
	b.want(`DropStale turn=t-2 event=TurnInjected why="the device is not quiet"`)
	b.forget().run("words-said", "inject t-2 tea").want("OpenSpeech turn=t-2", "CreateResponse turn=t-2 prompt=tea notools=true")
}

// A card that died in the middle of the answer: it failed, and the model learns what was heard of it.
func TestAnswerThatNobodyHeard(t *testing.T) {
	b := newBench(t, Config{}).run(toDraining...).forget().run("drained t-1 2400")
	b.wantHas("TruncateItem turn=t-1 item=a heard=21600")
	b.wantHas("SayWords turn=t-1 words=no_answer")
}

// TURNS.md 8, row 6: after each of these the machine is quiet, so that the queue drains.
func TestEveryEndLeavesTheMachineQuiet(t *testing.T) {
	call := []string{"ready", "ask t-1 call", "started t-1 r1", "tool-called t-1 r1 c1 call", "tool-returned t-1 c1 ok input_claim 7", "done t-1 r1", "drained t-1", "wait 1s"}
	for _, row := range []struct {
		name  string
		lines []string
	}{
		{"press too short", append(clone(toListening), "release 2399")},
		{"commit refused", append(clone(toAsking), "refused t-1", "words-said")},
		{"session lost while answering", append(clone(toSpeaking), "lost", "done t-1 r1 failed lost_midway", "heard t-1 24000", "wait 7s", "words-said")},
		{"session lost while a tool runs", append(clone(toWorking), "lost", "heard t-1 24000", "drained t-1", "words-said")},
		{"session lost while asking", append(clone(toAsking), "lost", "wait 6s", "words-said")},
		{"session lost for good", append(clone(toListening), "lost true key_refused", "words-said", "ready")},
		{"microphone lost", append(clone(toListening), "capture-lost t-1", "words-said")},
		{"response refused", append(clone(toAsking), "response-refused t-1 quota", "words-said")},
		{"answer done", append(clone(toDraining), "drained t-1")},
		{"card gone while answering", append(clone(toDraining), "drained t-1 2400", "words-said")},
		{"hushed", append(clone(toSpeaking), "hush")},
		{"call hung up", append(clone(call), "press t-2", "claim-ended 7 hung-up")},
		{"call ended", append(clone(call), "claim-ended 7 finished")},
		{"call broke", append(clone(call), "claim-ended 7 failed", "words-said")},
	} {
		b := newBench(t, Config{}).run(row.lines...)
		if !b.m.Quiet() || b.m.State() != Idle {
			t.Errorf("%s: state %v, quiet %v", row.name, b.m.State(), b.m.Quiet())
		}
		b.forget().run("inject t-9 tea")
		b.wantHas("CreateResponse turn=t-9 prompt=tea")
	}
}

// TURNS.md 8, row 7.
func TestStrayOrDoubleReleaseDoesNothing(t *testing.T) {
	for i, s := range situations {
		if s.phase == recording {
			continue
		}
		if how, orders := cell(t, i, "release 24000"); how != "." {
			t.Errorf("%s: a stray release leads to %s %v", s.name, how, orders)
		}
	}
	b := newBench(t, Config{}).run("wait 10s").run(toListening...).forget()
	b.feed(Released{At: 9 * time.Second, Held: 24000})
	b.want()
	b.wantState(Listening)
}

// TURNS.md 8, row 9.
func TestSecondPressWithoutReleaseThrowsTheEarlierAudioAway(t *testing.T) {
	b := newBench(t, Config{}).run(toListening...).run("wait 3s").forget().run("press t-2")
	b.want(
		"FlushSpeaker turn=t-1",
		"DropCapture turn=t-1",
		"ClearInput turn=t-1",
		"EndTurn turn=t-1 reason=interrupted ended=3s interruptedin=LISTENING",
		"OpenCapture turn=t-2",
		"ClearInput turn=t-2",
	)
	b.forget().run("press t-2").want(`DropStale turn=t-2 event=Pressed why="this turn has begun already"`)
}

// TURNS.md 8, row 10.
func TestEveryWaitingStateEndsInWordsAndIdle(t *testing.T) {
	for _, s := range situations {
		if s.state == Idle || s.state == Listening || s.held || s.phase == writing { // LISTENING commits; what follows waits as here
			continue
		}
		for _, lost := range []bool{false, true} {
			b := newBench(t, Config{Room: s.room}).run(s.lines...).forget()
			if lost {
				b.run("lost")
			}
			b.wait(40*time.Second, func(string) {})
			b.wantState(Idle)
			b.wantHas("EndTurn", "SayWords", "PlayCue")
			if b.m.Quiet() && !b.has("SayWords") {
				t.Errorf("%s, lost %v: silent end", s.name, lost)
			}
			n := 0
			for _, e := range b.out {
				if e, ok := e.(EndTurn); ok {
					n++
					if e.Summary.Words == "" {
						t.Errorf("%s, lost %v: the line has no words: %s", s.name, lost, show(e))
					}
				}
			}
			if n != 1 {
				t.Errorf("%s, lost %v: %d ends; want one", s.name, lost, n)
			}
			b.wait(time.Minute, func(string) {})
			if !b.m.Quiet() {
				t.Errorf("%s, lost %v: never quiet again", s.name, lost)
			}
		}
	}
}

func TestListeningLimitCommitsWithACue(t *testing.T) {
	b := newBench(t, Config{}).run(toListening...).forget().run("wait 61s")
	b.want("PlayCue turn=t-1 cue=committed", "EndCapture turn=t-1")
	b.wantState(Committing)
}

// What the model is told at a cut (TURNS.md 2, step 5; facts of the Realtime protocol: never beyond the item's length).
func TestModelIsToldWhatWasHeard(t *testing.T) {
	three := append(clone(toAsking), "started t-1 r1", "delta t-1 r1 a 1000", "delta t-1 r1 b 1000", "delta t-1 r1 c 1000")
	followed := append(clone(toAsking), "started t-1 r1", "delta t-1 r1 a 1000", "tool-called t-1 r1 c1 bell", "done t-1 r1",
		"tool-returned t-1 c1 ok play_sound 5", "sound-queued t-1 500", "started t-1 r2", "delta t-1 r2 b 1000")
	for _, row := range []struct {
		name  string
		lines []string
		heard int
		want  []string
	}{
		{"nothing heard", three, 0, []string{"CancelResponse turn=t-1 response=r1", "DeleteItem turn=t-1 item=a", "DeleteItem turn=t-1 item=b", "DeleteItem turn=t-1 item=c"}},
		{"in the first", three, 400, []string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=a heard=400", "DeleteItem turn=t-1 item=b", "DeleteItem turn=t-1 item=c"}},
		{"between two", three, 1000, []string{"CancelResponse turn=t-1 response=r1", "DeleteItem turn=t-1 item=b", "DeleteItem turn=t-1 item=c"}},
		{"in the second", three, 1001, []string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=b heard=1", "DeleteItem turn=t-1 item=c"}},
		{"all that came, and more may exist", three, 3000, []string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=c heard=1000"}},
		{"more than came", three, 9000, []string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=c heard=1000"}},
		{"after done", append(clone(three), "done t-1 r1"), 2500, []string{"TruncateItem turn=t-1 item=c heard=500"}},
		{"after done, all", append(clone(three), "done t-1 r1"), 3000, nil},
		{"in a tool's sound", followed, 1200, []string{"CancelResponse turn=t-1 response=r2", "DeleteItem turn=t-1 item=b"}},
		{"behind a tool's sound", followed, 1700, []string{"CancelResponse turn=t-1 response=r2", "TruncateItem turn=t-1 item=b heard=200"}},
		{"asked for, not begun", toAsking, 0, []string{"CancelResponse turn=t-1"}},
	} {
		b := newBench(t, Config{}).run(row.lines...).run(fmt.Sprint("heard t-1 ", row.heard)).forget().run("press t-2")
		var told []string
		for _, o := range b.orders() {
			switch strings.Fields(o)[0] {
			case "CancelResponse", "TruncateItem", "DeleteItem":
				told = append(told, o)
			}
		}
		if !slices.Equal(told, row.want) {
			t.Errorf("%s: told %q; want %q", row.name, told, row.want)
		}
	}
}

// An answer that was heard whole is not cut by a press in the silence behind it: its item stays as it is (the server drops
// the words of one that is truncated), and the turn's line says so. Silence between two rounds is such a silence.
func TestAnAnswerHeardWholeIsNotCut(t *testing.T) {
	for _, row := range []struct {
		name  string
		lines []string
		heard int
		whole bool
		told  []string
	}{
		{"in the tail, all heard", toDraining, 24000, true, nil},
		{"in the tail, one sample missing", toDraining, 23999, false, []string{"TruncateItem turn=t-1 item=a heard=23999"}},
		{"a tool works", toWorking, 24000, true, nil},
		{"a tool works, the response goes on", append(clone(toSpeaking), "tool-called t-1 r1 c1 clock"), 24000, true,
			[]string{"CancelResponse turn=t-1 response=r1"}},
		{"speech goes on behind the call", append(clone(toSpeaking), "tool-called t-1 r1 c1 clock", "delta t-1 r1 a 100"), 24100, false,
			[]string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=a heard=24100"}},
		{"a tool works, one sample missing", toWorking, 23999, false, []string{"TruncateItem turn=t-1 item=a heard=23999"}},
		{"the follow-up is asked for", toFollowing, 24000, true, []string{"CancelResponse turn=t-1"}},
		{"the follow-up begins", append(clone(toFollowing), "started t-1 r2"), 24000, true, []string{"CancelResponse turn=t-1 response=r2"}},
		{"the follow-up is cut", append(clone(toFollowing), "started t-1 r2", "delta t-1 r2 b 1000", "done t-1 r2"), 24400, false,
			[]string{"TruncateItem turn=t-1 item=b heard=400"}},
		{"more may come", toSpeaking, 24000, false, []string{"CancelResponse turn=t-1 response=r1", "TruncateItem turn=t-1 item=a heard=24000"}},
		{"nothing was said", toAsking, 0, false, []string{"CancelResponse turn=t-1"}},
	} {
		b := newBench(t, Config{}).run(row.lines...).run("wait 3s", fmt.Sprint("heard t-1 ", row.heard)).forget().run("press t-2")
		var told []string
		whole := false
		for _, e := range b.out {
			switch e := e.(type) {
			case CancelResponse, TruncateItem, DeleteItem:
				told = append(told, show(e))
			case EndTurn:
				whole = e.Summary.Whole
			}
		}
		if whole != row.whole || !slices.Equal(told, row.told) {
			t.Errorf("%s: whole %v, told %q; want %v, %q", row.name, whole, told, row.whole, row.told)
		}
	}
}

func TestFollowUpWaitsForEveryToolAndTheResponse(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).run("tool-called t-1 r1 c1 x", "tool-called t-1 r1 c2 y", "tool-called t-1 r1 c1 x").forget()
	b.run("tool-returned t-1 c2 b").wantNot("CreateResponse")
	b.run("done t-1 r1").wantNot("CreateResponse")
	b.wantState(AwaitingNextResponse)
	b.run("tool-returned t-1 c1 a").want("SendToolOutput turn=t-1 call=c2 output=b", "SendToolOutput turn=t-1 call=c1 output=a", "CreateResponse turn=t-1")
}

func TestAtTheBounds(t *testing.T) {
	// What a limit names is on the side of the person: 100 ms are enough for an utterance, and at 300 ms of a call one may hang up.
	call := []string{"ready", "ask t-1 call", "started t-1 r1", "tool-called t-1 r1 c1 call", "tool-returned t-1 c1 ok input_claim 7", "done t-1 r1", "drained t-1"}
	for _, row := range []struct {
		name  string
		lines []string
		last  string
		want  string
	}{
		{"held for a sample less than 100 ms", toListening, "release 2399", "EndTurn turn=t-1 reason=too_short"},
		{"held for 100 ms", toListening, "release 2400", "EndCapture turn=t-1"},
		{"captured a sample less than 100 ms", toClosing, "capture-ended t-1 2399", "SayWords turn=t-1 words=no_microphone"},
		{"captured 100 ms", toClosing, "capture-ended t-1 2400", "CommitInput turn=t-1"},
		{"pressed before 300 ms of a call", append(clone(call), "wait 299999999ns"), "press t-2", `DropStale turn=t-2 event=Pressed why="bounce: the call has just begun"`},
		{"pressed at 300 ms of a call", append(clone(call), "wait 300ms"), "press t-2", "StopClaim handle=7"},
	} {
		t.Run(row.name, func(t *testing.T) { newBench(t, Config{}).run(row.lines...).forget().run(row.last).wantHas(row.want) })
	}
	t.Run("a ninth tool is answered and not run", func(t *testing.T) {
		b := newBench(t, Config{}).run(toSpeaking...)
		for i := range maxCalls {
			b.run(fmt.Sprint("tool-called t-1 r1 c", i, " x"))
		}
		b.forget().run("tool-called t-1 r1 c9 x")
		b.wantHas("SendToolOutput turn=t-1 call=c9")
		b.wantNot("CallTool")
	})
	t.Run("a turn has at most eight responses", func(t *testing.T) {
		b := newBench(t, Config{}).run(toAsking...)
		for i := range maxResponses + 1 {
			if b.m.State() == Idle {
				break
			}
			b.run(fmt.Sprintf("started t-1 r%d", i), fmt.Sprintf("tool-called t-1 r%d c%d x", i, i), fmt.Sprintf("tool-returned t-1 c%d again", i), fmt.Sprintf("done t-1 r%d", i))
		}
		b.wantState(Idle)
		b.wantHas("SayWords turn=t-1 words=tool_failed")
		n := 0
		for _, o := range b.orders() {
			if strings.HasPrefix(o, "CreateResponse") {
				n++
			}
		}
		if n != maxResponses {
			t.Errorf("%d responses were asked for; want %d", n, maxResponses)
		}
	})
	t.Run("the oldest stretch is let go of, whole", func(t *testing.T) {
		b := newBench(t, Config{}).run(toAsking...).run("started t-1 r1")
		for i := range maxStretches + 2 {
			b.run(fmt.Sprintf("delta t-1 r1 i%d 100", i))
		}
		b.run("heard t-1 250").forget().run("press t-2")
		b.wantHas("TruncateItem turn=t-1 item=i2 heard=50", "DeleteItem turn=t-1 item=i17")
		b.wantNot("DeleteItem turn=t-1 item=i0", "DeleteItem turn=t-1 item=i1")
	})
	t.Run("every call of turns long cut is answered", func(t *testing.T) {
		b := newBench(t, Config{}).run("ready")
		for i := range 12 {
			b.run(fmt.Sprintf("ask t-%d x", i), fmt.Sprintf("started t-%d r%d", i, i), fmt.Sprintf("tool-called t-%d r%d c%d x", i, i, i))
		}
		b.run("hush")
		for i := range 12 {
			b.run(fmt.Sprintf("tool-returned t-%d c%d late", i, i))
		}
		answered := map[string]int{}
		for _, e := range b.out {
			if e, ok := e.(SendToolOutput); ok {
				answered[string(e.Call)]++
			}
		}
		for i := range 12 {
			if c := fmt.Sprint("c", i); answered[c] != 1 {
				t.Errorf("%s was answered %d times; want once", c, answered[c])
			}
		}
	})
}

func TestThinkingCue(t *testing.T) {
	b := newBench(t, Config{}).run(toAsking...).forget() // released 120 ms ago
	b.run("wait 279ms").want()
	b.run("wait 1ms").want("PlayCue turn=t-1 cue=thinking")
	b.forget().run("started t-1 r1", "wait 1s").want()
	b.run("delta t-1 r1 a 24000").want("StopCue cue=thinking")
	b.forget().run("wait 1399ms").want() // a second of speech and 400 ms
	b.run("wait 1ms").want("PlayCue turn=t-1 cue=thinking")

	slow := newBench(t, Config{Committing: time.Minute}).run(toAsking...).forget().run("wait 30s")
	slow.want("PlayCue turn=t-1 cue=thinking", "StopCue cue=thinking") // 20 s at the most
}

// A model that thinks for 20 s has its cue for as long, and its answer is heard; one that never ends ends in words.
func TestAModelThinksForLong(t *testing.T) {
	b := newBench(t, Config{}).run(toAsking...).run("started t-1 r1").forget()
	for range 20 {
		b.run("wait 1s", "delta t-1 r1")
	}
	b.want("PlayCue turn=t-1 cue=thinking")
	b.forget().run("delta t-1 r1 a 24000").want("StopCue cue=thinking")

	never := newBench(t, Config{}).run(toAsking...).run("started t-1 r1", "delta t-1 r1").forget()
	never.run("wait 16s").wantHas("SayWords turn=t-1 words=no_answer")
}

func TestIncompleteAnswerIsHeardBeforeItFails(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).forget().run("done t-1 r1 incomplete")
	b.want("CloseSpeech turn=t-1")
	b.run("wait 1s").forget().run("drained t-1")
	b.want("PlayCue turn=t-1 cue=error", "SayWords turn=t-1 words=server_error",
		"EndTurn turn=t-1 reason=failed words=server_error listen=1s tofirstaudio=120ms heard=24000 speech=24000 responses=1 ended=2.12s")
}

func TestDeadMicrophoneIsNotAShortPress(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "press t-1", "wait 1s").forget().run("release 0")
	b.wantHas("SayWords turn=t-1 words=no_microphone")
	b.wantNot("PlayCue turn=t-1 cue=too_short")
}

// A press without a session is heard all the same, and says at once that nobody can answer yet. Not where a server has refused
// us: that is no missing connection, and is told in its words after the release.
func TestAPressWhileOfflineSaysSo(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "lost").forget().run("press t-1")
	b.want("FlushSpeaker turn=t-1", "OpenCapture turn=t-1", "ClearInput turn=t-1", "PlayCue turn=t-1 cue=offline")
	b.forget().run("capture-started t-1").want("PlayCue turn=t-1 cue=ready")
	b.forget().run("wait 1s", "release 24000", "wait 120ms", "capture-ended t-1 30000").wantHas("CommitInput turn=t-1")
	b.run("wait 1s", "ready", "started t-1 r1", "delta t-1 r1 a 2400").wantState(InResponse)

	for _, lost := range []string{"lost false quota", "lost true key_refused"} {
		newBench(t, Config{}).run("ready", lost).forget().run("press t-1").wantNot("PlayCue turn=t-1 cue=offline")
	}
	newBench(t, Config{}).run("ready").forget().run("press t-1").wantNot("PlayCue")
}

func TestSessionBackInTimeKeepsTheUtterance(t *testing.T) {
	b := newBench(t, Config{}).run(toAsking...).forget().run("lost", "wait 4900ms", "ready", "wait 9s", "started t-1 r1", "delta t-1 r1 a 2400")
	b.wantNot("EndTurn", "SayWords")
	b.wantState(InResponse)
}

// A server that dies of every answer comes back each time within the grace: the person is told all the same.
func TestSessionThatIsLostAgainAndAgainEndsInWords(t *testing.T) {
	b := newBench(t, Config{}).run(toAsking...).forget()
	for range 5 { // 4 s offline and 1 s online: never longer without a session than the grace
		b.run("lost", "wait 4s", "ready", "wait 1s")
	}
	b.wantHas("SayWords turn=t-1 words=offline", "EndTurn turn=t-1 reason=expired")
	b.wantState(Idle)
	b = newBench(t, Config{}).run(toAsking...).forget().run("lost", "wait 4s", "ready", "wait 9s", "lost", "wait 2s")
	b.wantHas("SayWords turn=t-1 words=offline")
}

func TestWhyThereIsNoSessionIsSaid(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "lost false quota", "ask t-1 hello", "wait 6s")
	b.wantHas("SayWords turn=t-1 words=quota")
	b.forget().run("words-said", "lost false offline", "ask t-2 hello", "wait 6s")
	b.wantHas("SayWords turn=t-2 words=offline")
	b.forget().run("words-said", "lost false quota", "ready", "lost false lost_midway", "ask t-3 hello", "wait 6s")
	b.wantHas("SayWords turn=t-3 words=offline")
	b.forget().run("words-said", "ready", "ask t-4 hello", "lost false model_refused", "wait 1s", "lost", "wait 6s")
	b.wantHas("SayWords turn=t-4 words=model_refused") // what is learned while somebody waits does not take the reason away
}

func TestSessionLostInTheTailChangesNothing(t *testing.T) {
	b := newBench(t, Config{}).run(toDraining...).forget().run("lost", "drained t-1")
	b.want("EndTurn turn=t-1 reason=done listen=1s heard=24000 speech=24000 responses=1 ended=1.12s")
}

func TestStreamFailureDuringATurnIsSaidAfterIt(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "ask t-0 play", "started t-0 r0", "tool-called t-0 r0 c0 play", "tool-returned t-0 c0 ok audio_stream 7", "done t-0 r0", "drained t-0",
		"inject t-1 tea", "started t-1 r1", "delta t-1 r1 a 2400").forget()
	b.run("stream-ended 7 failed").want()
	b.run("done t-1 r1", "drained t-1")
	b.wantHas("EndTurn turn=t-1 reason=done", "SayWords turn=t-0 words=stream_failed")
}

func TestEarlyDeadlineIsIgnored(t *testing.T) {
	for _, s := range situations {
		b := newBench(t, Config{Room: s.room}).run(s.lines...).forget()
		before := b.m
		b.run("deadline").want()
		if b.m != before {
			t.Errorf("%s: a deadline that has not come moved the machine", s.name)
		}
	}
}

func TestDuplicatesOfAFinishedResponseDoNotBeginTheNext(t *testing.T) {
	b := newBench(t, Config{}).run(toFollowing...).forget().run("started t-1 r1", "delta t-1 r1 a 2400", "done t-1 r1")
	for _, o := range b.orders() {
		if !strings.HasPrefix(o, "DropStale") {
			t.Errorf("ordered %s", o)
		}
	}
	b.wantState(AwaitingNextResponse)
}

func TestDeadlinesAreThoseOfTheConfiguration(t *testing.T) {
	c := Config{Capture: time.Second, Committing: 2 * time.Second, InResponse: 3 * time.Second, Awaiting: 4 * time.Second, SessionGrace: 1500 * time.Millisecond}
	const second = time.Second // of speech that was received
	for _, row := range []struct {
		name  string
		room  bool
		lines []string
		want  time.Duration
	}{
		{"closing", false, toClosing, 120*time.Millisecond + c.Capture},
		{"voting", true, toVoting, c.Committing},
		{"asking", false, toAsking, c.Committing},
		{"asking offline", false, toAsking[1:], c.SessionGrace},
		{"speaking", false, toSpeaking, second + c.InResponse},
		{"draining", false, toDraining, second + c.InResponse},
		{"working", false, toWorking, second + c.Awaiting},
		{"following", false, toFollowing, second + c.Awaiting},
	} {
		c.Room = row.room
		b := newBench(t, c).run(row.lines...)
		b.forget().wait(row.want-1, func(string) {})
		b.wantNot("EndTurn")
		b.wait(1, func(string) {})
		if !b.has("EndTurn") {
			t.Errorf("%s: no end after %v", row.name, row.want)
		}
	}
}

func TestKeyRefusedInTheTailIsSaidAfterIt(t *testing.T) {
	b := newBench(t, Config{}).run(toDraining...).forget().run("lost true quota")
	b.want()
	b.run("drained t-1")
	b.wantHas("EndTurn turn=t-1 reason=done", "SayWords turn=t-1 words=quota")
}

func TestStoppingMediaIsNarratedOnlyWhenNothingWasSaid(t *testing.T) {
	for _, spoke := range []bool{false, true} {
		b := newBench(t, Config{}).run(toAsking...).run("started t-1 r1")
		if spoke {
			b.run("delta t-1 r1 a 2400")
		}
		b.run("tool-called t-1 r1 c1 stop", "tool-returned t-1 c1 ok cancel_media").forget().run("done t-1 r1")
		if got := b.has("CreateResponse"); got == spoke {
			t.Errorf("spoken before: %v, a follow-up is asked for: %v", spoke, got)
		}
	}
}

// Zero is what somebody chose: no tail, and no patience with a lost session.
func TestZeroMeansZero(t *testing.T) {
	c := DefaultConfig()
	c.Tail, c.SessionGrace, c.Keep = 0, 0, 0
	for _, row := range []struct {
		name  string
		lines []string
		last  string
	}{
		{"released offline", []string{"press t-1", "capture-started t-1", "wait 1s", "release 24000"}, "capture-ended t-1 24000"},
		{"asked offline", nil, "ask t-1 what time is it"},
		{"lost while it waits for an answer", toAsking, "lost"},
	} {
		b := (&bench{t: t, m: New(c)}).run(row.lines...)
		if b.has("EndCapture") && !slices.Contains(b.orders(), "EndCapture turn=t-1") {
			t.Errorf("%s: a tail is recorded: %v", row.name, b.orders())
		}
		b.forget().run(row.last, "wait 1ns")
		if b.wantHas("ClearInput turn=t-1", "SayWords turn=t-1 words=offline"); b.m.State() != Idle {
			t.Errorf("%s: %v at once; want IDLE", row.name, b.m.State())
		}
	}
}

// Two buttons, and each release is of one: what the second has begun, the first does not send.
func TestAReleaseCommitsWhatItsOwnButtonBegan(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "press t-1 1", "capture-started t-1", "wait 1s", "press t-2 2", "capture-started t-2", "wait 1s").forget()
	b.run("release 48000 1")
	b.want(`DropStale turn=t-2 event=Released why="another button began this turn"`)
	b.wantState(Listening)
	b.forget().run("wait 1s", "release 48000 2")
	b.want("EndCapture turn=t-2 tail=120ms")
	b.wantState(Committing)

	b = newBench(t, Config{}).run("ready", "press t-1 1", "ask t-2 why", "press t-3 2", "capture-started t-3").forget().run("release 0 1")
	b.wantNot("PlayCue", "EndTurn") // nor is the other's press too short because of it
}
