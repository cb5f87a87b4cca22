package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
	clips "conch/audio/words"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/join"
	"conch/device/language"
	"conch/device/wait"
	"conch/gpio"
	"conch/gpio/light"
	gpiotwin "conch/gpio/twin"
)

// patience is how long a test waits for what must come at all. Nothing here says how fast it comes.
const patience = 60 * time.Second

// A box is a whole device as it is shipped, with the hands and ears of its person: the button and the sound card are twins,
// the client is the real one, and its server is the rehearsal voice on a loopback port of its own, so that it can be broken
// in every way a server breaks.
type box struct {
	t testing.TB
	*Device
	card       *twin.Card
	hand       *gpiotwin.Button
	seen       *watched    // of hand
	ran        error       // what Run returned, once gone
	gone       atomic.Bool // all of the device has ended
	server     *rehearsal.Server
	wires      *wires
	recognizer *listener

	id     string // goroutines of this box carry it as a label
	log    *journal
	inRoom bool
	stop   context.CancelFunc // ends it early, as SIGTERM does
	asked  atomic.Int64
	others *atomic.Int64 // presses of other buttons; nil: there are none
	mu     sync.Mutex    // guards ended
	ended  []control.Turn
}

// boxOptions are what a test wants to be different.
type boxOptions struct {
	config  func(*config.Config)
	faults  rehearsal.Faults
	address string                                       // of a server that runs already; empty: one of the box's own
	buttons func(now func() time.Duration) []gpio.Events // besides the twin
	others  *atomic.Int64                                // what they count
	light   func() (light.Driver, error)
	card    func(audio.Card) audio.Card // nil: the twin itself
	clock   *twin.Clock                 // of the twin and the whole box; nil: the wall's
	key     string                      // the only one the server takes; empty: any
	offline bool                        // the voice will not come up
	page    bool                        // it has a page, which may talk
	control bool                        // it has a control socket
	listens bool                        // what holds no speech is no utterance; else any sound is one
	presses int                         // of another device that keep the floor in a minute; 0: as many as anywhere
	room    *RoomOptions                // it is in a room: turns also begin there, and are not counted
	mind    rehearsal.Brain             // nil: an echo
	hears   rehearsal.Recognizer        // nil: one of the box's own
	tools   skill                       // besides those that are bundled; see tools_test.go
	toolbox coordinator.Tools           // instead of all tools
	pace    float64                     // the server's: speech comes at so many times real time; 0: its own
}

var boxes atomic.Int64

// newBox raises a box and waits until it is ready. At the end of the test it is ended, and must leave nothing behind: no
// goroutine, and no turn that began and did not end, or ended twice.
func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	b := &box{t: t, id: fmt.Sprintf("box-%d", boxes.Add(1)), recognizer: &listener{}, log: &journal{}}
	if o.clock == nil {
		o.clock = twin.WallClock()
	}
	b.card = twin.NewCard(o.clock)
	now := b.card.Clock().Now
	buttons := []gpio.Events{}
	if o.buttons != nil {
		buttons, b.others = o.buttons(now), o.others
	}
	b.hand = gpiotwin.NewButton(gpio.ButtonOptions{Clock: now})
	b.seen = &watched{Events: b.hand}
	cfg := config.Default()
	cfg.Device.Name, cfg.State.Dir, cfg.Room.Discovery = "box", t.TempDir(), "off"
	cfg.Voice.Kind, cfg.Voice.URL, cfg.Voice.Key = "realtime", o.address, config.NewSecret("a key")
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	done := make(chan error, 3)
	parts := 2
	if o.mind == nil {
		o.mind = echo{}
	}
	if o.hears == nil {
		o.hears = b.recognizer
	}
	if o.address == "" {
		b.server = rehearsal.New(rehearsal.Options{Recognizer: o.hears, Synthesizer: hum{}, Brain: o.mind, Faults: o.faults, Key: o.key, Pace: o.pace, Seed: 1, Log: slog.New(b.log)})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b.wires = &wires{Listener: l}
		cfg.Voice.URL = "ws://" + l.Addr().String() + "/v1/realtime"
		parts++
	}
	if o.page {
		cfg.Web = config.Web{Listen: "127.0.0.1:0", Talk: true}
	}
	if o.config != nil {
		o.config(&cfg)
	}
	opts := Options{Page: o.page, Log: slog.New(b.log), Card: b.card, Now: now, Buttons: append(buttons, b.seen), OnTurn: b.turnEnd, Light: o.light, Control: o.control, AnySound: !o.listens}
	if o.card != nil {
		opts.Card = o.card(b.card)
	}
	if o.room != nil {
		opts.Room, b.inRoom = *o.room, true
	}
	if opts.Tools = o.toolbox; o.tools != nil {
		opts.Tools = handsOf(t, opts.Log, o.tools, func(id turn.ID, output string) { b.room.Waiters.ToolDone(id, output) })
	}
	d, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	b.Device = d
	pprof.Do(ctx, pprof.Labels("box", b.id), func(ctx context.Context) {
		go func() { done <- b.card.Run(ctx, 1) }()
		go func() {
			b.ran = d.Run(ctx)
			b.gone.Store(true)
			if errors.Is(b.ran, join.ErrRestart) { // for who pairs
				done <- nil
				return
			}
			done <- b.ran
		}()
		if b.wires != nil {
			go func() { done <- b.server.Serve(ctx, b.wires) }()
		}
	})
	t.Cleanup(func() {
		cancel()
		late := time.After(time.Minute)
		for range parts {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("a part failed: %v", err)
				}
			case <-late:
				var all bytes.Buffer
				_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // with the labels of the boxes
				t.Fatalf("box %s has not ended within a minute; what runs:\n%s", b.id, &all)
			}
		}
		b.nothingLeft()
		if t.Failed() {
			t.Logf("journal:\n%s", b.log.text())
		}
	})
	b.until("ready", func() bool {
		return d.sound.Known() && (o.offline || d.coordinator.Online())
	})
	for _, button := range opts.Buttons { // one that is down when it is looked at first has to be let go
		b.look(button)
	}
	return b
}

