package coordinator

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/alert"
	"conch/coordinator/focus"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

var (
	walkSeed = flag.Uint64("seed", 0, "seed of TestTenThousandRandomSequences (0: a new one)")
	walkRuns = flag.Int("runs", 10_000, "sequences of TestTenThousandRandomSequences")
)

// TURNS.md 8.12, through the whole coordinator: random people, a random server, random tools, and a speaker that knows
// what was audible when. Each sequence has its own seed, which a failure prints.
func TestTenThousandRandomSequences(t *testing.T) { // row 12
	seed := *walkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d, %d sequences (repeat one with: go test -run %s -seed N -runs 1)", seed, *walkRuns, t.Name())
	for i := range uint64(*walkRuns) {
		synctest.Test(t, func(t *testing.T) { walk(t, seed+i) })
		if t.Failed() {
			t.FailNow()
		}
	}
}

// world is everything around the coordinator in one random sequence. Audio carries the number of its turn as value.
type world struct {
	*rig
	mu  sync.Mutex // of this world; the rig's journal has its own
	rng *rand.Rand

	held     map[turn.ID]time.Time // granted with hold; when it was opened, or zero
	spoke    map[turn.ID][]SpeechKind
	names    int
	number   map[turn.ID]int // in the order in which they may begin to be heard
	numbers  int
	edges    []walkEdge
	spoken   []audible // stretches in which somebody speaks into the microphone
	begun    []turn.ID // opened the microphone or asked for an answer
	started  int       // streams and claims that ran
	visitors int
	lent     int // microphones that claims have
	kept     int // claims that came to be
	ended    map[string]int
	outcomes []<-chan inject.Outcome
	alerts   []<-chan alert.How
}

type walkEdge struct {
	at    time.Time
	turns int // that must not be heard after it: all that had begun or might have
}

// n draws 0..max-1; safe for the goroutines of the world.
func (w *world) n(max int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(max)
}

func (w *world) wait(max time.Duration) { time.Sleep(time.Duration(w.n(int(max)))) }

func (w *world) valueOf(id turn.ID) int16 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int16(w.number[id])
}

// counted gives a turn the next number: an edge silences those that have one.
func (w *world) counted(id turn.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.numbers++
	w.number[id] = w.numbers
}

func walk(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			t.Logf("this sequence has -seed %d", seed)
		}
	}()
	var log bytes.Buffer
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), number: map[turn.ID]int{}, ended: map[string]int{}, held: map[turn.ID]time.Time{}, spoke: map[turn.ID][]SpeechKind{}}
	w.rig = newRig(t, func(g *rig, o *Options) {
		w.rig = g
		if seed%8 == 0 { // to write it takes as long as the sequence
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}
		g.voice.set(w.serve)
		o.Mic = walkMic{w}
		o.Alarm = func(context.Context, string, int) []int16 {
			w.wait(time.Second)
			return tone(time.Duration(w.n(3000))*time.Millisecond, alarmValue)
		}
		o.Tools = walkTools{w}
		o.OnSpeech = func(e SpeechEvent) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.spoke[e.Turn] = append(w.spoke[e.Turn], e.Kind)
		}
		o.InboxLimit = 1 + w.rng.IntN(20)
		o.NewID = func() turn.ID {
			w.mu.Lock()
			w.names++
			id := turn.ID(fmt.Sprintf("t-%d", w.names))
			w.mu.Unlock()
			w.counted(id)
			return id
		}
		o.OnInject = w.counted // it has its name since it was queued, and what was pressed meanwhile does not concern it
		o.OnKept = func(id turn.ID) bool { w.counted(id); return false }
	})
	for range 3 + w.n(15) {
		w.act()
		if w.n(3) > 0 {
			w.wait(3 * time.Second)
		}
	}
	w.Post(turn.SessionReady{At: w.Now()})
	w.quiet()
	time.Sleep(15 * time.Minute) // the ttl of an injection
	w.quiet()
	w.check()
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	whole(t, log.String())
}

