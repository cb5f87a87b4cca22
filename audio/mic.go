package audio

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the microphone.
const (
	micBuffer  = 2 * time.Second        // captured and not yet looked at; beyond, frames are lost and counted
	micFrame   = 20 * time.Millisecond  // what a sink gets at a time
	micLost    = 500 * time.Millisecond // without a frame: the microphone is gone
	micLooks   = 20                     // and so many looks: of a hundred that Run has in that time when it is not starved itself
	micGrace   = 300 * time.Millisecond // beyond its tail, an utterance waits this long for the last frames
	micStale   = 100 * time.Millisecond // a ring last written longer ago has no pre-roll in it
	micPoll    = 5 * time.Millisecond   // while an utterance is open
	micIdle    = 100 * time.Millisecond // otherwise, to forget; while it rests, Take does
	micLate    = 100 * time.Millisecond // kept in any case: Open comes when the edge is known to be a press
	MaxPreroll = time.Second
)

// MicConfig says how a microphone behaves and whom it tells. The functions are called on the goroutine of Run (or of
// whoever calls Poll), one at a time, and not while a method of Mic waits for them; they may call methods of Mic.
type MicConfig struct {
	Preroll time.Duration        // taken from before the press; with 0 an utterance begins at its edge; at most MaxPreroll
	Now     func() time.Duration // the clock of all facts; default: time since NewMic

	// Loud is when the loudspeaker was, or will be, last heard. Pre-roll from before that is left out: it would be the
	// companion's own voice, sent to the model as the person's. nil: never.
	Loud func() time.Duration

	Sink    func(utterance string, pcm []int16) // 20 ms at 24 kHz, in order; the slice is the sink's to keep
	Started func(utterance string)              // the first frame from after the edge has been captured
	Ended   func(utterance string, c Captured)  // all that End asked for has been given to Sink
	Lost    func(utterance string)              // no frame came for 500 ms of looking, or it is muted; Ended still follows an End
	Stirred func()                              // after an utterance that was flat: the microphone gives something again
	Mute    func(muted bool) error              // closes or opens the capture device
}

// Captured is what became of an utterance.
type Captured struct {
	Samples int  // given to Sink (24 kHz)
	Held    int  // of the press itself: captured between the first edge and the release, without what is taken on both sides
	Flat    bool // the same value from the first to the last: no room is that quiet, and nothing was heard
}

// Mic is the gate between the capture device and whoever listens.
//
//	card ─> Take (audio thread) ─> ring, 48 kHz ─> Run: x1/2, frames of 20 ms ─> Sink, while an utterance is open
//	                                          └──> forgotten but for the pre-roll, while none is
type Mic struct {
	// fixed after NewMic
	conf    MicConfig
	preroll uint64 // frames
	wake    chan struct{}

	ring     *ring
	captured playedClock   // at time t the ring was written from a to b
	stirs    atomic.Uint64 // callbacks whose samples were not all the same
	overruns atomic.Uint64
	calls    atomic.Uint64
	isMuted  atomic.Bool
	forgets  atomic.Bool // nobody reads: Take forgets

	polling sync.Mutex // one Poll at a time; taken before mu
	down    Downsampler
	frame   []int16 // 24 kHz, not yet given to Sink

	mu   sync.Mutex // what follows; never the callback
	now  utterance
	last utterance // the one before, for Held and for a late End
	read uint64    // position up to which something was given to Sink
	flat bool      // the latest utterance was, and nothing else has come since …
	was  uint64    // … this many stirs
	todo []func()  // events not yet told

	lent *loan // nil: nobody has borrowed it; see lend.go

	// See listen.go.
	card      Stream // nil: none was opened by OpenOn
	resting   bool
	restFrom  uint64        // calls when it was opened or a rest ended
	restEnded time.Duration // when a rest ended; zero: there was none
}

