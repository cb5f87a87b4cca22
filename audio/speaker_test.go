package audio_test

import (
	"context"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// rig is a speaker on a twin card whose time a test moves by hand; Watch runs after each period.
type rig struct {
	t   testing.TB
	s   *audio.Speaker
	c   *twin.Card
	now func() time.Duration
	str audio.Stream
}

func newRig(t testing.TB) *rig {
	clock := twin.NewClock()
	card := twin.NewCard(clock)
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: clock.Now, Volume: &full, Cues: &full})
	str, err := card.OpenPlayback(audio.StreamConfig{}, s.Render)
	if err != nil {
		t.Fatal(err)
	}
	s.SetQueued(str.Granted().Queued())
	card.AfterPeriod = func(time.Duration) { s.Watch() }
	return &rig{t: t, s: s, c: card, now: clock.Now, str: str}
}

type rigMaker = func(testing.TB) *rig

// bothCards runs a test on a card whose queue stays and on one that is rewound.
func bothCards(t *testing.T, f func(*testing.T, rigMaker)) {
	t.Run("queue", func(t *testing.T) { f(t, newRig) })
	t.Run("rewound", func(t *testing.T) { f(t, newRewindRig) })
}

// noise is never zero, and no two stretches of it are alike.
func noise(n, seed int) []int16 {
	pcm := make([]int16, n)
	x := uint32(seed)*2654435761 + 12345
	for i := range pcm {
		x = x*1664525 + 1013904223
		pcm[i] = int16(x>>18) - 8192 // +-8192
		if pcm[i] == 0 {
			pcm[i] = 1
		}
	}
	return pcm
}

func (r *rig) write(src *audio.Source, pcm []int16) {
	r.t.Helper()
	if n := src.Write(context.Background(), pcm); n != len(pcm) {
		r.t.Fatalf("Write took %d of %d samples", n, len(pcm))
	}
}

// mixed is the tape at 24 kHz: the odd frames are the mix itself, bit for bit.
func (r *rig) mixed() []int16 {
	frames, _ := r.c.Tape()
	var out []int16
	for i := 1; i < len(frames); i += 2 {
		out = append(out, frames[i])
	}
	return out
}

// find is where part begins in all, or -1.
func find(all, part []int16) int {
next:
	for i := 0; i+len(part) <= len(all); i++ {
		for j, x := range part {
			if all[i+j] != x {
				continue next
			}
		}
		return i
	}
	return -1
}

func drained(src *audio.Source) bool {
	select {
	case <-src.Drained():
		return true
	default:
		return false
	}
}

const fadeSamples = 48 // 2 ms of cosine

func TestWhatIsWrittenIsHeardExactly(t *testing.T) { bothCards(t, whatIsWrittenIsHeardExactly) }

func whatIsWrittenIsHeardExactly(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(24000, 1)
	r.write(src, pcm)
	src.Close()
	for range 300 {
		r.c.Advance(5 * time.Millisecond)
		if drained(src) {
			break
		}
		if h := src.Heard(); h > 24000 {
			t.Fatalf("heard %d of 24000", h)
		}
	}
	if !drained(src) || src.Heard() != len(pcm) {
		t.Fatalf("after the end: drained %v, heard %d; want true, %d", drained(src), src.Heard(), len(pcm))
	}
	r.c.Advance(20 * time.Millisecond)
	if i := find(r.mixed(), pcm[fadeSamples:len(pcm)-fadeSamples]); i < 0 {
		t.Fatal("the samples between the two fades are not on the tape as they were written")
	}
}

// Every phase of the press against the callback: silence comes within what Granted.Bound says, and the callback that sees the Drop hands over at most 3 ms more.
func TestDropIsSilenceWithinTheBound(t *testing.T) { bothCards(t, dropIsSilenceWithinTheBound) }

