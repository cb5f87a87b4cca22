package alert

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
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
	round int
}

func (s *script) word(t *testing.T, word string) (out []string) {
	t.Helper()
	feed := func(ev Event) {
		var orders []Order
		s.m, orders = Step(s.m, ev)
		for _, o := range orders {
			out = append(out, show(o))
			if o.Do == Sound {
				s.round = o.Round
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
		feed(Answered{s.now})
	case word == "front", word == "behind":
		feed(Fronted{s.now, word == "front"})
	case word == "sounded", word == "unheard":
		feed(Sounded{s.now, s.m.First(), s.round, word == "sounded"})
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
		{"with another", "ask1 front ask2"},
	}
	rows := []struct{ label, words string }{
		{"another is asked for", "ask3"},
		{"a person presses", "press"},
		{"it is withdrawn", "withdraw1"},
		{"the other is withdrawn", "withdraw2"},
		{"something goes before it", "behind"},
		{"nothing goes before it", "front"},
		{"its round is over", "sounded"},
		{"a pause later", "1500ms"},
		{"5 minutes later", "5m"},
		{"5 minutes, and heard", "sounded 5m"},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "//\t%-26s", "")
	for _, s := range situations {
		fmt.Fprintf(&table, "%-24s", s.name)
	}
	trim := func() { s := strings.TrimRight(table.String(), " "); table.Reset(); table.WriteString(s + "\n") }
	trim()
	for _, r := range rows {
		fmt.Fprintf(&table, "//\t%-26s", r.label)
		for _, situation := range situations {
			var s script
			s.run(t, situation.way)
			did := s.run(t, r.words)
			if len(did) == 0 {
				did = []string{"."}
			}
			cell := strings.NewReplacer("silence 1", "cut", "end 1 ", "", "sound 1", "sound").Replace(strings.Join(did, ", "))
			fmt.Fprintf(&table, "%-24s", cell)
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

// A press answers what a person can know of.
func TestAPressIsTheAnswerToOneThatWasHeard(t *testing.T) {
	var s script
	if out := s.run(t, "ask1 ask2 press"); len(out) != 0 {
		t.Errorf("before anything rang: %v", out)
	}
	s.run(t, "front 1s sounded")
	if out := s.run(t, "press press"); len(out) != 1 || out[0] != "end 1 stopped" {
		t.Errorf("two presses on the first of two: %v; want the end of the first alone", out)
	}
	if out := s.run(t, "1499ms"); len(out) != 0 {
		t.Errorf("the second one before a pause is over: %v", out)
	}
	if out := s.run(t, "1ms press"); len(out) != 3 || out[0] != "sound 2" || out[2] != "end 2 stopped" {
		t.Errorf("the second one: %v", out)
	}
	if s.m != (Machine{}) {
		t.Errorf("it does not come to rest: %+v", s.m)
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
	for h := Stopped; h <= Failed; h++ {
		if ends[h] == 0 {
			t.Errorf("none ended as %v: too tame", h)
		}
	}
}

func live(t *testing.T, seed uint64, all map[How]int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var m Machine
	var now time.Duration
	front, asked, sounds, round := false, ID(0), ID(0), 0
	ended, heard := map[ID]How{}, map[ID]time.Duration{}
	longest := map[ID]time.Duration{}
	rang := map[ID]bool{}
	feed := func(ev Event) {
		_, press := ev.(Answered)
		press = press && rang[m.First()]
		first := m.First()
		var out []Order
		m, out = Step(m, ev)
		for _, o := range out {
			if _, over := ended[o.ID]; over || o.ID == 0 || o.ID > asked {
				t.Fatalf("%v: %v, which does not live", now, show(o))
			}
			switch o.Do {
			case Sound:
				if !front || sounds != 0 || o.ID != m.First() {
					t.Fatalf("%v: %v, in front %t, while %d sounds", now, show(o), front, sounds)
				}
				sounds, round, rang[o.ID] = o.ID, o.Round, true
			case Silence:
				if sounds != o.ID {
					t.Fatalf("%v: %v, while %d sounds", now, show(o), sounds)
				}
				sounds = 0
			case End:
				if o.How == Stopped && !rang[o.ID] || o.How == Unanswered && heard[o.ID] != longest[o.ID] {
					t.Fatalf("%v: %v, heard for %v of %v", now, show(o), heard[o.ID], longest[o.ID])
				}
				if sounds == o.ID {
					t.Fatalf("%v: %v, and it sounds", now, show(o))
				}
				ended[o.ID] = o.How
				all[o.How]++
			}
		}
		if press && m.First() == first && first != 0 {
			t.Fatalf("%v: a press left %d", now, first)
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
				heard[m.First()] += next - now
			}
			if now = next; !ok || at > to {
				return
			}
			feed(Passed{at})
		}
	}
	for range 60 {
		switch rng.IntN(8) {
		case 0, 1:
			asked++
			longest[asked] = time.Duration(1+rng.IntN(20)) * time.Second
			feed(Asked{now, asked, longest[asked]})
			front = front && m.n > 0
		case 2:
			feed(Withdrawn{now, ID(rng.IntN(int(asked) + 2))})
		case 3:
			feed(Answered{now})
		case 4, 5:
			if m.n > 0 {
				front = !front
				feed(Fronted{now, front})
			}
		case 6:
			was := sounds
			if sounds = 0; was != 0 {
				feed(Sounded{now, was, round, rng.IntN(4) > 0})
			}
		case 7:
			wait(now + time.Duration(rng.IntN(9000))*time.Millisecond)
		}
		if m.n == 0 {
			front, sounds = false, 0
		}
		if sounds != 0 && sounds != m.First() {
			t.Fatalf("%v: %d sounds, and %d is the first", now, sounds, m.First())
		}
	}
	for m.n > 0 {
		feed(Withdrawn{now, m.First()})
	}
	if len(ended) != int(asked) || m != (Machine{}) {
		t.Fatalf("%d asked for, %d ended; %+v", asked, len(ended), m)
	}
}