// utterance is one stretch of listening. Positions are frames of CardRate in the ring.
type utterance struct {
	id      string
	open    bool
	opened  time.Duration
	edge    uint64        // position of the first edge
	from    uint64        // edge less pre-roll
	upAt    time.Duration // of the release, once somebody has asked …
	up      uint64        // … and its position
	begun   bool          // read position is at from
	least   int16         // of what was given to Sink
	most    int16
	started bool
	lost    bool
	ending  bool
	end     uint64        // valid while ending
	giveUp  time.Duration // valid while ending
	seen    time.Duration // when a new frame was last there
	looks   int           // for one in vain since
	written uint64        // how many frames there were then
	sent    int           // samples of Rate given to Sink
}

// NewMic makes a microphone. Give its Take to Card.OpenCapture and start Run.
func NewMic(c MicConfig) *Mic {
	if c.Now == nil {
		start := time.Now()
		c.Now = func() time.Duration { return time.Since(start) }
	}
	if c.Sink == nil {
		c.Sink = func(string, []int16) {}
	}
	if c.Started == nil {
		c.Started = func(string) {}
	}
	if c.Ended == nil {
		c.Ended = func(string, Captured) {}
	}
	if c.Lost == nil {
		c.Lost = func(string) {}
	}
	if c.Stirred == nil {
		c.Stirred = func() {}
	}
	if c.Mute == nil {
		c.Mute = func(bool) error { return errors.New("audio: mute: no capture device to close") }
	}
	m := &Mic{
		conf:    c,
		preroll: uint64(CardFrames(max(0, min(MaxPreroll, c.Preroll)))),
		wake:    make(chan struct{}, 1),
		ring:    newWholeRing(CardFrames(micBuffer)),
	}
	m.captured.set(-time.Hour, 0, 0)
	return m
}

// OpenOn opens capture on a card, and lets the card rest while nobody listens.
func (m *Mic) OpenOn(card Card, c StreamConfig) (Stream, error) {
	stream, err := card.OpenCapture(c, m.Take)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.card = stream
	m.resting, m.restFrom = false, m.calls.Load()
	m.poke()
	return stream, nil
}

// Take is the callback of the capture device (CardRate, mono): no allocation, lock, log or wait.
func (m *Mic) Take(in []int16) {
	if len(in) == 0 {
		return
	}
	least, most := in[0], in[0]
	for _, x := range in {
		least, most = min(least, x), max(most, x)
	}
	if least != most {
		m.stirs.Add(1)
	}
	before := m.ring.written()
	if m.ring.write(in, m.ring.size()) < len(in) {
		m.overruns.Add(1)
	}
	m.captured.set(m.conf.Now(), before, m.ring.written())
	if m.forgets.Load() { // an Open meanwhile takes nothing that goes
		m.keep(m.ring.written(), m.reserve())
	}
	m.calls.Add(1)
}

// Overruns counts callbacks whose frames did not fit because Run was held up for two seconds.
func (m *Mic) Overruns() uint64 { return m.overruns.Load() }

// Muted says whether the capture device is closed by wish.
func (m *Mic) Muted() bool { return m.isMuted.Load() }

// SetMuted closes or opens the capture device through the hook; Muted changes only if that worked. What was captured
// before is forgotten, and an utterance in its midst is lost.
func (m *Mic) SetMuted(muted bool) error {
	m.mu.Lock()
	id := ""
	if muted && m.now.open && !m.now.ending { // from now on: a card may take a second to close
		id = m.now.id
		m.now.open, m.now.lost = false, true
		m.last = m.now
	}
	m.mu.Unlock()
	err := m.conf.Mute(muted)
	if err == nil {
		m.isMuted.Store(muted)
	}
	if id != "" {
		m.mu.Lock()
		m.todo = append(m.todo, func() { m.conf.Lost(id) })
		m.mu.Unlock()
	}
	m.poke()
	return err
}