func dropIsSilenceWithinTheBound(t *testing.T, newRig rigMaker) {
	bound := newRig(t).str.Granted().Bound(3 * time.Millisecond)
	var least, most time.Duration = time.Hour, 0
	for phase := range 50 {
		r := newRig(t)
		src := r.s.Open(audio.SourceSpeech, r.s.Generation())
		r.write(src, noise(48000, phase))
		r.c.Advance(500*time.Millisecond + time.Duration(phase)*100*time.Microsecond)
		press := r.now()
		r.s.Drop()
		r.c.Advance(200 * time.Millisecond)
		silent := r.c.LastAudible(press) - press
		least, most = min(least, silent), max(most, silent)
		if silent > bound {
			t.Errorf("phase %d: silent after %v; want at most %v", phase, silent, bound)
		}
		at, ok := src.Silenced() // counts the filter's whole tail, whose end may round to zero
		if off := at - press - silent; !ok || off < 0 || off > 500*time.Microsecond {
			t.Errorf("phase %d: Silenced() = %v, %v; the tape fell silent at %v", phase, at, ok, press+silent)
		}
		if at := r.s.LastAudible(); at != press+silent {
			t.Errorf("phase %d: LastAudible() = %v; the tape fell silent at %v", phase, at, press+silent)
		}
	}
	if most-least < 4*time.Millisecond || most < bound-1500*time.Microsecond {
		t.Errorf("silent after %v to %v: that does not look like every phase of a period of 5 ms", least, most)
	}
}

func TestDropAfterHushContinuesTheSilence(t *testing.T) {
	bothCards(t, dropAfterHushContinuesTheSilence)
}

func dropAfterHushContinuesTheSilence(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	r.write(src, noise(48000, 1))
	r.c.Advance(500 * time.Millisecond)
	r.s.Hush()
	edge := r.now()
	r.c.Advance(4 * time.Millisecond)
	r.s.Drop()
	r.c.Advance(400 * time.Millisecond)
	if silent, bound := r.c.LastAudible(edge)-edge, r.str.Granted().Bound(3*time.Millisecond); silent > bound {
		t.Errorf("silent %v after the first edge; want at most %v", silent, bound)
	}
	if _, ok := src.Silenced(); !ok || !drained(src) {
		t.Error("a dropped source must be silenced and drained")
	}

	// What is opened in the new generation is not held by the old hush.
	r.s.Unhush() // and a late Unhush brings nothing back
	at := r.now()
	r.s.Play(noise(2400, 2), false, r.s.Generation())
	r.c.Advance(100 * time.Millisecond)
	if end := r.c.LastAudible(at); end < at+110*time.Millisecond-15*time.Millisecond {
		t.Errorf("the cue of the new generation ended %v after it began; want 100 ms and more", end-at)
	}
	if got := src.Write(context.Background(), noise(10, 1)); got != 0 {
		t.Errorf("a dropped source took %d samples", got)
	}
}

// A deadline passes between the first edge and its confirmation: the words that follow must not break the silence.
func TestFlushLeavesAHushInForce(t *testing.T) { bothCards(t, flushLeavesAHushInForce) }

func flushLeavesAHushInForce(t *testing.T, newRig rigMaker) {
	for _, press := range []bool{true, false} {
		r := newRig(t)
		r.write(r.s.Open(audio.SourceSpeech, r.s.Generation()), noise(48000, 1))
		r.c.Advance(500 * time.Millisecond)
		r.s.Hush()
		edge := r.now()
		r.c.Advance(time.Millisecond)
		words := r.s.Open(audio.SourceWords, r.s.Flush())
		r.write(words, noise(12000, 2))
		words.Close()
		r.s.Play(noise(2400, 3), false, r.s.Generation())
		r.c.Advance(100 * time.Millisecond)
		if silent := r.c.LastAudible(edge) - edge; silent > 23*time.Millisecond {
			t.Errorf("something sounds %v after the first edge; want silence after 23 ms", silent)
		}
		if press {
			r.s.Drop()
		} else {
			r.s.Unhush()
		}
		r.c.Advance(time.Second)
		if heard := words.Heard(); press && heard != 0 || !press && heard != 12000 {
			t.Errorf("press %v: heard %d samples of the words; want none after a press, all after a glitch", press, heard)
		}
	}
}

// A glitch: first edge, no confirmation. Every sample is heard at full level in the end, in order.
func TestGlitchLosesNothing(t *testing.T) { bothCards(t, glitchLosesNothing) }

