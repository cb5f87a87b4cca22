package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/focus"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// book is content whose samples tell their place: each stretch of 100 ms has a value of its own, from 100 on.
type book struct {
	StreamFunc
	mu    sync.Mutex
	ends  []string
	err   error // of its last write
	crash atomic.Bool
}

const page = 100 * time.Millisecond

func newBook(length time.Duration) *book {
	b := &book{}
	b.StreamFunc = StreamFunc{Pauses: true, Run: func(_ context.Context, write func([]int16) error) error {
		for i := range int(length / page) {
			if b.err = write(tone(page, int16(100+i))); b.err != nil {
				return b.err
			}
		}
		return nil
	}, Ended: func(how turn.EndedHow, heard int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ends = append(b.ends, fmt.Sprint(how, " ", samples(heard)))
	}}
	return b
}

func (b *book) ended() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ends)
}

// plays has a turn that starts b, and waits for its first sample.
func (g *rig) plays(b StreamFunc) {
	g.t.Helper()
	g.tools["play"] = func(context.Context, string) ToolResult {
		return ToolResult{Effect: turn.EffectAudioStream, Stream: b}
	}
	id := g.utter(time.Second)
	g.call(id, "play")
	if s := g.State(); s != turn.Idle {
		g.t.Fatalf("state %v, and nothing plays", s)
	}
}

// call has the model call a tool and say nothing.
func (g *rig) call(id turn.ID, tool string) {
	g.respond(id, turn.ResponseID("r-"+id))
	g.Post(turn.ToolCalled{At: g.Now(), Turn: id, Response: turn.ResponseID("r-" + id), Call: turn.CallID("c-" + id), Name: tool})
	g.settle()
	g.finish(id, turn.ResponseID("r-"+id))
}

// pages are the values of content that were heard, each once for every stretch of it, and for how long content was heard.
func (g *rig) pages() (values []int16, heard time.Duration) {
	for _, p := range g.speaker.played() {
		if p.kind == SourceContent {
			values = append(values, p.value)
			heard += p.to.Sub(p.from)
		}
	}
	return values, heard
}

// contentIn is for how long content was heard in a stretch of time.
func (g *rig) contentIn(from, to time.Duration) (heard time.Duration) {
	for _, p := range g.speaker.played() {
		if p.kind == SourceContent {
			a, b := max(p.from.Sub(g.start), from), min(p.to.Sub(g.start), to)
			heard += max(0, b-a)
		}
	}
	return heard
}

// whole says that each sample of so many pages was heard once, in order, but for one in twenty milliseconds at each return: the fake
// card plays in steps.
func (g *rig) whole(pages int) {
	g.t.Helper()
	values, heard := g.pages()
	if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != pages {
		g.t.Errorf("heard the pages %v; want all %d, in order", values, pages)
	}
	if want := time.Duration(pages) * page; heard < want-time.Millisecond || heard > want+time.Millisecond {
		g.t.Errorf("heard %v of content; want %v, none twice and none left out", heard, want)
	}
}

