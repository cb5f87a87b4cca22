package coordinator

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// answering lets the voice answer every CreateResponse with d of speech, from a goroutine of its own.
func (g *rig) answering(d time.Duration) {
	g.voice.set(g.answerer(d))
}

func (g *rig) answerer(d time.Duration) func(turn.Order) {
	return func(o turn.Order) {
		c, ok := o.(turn.CreateResponse)
		if !ok {
			return
		}
		go func() {
			resp := turn.ResponseID("r-" + c.Turn)
			g.Post(turn.ResponseStarted{At: g.Now(), Turn: c.Turn, Response: resp})
			for left := d; left > 0; left -= time.Second {
				n := g.Audio(context.Background(), c.Turn, tone(min(left, time.Second), 9))
				g.Post(turn.DeltaArrived{At: g.Now(), Turn: c.Turn, Response: resp, Item: "i-" + turn.ItemID(c.Turn), Samples: n})
			}
			g.Post(turn.ResponseDone{At: g.Now(), Turn: c.Turn, Response: resp})
		}()
	}
}

// wantOutcome takes the one outcome of an injection; a second one is an error.
func wantOutcome(t *testing.T, what string, done <-chan inject.Outcome, want inject.Outcome) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-done:
		if got != want {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	default:
		t.Errorf("%s has no outcome yet; want %v", what, want)
	}
	select {
	case got := <-done:
		t.Errorf("%s: a second outcome %v", what, got)
	default:
	}
}

func TestAnInjectionDoesNotCutTheTailOfAnAnswer(t *testing.T) { // row 4
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		g.finish(id, "r1")
		g.answering(100 * time.Millisecond)
		done := g.Inject("tea is ready", inject.Preempt, "", 0)
		time.Sleep(290 * time.Millisecond)
		g.settle()
		if g.State() != turn.InResponse {
			t.Errorf("state %v in the tail; want IN_RESPONSE", g.State())
		}
		g.quiet()
		wantOutcome(t, "the injection", done, inject.Delivered)
		wantEqual(t, "ends", g.ends(), []string{"t-1 done", "t-2 done"})
		if r := g.records[0]; r.HeardMS != 300 {
			t.Errorf("%v ms of the answer heard; want all 300", r.HeardMS)
		}
	})
}

func TestInjectingWhileOfflineWedgesNothing(t *testing.T) { // row 5
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.answering(100 * time.Millisecond)
		g.Post(turn.SessionLost{At: g.Now()})
		short := g.Inject("tea is ready", inject.Normal, "", 10*time.Second)
		long := g.Inject("the door", inject.Normal, "", time.Hour)
		time.Sleep(11 * time.Second)
		wantOutcome(t, "the one with a ttl of 10 s", short, inject.Expired)
		g.Post(turn.SessionReady{At: g.Now()})
		time.Sleep(time.Second)
		wantOutcome(t, "the one with a ttl of an hour", long, inject.Delivered)
		later := g.Inject("the post", inject.Normal, "", 0)
		time.Sleep(time.Second)
		wantOutcome(t, "the one after", later, inject.Delivered)
		g.quiet()
	})
}

type fakeLocalVoice struct{}

func (fakeLocalVoice) Speak(context.Context, string) ([]int16, error) {
	return tone(time.Second, 4), nil
}

func TestTheLocalVoiceSpeaksWhatIsUrgentWhileOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
		g.Post(turn.SessionLost{At: g.Now()})
		heard := g.Inject("fire", inject.Preempt, "", 0)
		time.Sleep(1100 * time.Millisecond)
		wantOutcome(t, "an undisturbed one", heard, inject.Delivered)
		cut := g.Inject("fire", inject.Preempt, "", 400*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		edge := g.Now()
		g.press()
		time.Sleep(100 * time.Millisecond)
		wantOutcome(t, "one that was cut after its ttl", cut, inject.Interrupted)
		if got := g.heardAfter(edge); len(got) != 0 {
			t.Errorf("heard the values %v after the press", got)
		}
		g.quiet()
	})
}