func glitchLosesNothing(t *testing.T, newRig rigMaker) {
	for _, hold := range []time.Duration{time.Millisecond, 4 * time.Millisecond, 9 * time.Millisecond, 50 * time.Millisecond} {
		r := newRig(t)
		src := r.s.Open(audio.SourceSpeech, r.s.Generation())
		pcm := noise(24000, 3)
		r.write(src, pcm)
		src.Close()
		r.c.Advance(303 * time.Millisecond)
		r.s.Hush()
		r.c.Advance(hold)
		heard := src.Heard()
		if hold > 25*time.Millisecond {
			r.c.Advance(20 * time.Millisecond)
			if src.Heard() != heard {
				t.Errorf("hush %v: %d samples heard, then %d, in silence", hold, heard, src.Heard())
			}
		}
		r.s.Unhush()
		r.c.Advance(1500 * time.Millisecond)
		tape := r.mixed()
		// Up to the fade, from the fade on; together that is everything but the two fades of 2 ms.
		cut := -1
		for k := fadeSamples; k < len(pcm)-200; k += 8 {
			if find(tape, pcm[k:k+8]) < 0 {
				cut = k
				break
			}
		}
		if hold < 5*time.Millisecond && cut < 0 {
			continue // no callback saw it
		}
		if cut < 0 {
			t.Errorf("hush %v: nothing faded", hold)
			continue
		}
		lost := 0
		for k := cut; find(tape, pcm[k:k+8]) < 0; k++ {
			lost++
		}
		if lost > fadeSamples+8 {
			t.Errorf("hush %v: %d samples were not heard at full level; want at most a fade", hold, lost)
		}
		if !drained(src) || src.Heard() != len(pcm) || find(tape, pcm[cut+fadeSamples+8:len(pcm)-fadeSamples]) < 0 {
			t.Errorf("hush %v: heard %d of %d, drained %v", hold, src.Heard(), len(pcm), drained(src))
		}
	}
}

// The fade reads ahead; what it read is heard again, rising. So between the fade out and the fade in nothing is skipped.
func TestHushComesBackWhereItWas(t *testing.T) { bothCards(t, hushComesBackWhereItWas) }

func hushComesBackWhereItWas(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := make([]int16, 24000)
	for i := range pcm {
		pcm[i] = 10000 // the level of the tape is the envelope
	}
	r.write(src, pcm)
	r.c.Advance(300 * time.Millisecond)
	r.s.Hush()
	r.c.Advance(100 * time.Millisecond)
	r.s.Unhush()
	r.c.Advance(1500 * time.Millisecond)
	sum := 0
	for _, v := range r.mixed() {
		sum += int(v)
	}
	// Fade in, then out (2 ms, replayed) and in again, then out at the underrun (5 ms, held back because it is not
	// closed): the areas of each half cosine are half a rectangle.
	want := 10000 * (len(pcm) - 120 - fadeSamples/2 + 120/2)
	if diff := sum - want; diff < -10000*4 || diff > 10000*4 {
		t.Errorf("sounded for %d samples; want %d", sum/10000, want/10000)
	}
}

func TestHeardFollowsTheTape(t *testing.T) { bothCards(t, heardFollowsTheTape) }

func heardFollowsTheTape(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(24000, 7)
	at := map[[4]int16]int{}
	for i := range len(pcm) - 4 {
		at[[4]int16(pcm[i:i+4])] = i + 4
	}
	onTape := func() (n int) {
		tape := r.mixed()
		for i := 0; i+4 <= len(tape); i++ {
			n = max(n, at[[4]int16(tape[i:i+4])])
		}
		return n
	}
	check := func(when string, slack int) {
		t.Helper()
		if h, n := src.Heard(), onTape(); h < n-1-slack || h > n+1+slack {
			t.Errorf("%s: Heard() = %d; the tape has %d", when, h, n)
		}
	}
	r.write(src, pcm[:12000])
	r.c.Advance(10 * time.Millisecond)
	check("before it sounds", 0)
	for i := range 20 {
		r.c.Advance(13*time.Millisecond + time.Duration(i)*333*time.Microsecond)
		check("while it sounds", 0)
	}
	r.s.Hush()
	r.c.Advance(60 * time.Millisecond)
	check("hushed", 0)
	r.s.Unhush()
	r.c.Advance(70 * time.Millisecond)
	check("unhushed", 0)
	r.c.Advance(400 * time.Millisecond)
	if h, n := src.Heard(), onTape()+120; h != 12000 || n != 12000 { // its last 5 ms sounded, but fading: not bit for bit
		t.Errorf("run dry: Heard() = %d; the tape has %d, the fade included", h, n)
	}
	if u := r.s.Stats().Underruns; u != 1 {
		t.Errorf("%d underruns; want 1", u)
	}
	r.write(src, pcm[12000:])
	r.c.Advance(90 * time.Millisecond)
	check("going on", 0)
	r.s.Drop()
	before := src.Heard()
	r.c.Advance(100 * time.Millisecond)
	if src.Heard() != before {
		t.Errorf("heard %d after the drop, then %d: must be final", before, src.Heard())
	}
	check("dropped", 0)
}