// Open starts an utterance at the first edge, less the pre-roll. Started follows, or Lost. An utterance that was open is
// cut: if it was ending, Ended follows at once with what there was; otherwise nothing does.
func (m *Mic) Open(id string, at time.Duration) {
	m.mu.Lock()
	m.finishOpen()
	m.forgets.Store(false)
	now := m.conf.Now()
	written := m.ring.written()
	u := utterance{id: id, open: true, opened: now, seen: now, written: written, upAt: -1, least: math.MaxInt16, most: math.MinInt16}
	kept := m.endRest(now)
	u.edge = m.position(at) // may be ahead of what the card has delivered: it comes
	u.from = u.edge - min(u.edge, m.preroll)
	if m.conf.Loud != nil {
		u.from = max(u.from, min(m.position(m.conf.Loud()), u.edge))
	}
	u.from = max(u.from, min(m.read, u.edge)) // what the one before has had is its own (TURNS.md 8, row 9)
	if now-m.captured.lastCall() > micStale+kept || m.isMuted.Load() {
		u.edge, u.from = written, written
	}
	m.now = u
	if m.isMuted.Load() { // nothing will come, and nobody shall wait for it
		m.now.open, m.now.lost = false, true
		m.last = m.now
		m.todo = append(m.todo, func() { m.conf.Lost(id) })
	}
	m.mu.Unlock()
	m.poke()
}

// Held is how long the latest utterance was held until up, in samples (24 kHz): what the card had captured by then between
// its edges, whether it has delivered it yet or not. Of a card that has stood still for long, what it has delivered.
func (m *Mic) Held(up time.Duration) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := &m.now
	if !u.open {
		u = &m.last
	}
	if u.id == "" {
		return 0
	}
	upto := m.released(u, up)
	if m.conf.Now()-m.captured.lastCall() >= micLost {
		upto = min(upto, m.ring.written())
	}
	return u.heldUpTo(upto)
}

// heldUpTo is what lies between the edge and a position, at 24 kHz.
func (u *utterance) heldUpTo(upto uint64) int { return int(upto-min(upto, u.edge)) / 2 }

// released is the position of the release at up: the same, however often it is asked for. Needs mu.
func (m *Mic) released(u *utterance, up time.Duration) uint64 {
	if u.upAt != up {
		u.upAt, u.up = up, m.position(up)
	}
	return u.up
}

// End takes tail more of the utterance behind its release at up, then calls Ended; also when the card is dead, then about
// 300 ms after the tail. An utterance that is not open is ignored, unless it was lost: then Ended follows at once.
func (m *Mic) End(id string, up, tail time.Duration) {
	m.mu.Lock()
	now := m.conf.Now()
	switch u := &m.now; {
	case u.open && u.id == id && !u.ending:
		u.ending = true
		u.end = max(u.from, m.released(u, up)) + uint64(CardFrames(tail))
		u.giveUp = now + tail + micGrace
	case m.last.id == id && m.last.lost && !m.last.ending:
		m.last.ending = true
		m.ended(m.last)
	}
	m.mu.Unlock()
	m.poke()
}

// ended has the end of an utterance told. Needs mu.
func (m *Mic) ended(u utterance) {
	c := Captured{Samples: u.sent, Held: u.heldUpTo(min(u.up, m.ring.written())), Flat: u.sent > 0 && u.least == u.most}
	if !u.started {
		c.Held = 0
	}
	if m.flat && !c.Flat {
		m.todo = append(m.todo, m.conf.Stirred)
	}
	m.flat, m.was = c.Flat, m.stirs.Load()
	m.todo = append(m.todo, func() { m.conf.Ended(u.id, c) })
}

// Discard closes the utterance at once; nothing follows.
func (m *Mic) Discard(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.open && m.now.id == id {
		m.now.open = false
		m.last = m.now
	}
}

// finishOpen needs mu.
func (m *Mic) finishOpen() {
	u := m.now
	if u.open && u.ending {
		m.ended(u)
	}
	if u.id != "" {
		m.now.open = false
		m.last = m.now
	}
}

// position is where in the ring the frame captured at t is or will be.
func (m *Mic) position(t time.Duration) uint64 {
	for try := 0; ; try++ {
		seq := m.captured.seq.Load()
		at, b := time.Duration(m.captured.t.Load()), m.captured.b.Load()
		if (seq&1 != 0 || m.captured.seq.Load() != seq) && try < 100 {
			continue
		}
		if t >= at {
			return b + uint64(CardFrames(min(t-at, time.Minute)))
		}
		return b - min(b, uint64(CardFrames(at-t)))
	}
}

func (m *Mic) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
