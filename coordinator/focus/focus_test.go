package focus

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "write the golden files anew")
	seed   = flag.Uint64("seed", 0, "seed of TestRandomWalk (0: a new one)")
)

func golden(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if !*update {
		t.Errorf("%s is not what Step does; go test ./coordinator/focus -update, and read the diff\n%s", path, got)
		return
	}
	if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The activities of scripts and table, by name.
var known = map[string]Acquired{
	"press": {Channel: Dialog, Activity: Activity{ID: 1, Exclusive: true}},
	"turn":  {Channel: Dialog, Activity: Activity{ID: 2}},
	"call":  {Channel: Comms, Activity: Activity{ID: 3, Exclusive: true}},
	"alert": {Channel: Alert, Activity: Activity{ID: 4}},
	"book":  {Channel: Content, Activity: Activity{ID: 5, Patience: 30 * time.Minute}},
	"music": {Channel: Content, Activity: Activity{ID: 6, Mixable: true, Patience: 5 * time.Minute}},
	"other": {Channel: Content, Activity: Activity{ID: 7, Mixable: true, Patience: 5 * time.Minute}},
	"clip":  {Channel: Content, Activity: Activity{ID: 8}},
	"song":  {Channel: Content, Activity: Activity{ID: 9, Mixable: true}},
	"later": {Channel: Content, Instead: 5, Activity: Activity{ID: 10, Patience: 30 * time.Minute}}, // in the book
}

func nameOf(id ID) string {
	for n, a := range known {
		if a.ID == id {
			return n
		}
	}
	return "?"
}

func show(o Order) string {
	s := o.Do.String() + " " + nameOf(o.ID)
	if o.Do == End {
		s += " " + o.Why.String()
	}
	return s
}

// script is a machine with a clock, told line by line: "+book", "-book", "stop", "go on", "wait 5m".
type script struct {
	m   Machine
	now time.Duration
}

func (s *script) line(t *testing.T, line string) (out []string) {
	t.Helper()
	feed := func(ev Event) {
		var orders []Order
		s.m, orders = Step(s.m, ev)
		for _, o := range orders {
			out = append(out, fmt.Sprintf("%v -> %s", s.now, show(o)))
		}
	}
	switch name := line[1:]; line[0] {
	case '+':
		a, ok := known[name]
		if !ok {
			t.Fatalf("nobody is called %q", name)
		}
		a.At = s.now
		feed(a)
	case '-':
		feed(Released{s.now, known[name].ID})
	case 's':
		feed(Stopped{s.now})
	case 'g':
		feed(Resumed{s.now})
	default:
		d, err := time.ParseDuration(strings.TrimPrefix(line, "wait "))
		if err != nil {
			t.Fatal(err)
		}
		for end := s.now + d; ; {
			at, ok := s.m.Wake()
			if !ok || at > end {
				s.now = end
				return out
			}
			s.now = at
			feed(Passed{at})
		}
	}
	return out
}

func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) < 8 {
		t.Fatalf("%d scripts", len(files))
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var s script
			var out strings.Builder
			for line := range strings.SplitSeq(strings.TrimRight(string(src), "\n"), "\n") {
				if strings.HasPrefix(line, "  ") {
					continue
				}
				out.WriteString(line + "\n")
				if line == "" || line[0] == '#' {
					continue
				}
				for _, o := range s.line(t, line) {
					out.WriteString("  " + o + "\n")
				}
			}
			golden(t, path, out.String())
		})
	}
}

