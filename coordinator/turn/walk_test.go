package turn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every fact in every situation, followed by every fact again: nothing panics, nothing rests where it must not, and
// whatever waits has a deadline.
func TestExhaustiveWalk(t *testing.T) {
	n := 0
	for _, s := range situations {
		for _, first := range rows {
			for _, second := range rows {
				b := newBench(t, Config{Room: s.room}).run(s.lines...)
				w := newWatch(t, fmt.Sprintf("%s, %s, %s", s.name, first.label, second.label), b.m)
				w.now = b.now
				for i, r := range []string{first.fact, second.fact} {
					line := strings.ReplaceAll(r, "rN", [2]string{"r1", "r2"}[i])
					w.now += 50 * time.Millisecond
					ev, err := parseFact(line, w.now)
					if err != nil {
						t.Fatal(err)
					}
					w.feed(ev)
				}
				w.silence()
				n++
			}
		}
	}
	t.Logf("%d pairs of facts in %d situations", n, len(situations))
}

// TURNS.md 8, row 12: 10,000 random sequences. At most one live turn, nothing of an old one accepted, every start has
// one end, and the machine is in IDLE when events stop. A broken run prints its seed.
func TestRandomWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ends, streams, claims, silenced := map[Reason]int{}, 0, 0, 0
	opened, unopened, refused, stops, keeps, asks := 0, 0, 0, 0, 0, 0
	for run := range uint64(12000) {
		w := walk(t, rand.New(rand.NewPCG(seed, run)), fmt.Sprintf("seed %d run %d", seed, run), 80)
		for _, r := range w.ended {
			ends[r]++
		}
		streams, claims = streams+len(w.started)-len(w.isClaim), claims+len(w.isClaim)
		opened, unopened, refused = opened+w.opened, unopened+w.unopened, refused+w.refused
		stops, silenced = stops+w.stops, silenced+w.silenced
		keeps, asks = keeps+w.keeps, asks+w.asks
	}
	t.Logf("turns ended: %v; %d streams and %d claims started; %d turns held, %d of them never opened; %d granted too early", ends, streams, claims, opened, unopened, refused)
	if refused == 0 || opened == unopened || unopened == 0 {
		t.Errorf("%d turns held, %d never opened: too tame", opened, unopened)
	}
	if streams == 0 || claims == 0 || stops == 0 || silenced < 100 {
		t.Errorf("%d streams and %d claims started, %d alerts stopped, %d answers silenced: too tame", streams, claims, stops, silenced)
	}
	if t.Logf("%d questions kept, %d of them asked later", keeps, asks); keeps == asks || asks == 0 {
		t.Errorf("%d questions kept, %d of them asked: too tame", keeps, asks)
	}
	for r := Done; r <= Failed; r++ {
		if ends[r] == 0 {
			t.Errorf("no turn of the walk ended as %v: the walk is too tame to show anything", r)
		}
	}
}

func FuzzStep(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Add(uint64(1144544960872143637), uint64(8069)) // a floor that is granted eight turns late
	f.Add(uint64(807044409762596134), uint64(1095))  // words that waited for the end of a call
	f.Fuzz(func(t *testing.T, a, b uint64) {
		walk(t, rand.New(rand.NewPCG(a, b)), fmt.Sprintf("PCG(%d, %d)", a, b), 200)
	})
}

