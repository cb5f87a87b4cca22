package twin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/audiotest"
)

func TestTwinKeepsTheContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		card := NewCard(WallClock())
		go func() { _ = card.Run(t.Context(), 1) }()
		audiotest.TestCard(t, card, nil)
	})
}

// A broken card must not pass, or the contract says nothing.
func TestContractCanFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		card := NewCard(WallClock())
		go func() { _ = card.Run(t.Context(), 1) }()
		for name, broken := range map[string]audio.Card{
			"calls back after Close": zombie{card}, "grants nothing": nameless{card},
		} {
			var r recorder
			audiotest.TestCard(&r, broken, nil)
			if r.errors == 0 {
				t.Errorf("a card that %s passes", name)
			}
		}
	})
}

type recorder struct{ errors int }

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Fatalf(string, ...any) { r.errors++; panic("fatal") }
func (r *recorder) Logf(string, ...any)   {}

type zombie struct{ audio.Card }

func (z zombie) OpenPlayback(c audio.StreamConfig, f func([]int16)) (audio.Stream, error) {
	s, err := z.Card.OpenPlayback(c, f)
	return zombieStream{s, f}, err
}

type zombieStream struct {
	audio.Stream
	f func([]int16)
}

func (z zombieStream) Close() error {
	err := z.Stream.Close()
	go func() { time.Sleep(20 * time.Millisecond); z.f(make([]int16, 10)) }()
	return err
}

type nameless struct{ audio.Card }

func (n nameless) OpenCapture(c audio.StreamConfig, f func([]int16)) (audio.Stream, error) {
	s, err := n.Card.OpenCapture(c, f)
	return namelessStream{s}, err
}

type namelessStream struct{ audio.Stream }

func (namelessStream) Granted() audio.Granted { return audio.Granted{} }

