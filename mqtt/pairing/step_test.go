package pairing

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model checks what a window may never do, whatever happens to it in whatever order.
type model struct {
	s        WindowState
	now      time.Duration
	next     RunID
	live     map[RunID]Stage // runs that the window has not ended
	verdicts int             // confirmations that were answered with "wrong"
	rights   map[RunID]bool
	welcomes []RunID
	last     int
	paired   int
}

func (m *model) check(t *rapid.T, in WindowInput) {
	before := m.s
	s, effects := m.s.Step(in)
	m.s = s
	if m.last > 0 {
		for _, e := range effects {
			if no, ok := e.(Refuse); !ok || no.Why != WhyClosed {
				t.Fatalf("after its end the window did %#v", e)
			}
		}
	}
	for _, e := range effects {
		t.Logf("    %#v", e)
		switch e := e.(type) {
		case Check:
			if m.live[e.Run] != StageConfirm {
				t.Fatalf("a confirmation was checked at stage %d", m.live[e.Run])
			}
			m.live[e.Run] = StageChecking
		case Greet:
			m.live[e.Run] = StageShare
		case Answer:
			m.live[e.Run] = StageConfirm
		case Refuse:
			if e.Why == WhyWrong {
				m.verdicts++
			}
			delete(m.live, e.Run)
		case End:
			delete(m.live, e.Run)
		case Admit:
			if !m.rights[e.Run] || e.Left < 0 || e.Left > admitLength {
				t.Fatalf("%#v without a right confirmation", e)
			}
			m.live[e.Run] = StageAdmitting
		case Welcome:
			if !m.rights[e.Run] {
				t.Fatal("a welcome without a right confirmation")
			}
			m.live[e.Run] = StageStored
			m.welcomes = append(m.welcomes, e.Run)
		case Confirm:
			if !slices.Contains(m.welcomes, e.Run) {
				t.Fatal("a confirmation of one who was not welcomed")
			}
			m.live[e.Run] = StageConfirming
		case Tell:
			if e.Kind.Last() {
				m.last++
			}
			if e.Kind == EventPaired {
				m.paired++
			}
			if e.Kind == EventWrong && e.Left != MaxTries-m.verdicts {
				t.Fatalf("%d wrong codes, and %d are said to be left", m.verdicts, e.Left)
			}
		}
	}
	switch {
	case m.verdicts > MaxTries:
		t.Fatalf("%d guesses were answered", m.verdicts)
	case m.verdicts == MaxTries && s.Phase != PhaseOver:
		t.Fatal("three wrong codes, and the window is open")
	case len(m.welcomes) > 1:
		t.Fatalf("welcomes to %v", m.welcomes)
	case m.last > 1 || (m.last == 1) != (s.Phase == PhaseOver):
		t.Fatalf("%d last events in phase %d", m.last, s.Phase)
	case m.paired > 0 && len(m.welcomes) == 0:
		t.Fatal("paired without a welcome")
	case before.Phase == PhaseWelcomed && s.Phase < PhaseWelcomed:
		t.Fatal("open again after a welcome")
	case s.Phase == PhaseOpen && s.Now >= s.Expires():
		t.Fatal("open after its time")
	case s.Phase == PhaseOver && slices.ContainsFunc(s.Runs[:], func(r WindowRun) bool { return r.ID != 0 }):
		t.Fatal("runs in a closed window")
	}
	for _, r := range s.Runs {
		if r.ID == 0 {
			continue
		}
		if stage, ok := m.live[r.ID]; !ok || stage != r.Stage {
			t.Fatalf("run %d: stage %d; its effects say %d", r.ID, r.Stage, stage)
		}
		if (s.Phase == PhaseTaken || s.Phase == PhaseWelcomed) && r.ID != s.Winner {
			t.Fatalf("run %d goes on, and %d has the window", r.ID, s.Winner)
		}
		if r.waits() && s.Now-r.Began >= RunLength {
			t.Fatalf("run %d has lasted %v", r.ID, s.Now-r.Began)
		}
	}
	inside := 0
	for range m.live {
		inside++
	}
	if inside > MaxRuns {
		t.Fatalf("%d runs at once", inside)
	}
	if due, ok := s.Due(); ok && due <= s.Now {
		t.Fatalf("due at %v, and it is %v", due, s.Now)
	}
}

