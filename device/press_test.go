package device

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/terminal"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
)

// second is another button of a box, with its own count of presses.
func second(mode gpio.Mode) (*gpiotwin.Button, *watched, boxOptions) {
	b := gpiotwin.NewButton(gpio.ButtonOptions{})
	w := &watched{}
	return b, w, boxOptions{others: &w.presses, buttons: func(now func() time.Duration) []gpio.Events {
		*b = *gpiotwin.NewButton(gpio.ButtonOptions{Clock: now, Mode: mode})
		w.Events = b
		return []gpio.Events{w}
	}}
}

// press and release are those of the control socket.
func (b *box) press() {
	if err := (socket{b.Device}).Press(control.Client{}); err != nil {
		b.t.Error(err)
	}
}

func (b *box) release() {
	if err := (socket{b.Device}).Release(control.Client{}); err != nil {
		b.t.Error(err)
	}
}

// speak has somebody speak into the microphone for d.
func (b *box) speak(d time.Duration) {
	b.t.Helper()
	b.card.Feed(whistle(300, audio.Samples(d)))
	b.until("heard out", func() bool { return b.card.Fed() == 0 })
	b.pause(20 * time.Millisecond) // the last period is in the air
}

// Somebody holds one button while somebody else takes the word with another: to let go of the first sends nothing, and does not
// end what the second is saying. One of the two is the control socket's.
func TestAReleaseSendsWhatItsOwnButtonBegan(t *testing.T) {
	t.Parallel()
	other, seen, o := second(gpio.Hold)
	b := newBox(t, o)
	for _, way := range []struct {
		name           string
		press, release func()
	}{{"another button", other.Press, other.Release}, {"the control socket", b.press, b.release}} {
		turns, heard := len(b.turnsEnded()), len(b.recognizer.lengths())
		way.press()
		b.state(turn.Listening)
		b.speak(200 * time.Millisecond)
		presses := b.seen.presses.Load()
		b.hand.Press()
		b.until("pressed", func() bool { return b.seen.presses.Load() > presses })
		b.until("the first is cut", func() bool { return len(b.turnsEnded()) > turns })
		if way.name == "the control socket" {
			seen.presses.Add(1) // nobody counts that one's
		}
		b.speak(200 * time.Millisecond)
		way.release()
		b.pause(200 * time.Millisecond) // longer than any post-roll, and nothing happens
		if s := b.coordinator.State(); s != turn.Listening {
			t.Errorf("%s was let go: %v; want LISTENING, to the one who holds the other", way.name, s)
		}
		b.speak(200 * time.Millisecond)
		b.hand.Release()
		b.until("answered", func() bool { return len(b.turnsEnded()) == turns+2 })
		b.quiet()
		b.answered(b.turnsEnded()[turns+1])
		if l := b.recognizer.lengths()[heard:]; len(l) != 1 || l[0] < 600*time.Millisecond {
			t.Errorf("%s was let go: the server heard %v; want one question, all of it", way.name, l)
		}
	}
}

// Whatever two sources they are: pin, kernel key, lines on standard input or the control socket. The second takes the word, the
// first lets go, which is nothing, and the second's release sends.
func TestAReleaseIsItsOwnSourcesInAnyMix(t *testing.T) {
	t.Parallel()
	in, person, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close(); in.Close() }) // when the box has ended
	type source struct {
		name           string
		press, release func()
	}
	var key *gpiotwin.Button
	presses := &atomic.Int64{}
	b := newBox(t, boxOptions{others: presses, buttons: func(now func() time.Duration) []gpio.Events {
		key = gpiotwin.NewButton(gpio.ButtonOptions{Clock: now, Press: gpio.AtOnce})
		return []gpio.Events{key, terminal.NewLines(in, terminal.Options{Clock: now})}
	}})
	line := func(text string) func() {
		return func() {
			if _, err := person.WriteString(text + "\n"); err != nil {
				t.Error(err)
			}
		}
	}
	sources := []source{
		{"the pin", func() { presses.Add(-1); b.hand.Press() }, b.hand.Release}, // which is counted already
		{"a key", key.Press, key.Release},
		{"a line", line("press"), line("release")},
		{"the control socket", b.press, b.release},
	}
	for _, first := range sources {
		for _, second := range sources {
			if first.name == second.name {
				continue
			}
			turns, heard := len(b.turnsEnded()), len(b.recognizer.lengths())
			presses.Add(2)
			first.press()
			b.state(turn.Listening)
			second.press()
			b.until("the first is cut", func() bool { return len(b.turnsEnded()) > turns })
			b.state(turn.Listening)
			first.release()
			b.speak(300 * time.Millisecond) // longer than a release takes to be one
			if s := b.coordinator.State(); s != turn.Listening {
				t.Errorf("%s was let go while %s is held: %v; want LISTENING", first.name, second.name, s)
			}
			second.release()
			b.until("answered", func() bool { return len(b.turnsEnded()) == turns+2 })
			b.quiet()
			b.answered(b.turnsEnded()[turns+1])
			if l := b.recognizer.lengths()[heard:]; len(l) != 1 {
				t.Errorf("%s, then %s: the server heard %v; want one question", first.name, second.name, l)
			}
		}
	}
}