func TestDropBeforeAnythingSounds(t *testing.T) { bothCards(t, dropBeforeAnythingSounds) }

func dropBeforeAnythingSounds(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	r.write(src, noise(1000, 1)) // less than it waits for
	r.c.Advance(100 * time.Millisecond)
	r.s.Drop()
	r.c.Advance(100 * time.Millisecond)
	if _, ok := src.Silenced(); ok || src.Heard() != 0 || !drained(src) || r.c.LastAudible(0) != 0 {
		t.Errorf("never sounded: silenced %v, heard %d, drained %v, audible until %v", ok, src.Heard(), drained(src), r.c.LastAudible(0))
	}
}

// Slow data: it waits for 80 ms, plays, fades before it runs dry, waits for more than before (jitter_test.go), and nothing is lost.
func TestUnderrunFadesAndWaits(t *testing.T) { bothCards(t, underrunFadesAndWaits) }

func underrunFadesAndWaits(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(12000, 9)
	sent := 0
	for sent < len(pcm) {
		n := min(240, len(pcm)-sent) // 10 ms every 15
		r.write(src, pcm[sent:sent+n])
		sent += n
		r.c.Advance(15 * time.Millisecond)
	}
	src.Close()
	r.c.Advance(time.Second)
	if u := r.s.Stats().Underruns; u < 1 || !drained(src) || src.Heard() != len(pcm) {
		t.Errorf("underruns %d, drained %v, heard %d; want some, true, %d", u, drained(src), src.Heard(), len(pcm))
	}
	tape := r.mixed()
	lost := 0
	for k := 0; k+8 <= len(pcm); k += 8 {
		if find(tape, pcm[k:k+8]) < 0 {
			lost += 8
		}
	}
	if limit := int(r.s.Stats().Underruns+2) * (fadeSamples + 8); lost > limit {
		t.Errorf("%d samples were never heard at full level; want at most %d (fades)", lost, limit)
	}
}

func level(t *testing.T, r *rig, from, to time.Duration) int {
	t.Helper()
	return audio.Peak(r.c.Between(from, to))
}

func steady(n int) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = 10000
	}
	return pcm
}

func TestSpeechDucksContent(t *testing.T) { bothCards(t, speechDucksContent) }

func speechDucksContent(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	gen := r.s.Generation()
	content := r.s.Open(audio.SourceContent, gen)
	r.write(content, steady(48000))
	r.c.Advance(300 * time.Millisecond)
	if l := level(t, r, 250*time.Millisecond, 300*time.Millisecond); l != 10000 {
		t.Fatalf("content alone plays at %d; want 10000", l)
	}
	speech := r.s.Open(audio.SourceSpeech, gen)
	quiet := make([]int16, 6000) // 250 ms of speech that is silence: what remains is the ducked content
	r.write(speech, quiet)
	speech.Close()
	at := r.now() + r.str.Granted().Queued()
	r.c.Advance(300 * time.Millisecond)
	if l := level(t, r, at+105*time.Millisecond, at+200*time.Millisecond); l < 2950 || l > 3050 {
		t.Errorf("100 ms into the speech content plays at %d; want 3000", l)
	}
	r.c.Advance(700 * time.Millisecond)
	end := r.now()
	if l := level(t, r, end-50*time.Millisecond, end); l != 10000 {
		t.Errorf("after the speech content plays at %d; want 10000", l)
	}
}