// TestAnyOrder: whatever comes in whatever order, a window answers at most three wrong codes, welcomes nobody without a right one,
// and at most one, and ends once.
func TestAnyOrder(t *testing.T) {
	kinds := []FrameKind{FrameHello, FrameShare, FrameConfirm, FrameWelcome, FrameStored, FrameRefused}
	inOrder := map[Stage]FrameKind{StageHello: FrameHello, StageShare: FrameShare, StageConfirm: FrameConfirm, StageStored: FrameStored}
	rapid.Check(t, func(t *rapid.T) {
		m := &model{live: map[RunID]Stage{}, rights: map[RunID]bool{}}
		m.s.Opened = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "opened"))
		m.now = m.s.Opened
		wrongOnly := rapid.Bool().Draw(t, "nobody knows the code")
		some := func() RunID { // a run, mostly one that is there
			ids := []RunID{0, m.next + 1}
			for id := range m.next {
				ids = append(ids, id+1)
			}
			for _, r := range m.s.Runs {
				if r.ID != 0 {
					ids = append(ids, r.ID, r.ID, r.ID)
				}
			}
			return rapid.SampledFrom(ids).Draw(t, "run")
		}
		stageOf := func(id RunID) Stage {
			for _, r := range m.s.Runs {
				if r.ID == id && id != 0 {
					return r.Stage
				}
			}
			return 0
		}
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			m.now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 50, 900, 1100, 4000, 6000, 20000, -3000}).Draw(t, "ms")) * time.Millisecond
			var in WindowInput
			switch rapid.IntRange(0, 15).Draw(t, "event") {
			case 0, 1, 2:
				m.next++
				m.live[m.next] = StageHello
				in = Began{m.now, m.next}
			case 3, 4, 5, 6, 7, 8:
				id := some()
				kind, ok := inOrder[stageOf(id)]
				if !ok || rapid.IntRange(0, 9).Draw(t, "disorder") == 0 {
					kind = rapid.SampledFrom(kinds).Draw(t, "kind")
				}
				in = Heard{m.now, id, kind}
			case 9, 10, 11:
				id := some()
				right := !wrongOnly && rapid.Bool().Draw(t, "right")
				if right && stageOf(id) == StageChecking {
					m.rights[id] = true
				}
				in = Checked{m.now, id, right}
			case 12:
				in = Admitted{m.now, some(), rapid.Bool().Draw(t, "admitted")}
			case 13:
				in = rapid.SampledFrom([]WindowInput{Confirmed{m.now, some()}, Gone{m.now, some()}, Garbled{m.now, some(), WhyProtocol}}).Draw(t, "end")
			case 14:
				in = Elapsed{m.now}
			case 15:
				if rapid.IntRange(0, 9).Draw(t, "shut") == 0 {
					in = Shut{m.now}
				} else {
					in = Admitted{m.now, m.s.Winner, true}
				}
			}
			t.Logf("%#v", in)
			m.check(t, in)
		}
		m.now += 10 * time.Minute
		m.check(t, Admitted{m.now, m.s.Winner, true}) // the driver owes these answers
		m.check(t, Confirmed{m.now, m.s.Winner})
		m.check(t, Elapsed{m.now})
		if m.s.Phase != PhaseOver {
			t.Fatalf("phase %d at the end of time", m.s.Phase)
		}
		if wrongOnly && len(m.welcomes) > 0 {
			t.Fatal("somebody was let in who did not know the code")
		}
	})
}