func TestTheQueueDrainsAfterEveryEndOfATurn(t *testing.T) { // row 6
	for name, end := range map[string]func(g *rig){
		"press too short": func(g *rig) {
			g.Release(g.Now(), rate*50/1000, button)
		},
		"commit refused": func(g *rig) {
			id := turn.ID("t-1")
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			g.settle()
			g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
			g.Post(turn.InputRefused{At: g.Now(), Turn: id})
		},
		"session lost in the answer": func(g *rig) {
			id := turn.ID("t-1")
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			g.settle()
			g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
			g.respond(id, "r1")
			g.speak(id, "r1", 300*time.Millisecond, 1)
			g.Post(turn.SessionLost{At: g.Now()})
			g.Post(turn.ResponseDone{At: g.Now(), Turn: id, Response: "r1", Status: turn.ResponseFailed, Say: turn.WordsLostMidway})
			time.Sleep(6 * time.Second)
			g.Post(turn.SessionReady{At: g.Now()})
		},
		"session lost for good while recording": func(g *rig) {
			g.Post(turn.SessionLost{At: g.Now(), Fatal: true, Say: turn.WordsKeyRefused})
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			time.Sleep(time.Second)
			g.Post(turn.SessionReady{At: g.Now()})
		},
		"microphone lost": func(g *rig) {
			g.Post(turn.CaptureLost{At: g.Now(), Turn: "t-1"})
		},
		"hushed in the answer": func(g *rig) {
			id := turn.ID("t-1")
			time.Sleep(time.Second)
			g.Release(g.Now(), rate, button)
			g.settle()
			g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate})
			g.respond(id, "r1")
			g.speak(id, "r1", 300*time.Millisecond, 1)
			g.Hush(g.Now(), g.speaker.Drop())
		},
		"the deadline": func(*rig) { time.Sleep(61 * time.Second) }, // commits by itself, and nothing was captured
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				id := g.press()
				g.settle()
				g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
				done := g.Inject("tea is ready", inject.Normal, "", time.Hour)
				g.settle()
				if len(done) != 0 {
					t.Fatal("an injection had its outcome while a turn was live")
				}
				end(g)
				g.answering(100 * time.Millisecond)
				time.Sleep(3 * time.Second) // words, then the injection
				wantOutcome(t, "the injection", done, inject.Delivered)
				g.quiet()
				if n := len(g.records); n != 2 {
					t.Errorf("ends %q; want one of the turn and one of the injection", g.ends())
				}
			})
		})
	}
}

func TestTheQueueDrainsWhenAClaimOrStreamEnds(t *testing.T) { // row 6, call ended; TURNS.md 5
	for name, effect := range map[string]ToolResult{
		"claim": {Effect: turn.EffectInputClaim, Claim: ClaimFunc{
			Run: func(_ context.Context, _ <-chan []int16, write func([]int16) error) error {
				return write(tone(20*time.Second, 3))
			},
		}},
		"stream": stream(func(_ context.Context, write func([]int16) error) error { return write(tone(20*time.Second, 3000)) }, nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.tools["do"] = func(context.Context, string) ToolResult { return effect }
				id := g.utter(time.Second)
				g.respond(id, "r1")
				g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "do"})
				g.finish(id, "r1")
				time.Sleep(time.Second)
				g.inState(turn.Idle)
				g.answering(100 * time.Millisecond)
				done := g.Inject("tea is ready", inject.Normal, "", time.Hour)
				time.Sleep(18 * time.Second)
				g.settle()
				if len(done) != 0 {
					t.Error("the injection did not wait")
				}
				time.Sleep(3 * time.Second)
				wantOutcome(t, "the injection", done, inject.Delivered)
				g.quiet()
			})
		})
	}
}

func TestAPreemptingTurnIsSpokenBeforeThoseThatWaited(t *testing.T) { // row 7
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var said []string
		g.press()
		g.settle()
		answer := g.answerer(100 * time.Millisecond)
		g.voice.set(func(o turn.Order) {
			if c, ok := o.(turn.CreateResponse); ok {
				said = append(said, c.Prompt)
			}
			answer(o)
		})
		g.Inject("first", inject.Normal, "", 0)
		g.Inject("second", inject.Normal, "", 0)
		g.Inject("urgent", inject.Preempt, "", 0)
		g.Release(g.Now(), 0, button)
		g.quiet()
		wantEqual(t, "said", said, []string{"urgent", "first", "second"})
	})
}

func TestAStrayOrDoubleReleaseCommitsNothingAndKillsNothing(t *testing.T) { // row 7
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.Release(g.Now(), rate, button) // nobody had pressed
		g.settle()
		wantEqual(t, "journal", g.take(), nil)

		id := g.utter(time.Second)
		g.Release(g.Now(), rate, button) // once more
		g.inState(turn.Committing)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		g.Release(g.Now(), rate, button) // in the answer
		g.inState(turn.InResponse)
		g.finish(id, "r1")
		g.quiet()
		lines := g.take()
		commits := 0
		for _, l := range lines {
			if l == "commit" {
				commits++
			}
		}
		if commits != 1 {
			t.Errorf("%d commits; want 1", commits)
		}
		wantEqual(t, "ends", g.ends(), []string{"t-1 done"})
		if g.records[0].HeardMS != 300 {
			t.Errorf("%v ms heard; want 300", g.records[0].HeardMS)
		}
	})
}

