package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// These tests give the runner orders directly, without the machine, and read what comes back from its inbox.

type executor struct {
	*runner
	*journal
	t       *testing.T
	speaker *fakeSpeaker
	tools   fakeTools
}

func newExecutor(t *testing.T, change ...func(*Options)) *executor {
	t.Helper()
	j := &journal{start: time.Now()}
	h := &executor{t: t, journal: j, speaker: &fakeSpeaker{j: j, latency: 9 * time.Millisecond}, tools: fakeTools{}}
	o := Options{
		Voice: &fakeVoice{j: j}, Speaker: h.speaker, Mic: fakeMic{j}, Tools: h.tools, Light: fakeLight{j}, Phrases: fakePhrases{j},
		Clock: RealClock(func() time.Duration { return time.Since(j.start) }),
	}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.runner = newRunner(ctx, c)
	h.outputs.take()
	t.Cleanup(func() {
		c.inbox.close()
		cancel()
		h.running.Wait()
	})
	return h
}

// next is what has come back so far.
func (h *executor) next() []entry {
	synctest.Wait()
	got := append([]entry{}, h.inbox.take()...)
	for _, e := range got {
		h.inbox.done(e)
	}
	return got
}

// one is the only thing that has come back.
func one[T any](h *executor) T {
	h.t.Helper()
	got := h.next()
	if len(got) != 1 {
		h.t.Fatalf("%d entries came back (%+v); want one", len(got), got)
	}
	if v, ok := got[0].of.(T); ok {
		return v
	}
	v, ok := got[0].ev.(T)
	if !ok {
		h.t.Fatalf("%+v came back; want a %T", got[0], v)
	}
	return v
}

func TestAToolsPanicIsAnApology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.tools["bad"] = func(context.Context, string) ToolResult { panic("no bulb") }
		h.carryOut(turn.CallTool{Turn: "t-1", Call: "c", Name: "bad"})
		ev := h.returned(one[toolDone](h))
		if ev.Output != sorryPanic || ev.Call != "c" || ev.Turn != "t-1" || ev.Effect != turn.EffectNone {
			t.Errorf("returned %+v; want an apology for call c", ev)
		}
	})
}

func TestALongToolOutputIsCutBetweenTwoCharactersAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.tools["long"] = func(context.Context, string) ToolResult { return ToolResult{Output: strings.Repeat("é", 1<<19)} }
		h.carryOut(turn.CallTool{Turn: "t-1", Call: "c", Name: "long"})
		out := h.returned(one[toolDone](h)).Output
		if len(out) > toolOutputLimit || len(out) < toolOutputLimit-200 || !strings.Contains(out, "1048576 bytes") {
			t.Errorf("output of %d bytes ending in %q; want at most %d with a note", len(out), out[len(out)-80:], toolOutputLimit)
		}
		if strings.ToValidUTF8(out, "?") != out {
			t.Error("a character was cut in two")
		}
	})
}

func TestAToolThatIgnoresItsDeadlineIsAbandonedWithAnApology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		release, ended := make(chan struct{}), 0
		h.tools["stuck"] = func(context.Context, string) ToolResult {
			<-release
			return ToolResult{Output: "late", Effect: turn.EffectInputClaim, Claim: ClaimFunc{Ended: func(turn.EndedHow) { ended++ }}}
		}
		h.carryOut(turn.CallTool{Turn: "t-1", Call: "c", Name: "stuck"})
		time.Sleep(10 * time.Second)
		if got := h.next(); len(got) != 0 {
			t.Errorf("%+v before the grace was over", got)
		}
		time.Sleep(toolGrace)
		if ev := h.returned(one[toolDone](h)); ev.Output != sorryDeadline {
			t.Errorf("output %q; want %q", ev.Output, sorryDeadline)
		}
		if got := h.atWork(); got != "0 live, 1 left behind" {
			t.Errorf("%s; want the abandoned tool counted, and no place of a live turn taken", got)
		}
		close(release)
		if got := h.next(); len(got) != 0 {
			t.Errorf("the late result came back: %+v", got)
		}
		if got := h.atWork(); ended != 1 || got != "0 live, 0 left behind" {
			t.Errorf("the late claim ended %d times, %s; want once, and none", ended, got)
		}
	})
}

