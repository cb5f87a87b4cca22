package device

import (
	"math"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// Calls between two whole devices, judged by what their cards have played.

// callers are a hall and a kitchen of one flat.
func callers(t *testing.T, f *flat) (hall, kitchen *inFlat) {
	t.Helper()
	tape := func(c audio.Card) audio.Card {
		c.(*twin.Card).KeepTape(2 * time.Minute)
		return c
	}
	hall = f.raise("hall", "ada", boxOptions{mind: rehearsal.Rules{}, card: tape})
	kitchen = f.raise("kitchen", "ben", boxOptions{mind: rehearsal.Rules{}, card: tape})
	f.meet()
	return hall, kitchen
}

// tap presses the button and lets go of it.
func (x *inFlat) tap() {
	x.taps(50 * time.Millisecond)
}

func (x *inFlat) logged(what string) bool { return x.log.count(what) > 0 }

// inCall has the hall call the kitchen, and the kitchen answer.
func inCall(t *testing.T, f *flat) {
	t.Helper()
	hall, kitchen := f.boxes[0], f.boxes[1]
	hall.types("Ada, call the kitchen")
	kitchen.until("ringing", func() bool { return kitchen.logged("call.rings") })
	kitchen.pause(time.Second)
	if pitch(kitchen.card.Between(kitchen.now()-time.Second, kitchen.now()), 784) < 500 {
		t.Error("it rings, and nobody hears it")
	}
	kitchen.tap()
	for _, x := range f.boxes {
		x.until("in the call", func() bool { return x.logged("call.begin") })
	}
	hall.pause(500 * time.Millisecond)
}

// hears says whether what somebody sings at one device is heard at the other, and how loudly.
func hears(from, to *inFlat, hz float64) (loudest float64) {
	for try := 0; try < 3 && loudest < wellHeard; try++ { // a machine that is busy leaves gaps in it
		at := to.now()
		from.card.Feed(whistle(hz, audio.Samples(time.Second)))
		from.until("sung", func() bool { return from.card.Fed() == 0 })
		to.pause(500 * time.Millisecond)
		loudest = max(loudest, pitch(to.card.Between(at, to.now()), hz))
	}
	return loudest
}

// wellHeard is what a whistle of a second measures at the other end, and less.
const wellHeard = 2000

// over waits until a call has ended at both ends, and demands that no turn was begun for it.
func over(t *testing.T, f *flat, turns []int) {
	t.Helper()
	for i, x := range f.boxes {
		x.until("out of the call", func() bool { return x.logged("call.end") && x.Quiet() })
		if n := len(x.turnsEnded()) - turns[i]; n > 0 {
			t.Errorf("%d turns began", n)
		}
	}
}

// "Call the kitchen": it rings there, a press answers, both hear each other, and a press of either hangs up at both.
func TestFlatIntercom(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"hall", "kitchen"} {
		t.Run("hung up in the "+by, func(t *testing.T) {
			f := newFlat(t)
			hall, kitchen := callers(t, f)
			inCall(t, f)
			turns := []int{len(hall.turnsEnded()), len(kitchen.turnsEnded())}
			if l := hears(hall, kitchen, 1900); l < wellHeard {
				t.Errorf("the kitchen hears the hall at %.0f", l)
			}
			if l := hears(kitchen, hall, 2300); l < wellHeard {
				t.Errorf("the hall hears the kitchen at %.0f", l)
			}
			if by == "hall" {
				hall.tap()
			} else {
				kitchen.tap()
			}
			over(t, f, turns)
			if l := hears(hall, kitchen, 1500); l > 100 {
				t.Errorf("after the call the kitchen hears the hall at %.0f", l)
			}
			if hall.coordinator.State() != turn.Idle || kitchen.coordinator.State() != turn.Idle {
				t.Error("a press that hung up has begun a turn")
			}
		})
	}
}

// Who does not answer, refuses, speaks with somebody else or is not there: the caller is told, in words.
func TestFlatIntercomThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		hall, kitchen := callers(t, newFlat(t))
		hall.types("Ada, call the kitchen")
		kitchen.until("ringing", func() bool { return kitchen.logged("call.rings") })
		kitchen.coordinator.Hush(kitchen.now(), kitchen.speaker.Drop())
		hall.until("told", func() bool { return strings.Contains(hall.log.text(), "why=refused") })
		kitchen.until("quiet", kitchen.Quiet)
		hall.until("quiet", hall.Quiet)
	})
	t.Run("given up", func(t *testing.T) {
		hall, kitchen := callers(t, newFlat(t))
		hall.types("Ada, call the kitchen")
		kitchen.until("ringing", func() bool { return kitchen.logged("call.rings") })
		hall.pause(500 * time.Millisecond)
		hall.tap()
		kitchen.until("missed", func() bool { return strings.Contains(kitchen.log.text(), "why=missed") })
		kitchen.until("quiet", kitchen.Quiet)
		hall.until("quiet", hall.Quiet)
	})
	t.Run("not there", func(t *testing.T) {
		hall, _ := callers(t, newFlat(t))
		hall.types("Ada, call the moon")
		hall.until("told", func() bool { return hall.logged("tool.failed") })
		hall.until("quiet", hall.Quiet)
	})
}

// Mouth to ear: what is sung at one card leaves the other within 150 ms. The time that the twins' cards take is in it: a period in, the
// buffer out.
func TestFlatIntercomMouthToEar(t *testing.T) {
	f := onlyFlat(t)
	hall, kitchen := callers(t, f)
	inCall(t, f)
	worst, best := time.Duration(0), time.Hour
	for range 5 {
		hall.pause(700 * time.Millisecond)
		said, there := hall.now(), kitchen.now()
		hall.card.Feed(whistle(1900, audio.Samples(300*time.Millisecond)))
		hall.pause(time.Second)
		tape := kitchen.card.Between(there, there+time.Second)
		heard := -1
		for i, x := range tape {
			if math.Abs(float64(x)) > 500 {
				heard = i
				break
			}
		}
		if heard < 0 {
			t.Fatal("nothing is heard")
		}
		took := audio.CardDuration(heard)
		worst, best = max(worst, took), min(best, took)
		t.Logf("said at %v, heard after %v", said, took)
	}
	if worst > 150*time.Millisecond {
		t.Errorf("from mouth to ear it takes %v to %v", best, worst)
	}
	kitchen.tap()
	kitchen.until("out of the call", func() bool { return kitchen.logged("call.end") && kitchen.Quiet() })
	hall.until("out of the call", func() bool { return hall.logged("call.end") && hall.Quiet() })
}