// whatever silences a book for a while, and by when it must be back.
var disturbances = []struct {
	name string
	by   func(g *rig)
}{
	{"a tap", func(g *rig) {
		g.press()
		time.Sleep(60 * time.Millisecond)
		g.Release(g.Now(), 60*rate/1000, button)
	}},
	{"a press followed by nothing", func(g *rig) {
		id := g.press()
		time.Sleep(time.Second)
		g.Release(g.Now(), rate, button)
		g.settle()
		g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: 0})
	}},
	{"a question", func(g *rig) {
		id := g.utter(time.Second)
		g.respond(id, "r9")
		g.speak(id, "r9", 2*time.Second, 3)
		g.finish(id, "r9")
		time.Sleep(300 * time.Millisecond)
	}},
	{"an answer that fails", func(g *rig) {
		id := g.utter(time.Second)
		g.respond(id, "r9")
		g.speak(id, "r9", 300*time.Millisecond, 3)
		g.Post(turn.ResponseDone{At: g.Now(), Turn: id, Response: "r9", Status: turn.ResponseFailed, Say: turn.WordsQuota})
		time.Sleep(100 * time.Millisecond)
	}},
	{"a deadline", func(g *rig) {
		g.respond(g.utter(time.Second), "r9")
		time.Sleep(10200 * time.Millisecond)
	}},
	{"an announcement", func(g *rig) {
		g.voice.set(func(o turn.Order) {
			if o, ok := o.(turn.CreateResponse); ok {
				go func() {
					g.Post(turn.ResponseStarted{At: g.Now(), Turn: o.Turn, Response: "r8"})
					n := g.Audio(context.Background(), o.Turn, tone(300*time.Millisecond, 4))
					g.Post(turn.DeltaArrived{At: g.Now(), Turn: o.Turn, Response: "r8", Item: "i8", Samples: n})
					g.Post(turn.ResponseDone{At: g.Now(), Turn: o.Turn, Response: "r8"})
				}()
			}
		})
		<-g.Inject("tea", inject.BlockBehindComms, "", time.Minute)
		g.voice.set(nil)
	}},
	{"words of the device", func(g *rig) {
		<-g.InjectAlert(func(context.Context) ([]int16, error) { return tone(500*time.Millisecond, wordsValue), nil }, "", time.Minute)
	}},
	{"a press elsewhere in the room", func(g *rig) {
		g.HushRoom(g.Now(), g.speaker.Drop())
		time.Sleep(time.Second)
	}},
	{"a call that is hung up by the button", func(g *rig) {
		g.tools["dial"] = func(context.Context, string) ToolResult {
			return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(ctx context.Context, _ <-chan []int16, write func([]int16) error) error {
				return write(tone(time.Minute, 1))
			}}}
		}
		g.call(g.utter(time.Second), "dial")
		time.Sleep(10 * time.Second)
		g.press()
		time.Sleep(50 * time.Millisecond)
		g.Release(g.Now(), rate/20, button)
	}},
}

// noVoice is a local voice that nobody asks to speak.
type noVoice struct{}

func (noVoice) Speak(context.Context, string) ([]int16, error) { return nil, nil }

// TURNS.md 4: content comes back after a press, an announcement or a call alike, at the sample behind the last that was heard, and
// nothing of it sounds meanwhile.
func TestContentComesBackWhereItWas(t *testing.T) {
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = noVoice{} })
				b := newBook(20 * time.Second)
				g.plays(b.StreamFunc)
				time.Sleep(3 * time.Second)
				g.settle()
				from := g.Now()
				d.by(g)
				g.settle()
				if heard := g.contentIn(from, g.Now()); heard > 0 {
					t.Errorf("%v of content were heard meanwhile", heard)
				}
				back := g.Now()
				time.Sleep(1200 * time.Millisecond)
				g.settle()
				if heard := g.contentIn(back, g.Now()); heard < 100*time.Millisecond {
					t.Errorf("%v of content a second later; want it back after a breath", heard)
				}
				g.quiet()
				g.whole(200)
				wantEqual(t, "ends", b.ends, []string{"finished 20s"})
			})
		})
	}
}

// Somebody who pressed elsewhere is being answered there: content stays silent until nobody in the room has the floor.
func TestContentWaitsForTheFloorOfTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Bool
		g := newRig(t, func(_ *rig, o *Options) { o.Taken = taken.Load })
		b := newBook(20 * time.Second)
		g.plays(b.StreamFunc)
		time.Sleep(3 * time.Second)
		from := g.Now()
		g.HushRoom(from, g.speaker.Drop())
		time.Sleep(500 * time.Millisecond)
		taken.Store(true)
		time.Sleep(30 * time.Second)
		taken.Store(false)
		g.settle()
		if heard := g.contentIn(from, g.Now()); heard > 0 {
			t.Errorf("%v heard while somebody else had the floor", heard)
		}
		g.quiet()
		g.whole(200)
	})
}