// atWork counts the calls of tools.
func (r *runner) atWork() string {
	r.toolCalls.mu.Lock()
	defer r.toolCalls.mu.Unlock()
	n := map[bool]int{}
	for _, c := range r.toolCalls.busy {
		n[c.left]++
	}
	return fmt.Sprintf("%d live, %d left behind", n[false], n[true])
}

func TestAToolThatHeedsItsDeadlineAnswersItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.tools["slow"] = func(ctx context.Context, _ string) ToolResult {
			<-ctx.Done()
			return ToolResult{Output: "half of it"}
		}
		h.carryOut(turn.CallTool{Turn: "t-1", Call: "c", Name: "slow"})
		time.Sleep(10*time.Second + time.Millisecond)
		if ev := h.returned(one[toolDone](h)); ev.Output != "half of it" {
			t.Errorf("output %q; want what the tool had to say", ev.Output)
		}
	})
}

func TestTooManyToolsAtOnceAreRefusedWithAnApology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t, func(o *Options) { o.ToolLimit = 2 })
		h.tools["wait"] = func(ctx context.Context, _ string) ToolResult { <-ctx.Done(); return ToolResult{} }
		for range 3 {
			h.carryOut(turn.CallTool{Turn: "t-1", Call: "c", Name: "wait"})
		}
		if len(h.own) != 1 || h.own[0].(turn.ToolReturned).Output != sorryBusy {
			t.Errorf("facts %+v; want one apology", h.own)
		}
	})
}

func stream(run func(ctx context.Context, write func([]int16) error) error, ended func(turn.EndedHow, int)) ToolResult {
	return ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{Run: run, Ended: ended}}
}

// A radio and a call go on while nobody hears them, a book waits: the speaker is told which.
func TestTheSpeakerIsToldWhatDoesNotWait(t *testing.T) {
	nothing := func(context.Context, func([]int16) error) error { return nil }
	for _, row := range []struct {
		name string
		of   ToolResult
		want bool
	}{
		{"book", ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{Run: nothing}}, false},
		{"radio", ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{Run: nothing, Live: true}}, true},
		{"call", ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(context.Context, <-chan []int16, func([]int16) error) error { return nil }}}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.tools[row.name] = func(context.Context, string) ToolResult { return row.of }
				id := g.utter(time.Second)
				g.respond(id, "r1")
				g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: row.name})
				g.finish(id, "r1")
				if row.of.Effect == turn.EffectAudioStream {
					g.respond(id, "r2")
					g.speak(id, "r2", 100*time.Millisecond, 2)
					g.finish(id, "r2")
				}
				g.quiet()
				if got := g.has("live"); got != row.want {
					t.Errorf("told to go on: %v; want %v; journal %q", got, row.want, g.take())
				}
			})
		})
	}
}

type ending struct {
	how   turn.EndedHow
	heard int
	n     int
}

func (e *ending) ended(how turn.EndedHow, heard int) { *e = ending{how, heard, e.n + 1} }

func TestAStreamEndsOnceWhenItsLastSampleWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		var e ending
		name := h.handles.keep("t-1", stream(func(_ context.Context, write func([]int16) error) error {
			return write(tone(time.Second, 5))
		}, e.ended))
		h.carryOut(turn.StartStream{Turn: "t-1", Handle: name})
		time.Sleep(999 * time.Millisecond)
		if got := h.next(); len(got) != 0 {
			t.Errorf("%+v before the last sample was heard", got)
		}
		time.Sleep(2 * time.Millisecond)
		if got := one[jobEnded](h); got.how != turn.EndedFinished || e != (ending{turn.EndedFinished, rate, 1}) {
			t.Errorf("ended %v, callback %+v; want finished with %d heard, once", got.how, e, rate)
		}
	})
}

