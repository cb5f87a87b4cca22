package device

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/gpio"
	"conch/gpio/light"
)

func TestMutedMeansClosed(t *testing.T) {
	t.Parallel()
	s := &strip{shape: light.Shape{Pixels: 1, Colour: true, Dim: true}}
	b := newBox(t, boxOptions{light: func() (light.Driver, error) { return s, nil }})
	if err := b.sound.SetMuted(true); err != nil {
		t.Fatal(err)
	}
	if b.card.Capturing() || !b.sound.Muted() || !(socket{b.Device}).Status().Muted {
		t.Errorf("muted: capturing %v, Muted %v; want the device closed when SetMuted returns", b.card.Capturing(), b.sound.Muted())
	}
	b.until("red", func() bool { return s.now() == light.Red })
	if r := b.ask("short"); r.Reason != turn.Done.String() {
		t.Errorf("a typed question to a muted device: %s; want an answer", r.Reason)
	}
	r := b.nextTurn(func() {
		b.hand.Press()
		b.until("told", func() bool { return len(b.turnsEnded()) > 1 }) // long before the microphone would be given up
		b.hand.Release()
	})
	b.failed(r, turn.Failed, turn.WordsMuted)
	if b.card.Capturing() || len(b.conds.List()) > 0 {
		t.Errorf("after a press: capturing %v, conditions %v; want neither", b.card.Capturing(), b.conds.List())
	}
	if err := b.sound.SetMuted(false); err != nil {
		t.Fatal(err)
	}
	b.until("listening again", func() bool { return b.card.Capturing() && b.sound.Hears() })
	b.until("dark", func() bool { return !s.lit() })
	b.fine()
}

// Muted is muted after a power cut, and no microphone is opened in between.
func TestMuteSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	same := func(c *config.Config) { c.State.Dir = dir }
	b := newBox(t, boxOptions{config: same})
	if err := b.sound.SetMuted(true); err != nil {
		t.Fatal(err)
	}
	b.stop()
	opened := false
	again := newBox(t, boxOptions{config: same})
	again.until("muted", func() bool { opened = opened || again.card.Capturing(); return again.sound.Muted() })
	if opened || !(socket{again.Device}).Status().Muted {
		t.Errorf("after a restart: a microphone was opened: %v, muted %v; want none, muted", opened, (socket{again.Device}).Status().Muted)
	}
	if err := again.sound.SetMuted(false); err != nil {
		t.Fatal(err)
	}
	again.until("listening", again.card.Capturing)
	again.fine()
}

// What cannot be read may say that it is muted.
func TestMuteThatCannotBeReadIsMute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mute.json"), []byte(`{"Muted":tr`), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := false
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.State.Dir = dir }})
	b.until("muted", func() bool { opened = opened || b.card.Capturing(); return b.sound.Muted() })
	if opened || !b.holds("state.unwritable") {
		t.Errorf("a microphone was opened: %v; conditions: %v", opened, b.conds.List())
	}
	b.presses.press(gpio.Event{Kind: gpio.LongPressed, At: b.now()}, &contact{Events: b.hand, button: 2})
	b.until("listening", b.card.Capturing)
}

// With the microphone closed nobody can ask aloud for it: the button does it.
func TestAHeldButtonEndsMuting(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	if err := b.sound.SetMuted(true); err != nil {
		t.Fatal(err)
	}
	b.presses.press(gpio.Event{Kind: gpio.LongPressed, At: b.now()}, &contact{Events: b.hand, button: 2})
	b.until("listening", func() bool { return b.card.Capturing() && !b.sound.Muted() })
	b.quiet()
	b.fine()
	b.presses.press(gpio.Event{Kind: gpio.LongPressed, At: b.now()}, &contact{Events: b.hand, button: 2}) // and otherwise nothing
	b.pause(100 * time.Millisecond)
	if b.sound.Muted() || !b.card.Capturing() {
		t.Error("a long press muted the device")
	}
}

// What is said as the microphone is switched off is not sent, whenever the button is released.
func TestMutedInTheMiddleOfASentence(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{true, false} {
		b := newBox(t, boxOptions{})
		r := b.nextTurn(func() {
			b.hand.Press()
			b.state(turn.Listening)
			b.speak(900 * time.Millisecond)
			if err := b.sound.SetMuted(true); err != nil {
				t.Error(err)
			}
			if held {
				b.until("told", func() bool { return len(b.turnsEnded()) > 0 })
			}
			b.hand.Release()
		})
		b.failed(r, turn.Failed, turn.WordsMuted)
		if n := len(b.recognizer.lengths()); n != 0 {
			t.Errorf("held %v: %d utterances were sent", held, n)
		}
	}
}

// stubborn is a card whose capture device does not close.
type stubborn struct{ audio.Card }

type stubbornStream struct{ audio.Stream }

func (c stubborn) OpenCapture(conf audio.StreamConfig, take func([]int16)) (audio.Stream, error) {
	s, err := c.Card.OpenCapture(conf, take)
	return stubbornStream{s}, err
}

func (s stubbornStream) Close() error {
	return errors.Join(s.Stream.Close(), errors.New("the driver hangs"))
}

// What cannot be closed is not called muted.
func TestAMicrophoneThatDoesNotCloseIsNotMuted(t *testing.T) {
	t.Parallel()
	s := &strip{shape: light.Shape{Pixels: 1, Colour: true, Dim: true}}
	b := newBox(t, boxOptions{light: func() (light.Driver, error) { return s, nil }, card: func(c audio.Card) audio.Card { return stubborn{c} }})
	err := b.sound.SetMuted(true)
	if err == nil || !strings.Contains(err.Error(), "the driver hangs") || !strings.Contains(err.Error(), "pull its plug") {
		t.Errorf("SetMuted: %v; want the reason and what to do", err)
	}
	if b.sound.Muted() || s.lit() {
		t.Errorf("Muted %v, light %v; want neither", b.sound.Muted(), s.now())
	}
}
