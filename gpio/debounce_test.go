package gpio

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes a new one")

func seeded(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

const ms = time.Millisecond

func texts(events []Event) string {
	var words []string
	for _, ev := range events {
		words = append(words, fmt.Sprintf("%s@%g", ev.Kind, float64(ev.At)/float64(ms)))
	}
	return strings.Join(words, " ")
}

// wave is a contact over time: it toggles at each of the instants, beginning up.
type wave []time.Duration

func (w wave) at(t time.Duration) bool {
	n, found := slices.BinarySearch(w, t)
	if found {
		n++
	}
	return n%2 == 1
}

// world is what stands between a contact and its reader.
type world struct {
	readLate func() time.Duration // the level is read so long after the edge was reported
	late     func() time.Duration // the reader comes so long after what it waited for
	lose     func() bool          // the edge is never reported
}

// watch runs a wave through Debounce as Button.Run does, until end.
func watch(w wave, end time.Duration, in world) []Event {
	start := -100 * ms // long enough ago for the contact to be known as up
	d := StartDebounce(start, 0, 0)
	var out []Event
	d, out = d.Level(start, false, out)
	d, out = d.Level(start+50*ms, false, out)
	now := start + 50*ms
	next := 0
	for now < end {
		wait := now + LookEvery
		if wake, ok := d.Wake(); ok {
			wait = min(max(wake, now+lookLeast), wait)
		}
		for next < len(w) && in.lose() {
			next++
		}
		edge := next < len(w) && w[next] <= wait
		if edge {
			now = max(now, w[next])
			next++
		} else {
			now = wait
		}
		now += in.late()
		level := w.at(now + in.readLate())
		if edge {
			d, out = d.Edge(Edge{At: now, Down: level}, out)
		} else {
			d, out = d.Level(now, level, out)
		}
	}
	return out
}

var kind = world{
	readLate: func() time.Duration { return 0 },
	late:     func() time.Duration { return 0 },
	lose:     func() bool { return false },
}

func TestDebounce(t *testing.T) {
	for _, c := range []struct {
		name string
		wave wave
		want string
	}{
		{"a clean press acts at its first edge", wave{0, 100 * ms}, "touched@0 pressed@0 released@100"},
		{"bounces postpone the confirmation, not the touch", wave{0, 1 * ms, 2 * ms, 3 * ms, 4 * ms, 30 * ms}, "touched@0 pressed@0 released@30"},
		{"bounces on the way up keep the stamp of the first", wave{0, 100 * ms, 110 * ms, 112 * ms, 130 * ms, 131 * ms}, "touched@0 pressed@0 released@100"},
		{"3 ms of noise are a glitch", wave{0, 3 * ms}, "touched@0 glitched@0"},
		{"24 ms of static are a glitch", wave{0, 24 * ms}, "touched@0 glitched@0"},
		{"25 ms are a press", wave{0, 25 * ms}, "touched@0 pressed@0 released@25"},
		{"clicks of 20 ms are glitches, each for itself", wave{0, 20 * ms, 30 * ms, 50 * ms}, "touched@0 glitched@0 touched@30 glitched@30"},
		{"a contact that lets go for 20 ms is still pressed", wave{0, 100 * ms, 120 * ms, 300 * ms}, "touched@0 pressed@0 released@300"},
		{"two presses 60 ms apart are two", wave{0, 50 * ms, 110 * ms, 200 * ms}, "touched@0 pressed@0 released@50 touched@110 pressed@110 released@200"},
		{"held for two minutes it is stuck until it is free", wave{0, 120_000 * ms}, "touched@0 pressed@0 released@60000 stuck@60000 freed@120000"},
		{"after a stuck press the next one counts", wave{0, 120_000 * ms, 121_000 * ms, 121_100 * ms},
			"touched@0 pressed@0 released@60000 stuck@60000 freed@120000 touched@121000 pressed@121000 released@121100"},
		{"a hum is a glitch once, and silent after", hum(0, 500*ms, 2*ms), "touched@0 glitched@0"},
		{"a press that hums at first counts when it comes to rest", append(hum(0, 60*ms, 2*ms), 60*ms, 200*ms), "touched@0 glitched@0 touched@60 pressed@60 released@200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := texts(watch(c.wave, c.wave[len(c.wave)-1]+300*ms, kind)); got != c.want {
				t.Errorf("%v\n got %s\nwant %s", c.wave, got, c.want)
			}
		})
	}
}