func TestACrashedStreamIsAFailureNotTheEndOfTheBook(t *testing.T) {
	for name, crash := range map[string]func() error{
		"error": func() error { return errors.New("disk gone") },
		"panic": func() error { panic("nil map") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newExecutor(t)
				var e ending
				name := h.handles.keep("t-1", stream(func(_ context.Context, write func([]int16) error) error {
					_ = write(tone(100*time.Millisecond, 5))
					return crash()
				}, e.ended))
				h.carryOut(turn.StartStream{Turn: "t-1", Handle: name})
				time.Sleep(time.Second)
				if got := one[jobEnded](h); got.how != turn.EndedFailed || e != (ending{turn.EndedFailed, rate / 10, 1}) {
					t.Errorf("ended %v, callback %+v; want failed after what was heard, once", got.how, e)
				}
			})
		})
	}
}

func TestACutStreamTellsWhereTheListenerWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		var e ending
		name := h.handles.keep("t-1", stream(func(ctx context.Context, write func([]int16) error) error {
			for {
				if err := write(tone(20*time.Millisecond, 5)); err != nil {
					return err
				}
			}
		}, e.ended))
		h.carryOut(turn.StartStream{Turn: "t-1", Handle: name})
		time.Sleep(1500 * time.Millisecond)
		h.next()
		h.carryOut(turn.StopStream{Handle: name})
		h.carryOut(turn.StopStream{Handle: name}) // twice is harmless
		if got := one[jobEnded](h); got.how != turn.EndedStopped || e != (ending{turn.EndedStopped, rate * 3 / 2, 1}) {
			t.Errorf("ended %v, callback %+v; want interrupted at 1.5 s, once", got.how, e)
		}
	})
}

func TestAStreamThatDoesNotDieIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		var e ending
		release := make(chan struct{})
		name := h.handles.keep("t-1", stream(func(context.Context, func([]int16) error) error { <-release; return nil }, e.ended))
		h.carryOut(turn.StartStream{Turn: "t-1", Handle: name})
		h.carryOut(turn.StopStream{Handle: name})
		time.Sleep(dying)
		if got := one[jobEnded](h); got.how != turn.EndedStopped || e.n != 1 {
			t.Errorf("ended %v, callback %+v; want interrupted once after %v", got.how, e, dying)
		}
		if len(h.jobSlots) != 1 {
			t.Error("a producer that still runs gave back its place")
		}
		close(release)
		if got := h.next(); len(got) != 0 || e.n != 1 {
			t.Errorf("a second end: %+v, %+v", got, e)
		}
	})
}

// TURNS.md 4: a press within 300 ms of the beginning of a call is a bounce: the edge has dropped the speaker, and the call
// sounds on. From then on it hangs up. Neither opens a turn.
func TestACallSurvivesABounce(t *testing.T) {
	for _, row := range []struct {
		after  time.Duration
		bounce bool
	}{{0, true}, {100 * time.Millisecond, true}, {299 * time.Millisecond, true}, {300 * time.Millisecond, false}, {time.Second, false}} {
		t.Run(row.after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				var wrote error
				var ended []turn.EndedHow
				g.tools["call"] = func(context.Context, string) ToolResult {
					return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{
						Run: func(_ context.Context, _ <-chan []int16, write func([]int16) error) error {
							wrote = write(tone(2*time.Second, 1))
							return wrote
						},
						Ended: func(how turn.EndedHow) { ended = append(ended, how) },
					}}
				}
				id := g.utter(time.Second)
				g.respond(id, "r1")
				g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "call"})
				g.finish(id, "r1")
				wantEqual(t, "ends", g.ends(), []string{"t-1 done"})
				time.Sleep(row.after)
				g.settle()
				g.take()
				edge := g.Now()
				g.press()
				g.inState(turn.Idle)
				g.Release(g.Now(), rate/10, button)
				time.Sleep(3 * time.Second)
				g.settle()
				how, sounds, err := turn.EndedFinished, []int16{1}, error(nil)
				if !row.bounce {
					how, sounds, err = turn.EndedHungUp, nil, errCut
				}
				if got := g.heardAfter(edge); !slices.Equal(got, sounds) || !errors.Is(wrote, err) {
					t.Errorf("after the press %v sounded, and write said %v; want %v, %v", got, wrote, sounds, err)
				}
				if !slices.Equal(ended, []turn.EndedHow{how}) {
					t.Errorf("the call ended %v; want %v, once", ended, how)
				}
				if g.has("live") != row.bounce {
					t.Errorf("the call's new source does not wait: %v; want %v", g.has("live"), row.bounce)
				}
				if g.has("mic open") || len(g.ends()) != 1 {
					t.Errorf("the press opened a turn: %q, journal %q", g.ends(), g.take())
				}
			})
		})
	}
}

