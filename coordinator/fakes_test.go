package coordinator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

// The fakes record the order of calls in one journal; that order is what most tests assert. Time is the bubble's.

type journal struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (j *journal) add(format string, a ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, a...))
}

// take returns the lines since the last take.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.lines
	j.lines = nil
	return l
}

func (j *journal) has(line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.lines, line)
}

// fakeSpeaker plays each source at 24 kHz of the bubble's clock from a buffer of 400 ms, and notes what was audible when.
type fakeSpeaker struct {
	j       *journal
	latency time.Duration // from Drop to the last audible sample

	mu      sync.Mutex
	gen     uint64
	dead    bool // the card plays nothing
	full    bool // it has no place for content
	sources []*fakeSource
	cues    []*fakeCue
}

// audible is a stretch of one value; tests let the value tell the turn.
type audible struct {
	from, to time.Time
	value    int16
	kind     SourceKind
}

const fakeBuffer = rate * 400 / 1000

type fakeSource struct {
	sp      *fakeSpeaker
	kind    SourceKind
	gen     uint64
	drained chan struct{}

	// guarded by sp.mu
	over    bool
	held    bool
	closed  bool
	dropped bool
	silent  time.Time // when a drop will have been heard
	written int
	heard   int
	last    time.Time // when heard was brought up to date
	pieces  []piece
	played  []audible
}

type piece struct {
	value int16
	left  int
}

func (s *fakeSpeaker) Drop() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.gen++
	for _, src := range s.sources {
		if src.over {
			continue
		}
		src.advance(now)
		if src.over {
			continue
		}
		src.dropped = true
		if src.heard > 0 {
			src.silent = now.Add(s.latency)
		}
		src.finish()
	}
	for _, q := range s.cues {
		if now.Before(q.ends) {
			q.ends = now.Add(s.latency)
		}
	}
	s.cues = nil
	s.j.add("drop %d", s.gen)
	return s.gen
}

func (s *fakeSpeaker) Open(kind SourceKind, gen uint64) Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := &fakeSource{sp: s, kind: kind, gen: gen, drained: make(chan struct{}), last: time.Now()}
	s.sources = append(s.sources, src)
	name := [...]string{"speech", "content", "words", "call"}[kind]
	if gen != s.gen || s.full && kind == SourceContent {
		src.dropped = true
		src.finish()
		s.j.add("open %s dead", name)
	} else {
		s.j.add("open %s", name)
	}
	return src
}

func (s *fakeSpeaker) Cue(c turn.Cue, gen uint64) Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gen != s.gen {
		s.j.add("cue %v dead", c)
		return nil
	}
	s.j.add("cue %v", c)
	q := &fakeCue{fakeSource: fakeSource{drained: make(chan struct{})}, sp: s, began: time.Now()}
	q.ends = q.began.Add(cueLength)
	s.cues = append(s.cues, q)
	return q
}

// fakeCue sounds for cueLength, or until it is dropped.
type fakeCue struct {
	fakeSource
	sp          *fakeSpeaker
	began, ends time.Time // guarded by sp.mu
}

const cueLength = 100 * time.Millisecond

func (q *fakeCue) Heard() int {
	q.sp.mu.Lock()
	defer q.sp.mu.Unlock()
	end := q.ends
	if now := time.Now(); now.Before(end) {
		end = now
	}
	return int(end.Sub(q.began) * rate / time.Second)
}

func (q *fakeCue) Silenced() (time.Duration, bool) {
	q.sp.mu.Lock()
	defer q.sp.mu.Unlock()
	return q.ends.Sub(q.sp.j.start), !time.Now().Before(q.ends)
}

func (s *fakeSpeaker) StopCue(c turn.Cue) { s.j.add("stop %v", c) }
func (s *fakeSpeaker) SetVolume(p int)    { s.j.add("volume %d", p) }

// played is everything that was audible, up to now.
func (s *fakeSpeaker) played() []audible {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []audible
	for _, src := range s.sources {
		src.advance(time.Now())
		all = append(all, src.played...)
	}
	return all
}

