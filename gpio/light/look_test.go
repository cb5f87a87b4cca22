package light

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheFirstThatIsTrueIsShown(t *testing.T) {
	green := Colour{0, 255, 0}
	all := Facts{Doing: Recording, Captured: true, Self: green, Muted: true, Floor: green, Moment: Error, Trouble: true, Offline: true, Pairing: true}
	without := func(change func(*Facts)) Facts { f := all; change(&f); return f }
	for _, c := range []struct {
		name string
		f    Facts
		want Scene
	}{
		{"nothing is dark", Facts{}, Scene{}},
		{"everything at once is listening", all, Scene{Listening, White}},
		{"no frame has been captured: the wish is not shown", Facts{Doing: Recording}, Scene{}},
		{"a device that answers is not dark for the room", Facts{Doing: Answering, Self: green, Floor: Red}, Scene{Speaking, green}},
		{"an answer of nobody in particular is white", Facts{Doing: Answering}, Scene{Speaking, White}},
		{"waiting is the person's", Facts{Doing: Thinking, Self: green}, Scene{Waiting, White}},
		{"muted waiting is red", Facts{Doing: Thinking, Muted: true}, Scene{Waiting, Red}},
		{"muted speaking is red", Facts{Doing: Answering, Self: green, Muted: true}, Scene{Speaking, Red}},
		{"a moment before what lasts", without(func(f *Facts) { f.Doing, f.Moment, f.Muted = Nothing, Empty, false }), Scene{Empty, White}},
		{"an answer before a moment", Facts{Doing: Answering, Self: green, Moment: Noted}, Scene{Speaking, green}},
		{"pairing before muted", without(func(f *Facts) { f.Doing = Nothing }), Scene{Pairing, White}},
		{"muted before others", without(func(f *Facts) { f.Doing, f.Pairing = Nothing, false }), Scene{Muted, Red}},
		{"others before trouble", without(func(f *Facts) { f.Doing, f.Pairing, f.Muted = Nothing, false, false }), Scene{Other, green}},
		{"a failure before the network", Facts{Moment: Error, Offline: true}, Scene{Error, Red}},
		{"trouble before the network", Facts{Trouble: true, Offline: true}, Scene{Error, Red}},
		{"the network", Facts{Offline: true}, Scene{Offline, Amber}},
	} {
		if got := c.f.Shown(); got != c.want {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}

func TestLookNames(t *testing.T) {
	for _, l := range Looks() {
		if got, err := ParseLook(l.String()); got != l || err != nil {
			t.Errorf("ParseLook(%q) = %v, %v; want itself", l, got, err)
		}
	}
	if len(Looks()) != len(lookNames) {
		t.Errorf("%d looks, %d names", len(Looks()), len(lookNames))
	}
	if _, err := ParseLook("disco"); err == nil {
		t.Error("disco is a look; want an error")
	}
}

func TestCompanionsColoursAreNotTroubles(t *testing.T) {
	ada, ben, cleo := CompanionColour("ada"), CompanionColour("ben"), CompanionColour("cleo")
	if ada == ben || ben == cleo || ada == cleo {
		t.Errorf("ada %v, ben %v, cleo %v: two look alike", ada, ben, cleo)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := CompanionColour(rapid.String().Draw(t, "id"))
		if c.brightest() != 255 || min(c.R, c.G, c.B) != 0 {
			t.Errorf("%v is not a full colour", c)
		}
		if c.R == 255 && c.B < 100 { // red, amber, yellow
			t.Errorf("%v is the colour of trouble", c)
		}
	})
}

// shapes are those of the drivers.
var shapes = []struct {
	name  string
	shape Shape
}{
	{"LED", Shape{Pixels: 1}},
	{"dimmed LED", Shape{Pixels: 1, Dim: true}},
	{"RGB", Shape{Pixels: 1, Colour: true}},
	{"dimmed RGB", Shape{Pixels: 1, Colour: true, Dim: true}},
	{"row", Shape{Pixels: 3, Colour: true, Dim: true}},
	{"ring", Shape{Pixels: 12, Colour: true, Dim: true}},
	{"slow row", Shape{Pixels: 3, Colour: true, Dim: true, Least: 2 * tick}},
}

// film is what a look shows in twelve seconds, a frame every ten milliseconds.
func film(s Scene, shape Shape, level func(time.Duration) float64) (frames []Frame) {
	for at := time.Duration(0); at < 12*time.Second; at += 10 * time.Millisecond {
		f, _ := s.Frame(shape, at, level(at), 1)
		frames = append(frames, f)
	}
	return frames
}

// talk is a level that goes up and down like words.
func talk(at time.Duration) float64 {
	return 0.5 + 0.5*math.Sin(float64(at)/float64(90*time.Millisecond))
}

func TestNoTwoLooksAreAlike(t *testing.T) {
	for _, s := range shapes {
		films := map[Look][]Frame{}
		for _, l := range Looks() {
			films[l] = film(Sample(l), s.shape, talk)
		}
		for _, a := range Looks() {
			for _, b := range Looks() {
				if a != b && slices.EqualFunc(films[a], films[b], Frame.Equal) {
					t.Errorf("%s: %v and %v look alike", s.name, a, b)
				}
			}
		}
	}
}

// On one LED without colours a look is its rhythm: from one change to the next no two may have the same pattern, however
// long one looks away before.
func TestRhythmsDiffer(t *testing.T) {
	pattern := func(r rhythm) (p []time.Duration) {
		for at, before := time.Duration(0), false; at < 8*time.Second; {
			lit, stays := r.at(at)
			if stays == 0 {
				return nil
			}
			if lit != before || at == 0 {
				p = append(p, stays)
			}
			at, before = at+stays, lit
		}
		slices.Sort(p)
		return slices.Compact(p)
	}
	seen := map[string]Look{}
	for l, r := range rhythms {
		key := ""
		for _, d := range pattern(r) {
			key += d.String() + " "
		}
		if other, twice := seen[key]; twice {
			t.Errorf("%v and %v have the rhythm %q", l, other, key)
		}
		seen[key] = l
		for _, d := range r {
			if d < 50*time.Millisecond {
				t.Errorf("%v: %v is too short for the eye", l, d)
			}
		}
	}
}

// What a frame says of how long it stays is what saves wake-ups, and must be true.
func TestAFrameStaysAsLongAsItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(Looks()).Draw(t, "look")
		s := rapid.SampledFrom(shapes).Draw(t, "shape").shape
		since := time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "since"))
		f, stays := Sample(l).Frame(s, since, 0.5, 0.7)
		if len(f.LEDs) != s.Pixels {
			t.Fatalf("%d LEDs; want %d", len(f.LEDs), s.Pixels)
		}
		if stays < 0 || stays > 0 && stays < tick && rhythms[l] == nil { // a rhythm's edge is where it is
			t.Fatalf("%v stays %v", l, stays)
		}
		till := stays
		if stays == 0 {
			till = time.Hour
		}
		if stays == s.tick() {
			return // it moves: the next frame is another picture
		}
		part := rapid.Float64Range(0, 0.999).Draw(t, "part")
		later, _ := Sample(l).Frame(s, since+time.Duration(part*float64(till)), 0.5, 0.7)
		if !later.Equal(f) {
			t.Errorf("%v on %+v at %v: says it stays %v, and has changed", l, s, since, stays)
		}
	})
}

