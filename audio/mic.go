package audio

import (
	"context"
	"errors"
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
	micIdle    = 100 * time.Millisecond // otherwise, to forget
	MaxPreroll = time.Second
)

// MicConfig says how a microphone behaves and whom it tells. The functions are called on the goroutine of Run (or of
// whoever calls Poll), one at a time, and not while a method of Mic waits for them; they may call methods of Mic.
type MicConfig struct {
	Preroll time.Duration        // kept from before the press, in memory only; 0 turns it off; at most MaxPreroll
	Now     func() time.Duration // the clock of all facts; default: time since NewMic

	// Loud is when the loudspeaker was, or will be, last heard. Pre-roll from before that is left out: it would be the
	// companion's own voice, sent to the model as the person's. nil: never.
	Loud func() time.Duration

	Sink    func(utterance string, pcm []int16) // 20 ms at 24 kHz, in order; the slice is the sink's to keep
	Started func(utterance string)              // the first frame from after the edge has been captured
	Ended   func(utterance string, samples int) // all that End asked for has been given to Sink (24 kHz)
	Lost    func(utterance string)              // no frame came for 500 ms of looking, or it is muted; Ended still follows an End
	Mute    func(muted bool) error              // closes or opens the capture device
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
	captured playedClock // at time t the ring was written from a to b
	level    atomic.Int32
	overruns atomic.Uint64
	calls    atomic.Uint64
	isMuted  atomic.Bool

	polling sync.Mutex // one Poll at a time; taken before mu
	down    Downsampler
	frame   []int16 // 24 kHz, not yet given to Sink

	mu   sync.Mutex // what follows; never the callback
	now  utterance
	last utterance // the one before, for Held and for a late End
	todo []func()  // events not yet told

	// See rest.go.
	card     rester // nil: none, or one that cannot rest
	resting  bool
	restFrom uint64        // calls when it was opened or roused
	roused   time.Duration // when a rest ended; zero: there was none
}

