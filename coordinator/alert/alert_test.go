package alert

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of doc.go anew")

// script is a machine with a clock, told word by word: "ask1", "front", "behind", "press", "withdraw1", "sounded", "unheard", "3s".
type script struct {
	m     Machine
	now   time.Duration
	sound Order // the last round
}

func (s *script) word(t *testing.T, word string) (out []string) {
	t.Helper()
	feed := func(ev Event) {
		var orders []Order
		s.m, orders = Step(s.m, ev)
		for _, o := range orders {
			out = append(out, show(o))
			if o.Do == Sound {
				s.sound = o
			}
		}
	}
	id := ID(word[len(word)-1] - '0')
	switch {
	case strings.HasPrefix(word, "ask"):
		feed(Asked{At: s.now, ID: id})
	case strings.HasPrefix(word, "withdraw"):
		feed(Withdrawn{s.now, id})
	case word == "press":
		feed(Answered{At: s.now})
	case word == "tap", word == "quiet":
		feed(Gestured{At: s.now, Pressed: word == "tap"})
	case word == "front", word == "behind":
		feed(Fronted{s.now, word == "front"})
	case word == "hush":
		feed(Hushed{s.now})
	case word == "calm", word == "loud":
		feed(Calmed{s.now, word == "calm"})
	case word == "sounded", word == "unheard":
		feed(Sounded{s.now, s.sound.ID, s.sound.Round, word == "sounded"})
	default:
		d, err := time.ParseDuration(word)
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

func show(o Order) string {
	switch o.Do {
	case End:
		return fmt.Sprintf("end %d %v", o.ID, o.How)
	default:
		return fmt.Sprintf("%v %d", o.Do, o.ID)
	}
}

func (s *script) run(t *testing.T, words string) (out []string) {
	t.Helper()
	for w := range strings.FieldsSeq(words) {
		out = append(out, s.word(t, w)...)
	}
	return out
}

func TestTable(t *testing.T) {
	situations := []struct{ name, way string }{
		{"none", "front"},
		{"behind", "ask1"},
		{"sounds", "ask1 front"},
		{"between rounds", "ask1 front 1s sounded"},
		{"behind again", "ask1 front 1s behind"},
		{"another waits", "ask1 front 1s sounded 1500ms ask2"},
		{"another has joined", "ask1 front 1s sounded 1500ms ask2 1s sounded 1500ms"},
		{"another soon", "ask1 front 1s ask2"},
		{"two ring", "ask1 ask2 front 1s sounded"},
		{"rests", "ask1 front 1s hush"},
		{"rings once more", "ask1 front 1s hush 1m"},
	}
	rows := []struct{ label, words string }{
		{"another is asked for", "ask3"},
		{"a person presses", "press"},
		{"it is hushed", "hush"},
		{"a tap when it is quiet", "tap"},
		{"a hush here when it is quiet", "quiet"},
		{"it is withdrawn", "withdraw1"},
		{"the other is withdrawn", "withdraw2"},
		{"something goes before it", "behind"},
		{"nothing goes before it", "front"},
		{"its round is over", "sounded"},
		{"a pause later", "1500ms"},
		{"a minute later", "1m"},
		{"5 minutes later", "5m"},
		{"5 minutes, and heard", "sounded 5m"},
	}
	lines := make([]string, 1+len(rows))
	column := func(head string, cell func(i int) string) {
		wide := 0
		for i := range lines {
			if i == 0 {
				lines[i] += head
			} else {
				lines[i] += cell(i - 1)
			}
			wide = max(wide, len(lines[i]))
		}
		for i := range lines {
			lines[i] += strings.Repeat(" ", wide+2-len(lines[i]))
		}
	}
	column("", func(i int) string { return rows[i].label })
	for _, situation := range situations {
		column(situation.name, func(i int) string {
			var s script
			s.run(t, situation.way)
			did := s.run(t, rows[i].words)
			if len(did) == 0 {
				return "."
			}
			return strings.NewReplacer("silence 1", "cut", "end ", "", "sound 1", "sound", "unanswered", "over").Replace(strings.Join(did, ", "))
		})
	}
	var table strings.Builder
	for _, line := range lines {
		table.WriteString("//\t" + strings.TrimRight(line, " ") + "\n")
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
	switch got := head + begin + "//\n" + table.String() + "//\n" + end + tail; {
	case got == string(doc):
	case *update:
		if err := os.WriteFile("doc.go", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table is not what Step does; go test ./coordinator/alert -update, and read the diff\n%s", table.String())
	}
}

// What is behind a call for an hour rings for its whole time afterwards.
func TestTimeThatCannotBeHeardDoesNotCount(t *testing.T) {
	var s script
	s.run(t, "ask1 front 1s sounded 119s behind 1h")
	if out := s.run(t, "front"); len(out) != 1 || out[0] != "sound 1" {
		t.Fatalf("after an hour behind a call: %v; want it to sound", out)
	}
	if out := s.run(t, "2m59s"); len(out) != 0 {
		t.Errorf("before its five minutes are over: %v", out)
	}
	if out := s.run(t, "1s"); len(out) != 2 || out[1] != "end 1 unanswered" {
		t.Errorf("after five minutes in which it could be heard: %v; want unanswered", out)
	}
}

// Two that are over together ring as one, and one press stops both; so it does once the second one has joined, and been heard.
func TestOnePressStopsAllThatRing(t *testing.T) {
	for way, want := range map[string]string{
		"ask1 ask2 front":                                        "end 1 stopped, silence 1, end 2 stopped",
		"ask1 ask2 front 1s sounded":                             "end 1 stopped, end 2 stopped",
		"ask1 ask2 front 1s sounded behind":                      "end 1 stopped, end 2 stopped",
		"ask1 front 1s ask2 1s sounded 1500ms 2s sounded 1500ms": "end 1 stopped, silence 1, end 2 stopped",
		"ask1 front 1s sounded 1500ms ask2 withdraw1":            "", // nobody knows of the second one
		"ask1 ask2": "", // or of any
		"ask1 front 1s sounded ask2 1500ms behind front withdraw1":         "silence 1, end 2 stopped",
		"ask1 front ask2 2m sounded 1500ms sounded ask3 1500ms 1s sounded": "end 1 stopped, end 2 stopped, end 3 stopped",
	} {
		var s script
		s.run(t, way)
		if got := strings.Join(s.run(t, "press press"), ", "); got != want {
			t.Errorf("%s: two presses: %s; want %s", way, got, want)
		}
		if s.m.Begun() {
			t.Errorf("%s: %v ring on", way, s.m.Ringing())
		}
	}
}

// What is due within one round of another rings as one with it, from a round of both on, and one press ends both.
func TestWhatIsDueWithinARoundRingsAsOne(t *testing.T) {
	for _, way := range []string{
		"ask1 front", "ask1 front 1s", "ask1 front 2s", "ask1 front 1s sounded", "ask1 front 1s sounded 1499ms", "ask1 front 1s hush 1m",
	} {
		var s script
		s.run(t, way)
		if want, got := "silence 1, sound 1", strings.Join(s.run(t, "ask2"), ", "); !strings.HasSuffix(want, got) || got == "" {
			t.Errorf("%s, and another: %q; want a round of both", way, got)
		}
		if got := s.m.Ringing(); !slices.Equal(got, []ID{1, 2}) {
			t.Errorf("%s, and another: %v ring; want both", way, got)
		}
		if got := strings.Join(s.run(t, "press"), ", "); got != "end 1 stopped, silence 1, end 2 stopped" || s.m != (Machine{}) {
			t.Errorf("%s, and another: a press: %s; want the end of both", way, got)
		}
	}
	// Beneath one that rings already: a press ends that alone, and the next one ends both.
	var s script
	s.run(t, "ask1 front 1s sounded 1500ms ask2 1s sounded 1500ms 500ms ask3")
	if got := strings.Join(s.run(t, "press 1500ms press"), ", "); got != "silence 1, end 1 stopped, sound 2, end 2 stopped, silence 2, end 3 stopped" {
		t.Errorf("two that join: %s", got)
	}
}

// A press answers what a person can know of: not what joins with the round that sounds. That rings by itself, softly, after a pause.
func TestAPressIsNoAnswerToOneThatWasNotHeard(t *testing.T) {
	for _, way := range []string{
		"ask1 front 1s sounded 1500ms ask2", "ask1 front 1s sounded 1500ms ask2 1s sounded", "ask1 front 1s sounded 1500ms ask2 1s sounded 1500ms 1s",
	} {
		var s script
		s.run(t, way)
		if got := strings.Join(s.run(t, "press press"), ", "); !strings.Contains(got, "end 1 stopped") || strings.Contains(got, "end 2") {
			t.Errorf("%s: two presses: %s; want the end of the first alone", way, got)
		}
		if got := s.run(t, "1499ms"); len(got) != 0 {
			t.Errorf("%s: before a pause is over: %v", way, got)
		}
		if got := strings.Join(s.run(t, "1ms press"), ", "); got != "sound 2, silence 2, end 2 stopped" || s.sound.Round != 1 {
			t.Errorf("%s: then, and at a press: %s, round %d; want the second one from its first round", way, got, s.sound.Round)
		}
		if s.m != (Machine{}) {
			t.Errorf("it does not come to rest: %+v", s.m)
		}
	}
}

// Each rings for its own time, whenever it has joined, and the round goes on for the others.
func TestEachRingsForItsOwnTime(t *testing.T) {
	var s script
	if got := strings.Join(s.run(t, "ask1 front 2s sounded 2m ask2 2m sounded"), ", "); got != "sound 1, sound 1" {
		t.Fatal(got)
	}
	if got := strings.Join(s.run(t, "1m 30s sounded 30s"), ", "); got != "sound 1, end 1 unanswered, sound 2" {
		t.Errorf("after five minutes: %s; want the end of the first, and the second one goes on", got)
	}
	if got := strings.Join(s.run(t, "5m"), ", "); got != "silence 2, end 2 unanswered" {
		t.Errorf("after five more: %s", got)
	}
}

// What is hushed from elsewhere rings once more, after a minute of quiet, and then no more.
func TestWhatIsHushedRingsOnceMore(t *testing.T) {
	for way, want := range map[string]string{
		"ask1 front 1s hush 59s":                                    "sound 1, silence 1",
		"ask1 front 1s hush behind 60s front":                       "sound 1, silence 1, sound 1",
		"ask1 front 1s hush 60s 1s hush 5m":                         "sound 1, silence 1, sound 1, silence 1, end 1 unheeded",
		"ask1 front 1s hush 60s 1s press":                           "sound 1, silence 1, sound 1, silence 1, end 1 stopped",
		"ask1 front 1s hush loud 10m calm 59s":                      "sound 1, silence 1",
		"ask1 front 1s hush loud 10m calm 60s":                      "sound 1, silence 1, sound 1",
		"ask1 front 1s hush 10s ask2":                               "sound 1, silence 1, sound 2",
		"ask1 front 1s hush 10s ask2 1s press 50s 1499ms":           "sound 1, silence 1, sound 2, silence 2, end 2 stopped, sound 1",
		"ask1 front 1s hush 10s press 49999ms":                      "sound 1, silence 1",
		"ask1 front 1s hush 2s tap 2m":                              "sound 1, silence 1, end 1 pressed",
		"ask1 front 1s hush 2001ms tap 1s":                          "sound 1, silence 1",
		"ask1 front 1s hush loud 1s tap calm 2m":                    "sound 1, silence 1, end 1 pressed",
		"ask1 front 1s hush 50s quiet 2m":                           "sound 1, silence 1, end 1 stopped",
		"ask1 front 1s hush 1s ask2 ask3 tap 50s":                   "sound 1, silence 1, end 1 pressed, sound 2",
		"ask1 front quiet tap 1s":                                   "sound 1",
		"ask1 front 1s hush withdraw1 2m":                           "sound 1, silence 1, end 1 withdrawn",
		"ask1 front 1s sounded hush 60s 2m sounded 1m59s":           "sound 1, sound 1, sound 1",
		"ask1 front 1s sounded hush 60s 2m sounded 1500ms 117500ms": "sound 1, sound 1, sound 1",
	} {
		var s script
		if got := strings.Join(s.run(t, way), ", "); got != want {
			t.Errorf("%s: %s; want %s", way, got, want)
		}
	}
}

func TestTheEndOfACutRoundIsNotThatOfTheNext(t *testing.T) {
	var s script
	s.run(t, "ask1 front behind front")
	if m, _ := Step(s.m, Sounded{s.now, 1, 1, true}); !m.plays {
		t.Error("the end of the first round ended the second")
	}
}

func TestOneTooManyHasFailed(t *testing.T) {
	var m Machine
	for i := range ID(Most) {
		m, _ = Step(m, Asked{ID: i + 1})
	}
	n, out := Step(m, Asked{ID: 99})
	if n != m || len(out) != 1 || out[0] != (Order{ID: 99, Do: End, How: Failed}) {
		t.Errorf("one too many: %v", out)
	}
	if n, out := Step(m, Asked{ID: 1}); n != m || out != nil {
		t.Errorf("one that waits already: %v", out)
	}
}

func TestRandomWalk(t *testing.T) {
	seed, runs := rand.Uint64(), uint64(5000)
	if s, err := strconv.ParseUint(os.Getenv("CONCH_SEED"), 10, 64); err == nil {
		seed, runs = s, 1
	}
	t.Logf("seed %d, %d lives", seed, runs)
	ends := map[How]int{}
	for i := range runs {
		live(t, seed+i, ends)
		if t.Failed() {
			t.Fatalf("this life has CONCH_SEED=%d", seed+i)
		}
	}
	for h := Stopped; h <= Unheeded; h++ {
		if ends[h] == 0 {
			t.Errorf("none ended as %v: too tame", h)
		}
	}
}

func live(t *testing.T, seed uint64, all map[How]int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var m Machine
	var now time.Duration
	var sounds Order // what sounds, or nothing
	front, calm, asked := false, true, ID(0)
	ended, heard, longest := map[ID]How{}, map[ID]time.Duration{}, map[ID]time.Duration{}
	feed := func(ev Event) {
		_, press := ev.(Answered)
		_, hush := ev.(Hushed)
		before := m.Ringing()
		var out []Order
		m, out = Step(m, ev)
		for _, o := range out {
			if _, over := ended[o.ID]; over && o.Do != Silence || o.ID == 0 || o.ID > asked {
				t.Fatalf("%v: %v, which does not live", now, show(o))
			}
			switch o.Do {
			case Sound:
				if !front || sounds.ID != 0 || o.ID != m.Ringing()[0] || len(m.Ringing())+m.Resting() != m.n {
					t.Fatalf("%v: %v, in front %t, while %v; %+v", now, show(o), front, show(sounds), m)
				}
				sounds = o
			case Silence:
				if sounds.ID != o.ID || sounds.Round != o.Round {
					t.Fatalf("%v: %v, while %v", now, show(o), show(sounds))
				}
				sounds = Order{}
			case End:
				if o.How == Unheeded && !hush || o.How == Stopped && !(press && slices.Contains(before, o.ID)) || o.How == Unanswered && heard[o.ID] != longest[o.ID] || heard[o.ID] > longest[o.ID] {
					t.Fatalf("%v: %v, heard for %v of %v", now, show(o), heard[o.ID], longest[o.ID])
				}
				ended[o.ID] = o.How
				all[o.How]++
			}
		}
		if sounds.ID != 0 && (!m.Rings() || len(m.Ringing()) == 0) {
			t.Fatalf("%v: it sounds, and nothing rings: %+v", now, m)
		}
		if press && (m.Begun() || len(before) > 0 && !slices.ContainsFunc(before, func(id ID) bool { _, over := ended[id]; return over })) {
			t.Fatalf("%v: a press on %v left %v", now, before, m.Ringing())
		}
	}
	wait := func(to time.Duration) {
		for {
			at, ok := m.Wake()
			if ok && at < now {
				t.Fatalf("%v: wants to be woken at %v", now, at)
			}
			next := to
			if ok && at < to {
				next = at
			}
			if m.Rings() {
				for _, id := range m.Ringing() {
					heard[id] += next - now
				}
			}
			if now = next; !ok || at > to {
				return
			}
			feed(Passed{at})
		}
	}
	for range 60 {
		switch rng.IntN(10) {
		case 0, 1:
			asked++
			longest[asked] = time.Duration(1+rng.IntN(20)) * time.Second
			feed(Asked{now, asked, longest[asked]})
		case 2:
			feed(Withdrawn{now, ID(rng.IntN(int(asked) + 2))})
		case 3:
			feed(Answered{At: now})
		case 4, 5:
			if m.Any() {
				front = !front
				feed(Fronted{now, front})
			}
		case 6:
			if was := sounds; was.ID != 0 {
				sounds = Order{}
				feed(Sounded{now, was.ID, was.Round, rng.IntN(4) > 0})
			}
		case 8:
			feed(Hushed{now})
		case 9:
			calm = !calm
			feed(Calmed{now, calm})
		case 7:
			wait(now + time.Duration(rng.IntN(9000))*time.Millisecond + Rest*time.Duration(rng.IntN(6)/5))
		}
		if !m.Any() && front {
			front = false
			feed(Fronted{now, false})
		}
	}
	for m.n > 0 {
		feed(Withdrawn{now, m.queue[0].id})
	}
	if len(ended) != int(asked) || m != (Machine{}) {
		t.Fatalf("%d asked for, %d ended; %+v", asked, len(ended), m)
	}
}