// What a callback hands over sounds Period x Periods later, to the frame.
func TestFramesSoundAfterTheQueue(t *testing.T) {
	clock := NewClock()
	card := NewCard(clock)
	var rec bytes.Buffer
	card.Record(&rec)
	var called []time.Duration
	n := int16(0)
	s, err := card.OpenPlayback(audio.StreamConfig{}, func(out []int16) {
		called = append(called, clock.Now())
		for i := range out {
			n++
			out[i] = n
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	card.Advance(52 * time.Millisecond)
	tape, from := card.Tape()
	if s.Granted().Queued() != 15*time.Millisecond || len(called) != 10 || called[0] != 5*time.Millisecond {
		t.Fatalf("queued %v, called at %v", s.Granted().Queued(), called)
	}
	at := int((called[0] + s.Granted().Queued() - from) * 48 / time.Millisecond)
	if tape[at-1] != 0 || tape[at] != 1 || tape[len(tape)-1] != int16(len(tape)-at) {
		t.Errorf("around the first frame: %v; want 0 1", tape[at-1:at+1])
	}
	if want := 47 * 48; len(tape) != want {
		t.Errorf("from 5 to 52 ms the tape has %d frames; want %d", len(tape), want)
	}
	recorded := at + int(from*48/time.Millisecond) // the record begins at 0
	if got := int16(binary.LittleEndian.Uint16(rec.Bytes()[2*recorded:])); got != 1 || s.Stats().Callbacks != 10 {
		t.Errorf("recorded %d, %d callbacks; want 1, 10", got, s.Stats().Callbacks)
	}
	b := card.Between(19*time.Millisecond, 21*time.Millisecond)
	if len(b) != 96 || b[47] != 0 || b[48] != 1 {
		t.Errorf("Between: %d frames, %d %d in the middle", len(b), b[47], b[48])
	}
}

// A starved card repeats its ring, as ALSA does without a stop threshold; what comes too late is lost.
func TestStallRepeatsTheRing(t *testing.T) {
	card := NewCard(NewClock())
	n := int16(0)
	if _, err := card.OpenPlayback(audio.StreamConfig{}, func(out []int16) {
		n++
		for i := range out {
			out[i] = n
		}
	}); err != nil {
		t.Fatal(err)
	}
	card.Advance(50 * time.Millisecond)
	card.Stall(21 * time.Millisecond)
	card.Advance(60 * time.Millisecond)
	tape, _ := card.Tape()
	var heard []int16
	for i := 0; i < len(tape); i += 240 {
		heard = append(heard, tape[i])
	}
	want := []int16{0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8, 9, 10, 8, 15, 16, 17, 18}
	if len(heard) != len(want) {
		t.Fatalf("heard %v; want %v", heard, want)
	}
	for i := range want {
		if heard[i] != want[i] {
			t.Fatalf("heard %v; want %v", heard, want)
		}
	}
}

func TestUnplugged(t *testing.T) {
	card := NewCard(NewClock())
	s, err := card.OpenPlayback(audio.StreamConfig{}, func(out []int16) { out[0] = 1 })
	if err != nil {
		t.Fatal(err)
	}
	card.Advance(50 * time.Millisecond)
	card.Unplug()
	before := s.Stats().Callbacks
	card.Advance(50 * time.Millisecond)
	if s.Stats().Callbacks != before {
		t.Error("an unplugged card calls back")
	}
	if _, err := card.OpenCapture(audio.StreamConfig{Device: "mic"}, nil); !errors.Is(err, ErrUnplugged) {
		t.Errorf("opening an unplugged card: %v", err)
	}
	card.Replug()
	card.Advance(50 * time.Millisecond)
	if s.Stats().Callbacks != before {
		t.Error("a stream came back by itself")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s, err = card.OpenPlayback(audio.StreamConfig{Period: 20 * time.Millisecond}, func([]int16) {})
	if err != nil || s.Granted().Period != 960 {
		t.Errorf("after it was plugged in again: granted %+v, %v; want 960 frames", s.Granted(), err)
	}
}

func TestMicrophoneHearsWhatIsFed(t *testing.T) {
	card := NewCard(NewClock())
	var got []int16
	if _, err := card.OpenCapture(audio.StreamConfig{}, func(in []int16) { got = append(got, in...) }); err != nil {
		t.Fatal(err)
	}
	card.Advance(100 * time.Millisecond)
	card.Feed([]int16{100, 200, 300})
	if card.Fed() == 0 {
		t.Error("nothing is fed")
	}
	card.Advance(100 * time.Millisecond)
	if len(got) != 9600 || got[4799] != 0 || got[4800] != 100 || got[4802] != 200 || got[4804] != 300 || got[4900] != 0 || card.Fed() != 0 {
		t.Errorf("%d frames, around the feed %v", len(got), got[4799:4806])
	}
	card.Feed(make([]int16, 24000))
	card.Hush()
	if card.Fed() != 0 {
		t.Error("Hush leaves something to hear")
	}
}

func TestSilenceIsFound(t *testing.T) {
	card := NewCard(NewClock())
	on := false
	if _, err := card.OpenPlayback(audio.StreamConfig{}, func(out []int16) {
		for i := range out {
			out[i] = map[bool]int16{true: 9}[on]
		}
	}); err != nil {
		t.Fatal(err)
	}
	on = true
	card.Advance(100 * time.Millisecond)
	on = false
	card.Advance(100 * time.Millisecond) // the last loud callback was at 100, the next at 105 is silent: 120
	on = true
	card.Advance(100 * time.Millisecond)
	if at := card.LastAudible(0); at != 300*time.Millisecond {
		t.Errorf("LastAudible = %v; want 300ms", at)
	}
	if at := card.LastAudible(300 * time.Millisecond); at != 300*time.Millisecond {
		t.Errorf("LastAudible after the end = %v; want 300ms", at)
	}
}

func TestTapeIsBounded(t *testing.T) {
	card := NewCard(NewClock())
	card.KeepTape(time.Second)
	if _, err := card.OpenPlayback(audio.StreamConfig{}, func(out []int16) { out[0] = 1 }); err != nil {
		t.Fatal(err)
	}
	card.Advance(10*time.Second + 2*time.Millisecond)
	tape, from := card.Tape()
	if len(tape) < 48000 || len(tape) > 62000 || from+audio.CardDuration(len(tape)) != card.Clock().Now() {
		t.Errorf("the tape has %d frames from %v at %v", len(tape), from, card.Clock().Now())
	}
	if audio.Peak(tape) == 0 {
		t.Error("the tape is empty")
	}
}

func TestRunAsFastAsItGoes(t *testing.T) {
	clock := NewClock()
	card := NewCard(clock)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := card.OpenPlayback(audio.StreamConfig{}, func([]int16) {}); err != nil {
		t.Fatal(err)
	}
	card.AfterPeriod = func(now time.Duration) {
		if now >= time.Minute {
			cancel()
		}
	}
	if err := card.Run(ctx, 0); err != nil || clock.Now() < time.Minute {
		t.Errorf("%v at %v", err, clock.Now())
	}
}

func TestRunAtASpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		card := NewCard(clock)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := card.Run(ctx, 10); err != nil {
			t.Fatal(err)
		}
		if now := clock.Now(); now < 9900*time.Millisecond || now > 10100*time.Millisecond {
			t.Errorf("a second at tenfold speed is %v", now)
		}
	})
}
