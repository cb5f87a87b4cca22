package audio_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// micRig is a microphone on a twin card; what it tells is kept in order.
type micRig struct {
	t        *testing.T
	m        *audio.Mic
	c        *twin.Card
	said     []string
	heard    map[string][]int16
	captured map[string]audio.Captured
	now      func() time.Duration
	loud     time.Duration // when the loudspeaker was last heard
}

func newMicRig(t *testing.T, preroll time.Duration) *micRig {
	return newMicRigOn(t, preroll, audio.StreamConfig{})
}

func newMicRigOn(t *testing.T, preroll time.Duration, conf audio.StreamConfig) *micRig {
	clock := twin.NewClock()
	r := &micRig{t: t, c: twin.NewCard(clock), heard: map[string][]int16{}, captured: map[string]audio.Captured{}, now: clock.Now}
	r.m = audio.NewMic(audio.MicConfig{
		Preroll: preroll,
		Now:     clock.Now,
		Loud:    func() time.Duration { return r.loud },
		Sink:    func(id string, pcm []int16) { r.heard[id] = append(r.heard[id], pcm...) },
		Started: func(id string) { r.say("started %s", id) },
		Ended:   func(id string, c audio.Captured) { r.say("ended %s %d", id, c.Samples); r.captured[id] = c },
		Stirred: func() { r.say("stirred") },
		Lost:    func(id string) { r.say("lost %s", id) },
	})
	if _, err := r.c.OpenCapture(conf, r.m.Take); err != nil {
		t.Fatal(err)
	}
	r.c.AfterPeriod = func(time.Duration) { r.m.Poll() }
	return r
}

func (r *micRig) say(f string, a ...any) { r.said = append(r.said, fmt.Sprintf(f, a...)) }

// advance lets time pass, with a look every 5 ms, as Run has them.
func (r *micRig) advance(d time.Duration) {
	for d > 0 {
		step := min(d, 5*time.Millisecond)
		r.c.Advance(step)
		r.m.Poll()
		d -= step
	}
}

func (r *micRig) want(events ...string) {
	r.t.Helper()
	if got, want := strings.Join(r.said, ", "), strings.Join(events, ", "); got != want {
		r.t.Errorf("told: %s; want: %s", got, want)
	}
}

// near says whether a count is what a duration holds, to within a period of the card (10 ms).
func near(n int, d time.Duration) bool {
	return n >= audio.Samples(d-10*time.Millisecond) && n <= audio.Samples(d+10*time.Millisecond)
}

func TestUtteranceHasPreAndPostRoll(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	pcm := noise(3*24000, 1)
	r.c.Feed(pcm) // the air at time t is pcm[t]
	r.advance(time.Second)
	edge := r.now()
	r.advance(4 * time.Millisecond) // the press is confirmed
	r.m.Open("t-1", edge)
	r.m.Poll()
	r.want() // nothing has been captured since the edge
	r.advance(10 * time.Millisecond)
	r.want("started t-1")
	r.advance(490 * time.Millisecond)
	up := r.now()
	r.advance(25 * time.Millisecond) // the release is certain
	if n := r.m.Held(up); !near(n, up-edge) {
		t.Errorf("held %d samples; want about %d", n, audio.Samples(up-edge))
	}
	r.m.End("t-1", up, 120*time.Millisecond)
	r.advance(50 * time.Millisecond)
	r.want("started t-1")
	r.advance(100 * time.Millisecond)
	got := r.heard["t-1"]
	r.want("started t-1", fmt.Sprintf("ended t-1 %d", len(got)))
	if whole := 250*time.Millisecond + up - edge + 120*time.Millisecond; !near(len(got), whole) {
		t.Errorf("the utterance has %d samples; want about %d", len(got), audio.Samples(whole))
	}
	// It is what was in the air from 250 ms before the edge on, without a gap.
	const lag = 12 // samples: the filter
	from := audio.Samples(edge - 250*time.Millisecond)
	best, worst := -1, math.MaxInt
	for shift := -300; shift < 300; shift++ { // where did it begin?
		sum := 0
		for i := 1000; i < 1200; i++ {
			d := int(got[i]) - int(pcm[from+shift+i])
			sum += d * d
		}
		if sum < worst {
			best, worst = shift, sum
		}
	}
	if best < -240-lag || best > 240 {
		t.Fatalf("begins %d samples beside 250 ms before the edge", best)
	}
	smooth := func(p []int16, i int) int { return int(p[i-1]) + 2*int(p[i]) + int(p[i+1]) }
	off := 0
	for i := 100; i < len(got)-1; i++ {
		if d := smooth(got, i) - smooth(pcm, from+best+i); d > 12000 || d < -12000 {
			off++
		}
	}
	if off > len(got)/50 {
		t.Errorf("%d of %d samples are not what was in the air: a gap or a jump", off, len(got))
	}
}