func TestACallbackThatInjectsDoesNotDeadlock(t *testing.T) { // row 11
	synctest.Test(t, func(t *testing.T) {
		var outcomes []<-chan inject.Outcome
		var g *rig
		g = newRig(t, func(_ *rig, o *Options) {
			o.InboxLimit = 1
			end := o.OnEnd
			o.OnEnd = func(rec Record) { // on the runner's own goroutine
				end(rec)
				if len(outcomes) < 3 {
					outcomes = append(outcomes, g.Inject("again", inject.Normal, "", 0), g.Inject("and again", inject.Normal, "", 0))
				}
			}
		})
		ended := make(chan inject.Outcome, 1)
		g.tools["book"] = func(context.Context, string) ToolResult {
			return stream(func(_ context.Context, write func([]int16) error) error { return write(tone(time.Second, 3)) },
				func(turn.EndedHow, int) { ended <- <-g.Inject("the book is over", inject.Normal, "", 0) }) // and waits for it
		}
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.answering(100 * time.Millisecond)
		g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: "r1", Call: "c1", Name: "book"})
		g.finish(id, "r1")
		time.Sleep(time.Minute)
		g.quiet()
		for i, o := range outcomes {
			if got := <-o; got != inject.Delivered {
				t.Errorf("injection %d of the callback: %v", i, got)
			}
		}
		if got := <-ended; got != inject.Delivered {
			t.Errorf("injection of the stream's end: %v", got)
		}
	})
}

