package audio_test

import (
	"context"
	"testing"
	"time"

	"conch/audio"
)

// hold opens a source that is held, as the coordinator does.
func (r *rig) hold(gen uint64) *audio.Source {
	src := r.s.Open(audio.SourceSpeech, gen)
	src.Hold()
	return src
}

// At every phase of the period: nothing of a held source sounds, however long it is held; once released it begins within
// one period, and every sample of it is played.
func TestHeldSourceSoundsOnlyAfterRelease(t *testing.T) {
	bothCards(t, heldSourceSoundsOnlyAfterRelease)
}

func heldSourceSoundsOnlyAfterRelease(t *testing.T, newRig rigMaker) {
	for phase := range 25 {
		for _, length := range []int{20, 500} { // less than what a source usually waits for, and more
			for _, closed := range []bool{false, true} {
				r := newRig(t)
				src := r.hold(r.s.Generation())
				pcm := noise(24*length, phase)
				r.write(src, pcm)
				if closed {
					src.Close()
				}
				r.c.Advance(3*time.Second + time.Duration(phase)*200*time.Microsecond)
				if at := r.c.LastAudible(0); at != 0 || src.Heard() != 0 || drained(src) {
					t.Fatalf("held: audible at %v, heard %d, drained %v; want silence, 0, false", at, src.Heard(), drained(src))
				}
				at := r.now()
				src.Release()
				src.Release() // twice is once
				r.c.Advance(time.Duration(length)*time.Millisecond + 250*time.Millisecond)
				tape := r.mixed()
				first := audio.Samples(at)
				for first < len(tape) && tape[first] == 0 {
					first++
				}
				// The callback comes within a period, and what it hands over sounds after what the card has queued.
				if begins := audio.CardDuration(2*first) - at; begins > 5*time.Millisecond+r.str.Granted().Queued() {
					t.Errorf("phase %d, %d ms, closed %v: begins to sound %v after the release", phase, length, closed, begins)
				}
				if !closed {
					src.Close()
					r.c.Advance(100 * time.Millisecond)
				}
				if !drained(src) || src.Heard() != len(pcm) {
					t.Errorf("phase %d, %d ms, closed %v: drained %v, heard %d of %d", phase, length, closed, drained(src), src.Heard(), len(pcm))
				}
				if length == 500 && find(r.mixed(), pcm[fadeSamples:len(pcm)-3*fadeSamples]) < 0 {
					t.Errorf("phase %d, closed %v: the samples are not on the tape as they were written", phase, closed)
				}
			}
		}
	}
}

// A held source does not keep anything else from sounding, and is not what ducks content.
func TestHeldSourceDisturbsNothing(t *testing.T) { bothCards(t, heldSourceDisturbsNothing) }

func heldSourceDisturbsNothing(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	content := r.s.Open(audio.SourceContent, r.s.Generation())
	pcm := noise(24000, 3)
	r.write(content, pcm)
	content.Close()
	src := r.hold(r.s.Generation())
	r.write(src, noise(24000, 4))
	r.c.Advance(1500 * time.Millisecond)
	if find(r.mixed(), pcm[fadeSamples:len(pcm)-fadeSamples]) < 0 {
		t.Error("the content beside a held source is not played as it was written")
	}
	if n := r.s.Stats().Underruns; n != 0 {
		t.Errorf("%d underruns; a held source has none", n)
	}
}

// Whatever silences the speaker ends a hold for good: releasing it afterwards plays nothing.
func TestNothingHeldSurvivesADrop(t *testing.T) { bothCards(t, nothingHeldSurvivesADrop) }