// TestJoinerAnyOrder: whatever a window does, a joiner keeps nothing before a right confirmation, says stored only after it has
// kept, and lets at most three of its confirmations fail.
func TestJoinerAnyOrder(t *testing.T) {
	kinds := []FrameKind{FrameHello, FrameShare, FrameConfirm, FrameWelcome, FrameStored, FrameRefused}
	inOrder := map[JoinerStage]FrameKind{JoinerHello: FrameHello, JoinerShare: FrameShare, JoinerWelcome: FrameWelcome}
	rapid.Check(t, func(t *rapid.T) {
		var s JoinerState
		var now time.Duration
		shown, right, kept, done := 0, false, false, 0
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			now += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 10, 1000, 6000, -1000}).Draw(t, "ms")) * time.Millisecond
			var in JoinerInput
			switch rapid.IntRange(0, 12).Draw(t, "event") {
			case 0, 1:
				in = Begin{now}
				if s.Stage == JoinerIdle {
					right, kept = false, false
				}
			case 2, 3, 4, 5, 6, 7:
				kind, ok := inOrder[s.Stage]
				if !ok || rapid.IntRange(0, 9).Draw(t, "disorder") == 0 {
					kind = rapid.SampledFrom(kinds).Draw(t, "kind")
				}
				in = Heard{At: now, Kind: kind}
			case 8, 9:
				ok := rapid.Bool().Draw(t, "right")
				right = right || ok && s.Stage == JoinerChecking
				in = Checked{At: now, Right: ok}
			case 10:
				ok := rapid.Bool().Draw(t, "kept")
				kept = kept || ok && s.Stage == JoinerKeeping
				in = Admitted{At: now, OK: ok}
			default:
				in = rapid.SampledFrom([]JoinerInput{Gone{At: now}, Elapsed{now}, Stop{now}, Garbled{At: now, Why: WhyProtocol}}).Draw(t, "other")
			}
			before := s
			var effects []JoinerEffect
			s, effects = s.Step(in, WhyClosed)
			t.Logf("%#v -> %#v", in, effects)
			for _, e := range effects {
				switch e := e.(type) {
				case SayConfirm:
					shown++
				case Keep:
					if !right {
						t.Fatal("kept from somebody who does not know the code")
					}
					shown-- // the other one knows the code: nothing was guessed
				case SayStored, Done:
					if !kept {
						t.Fatalf("%#v, and nothing is kept", e)
					}
					done++
				case Leave:
					if s.Stage != JoinerIdle || e.Over != (s.Failed >= MaxTries) {
						t.Fatalf("%#v in %#v", e, s)
					}
				}
			}
			if done > 0 {
				shown, done = 0, 0
			}
			if shown > MaxTries || s.Failed > MaxTries {
				t.Fatalf("%d confirmations shown, %d failed", shown, s.Failed)
			}
			if before.Failed >= MaxTries && s.Stage != JoinerIdle {
				t.Fatal("another run after the last try")
			}
			if due, ok := s.Due(); ok && (due <= s.Now || due-s.Began > RunLength) {
				t.Fatalf("due %v at %v", due, s.Now)
			}
		}
	})
}

// TestYield: the fifth joiner takes the place of a silent one; where all have just spoken, it hears that the window is busy.
func TestYield(t *testing.T) {
	var s WindowState
	do := func(in WindowInput) string {
		var effects []WindowEffect
		s, effects = s.Step(in)
		return fmt.Sprintf("%#v", effects)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for i := range MaxRuns {
		if got := do(Began{ms(10 * i), RunID(i + 1)}); got != "[]pairing.WindowEffect(nil)" {
			t.Fatal(got)
		}
	}
	for _, c := range []struct {
		in   WindowInput
		want string
	}{
		{Began{ms(900), 5}, `[]pairing.WindowEffect{pairing.Refuse{Run:0x5, Why:"busy"}}`},
		{Heard{ms(950), 1, FrameHello}, `[]pairing.WindowEffect{pairing.Greet{Run:0x1}}`},
		{Began{ms(1015), 6}, `[]pairing.WindowEffect{pairing.Refuse{Run:0x2, Why:"busy"}}`}, // 1 has spoken, 2 has been silent longest
		{Heard{ms(1016), 6, FrameHello}, `[]pairing.WindowEffect{pairing.Greet{Run:0x6}}`},
		{Heard{ms(1017), 2, FrameHello}, `[]pairing.WindowEffect(nil)`},
	} {
		if got := do(c.in); got != c.want {
			t.Errorf("%#v:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestFirstToConfirm: who confirms first has the window; the others hear that it is closed at once, not when it is over, and who comes
// then hears that it is busy, for the admission may fail.
func TestFirstToConfirm(t *testing.T) {
	var s WindowState
	var effects []WindowEffect
	for _, in := range []WindowInput{
		Began{0, 1}, Began{0, 2}, Began{0, 3}, Heard{0, 1, FrameHello}, Heard{0, 2, FrameHello},
		Heard{0, 2, FrameShare}, Heard{0, 2, FrameConfirm}, Checked{0, 2, true},
	} {
		s, effects = s.Step(in)
	}
	got := fmt.Sprintf("%v", effects)
	if want := fmt.Sprintf("%v", []WindowEffect{Refuse{1, WhyClosed}, Refuse{3, WhyClosed}, Tell{Run: 2, Kind: EventAdmitting}, Admit{2, admitLength}}); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if s, effects = s.Step(Began{0, 4}); fmt.Sprint(effects) != fmt.Sprint([]WindowEffect{Refuse{4, WhyBusy}}) {
		t.Errorf("while it admits: %v", effects)
	}
	if s, _ = s.Step(Admitted{0, 2, true}); s.Phase != PhaseWelcomed {
		t.Errorf("phase %d", s.Phase)
	}
	if _, effects = s.Step(Began{0, 5}); fmt.Sprint(effects) != fmt.Sprint([]WindowEffect{Refuse{5, WhyClosed}}) {
		t.Errorf("after the welcome: %v", effects)
	}
}