// walk is one random life in a world that answers orders: late, twice, never, or for somebody else.
func walk(t testing.TB, r *rand.Rand, name string, steps int) *watch {
	c := Config{Room: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		c.Keep = 20 * time.Second // else it is never over in a life that is so short
	}
	w := newWatch(t, name, New(filled(c)))
	w.r = r
	w.feed(SessionReady{})
	offline := r.IntN(4) == 0 // a life with a bad line, and little else
	for range steps {
		switch k := r.IntN(20); {
		case offline && k >= 12 && r.IntN(8) > 0:
			w.feed(w.badLine())
		case k < 12 && len(w.world) > 0:
			i := r.IntN(min(3, len(w.world)))
			ev := w.world[i]
			if r.IntN(12) > 0 { // else it comes again
				w.world = append(w.world[:i:i], w.world[i+1:]...)
			}
			w.feed(ev)
		case k < 14:
			w.now += time.Duration(r.IntN(3000)) * time.Millisecond
			if at, ok := w.m.Wake(); ok && (at <= w.now || r.IntN(8) == 0) {
				w.now = max(w.now, at)
				w.feed(DeadlinePassed{At: w.now})
			}
		case k < 15:
			if w.held == "" { // the card plays nothing that is held
				w.feed(SpeechHeard{At: w.now, Turn: w.m.Turn(), Samples: r.IntN(60000)})
			}
		default:
			w.feed(w.noise())
		}
		w.now += time.Duration(r.IntN(40)) * time.Millisecond
	}
	w.silence()
	return w
}

// watch holds a machine to its promises.
type watch struct {
	t    testing.TB
	name string
	r    *rand.Rand
	m    Machine
	now  time.Duration
	past []any // facts and orders, printed when a promise is broken

	world    []Event // what the world will answer
	turns    int
	things   int // responses, items, calls, handles
	live     ID
	ended    map[ID]Reason
	received map[ItemID]int
	given    map[Handle]bool // brought by a tool, once it was fed
	started  map[Handle]bool
	gone     map[Handle]bool // discarded
	stopped  map[Handle]bool
	isClaim  map[Handle]bool
	whose    map[ID]Who // as its turn began
	held     ID         // its speech was opened held and was not released yet
	waits    ID         // granted for later, before the fact
	granted  ID         // the last one
	stops    int        // alerts that a press has stopped
	refused  int        // grants that came too early and never began
	before   int        // heard before it was held
	unheard  ID         // an answer that was silenced, and is made to its end
	silenced int
	opened   int
	unopened int
	kept     ID // the question that is kept
	keeps    int
	asks     int // kept questions that were asked
	late     bool
}

func newWatch(t testing.TB, name string, m Machine) *watch {
	held := ID("")
	if m.Held() {
		held = m.Turn()
	}
	return &watch{
		t: t, name: name, m: m, live: m.Turn(), held: held, kept: m.kept.turn,
		whose: map[ID]Who{m.Turn(): m.Who()}, ended: map[ID]Reason{}, received: map[ItemID]int{}, given: map[Handle]bool{}, started: map[Handle]bool{},
		gone: map[Handle]bool{}, stopped: map[Handle]bool{}, isClaim: map[Handle]bool{},
	}
}

func (w *watch) broken(format string, args ...any) {
	w.t.Helper()
	var b strings.Builder
	for _, x := range w.past[max(0, len(w.past)-40):] {
		if _, ok := x.(Effect); ok {
			b.WriteString("    -> ")
		}
		b.WriteString(show(x) + "\n")
	}
	w.t.Fatalf("%s: %s at %v\nlast facts and orders:\n%s", w.name, fmt.Sprintf(format, args...), w.now, b.String())
}