// However late in a stream it is stopped, hushed or the device ends: its end is told once, at once, with what was heard, and the producer
// that has long returned is not blamed.
func TestAnEndIsNeverLate(t *testing.T) {
	const length = 1500 * time.Millisecond
	for name, by := range map[string]func(g *rig){
		"a hush": func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
		"a press that asks for silence": func(g *rig) {
			g.tools["stop"] = func(context.Context, string) ToolResult { return ToolResult{Effect: turn.EffectCancelMedia} }
			g.call(g.utter(200*time.Millisecond), "stop")
		},
		"the device's end": func(g *rig) {
			if err := g.stop(); err != nil {
				g.t.Error(err)
			}
		},
	} {
		for at := time.Duration(0); at <= 2*time.Second; at += 50 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				below := newBook(time.Hour)
				g.plays(below.StreamFunc)
				b := newBook(length)
				g.plays(b.StreamFunc)
				time.Sleep(at)
				g.settle()
				finished := len(b.ended()) > 0
				began := time.Now()
				by(g)
				time.Sleep(300 * time.Millisecond)
				g.settle()
				ends := b.ended()
				if len(ends) != 1 || strings.HasPrefix(ends[0], "finished") != finished && at < length-page { // of the last page so little may be left
					t.Fatalf("%s after %v: ends %q", name, at, ends)
				}
				if n := len(below.ended()); n != 0 && !(n == 1 && (finished || name == "the device's end" || at >= length-page)) {
					t.Fatalf("%s after %v: what lies beneath has %d ends", name, at, n)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("%s after %v: it took %v", name, at, took)
				}
				if g.journal.has("did not return") {
					t.Errorf("%s after %v: the producer is blamed", name, at)
				}
			})
		}
	}
}

// However often, and wherever in it: also in the last seconds, when its producer has returned long since.
func TestContentComesBackWhereverItWasDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(3 * time.Second)
		g.plays(b.StreamFunc)
		for range 12 {
			time.Sleep(550 * time.Millisecond)
			disturbances[0].by(g)
		}
		g.quiet()
		g.whole(30)
		wantEqual(t, "ends", b.ends, []string{"finished 3s"})
	})
}

// What can be mixed sounds on softly beneath an announcement, pauses for who speaks into the microphone, and is as loud as before.
func TestMixableContentIsDuckedOrPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(20 * time.Second)
		b.Pauses = false
		g.plays(b.StreamFunc)
		time.Sleep(time.Second)
		g.settle()
		g.take()
		from := g.Now()
		g.Post(turn.FloorGranted{At: from, Turn: "room-1", Prompt: "go"})
		g.respond("room-1", "r1")
		g.speak("room-1", "r1", time.Second, 2)
		g.finish("room-1", "r1")
		time.Sleep(500 * time.Millisecond)
		g.settle()
		if heard := g.contentIn(from, g.Now()); heard < g.Now()-from-10*time.Millisecond || !g.has("duck true") || g.has("duck false") {
			t.Errorf("%v of %v heard beneath the answer, journal %q; want all of it, softly", heard, g.Now()-from, g.take())
		}
		time.Sleep(time.Second)
		g.settle()
		if !g.has("duck false") {
			t.Errorf("it does not become loud again: %q", g.take())
		}
		from = g.Now()
		g.utter(time.Second)
		if heard := g.contentIn(from, g.Now()); heard > 0 {
			t.Errorf("%v heard while somebody spoke", heard)
		}
		g.quiet()
		g.whole(200)
	})
}

// A radio goes on while it is not heard, and its stream is read meanwhile.
func TestLiveContentGoesOnWhileItIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(20 * time.Second)
		b.Live = true
		g.plays(b.StreamFunc)
		began := g.Now()
		time.Sleep(3 * time.Second)
		disturbances[2].by(g)
		time.Sleep(time.Second)
		g.settle()
		values, _ := g.pages()
		if now := int16(100 + (g.Now()-began)/page); values[len(values)-1] < now-8 || values[len(values)-1] > now+8 {
			t.Errorf("%v after its beginning page %d is heard; want some %d: it is on the air", g.Now()-began, values[len(values)-1], now)
		}
		g.quiet()
	})
}