// advance plays what time allows. Caller holds sp.mu.
func (s *fakeSource) advance(now time.Time) {
	if s.over {
		return
	}
	if s.held || s.sp.dead {
		s.last = now
		if s.closed && s.written == 0 {
			s.finish()
		}
		return
	}
	n := min(int(now.Sub(s.last)*rate/time.Second), s.written-s.heard)
	at := s.last
	if s.written == s.heard {
		s.last = now
	}
	for n > 0 {
		p := &s.pieces[0]
		k := min(n, p.left)
		to := at.Add(samples(k))
		if l := len(s.played); l > 0 && s.played[l-1].value == p.value && s.played[l-1].to.Equal(at) {
			s.played[l-1].to = to
		} else {
			s.played = append(s.played, audible{at, to, p.value, s.kind})
		}
		at, n, s.heard, s.last = to, n-k, s.heard+k, to
		if p.left -= k; p.left == 0 {
			s.pieces = s.pieces[1:]
		}
	}
	if s.heard == s.written {
		s.last = now
		if s.closed {
			s.finish()
		}
	}
}

// finish ends a source. Caller holds sp.mu.
func (s *fakeSource) finish() {
	if !s.over {
		s.over = true
		close(s.drained)
	}
}

func (s *fakeSource) Write(ctx context.Context, pcm []int16) int {
	n := 0
	for {
		s.sp.mu.Lock()
		s.advance(time.Now())
		if s.over || s.closed || ctx.Err() != nil {
			s.sp.mu.Unlock()
			return n
		}
		if k := min(len(pcm)-n, fakeBuffer-(s.written-s.heard)); k > 0 {
			for i, v := range pcm[n : n+k] {
				if last := len(s.pieces) - 1; i > 0 && s.pieces[last].value == v {
					s.pieces[last].left++
				} else {
					s.pieces = append(s.pieces, piece{v, 1})
				}
			}
			s.written += k
			n += k
		}
		s.sp.mu.Unlock()
		if n == len(pcm) {
			return n
		}
		t := time.NewTimer(10 * time.Millisecond)
		select {
		case <-t.C:
		case <-s.drained:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

func (s *fakeSource) Close() {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.advance(time.Now())
	s.wakeWhenOver()
}

// wakeWhenOver ends a closed source when its last sample has been played. Caller holds sp.mu.
func (s *fakeSource) wakeWhenOver() {
	if s.closed && !s.over && !s.held {
		left := s.written - s.heard
		time.AfterFunc(samples(left)+time.Microsecond, func() {
			s.sp.mu.Lock()
			defer s.sp.mu.Unlock()
			s.advance(time.Now())
		})
	}
}

func (s *fakeSource) Hold() {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.held = true
	s.sp.j.add("hold")
}

func (s *fakeSource) Live() {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.sp.j.add("live")
}

func (s *fakeSource) Duck(on bool) {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.sp.j.add("duck %v", on)
}

func (s *fakeSource) Release() {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.advance(time.Now())
	s.held = false
	s.sp.j.add("release")
	s.wakeWhenOver()
}

func (s *fakeSource) Cut() {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.advance(time.Now())
	if !s.over {
		s.dropped = true
		s.finish()
		s.sp.j.add("cut")
	}
}

// Holes: it has none, since it is asked for what there is.
func (s *fakeSource) Holes() int { return 0 }

func (s *fakeSource) Heard() int {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.advance(time.Now())
	return s.heard
}

func (s *fakeSource) Drained() <-chan struct{} { return s.drained }

func (s *fakeSource) Silenced() (time.Duration, bool) {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	if !s.dropped || s.silent.IsZero() || time.Now().Before(s.silent) {
		return 0, false
	}
	return s.silent.Sub(s.sp.j.start), true
}

// fakeVoice journals orders; on, if set, answers them from a goroutine of its own.
type fakeVoice struct {
	j     *journal
	specs []turn.ToolSpec

	mu sync.Mutex
	on func(turn.Order) // called on the runner's goroutine
}

// set changes what the voice does with orders, also while the runner runs.
func (v *fakeVoice) set(on func(turn.Order)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.on = on
}

func (v *fakeVoice) Do(o turn.Order) {
	v.j.add("%s", orderLine(o))
	v.mu.Lock()
	on := v.on
	v.mu.Unlock()
	if on != nil {
		on(o)
	}
}
func (v *fakeVoice) Tools(s []turn.ToolSpec) { v.specs = s }

func orderLine(o turn.Order) string {
	switch o := o.(type) {
	case turn.TruncateItem:
		return fmt.Sprintf("truncate %s at %dms", o.Item, o.Heard*1000/rate)
	case turn.DeleteItem:
		return "delete " + string(o.Item)
	case turn.SendToolOutput:
		return fmt.Sprintf("output %s %q", o.Call, o.Output)
	case turn.CancelResponse:
		return "cancel " + string(o.Response)
	}
	return map[string]string{
		"ClearInput": "clear", "CommitInput": "commit", "AddText": "text", "CreateResponse": "respond",
	}[nameOf(o)]
}

type fakeMic struct{ j *journal }

func (m fakeMic) Open(id turn.ID, _ time.Duration)          { m.j.add("mic open") }
func (m fakeMic) End(turn.ID, time.Duration, time.Duration) { m.j.add("mic end") }
func (m fakeMic) Discard(id turn.ID)                        { m.j.add("mic discard") }

// Lend captures, from the beginning: frames of 1, 2, 3, …
func (m fakeMic) Lend(sink func([]int16)) func() {
	m.j.add("mic lent")
	gone := make(chan struct{})
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := int16(1); ; n++ {
			select {
			case <-tick.C:
				sink(tone(10*time.Millisecond, n))
			case <-gone:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(gone); m.j.add("mic back") })
}

type fakeTools map[string]func(ctx context.Context, args string) ToolResult

func (t fakeTools) Specs() []turn.ToolSpec {
	var s []turn.ToolSpec
	for name := range t {
		s = append(s, turn.ToolSpec{Name: name})
	}
	return s
}
func (t fakeTools) Call(ctx context.Context, c turn.CallTool) ToolResult {
	if f := t[c.Name]; f != nil {
		return f(ctx, c.Args)
	}
	return ToolResult{Output: "no such tool"}
}

type fakeLight struct{ j *journal }

func (l fakeLight) Show(s turn.State, _ string) { l.j.add("light %v", s) }

// fakePhrases says everything in 300 ms; the value tells that it is local words.
type fakePhrases struct{ j *journal }

const wordsValue = -7

func (p fakePhrases) Phrase(w turn.Words) []int16 {
	p.j.add("words %s", w)
	return tone(300*time.Millisecond, wordsValue)
}

func tone(d time.Duration, value int16) []int16 {
	pcm := make([]int16, int(d*rate/time.Second))
	for i := range pcm {
		pcm[i] = value
	}
	return pcm
}

// rig is a coordinator in a bubble with its fakes.
type rig struct {
	t *testing.T
	*journal
	*Coordinator
	speaker *fakeSpeaker
	voice   *fakeVoice
	tools   fakeTools
	records []Record // written by the runner under journal.mu; read at the end of a test
	stop    func() error
}

// newRig starts a coordinator; the session is ready. change may alter the options.
func newRig(t *testing.T, change ...func(*rig, *Options)) *rig {
	t.Helper()
	j := &journal{start: time.Now()}
	g := &rig{
		t: t, journal: j, tools: fakeTools{},
		speaker: &fakeSpeaker{j: j, latency: 9 * time.Millisecond},
		voice:   &fakeVoice{j: j},
	}
	n := 0
	var mu sync.Mutex
	o := Options{
		Voice: g.voice, Speaker: g.speaker, Mic: fakeMic{j}, Tools: g.tools, Light: fakeLight{j}, Phrases: fakePhrases{j},
		Turn:  turn.DefaultConfig(),
		Clock: RealClock(func() time.Duration { return time.Since(j.start) }),
		NewID: func() turn.ID {
			mu.Lock()
			defer mu.Unlock()
			n++
			return turn.ID(fmt.Sprintf("t-%d", n))
		},
		OnEnd: func(r Record) {
			j.mu.Lock()
			g.records = append(g.records, r)
			j.mu.Unlock()
			j.add("end %s %s", r.Turn, r.Reason)
		},
	}
	for _, f := range change {
		f(g, &o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g.Coordinator = c
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	g.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	c.Post(turn.SessionReady{At: c.Now()})
	synctest.Wait()
	g.take()
	return g
}

// press is the fast path as device has it: drop first, then tell.
// button is the one button of these tests.
const button turn.Button = 1

func (g *rig) press() turn.ID { return g.Press(g.Now(), g.speaker.Drop(), button) }

// utter presses, speaks for d and releases, up to the commit.
func (g *rig) utter(d time.Duration) turn.ID {
	g.t.Helper()
	id := g.press()
	g.settle()
	g.Post(turn.CaptureStarted{At: g.Now(), Turn: id})
	time.Sleep(d)
	n := int(d * rate / time.Second)
	g.Release(g.Now(), n, button)
	g.settle()
	g.Post(turn.CaptureEnded{At: g.Now(), Turn: id, Samples: n})
	g.settle()
	g.Post(turn.InputCommitted{At: g.Now(), Turn: id, Item: turn.ItemID("item_u_" + string(id))})
	g.settle()
	return id
}

func (g *rig) respond(id turn.ID, resp turn.ResponseID) {
	g.Post(turn.ResponseStarted{At: g.Now(), Turn: id, Response: resp})
	g.settle()
}

// speak hands over d of speech, which is written while it fits.
func (g *rig) speak(id turn.ID, resp turn.ResponseID, d time.Duration, value int16) int {
	n := g.Audio(g.t.Context(), id, tone(d, value))
	g.Post(turn.DeltaArrived{At: g.Now(), Turn: id, Response: resp, Item: turn.ItemID("item_" + string(resp)), Samples: n})
	g.settle()
	return n
}

func (g *rig) finish(id turn.ID, resp turn.ResponseID) {
	g.Post(turn.ResponseDone{At: g.Now(), Turn: id, Response: resp})
	g.settle()
}

func (g *rig) settle() { synctest.Wait() }

// quiet waits until nothing more can happen and checks that the machine rests.
func (g *rig) quiet() {
	g.t.Helper()
	time.Sleep(3 * time.Minute)
	g.settle()
	if s := g.State(); s != turn.Idle {
		g.t.Errorf("state %v after everything has ended; want IDLE", s)
	}
}

// ends are the turn.end lines as "t-1 done".
func (g *rig) ends() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var l []string
	for _, r := range g.records {
		l = append(l, string(r.Turn)+" "+r.Reason)
	}
	return l
}

// wantInOrder checks that the lines appear in this order, others between them.
func wantInOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	i := 0
	for _, line := range got {
		if i < len(want) && line == want[i] {
			i++
		}
	}
	if i < len(want) {
		t.Errorf("journal lacks %q (number %d of %q)\njournal: %q", want[i], i+1, want, got)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v; want %v", what, got, want)
	}
}

// nullSpeaker and nullSource do nothing at no cost, for benchmarks.
type (
	nullSpeaker struct{ gen atomic.Uint64 }
	nullSource  struct{ drained chan struct{} }
	nullVoice   struct{}
)

func (s *nullSpeaker) Drop() uint64                         { return s.gen.Add(1) }
func (s *nullSpeaker) Open(SourceKind, uint64) Source       { return nullSource{closedChannel} }
func (s *nullSpeaker) Cue(turn.Cue, uint64) Source          { return nil }
func (s *nullSpeaker) StopCue(turn.Cue)                     {}
func (s *nullSpeaker) SetVolume(int)                        {}
func (nullSource) Write(_ context.Context, p []int16) int   { return len(p) }
func (nullSource) Hold()                                    {}
func (nullSource) Live()                                    {}
func (nullSource) Duck(bool)                                {}
func (nullSource) Release()                                 {}
func (nullSource) Close()                                   {}
func (nullSource) Cut()                                     {}
func (nullSource) Holes() int                               { return 0 }
func (nullSource) Heard() int                               { return 480 }
func (s nullSource) Drained() <-chan struct{}               { return s.drained }
func (nullSource) Silenced() (time.Duration, bool)          { return 0, false }
func (nullVoice) Do(turn.Order)                             {}
func (nullVoice) Tools([]turn.ToolSpec)                     {}
func (nullVoice) Open(turn.ID, time.Duration)               {}
func (nullVoice) End(turn.ID, time.Duration, time.Duration) {}
func (nullVoice) Discard(turn.ID)                           {}
func (nullVoice) Lend(func([]int16)) func()                 { return func() {} }
func (nullVoice) Show(turn.State, string)                   {}
func (nullVoice) Phrase(turn.Words) []int16                 { return nil }

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func newBench(b *testing.B, change ...func(*Options)) *runner {
	o := Options{
		Voice: nullVoice{}, Speaker: &nullSpeaker{}, Mic: nullVoice{}, Tools: fakeTools{}, Light: nullVoice{}, Phrases: nullVoice{},
	}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := newRunner(ctx, c)
	b.Cleanup(func() { c.inbox.close(); cancel(); r.running.Wait() })
	return r
}
