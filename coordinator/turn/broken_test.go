package turn

import (
	"strconv"
	"testing"
)

// toBroken: three seconds have come, one of them is heard, the link breaks, and the voice says that this was all of it.
var toBroken = []string{"ready", "ask t-1 tell me a story", "wait 100ms", "started t-1 r1", "delta t-1 r1 a 48000", "wait 1s", "heard t-1 24000", "lost", "delta t-1 r1 a 24000", "done t-1 r1 failed lost_midway"}

func TestWhatWasReceivedIsHeardAndTheAnswerGoesOn(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "ask t-1 tell me a story", "wait 100ms", "started t-1 r1", "delta t-1 r1 a 48000", "wait 1s", "heard t-1 24000").forget()
	b.run("lost").want()
	b.run("delta t-1 r1 a 24000").want() // was on its way from the voice to the speaker
	b.run("done t-1 r1 failed lost_midway").want("CreateResponse turn=t-1 resume=true")
	b.forget().run("wait 1s", "ready", "wait 1s", "started t-1 r2", "delta t-1 r2 b 24000", "done t-1 r2", "heard t-1 96000", "drained t-1")
	b.wantHas("EndTurn turn=t-1 reason=done tofirstaudio=100ms heard=96000 speech=96000 responses=2")
	b.wantNot("SayWords", "FlushSpeaker")
}

func TestABrokenAnswerEndsInWordsAfterWhatWasReceived(t *testing.T) {
	for _, why := range []string{"lost", "lost - not_running"} {
		b := newBench(t, Config{}).run(toBroken...).run(why).forget()
		b.run("wait 6900ms").wantNot("SayWords", "FlushSpeaker") // two seconds of speech, then the grace of five
		b.run("heard t-1 72000", "wait 200ms")
		b.wantHas("CancelResponse turn=t-1", "SayWords turn=t-1 words=lost_midway", "EndTurn turn=t-1 reason=failed words=lost_midway tofirstaudio=100ms heard=72000")
		b.wantNot("FlushSpeaker")
	}
}

func TestWhatTheCardOwesIsHeardBeforeTheWords(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...).forget().run("wait 7100ms") // the card is behind: only one of three seconds was heard
	b.wantHas("CancelResponse turn=t-1", "CloseSpeech turn=t-1")
	b.wantNot("SayWords", "FlushSpeaker")
	b.run("heard t-1 72000", "drained t-1").wantHas("SayWords turn=t-1 words=lost_midway")
}

func TestAPressCutsABrokenAnswerWhereItWasHeard(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...).forget().run("wait 500ms", "heard t-1 36000", "press t-2")
	b.wantHas("FlushSpeaker turn=t-1", "CancelResponse turn=t-1", "TruncateItem turn=t-1 item=a heard=36000", "EndTurn turn=t-1 reason=interrupted tofirstaudio=100ms heard=36000")
	b.forget().run("ready", "started t-1 r2", "delta t-1 r2 b 2400").wantNot("CreateResponse", "SayWords")
}

func TestALinkThatBreaksAgainIsTriedOnlyAsLongAsSomethingComes(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...).run("ready", "started t-1 r2", "delta t-1 r2 b 2400", "lost").forget()
	b.run("done t-1 r2 failed lost_midway").want("CreateResponse turn=t-1 resume=true")
	b.forget().run("ready", "started t-1 r3", "lost", "done t-1 r3 failed lost_midway") // nothing came of it
	b.wantNot("CreateResponse")
	b.run("heard t-1 74400", "drained t-1").wantHas("SayWords turn=t-1 words=lost_midway")
}

// A server that breaks each answer off, and begins it anew each time, is not heard eight times.
func TestAnAnswerThatAlwaysBreaksIsAskedForThrice(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...)
	for n := 2; n <= 3; n++ {
		r := strconv.Itoa(n)
		b.forget().run("ready", "started t-1 r"+r, "delta t-1 r"+r+" i"+r+" 2400", "lost", "done t-1 r"+r+" failed lost_midway")
	}
	b.wantNot("CreateResponse")
	b.run("heard t-1 76800", "drained t-1").wantHas("SayWords turn=t-1 words=lost_midway")
}

func TestASessionThatComesAndGoesKeepsNobodyWaitingForEver(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...).run("wait 2s", "heard t-1 72000").forget()
	for range 200 {
		b.run("ready", "wait 100ms", "lost", "wait 100ms")
	}
	b.wantHas("SayWords turn=t-1 words=lost_midway")
}

func TestAHeldAnswerThatBreaksGoesToSomebodyElse(t *testing.T) {
	b := newBench(t, Config{Room: true}).run(toHeldSpeaking...).forget().run("lost", "done t-1 r1 failed lost_midway")
	b.wantHas("CutSpeech turn=t-1", "EndTurn turn=t-1 reason=failed")
	b.wantNot("CreateResponse", "SayWords")
}

// A tool that was called has done something: nobody asks for it a second time.
func TestAnAnswerThatCalledAToolIsNotAskedForAgain(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).run("tool-called t-1 r1 c1 lamp", "lost").forget().run("done t-1 r1 failed lost_midway")
	b.wantNot("CreateResponse", "FlushSpeaker", "SayWords")
	b.run("heard t-1 24000", "drained t-1").wantHas("SayWords turn=t-1 words=lost_midway")
	b.forget().run("tool-returned t-1 c1 done").wantHas("SendToolOutput turn=t-1 call=c1")
	for _, way := range [][]string{toWorking, toFollowing} {
		b := newBench(t, Config{}).run(way...).forget().run("lost")
		b.wantNot("CreateResponse", "FlushSpeaker", "SayWords")
		b.run("heard t-1 24000", "drained t-1").wantHas("SayWords turn=t-1 words=lost_midway")
	}
}

func TestARefusalInTheMiddleIsToldAfterWhatWasReceived(t *testing.T) {
	b := newBench(t, Config{}).run(toSpeaking...).forget().run("lost true key_refused", "done t-1 r1 failed lost_midway")
	b.wantNot("CreateResponse", "FlushSpeaker", "SayWords")
	b.run("heard t-1 24000", "drained t-1").wantHas("SayWords turn=t-1 words=key_refused")
}

func TestAnAnswerThatWasCompleteWhenItBrokeOffIsDone(t *testing.T) {
	b := newBench(t, Config{}).run(toBroken...).forget().run("ready", "started t-1 r2", "done t-1 r2 failed no_answer", "heard t-1 72000", "drained t-1")
	b.wantHas("EndTurn turn=t-1 reason=done")
	b.wantNot("SayWords")
}
