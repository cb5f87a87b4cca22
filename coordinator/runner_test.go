package coordinator

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// The machine's own tests list all orders; this one that each has somebody to carry it out.
func TestEveryOrderIsCarriedOut(t *testing.T) {
	orders := methodReceivers(t, "turn/effect.go", "effect")
	voice := methodReceivers(t, "turn/effect.go", "order")
	file, err := parser.ParseFile(token.NewFileSet(), "carryout.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				if s, ok := e.(*ast.SelectorExpr); ok {
					done = append(done, s.Sel.Name)
				}
			}
		}
		return true
	})
	if len(orders) < 20 || len(voice) < 5 {
		t.Fatalf("found only %d orders, %d of them to the voice: the parser looks in the wrong place", len(orders), len(voice))
	}
	for _, o := range orders {
		if !slices.Contains(done, o) && !slices.Contains(voice, o) {
			t.Errorf("carryOut has no case for turn.%s; the runner would panic", o)
		}
	}
}

// methodReceivers lists the types of a file that have the method.
func methodReceivers(t *testing.T, path, method string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == method && f.Recv != nil {
			if id, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// The coordinator knows nobody but the machines.
func TestTheCoordinatorImportsOnlyTheMachines(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := strings.Fields(string(out))
	if !slices.Contains(imports, "conch/coordinator/turn") {
		t.Fatalf("imports %q do not even have the machine: wrong package listed", imports)
	}
	for _, path := range imports {
		first, _, _ := strings.Cut(path, "/")
		machine := slices.Contains([]string{"conch/coordinator/turn", "conch/coordinator/alert", "conch/coordinator/focus", "conch/coordinator/inject"}, path)
		if !machine && (first == "conch" || strings.Contains(first, ".")) {
			t.Errorf("coordinator imports %s; it may import its machines (turn, alert, focus, inject) and the standard library only", path)
		}
	}
}

// A press cuts what sounds. What was heard to its end is over: a press behind it without speech is no hush, and has its cue.
func TestAPressBehindWhatWasHeardCutsNothing(t *testing.T) {
	for name, before := range map[string]func(g *rig){
		"nothing": func(*rig) {},
		"an answer": func(g *rig) {
			id := g.utter(time.Second)
			g.respond(id, "r1")
			g.speak(id, "r1", time.Second, 1)
			g.finish(id, "r1")
		},
		"words of the device": func(g *rig) {
			<-g.InjectAlert(func(context.Context) ([]int16, error) { return tone(500*time.Millisecond, wordsValue), nil }, "", time.Minute)
		},
		"a book": func(g *rig) { g.plays(newBook(time.Second).StreamFunc) },
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, func(_ *rig, o *Options) { o.LocalVoice = noVoice{} })
			before(g)
			time.Sleep(10 * time.Second)
			id := g.press()
			g.settle()
			g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
			time.Sleep(300 * time.Millisecond)
			g.Release(g.Now(), rate*3/10, button)
			g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: rate * 3 / 10, Empty: true})
			g.settle()
			if ends := g.ends(); ends[len(ends)-1] != string(id)+" empty" {
				t.Errorf("behind %s: %q; want the last to be empty", name, ends)
			}
		})
	}
}

func TestEachTurnHasOneLineWithItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := newRig(t, func(_ *rig, o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		id := g.utter(time.Second)
		time.Sleep(250 * time.Millisecond)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		time.Sleep(40 * time.Millisecond)
		g.press()
		time.Sleep(5 * time.Millisecond)
		g.Release(g.Now(), rate*5/1000, button) // the second turn ends before the card has told about the first
		g.settle()
		if got := g.ends(); len(got) != 0 {
			t.Errorf("lines %q before the card told when silence was heard", got)
		}
		time.Sleep(20 * time.Millisecond)
		g.settle()
		// That the figure is true is for a card's record to say: TestTheLineSaysWhenTheCardFellSilent, in device.
		figure := regexp.MustCompile(`press_to_silence_ms=[0-9.]+`)
		var lines []string
		for _, l := range strings.Split(log.String(), "\n") {
			if _, rest, ok := strings.Cut(l, "msg=turn.end "); ok {
				lines = append(lines, figure.ReplaceAllString(rest, "press_to_silence_ms=…"))
			}
		}
		wantEqual(t, "lines", lines, []string{
			"turn=t-1 reason=interrupted source=button cause=utterance listen_ms=1000 " +
				"commit_to_first_audio_ms=250 press_to_silence_ms=… heard_ms=40 tools=0 responses=0 interrupted_in=IN_RESPONSE duration_ms=1290",
			"turn=t-2 reason=silenced source=button cause=utterance listen_ms=5 commit_to_first_audio_ms=0 heard_ms=0 tools=0 responses=0 duration_ms=5",
		})
	})
}

func TestTheLineDoesNotWaitForADeadCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(g *rig, _ *Options) { g.speaker.latency = time.Hour })
		id := g.utter(time.Second)
		g.respond(id, "r1")
		g.speak(id, "r1", 300*time.Millisecond, 1)
		time.Sleep(40 * time.Millisecond)
		g.press()
		time.Sleep(silenceWait + silencePoll)
		g.settle()
		wantEqual(t, "ends", g.ends(), []string{"t-1 interrupted"})
		if p := g.records[0].PressToSilence; p != nil {
			t.Errorf("press_to_silence_ms = %v though the card never told", *p)
		}
	})
}

func TestStaleFactsMakeOneLineASecondWithTheirCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := newRig(t, func(_ *rig, o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		for range 10 {
			for range 100 {
				g.Post(turn.DeltaArrived{At: g.Now(), Turn: "t-old", Response: "r", Samples: 1})
			}
			time.Sleep(250 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		g.settle()
		var n, dropped int
		for _, l := range strings.Split(log.String(), "\n") {
			if strings.Contains(l, "msg=fact.stale") {
				n++
				_, count, _ := strings.Cut(l, "dropped=")
				k := 0
				for _, c := range count {
					k = k*10 + int(c-'0')
				}
				dropped += k
			}
		}
		if n < 2 || n > 4 || dropped != 1000 {
			t.Errorf("%d lines that count %d facts; want one a second for 1000 facts in 2.5 s\n%s", n, dropped, log.String())
		}
	})
}

func TestTheRecorderKeepsTheLastFactsAndOrders(t *testing.T) {
	r := NewRecorder(4)
	for i := range 10 {
		r.add(time.Duration(i)*time.Second, false, turn.Released{Held: i})
	}
	for range 1000 {
		r.add(20*time.Second, false, turn.DeltaArrived{Turn: "t-1", Response: "r1", Samples: 480})
	}
	r.add(21*time.Second, true, turn.AddText{Turn: "t-1", Text: strings.Repeat("é", 10_000)})
	var got []string
	for _, l := range r.Lines() {
		got = append(got, strings.Join(strings.Fields(l.String()), " "))
	}
	if len(got) != 4 || !strings.HasPrefix(got[0], "8.000 <- Released") || !strings.HasSuffix(got[2], "(x1000)") ||
		!strings.HasPrefix(got[3], "21.000 -> AddText") || len(got[3]) > 300 {
		t.Errorf("lines:\n%s", strings.Join(got, "\n"))
	}
	if n := len(NewRecorder(0).Lines()); n != 0 {
		t.Errorf("a recorder of none keeps %d", n)
	}
}

// BenchmarkCoordinator is what one fact costs on its way from Post to the end of its orders: deltas of a live response,
// the commonest fact there is.
func BenchmarkCoordinator(b *testing.B) {
	h := newBench(b)
	h.step(turn.SessionReady{At: 1})
	h.step(turn.Asked{At: 2, Turn: "t-1", Text: "what time is it"})
	h.step(turn.ResponseStarted{At: 3, Turn: "t-1", Response: "r1"})
	var delta turn.Event = turn.DeltaArrived{At: 4, Turn: "t-1", Response: "r1", Item: "i1"}
	b.ReportAllocs()
	for b.Loop() {
		h.c.Post(delta)
		for _, e := range h.inbox.take() {
			h.inbox.done(e)
			h.take(e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/event")
}

// BenchmarkTurn is a whole turn from press to its line, through a running coordinator: eight facts, fourteen orders, and
// the hops between three goroutines.
func BenchmarkTurn(b *testing.B) {
	ended := make(chan struct{}, 1)
	h := newBench(b, func(o *Options) { o.OnEnd = func(Record) { ended <- struct{}{} } })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.c.Run(ctx) }()
	c := h.c
	c.Post(turn.SessionReady{At: c.Now()})
	b.ReportAllocs()
	for b.Loop() {
		at := c.Now()
		id := c.Press(at, c.o.Speaker.Drop(), button)
		c.Post(turn.CaptureStarted{At: at, Turn: id})
		c.Release(at, rate, button)
		c.Post(turn.CaptureEnded{At: at, Turn: id, Samples: rate})
		c.Post(turn.ResponseStarted{At: at, Turn: id, Response: "r"})
		c.Post(turn.DeltaArrived{At: at, Turn: id, Response: "r", Item: "i", Samples: 480})
		c.Post(turn.ResponseDone{At: at, Turn: id, Response: "r"})
		<-ended // after SpeechDrained
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(8*b.N), "ns/event")
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func TestNoTwoTurnsHaveOneName(t *testing.T) {
	next, seen := newIDs(), map[turn.ID]bool{}
	for range 100_000 {
		id := next()
		if seen[id] || len(id) != 8 {
			t.Fatalf("the id %q comes twice, or is not t- and six digits", id)
		}
		seen[id] = true
	}
	if a, b := newIDs()(), newIDs()(); a == b {
		t.Errorf("two devices begin with the same id %q", a)
	}
}