// Content that is told to is as soft as beneath speech, within 100 ms and without a step; one that is cut leaves nothing soft.
func TestContentDucksWhereItIsTold(t *testing.T) { bothCards(t, contentDucksWhereItIsTold) }

func contentDucksWhereItIsTold(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	gen := r.s.Generation()
	content := r.s.Open(audio.SourceContent, gen)
	r.write(content, steady(48000))
	r.c.Advance(300 * time.Millisecond)
	at := r.now() + r.str.Granted().Queued()
	content.Duck(true)
	r.c.Advance(500 * time.Millisecond)
	if l := level(t, r, at+105*time.Millisecond, at+300*time.Millisecond); l < 2950 || l > 3050 {
		t.Errorf("100 ms later content plays at %d; want 3000", l)
	}
	content.Duck(false)
	r.c.Advance(300 * time.Millisecond)
	end := r.now()
	if l := level(t, r, end-50*time.Millisecond, end); l != 10000 {
		t.Errorf("and then at %d; want 10000", l)
	}
	content.Duck(true)
	r.c.Advance(200 * time.Millisecond)
	content.Cut()
	r.c.Advance(50 * time.Millisecond)
	next := r.s.Open(audio.SourceContent, gen)
	r.write(next, steady(24000))
	r.c.Advance(500 * time.Millisecond)
	end = r.now()
	if l := level(t, r, end-50*time.Millisecond, end); l != 10000 {
		t.Errorf("what comes after it plays at %d; want 10000", l)
	}
	last := int16(0)
	for i, v := range r.mixed() {
		if d := int(v) - int(last); d > 400 || d < -400 {
			t.Errorf("a step of %d at sample %d", d, i)
			break
		}
		last = v
	}
}

func TestRepeatingCueEndsWithin50ms(t *testing.T) { bothCards(t, repeatingCueEndsWithin50ms) }

func repeatingCueEndsWithin50ms(t *testing.T, newRig rigMaker) {
	for _, by := range []string{"StopLoop", "speech"} {
		r := newRig(t)
		gen := r.s.Generation()
		loop := r.s.Play(steady(777), true, gen)
		r.c.Advance(time.Second)
		if l := level(t, r, 900*time.Millisecond, time.Second); l != 10000 {
			t.Fatalf("%s: the cue plays at %d; want 10000", by, l)
		}
		at := r.now()
		if by == "speech" {
			speech := r.s.Open(audio.SourceSpeech, gen)
			r.write(speech, make([]int16, 24000))
		} else {
			r.s.StopLoop()
		}
		r.c.Advance(300 * time.Millisecond)
		queued := r.str.Granted().Queued() + 5*time.Millisecond
		if end := r.c.LastAudible(at); end > at+queued+50*time.Millisecond || !drained(loop) {
			t.Errorf("%s: the cue sounded for %v more, drained %v; want at most 50 ms beyond the card's %v", by, end-at, drained(loop), queued)
		}
	}
}

func TestPauseComesBackWhereItWas(t *testing.T) { bothCards(t, pauseComesBackWhereItWas) }

func pauseComesBackWhereItWas(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceContent, r.s.Generation())
	pcm := noise(24000, 4)
	r.write(src, pcm)
	src.Close()
	r.c.Advance(200 * time.Millisecond)
	src.Pause()
	r.c.Advance(100 * time.Millisecond)
	heard, at := src.Heard(), r.now()
	r.c.Advance(time.Second)
	if src.Heard() != heard || r.c.LastAudible(at) != at {
		t.Errorf("paused, yet heard %d, then %d", heard, src.Heard())
	}
	src.Resume()
	r.c.Advance(1500 * time.Millisecond)
	if !drained(src) || src.Heard() != len(pcm) || find(r.mixed(), pcm[heard+fadeSamples:len(pcm)-fadeSamples]) < 0 {
		t.Errorf("resumed: heard %d of %d, drained %v", src.Heard(), len(pcm), drained(src))
	}
}