func TestStopEndsContentForGood(t *testing.T) {
	for name, stop := range map[string]func(g *rig){
		"asked for": func(g *rig) {
			g.tools["stop"] = func(context.Context, string) ToolResult {
				return ToolResult{Output: "ok", Effect: turn.EffectCancelMedia}
			}
			g.call(g.utter(time.Second), "stop")
		},
		"hush": func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				b := newBook(time.Minute)
				g.plays(b.StreamFunc)
				time.Sleep(3 * time.Second)
				g.settle()
				from := g.Now()
				stop(g)
				g.quiet()
				for _, p := range g.speaker.played() {
					if p.kind == SourceContent && p.value >= 100 && p.to.Sub(g.start) > from+time.Millisecond {
						t.Errorf("page %d was heard at %v, after the end at %v", p.value, p.from.Sub(g.start), from)
					}
				}
				wantEqual(t, "ends", b.ends, []string{"stopped 3s"})
				if !errors.Is(b.err, errCut) {
					t.Errorf("its producer was told %v", b.err)
				}
			})
		})
	}
}

// clip is content of one value.
func clip(length time.Duration, value int16) *book {
	b := newBook(length)
	b.Run = func(_ context.Context, write func([]int16) error) error { return write(tone(length, value)) }
	return b
}

// values are those of content that were heard, each once for a stretch of it; those of a book are 100.
func (g *rig) values() (all []int16) {
	values, _ := g.pages()
	for i, v := range values {
		values[i] = min(v, 100)
	}
	return slices.Compact(values)
}

// What displaces content and comes to its end by itself gives it back, at the sample behind the last that was heard; what a person stops does
// not, until a person says so.
func TestContentIsAStack(t *testing.T) {
	hush := func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) }
	stop := func(g *rig) {
		g.tools["stop"] = func(context.Context, string) ToolResult { return ToolResult{Effect: turn.EffectCancelMedia} }
		g.call(g.utter(200*time.Millisecond), "stop")
	}
	goOn := func(g *rig) {
		if !g.GoOn(g.t.Context()) {
			g.t.Error("nothing goes on")
		}
	}
	for _, row := range []struct {
		name        string
		clip        time.Duration // by which the book is displaced, after two seconds
		err         error         // of the clip
		by          func(g *rig)  // while the clip plays
		goOn        bool          // a person asks for it
		ends, clips string
	}{
		{name: "a short one", clip: 1500 * time.Millisecond, ends: "finished 5s", clips: "finished 1.5s"},
		{name: "a long one", clip: 20 * time.Second, ends: "finished 5s", clips: "finished 20s"},
		{name: "one that fails", clip: 1500 * time.Millisecond, err: errors.New("the disk is gone"), ends: "finished 5s", clips: "failed 1.5s"},
		{name: "one that falls asleep", clip: 1500 * time.Millisecond, err: ErrStopped, clips: "stopped 1.5s"},
		{name: "one that is pressed at", clip: 3 * time.Second, by: disturbances[0].by, ends: "finished 5s", clips: "finished 3s"},
		{name: "one that is hushed", clip: time.Minute, by: hush, clips: "stopped 1s"},
		{name: "one that is stopped", clip: time.Minute, by: stop, clips: "stopped 1s"},
		{name: "one that is hushed, and go on", clip: time.Minute, by: hush, goOn: true, ends: "finished 5s", clips: "stopped 1s"},
		{name: "one that is stopped, and go on", clip: time.Minute, by: stop, goOn: true, ends: "finished 5s", clips: "stopped 1s"},
		{name: "go on while it plays", clip: 3 * time.Second, by: goOn, ends: "finished 5s", clips: "finished 3s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				b, c := newBook(5*time.Second), clip(row.clip, 50)
				run := c.Run
				c.Run = func(ctx context.Context, write func([]int16) error) error {
					if err := run(ctx, write); err != nil {
						return err
					}
					return row.err
				}
				g.plays(b.StreamFunc)
				time.Sleep(2 * time.Second)
				g.plays(c.StreamFunc)
				time.Sleep(time.Second)
				if row.by != nil {
					row.by(g)
				}
				time.Sleep(time.Minute)
				if row.goOn {
					goOn(g)
					time.Sleep(10 * time.Second)
				}
				g.settle()
				wantEqual(t, "ends of the clip", c.ended(), []string{row.clips})
				if row.ends == "" {
					wantEqual(t, "ends of the book", b.ended(), nil)
					wantEqual(t, "heard", g.values(), []int16{100, 50})
					goOn(g)
					time.Sleep(10 * time.Second)
					g.settle()
				}
				wantEqual(t, "ends of the book", b.ended(), []string{"finished 5s"})
				wantEqual(t, "heard", g.values(), []int16{100, 50, 100})
				g.quiet()
				if g.GoOn(t.Context()) {
					t.Error("something goes on when all is over")
				}
			})
		})
	}
}