func (w *watch) feed(ev Event) {
	w.t.Helper()
	before := w.m
	w.waits = before.next.turn
	if g, ok := ev.(FloorGranted); ok && w.waits != g.Turn && g.Turn != before.Turn() {
		w.granted = g.Turn
	}
	if g, ok := ev.(FloorGranted); ok {
		if _, known := w.whose[g.Turn]; !known {
			w.whose[g.Turn] = g.Who
		}
	}
	if i, ok := ev.(TurnInjected); ok && before.Silent() && !i.Kept {
		if _, known := w.whose[i.Turn]; !known {
			w.whose[i.Turn] = i.Who
		}
	}
	if d, ok := ev.(DeltaArrived); ok && d.Turn == w.m.Turn() {
		w.received[d.Item] += d.Samples // an upper limit: a stale one may be among them
	}
	var out []Effect
	w.m, out = Step(w.m, ev)
	if r, ok := ev.(ToolReturned); ok && r.Handle != 0 {
		w.given[r.Handle] = true
	}
	if r, ok := ev.(CallRings); ok {
		w.given[r.Handle] = true
	}
	if rings := w.m.ring != 0 && w.m.Silent() && w.m.calling == 0; w.m.rings != rings {
		w.broken("it rings %v, and should %v", w.m.rings, rings)
	}
	if w.unheard = ""; before.phase == writing {
		w.unheard = before.turn
	} else if w.m.phase == writing {
		w.silenced++
	}
	w.past = append(w.past, ev)
	for _, e := range out {
		w.past = append(w.past, e)
	}
	w.old(before, ev, out)
	w.answered(before, ev, out)
	w.keeping(before, ev, out)
	for _, e := range out {
		w.order(ev, e)
	}
	if id := w.m.Turn(); id != w.live {
		if w.live != "" {
			w.broken("%s is live and %s has not ended", id, w.live)
		}
		w.live = id
	}
	if _, over := w.ended[w.live]; over && w.live != "" {
		w.broken("%s lives on after its end", w.live)
	}
	switch w.m.State() {
	case ApplyingFactories, Interrupted:
		w.broken("the machine rests in %v", w.m.State())
	case Idle:
		if w.m != (Machine{ // a turn leaves nothing behind but this
			cfg: w.m.cfg, online: w.m.online, fatal: w.m.fatal, away: w.m.away,
			running: w.m.running, runningTurn: w.m.runningTurn,
			calling: w.m.calling, callingTurn: w.m.callingTurn, callingSince: w.m.callingSince, next: w.m.next, alert: w.m.alert, kept: w.m.kept,
			owed: map[bool]owed{true: w.m.owed}[w.m.calling != 0], // it waits for the end of the call
			ring: w.m.ring, ringTurn: w.m.ringTurn, rings: w.m.rings,
			orphans: w.m.orphans, orphaned: w.m.orphaned, over: w.m.over, wordsUntil: w.m.wordsUntil, empties: w.m.empties,
		}) {
			w.broken("IDLE remembers something of a turn: %+v", w.m)
		}
		if w.m.next.turn != "" && w.m.Quiet() {
			w.broken("%s waits although the device is quiet", w.m.next.turn)
		}
	default:
		if w.m.deadline == 0 && w.m.heldUntil == 0 {
			w.broken("%v has no deadline", w.m.State())
		}
	}
}

// old: a fact of a turn that is not live changes nothing, but for a tool that still owes its answer.
func (w *watch) old(before Machine, ev Event, out []Effect) {
	t, ok := turnOf(ev)
	if !ok || t == before.Turn() && t != "" {
		return
	}
	switch ev.(type) {
	case VoteLost, FloorOpened: // of a grant that waits
		if t != "" && t == before.next.turn {
			return
		}
	}
	if _, tool := ev.(ToolReturned); !tool && w.m != before {
		w.broken("%s of another turn moved the machine", show(ev))
	}
	for _, e := range out {
		switch e.(type) {
		case DropStale, SendToolOutput, DiscardHandle:
		default:
			w.broken("%s of another turn led to %s", show(ev), show(e))
		}
	}
}

// answered: a press on what rings stops it and opens no turn, unless it came too soon to be meant; whatever stops one, one had begun.
func (w *watch) answered(before Machine, ev Event, out []Effect) {
	stopped := slices.Contains(out, Effect(StopAlert{})) || slices.Contains(out, Effect(StopAlert{Pressed: true}))
	if stopped && !before.alert.begun || stopped && w.m.alert != (alert{}) {
		w.broken("%s stopped what did not ring, or rings on", show(ev))
	}
	p, ok := ev.(Pressed)
	if !ok || before.alert == (alert{}) {
		return
	}
	unheard := before.state == Idle || before.held || before.phase == writing
	meant := before.alert.rings && before.calling == 0 && !before.rings && p.At-before.alert.since >= before.cfg.Bounce && unheard
	if fresh := w.m != before; fresh && stopped != meant || stopped && w.m.state != Idle {
		w.broken("a press on %+v in %v, held %t, led to %v, stopped %t", before.alert, before.state, before.held, w.m.state, stopped)
	}
	if stopped {
		w.stops++
	}
}

