package gpio

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// scene is a learner and wires that a test moves by hand; time goes as the test says.
type scene struct {
	l     *Learner
	at    time.Duration
	heard []string
}

func newScene(rest map[int]bool) *scene { return &scene{l: StartLearner(0, rest, rest)} }

func (s *scene) note(all []Heard) {
	names := [...]string{"", "once", "twice", "other", "together", "noise", "stuck"}
	for _, h := range all {
		s.heard = append(s.heard, names[h.Kind]+strings.ReplaceAll(fmt.Sprint(h.Pins), " ", ","))
	}
}

func (s *scene) wait(d time.Duration) {
	for end := s.at + d; s.at < end; {
		s.at += 10 * time.Millisecond
		s.note(s.l.Tick(s.at))
	}
}

func (s *scene) set(pin int, high bool) { s.note(s.l.Edge(s.at, pin, high)) }

// bounce moves a contact to a level as contacts do.
func (s *scene) bounce(pin int, high bool, n int) {
	s.set(pin, high)
	for range n {
		s.at += 300 * time.Microsecond
		s.set(pin, !high)
		s.at += 300 * time.Microsecond
		s.set(pin, high)
	}
}

func (s *scene) press(pin int, high bool, held time.Duration) {
	s.bounce(pin, high, 4)
	s.wait(held)
	s.bounce(pin, !high, 4)
	s.wait(500 * time.Millisecond)
}

func (s *scene) found() string {
	p, ok := s.l.Found()
	if !ok {
		return "nothing"
	}
	return fmt.Sprintf("%d %v", p.Pin, p.High)
}

func TestLearnerFindsTheButton(t *testing.T) {
	up := map[int]bool{4: true, 5: true, 17: true, 22: false, 27: true}
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		do    func(*scene)
		heard string
		found string
	}{
		{"two presses", func(s *scene) { s.press(17, false, 200*ms); s.press(17, false, 900*ms) }, "once[17] twice[17]", "17 false"},
		{"of a wire that rests low", func(s *scene) { s.press(22, true, 200*ms); s.press(22, true, 200*ms) }, "once[22] twice[22]", "22 true"},
		{"one is not enough", func(s *scene) { s.press(17, false, 200*ms); s.wait(5 * time.Second) }, "once[17]", "nothing"},
		{"nor two that are a minute apart", func(s *scene) { s.press(17, false, 200*ms); s.wait(time.Minute); s.press(17, false, 200*ms) }, "once[17] once[17]", "nothing"},
		{"a touch by accident is none", func(s *scene) { s.press(17, false, 10*ms); s.press(17, false, 200*ms) }, "once[17]", "nothing"},
		{"the second counts when it is another wire", func(s *scene) { s.press(5, false, 200*ms); s.press(17, false, 200*ms); s.press(17, false, 200*ms) },
			"once[5] other[5,17] twice[17]", "17 false"},
		{"noise beside it", func(s *scene) {
			for range 400 {
				s.set(27, false)
				s.at += ms
				s.set(27, true)
				s.at += ms
			}
			s.wait(time.Second)
			s.press(17, false, 200*ms)
			s.press(17, false, 200*ms)
		}, "noise[27] once[17] twice[17]", "17 false"},
		{"a wire that goes away and stays", func(s *scene) {
			s.set(5, false)
			s.wait(11 * time.Second)
			s.press(17, false, 200*ms)
			s.press(17, false, 200*ms)
			s.set(5, true) // and is a button only if it does it twice
			s.wait(time.Second)
		}, "stuck[5] once[17] twice[17]", "17 false"},
		{"two wires that move together", func(s *scene) {
			for range 2 {
				s.set(17, false)
				s.at += ms
				s.set(22, true)
				s.wait(300 * ms)
				s.set(22, false)
				s.at += 5 * ms
				s.set(17, true)
				s.wait(500 * ms)
			}
		}, "together[17,22] together[17,22]", "nothing"},
		{"a wire that nobody named", func(s *scene) { s.press(12, false, 200*ms); s.press(12, false, 200*ms) }, "", "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(up)
			s.wait(time.Second)
			c.do(s)
			if got := strings.Join(s.heard, " "); got != c.heard || s.found() != c.found {
				t.Errorf("heard %s; found %s\nwant  %s; found %s", got, s.found(), c.heard, c.found)
			}
		})
	}
}