// ranTo is how the device has ended.
func (b *box) ranTo() error {
	if !b.gone.Load() {
		return nil
	}
	return b.ran
}

func (b *box) turnEnd(t control.Turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = append(b.ended, t)
}

// turnsEnded are the lines so far.
func (b *box) turnsEnded() []control.Turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]control.Turn(nil), b.ended...)
}

// nothingLeft looks at what a device that has ended may not leave.
func (b *box) nothingLeft() {
	b.t.Helper()
	ended := map[turn.ID]int{}
	for _, r := range b.turnsEnded() {
		if ended[r.Turn]++; ended[r.Turn] == 2 {
			b.t.Errorf("turn %s ended twice", r.Turn)
		}
	}
	for _, id := range b.log.begun() {
		if ended[id] == 0 {
			b.t.Errorf("turn %s began and never ended", id)
		}
	}
	want := int(b.seen.presses.Load() + b.asked.Load())
	if b.others != nil {
		want += int(b.others.Load())
	}
	if len(ended) != want && !b.inRoom {
		b.t.Errorf("%d turns ended of %d that were begun by a press or a question", len(ended), want)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if wait.Until(ctx, func() bool { n, _ := labelled(b.id); return n == 0 }) != nil {
		n, dump := labelled(b.id)
		b.t.Errorf("%d goroutines are left:\n%s", n, dump)
	}
}

// goroutines is how many this box has now.
func (b *box) goroutines() int { n, _ := labelled(b.id); return n }

// labelled counts the goroutines of one box and shows where they are. Labels are inherited by what a goroutine starts.
func labelled(id string) (n int, dump string) {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // a buffer takes everything
	for s := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(s, fmt.Sprintf(`"box":"%s"`, id)) {
			k := 0
			_, _ = fmt.Sscanf(strings.TrimSpace(s), "%d @", &k)
			n += k
			dump += s + "\n"
		}
	}
	return n, dump
}

func (b *box) until(what string, cond func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
		var recent strings.Builder
		for _, l := range b.coordinator.Recent() {
			fmt.Fprintln(&recent, l)
		}
		b.t.Fatalf("not %s after %v: state %v, quiet %v, online %v, fed %v\n%s", what, patience,
			b.coordinator.State(), b.Quiet(), b.coordinator.Online(), b.card.Fed(), &recent)
	}
}

func (b *box) state(s turn.State) {
	b.t.Helper()
	b.until(s.String(), func() bool { return b.coordinator.State() == s })
}

// quiet waits for the end of everything.
func (b *box) quiet() {
	b.t.Helper()
	b.until("quiet", b.Quiet)
}

// pause lets d pass, for what has no event of its own.
func (b *box) pause(d time.Duration) { <-time.After(d) }

// taps holds the button for at least so long as the device sees it.
func (b *box) taps(held time.Duration) {
	b.t.Helper()
	b.hand.Press()
	b.until("touched", b.hand.Seen)
	b.pause(held)
	b.hand.Release()
}

// nextTurn runs f and returns the first turn that ends after it began, when the device is quiet again.
func (b *box) nextTurn(f func()) control.Turn {
	b.t.Helper()
	n := len(b.turnsEnded())
	f()
	b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
	b.quiet()
	return b.turnsEnded()[n]
}