func (w *world) act() {
	edge := func(press bool) uint64 {
		w.mu.Lock()
		e := walkEdge{at: time.Now()}
		if press { // a hush lets a recording go on, so that turn will rightly be heard
			e.turns = w.numbers
		}
		w.edges = append(w.edges, e)
		w.mu.Unlock()
		gen := w.speaker.Drop()
		if w.n(4) == 0 {
			w.wait(3 * time.Millisecond) // the scheduler was busy between edge and fact
		}
		return gen
	}
	live := turn.ID(fmt.Sprintf("t-%d", 1+w.n(8)))
	switch w.n(16) {
	case 15:
		w.visitor()
	case 14:
		done, stop := w.Ring("tea", time.Duration(1+w.n(60))*time.Second)
		w.alerts = append(w.alerts, done)
		if after := time.Duration(w.n(40000)) * time.Millisecond; w.n(4) == 0 {
			go func() { time.Sleep(after); stop() }()
		}
	case 12, 13: // made ready, then opened, taken back, or forgotten by the room
		id := w.o.NewID()
		w.mu.Lock()
		w.held[id] = time.Time{}
		w.mu.Unlock()
		w.began(id)
		w.Post(turn.FloorGranted{At: w.Now(), Turn: id, Hold: true, Prompt: "go"})
		what, after := w.n(3), time.Duration(w.n(4000))*time.Millisecond
		go func() {
			time.Sleep(after)
			switch what {
			case 0:
				w.mu.Lock()
				w.held[id] = time.Now()
				w.mu.Unlock()
				w.Post(turn.FloorOpened{At: w.Now(), Turn: id})
			case 1:
				w.Post(turn.VoteLost{At: w.Now(), Turn: id})
			}
		}()
	case 0, 1, 2, 3:
		w.Press(w.Now(), edge(true), button)
		w.wait(2 * time.Second)
		w.Release(w.Now(), w.n(2*rate), button)
	case 4:
		w.Press(w.Now(), edge(true), button)
	case 5:
		w.Release(w.Now(), w.n(2*rate), button)
	case 6:
		if gen := edge(false); w.n(2) == 0 {
			w.Hush(w.Now(), gen)
		} else {
			w.HushRoom(w.Now(), gen)
		}
	case 7:
		w.Ask("what time is it")
	case 8:
		w.outcomes = append(w.outcomes, w.Inject("tea", inject.Priority(w.n(3)), []string{"", "a", "b"}[w.n(3)], time.Duration(w.n(60))*time.Second))
	case 9:
		w.Post(turn.SessionLost{At: w.Now(), Fatal: w.n(5) == 0})
		w.wait(8 * time.Second)
		w.Post(turn.SessionReady{At: w.Now()})
	case 10:
		w.Post([]turn.Event{
			turn.VoteLost{At: w.Now(), Turn: live},
			turn.CaptureLost{At: w.Now(), Turn: live},
			turn.SpeechDrained{At: w.Now(), Turn: live},
			turn.StreamEnded{At: w.Now(), Handle: turn.Handle(w.n(4))},
			turn.ResponseDone{At: w.Now(), Turn: live, Response: "r-old"},
			turn.ToolReturned{At: w.Now(), Turn: live, Call: "c-old"},
			turn.ResponseRefused{At: w.Now(), Turn: live},
			turn.DeadlinePassed{At: w.Now()},
		}[w.n(8)])
	case 11:
		id := w.o.NewID()
		w.began(id) // whatever comes of it, it ends once
		w.Post(turn.FloorGranted{At: w.Now(), Turn: id, Prompt: "go"})
	}
}

// visitor calls, and gives up at some time, if nobody has answered or refused.
func (w *world) visitor() {
	w.mu.Lock()
	w.visitors++
	name := fmt.Sprintf("visitor %d", w.visitors)
	w.mu.Unlock()
	long, talks := time.Duration(w.n(40000))*time.Millisecond, w.n(10)
	withdraw, err := w.Offer(w.t.Context(), ClaimFunc{
		Run: func(_ context.Context, _ <-chan []int16, write func([]int16) error) error {
			w.mu.Lock()
			w.started++
			w.mu.Unlock()
			for range talks {
				if err := write(tone(500*time.Millisecond, claimValue)); err != nil {
					return err
				}
			}
			return nil
		},
		Ended: func(turn.EndedHow) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ended[name]++
		},
	})
	if err != nil {
		return
	}
	w.mu.Lock()
	if w.ended[name] == 0 {
		w.ended[name] = 0 // it rings: it ends once, answered or not
	}
	w.mu.Unlock()
	go func() { time.Sleep(long); withdraw() }()
}

// serve is a server that is late, forgetful, repetitive, and does not stop when it is told to.
func (w *world) serve(o turn.Order) {
	switch o := o.(type) {
	case turn.AddText:
		w.began(o.Turn)
	case turn.CommitInput:
		go func() {
			w.wait(500 * time.Millisecond)
			if w.n(8) == 0 {
				w.Post(turn.InputRefused{At: w.Now(), Turn: o.Turn})
			} else {
				w.Post(turn.InputCommitted{At: w.Now(), Turn: o.Turn, Item: "u"})
			}
		}()
	case turn.CreateResponse:
		w.began(o.Turn)
		go w.respondTo(o)
	}
}