// What a person silences is over. It is said once more where the gesture became an utterance and little had been heard; and where it is to
// be heeded and nobody at this device has shown that they heard it, after a minute of quiet.
func TestWhatAGestureMakesOfAnInjection(t *testing.T) {
	tap := func(g *rig) {
		g.press()
		time.Sleep(50 * time.Millisecond)
		g.Release(g.Now(), rate/20, button)
	}
	utterance := func(g *rig) { g.utter(2 * time.Second) }
	hush := func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) }
	line := func(g *rig) { g.Ask("what time is it") }
	var taken, companion atomic.Bool
	var spoken atomic.Uint64
	elsewhere := func(held, answered time.Duration, speaks uint64) func(*rig) { // a press for so long, and an answer
		return func(g *rig) {
			g.HushRoom(g.Now(), g.speaker.Drop())
			taken.Store(true)
			time.Sleep(held)
			spoken.Add(speaks)
			time.Sleep(answered)
			taken.Store(false)
		}
	}
	announced := func(g *rig) { // at another device, which takes the floor for it
		g.HushRoom(g.Now(), g.speaker.Drop())
		taken.Store(true)
		time.Sleep(10 * time.Millisecond)
		companion.Store(true)
		time.Sleep(4 * time.Second)
		taken.Store(false)
		companion.Store(false)
	}
	yield := func(g *rig) { g.Yield(g.Now(), g.speaker.Drop()) }
	const early, late = 700 * time.Millisecond, 2500 * time.Millisecond
	for name, row := range map[string]struct {
		heed  bool
		at    time.Duration
		by    func(*rig)
		times int // that it is said
		rests bool
		want  inject.Outcome
	}{
		"a tap":                                {false, early, tap, 1, false, inject.Interrupted},
		"a late tap":                           {false, late, tap, 1, false, inject.Interrupted},
		"an utterance":                         {false, early, utterance, 2, false, inject.Delivered},
		"a late utterance":                     {false, late, utterance, 1, false, inject.Interrupted},
		"a hush":                               {false, early, hush, 1, false, inject.Interrupted},
		"a typed line":                         {false, early, line, 2, false, inject.Delivered},
		"a late typed line":                    {false, late, line, 1, false, inject.Interrupted},
		"a tap elsewhere":                      {false, early, elsewhere(200*time.Millisecond, 0, 0), 1, false, inject.Interrupted},
		"an utterance elsewhere":               {false, early, elsewhere(2*time.Second, 3*time.Second, 1), 2, false, inject.Delivered},
		"a line elsewhere, there at once":      {false, early, elsewhere(0, 3*time.Second, 1), 2, false, inject.Delivered},
		"a late utterance elsewhere":           {false, late, elsewhere(2*time.Second, 3*time.Second, 1), 1, false, inject.Interrupted},
		"an announcement elsewhere":            {false, early, announced, 2, false, inject.Delivered},
		"a late announcement elsewhere":        {false, late, announced, 2, false, inject.Delivered},
		"to be heeded, announced elsewhere":    {true, late, announced, 2, false, inject.Delivered},
		"something more urgent":                {false, early, yield, 2, false, inject.Delivered},
		"something more urgent, late":          {false, late, yield, 2, false, inject.Delivered},
		"to be heeded, something urgent":       {true, late, yield, 2, false, inject.Delivered},
		"a press elsewhere that never ends":    {false, early, elsewhere(2*time.Minute, 0, 0), 1, false, inject.Interrupted},
		"to be heeded, a tap":                  {true, early, tap, 2, true, inject.Delivered},
		"to be heeded, a late tap":             {true, late, tap, 1, false, inject.Interrupted},
		"to be heeded, an utterance":           {true, early, utterance, 2, true, inject.Delivered},
		"to be heeded, a late utterance":       {true, late, utterance, 1, false, inject.Interrupted},
		"to be heeded, a late hush":            {true, late, hush, 2, true, inject.Delivered},
		"to be heeded, a late typed line":      {true, late, line, 2, true, inject.Delivered},
		"to be heeded, a late tap elsewhere":   {true, late, elsewhere(200*time.Millisecond, 0, 0), 2, true, inject.Delivered},
		"to be heeded, an utterance elsewhere": {true, late, elsewhere(2*time.Second, 3*time.Second, 1), 2, true, inject.Delivered},
	} {
		for _, local := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", local ", local), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, func(_ *rig, o *Options) {
						o.LocalVoice, o.Taken = fakeLocalVoice{}, taken.Load
						o.Elsewhere = func() (uint64, bool) { return spoken.Load(), companion.Load() }
					})
					g.answering(4 * time.Second)
					sounded := 0
					sound := func(context.Context) ([]int16, error) {
						sounded++
						return tone(4*time.Second, 4), nil
					}
					in := inject.Injection{Prompt: "tea is ready", TTL: time.Hour, Heed: row.heed, Local: local}
					done := g.Announce(t.Context(), Announcement{Injection: in, Sound: sound})
					time.Sleep(row.at)
					from := g.Now()
					row.by(g)
					time.Sleep(30 * time.Second)
					g.settle()
					if early := len(done) > 0; early == row.rests {
						t.Errorf("after half a minute it has an outcome: %v", early)
					}
					g.quiet()
					wantOutcome(t, "the injection", done, row.want)
					n := sounded
					var last time.Duration
					for _, r := range g.records {
						if r.Source == "inject" {
							n++
							last = r.Ended
						}
					}
					wantEqual(t, "times that it was said", []int{n}, []int{row.times})
					if row.rests && !local && last-from < time.Minute {
						t.Errorf("said again within %v", last-from)
					}
				})
			})
		}
	}
}

// One to be heeded is said once more, and no more: then nobody has heard it.
func TestOneToBeHeededIsSaidOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.answering(4 * time.Second)
		done := g.Announce(t.Context(), Announcement{Injection: inject.Injection{Prompt: "your pills", TTL: time.Hour, Heed: true}})
		time.Sleep(2 * time.Second)
		g.Hush(g.Now(), g.speaker.Drop())
		time.Sleep(59 * time.Second)
		if !g.Quiet() {
			t.Error("while it rests the device is not quiet")
		}
		g.Ask("what time is it") // the minute begins anew behind the answer
		time.Sleep(62 * time.Second)
		wantEqual(t, "state", []turn.State{g.State()}, []turn.State{turn.Idle})
		time.Sleep(4 * time.Second)
		wantEqual(t, "state", []turn.State{g.State()}, []turn.State{turn.InResponse})
		g.Hush(g.Now(), g.speaker.Drop())
		wantOutcome(t, "the second time", done, inject.Unheard)
		g.quiet()
	})
}

// One to be heeded that a press cut within 1.5 s is not said once more where its announcer takes it back in the answer to that press.
func TestOneToBeHeededIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.answering(4 * time.Second)
		ctx, leave := context.WithCancel(t.Context())
		done := g.Announce(ctx, Announcement{Injection: inject.Injection{Prompt: "your pills", TTL: time.Hour, Heed: true}})
		time.Sleep(time.Second)
		g.Ask("snooze")
		time.Sleep(time.Second)
		wantEqual(t, "outcomes while it rests", []int{len(done)}, []int{0})
		leave()
		time.Sleep(time.Second)
		wantOutcome(t, "it", done, inject.Expired)
		time.Sleep(10 * time.Second)
		wantEqual(t, "state", []turn.State{g.State()}, []turn.State{turn.Idle})
		ends := len(g.ends())
		time.Sleep(3 * time.Minute)
		g.quiet()
		wantEqual(t, "turns behind that", []int{len(g.ends()) - ends}, []int{0})
	})
}