// ask is a typed question, to its end.
func (b *box) ask(text string) control.Turn {
	b.t.Helper()
	return b.nextTurn(func() { b.question(text) })
}

// question is one whose end is not waited for.
func (b *box) question(text string) {
	b.asked.Add(1)
	b.coordinator.Ask(text)
}

// talk holds the button and speaks for d.
func (b *box) talk(d time.Duration) {
	b.t.Helper()
	b.hand.Press()
	b.state(turn.Listening)
	b.card.Feed(whistle(300, audio.Samples(d)))
	b.until("heard out", func() bool { return b.card.Fed() == 0 })
	b.pause(20 * time.Millisecond) // the last period is in the air
	b.hand.Release()
}

// say is a spoken question, to its end.
func (b *box) say(d time.Duration) control.Turn {
	b.t.Helper()
	return b.nextTurn(func() { b.talk(d) })
}

// answered demands an answer without a complaint.
func (b *box) answered(r control.Turn) {
	b.t.Helper()
	if r.Reason != turn.Done.String() || r.HeardMS <= 0 || r.Said == "" || r.Words != "" {
		b.t.Errorf("turn %s: %s, heard %.0f ms of %q, words %q; want done, an answer, no words", r.Turn, r.Reason, r.HeardMS, r.Said, r.Words)
	}
}

// fine demands that the next question is answered, typed and spoken.
func (b *box) fine() {
	b.t.Helper()
	b.answered(b.ask("short"))
	b.answered(b.say(300 * time.Millisecond))
}

// failed demands that the turn ended in these words, and that they were heard.
func (b *box) failed(r control.Turn, reason turn.Reason, w turn.Words) {
	b.t.Helper()
	if r.Reason != reason.String() || r.Words != string(w) {
		b.t.Errorf("turn %s: %s in words %q; want %s in %q", r.Turn, r.Reason, r.Words, reason, w)
		return
	}
	if c := b.heard(w, r.Ended); c < 0.8 {
		b.t.Errorf("turn %s: the words %q are not on the tape (likeness %.2f)", r.Turn, w, c)
	}
}

// heard says how much of the tape after a time is like the clip, at best: 1 is the clip itself. It compares the loudest
// 0.6 seconds beyond what a cue may cover: a vowel alone is the same in every clip.
func (b *box) heard(w turn.Words, after time.Duration) float64 {
	const cover, excerpt, thin = 800 * time.Millisecond, 600 * time.Millisecond, 8
	pcm, err := clips.Samples(language.English, string(w))
	if err != nil {
		b.t.Fatal(err)
	}
	clip := thinned(audio.Upsample(pcm), thin)
	n := audio.CardFrames(excerpt) / thin
	best, at := 0.0, 0
	for i := audio.CardFrames(cover) / thin; i+n <= len(clip); i += n / 8 {
		if e := squares(clip[i : i+n]); e > best {
			best, at = e, i
		}
	}
	want := clip[at : at+n]
	tape := thinned(b.card.Between(after, after+audio.CardDuration(2*len(pcm))+3*time.Second), thin)
	if len(tape) < n {
		return 0
	}
	likest, energy := 0.0, squares(tape[:n])
	for i := 0; i+n <= len(tape); i++ {
		if i > 0 { // whole numbers: nothing is lost
			energy += tape[i+n-1]*tape[i+n-1] - tape[i-1]*tape[i-1]
		}
		if energy < best/1e8 {
			continue // silence
		}
		dot := 0.0
		for k, x := range want {
			dot += x * tape[i+k]
		}
		if dot > 0 {
			likest = max(likest, dot/math.Sqrt(best*energy))
		}
	}
	return likest
}

func thinned(frames []int16, by int) []float64 {
	out := make([]float64, len(frames)/by)
	for i := range out {
		for _, x := range frames[i*by : (i+1)*by] {
			out[i] += float64(x)
		}
	}
	return out
}

func squares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// Two pitches that no cue has: one for answers that will be cut, one for all others.
const (
	oldHz = 2750
	newHz = 700
)

// pitch is the loudest a pitch gets in frames, as an amplitude, by Goertzel's filter over windows of 20 ms.
func pitch(frames []int16, hz float64) (loudest float64) {
	const window = audio.CardRate / 50
	c := 2 * math.Cos(2*math.Pi*hz/audio.CardRate)
	for i := 0; i+window <= len(frames); i += window / 2 {
		var s1, s2 float64
		for k, x := range frames[i : i+window] {
			hann := 1 - math.Cos(2*math.Pi*float64(k)/window)
			s1, s2 = float64(x)*hann+c*s1-s2, s1
		}
		loudest = max(loudest, 2*math.Sqrt(s1*s1+s2*s2-c*s1*s2)/window)
	}
	return loudest
}

