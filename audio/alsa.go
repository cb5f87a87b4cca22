//go:build cgo

package audio

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Playback on an ALSA card that gives back what it has not played (rewind.go). miniaudio opens whatever this cannot: a card
// without 48 kHz or with other forms of samples than 16 and 32 bits, a plug-in that goes back by nothing, PulseAudio.
//
//	thread: wait ─> Stale? ─yes─> Rewind, Render 5 ms ─> take back, write ─> Render and write the rest
//	                  └─no──────> Render and write what is free
//
// What is to come first is rendered before anything is taken back: in between the card goes on playing what it has, and if that
// took longer than the margin, it would have nothing. Where the thread is late all the same, and some of what it wanted back has
// been played, that was what sounded, and the rest is rendered once more, from there.

// rewindMargin is what is never taken back: the time in which it is written anew, and what a card has read ahead. Our choice. A
// driver that copies says so. One that counts what it has copied as taken (USB) shows it at the start, by what it takes at once: that
// much comes before what can be had back, and the margin is what it is elsewhere. Of another one nobody knows where it is within a
// period, so that it keeps one more.
const rewindMargin = time.Millisecond

// renderAtOnce bounds what is rendered before it is written, however long the card's periods are: after something was taken back
// the card plays its margin meanwhile, and has nothing after that. Our choice.
const renderAtOnce = 5 * time.Millisecond

// shortTries is how often in a row a card may keep more of what was asked for than the time explains that the thread was late.
const shortTries = 3

// rewindPeriods is how much a card holds whose buffer costs nothing.
const rewindPeriods = 8

// takeBack is alsaPCM.rewind; tests have it fail, or come late.
var takeBack = alsaPCM.rewind

// errNoRewind is why a card is opened by other means.
var errNoRewind = errors.New("the card does not give back what waits in it")

// keeps says how a card refuses: in the same words each time, whatever waited.
func keeps(got, asked int, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errNoRewind, err)
	}
	return fmt.Errorf("%w: %d %% of what was asked for", errNoRewind, (100*got+asked/2)/asked)
}

// alsaStream is one open device. The goroutine that opened it makes all calls for it.
type alsaStream struct {
	// fixed after open
	card    *MalgoCard
	back    Rewinder
	render  func([]int16)
	granted Granted
	pcm     alsaPCM
	margin  int
	wake    int // eventfd: something changed, and shall not wait for the end of a period; -1: none

	done   chan struct{} // closed when the device is
	closed atomic.Bool
	opened atomic.Bool // pcm may be used; guarded by mu against its end
	mu     sync.Mutex  // Rest, Stats and end against the end of pcm

	// atomic, by the thread
	callbacks atomic.Uint64
	xruns     atomic.Uint64 // once the device is closed
	lates     atomic.Uint64 // rewinds that came after some of what they should replace
	policy    atomic.Int64
	tid       atomic.Int64

	// by the thread
	buf     []int16
	sent    sent
	short   int   // shortTries
	refused error // it is not rewound any more …
	quiet   int   // … and so many frames of silence have been handed over
	wrote   bool  // since the last callback was counted
}

// openRewinding opens a card by our own means, one call at a time and bounded in time like all others.
func (m *MalgoCard) openRewinding(cfg StreamConfig, p place, render func([]int16)) (Stream, error) {
	s := &alsaStream{card: m, back: cfg.Back, render: render, done: make(chan struct{})}
	s.wake = -1
	if fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		s.wake = fd
		runtime.AddCleanup(s, func(fd int) { _ = unix.Close(fd) }, fd) // whoever still has s may write to it
	}
	err := m.with(BackendALSA, func(*malgoContext) error {
		ready := make(chan error, 1)
		go s.own(cfg, p, ready)
		return <-ready
	})
	if err != nil {
		s.end() // if it opens after all, its thread closes it at once
		return nil, err
	}
	return s, nil
}

// Granted implements Stream.
func (s *alsaStream) Granted() Granted { return s.granted }