func TestBeyondItsSlotsTheSpeakerRefuses(t *testing.T) { bothCards(t, beyondItsSlotsTheSpeakerRefuses) }

func beyondItsSlotsTheSpeakerRefuses(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	for range audio.Slots {
		if src := r.s.Open(audio.SourceWords, r.s.Generation()); drained(src) {
			t.Fatal("refused below the bound")
		}
	}
	src := r.s.Open(audio.SourceWords, r.s.Generation())
	if !drained(src) || src.Write(context.Background(), noise(10, 1)) != 0 || r.s.Stats().Refused != 1 {
		t.Error("one source too many must be dead, and counted")
	}
	// A thousand presses while the card stands still must not use up the slots.
	for range 1000 {
		gen := r.s.Drop()
		if src := r.s.Open(audio.SourceSpeech, gen); drained(src) {
			t.Fatal("a press on a card that stands still finds no slot")
		}
	}
	if src := r.s.Open(audio.SourceSpeech, r.s.Generation()-1); !drained(src) {
		t.Error("a source of an old generation must be born dead")
	}
}

func TestCardThatStandsStillEndsTheWait(t *testing.T) { bothCards(t, cardThatStandsStillEndsTheWait) }

func cardThatStandsStillEndsTheWait(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	r.write(src, noise(48000, 1))
	src.Close()
	r.c.Advance(200 * time.Millisecond)
	r.c.Unplug()
	r.c.Advance(3 * time.Second)
	r.s.Watch()
	if drained(src) {
		t.Fatal("given up after 3 s: a cable may be put back")
	}
	r.c.Advance(3 * time.Second)
	r.s.Watch()
	if h := src.Heard(); !drained(src) || h == 0 || h > 4800 {
		t.Errorf("6 s without a callback: drained %v, heard %d; want true, about 3000", drained(src), h)
	}
	// And back: what comes next is heard.
	r.c.Replug()
	str, err := r.c.OpenPlayback(audio.StreamConfig{}, r.s.Render)
	if err != nil {
		t.Fatal(err)
	}
	defer str.Close()
	next := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(4800, 5)
	r.write(next, pcm)
	next.Close()
	r.c.Advance(time.Second)
	if !drained(next) || find(r.mixed(), pcm[fadeSamples:len(pcm)-fadeSamples]) < 0 {
		t.Error("after the card came back nothing is heard")
	}
}

// Too little to begin with, and no more comes while a tool runs: it is said all the same.
func TestLittleIsPlayedAfterAWhile(t *testing.T) { bothCards(t, littleIsPlayedAfterAWhile) }

func littleIsPlayedAfterAWhile(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	pcm := noise(1200, 1) // 50 ms
	r.write(src, pcm)
	r.c.Advance(150 * time.Millisecond)
	if r.c.LastAudible(0) != 0 {
		t.Error("50 ms did not wait for more")
	}
	r.c.Advance(300 * time.Millisecond)
	if find(r.mixed(), pcm[fadeSamples:1200-120]) < 0 {
		t.Error("50 ms are never heard")
	}
	r.c.Advance(2 * time.Second)
	if u := r.s.Stats().Underruns; u != 1 {
		t.Errorf("%d underruns; want 1", u)
	}
	src.Close()
	r.c.Advance(100 * time.Millisecond)
	if !drained(src) || src.Heard() != 1200 {
		t.Errorf("drained %v, heard %d; want true, 1200", drained(src), src.Heard())
	}
}

// Data that begins and ends anywhere must not click.
func TestBeginningAndEndAreSoft(t *testing.T) { bothCards(t, beginningAndEndAreSoft) }

func beginningAndEndAreSoft(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.s.Open(audio.SourceContent, r.s.Generation())
	r.write(src, steady(4800))
	src.Close()
	r.c.Advance(500 * time.Millisecond)
	tape := r.mixed()
	if audio.Peak(tape) != 10000 {
		t.Fatalf("peak %d; want 10000", audio.Peak(tape))
	}
	for i := 1; i < len(tape); i++ {
		if d := int(tape[i]) - int(tape[i-1]); d > 500 || d < -500 {
			t.Fatalf("jumps by %d at sample %d", d, i)
		}
	}
}
