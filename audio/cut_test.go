package audio_test

import (
	"context"
	"testing"
	"time"

	"conch/audio"
)

// One source is silenced at every phase of the period; the other one plays on as if it had been alone, to the bit.
func TestCutSilencesOneSourceAlone(t *testing.T) { bothCards(t, cutSilencesOneSourceAlone) }

func cutSilencesOneSourceAlone(t *testing.T, newRig rigMaker) {
	const bound = 4*5*time.Millisecond + 3*time.Millisecond
	for phase := range 25 {
		r := newRig(t)
		gen := r.s.Generation()
		a, b := r.s.Open(audio.SourceWords, gen), r.s.Open(audio.SourceSpeech, gen)
		one, other := noise(48000, phase), noise(24000, phase+100)
		r.write(a, other)
		a.Close()
		r.write(b, one)
		r.c.Advance(300*time.Millisecond + time.Duration(phase)*200*time.Microsecond)
		at := r.now()
		b.Cut()
		b.Cut() // twice is once
		if !drained(b) {
			t.Fatal("a source that was cut must be drained at once")
		}
		if n := b.Write(context.Background(), one); n != 0 {
			t.Fatalf("a source that was cut took %d samples", n)
		}
		r.c.Advance(1500 * time.Millisecond)
		if !drained(a) || a.Heard() != len(other) {
			t.Fatalf("phase %d: the other one: drained %v, heard %d of %d", phase, drained(a), a.Heard(), len(other))
		}
		// From the bound on the tape is the other source alone, bit for bit.
		tape := r.mixed()
		from := audio.Samples(at + bound)
		rest := find(other, tape[from:from+64])
		if rest < 0 || find(tape[from:], other[rest:len(other)-fadeSamples]) != 0 {
			t.Errorf("phase %d: %v after the cut there is something besides the other source", phase, bound)
		}
		// Before the fade it is the sum of both, up to the sample that Heard names.
		start := from - rest // of both on the tape
		heard := b.Heard()
		for _, i := range []int{heard - 100, heard - 1} {
			if got, want := tape[start+i], audio.Saturate(float32(one[i])+float32(other[i])); got != want {
				t.Errorf("phase %d: sample %d is %d; want the sum %d: it was still to be heard", phase, i, got, want)
			}
		}
		if got, sum := tape[start+heard+2:start+heard+fadeSamples], one[heard+2:]; same(got, sum, other[heard+2:]) {
			t.Errorf("phase %d: the source goes on at full level after the %d samples that Heard counts", phase, heard)
		}
		if end, ok := b.Silenced(); !ok || end < at || end > at+bound {
			t.Errorf("phase %d: Silenced() = %v, %v; cut at %v", phase, end, ok, at)
		}
		if u := r.s.Watch(); u != 0 {
			t.Errorf("phase %d: %d slots are still taken", phase, u)
		}
	}
}

func same(got, a, b []int16) bool {
	for i, v := range got {
		if v != audio.Saturate(float32(a[i])+float32(b[i])) {
			return false
		}
	}
	return true
}

func TestCutOfWhatDoesNotSound(t *testing.T) { bothCards(t, cutOfWhatDoesNotSound) }

func cutOfWhatDoesNotSound(t *testing.T, newRig rigMaker) {
	r := newRig(t)
	gen := r.s.Generation()
	waiting := r.s.Open(audio.SourceContent, gen)
	r.write(waiting, noise(100, 1)) // less than it waits for
	paused := r.s.Open(audio.SourceContent, gen)
	r.write(paused, noise(24000, 2))
	r.c.Advance(200 * time.Millisecond)
	paused.Pause()
	r.c.Advance(100 * time.Millisecond)
	heard := paused.Heard()
	dead := r.s.Open(audio.SourceSpeech, gen-1)
	loop := r.s.Play(steady(500), true, gen)
	r.c.Advance(100 * time.Millisecond)
	at := r.now()
	for _, src := range []*audio.Source{waiting, paused, dead, loop} {
		src.Cut()
	}
	paused.Resume() // too late
	r.c.Advance(time.Second)
	if end := r.c.LastAudible(at); end > at+23*time.Millisecond {
		t.Errorf("something sounds until %v after the cut", end-at)
	}
	if paused.Heard() != heard || waiting.Heard() != 0 {
		t.Errorf("heard %d and %d; want %d and 0", paused.Heard(), waiting.Heard(), heard)
	}
	if n := r.s.Watch(); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
	// With the card standing still nobody fades; slot and writer are free all the same.
	last := r.s.Open(audio.SourceContent, gen)
	r.c.Unplug()
	last.Cut()
	r.c.Advance(200 * time.Millisecond)
	if n := r.s.Watch(); n != 0 || !drained(last) {
		t.Errorf("cut on a dead card: %d slots taken, drained %v", n, drained(last))
	}
}

// A writer that waits for room is let go by a cut, and so is one beside whom it happens.
func TestCutLetsAWriterGo(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	src := s.Open(audio.SourceContent, s.Generation())
	wrote := make(chan int)
	go func() { wrote <- src.Write(context.Background(), noise(5*audio.Rate, 1)) }()
	out := make([]int16, 240)
	for range 20 {
		s.Render(out)
	}
	src.Cut()
	if n := <-wrote; n >= 5*audio.Rate {
		t.Errorf("Write took all %d samples of a source that was cut", n)
	}
	s.Render(out)
	if n := s.Watch(); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
}