// taps gives a tap in mode tap that the button sees, however late this machine lets it look.
func taps(b *box, button *gpiotwin.Button, seen *watched) func() {
	return func() {
		b.t.Helper()
		n := seen.presses.Load() + seen.releases.Load()
		button.Press()
		b.until("tapped", func() bool { return seen.presses.Load()+seen.releases.Load() > n })
		whole := func() { // a look between two answers
			b.look(button)
			b.look(button)
		}
		button.Release()
		whole()
		b.pause(60 * time.Millisecond) // longer than a release bounces
		whole()
	}
}

// In the tap modes a tap ends a recording only while it is this button's own: when another has taken the word, the next tap is a
// press like any other.
func TestATapAfterAnotherButtonIsAPress(t *testing.T) {
	t.Parallel()
	other, seen, o := second(gpio.Tap)
	b := newBox(t, o)
	tap := taps(b, other, seen)
	tap()
	b.state(turn.Listening)
	b.hand.Press()
	b.until("listening to the second", func() bool { return len(b.turnsEnded()) == 1 && b.coordinator.State() == turn.Listening })
	tap()
	b.until("listening to the one who tapped", func() bool { return len(b.turnsEnded()) == 2 && b.coordinator.State() == turn.Listening })
	b.hand.Release()
	b.speak(300 * time.Millisecond)
	tap()
	b.until("answered", func() bool { return len(b.turnsEnded()) == 3 })
	b.quiet()
	b.answered(b.turnsEnded()[2])
	if n := seen.presses.Load(); n != 2 {
		t.Errorf("%d presses by taps; want two, and a tap that ended the second", n)
	}
}

// Two taps may come before the runner gets to the first: it ends a recording, and the second begins one. That the first has ended is no news of
// the second, or the tap that is to end that would begin a third, and what was said be lost.
func TestATapWhileTheRunnerIsBusyIsNotLost(t *testing.T) {
	t.Parallel()
	other, seen, o := second(gpio.Tap)
	b := newBox(t, o)
	tap := taps(b, other, seen)
	tap()
	b.state(turn.Listening)
	busy, free := make(chan struct{}), make(chan struct{})
	if !b.coordinator.Call(func() { close(busy); <-free }) {
		t.Fatal("the runner does not take a call")
	}
	<-busy
	tap()
	tap()
	b.until("pressed", func() bool { return seen.presses.Load() == 2 })
	close(free)
	b.until("listening again", func() bool { return len(b.turnsEnded()) == 1 && b.coordinator.State() == turn.Listening })
	b.speak(300 * time.Millisecond)
	tap()
	b.until("answered", func() bool { return len(b.turnsEnded()) == 2 })
	b.quiet()
	b.answered(b.turnsEnded()[1])
	if n := seen.presses.Load(); n != 2 {
		t.Errorf("%d presses by taps; want two, and a tap that ended the second", n)
	}
}

// scripted is a button that does what a test says, until it is pulled out.
type scripted struct {
	now func() time.Duration
	say chan gpio.Kind // closed: the device is gone
}

func (scripted) Touchable() bool     { return true }
func (scripted) CaptureEnded(uint64) {}
func (scripted) Call(f func()) bool  { f(); return true }
func (scripted) String() string      { return "scripted button" }
func (b scripted) Run(ctx context.Context, on func(gpio.Event)) error {
	for {
		select {
		case kind, ok := <-b.say:
			if !ok {
				return errors.New("the device is gone")
			}
			on(gpio.Event{Kind: kind, At: b.now()})
		case <-ctx.Done():
			return nil
		}
	}
}

// withHeld is a box with such a button besides its own, which is pressed already.
func withHeld(t *testing.T) (*box, scripted) {
	p, one := scripted{say: make(chan gpio.Kind)}, &atomic.Int64{}
	one.Store(1)
	b := newBox(t, boxOptions{others: one, buttons: func(now func() time.Duration) []gpio.Events {
		p.now = now
		return []gpio.Events{p}
	}})
	p.say <- gpio.Touched
	p.say <- gpio.Pressed
	return b, p
}