// Stats implements Stream.
func (s *alsaStream) Stats() StreamStats {
	n := StreamStats{Callbacks: s.callbacks.Load(), Xruns: s.xruns.Load(), Lates: s.lates.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened.Load() {
		n.Callbacks += s.pcm.rested()
		n.Xruns, n.Resting = s.pcm.xruns(), s.pcm.resting()
	}
	return n
}

// Rest implements Stream.
func (s *alsaStream) Rest(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened.Load() {
		s.pcm.rest(on)
	}
}

// Wake implements Stream: the thread looks whether something is stale.
func (s *alsaStream) Wake() bool {
	if s.wake < 0 {
		return false
	}
	_, _ = unix.Write(s.wake, one[:]) // a counter that is full has woken it
	runtime.KeepAlive(s)
	return true
}

// Flush implements Stream: what is stale is taken back.
func (s *alsaStream) Flush(func()) {}

// one is an eventfd's 1, or more where bytes stand the other way round.
var one = [8]byte{1}

// Close implements Stream.
func (s *alsaStream) Close() error {
	s.end()
	return s.card.awaitClosed(s.done, PlaybackDevice, s.granted.Device)
}

// end tells the thread; it may still be opening.
func (s *alsaStream) end() {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened.Load() {
		s.pcm.stop()
		if s.policy.Load() > 0 {
			ordinary(s.tid.Load())
		}
	}
}

// own is the device's thread, from the first call to the last. It ends with its goroutine: nobody else shall have its priority.
func (s *alsaStream) own(cfg StreamConfig, p place, ready chan<- error) {
	runtime.LockOSThread()
	defer close(s.done)
	err := s.open(cfg, p)
	if err == nil {
		defer func() {
			s.pcm.close()
			s.mu.Lock()
			s.xruns.Store(s.pcm.xruns())
			s.opened.Store(false)
			s.mu.Unlock()
			s.pcm.free()
		}()
		s.back.Keep(s.granted)
		s.tid.Store(thread())
		s.policy.Store(realtime(audioPrio))
		s.opened.Store(true)
	}
	ready <- err
	if err != nil {
		return
	}
	if got := s.policy.Load(); s.card.reported.CompareAndSwap(false, true) {
		s.card.log.Info("audio.thread", "fifo_priority", max(got, 0), "realtime", got > 0, "device", s.granted.Device)
	}
	for !s.closed.Load() {
		if err = s.pcm.wait(); err != nil || s.closed.Load() {
			break
		}
		if err = s.fill(); err != nil {
			break
		}
		if s.wrote { // a card that takes nothing asks for nothing, however often one looks
			s.callbacks.Add(1)
			s.wrote = false
		}
	}
	if err == nil || s.closed.Load() {
		return
	}
	s.card.log.Warn("audio.alsa", "device", s.granted.Device, "err", err) // the keeper sees that nothing calls back
}

// open opens the card and tries whether it can be rewound, in silence.
func (s *alsaStream) open(cfg StreamConfig, p place) (err error) {
	periods := cmp.Or(cfg.Periods, rewindPeriods)
	if s.pcm, err = openPCM(p.name, CardFrames(cfg.Period), periods, s.wake); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.pcm.close()
			s.pcm.free()
		}
	}()
	name, period, buffer, batch := s.pcm.granted()
	begun := time.Now()
	if err := s.pcm.start(); err != nil {
		return err
	}
	s.margin = CardFrames(rewindMargin)
	ahead := s.pcm.taken() - CardFrames(time.Since(begun)) // what was taken and cannot have been played
	switch {
	case ahead >= RewindStep:
		s.pcm.counts()
	case batch:
		s.margin += period
		fallthrough
	default:
		ahead = 0
	}
	s.granted = Granted{Backend: p.backend, Device: p.id, Name: name, Rate: CardRate, Period: period, Periods: buffer / period, Margin: s.margin + ahead}
	if buffer < period+s.margin+RewindStep {
		return fmt.Errorf("%w: it holds %d frames", errNoRewind, buffer)
	}
	s.buf = make([]int16, min(period, CardFrames(renderAtOnce))/RewindStep*RewindStep+RewindStep)
	s.sent.ring = make([]int16, buffer)
	for try := 1; ; try++ {
		back := s.pcm.rewindable() - s.margin
		if back <= 0 && try == shortTries {
			return keeps(max(0, back+s.margin), buffer, nil)
		}
		got, err := 0, error(nil) // where it has run dry
		if back > 0 {
			got, err = takeBack(s.pcm, back)
		}
		if err != nil || got < back && try == shortTries {
			return keeps(got, back, err)
		}
		if got > 0 {
			err = s.pcm.silence(got)
		}
		if err == nil && (back <= 0 || got < back) { // the machine may have stood still just then
			if err = s.pcm.wait(); err == nil {
				continue
			}
		}
		return err
	}
}