func TestADiscardedClaimEndsOnceADiscardedStreamNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		claims := 0
		claim := h.handles.keep("t-1", ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{
			Run: func(context.Context, <-chan []int16, func([]int16) error) error {
				t.Error("a discarded claim ran")
				return nil
			},
			Ended: func(turn.EndedHow) { claims++ },
		}})
		book := h.handles.keep("t-1", stream(
			func(context.Context, func([]int16) error) error { t.Error("a discarded stream ran"); return nil },
			func(turn.EndedHow, int) { t.Error("a stream that never started ended") }))
		for range 2 {
			h.carryOut(turn.DiscardHandle{Turn: "t-1", Handle: claim, Kind: turn.EffectInputClaim, Why: "interrupted"})
			h.carryOut(turn.DiscardHandle{Turn: "t-1", Handle: book, Kind: turn.EffectAudioStream, Why: "superseded"})
		}
		synctest.Wait()
		if claims != 1 || len(h.handles.of) != 0 {
			t.Errorf("the claim ended %d times, %d handles kept; want 1 and 0", claims, len(h.handles.of))
		}
	})
}

func TestAFullTableOfEffectsIsToldToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		for range handleLimit {
			h.handles.keep("t-1", ToolResult{})
		}
		ev := h.returned(toolDone{turn.CallTool{Turn: "t-1", Call: "c"}, stream(nil, nil)})
		if ev.Effect != turn.EffectNone || ev.Handle != 0 || !strings.Contains(ev.Output, "not carried out") {
			t.Errorf("returned %+v; want no effect and a note", ev)
		}
	})
}

func TestAToolsSoundComesBeforeTheNarrationThatFollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.carryOut(turn.OpenSpeech{Turn: "t-1"})
		sound := h.handles.keep("t-1", ToolResult{Effect: turn.EffectPlaySound, Sound: tone(time.Second, 1)}) // longer than the buffer
		h.carryOut(turn.PlaySound{Turn: "t-1", Handle: sound})
		accepted := 0
		go func() { accepted = h.c.Audio(t.Context(), "t-1", tone(100*time.Millisecond, 2)) }()
		time.Sleep(time.Second)
		if got := one[turn.SoundQueued](h); got.Samples != rate {
			t.Errorf("queued %d samples; want %d", got.Samples, rate)
		}
		h.carryOut(turn.CloseSpeech{Turn: "t-1"})
		time.Sleep(time.Second)
		one[turn.SpeechDrained](h)
		var got []int16
		for _, p := range h.speaker.played() {
			got = append(got, p.value)
		}
		if len(got) != 2 || got[0] != 1 || got[1] != 2 || accepted != rate/10 {
			t.Errorf("heard %v, %d samples of speech accepted; want the sound, then all the speech", got, accepted)
		}
	})
}

func TestAudioOfAnotherTurnIsRefusedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		if n := h.c.Audio(t.Context(), "t-1", tone(time.Second, 1)); n != 0 {
			t.Errorf("%d samples accepted before any speech was opened", n)
		}
		h.carryOut(turn.OpenSpeech{Turn: "t-2"})
		if n := h.c.Audio(t.Context(), "t-1", tone(time.Second, 1)); n != 0 {
			t.Errorf("%d samples of t-1 accepted into the speech of t-2", n)
		}
		h.carryOut(turn.CloseSpeech{Turn: "t-2"})
		if n := h.c.Audio(t.Context(), "t-2", tone(time.Second, 1)); n != 0 {
			t.Errorf("%d samples accepted after CloseSpeech", n)
		}
		if n := h.c.audioStale.Load(); n != 3*rate {
			t.Errorf("%d samples counted; want %d", n, 3*rate)
		}
	})
}

// A press drops the speaker and then posts. In between, the source looks as if it had been heard to its end; the machine
// must learn of the press first, or it would take a cut answer for a finished one.
func TestADropIsNotTakenForTheEndOfTheSpeech(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.carryOut(turn.OpenSpeech{Turn: "t-1"})
		h.c.Audio(t.Context(), "t-1", tone(300*time.Millisecond, 1))
		h.carryOut(turn.CloseSpeech{Turn: "t-1"})
		time.Sleep(100 * time.Millisecond)
		gen := h.speaker.Drop()
		time.Sleep(time.Millisecond) // the scheduler was busy
		h.c.Press(h.now(), gen, button)
		time.Sleep(time.Second)
		var got []string
		for _, e := range h.next() {
			got = append(got, nameOf(e.ev))
		}
		wantEqual(t, "facts", got, []string{"Pressed", "SpeechDrained"})
	})
}

func TestWhatIsOpenedBetweenEdgeAndPressIsBornDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.runner.take(entry{ev: turn.Pressed{Turn: "t-1"}, gen: h.speaker.Drop(), dropped: true})
		h.journal.take()
		edge := h.speaker.Drop()                                          // the next press, not told yet
		h.carryOut(turn.FlushSpeaker{Turn: "t-1"})                        // a deadline at the same moment
		h.carryOut(turn.SayWords{Turn: "t-1", Words: turn.WordsNoAnswer}) // the old turn's words
		h.carryOut(turn.PlayCue{Turn: "t-1", Cue: turn.CueError})         // and cue
		synctest.Wait()
		h.inbox.drops.Add(1) // it is told now
		h.inbox.done(entry{dropped: true})
		h.outputs.arrive(edge)
		h.outputs.flushed = false
		h.carryOut(turn.PlayCue{Turn: "t-2", Cue: turn.CueReady})
		wantEqual(t, "journal", h.journal.take(), []string{
			"drop 3", "drop 4", "words no_answer", "open words dead", "cue error dead",
			"drop 5", "cue ready",
		})
	})
}

func TestAForeignDropWithoutAPressIsHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.speaker.Drop()
		h.carryOut(turn.FlushSpeaker{})
		h.carryOut(turn.PlayCue{Cue: turn.CueError})
		time.Sleep(healAfter)
		h.outputs.heal()
		h.carryOut(turn.PlayCue{Cue: turn.CueReady})
		wantInOrder(t, h.journal.take(), "cue error dead", "cue ready")
	})
}

func TestAMissingPortIsRefusedByName(t *testing.T) {
	_, err := New(Options{Voice: &fakeVoice{}, Speaker: &fakeSpeaker{}, Tools: fakeTools{}, Light: fakeLight{}, Phrases: fakePhrases{}})
	if err == nil || !strings.Contains(err.Error(), "Options.Mic") {
		t.Errorf("error %v; want one that names Options.Mic", err)
	}
}

// Words that could not be heard in time are not heard a minute later, when the card is back.
func TestWordsOfADeadCardAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t)
		h.carryOut(turn.SayWords{Turn: "t-1", Words: turn.WordsNoAnswer})
		h.speaker.sources[len(h.speaker.sources)-1].Hold() // the card stands still
		time.Sleep(time.Minute)
		one[turn.WordsSaid](h)
		if !h.journal.has("cut") {
			t.Errorf("the words stay where they are: %q", h.journal.take())
		}
	})
}