// What the machine cuts is offered again: a person has silenced nothing.
func TestWhatTheMachineCutsIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = fakeLocalVoice{} })
		for _, s := range []int{0, 1} {
			sounded := 0
			done := g.Announce(t.Context(), Announcement{Injection: inject.Injection{Prompt: "tea", TTL: time.Hour, Local: true}, Sound: func(context.Context) ([]int16, error) {
				sounded++
				return tone(4*time.Second, 4), nil
			}})
			time.Sleep(2 * time.Second)
			for range 1 + s { // a card that is lost, once and twice
				g.speaker.mu.Lock()
				sources := slices.Clone(g.speaker.sources)
				g.speaker.mu.Unlock()
				for _, src := range sources {
					src.Cut()
				}
				time.Sleep(2 * time.Second)
			}
			time.Sleep(10 * time.Second)
			wantOutcome(t, "it", done, []inject.Outcome{inject.Delivered, inject.Interrupted}[s])
			wantEqual(t, "times", []int{sounded}, []int{2})
		}
		g.quiet()
	})
}

func TestAfterRunAnInjectionFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.press()
		waits := g.Inject("tea is ready", inject.Normal, "", time.Hour)
		g.settle()
		if err := g.stop(); err != nil {
			t.Error(err)
		}
		wantOutcome(t, "one that waited", waits, inject.Failed)
		wantOutcome(t, "one after the end", g.Inject("late", inject.Normal, "", 0), inject.Failed)
	})
}

// Whoever asked and went away takes back what waits; what is being said goes on, and is not offered again.
func TestAnInjectionIsTakenBackWithWhoAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.answering(300 * time.Millisecond)
		ctx, leave := context.WithCancel(t.Context())
		spoken := g.Announce(ctx, Announcement{Injection: inject.Injection{Prompt: "tea is ready", TTL: time.Hour}})
		waits := g.Announce(ctx, Announcement{Injection: inject.Injection{Prompt: "and cake", TTL: time.Hour}})
		stays := g.Announce(t.Context(), Announcement{Injection: inject.Injection{Prompt: "the door", TTL: time.Hour}})
		time.Sleep(100 * time.Millisecond)
		leave()
		wantOutcome(t, "the one that waited", waits, inject.Expired)
		if len(spoken) != 0 {
			t.Error("the one that was being said ended with who asked for it")
		}
		time.Sleep(time.Second)
		wantOutcome(t, "the one that was being said", spoken, inject.Delivered)
		wantOutcome(t, "the one of somebody who waits", stays, inject.Delivered)

		ctx, leave = context.WithCancel(t.Context())
		cut := g.Announce(ctx, Announcement{Injection: inject.Injection{Prompt: "tea is ready", TTL: time.Hour}})
		time.Sleep(100 * time.Millisecond)
		leave()
		g.settle()
		g.press()
		wantOutcome(t, "one that was cut after that", cut, inject.Interrupted)
		g.Release(g.Now(), 0, button)
		g.quiet()
		if n := len(g.records); n != 4 { // three said, and the press
			t.Errorf("ends %q; want no second offer", g.ends())
		}
	})
}

// A skill's Inject never blocks: not when the runner stands still and the inbox is full.
func TestAskingForATurnNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newExecutor(t, func(o *Options) { o.InboxLimit = 1 })
		h.c.Post(turn.SessionReady{}) // the only place
		asked := make(chan []<-chan inject.Outcome)
		go func() {
			var all []<-chan inject.Outcome
			for range inboxOffers + 1 {
				all = append(all, h.c.Inject("tea", inject.Normal, "", 0))
			}
			asked <- all
		}()
		synctest.Wait()
		select {
		case all := <-asked:
			wantOutcome(t, "one too many", all[inboxOffers], inject.Failed)
			if n := len(h.next()); n != 1+inboxOffers {
				t.Errorf("%d entries wait; want the fact and %d injections", n, inboxOffers)
			}
		default:
			t.Error("Inject waits for room in the inbox")
			h.next() // lets it go
			<-asked
		}
	})
}