// keeping: what a person said and nobody answered for want of a session is kept only where that is said; what is kept is asked once, with a
// session and on a quiet device, or let go: by a person, or aloud.
func (w *watch) keeping(before Machine, ev Event, out []Effect) {
	kept, said, offered := w.kept, false, ID("")
	for i, e := range out {
		switch e := e.(type) {
		case SayWords:
			if e.Then == WordsKept || e.Then == WordsKeptInstead {
				offered = e.Turn
			}
			said = said || e.Words == WordsKeptLate
		case KeepInput:
			if e.Turn == "" && kept == "" || before.online && e.Turn != "" {
				w.broken("%s: %q was kept, online %t", show(e), kept, before.online)
			}
			if kept = e.Turn; kept != "" {
				w.keeps++
			}
		case ClearInput:
			if e.Kept == "" {
				continue
			}
			if e.Kept != kept || !before.online || !before.Silent() || !before.kept.said || i+1 == len(out) || out[i+1] != (CommitInput{Turn: e.Turn}) {
				w.broken("%s: %q was kept, online %t", show(e), kept, before.online)
			}
			kept = ""
			w.asks++
		}
	}
	if offered != "" && offered != kept || kept != w.kept && kept != offered {
		w.broken("%q was offered to be kept, and is %q", offered, kept)
	}
	gone := w.kept != "" && kept == "" && w.m.late == 0
	switch ev.(type) {
	case Pressed, Asked, Hushed, Quieted, LetGo:
	default:
		if gone {
			w.late = true
		}
	}
	if w.late && said {
		w.late = false
	} else if w.late && w.m.owed.words != WordsKeptLate {
		if _, press := ev.(Pressed); !press && w.m.owed.words == "" && w.m.calling == 0 {
			w.broken("%s was kept, and is gone without a word", w.kept)
		}
		w.late = false // other words are owed, or a press wanted silence
	}
	if w.kept = kept; kept != w.m.kept.turn {
		w.broken("%q is kept, and %q should be", w.m.kept.turn, kept)
	}
}

// turnOf is the turn that a fact from outside belongs to.
func turnOf(ev Event) (ID, bool) {
	switch e := ev.(type) {
	case VoteLost:
		return e.Turn, true
	case FloorOpened:
		return e.Turn, true
	case CaptureStarted:
		return e.Turn, true
	case CaptureEnded:
		return e.Turn, true
	case CaptureLost:
		return e.Turn, true
	case InputCommitted:
		return e.Turn, true
	case InputRefused:
		return e.Turn, true
	case ResponseStarted:
		return e.Turn, true
	case DeltaArrived:
		return e.Turn, true
	case Spoken:
		return e.Turn, true
	case ToolCalled:
		return e.Turn, true
	case ToolReturned:
		return e.Turn, true
	case ResponseDone:
		return e.Turn, true
	case ResponseRefused:
		return e.Turn, true
	case SpeechHeard:
		return e.Turn, true
	case SoundQueued:
		return e.Turn, true
	case SpeechDrained:
		return e.Turn, true
	}
	return "", false
}