// Five seconds on a button switch the microphone on, unless another one was pressed meanwhile: what that began is not for the
// first to end.
func TestALongHoldIsNoGestureAfterAnotherPress(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		b, held := withHeld(t)
		b.state(turn.Listening)
		if err := b.sound.SetMuted(true); err != nil {
			t.Fatal(err)
		}
		if another {
			b.hand.Press()
			b.until("pressed", func() bool { return b.seen.presses.Load() == 1 })
		}
		for _, kind := range []gpio.Kind{gpio.Released, gpio.LongPressed, gpio.Freed} { // the last is taken when the one before is through
			held.say <- kind
		}
		if !another {
			b.until("listening again", func() bool { return !b.sound.Muted() })
			continue
		}
		b.pause(200 * time.Millisecond)
		if !b.sound.Muted() {
			t.Error("the microphone was switched on by a hold that another press had ended")
		}
		b.hand.Release()
		b.quiet()
	}
}

// Nobody has let go of a button that is not there any more: what was said until then is not sent, and that is told.
func TestAButtonThatVanishesWhileHeldCommitsNothing(t *testing.T) {
	t.Parallel()
	b, p := withHeld(t)
	b.state(turn.Listening)
	r := b.nextTurn(func() {
		b.speak(300 * time.Millisecond)
		close(p.say)
	})
	b.failed(r, turn.Failed, turn.WordsNotHeard)
	if l := b.recognizer.lengths(); len(l) != 0 {
		t.Errorf("the server heard %v; want nothing", l)
	}
	if !b.holds(condition.ButtonLost) {
		t.Error("nobody is told that the button is gone")
	}
	b.fine()
}

// The press_to_silence_ms of a turn's line is what the card's own record says: from the first edge to where the answer ends
// on it. The clock moves by the card's periods alone, so that both say the same to the sample, however starved this runs.
func TestTheLineSaysWhenTheCardFellSilent(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{clock: twin.NewClock()})
	for i := range 2 {
		rec := b.nextTurn(func() {
			b.question("endless")
			b.until("a voice", b.audible)
			b.pause(200 * time.Millisecond)
			b.hand.Press()
			b.state(turn.Listening)
			b.hand.Release()
		})
		silent, ok := firstSilence(b.card, rec.Ended, 2*time.Millisecond) // its cue follows; an interrupted turn ends at the edge
		if !ok || rec.Reason != "interrupted" || rec.PressToSilence == nil {
			t.Fatalf("press %d: %+v, a silence on the record: %v", i, rec, ok)
		}
		// It counts the whole tail of the filter, half a millisecond, whose end may round to zero; and is rounded itself.
		if off := *rec.PressToSilence - ms(silent-rec.Ended); silent == rec.Ended || off < 0 || off > 0.6 {
			t.Errorf("press %d: the line says %.3f ms, the card fell silent after %.3f ms", i, *rec.PressToSilence, ms(silent-rec.Ended))
		}
	}
}

// The silence of one button's first edge is not another one's to give back.
func TestAGlitchLeavesTheOtherButtonsTouchAlone(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return 0 }})
	d := &presses{speaker: s}
	a, b := &contact{Events: brokenContact{}, button: 1}, &contact{Events: brokenContact{}, button: 2}
	loud := func() bool {
		out := make([]int16, audio.CardRate/20)
		s.Render(out)
		return slices.Max(out[len(out)/2:]) != 0 // what fades has faded
	}
	s.Play(slices.Repeat([]int16{10000}, audio.Rate), false, s.Generation())
	d.press(gpio.Event{Kind: gpio.Touched}, a)
	d.press(gpio.Event{Kind: gpio.Touched}, b)
	d.press(gpio.Event{Kind: gpio.Glitched}, b)
	if loud() {
		t.Error("it sounds on while the first button is touched")
	}
	d.press(gpio.Event{Kind: gpio.Glitched}, a)
	if !loud() {
		t.Error("it is silent though both were glitches")
	}
}

// firstSilence is when the first silence of at least the given length after a time begins, not before after; false: there was none.
func firstSilence(card *twin.Card, after, length time.Duration) (time.Duration, bool) {
	tape, from := card.Tape()
	begin, need := audio.CardFrames(after-from), audio.CardFrames(length)
	for i := begin; i < len(tape); i++ {
		if tape[i] != 0 {
			begin = i + 1
		} else if i+1-begin >= need {
			return max(after, from+audio.CardDuration(begin)), true
		}
	}
	return 0, false
}