func nothingHeldSurvivesADrop(t *testing.T, newRig rigMaker) {
	for name, end := range map[string]func(r *rig, src *audio.Source){
		"drop":           func(r *rig, _ *audio.Source) { r.s.Drop() },
		"flush":          func(r *rig, _ *audio.Source) { r.s.Flush() },
		"hush and press": func(r *rig, _ *audio.Source) { r.s.Hush(); r.c.Advance(7 * time.Millisecond); r.s.Drop() },
		"cut":            func(_ *rig, src *audio.Source) { src.Cut() },
	} {
		for _, releaseFirst := range []bool{false, true} { // the callback has not seen the release yet
			r := newRig(t)
			src := r.hold(r.s.Generation())
			r.write(src, noise(24000, 1))
			r.c.Advance(300 * time.Millisecond)
			if releaseFirst {
				src.Release()
			}
			end(r, src)
			src.Release()
			r.c.Advance(500 * time.Millisecond)
			if at := r.c.LastAudible(0); at != 0 || src.Heard() != 0 {
				t.Errorf("%s: audible at %v, heard %d; want nothing", name, at, src.Heard())
			}
			if !drained(src) {
				t.Errorf("%s: not drained", name)
			}
			if n := src.Write(context.Background(), noise(100, 2)); n != 0 {
				t.Errorf("%s: takes %d more samples", name, n)
			}
			if left := r.s.Watch(); left != 0 {
				t.Errorf("%s: %d slots are still taken", name, left)
			}
		}
	}
	// A hush that turns out to be a glitch leaves it held.
	r := newRig(t)
	src := r.hold(r.s.Generation())
	r.write(src, noise(24000, 1))
	r.s.Hush()
	r.c.Advance(20 * time.Millisecond)
	r.s.Unhush()
	r.c.Advance(500 * time.Millisecond)
	if at := r.c.LastAudible(0); at != 0 {
		t.Errorf("audible at %v after a glitch; want it held", at)
	}
	src.Release()
	r.c.Advance(500 * time.Millisecond)
	if src.Heard() == 0 {
		t.Error("never heard after the release")
	}
}

// A source that stands still because it is held is no dead card; a card that stands still is one once the hold is over.
func TestHeldSourceIsNoDeadCard(t *testing.T) { bothCards(t, heldSourceIsNoDeadCard) }

func heldSourceIsNoDeadCard(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	src := r.hold(r.s.Generation())
	r.write(src, noise(2400, 1))
	src.Close()
	r.c.Advance(100 * time.Millisecond)
	r.c.Unplug()
	r.c.Advance(30 * time.Second)
	if r.s.Watch(); drained(src) || r.s.Stats().Abandoned != 0 {
		t.Fatalf("held for 30 s: drained %v, %d given up; want false, 0", drained(src), r.s.Stats().Abandoned)
	}
	src.Release()
	r.c.Advance(4900 * time.Millisecond)
	if r.s.Watch(); drained(src) {
		t.Error("given up before five seconds had passed since the release")
	}
	r.c.Advance(200 * time.Millisecond)
	if r.s.Watch(); !drained(src) || r.s.Stats().Abandoned != 1 || src.Heard() != 0 {
		t.Errorf("drained %v, %d given up, heard %d; want true, 1, 0", drained(src), r.s.Stats().Abandoned, src.Heard())
	}
}

func TestRenderOfAHeldSourceAllocatesNothing(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	src := s.Open(audio.SourceSpeech, s.Generation())
	src.Hold()
	src.Write(context.Background(), noise(24000, 1))
	out := make([]int16, 240)
	if n := testing.AllocsPerRun(100, func() { s.Render(out) }); n != 0 {
		t.Errorf("held: %v allocations a callback; want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() { src.Release(); s.Render(out); src.Hold(); s.Render(out) }); n != 0 {
		t.Errorf("released: %v allocations a callback; want 0", n)
	}
}

func BenchmarkRenderHeld(b *testing.B) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	src := s.Open(audio.SourceSpeech, s.Generation())
	src.Hold()
	src.Write(context.Background(), noise(24000, 1))
	out := make([]int16, 240)
	b.ReportAllocs()
	for b.Loop() {
		s.Render(out)
	}
}