func TestWhatStandsStillStaysForEver(t *testing.T) {
	row := Shape{Pixels: 3, Colour: true, Dim: true}
	for _, l := range []Look{Off, Listening, Muted, Other} {
		if _, stays := Sample(l).Frame(row, time.Second, 1, 1); stays != 0 {
			t.Errorf("%v on a row stays %v; want for ever", l, stays)
		}
	}
	if _, stays := Sample(Listening).Frame(Shape{Pixels: 1}, time.Second, 1, 1); stays != 0 {
		t.Errorf("listening on an LED stays %v; want for ever", stays)
	}
}

func TestGoldenFrames(t *testing.T) {
	row := Shape{Pixels: 3, Colour: true, Dim: true}
	led := Shape{Pixels: 1}
	dark := []Colour{{}, {}, {}}
	same := func(c Colour) []Colour { return []Colour{c, c, c} }
	ms := time.Millisecond
	for _, c := range []struct {
		name  string
		s     Scene
		shape Shape
		at    time.Duration
		level float64
		want  []Colour
	}{
		{"off", Scene{}, row, 0, 1, dark},
		{"listening", Sample(Listening), row, 5 * time.Second, 0, same(White)},
		{"waiting begins low", Sample(Waiting), row, 0, 0, same(Colour{38, 38, 38})},
		{"and is full after half a breath", Sample(Waiting), row, breath / 2, 0, same(White)},
		{"speaking between two words", Scene{Speaking, Colour{0, 100, 200}}, row, 0, 0, same(Colour{0, 20, 40})},
		{"speaking aloud", Scene{Speaking, Colour{0, 100, 200}}, row, 0, 1, same(Colour{0, 100, 200})},
		{"other: one LED, dim", Scene{Other, Colour{0, 100, 200}}, row, time.Second, 0, []Colour{{0, 35, 70}, {}, {}}},
		{"muted", Sample(Muted), row, 1950 * ms, 0, same(Red)},
		{"error: first blink", Sample(Error), row, 50 * ms, 0, same(Red)},
		{"between", Sample(Error), row, 200 * ms, 0, dark},
		{"second blink", Sample(Error), row, 300 * ms, 0, same(Red)},
		{"rest", Sample(Error), row, time.Second, 0, dark},
		{"offline: top of the pulse", Sample(Offline), row, pulseLength / 2, 0, same(Colour{128, 80, 0})},
		{"offline: rest", Sample(Offline), row, 2 * time.Second, 0, dark},
		{"pairing: on the second LED", Sample(Pairing), row, turnPeriod / 3, 0, []Colour{{}, White, {}}},
		{"pairing: half way to the third", Sample(Pairing), row, turnPeriod / 2, 0, []Colour{{}, {128, 128, 128}, {128, 128, 128}}},
		{"pairing: and round", Sample(Pairing), row, 5 * turnPeriod / 6, 0, []Colour{{127, 127, 127}, {}, {128, 128, 128}}},
		{"LED, muted: lit", Sample(Muted), led, 1850 * ms, 0, []Colour{Red}},
		{"LED, muted: a wink", Sample(Muted), led, 1950 * ms, 0, []Colour{{}}},
		{"LED, other: a flash", Scene{Other, Colour{0, 100, 200}}, led, 2030 * ms, 0, []Colour{{0, 100, 200}}},
		{"LED, other: dark", Scene{Other, Colour{0, 100, 200}}, led, 2100 * ms, 0, []Colour{{}}},
		{"LED, speaking: loud", Scene{Speaking, White}, led, 0, 0.6, []Colour{White}},
		{"LED, speaking: soft", Scene{Speaking, White}, led, 0, 0.4, []Colour{{}}},
		{"LED, waiting: off for a second", Sample(Waiting), led, 1500 * ms, 0, []Colour{{}}},
	} {
		got, _ := c.s.Frame(c.shape, c.at, c.level, 1)
		if !slices.Equal(got.LEDs, c.want) {
			t.Errorf("%s: %v; want %v", c.name, got.LEDs, c.want)
		}
	}
}