// order checks one order and lets the world answer it.
func (w *watch) order(ev Event, e Effect) {
	switch e := e.(type) {
	case Order:
		w.belongs(TurnOf(e), WhoOf(e), e)
	case CallTool:
		w.belongs(e.Turn, e.Who, e)
	case EndTurn:
		w.belongs(e.Turn, e.Summary.Who, e)
	}
	if w.held != "" {
		switch e := e.(type) {
		case PlayCue, SayWords, StartStream, StartClaim, CallTool, SetVolume, TruncateItem:
			w.broken("%s while %s is held", show(e), w.held)
		case EndTurn: // a turn that was granted and waits may end beside it, and was not heard at all
			before := w.before
			if e.Turn != w.held {
				before = 0
			}
			if e.Summary.Heard != before || e.Summary.Reason == Done || before == 0 && e.Summary.ToFirstAudio != 0 {
				w.broken("a held turn ended as %+v", e.Summary)
			}
		}
	}
	switch e := e.(type) {
	case PlayCue:
		w.silent(e.Turn, e)
	case CallTool:
		w.silent(e.Turn, e)
	case PlaySound:
		w.silent(e.Turn, e)
	case SetVolume:
		w.silent(e.Turn, e)
	case CreateResponse:
		w.silent(e.Turn, e)
	case OpenSpeech:
		w.silent(e.Turn, e)
	case EndTurn:
		if e.Turn == w.unheard && e.Summary.Reason != InterruptedByPress {
			w.broken("an answer that was silenced ended as %+v", e.Summary)
		}
	}
	switch e := e.(type) {
	case OpenSpeech:
		if e.Held {
			w.held, w.before = e.Turn, w.m.heard
			w.opened++
			if w.r != nil {
				w.later([]Event{FloorOpened{At: w.now, Turn: e.Turn}, VoteLost{At: w.now, Turn: e.Turn}}[w.r.IntN(2)])
			}
		}
	case ReleaseSpeech:
		if w.held != e.Turn {
			w.broken("%s, but %q is held", show(e), w.held)
		}
		w.held = ""
		w.later(SpeechDrained{At: w.now, Turn: e.Turn}) // does nothing before CloseSpeech
	case EndTurn:
		if e.Turn == w.held {
			w.held = ""
			w.unopened++
		}
		if _, twice := w.ended[e.Turn]; twice {
			w.broken("%s ended twice", e.Turn)
		}
		early := e.Turn != w.live && (e.Turn == w.waits || e.Turn == w.granted)
		if w.live != "" && e.Turn != w.live && !early {
			w.broken("%s ended while %s was live", e.Turn, w.live)
		}
		if s := e.Summary; s.Heard < 0 || s.Ended < s.Began || (s.Words == "") != (s.Reason != Failed && s.Reason != Expired) {
			w.broken("the summary %+v", s)
		}
		w.ended[e.Turn] = e.Summary.Reason
		if early {
			w.refused++
			return
		}
		w.live = ""
	case CreateResponse:
		w.later(w.answer(e.Turn)...)
		if w.m.cfg.Room && w.r != nil && w.r.IntN(3) == 0 {
			w.later(FloorGranted{At: w.now, Turn: e.Turn, Who: w.anybody()})
		}
	case OpenCapture:
		if w.m.cfg.Room && w.r != nil && w.r.IntN(4) == 0 { // alone in the room
			w.later(FloorGranted{At: w.now, Turn: e.Turn, Who: w.anybody(), Hold: w.r.IntN(2) == 0})
		}
		w.later(CaptureStarted{At: w.now, Turn: e.Turn}, Released{At: w.now + time.Second, Held: 24000})
	case EndCapture:
		w.later(CaptureEnded{At: w.now, Turn: e.Turn, Samples: 24000})
	case CommitInput:
		w.later(InputCommitted{At: w.now, Turn: e.Turn})
		if w.m.cfg.Room {
			w.later(FloorGranted{At: w.now, Turn: e.Turn, Who: w.anybody(), Hold: w.r != nil && w.r.IntN(2) == 0})
		}
	case AddText:
		if w.m.cfg.Room {
			w.later(FloorGranted{At: w.now, Turn: e.Turn, Who: w.anybody()})
		}
	case TruncateItem:
		if e.Heard <= 0 || w.r != nil && e.Heard > w.received[e.Item] {
			w.broken("%s of %d received", show(e), w.received[e.Item])
		}
	case CloseSpeech:
		if w.held != e.Turn {
			w.later(SpeechDrained{At: w.now, Turn: e.Turn})
		}
	case SayWords:
		w.later(WordsSaid{At: w.now})
	case PlaySound:
		w.start(e.Handle)
		w.later(SoundQueued{At: w.now, Turn: e.Turn, Samples: 2400})
	case CallTool:
		w.things++
		k := EffectNone
		if w.r != nil {
			k = EffectKind(w.r.IntN(6))
		}
		var h Handle
		if k == EffectAudioStream || k == EffectPlaySound || k == EffectInputClaim {
			h = Handle(w.things)
		}
		w.later(ToolReturned{At: w.now, Turn: e.Turn, Call: e.Call, Effect: k, Handle: h})
	case StartStream:
		w.start(e.Handle)
		w.later(StreamEnded{At: w.now, Handle: e.Handle, How: EndedHow(w.things % 4)})
	case StartClaim:
		w.start(e.Handle)
		w.isClaim[e.Handle] = true
		w.later(ClaimEnded{At: w.now, Handle: e.Handle, How: EndedHow(w.things % 3)})
	case StopStream:
		w.stop(e.Handle, false)
	case StopClaim:
		w.stop(e.Handle, true)
	case DiscardHandle:
		if _, late := ev.(ToolReturned); w.started[e.Handle] && !late {
			w.broken("handle %d was started and is discarded", e.Handle)
		}
		w.gone[e.Handle] = true
	}
}