func TestTable(t *testing.T) {
	situations := []struct{ name, way string }{
		{"none", ""},
		{"book plays", "+book"},
		{"behind a press", "+book +press"},
		{"coming back", "+book +press -press"},
		{"music plays", "+music"},
		{"behind a turn", "+music +turn"},
		{"behind a press", "+music +press"},
		{"behind a call", "+music +call"},
		{"book on music", "+music +book"},
		{"stopped", "+music +book -book stop"},
	}
	rows := []struct{ label, line string }{
		{"a press begins", "+press"},
		{"a turn begins", "+turn"},
		{"a call begins", "+call"},
		{"an alert begins", "+alert"},
		{"other content begins", "+other"},
		{"the turn is over", "-turn"},
		{"the press is over", "-press"},
		{"the call is over", "-call"},
		{"it is over", "-content"},
		{"stop", "stop"},
		{"go on", "go on, wait 300ms"},
		{"a breath later", "wait 300ms"},
		{"5 minutes later", "wait 5m"},
		{"30 minutes later", "wait 30m"},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "//\t%-22s", "")
	for _, s := range situations {
		fmt.Fprintf(&table, "%-18s", s.name)
	}
	trim := func() { s := strings.TrimRight(table.String(), " "); table.Reset(); table.WriteString(s + "\n") }
	trim()
	for _, r := range rows {
		fmt.Fprintf(&table, "//\t%-22s", r.label)
		for _, situation := range situations {
			var s script
			for w := range strings.FieldsSeq(situation.way) {
				s.line(t, w)
			}
			var did []string
			var out []string
			for line := range strings.SplitSeq(strings.Replace(r.line, "-content", "-"+nameOf(s.m.Holder(Content)), 1), ", ") {
				out = append(out, s.line(t, line)...)
			}
			for _, o := range out {
				f := strings.Fields(o)
				if !slices.Contains([]string{"book", "music", "other"}, f[3]) {
					continue
				}
				verb := f[2]
				if f[3] == "other" {
					verb = "new: " + verb
				}
				did = append(did, verb)
			}
			if len(did) == 0 {
				did = []string{"."}
			}
			fmt.Fprintf(&table, "%-18s", strings.Join(did, ", "))
		}
		trim()
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "// table:begin\n", "// table:end\n"
	head, rest, ok1 := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("doc.go has lost its markers")
	}
	golden(t, "doc.go", head+begin+"//\n"+table.String()+"//\n"+end+tail)
}

// A machine is a value: comparable, or this does not compile, and a Step changes nothing but what it returns.
func TestMachineIsAValue(t *testing.T) {
	var s script
	s.line(t, "+music")
	before := s.m
	Step(s.m, known["press"])
	if s.m != before {
		t.Error("Step changed the machine that it was given")
	}
}

func TestWhatBeganAlreadyDoesNotBeginAgain(t *testing.T) {
	var s script
	s.line(t, "+music")
	for _, ev := range []Event{known["music"], Acquired{Channel: Alert}, Released{}, Released{ID: 99}, Passed{At: time.Hour}} {
		if m, out := Step(s.m, ev); m != s.m || out != nil {
			t.Errorf("%+v: %v", ev, out)
		}
	}
}

// walker keeps the books of a random life beside the machine.
type walker struct {
	t      *testing.T
	m      Machine
	now    time.Duration
	of     map[ID]Acquired
	level  map[ID]Level // by the orders alone
	ends   map[ID]int
	paused map[ID]time.Duration
	left   time.Duration // when something in front was last over
	held   map[ID]bool   // content that was there when a person said stop
}

func (w *walker) feed(ev Event) {
	front := w.front()
	switch ev.(type) {
	case Stopped, Resumed:
		clear(w.held)
		for _, s := range w.m.slots[newest:] {
			w.held[s.ID] = ev == Event(Stopped{w.now})
		}
	}
	m, out := Step(w.m, ev)
	w.m = m
	for _, o := range out {
		id := o.ID
		if w.of[id].ID == 0 || w.ends[id] > 0 {
			w.t.Fatalf("%v: %v of %d, which does not live", w.now, o.Do, id)
		}
		var l Level
		if w.held[id] && (o.Do == Play || o.Do == Duck) {
			w.t.Fatalf("%v: %v of %d, and a person has said stop", w.now, o.Do, id)
		}
		if a, ok := ev.(Acquired); o.Do == End && o.Why == Replaced && (!ok || w.of[id].Channel == Content && a.Instead != id && w.content() < deep) {
			w.t.Fatalf("%v: %d is replaced by %+v, and there is room", w.now, id, ev)
		}
		switch o.Do {
		case Play:
			l = Foreground
			for other, k := range w.level {
				if k == Foreground {
					w.t.Fatalf("%v: %d plays while %d does", w.now, id, other)
				}
			}
		case Duck:
			l = Ducked
		case Pause:
			l = Paused
			w.paused[id] = w.now
		case End:
			w.ends[id]++
			if p := w.of[id].Patience; o.Why == Expired && (p == 0 || w.level[id] != Paused || w.now < w.paused[id]+p) {
				w.t.Fatalf("%v: %d expired, %v since %v, with a patience of %v", w.now, id, w.level[id], w.paused[id], p)
			}
			delete(w.level, id)
			continue
		}
		if w.level[id] == l {
			w.t.Fatalf("%v: %v of %d for the second time", w.now, o.Do, id)
		}
		w.level[id] = l
	}
	if front != w.front() {
		w.left = w.now
	}
	w.check(ev)
}