// fill is one callback. What it writes is whole pieces, and what it took back: else the next end of a period would find less room
// than one, and the card sleep on through it.
func (s *alsaStream) fill() error {
	stale := s.back.Stale()
	room, delay, hollow := s.pcm.avail()
	room -= room % s.pcm.piece()
	if s.refused == nil && (stale || hollow > 0) {
		var err error
		if room, err = s.anew(room, delay, hollow); err != nil {
			return err
		}
	}
	for room >= RewindStep {
		_, delay, _ = s.pcm.avail()
		n := min(room, len(s.buf)) / RewindStep * RewindStep
		s.back.SetQueued(CardDuration(max(0, delay)))
		s.render(s.buf[:n])
		if s.refused != nil {
			if s.quiet += n; slices.ContainsFunc(s.buf[:n], func(x int16) bool { return x != 0 }) {
				s.quiet = 0
			}
			if s.quiet > len(s.sent.ring) {
				return s.refused
			}
		}
		if err := s.write(n); err != nil {
			return err
		}
		free, _, _ := s.pcm.avail() // none where the card had run dry
		room = min(room-n, free)
	}
	return nil
}

// write hands over what stands in buf. What a card that ran dry did not take is rendered once more.
func (s *alsaStream) write(n int) error {
	ok, err := s.pcm.write(s.buf[:n])
	if s.wrote = s.wrote || ok; ok {
		s.sent.add(s.buf[:n])
	} else if back := s.back.Rewind(n); back > 0 {
		s.back.Settle(back)
	}
	return err
}

// anew takes back what may be stale, but for the margin, and writes the first of what comes in its place. It returns how much room
// there is to be filled then.
func (s *alsaStream) anew(room, delay, hollow int) (int, error) {
	asked := time.Now()
	back := s.pcm.rewindable() - s.margin
	if back <= 0 {
		return room, nil
	}
	rendered := 0 // of what is taken back: the first of it, before silence that nobody rendered
	if back > hollow {
		rendered = s.back.Rewind(back - hollow)
		back = hollow + rendered
	} else {
		back -= back % RewindStep
	}
	if back == 0 {
		return room, nil
	}
	s.back.SetQueued(CardDuration(max(0, delay-back)))
	n := min(len(s.buf), room+back) / RewindStep * RewindStep
	s.render(s.buf[:n])
	got, err := takeBack(s.pcm, back)
	taken := max(0, min(rendered, got-hollow))
	s.sent.back(taken)
	if rendered > 0 {
		if left := s.back.Settle(taken); left < rendered { // what was tried never sounds, and there may be frames before what will
			n = taken - left
			s.sent.again(s.buf[:n])
		}
	}
	if err != nil || got < back {
		s.late(back, got, time.Since(asked), err)
	} else {
		s.short = 0
	}
	if err := s.write(n); err != nil {
		return 0, err
	}
	free, _, _ := s.pcm.avail()
	return min(room+got-n, free), nil
}

// late judges a card that gave back less than was asked for: because the thread was late, or because it does not give back. Such a
// one is opened anew without, once it is quiet: at once would be heard.
func (s *alsaStream) late(back, got int, late time.Duration, err error) {
	s.lates.Add(1)
	s.card.log.Debug("audio.rewind", "device", s.granted.Device, "frames", back, "got", got, "late", late, "err", err)
	if back-got > CardFrames(late)+s.granted.Period { // more than was played meanwhile: a card counts in periods at worst
		s.short++
	}
	if err == nil && s.short < shortTries {
		return
	}
	s.refused = keeps(got, back, err)
	s.card.noRewind(s.granted.Device, s.refused)
	s.card.log.Warn("audio.no_rewind", "device", s.granted.Device, "why", s.refused, "do",
		"it is opened anew with a short buffer as soon as it is quiet; until then silence takes as long as it holds")
}