// silent: nothing is to be heard of an answer that was silenced, and nothing is done for it.
func (w *watch) silent(t ID, e Effect) {
	if t != "" && t == w.unheard {
		w.broken("%s, and a press has silenced its answer", show(e))
	}
}

// belongs: whatever is ordered for a turn is for whom it was granted to, however late.
func (w *watch) belongs(t ID, who Who, e Effect) {
	if _, known := w.whose[t]; !known { // it began with a press or a question
		w.whose[t] = ""
	}
	if who != w.whose[t] {
		w.broken("%s, and its turn was begun for %q", show(e), w.whose[t])
	}
}

func (w *watch) start(h Handle) {
	if w.started[h] || w.gone[h] {
		w.broken("handle %d starts again, or after it was discarded", h)
	}
	w.started[h] = true
}

func (w *watch) stop(h Handle, claim bool) {
	if w.r != nil && !w.started[h] || w.stopped[h] || w.isClaim[h] != claim {
		w.broken("handle %d stops twice, or never started", h)
	}
	w.stopped[h] = true
	if claim {
		w.later(ClaimEnded{At: w.now, Handle: h, How: EndedStopped})
	} else {
		w.later(StreamEnded{At: w.now, Handle: h, How: EndedStopped})
	}
}

func (w *watch) later(evs ...Event) {
	if len(w.world) < 64 {
		w.world = append(w.world, evs...)
	}
}

// answer is a response of a few deltas and tools.
func (w *watch) answer(t ID) []Event {
	if w.r == nil {
		return nil
	}
	w.things++
	r, item := ResponseID(fmt.Sprint("r", w.things)), ItemID(fmt.Sprint("i", w.things))
	evs := []Event{ResponseStarted{At: w.now, Turn: t, Response: r}}
	for range w.r.IntN(3) {
		evs = append(evs, DeltaArrived{At: w.now, Turn: t, Response: r, Item: item, Samples: w.r.IntN(4) * 4800})
	}
	for range max(0, w.r.IntN(6)-3) {
		w.things++
		evs = append(evs, ToolCalled{At: w.now, Turn: t, Response: r, Call: CallID(fmt.Sprint("c", w.things))})
	}
	status := ResponseStatus(max(0, w.r.IntN(12)-8))
	var say Words
	if status == ResponseFailed && w.r.IntN(2) == 0 {
		say = WordsLostMidway
		evs = append(evs, SessionLost{At: w.now})
	}
	return append(evs, ResponseDone{At: w.now, Turn: t, Response: r, Status: status, Say: say})
}