// A button that is down when listening begins is not seen upside down.
func TestLearnerThatBeginsWithThePressOn(t *testing.T) {
	s := &scene{l: StartLearner(0, map[int]bool{17: true}, map[int]bool{17: false})}
	s.wait(300 * time.Millisecond)
	s.bounce(17, true, 3)
	s.wait(500 * time.Millisecond)
	s.press(17, false, 200*time.Millisecond)
	if got := s.found(); got != "17 false" {
		t.Errorf("found %s (%s); want 17 false", got, strings.Join(s.heard, " "))
	}
}

// Whatever the bounces and however the other wires hum: what is found was pressed, and the right way round.
func TestLearnerNeverFindsWhatWasNotPressed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rest := map[int]bool{}
		for pin := range 8 {
			rest[pin] = rapid.Bool().Draw(t, fmt.Sprintf("rest%d", pin))
		}
		s := newScene(rest)
		pressed := map[int]int{}
		for range rapid.IntRange(0, 12).Draw(t, "presses") {
			pin := rapid.IntRange(0, 7).Draw(t, "pin")
			held := time.Duration(rapid.IntRange(1, 2000).Draw(t, "held")) * time.Millisecond
			n := rapid.IntRange(0, 12).Draw(t, "bounces")
			s.bounce(pin, !rest[pin], n)
			s.wait(held)
			s.bounce(pin, rest[pin], n)
			s.wait(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause")) * time.Millisecond)
			pressed[pin]++
		}
		s.wait(time.Second)
		if p, ok := s.l.Found(); ok && (pressed[p.Pin] < 2 || p.High == rest[p.Pin]) {
			t.Fatalf("found %+v; it was pressed %d times and rests at %v", p, pressed[p.Pin], rest[p.Pin])
		}
	})
}

// The driver on lines of the fake kernel: which resistor a button shows with, what is left alone, and that nothing is driven.
func TestLearnOnLines(t *testing.T) {
	for _, c := range []struct {
		name       string
		rest, down bool // levels of the wire: the fake's wires do not follow a resistor
		want       string
	}{
		{"to ground", true, false, "GPIO17, low when pressed"},
		{"to 3.3 V, with a resistor of its own", false, true, "GPIO17, high when pressed, with a resistor of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeKernel(t)
			pi := f.plug(0, "pinctrl-rp1", 54)
			f.holds(pi, 14, "ttyAMA0")
			f.mu.Lock()
			pi.lines[25].flags = flagOutput // by the boot
			f.mu.Unlock()
			f.set(pi, 17, c.rest)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var watched []int
			left := map[int]string{}
			ready, heard := make(chan struct{}), make(chan HeardKind, 16)
			go func() { // ends with the second press, or ctx
				press := func() {
					f.set(pi, 17, c.down)
					<-time.After(100 * time.Millisecond)
					f.set(pi, 17, c.rest)
				}
				<-ready
				press()
				for h := range heard {
					if h == HeardOnce {
						press()
					}
				}
			}()
			got, err := f.learn(ctx, LearnOptions{Board: "custom", Uses: map[int]string{5: "light (light.pins)"},
				Watch: func(pins []int, l map[int]string) { watched, left = pins, l; close(ready) },
				Heard: func(h Heard) { heard <- h.Kind }})
			close(heard)
			if err != nil || got.String() != c.want {
				t.Errorf("Learn = %s, %v; want %s", got, err, c.want)
			}
			for pin, why := range map[int]string{2: "I2C data line", 18: "I2S bit clock", 14: "ttyAMA0 holds it", 25: "is an output", 5: "light (light.pins)", 0: "memory of the boards"} {
				if left[pin] != why || slices.Contains(watched, pin) {
					t.Errorf("pin %d is left because %q, watched: %v; want %q", pin, left[pin], slices.Contains(watched, pin), why)
				}
			}
			if f.flags(pi, 25) != flagOutput {
				t.Error("the output of the boot was touched")
			}
		})
	}
}

func TestLearnedButtonFitsBoards(t *testing.T) {
	names := func(l Learned) (all []string) {
		for _, b := range l.FittingBoards() {
			all = append(all, b.Name)
		}
		return all
	}
	if got := names(Learned{Pin: 17, ActiveHigh: true, Bias: BiasOff}); !slices.Equal(got, []string{"whisplay"}) {
		t.Errorf("17, high: %q", got)
	}
	if got := names(Learned{Pin: 23}); !slices.Contains(got, "aiy-v1") || slices.Contains(got, "whisplay") {
		t.Errorf("23, low: %q", got)
	}
	if got := names(Learned{Pin: 4}); len(got) > 0 {
		t.Errorf("4: %q", got)
	}
}