func hum(from, to, period time.Duration) (w wave) {
	for at := from; at < to; at += period {
		w = append(w, at)
	}
	return w[:len(w)/2*2]
}

func TestButtonDownAtTheStartWaitsForRelease(t *testing.T) {
	d := StartDebounce(0, 0, 0)
	var out []Event
	for _, at := range []time.Duration{0, 1 * ms, 250 * ms, 70_000 * ms} {
		d, out = d.Level(at, true, out)
	}
	d, out = d.Edge(Edge{At: 71_000 * ms}, out)
	d, out = d.Edge(Edge{At: 71_010 * ms, Down: true}, out) // not 25 ms yet
	d, out = d.Edge(Edge{At: 71_011 * ms}, out)
	if wake, ok := d.Wake(); !ok || wake != 71_036*ms {
		t.Errorf("Wake = %v, %v; want 71.036s, true", wake, ok)
	}
	d, out = d.Level(71_036*ms, false, out)
	if len(out) > 0 {
		t.Errorf("before the first release: %s; want nothing", texts(out))
	}
	_, out = d.Edge(Edge{At: 72_000 * ms, Down: true}, out)
	if got, want := texts(out), "touched@72000"; got != want {
		t.Errorf("after it: %s; want %s", got, want)
	}
}

func TestLostEdgesHeal(t *testing.T) {
	for _, c := range []struct {
		name string
		lost int
		want string
	}{
		{"of the press", 0, "touched@200 pressed@200 released@1000"},
		{"of the release", 1, "touched@0 pressed@0 released@1025"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := -1
			in := kind
			in.lose = func() bool { n++; return n == c.lost }
			if got := texts(watch(wave{0, 1000 * ms}, 1500*ms, in)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// The level is read after the edge, in the middle of a bounce perhaps, and the edge that would correct it gets lost.
func TestLevelThatDisagreesBeginsTheQuietAnew(t *testing.T) {
	atRest := StartDebounce(-100*ms, 0, 0)
	atRest, _ = atRest.Level(-50*ms, false, nil)
	d, out := atRest.Edge(Edge{At: 0, Down: false}, nil)
	d, out = d.Level(4*ms, true, out)
	d, out = d.Level(8*ms, true, out)
	d, out = d.Edge(Edge{At: 100 * ms, Down: true}, out)
	d, out = d.Level(125*ms, false, out)
	_, out = d.Level(150*ms, false, out)
	if got, want := texts(out), "touched@0 pressed@0 released@100"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// part is a piece of a random wave and the events that it must make when nothing is late or lost.
type part struct {
	toggles wave
	want    []Event
	length  time.Duration
}

func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// bounces are an even number of toggles after at, each less than gap after the one before.
func bounces(r *rand.Rand, at, gap time.Duration) (w wave) {
	for range r.IntN(6) * 2 {
		at += between(r, 20*time.Microsecond, gap)
		w = append(w, at)
	}
	return w
}

func randomPart(r *rand.Rand, at time.Duration) part {
	w := wave{at}
	if r.IntN(3) == 0 { // a glitch: pulses too short, up at the end
		for w = append(w, at+between(r, 10*time.Microsecond, 25*ms)); r.IntN(2) == 0 && len(w) < 8; {
			last := w[len(w)-1]
			w = append(w, last+between(r, 10*time.Microsecond, 3*ms), last+3*ms+between(r, 10*time.Microsecond, ms/2))
		}
		return part{w, []Event{{Kind: Touched, At: at}, {Kind: Glitched, At: at}}, 100 * ms}
	}
	w = append(w, bounces(r, at, 3*ms)...) // 10 x 3 ms is still below Noisy
	lift := w[len(w)-1] + between(r, 26*ms, 3000*ms)
	for r.IntN(3) == 0 { // it lets go for a moment in the middle
		gone := w[len(w)-1] + 26*ms
		w = append(w, gone, gone+between(r, ms, 24*ms))
		lift = w[len(w)-1] + between(r, 26*ms, 1000*ms)
	}
	w = append(w, lift)
	w = append(w, bounces(r, lift, 24*ms)...)
	return part{w, []Event{{Kind: Touched, At: at}, {Kind: Pressed, At: at}, {Kind: Released, At: lift}}, 0}
}

func TestRandomBouncesMakeExactlyThePresses(t *testing.T) {
	r := seeded(t)
	presses := 0
	for i := range 3000 {
		var (
			w    wave
			want []Event
		)
		for range 1 + r.IntN(4) {
			at := between(r, 0, 20*ms)
			if len(w) > 0 {
				at = w[len(w)-1] + 30*ms + between(r, 0, 500*ms)
			}
			p := randomPart(r, at)
			w, want = append(w, p.toggles...), append(want, p.want...)
		}
		got := watch(w, w[len(w)-1]+400*ms, kind)
		if texts(got) != texts(want) {
			t.Fatalf("wave %d: %v\n got %s\nwant %s", i, w, texts(got), texts(want))
		}
		for _, ev := range want {
			if ev.Kind == Pressed {
				presses++
			}
		}
	}
	t.Logf("3000 waves, %d presses", presses)
}

// Late readers, lost edges, noise of any kind: the numbers may be off, the grammar never.
func TestRandomTroubleKeepsTheGrammar(t *testing.T) {
	r := seeded(t)
	in := world{
		readLate: func() time.Duration { return between(r, 0, 200*time.Microsecond) },
		late: func() time.Duration {
			if r.IntN(10) == 0 {
				return between(r, 0, 120*ms)
			}
			return between(r, 0, ms/10)
		},
		lose: func() bool { return r.IntN(8) == 0 },
	}
	for i := range 3000 {
		var w wave
		at := time.Duration(0)
		for range r.IntN(60) {
			at += time.Duration(float64(10*time.Microsecond) * float64(int64(1)<<r.IntN(16)) * (1 + r.Float64()))
			w = append(w, at)
		}
		w = w[:len(w)/2*2]
		got := watch(w, at+time.Second, in)
		state, last := "up", time.Duration(-1)
		for j, ev := range got {
			next, ok := map[string]map[Kind]string{
				"up":      {Touched: "touched"},
				"touched": {Pressed: "down", Glitched: "up"},
				"down":    {Released: "up"},
			}[state][ev.Kind]
			if !ok {
				t.Fatalf("wave %d: %v\nevent %d, %s while %s: %s", i, w, j, ev.Kind, state, texts(got))
			}
			if ev.Kind != Glitched && ev.At < last {
				t.Fatalf("wave %d: %v\nevent %d goes back in time: %s", i, w, j, texts(got))
			}
			state, last = next, ev.At
		}
		if state != "up" {
			t.Fatalf("wave %d: %v\nends %s though the contact is up: %s", i, w, state, texts(got))
		}
	}
}

func TestFirstEdgeAllocatesNothing(t *testing.T) {
	buffer := make([]Event, 0, 8)
	d := StartDebounce(0, 0, 0)
	d, _ = d.Level(30*ms, false, nil)
	if n := testing.AllocsPerRun(100, func() { _, buffer = d.Edge(Edge{At: 40 * ms, Down: true}, buffer[:0]) }); n != 0 {
		t.Errorf("%v allocations on the first edge; want 0", n)
	}
	if texts(buffer) != "touched@40" {
		t.Errorf("got %s; want touched@40", texts(buffer))
	}
}

// A button that is gone while it is held was not let go of; one that was just let go of was.
func TestLostButtonVanishes(t *testing.T) {
	for _, c := range []struct {
		name string
		mode Mode
		wave wave
		gone time.Duration
		want string
	}{
		{"at rest", Hold, wave{}, 0, ""},
		{"touched", Hold, wave{0}, 10 * ms, "glitched@0"},
		{"held", Hold, wave{0}, 300 * ms, "vanished@300"},
		{"just let go", Hold, wave{0, 300 * ms}, 310 * ms, "released@300"},
		{"let go", Hold, wave{0, 300 * ms}, 400 * ms, ""},
		{"a tap's recording is on", Tap, wave{0, 60 * ms}, 900 * ms, "vanished@900"},
		{"the tap that ended it is still down", Tap, wave{0, 60 * ms, 900 * ms}, 950 * ms, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, g := StartDebounce(-100*ms, 0, 0), Gesture{Mode: c.mode}
			var raw, out []Event
			for i, at := range append(c.wave, c.gone) {
				down := i%2 == 1
				for wake, ok := d.Wake(); ok && wake < at; wake, ok = d.Wake() {
					d, raw = d.Level(wake, down, raw)
				}
				if i < len(c.wave) {
					d, raw = d.Edge(Edge{At: at, Down: !down}, raw)
				}
			}
			for _, ev := range raw {
				g, out = g.Step(ev, out)
			}
			var got []Event
			if ev, open := g.Lost(d.Lost(c.gone)); open {
				got = []Event{ev}
			}
			if texts(got) != c.want {
				t.Errorf("%s; want %s (%s)", texts(got), c.want, texts(out))
			}
		})
	}
}