func (w *watch) anybody() Who {
	if w.r == nil {
		return "ada"
	}
	return []Who{"", "ada", "ben"}[w.r.IntN(3)]
}

// noise is a fact out of the blue, mostly of an old turn.
func (w *watch) noise() Event {
	old := ID(fmt.Sprint("t-", max(0, w.turns-w.r.IntN(3))))
	fresh := func() ID { w.turns++; return ID(fmt.Sprint("t-", w.turns)) }
	rid := ResponseID(fmt.Sprint("r", max(0, w.things-w.r.IntN(6))))
	switch w.r.IntN(31) {
	case 29:
		if w.r.IntN(8) == 0 {
			return LetGo{At: w.now}
		}
		return SessionLost{At: w.now}
	case 30:
		return TurnInjected{At: w.now, Turn: fresh(), Kept: true}
	case 25, 26: // it can ring where nothing is before it, and that is looked at after the fact
		begun := w.r.IntN(3) > 0
		return AlertChanged{At: w.now, Begun: begun, Rings: begun && (w.m.state == Idle || w.m.held || w.m.phase == writing || w.r.IntN(8) == 0)}
	case 28:
		return CallGone{At: w.now, Handle: w.m.ring}
	case 27:
		w.things++
		return CallRings{At: w.now, Turn: fresh(), Handle: Handle(w.things)}
	case 24:
		return FloorOpened{At: w.now, Turn: old}
	case 0, 1, 2:
		return Pressed{At: w.now, Turn: fresh()}
	case 3:
		return Released{At: w.now, Held: w.r.IntN(5000), Button: Button(w.r.IntN(2)), Gone: w.r.IntN(4) == 0}
	case 4:
		return Asked{At: w.now, Turn: fresh(), Text: "?", Cause: CauseLine}
	case 5:
		if w.r.IntN(3) > 0 {
			return Quieted{At: w.now}
		}
		return Hushed{At: w.now, Room: w.r.IntN(2) == 0}
	case 6:
		return FloorGranted{At: w.now, Turn: fresh(), Who: w.anybody(), Hold: w.r.IntN(2) == 0}
	case 7:
		return VoteLost{At: w.now, Turn: old}
	case 8, 9:
		if w.r.IntN(8) == 0 {
			return Preempted{At: w.now}
		}
		return TurnInjected{At: w.now, Turn: fresh(), Prompt: "p", Who: w.anybody(), Hold: w.r.IntN(4) == 0}
	case 10:
		return CaptureLost{At: w.now, Turn: old}
	case 11:
		return CaptureEnded{At: w.now, Turn: old, Samples: w.r.IntN(48000)}
	case 12:
		return InputRefused{At: w.now, Turn: old}
	case 13:
		return DeltaArrived{At: w.now, Turn: old, Response: rid, Item: "late", Samples: 480}
	case 14:
		return ToolCalled{At: w.now, Turn: old, Response: rid, Call: "late"}
	case 15:
		return ToolReturned{At: w.now, Turn: old, Call: "late", Effect: EffectSetVolume, Volume: 300}
	case 16:
		return ResponseDone{At: w.now, Turn: old, Response: rid, Status: ResponseStatus(w.r.IntN(4)), Say: []Words{"", WordsLostMidway}[w.r.IntN(2)]}
	case 17:
		return ResponseRefused{At: w.now, Turn: old, Say: WordsQuota}
	case 18:
		return SoundQueued{At: w.now, Turn: old, Samples: 480}
	case 19:
		return SpeechDrained{At: w.now, Turn: old}
	case 20:
		return DeadlinePassed{At: w.now}
	case 21:
		return SessionReady{At: w.now}
	case 22:
		if w.r.IntN(3) > 0 {
			return SessionReady{At: w.now}
		}
		return SessionLost{At: w.now, Fatal: w.r.IntN(3) == 0}
	}
	return WordsSaid{At: w.now}
}

