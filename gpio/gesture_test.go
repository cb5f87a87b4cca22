package gpio

import (
	"testing"
	"time"
)

// presses makes contact events of pairs of instants in milliseconds: down, up, down, up …
func presses(at ...int) (events []Event) {
	for i, a := range at {
		k := Pressed
		if i%2 == 1 {
			k = Released
		}
		events = append(events, Event{Kind: k, At: time.Duration(a) * ms})
	}
	return events
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    Mode
		contact []Event
		want    string
	}{
		{"hold: down is talking, up is not", Hold, presses(0, 900), "pressed@0 released@900"},
		{"tap: the second press ends it, at its first edge", Tap, presses(0, 100, 2000, 2100), "pressed@0 released@2000"},
		{"tap: the third begins again", Tap, presses(0, 100, 2000, 2100, 3000, 3100), "pressed@0 released@2000 pressed@3000"},
		{"hybrid: a short press is a tap", Hybrid, presses(0, 399, 2000, 2900), "pressed@0 released@2000"},
		{"hybrid: a long press is held", Hybrid, presses(0, 400, 2000, 2900), "pressed@0 released@400 pressed@2000 released@2900"},
		{"hybrid: after the tap that ends, a press begins", Hybrid, presses(0, 100, 1000, 1100, 2000, 2500), "pressed@0 released@1000 pressed@2000 released@2500"},
		{"a touch passes in every mode", Tap, []Event{{Kind: Touched, At: 1 * ms}, {Kind: Glitched, At: 1 * ms}}, "touched@1 glitched@1"},
		{"two short presses are a double press, after both", Hold, presses(0, 100, 300, 400), "pressed@0 released@100 pressed@300 released@400 double-pressed@400"},
		{"three are not two double presses", Hold, presses(0, 100, 300, 400, 600, 700), "pressed@0 released@100 pressed@300 released@400 double-pressed@400 pressed@600 released@700"},
		{"too far apart they are two presses", Hold, presses(0, 100, 401, 500), "pressed@0 released@100 pressed@401 released@500"},
		{"5 s are a long press", Hold, presses(0, 5000), "pressed@0 released@5000 long-pressed@5000"},
		{"10 s are a very long press and no long one", Hold, presses(0, 10000), "pressed@0 released@10000 very-long-pressed@10000"},
		{"30 s are something lying on the button", Hold, presses(0, 30000), "pressed@0 released@30000"},
		{"tap: a long press ends what it began", Tap, presses(0, 5000, 6000, 6100), "pressed@0 released@5000 long-pressed@5000 pressed@6000"},
		{"tap: a stuck button ends the recording", Tap, []Event{{Kind: Pressed}, {Kind: Released, At: 60000 * ms}, {Kind: Stuck, At: 60000 * ms}},
			"pressed@0 released@60000 stuck@60000"},
		{"hold: a stuck button ends it once", Hold, []Event{{Kind: Pressed}, {Kind: Released, At: 60000 * ms}, {Kind: Stuck, At: 60000 * ms}},
			"pressed@0 released@60000 stuck@60000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Gesture{Mode: c.mode}
			var out []Event
			for _, ev := range c.contact {
				g, out = g.Step(ev, out)
			}
			if got := texts(out); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", texts(c.contact), got, c.want)
			}
		})
	}
}

// The person did not end the recording: the next tap must silence and begin, not end what is over.
func TestTapAfterTheRecordingEndedByItselfBegins(t *testing.T) {
	g := Gesture{Mode: Tap}
	var out []Event
	for _, ev := range presses(0, 100) {
		g, out = g.Step(ev, out)
	}
	g = g.CaptureEnded()
	for _, ev := range presses(70_000, 70_100) {
		g, out = g.Step(ev, out)
	}
	if got, want := texts(out), "pressed@0 pressed@70000"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// Whatever the presses: in every mode each Pressed has at most one Released, and none is released that was not pressed.
func TestRandomPressesAreReleasedOnce(t *testing.T) {
	r := seeded(t)
	for i := range 3000 {
		g := Gesture{Mode: Mode(r.IntN(3))}
		var out []Event
		at := 0
		for range r.IntN(20) {
			down := at + 1 + r.IntN(600)
			at = down + 1 + r.IntN(700)
			if r.IntN(10) == 0 {
				at += 5000
			}
			for _, ev := range presses(down, at) {
				g, out = g.Step(ev, out)
			}
			if r.IntN(10) == 0 {
				g = g.CaptureEnded()
			}
		}
		on := false
		for _, ev := range out {
			switch {
			case ev.Kind == Released && !on:
				t.Fatalf("run %d, mode %s: released without a press: %s", i, g.Mode, texts(out))
			case ev.Kind == Pressed:
				on = true
			case ev.Kind == Released:
				on = false
			}
		}
	}
}

func TestModesAreReadAsWritten(t *testing.T) {
	for _, m := range []Mode{Hold, Tap, Hybrid} {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("ParseMode(%q) = %v, %v", m.String(), got, err)
		}
	}
	if _, err := ParseMode("toggle"); err == nil || err.Error() != `gpio: mode "toggle": must be hold, tap or hybrid` {
		t.Errorf("ParseMode(toggle) = %v", err)
	}
	if _, err := ParseBias("strong"); err == nil || err.Error() != `gpio: bias "strong": must be auto, up, down or off` {
		t.Errorf("ParseBias(strong) = %v", err)
	}
}