// utterance is one stretch of listening. Positions are frames of CardRate in the ring.
type utterance struct {
	id      string
	open    bool
	opened  time.Duration
	edge    uint64 // position of the first edge
	from    uint64 // edge less pre-roll
	begun   bool   // read position is at from
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
		c.Ended = func(string, int) {}
	}
	if c.Lost == nil {
		c.Lost = func(string) {}
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

// Take is the callback of the capture device (CardRate, mono): no allocation, lock, log or wait.
func (m *Mic) Take(in []int16) {
	peak := int16(0)
	for _, x := range in {
		peak = max(peak, x, -x-1)
	}
	m.level.Store(int32(peak))
	before := m.ring.written()
	if m.ring.write(in, m.ring.size()) < len(in) {
		m.overruns.Add(1)
	}
	m.captured.set(m.conf.Now(), before, m.ring.written())
	m.calls.Add(1)
}

// Level is the peak of the last callback, 0..32767, for lights.
func (m *Mic) Level() int { return int(m.level.Load()) }

// Overruns counts callbacks whose frames did not fit because Run was held up for two seconds.
func (m *Mic) Overruns() uint64 { return m.overruns.Load() }

// Muted says whether the capture device is closed by wish.
func (m *Mic) Muted() bool { return m.isMuted.Load() }

// SetMuted closes or opens the capture device through the hook; Muted changes only if that worked. What was captured
// before is forgotten.
func (m *Mic) SetMuted(muted bool) error {
	if err := m.conf.Mute(muted); err != nil {
		return err
	}
	m.isMuted.Store(muted)
	return nil
}

// Open starts an utterance at the first edge, less the pre-roll. Started follows, or Lost. An utterance that was open is
// cut: if it was ending, Ended follows at once with what there was; otherwise nothing does.
func (m *Mic) Open(id string, at time.Duration) {
	m.mu.Lock()
	m.finishOpen()
	now := m.conf.Now()
	written := m.ring.written()
	u := utterance{id: id, open: true, opened: now, seen: now, written: written}
	kept := m.rouse(now)
	u.edge = min(m.position(at), written+kept) // it cannot be later than what there is: then nothing has been captured since
	u.from = u.edge - min(u.edge, m.preroll)
	if m.conf.Loud != nil {
		u.from = max(u.from, min(m.position(m.conf.Loud()), u.edge))
	}
	if now-m.captured.last() > micStale+CardDuration(int(kept)) || m.isMuted.Load() {
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

// Held is how many samples (24 kHz) were captured between the first edge of the latest utterance and up.
func (m *Mic) Held(up time.Duration) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.now
	if !u.open {
		u = m.last
	}
	if u.id == "" {
		return 0
	}
	upto := min(m.position(up), m.ring.written())
	return int(upto-min(upto, u.edge)) / 2
}

// End takes tail more of the utterance, then calls Ended; also when the card is dead, then about 300 ms after the tail.
// An utterance that is not open is ignored, unless it was lost: then Ended follows at once.
func (m *Mic) End(id string, tail time.Duration) {
	m.mu.Lock()
	now := m.conf.Now()
	switch u := &m.now; {
	case u.open && u.id == id && !u.ending:
		u.ending = true
		u.end = max(u.from, m.position(now)) + uint64(CardFrames(tail))
		u.giveUp = now + tail + micGrace
	case m.last.id == id && m.last.lost && !m.last.ending:
		m.last.ending = true
		sent := m.last.sent
		m.todo = append(m.todo, func() { m.conf.Ended(id, sent) })
	}
	m.mu.Unlock()
	m.poke()
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
		m.todo = append(m.todo, func() { m.conf.Ended(u.id, u.sent) })
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

// Run carries frames and events until ctx ends.
func (m *Mic) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := micIdle
		if m.Poll() {
			wait = micPoll
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-m.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Poll does what Run does every few milliseconds, once, and says whether an utterance is open. A card whose time does
// not pass by itself calls it after each period.
func (m *Mic) Poll() bool {
	m.polling.Lock()
	defer m.polling.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		for len(m.todo) > 0 { // events before frames: they are about what went before
			f := m.todo[0]
			m.todo = m.todo[1:]
			m.unlocked(f)
		}
		if !m.now.open {
			m.forget()
			m.rest()
			return false
		}
		if !m.listen(&m.now) {
			return m.now.open || len(m.todo) > 0
		}
	}
}

// unlocked calls f without mu, so that it may call us.
func (m *Mic) unlocked(f func()) {
	m.mu.Unlock()
	defer m.mu.Lock()
	f()
}

// forget drops what is older than the pre-roll. Reader side, needs mu.
func (m *Mic) forget() {
	keep := m.preroll
	if keep > 0 {
		keep += uint64(CardFrames(micIdle)) // Open may come late
	}
	w := m.ring.written()
	if m.isMuted.Load() || keep == 0 {
		m.ring.release(w)
	} else if w-min(w, keep) > m.ring.released() {
		m.ring.release(w - keep)
	}
}

// listen does one step of the open utterance; true: there may be more to do. Needs mu, lets go of it for the sink.
func (m *Mic) listen(u *utterance) bool {
	now, w := m.conf.Now(), m.ring.written()
	if w != u.written {
		u.seen, u.written, u.looks = now, w, 0
	}
	id := u.id
	if !u.started && w > u.edge {
		u.started = true
		m.unlocked(func() { m.conf.Started(id) })
		return true
	}
	if !u.begun && u.started {
		u.begun = true
		m.ring.release(max(m.ring.released(), min(u.from, w)))
		m.down, m.frame = Downsampler{}, m.frame[:0]
	}
	upto := w
	if u.ending {
		upto = min(w, u.end)
	}
	if u.begun && m.ring.released() < upto {
		from := m.ring.released()
		piece := m.ring.at(from, int(min(upto-from, uint64(CardFrames(micFrame)))))
		m.frame = m.down.Append(m.frame, piece)
		m.ring.release(from + uint64(len(piece)))
		if full := Samples(micFrame); len(m.frame) >= full {
			m.send(u, full)
		}
		return true
	}
	// The clock alone is no witness: when the whole process stood still, time passed and frames could not come.
	u.looks++
	looked := u.looks >= micLooks
	switch {
	case u.ending && (w >= u.end || now >= u.giveUp && looked):
		if len(m.frame) > 0 {
			m.send(u, len(m.frame)) // mu was given away: look again
			return true
		}
		u.open = false
		m.last = *u
		sent := u.sent
		m.unlocked(func() { m.conf.Ended(id, sent) })
		return true
	case !u.ending && now-u.seen >= micLost && looked:
		u.open, u.lost = false, true
		m.last = *u
		m.unlocked(func() { m.conf.Lost(id) })
		return true
	}
	return false
}

// send gives n samples of the frame to the sink, without mu. Needs mu.
func (m *Mic) send(u *utterance, n int) {
	id, pcm := u.id, append([]int16(nil), m.frame[:n]...)
	m.frame = append(m.frame[:0], m.frame[n:]...)
	u.sent += n
	m.unlocked(func() { m.conf.Sink(id, pcm) })
}