func TestPrerollLeavesOutTheCompanionsOwnVoice(t *testing.T) {
	for _, row := range []struct {
		name string
		loud time.Duration // before the edge; negative: it sounds on after it
		want time.Duration // of pre-roll
	}{
		{"long ago", 900 * time.Millisecond, 250 * time.Millisecond},
		{"just before", 100 * time.Millisecond, 100 * time.Millisecond},
		{"still sounding", -20 * time.Millisecond, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newMicRig(t, 250*time.Millisecond)
			r.c.Feed(noise(3*24000, 1))
			r.advance(time.Second)
			edge := r.now()
			r.loud = edge - row.loud
			r.m.Open("t-1", edge)
			r.advance(500 * time.Millisecond)
			r.m.End("t-1", r.now(), 0)
			r.advance(50 * time.Millisecond)
			if n := len(r.heard["t-1"]); !near(n, 500*time.Millisecond+row.want) {
				t.Errorf("heard %d ms; want 500 and %s of pre-roll", n*1000/audio.Rate, row.want)
			}
		})
	}
}

func TestSecondPressBeginsAnew(t *testing.T) {
	r := newMicRig(t, 0)
	r.advance(300 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(300 * time.Millisecond)
	r.m.Open("t-2", r.now()) // no release seen: TURNS.md 8, row 9
	r.advance(200 * time.Millisecond)
	r.m.End("t-1", r.now(), 0) // stray
	r.m.End("t-2", r.now(), 0)
	r.m.End("t-2", r.now(), time.Hour) // only the first counts
	r.advance(100 * time.Millisecond)
	n := len(r.heard["t-2"])
	r.want("started t-1", "started t-2", fmt.Sprintf("ended t-2 %d", n))
	if !near(n, 200*time.Millisecond) {
		t.Errorf("the second utterance has %d samples; want about 4800", n)
	}
}

// What is said of an utterance that was cut comes late now and then; it does not concern the one that is open.
func TestAnEndOrDiscardIsOfTheUtteranceItNames(t *testing.T) {
	r := newMicRig(t, 0)
	r.advance(100 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(200 * time.Millisecond)
	r.m.Open("t-2", r.now())
	r.m.End("t-1", r.now(), 0)
	r.m.Discard("t-1")
	r.advance(500 * time.Millisecond)
	r.want("started t-1", "started t-2")
	r.m.End("t-2", r.now(), 0)
	r.advance(50 * time.Millisecond)
	n := r.captured["t-2"].Samples
	r.want("started t-1", "started t-2", fmt.Sprintf("ended t-2 %d", n))
	if !near(n, 500*time.Millisecond) {
		t.Errorf("the second utterance has %d samples; want about %d", n, audio.Samples(500*time.Millisecond))
	}
}

func TestPressDuringThePostRollEndsTheFirst(t *testing.T) {
	r := newMicRig(t, 0)
	r.advance(100 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(200 * time.Millisecond)
	r.m.End("t-1", r.now(), 120*time.Millisecond)
	r.advance(20 * time.Millisecond)
	r.m.Open("t-2", r.now())
	r.advance(40 * time.Millisecond)
	r.m.Discard("t-2")
	before := len(r.heard["t-2"])
	r.advance(time.Second)
	r.want("started t-1", fmt.Sprintf("ended t-1 %d", len(r.heard["t-1"])), "started t-2")
	if len(r.heard["t-2"]) != before {
		t.Error("a discarded utterance goes on")
	}
}

func TestDeadMicrophoneIsTold(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	r.c.Feed(noise(48000, 1))
	r.advance(time.Second)
	r.c.Unplug()
	r.advance(time.Second)
	edge := r.now()
	r.m.Open("t-1", edge)
	r.advance(400 * time.Millisecond)
	if n := r.m.Held(r.now()); n != 0 {
		t.Errorf("held %d samples of a dead microphone", n)
	}
	r.want()
	r.advance(200 * time.Millisecond)
	r.want("lost t-1") // and never started: the ring has only old sound
	r.m.End("t-1", r.now(), 120*time.Millisecond)
	r.m.Poll()
	r.want("lost t-1", "ended t-1 0")
	if len(r.heard["t-1"]) != 0 {
		t.Error("an old sound became an utterance")
	}

	// Released before it was noticed: the end comes all the same, in bounded time.
	r.m.Open("t-2", r.now())
	r.advance(100 * time.Millisecond)
	r.m.End("t-2", r.now(), 120*time.Millisecond)
	r.advance(419 * time.Millisecond)
	r.want("lost t-1", "ended t-1 0")
	r.advance(2 * time.Millisecond)
	r.want("lost t-1", "ended t-1 0", "ended t-2 0")
}

func TestMicrophoneLostMidway(t *testing.T) {
	r := newMicRig(t, 0)
	r.advance(100 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(300 * time.Millisecond)
	r.c.Unplug()
	r.advance(600 * time.Millisecond)
	r.want("started t-1", "lost t-1")
	r.m.End("t-1", r.now(), 0)
	r.m.Poll()
	r.want("started t-1", "lost t-1", fmt.Sprintf("ended t-1 %d", len(r.heard["t-1"])))
}

// A process that got no processor for a second, or only now and then, has not lost its microphone: it has not looked.
func TestAStarvedProcessKeepsItsUtterance(t *testing.T) {
	r := newMicRig(t, 0)
	r.c.AfterPeriod = nil
	r.advance(100 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(200 * time.Millisecond)
	r.c.Stall(time.Second) // its callbacks stand still as well
	for range 4 {
		r.c.Advance(249 * time.Millisecond)
		r.m.Poll()
	}
	r.want("started t-1")
	r.advance(100 * time.Millisecond)
	r.m.End("t-1", r.now(), 0)
	r.c.Stall(400 * time.Millisecond)
	r.c.Advance(399 * time.Millisecond)
	r.m.Poll()
	r.want("started t-1")
	r.advance(100 * time.Millisecond)
	n := len(r.heard["t-1"])
	r.want("started t-1", fmt.Sprintf("ended t-1 %d", n))
	if whole := 1296 * time.Millisecond; n < audio.Samples(whole-510*time.Millisecond) || n > audio.Samples(whole+20*time.Millisecond) {
		t.Errorf("the utterance has %d samples; want about %d", n, audio.Samples(whole))
	}
}

// A card that was away counts no frames: what was captured before it went is no pre-roll, and the utterance begins with the
// first frame that comes, not where the clock would have had the edge.
func TestAnUtteranceOfACardThatComesBackBeginsWithItsFirstFrame(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	r.c.Feed(slices.Repeat([]int16{8000}, audio.Samples(time.Second)))
	r.advance(time.Second)
	r.c.Unplug()
	r.advance(time.Second)
	r.m.Open("t-1", r.now())
	r.c.Replug()
	if _, err := r.c.OpenCapture(audio.StreamConfig{}, r.m.Take); err != nil {
		t.Fatal(err)
	}
	r.advance(300 * time.Millisecond)
	r.m.End("t-1", r.now(), 0)
	r.advance(100 * time.Millisecond)
	got := r.heard["t-1"]
	r.want("started t-1", fmt.Sprintf("ended t-1 %d", len(got)))
	if !near(len(got), 300*time.Millisecond) || slices.Max(append(got, 0)) > 4000 {
		t.Errorf("%d samples, the loudest %d; want about %d, and nothing from before", len(got), slices.Max(append(got, 0)), audio.Samples(300*time.Millisecond))
	}
}

// With a late audio thread frames come late, but all of them.
func TestLateCaptureLosesNothing(t *testing.T) {
	r := newMicRig(t, 0)
	r.advance(100 * time.Millisecond)
	r.m.Open("t-1", r.now())
	r.advance(100 * time.Millisecond)
	r.c.Stall(200 * time.Millisecond)
	r.advance(300 * time.Millisecond)
	r.m.End("t-1", r.now(), 0)
	r.advance(50 * time.Millisecond)
	if n := len(r.heard["t-1"]); !near(n, 400*time.Millisecond) {
		t.Errorf("%d samples of 400 ms", n)
	}
}

// Without pre-roll an utterance begins at its edge: nothing from before is in it, and nothing after is missing, however long it
// took until the edge was known to be a press, and however the card delivers.
func TestWithoutPrerollAnUtteranceBeginsAtItsEdge(t *testing.T) {
	const held, exact = 200 * time.Millisecond, time.Millisecond
	for _, period := range []time.Duration{10 * time.Millisecond, 40 * time.Millisecond} {
		for _, late := range []time.Duration{0, 4 * time.Millisecond, 25 * time.Millisecond, 40 * time.Millisecond, 90 * time.Millisecond} {
			for phase := range 40 {
				before := time.Second + time.Duration(phase)*3*time.Millisecond
				r := newMicRigOn(t, 0, audio.StreamConfig{Period: period})
				r.c.Feed(append(make([]int16, audio.Samples(before)), slices.Repeat([]int16{8000}, 24000)...)) // somebody speaks from the edge on
				r.advance(before)
				edge := r.now()
				r.advance(late)
				r.m.Open("t-1", edge)
				r.advance(held - late)
				r.m.End("t-1", r.now(), 0)
				r.advance(100 * time.Millisecond)
				spoken := 0
				for _, x := range r.heard["t-1"] {
					if x > 4000 {
						spoken++
					}
				}
				if n := len(r.heard["t-1"]); spoken < audio.Samples(held-exact) || n > audio.Samples(held+exact) {
					t.Errorf("period %v, %v into it, known after %v: %d ms of the %v since the edge, and %d ms from before",
						period, before%period, late, audio.CardDuration(2*spoken).Milliseconds(), held, audio.CardDuration(2*(n-spoken)).Milliseconds())
				}
			}
		}
	}
	r := newMicRig(t, 0)
	r.advance(time.Second)
	r.m.Open("t-1", r.now()-500*time.Millisecond) // even if somebody asks for it
	r.advance(100 * time.Millisecond)
	r.m.End("t-1", r.now(), 0)
	r.advance(50 * time.Millisecond)
	if n := len(r.heard["t-1"]); !near(n, 200*time.Millisecond) {
		t.Errorf("%v; want the 100 ms that are kept, and the 100 since", audio.CardDuration(2*n))
	}
}

// A press in the post-roll of the one before begins at its own edge, though that one has had what came since.
func TestAPressInThePostRollLosesNothing(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	r.advance(time.Second)
	r.m.Open("t-1", r.now())
	r.advance(300 * time.Millisecond)
	r.m.End("t-1", r.now(), 120*time.Millisecond)
	r.advance(50 * time.Millisecond)
	edge := r.now()
	r.advance(40 * time.Millisecond)
	r.m.Open("t-2", edge)
	r.advance(160 * time.Millisecond)
	r.m.End("t-2", r.now(), 0)
	r.advance(50 * time.Millisecond)
	if n := len(r.heard["t-2"]); n < audio.Samples(200*time.Millisecond) || n > audio.Samples(211*time.Millisecond) {
		t.Errorf("%v of the second; want the 200 ms since its edge, and nothing that the first has had", audio.CardDuration(2*n))
	}
}

// What counts of a press is what the card has captured until the release, not what it has delivered by then: it may keep back
// more than a tenth of a second. All of it is sent.
func TestAPressIsAsLongAsItWasHeld(t *testing.T) {
	const held = 139 * time.Millisecond
	for _, row := range []struct {
		name   string
		period time.Duration
		stall  time.Duration
	}{
		{"small periods", 10 * time.Millisecond, 0},
		{"large periods", 100 * time.Millisecond, 0},
		{"a late audio thread", 10 * time.Millisecond, 300 * time.Millisecond},
	} {
		for phase := range 20 {
			r := newMicRigOn(t, 0, audio.StreamConfig{Period: row.period})
			r.advance(time.Second + time.Duration(phase)*5*time.Millisecond)
			r.m.Open("t-1", r.now())
			r.c.Stall(row.stall)
			r.advance(held)
			up := r.now()
			if n := r.m.Held(up); n < audio.Samples(held-2*time.Millisecond) || n > audio.Samples(held+2*time.Millisecond) {
				t.Errorf("%s: held for %v; want %v", row.name, audio.CardDuration(2*n), held)
			}
			r.m.End("t-1", up, 0)
			r.advance(400 * time.Millisecond)
			if c := r.captured["t-1"]; c.Held < audio.Samples(held-2*time.Millisecond) || c.Samples < c.Held {
				t.Errorf("%s: %+v; want %v of the press, all of it sent", row.name, c, held)
			}
		}
	}

	// A card that has died meanwhile has captured nothing.
	r := newMicRig(t, 250*time.Millisecond)
	r.advance(time.Second)
	r.m.Open("t-1", r.now())
	r.advance(20 * time.Millisecond)
	r.c.Unplug()
	r.advance(300 * time.Millisecond)
	r.m.End("t-1", r.now(), 0)
	r.advance(400 * time.Millisecond)
	if c := r.captured["t-1"]; c.Held > audio.Samples(30*time.Millisecond) || c.Samples < audio.Samples(250*time.Millisecond) {
		t.Errorf("%+v of a card that died 20 ms into the press; want those, besides the pre-roll", c)
	}
}

// Nothing but one value is no sound: a switch on the microphone, a cable, a driver that makes it up. One sample that differs is.
func TestAFlatUtteranceIsTold(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	utter := func(id string, pcm []int16) {
		t.Helper()
		r.c.Feed(pcm)
		r.m.Open(id, r.now())
		r.advance(400 * time.Millisecond)
		r.m.End(id, r.now(), 0)
		r.advance(50 * time.Millisecond)
	}
	r.advance(time.Second)
	utter("zeros", nil)
	utter("wakes up after 100 ms", append(make([]int16, 2400), noise(2400, 1)...))
	utter("zeros again", nil)
	r.c.Feed(noise(480, 1)) // nobody is pressing
	r.advance(300 * time.Millisecond)
	r.c.Feed(slices.Repeat([]int16{-1}, 48000))
	r.advance(time.Second)
	utter("stuck", nil)
	for id, want := range map[string]bool{"zeros": true, "wakes up after 100 ms": false, "zeros again": true, "stuck": true} {
		if r.captured[id].Flat != want {
			t.Errorf("%s: %+v; want Flat %v", id, r.captured[id], want)
		}
	}
	if got := strings.Count(strings.Join(r.said, " "), "stirred"); got != 2 {
		t.Errorf("told %d times that it is alive again; want twice: %v", got, r.said)
	}
}

func TestMuteIsTheFact(t *testing.T) {
	fail := errors.New("device is busy")
	m := audio.NewMic(audio.MicConfig{Mute: func(bool) error { return fail }})
	if err := m.SetMuted(true); !errors.Is(err, fail) || m.Muted() {
		t.Errorf("SetMuted = %v, Muted = %v: the light would lie", err, m.Muted())
	}
	fail = nil
	if err := m.SetMuted(true); err != nil || !m.Muted() {
		t.Errorf("SetMuted = %v, Muted = %v", err, m.Muted())
	}
}

// What was captured before a mute is forgotten with it: a press right after it is over has no pre-roll from before.
func TestMuteForgetsWhatWasCaptured(t *testing.T) {
	clock := twin.NewClock()
	card := twin.NewCard(clock)
	var stream audio.Stream
	var m *audio.Mic
	var heard []int16
	m = audio.NewMic(audio.MicConfig{
		Preroll: 250 * time.Millisecond, Now: clock.Now,
		Sink: func(_ string, pcm []int16) { heard = append(heard, pcm...) },
		Mute: func(muted bool) (err error) {
			if muted {
				return stream.Close()
			}
			stream, err = card.OpenCapture(audio.StreamConfig{}, m.Take)
			return err
		},
	})
	card.AfterPeriod = func(time.Duration) { m.Poll() }
	if err := m.SetMuted(false); err != nil {
		t.Fatal(err)
	}
	card.Feed(slices.Repeat([]int16{8000}, audio.Samples(time.Second)))
	card.Advance(time.Second)
	m.Poll()
	for _, muted := range []bool{true, false} {
		if err := m.SetMuted(muted); err != nil {
			t.Fatal(err)
		}
		m.Poll()
		card.Advance(20 * time.Millisecond) // shorter than what makes it stale
	}
	m.Open("t-1", clock.Now())
	card.Advance(300 * time.Millisecond)
	m.Poll()
	if len(heard) < audio.Samples(250*time.Millisecond) || slices.Max(heard) > 4000 {
		t.Errorf("%d samples, the loudest %d; want what followed the mute, and nothing from before", len(heard), slices.Max(append(heard, 0)))
	}
}

// Run in the time of a bubble, with a sink that calls back into the microphone.
func TestRunCarriesFramesAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := twin.WallClock()
		card := twin.NewCard(clock)
		var m *audio.Mic
		var frames []time.Duration
		ended := make(chan int, 1)
		m = audio.NewMic(audio.MicConfig{
			Preroll: 250 * time.Millisecond,
			Now:     clock.Now,
			Sink: func(id string, pcm []int16) {
				frames = append(frames, clock.Now())
				_ = m.Held(clock.Now())
			},
			Ended: func(id string, c audio.Captured) { ended <- c.Samples },
		})
		if _, err := card.OpenCapture(audio.StreamConfig{}, m.Take); err != nil {
			t.Fatal(err)
		}
		go func() { _ = card.Run(t.Context(), 1) }()
		go func() { _ = m.Run(t.Context()) }()
		time.Sleep(time.Second)
		m.Open("t-1", clock.Now())
		time.Sleep(time.Second)
		m.End("t-1", clock.Now(), 100*time.Millisecond)
		if n := <-ended; !near(n, 1350*time.Millisecond) {
			t.Errorf("%d samples; want about %d", n, audio.Samples(1350*time.Millisecond))
		}
		for i := 15; i < len(frames); i++ { // after the pre-roll in one go, each 20 ms
			if gap := frames[i] - frames[i-1]; gap > 30*time.Millisecond {
				t.Errorf("frame %d came %v after the one before", i, gap)
			}
		}
	})
}

func BenchmarkTake(b *testing.B) {
	m := audio.NewMic(audio.MicConfig{})
	in := noise(480, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Take(in)
		if i%50 == 0 {
			m.Poll()
		}
	}
}