func TestBrightness(t *testing.T) {
	for _, c := range []struct {
		shape      Shape
		brightness float64
		want       uint8
	}{
		{Shape{Pixels: 1, Dim: true}, 1, 255}, {Shape{Pixels: 1, Dim: true}, 0.4, 102}, {Shape{Pixels: 1, Dim: true}, 0.001, 1},
		{Shape{Pixels: 1, Dim: true}, 0, 0}, {Shape{Pixels: 1}, 0.05, 255}, {Shape{Pixels: 1}, 0, 0},
	} {
		f, _ := Sample(Listening).Frame(c.shape, 0, 0, c.brightness)
		if f.Brightness != c.want || f.Dark() != (c.want == 0) {
			t.Errorf("%+v at %g: brightness %d, dark %v; want %d", c.shape, c.brightness, f.Brightness, f.Dark(), c.want)
		}
	}
	for _, c := range []struct {
		v, brightness uint8
		want          float64
	}{{255, 255, 1}, {0, 255, 0}, {255, 0, 0}, {128, 255, 0.2195}, {255, 102, 0.1332}} {
		if got := Linear(c.v, c.brightness); math.Abs(got-c.want) > 0.001 {
			t.Errorf("Linear(%d, %d) = %.4f; want %.4f", c.v, c.brightness, got, c.want)
		}
	}
	for _, c := range []struct {
		peak int
		want float64
	}{{0, 0}, {32767, 1}, {3277, 0.5}, {328, 0}, {1, 0}, {-1, 0}} {
		if got := Loudness(c.peak); math.Abs(got-c.want) > 0.001 {
			t.Errorf("Loudness(%d) = %.3f; want %.3f", c.peak, got, c.want)
		}
	}
}