// front is the one that goes before all others.
func (w *walker) front() (id ID) {
	for _, c := range channels {
		if id = w.m.Holder(c); id != 0 && !w.held[id] {
			return id
		}
	}
	return 0
}

// content counts what lies on one another.
func (w *walker) content() (n int) {
	for _, s := range w.m.slots[newest:] {
		if s.ID != 0 {
			n++
		}
	}
	return n
}

func (w *walker) check(ev Event) {
	exclusive := false
	first := w.front()
	for i, s := range w.m.slots {
		id := s.ID
		if id == 0 {
			continue
		}
		a, l := w.of[id], w.level[id]
		silent := i > newest || w.held[id]
		switch {
		case silent && l != Paused:
			w.t.Fatalf("%v after %+v: %d is %v beneath other content or after stop", w.now, ev, id, l)
		case l != w.m.Level(id):
			w.t.Fatalf("%v after %+v: %d is %v by the orders, %v by the machine", w.now, ev, id, l, w.m.Level(id))
		case id != first && l == Foreground:
			w.t.Fatalf("%v after %+v: %d in the foreground beneath %d", w.now, ev, id, first)
		case id != first && l == Ducked && (exclusive || !a.Mixable):
			w.t.Fatalf("%v after %+v: %d sounds beneath %d", w.now, ev, id, first)
		case !silent && id != first && l == Paused && a.Mixable && !exclusive:
			w.t.Fatalf("%v after %+v: %d pauses beneath %d, though it need not", w.now, ev, id, first)
		case id == first && l != Foreground && w.now > w.left+Breath:
			w.t.Fatalf("%v after %+v: nothing is in front of %d, and it is %v", w.now, ev, id, l)
		case l == Paused && a.Patience > 0 && w.now > w.paused[id]+a.Patience:
			w.t.Fatalf("%v after %+v: %d pauses since %v", w.now, ev, id, w.paused[id])
		}
		exclusive = exclusive || a.Exclusive
	}
}

// wait goes to at, waking the machine on the way.
func (w *walker) wait(to time.Duration) {
	for at, ok := w.m.Wake(); ok && at <= to; at, ok = w.m.Wake() {
		if at < w.now {
			w.t.Fatalf("%v: wants to be woken at %v", w.now, at)
		}
		w.now = at
		w.feed(Passed{at})
	}
	w.now = to
}

func TestRandomWalk(t *testing.T) {
	from, runs := *seed, 1
	if s, err := strconv.ParseUint(os.Getenv("CONCH_SEED"), 10, 64); err == nil {
		from = s
	}
	if from == 0 {
		from, runs = rand.Uint64(), 5000
	}
	t.Logf("seed %d, %d lives", from, runs)
	for i := range runs {
		if !t.Run("", func(t *testing.T) { live(t, from+uint64(i)) }) {
			t.Fatalf("this life has CONCH_SEED=%d", from+uint64(i))
		}
	}
}

func live(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := walker{t: t, of: map[ID]Acquired{}, level: map[ID]Level{}, ends: map[ID]int{}, paused: map[ID]time.Duration{}, held: map[ID]bool{}}
	for range 40 {
		switch n := ID(rng.IntN(20) + 1); rng.IntN(9) {
		case 0, 1, 2:
			a := Acquired{At: w.now, Channel: channels[rng.IntN(len(channels))], Instead: n * ID(rng.IntN(2)), Activity: Activity{
				ID: ID(len(w.of) + 1), Exclusive: rng.IntN(2) == 0, Mixable: rng.IntN(2) == 0, Patience: time.Duration(rng.IntN(3)) * time.Second}}
			w.of[a.ID] = a
			w.feed(a)
		case 3:
			w.feed(Stopped{w.now})
		case 4:
			w.feed(Resumed{w.now})
		case 5, 6:
			w.feed(Released{w.now, n})
		default:
			w.wait(w.now + time.Duration(rng.IntN(1500))*time.Millisecond)
		}
	}
	for w.m != (Machine{}) { // all come to their end
		for _, c := range channels {
			if id := w.m.Holder(c); id != 0 {
				w.feed(Released{w.now, id})
			}
			w.wait(w.now + time.Second)
		}
	}
	for id := range w.of {
		if w.ends[id] != 1 {
			t.Fatalf("%d has %d ends", id, w.ends[id])
		}
	}
}