// whistle is n samples at 24 kHz.
func whistle(hz float64, n int) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*hz*float64(i)/audio.Rate))
	}
	return pcm
}

// listener understands one thing, whatever is said, and remembers how long it was.
type listener struct {
	mu    sync.Mutex
	heard []time.Duration
}

func (*listener) String() string { return "listener of a test" }

func (e *listener) Hear(ctx context.Context, pcm []int16, names []string) (rehearsal.Heard, error) {
	h, err := rehearsal.Meter{}.Hear(ctx, pcm, names)
	h.Words, h.Text = true, "spoken"
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, h.Length)
	return h, err
}

// lengths are those of all utterances that were heard.
func (e *listener) lengths() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]time.Duration(nil), e.heard...)
}

// echo is a companion that repeats the question, so that a test says what it wants to hear.
type echo struct{}

func (echo) Think(t rehearsal.Thought) rehearsal.Reply { return rehearsal.Reply{Text: t.Words} }

// hum speaks in one pitch: "old" in oldHz, "long" for six seconds, "endless" for twenty, all else for 0.7 s in newHz.
type hum struct{}

func (hum) String() string { return "a hum" }

func (hum) Say(_ context.Context, _, text string) ([]int16, error) {
	hz, n := float64(newHz), audio.Samples(700*time.Millisecond)
	if strings.Contains(text, "old") {
		hz = oldHz
	}
	if strings.Contains(text, "long") {
		n = audio.Samples(6 * time.Second)
	}
	if strings.Contains(text, "endless") {
		n = audio.Samples(20 * time.Second)
	}
	return whistle(hz, n), nil
}

// wires is a listener whose connections can be cut and refused.
type wires struct {
	net.Listener
	refusing atomic.Bool
	mu       sync.Mutex
	all      []*net.TCPConn
}

func (w *wires) Accept() (net.Conn, error) {
	for {
		c, err := w.Listener.Accept()
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, err
		}
		if w.refusing.Load() {
			reset(tcp)
			continue
		}
		w.mu.Lock()
		w.all = append(w.all, tcp)
		w.mu.Unlock()
		return c, err
	}
}

// refuse resets every connection from now on at once, or no more.
func (w *wires) refuse(yes bool) { w.refusing.Store(yes) }

// cut resets every connection there is.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		reset(c)
	}
	w.all = nil
}

// reset ends a connection without a goodbye.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}

// watched counts what a button says.
type watched struct {
	gpio.Events
	presses, releases atomic.Int64
	lastEdge          atomic.Int64 // of the latest press
}

func (w *watched) Run(ctx context.Context, on func(gpio.Event)) error {
	return w.Events.Run(ctx, func(e gpio.Event) {
		switch e.Kind {
		case gpio.Pressed:
			w.presses.Add(1)
			w.lastEdge.Store(int64(e.At))
		case gpio.Released:
			w.releases.Add(1)
		}
		on(e)
	})
}

// look waits until the button has been looked at once more.
func (b *box) look(button gpio.Events) {
	b.t.Helper()
	var looked atomic.Bool
	b.until("a button to be asked", func() bool { return button.Call(func() { looked.Store(true) }) })
	b.until("a look at the button", looked.Load)
}

// journal keeps the log, for what a failed test wants to tell and for the turns that began.
type journal struct {
	mu    sync.Mutex
	lines []string
	loud  []string // those above debug, since forget
	turns []turn.ID
}

// journalLines bounds what a failed test prints.
const journalLines = 400

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := fmt.Sprintf("%s %s", r.Time.Format("05.000"), r.Message)
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		if r.Message == "turn.begin" && a.Key == "turn" {
			j.turns = append(j.turns, turn.ID(a.Value.String()))
		}
		return true
	})
	if r.Level > slog.LevelDebug && len(j.loud) < journalLines {
		j.loud = append(j.loud, line)
	}
	if j.lines = append(j.lines, line); len(j.lines) > 2*journalLines {
		j.lines = append([]string(nil), j.lines[journalLines:]...)
	}
	return nil
}

func (j *journal) begun() []turn.ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]turn.ID(nil), j.turns...)
}

// forget forgets what aloud is to tell.
func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.loud = nil
}

// aloud is what was logged above debug since.
func (j *journal) aloud() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.loud)
}

// count says how often an event was logged lately.
func (j *journal) count(event string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		if _, rest, ok := strings.Cut(l, " "); ok && (rest == event || strings.HasPrefix(rest, event+" ")) {
			n++
		}
	}
	return n
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines[max(0, len(j.lines)-journalLines):], "\n")
}