// badLine is a life in which sessions come and go, and questions with them.
func (w *watch) badLine() Event {
	w.turns++
	id := ID(fmt.Sprint("t-", w.turns))
	switch at, ok := w.m.Wake(); {
	case w.m.kept.turn != "" && !w.m.online && w.r.IntN(2) == 0:
		return SessionReady{At: w.now}
	case ok && w.r.IntN(2) == 0 && (w.m.kept.turn == "" || at < w.m.kept.until || w.r.IntN(4) == 0):
		w.now = max(w.now, at)
		return DeadlinePassed{At: w.now, Night: w.r.IntN(8) == 0}
	case w.m.online && w.m.kept.turn != "" && w.r.IntN(8) > 0:
		return TurnInjected{At: w.now, Turn: id, Kept: true}
	case w.m.online && w.r.IntN(2) == 0:
		return SessionLost{At: w.now, Fatal: w.r.IntN(16) == 0}
	case w.m.Silent() && w.m.kept.turn == "", w.r.IntN(20) == 0:
		return Pressed{At: w.now, Turn: id}
	}
	return SessionReady{At: w.now}
}

// passes: time does, until the machine waits for none.
func (w *watch) passes() {
	w.t.Helper()
	for range 200 {
		at, ok := w.m.Wake()
		if !ok {
			break
		}
		w.now = max(w.now, at)
		w.feed(DeadlinePassed{At: w.now})
	}
}

// silence: the world says nothing any more, but for the ends of calls, which only people limit; time passes.
func (w *watch) silence() {
	w.t.Helper()
	w.world = nil
	w.passes()
	if w.m.ring != 0 { // whoever calls gives up
		w.feed(CallGone{At: w.now, Handle: w.m.ring})
	}
	if w.m.calling != 0 { // whoever waited for its end has given up
		w.feed(ClaimEnded{At: w.now, Handle: w.m.calling})
	}
	w.passes() // what was owed for the end of the call is said now
	if w.granted != "" && w.r != nil {
		if _, over := w.ended[w.granted]; !over {
			w.broken("the granted turn %s never ended", w.granted)
		}
	}
	if w.kept != "" {
		w.broken("%s is kept for ever", w.kept)
	}
	if w.m.State() != Idle || !w.m.Quiet() || w.m.Turn() != "" {
		w.broken("when nothing happens any more the machine is in %v, quiet %v", w.m.State(), w.m.Quiet())
	}
	if _, ok := w.m.Wake(); ok {
		w.broken("an idle machine wants to be woken")
	}
	if w.live != "" {
		w.broken("%s never ended", w.live)
	}
	for h := range w.given {
		if !w.started[h] && !w.gone[h] {
			w.broken("handle %d was neither started nor discarded", h)
		}
	}
}

// BenchmarkStep is a whole spoken turn with a tool and a press; the figure to watch is ns/event.
func BenchmarkStep(b *testing.B) {
	w := newBench(b, Config{})
	lines := append(clone(toFollowing), "started t-1 r2")
	for range 50 {
		lines = append(lines, "delta t-1 r2 b 2400", "spoken t-1 r2 b word")
	}
	lines = append(lines, "heard t-1 48000", "press t-2", "hush")
	var evs []Event
	for _, l := range lines {
		if d, ok := strings.CutPrefix(l, "wait "); ok {
			p, _ := time.ParseDuration(d)
			w.now += p
			continue
		}
		ev, err := parseFact(l, w.now)
		if err != nil {
			b.Fatal(err)
		}
		evs = append(evs, ev)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := w.m
		for _, ev := range evs {
			m, _ = Step(m, ev)
		}
		if m.State() != Idle {
			b.Fatal(m.State())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(evs)), "ns/event")
}