// What came back is what plays: a hush stops it, and that it waited too long is said.
func TestWhatCameBackIsWhatPlays(t *testing.T) {
	for name, by := range map[string]func(g *rig){
		"stopped": func(g *rig) { g.Hush(g.Now(), g.speaker.Drop()) },
		"expired": func(g *rig) {
			g.tools["dial"] = func(context.Context, string) ToolResult {
				return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(ctx context.Context, _ <-chan []int16, _ func([]int16) error) error {
					time.Sleep(40 * time.Second) // the call
					return nil
				}}}
			}
			g.call(g.utter(200*time.Millisecond), "dial")
			time.Sleep(time.Minute)
			if !g.has("words paused_too_long") {
				g.t.Errorf("nothing is said of it: %q", g.take())
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			b := newBook(time.Minute)
			b.Patience = 30 * time.Second
			g.plays(b.StreamFunc)
			time.Sleep(time.Second)
			g.plays(clip(time.Second, 50).StreamFunc)
			for len(b.ended()) == 0 {
				if _, heard := g.pages(); heard >= 3*time.Second {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			by(g)
			g.quiet()
			if ends := b.ended(); len(ends) != 1 || !strings.HasPrefix(ends[0], name) {
				t.Errorf("it ended as %q; want %q", ends, name)
			}
		})
	}
}

// Three lie on one another at most. Each has one end, and which one it is tells why.
func TestAFullStackDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var all []*book
		for i := range 4 {
			b := clip(5*time.Second, int16(10+i))
			all = append(all, b)
			g.plays(b.StreamFunc)
			time.Sleep(time.Second)
		}
		wantEqual(t, "ends of the oldest", all[0].ended(), []string{"preempted 1s"})
		again := clip(time.Second, 14)
		g.plays(again.StreamFunc)
		wantEqual(t, "ends of the next one", all[1].ended(), []string{"preempted 1s"})
		g.quiet()
		for _, b := range append(all[2:], again) {
			if ends := b.ended(); len(ends) != 1 || !strings.HasPrefix(ends[0], "finished ") {
				t.Errorf("ends %q; want one, finished", ends)
			}
		}
		wantEqual(t, "heard", g.values(), []int16{10, 11, 12, 13, 14, 13, 12})
	})
}

// Another place in a book takes the place of the one that plays, beneath whatever it is.
func TestAStreamOfTheSameKeyTakesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		music, one, two := clip(5*time.Second, 10), clip(time.Minute, 11), clip(time.Second, 12)
		one.Key, two.Key = "moby", "moby"
		for _, b := range []*book{music, one, two} {
			g.plays(b.StreamFunc)
			time.Sleep(500 * time.Millisecond)
		}
		wantEqual(t, "ends of the one before", one.ended(), []string{"preempted 500ms"})
		g.quiet()
		wantEqual(t, "heard", g.values(), []int16{10, 11, 12, 10})
	})
}