func (w *world) respondTo(o turn.CreateResponse) {
	resp := turn.ResponseID(fmt.Sprintf("r-%s-%d", o.Turn, w.n(1_000_000)))
	w.wait(time.Second)
	switch w.n(20) {
	case 0:
		w.Post(turn.ResponseRefused{At: w.Now(), Turn: o.Turn, Say: turn.WordsQuota})
		return
	case 1:
		return // no answer
	}
	if w.n(5) > 0 {
		w.Post(turn.ResponseStarted{At: w.Now(), Turn: o.Turn, Response: resp})
	}
	for i := range w.n(5) {
		n := w.Audio(context.Background(), o.Turn, tone(time.Duration(w.n(1000))*time.Millisecond, w.valueOf(o.Turn)))
		w.Post(turn.DeltaArrived{At: w.Now(), Turn: o.Turn, Response: resp, Item: turn.ItemID(fmt.Sprint("i-", i/2)), Samples: n})
		w.wait(100 * time.Millisecond)
	}
	for i := range w.n(3) {
		call := turn.CallID(fmt.Sprint(resp, "-", i))
		w.Post(turn.ToolCalled{At: w.Now(), Turn: o.Turn, Response: resp, Call: call, Name: "any"})
	}
	for range w.n(3) { // never, once, twice
		w.Post(turn.ResponseDone{At: w.Now(), Turn: o.Turn, Response: resp, Status: turn.ResponseStatus(max(0, w.n(8)-4))})
	}
}

// listens notes when somebody speaks into the microphone.
func (w *world) listens(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.spoken); n > 0 && w.spoken[n-1].to.IsZero() {
		w.spoken[n-1].to = time.Now()
	}
	if on {
		w.spoken = append(w.spoken, audible{from: time.Now()})
	}
}

func (w *world) began(id turn.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, id)
}

type walkMic struct{ w *world }

func (m walkMic) Open(id turn.ID, _ time.Duration) {
	m.w.began(id)
	m.w.listens(true)
	if m.w.n(10) > 0 { // else: a dead microphone
		go func() { m.w.Post(turn.CaptureStarted{At: m.w.Now(), Turn: id}) }()
	}
}
func (m walkMic) End(id turn.ID, _, tail time.Duration) {
	m.w.listens(false)
	if m.w.n(10) > 0 {
		go func() {
			time.Sleep(tail)
			m.w.Post(turn.CaptureEnded{At: m.w.Now(), Turn: id, Samples: 1000 + m.w.n(2*rate)})
		}()
	}
}
func (m walkMic) Discard(turn.ID) { m.w.listens(false) }
func (m walkMic) Lend(func([]int16)) func() {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.w.lent++
	return sync.OnceFunc(func() {
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		m.w.lent--
	})
}

const (
	claimValue   = -9 // a call outlives its turn, and a bounce (TURNS.md 4)
	contentValue = -8 // content outlives every turn, and comes back
)

type walkTools struct{ w *world }

func (walkTools) Specs() []turn.ToolSpec { return nil }

func (t walkTools) Call(ctx context.Context, c turn.CallTool) ToolResult {
	w := t.w
	value := w.valueOf(c.Turn)
	produce := func(_ context.Context, write func([]int16) error) error {
		w.mu.Lock()
		w.started++
		w.mu.Unlock()
		for range w.n(20) {
			if err := write(tone(500*time.Millisecond, value)); err != nil {
				w.wait(time.Second) // cleaning up
				return err
			}
		}
		switch w.n(6) {
		case 0:
			panic("a crash")
		case 1:
			return errors.New("disk gone")
		}
		return nil
	}
	switch w.n(3) {
	case 0:
		w.wait(3 * time.Second)
	case 1:
		if w.n(6) == 0 {
			time.Sleep(12 * time.Second) // ignores its deadline
		}
	}
	w.mu.Lock()
	w.kept++
	name := fmt.Sprintf("effect %d of %s", w.kept, c.Turn)
	w.mu.Unlock()
	count := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended[name]++
	}
	switch w.n(8) {
	case 0, 1:
		value = contentValue
		nones := 0
		return ToolResult{Effect: turn.EffectAudioStream, Stream: StreamFunc{
			Focus: func(l focus.Level) {
				if nones > 0 {
					w.t.Errorf("%s is %v after its end", name, l)
				} else if l == 0 {
					nones++
				}
			},
			Key: []string{"", "moby"}[w.n(2)], Live: w.n(3) == 0, Pauses: w.n(2) == 0, Patience: time.Duration(w.n(3)*10) * time.Second,
			Run: produce, Ended: func(turn.EndedHow, int) {
				if count(); nones != 1 {
					w.t.Errorf("%s has ended, and was told so %d times", name, nones)
				}
			},
		}}
	case 2:
		w.mu.Lock()
		w.ended[name] = 0 // a claim that exists ends once, started or not
		w.mu.Unlock()
		value = claimValue
		return ToolResult{Effect: turn.EffectInputClaim, Claim: ClaimFunc{Run: func(ctx context.Context, _ <-chan []int16, write func([]int16) error) error {
			return produce(ctx, write)
		}, Ended: func(turn.EndedHow) { count() }}}
	case 3:
		return ToolResult{Effect: turn.EffectPlaySound, Sound: tone(500*time.Millisecond, value)}
	case 4:
		return ToolResult{Effect: turn.EffectCancelMedia}
	case 5:
		return ToolResult{Effect: turn.EffectSetVolume, Volume: w.n(150)}
	case 6:
		panic("a crash")
	}
	w.GoOn(ctx)
	return ToolResult{Output: "done"}
}