// What lies beneath for longer than its patience ends. The skill is told so, and nothing is said, since something else plays.
func TestPatienceRunsOutBeneathOtherContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b, c := newBook(time.Minute), clip(50*time.Second, 50)
		b.Patience = 30 * time.Second
		g.plays(b.StreamFunc)
		time.Sleep(2 * time.Second)
		g.plays(c.StreamFunc)
		time.Sleep(40 * time.Second)
		g.settle()
		wantEqual(t, "ends", b.ended(), []string{"expired 2s"})
		g.quiet()
		wantEqual(t, "ends of the other", c.ended(), []string{"finished 50s"})
		if g.has("words paused_too_long") {
			t.Errorf("it is said: %q", g.take())
		}
	})
}

// A skill is told how its stream is heard, and none before its end.
func TestContentIsToldItsFocus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b, c := newBook(5*time.Second), clip(time.Second, 50)
		var told, clips []string
		b.Focus = func(l focus.Level) { told = append(told, l.String()) }
		c.Focus = func(l focus.Level) { clips = append(clips, l.String()) }
		ended := b.Ended
		b.Ended = func(how turn.EndedHow, heard int) { told = append(told, how.String()); ended(how, heard) }
		g.plays(b.StreamFunc)
		time.Sleep(time.Second)
		g.plays(c.StreamFunc)
		time.Sleep(3 * time.Second)
		disturbances[0].by(g)
		g.quiet()
		begun := func(told []string) []string { return told[max(0, slices.Index(told, "foreground")):] } // a stream may begin behind the end of its turn
		wantEqual(t, "told", begun(told), []string{"foreground", "paused", "foreground", "paused", "foreground", "none", "finished"})
		wantEqual(t, "the clip is told", begun(clips), []string{"foreground", "none"})
	})
}

// Content whose patience runs out is told to have ended, and that is said, once, and not into the call that it waited for.
func TestPatienceRunsOutInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(time.Minute)
		b.Patience = 30 * time.Second
		g.plays(b.StreamFunc)
		time.Sleep(2 * time.Second)
		g.tools["dial"] = func(context.Context, string) ToolResult {
			return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(ctx context.Context, _ <-chan []int16, _ func([]int16) error) error {
				<-ctx.Done()
				return nil
			}}}
		}
		g.call(g.utter(time.Second), "dial")
		time.Sleep(40 * time.Second)
		g.settle()
		wantEqual(t, "ends", b.ends, []string{"expired 2s"})
		if g.has("words paused_too_long") {
			t.Errorf("it is said into the call: %q", g.take())
		}
		g.press()
		g.settle()
		if !g.has("words paused_too_long") {
			t.Errorf("nothing is said of it: %q", g.take())
		}
		g.quiet()
	})
}

// A card that cannot take another source, for longer than a moment, fails the stream; it does not hang.
// A card that is gone and does not come back ends what plays, in the middle and in its last words: nothing waits for ever.
func TestContentThatNobodyHearsEnds(t *testing.T) {
	for _, length := range []time.Duration{time.Hour, 1200 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			b := newBook(length)
			g.plays(b.StreamFunc)
			time.Sleep(time.Second)
			g.speaker.mu.Lock()
			g.speaker.dead = true
			g.speaker.mu.Unlock()
			time.Sleep(contentPatience - 10*time.Second)
			if len(b.ended()) > 0 {
				t.Errorf("%v: it does not wait for the card: %q", length, b.ends)
			}
			time.Sleep(contentPatience + 20*time.Second)
			g.settle()
			if len(b.ends) != 1 || !strings.HasPrefix(b.ends[0], "failed ") {
				t.Errorf("%v: ends %q; want one, failed", length, b.ends)
			}
			g.quiet()
		})
	}
}

func TestContentWithoutASourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := newBook(time.Minute)
		g.plays(b.StreamFunc)
		time.Sleep(time.Second)
		g.speaker.mu.Lock()
		g.speaker.full = true
		g.speaker.mu.Unlock()
		disturbances[0].by(g)
		time.Sleep(5 * time.Second)
		g.settle()
		if !g.has("words stream_failed") {
			t.Errorf("nothing is said of it: %q", g.take())
		}
		g.quiet()
		wantEqual(t, "ends", b.ends, []string{"failed 1s"})
	})
}

// What a stream wants said after its end is said after an end that it came to by itself, and after no other.
func TestACompletionPromptFollowsANaturalEndOnly(t *testing.T) {
	for _, row := range []struct {
		name string
		by   func(g *rig, b *book) // while it plays
		want bool
	}{
		{"its end", func(*rig, *book) {}, true},
		{"its end after a question", func(g *rig, _ *book) {
			id := g.utter(time.Second)
			g.respond(id, "r9")
			g.speak(id, "r9", time.Second, 3)
			g.finish(id, "r9")
		}, true},
		{"a hush", func(g *rig, _ *book) { g.Hush(g.Now(), g.speaker.Drop()) }, false},
		{"stop", func(g *rig, _ *book) {
			g.tools["stop"] = func(context.Context, string) ToolResult { return ToolResult{Effect: turn.EffectCancelMedia} }
			g.call(g.utter(time.Second), "stop")
		}, false},
		{"another place in it", func(g *rig, b *book) {
			other := newBook(time.Second)
			other.Key = b.Key
			g.plays(other.StreamFunc)
		}, false},
		{"its end beneath another one", func(g *rig, _ *book) { g.plays(newBook(time.Second).StreamFunc) }, true},
		{"a crash", func(_ *rig, b *book) { b.crash.Store(true) }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				b := newBook(5 * time.Second)
				b.Done, b.Key = "that was chapter three", "moby"
				run := b.Run
				b.Run = func(ctx context.Context, write func([]int16) error) error {
					if err := run(ctx, write); err != nil || !b.crash.Load() {
						return err
					}
					return errors.New("the disk is gone")
				}
				g.plays(b.StreamFunc)
				time.Sleep(time.Second)
				var prompts []string
				g.voice.set(func(o turn.Order) {
					if c, ok := o.(turn.CreateResponse); ok && c.Prompt != "" {
						prompts = append(prompts, c.Prompt)
					}
				})
				row.by(g, b)
				g.quiet()
				if got := len(prompts) > 0; got != row.want || len(prompts) > 1 {
					t.Errorf("after %s it was said %d times; want %t. It ended as %q", row.name, len(prompts), row.want, b.ends)
				}
			})
		})
	}
}

// Whoever keeps a bookmark is told how much was heard: while it sounds, and exactly, when it falls silent.
func TestContentIsToldHowMuchOfItWasHeard(t *testing.T) {
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = noVoice{} })
				b, told, paused := newBook(8*time.Second), 0, []time.Duration(nil)
				b.Heard = func(heard int, silent bool) {
					if told++; silent {
						paused = append(paused, samples(heard))
					}
				}
				g.plays(b.StreamFunc)
				time.Sleep(3 * time.Second)
				g.settle()
				heard := g.contentIn(0, g.Now())
				if told < 25 || len(paused) > 0 {
					t.Errorf("told %d times in three seconds, %v of silence", told, paused)
				}
				d.by(g)
				g.settle()
				if len(paused) == 0 || paused[0] < heard-time.Millisecond || paused[0] > heard+50*time.Millisecond {
					t.Errorf("silent behind %v; told %v", heard, paused)
				}
				time.Sleep(10 * time.Second)
				g.settle()
				wantEqual(t, "ends", b.ends, []string{"finished 8s"})
			})
		})
	}
}