// check asks the invariants of TURNS.md 8.12 of what was recorded.
func (w *world) check() {
	t := w.t
	seen := map[turn.ID]bool{}
	for _, r := range w.records {
		if seen[r.Turn] {
			t.Errorf("turn %s ended twice", r.Turn)
		}
		seen[r.Turn] = true
	}
	begun := map[turn.ID]bool{}
	for _, id := range w.begun {
		begun[id] = true
	}
	for id := range begun {
		if !seen[id] {
			t.Errorf("turn %s began and never ended; ends %q", id, w.ends())
		}
	}
	byNumber := map[int16]turn.ID{}
	for id, n := range w.number {
		byNumber[int16(n)] = id
	}
	for id, kinds := range w.spoke {
		if len(kinds) > 2 || kinds[0] != SpeechBegan || len(kinds) == 2 && kinds[1] != SpeechKnown {
			t.Errorf("of the speech of %s was said %v", id, kinds)
		}
	}
	for _, r := range w.records {
		if n := len(w.spoke[r.Turn]); r.Reason == "done" && r.Audible && n != 2 || r.Audible != (n > 0) {
			t.Errorf("of the speech of %s was said %v; record %+v", r.Turn, w.spoke[r.Turn], r)
		}
	}
	for _, p := range w.speaker.played() {
		id := byNumber[p.value]
		if opened, held := w.held[id]; held && (opened.IsZero() || p.from.Before(opened)) {
			t.Errorf("%s was heard %v..%v, held, opened at %v", id, p.from.Sub(w.start), p.to.Sub(w.start), opened.Sub(w.start))
		}
		for _, s := range w.spoken {
			if (p.kind == SourceContent || p.value == alarmValue) && p.to.After(s.from) && (s.to.IsZero() || p.from.Before(s.to)) {
				t.Errorf("content or an alert was heard %v..%v, while somebody spoke %v..%v", p.from.Sub(w.start), p.to.Sub(w.start), s.from.Sub(w.start), s.to.Sub(w.start))
			}
		}
		for _, e := range w.edges {
			if p.from.Before(e.at) && p.to.After(e.at) {
				t.Errorf("%d was heard %v..%v, through the edge at %v", p.value, p.from.Sub(w.start), p.to.Sub(w.start), e.at.Sub(w.start))
			}
			if p.value > 0 && int(p.value) <= e.turns && !p.from.Before(e.at) {
				t.Errorf("turn %d was heard %v..%v, after the edge at %v", p.value, p.from.Sub(w.start), p.to.Sub(w.start), e.at.Sub(w.start))
			}
		}
	}
	w.mu.Lock()
	ends := 0
	for name, n := range w.ended {
		if n != 1 {
			t.Errorf("%s ended %d times", name, n)
		}
		ends += n
	}
	if w.lent != 0 {
		t.Errorf("%d claims have the microphone in the end", w.lent)
	}
	if ends < w.started {
		t.Errorf("%d streams and claims started, %d ended", w.started, ends)
	}
	w.mu.Unlock()
	for i, o := range w.outcomes {
		wantOutcomes := len(o)
		if wantOutcomes != 1 {
			t.Errorf("injection %d has %d outcomes; want 1", i, wantOutcomes)
		}
	}
	for i, done := range w.alerts {
		if n := len(done); n != 1 {
			t.Errorf("alert %d has %d ends; want 1", i, n)
		}
	}
	if n := w.inbox.refused.Load(); n != 0 {
		t.Errorf("%d facts refused", n)
	}
	if s := w.speaker; slices.ContainsFunc(s.sources, func(c *fakeSource) bool { return !c.over && c.closed }) {
		t.Error("a source was closed and never drained")
	}
}
