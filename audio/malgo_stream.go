//go:build cgo

package audio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gen2brain/malgo"
)

// pulseMost is the most that a PulseAudio server may hold for us: a sink that takes 300 ms at once is torn by less. It is filled in one
// piece as it starts, and the server takes none that is longer than 680 ms.
const pulseMost = 600 * time.Millisecond

// openAt starts the owner goroutine of a stream and waits for the device to run.
func (m *MalgoCard) openAt(kind Kind, cfg StreamConfig, p place, fn func([]int16)) (Stream, error) {
	kept := ""
	if kind == PlaybackDevice && p.backend == BackendALSA && cfg.Back != nil {
		kept = m.stiffness(p.id)
		if kept == "" {
			s, err := m.openRewinding(cfg, p, fn)
			if err == nil || errors.Is(err, errHung) {
				return s, err
			}
			kept = strings.ReplaceAll(err.Error(), "\n", ": ")
			level := slog.LevelDebug // it could not be opened so, and cannot be otherwise, or has another rate
			if errors.Is(err, errNoRewind) {
				level = slog.LevelInfo
			}
			m.log.Log(context.Background(), level, "audio.no_rewind", "device", p.id, "why", kept)
		}
	}
	cfg.Periods = cmp.Or(cfg.Periods, 3)
	var last atomic.Pointer[malgoStream] // each attempt has a stream of its own: one that was given up may still be at work
	err := m.with(p.backend, func(c *malgoContext) error {
		if p.backend == BackendPulse {
			if err := m.present(c, kind, p.name); err != nil {
				return err
			}
		}
		s := &malgoStream{card: m, kind: kind, fn: fn, kept: kept, closing: make(chan struct{}), done: make(chan struct{}), flush: make(chan func(), 1)}
		last.Store(s)
		m.mu.Lock()
		c.refs++
		m.mu.Unlock()
		ready := make(chan error, 1)
		go s.own(c, cfg, p, ready)
		return <-ready
	})
	s := last.Load()
	if err != nil {
		if s != nil {
			s.end() // if it opens after all, its owner closes it at once
		}
		return nil, err
	}
	return s, nil
}

// malgoStream is one open device.
type malgoStream struct {
	// fixed after open
	card    *MalgoCard
	kind    Kind
	fn      func([]int16)
	granted Granted
	kept    string // why it is not rewound
	gate    *gate  // nil: not possible

	closing   chan struct{} // closed by end
	closeOnce sync.Once
	done      chan struct{} // closed by the owner when the device is gone
	flush     chan func()   // of one: throw away what waits in the card, then call it

	// atomic; written by the callback
	callbacks atomic.Uint64
	inside    atomic.Bool // the callback is running fn, or about to look at closed
	closed    atomic.Bool
	policy    atomic.Int64 // 0: not asked yet; else the FIFO priority got, or -1 for none
	thread    atomic.Int64 // that the callback runs on; set with policy
}

func (s *malgoStream) Granted() Granted { return s.granted }

// Stats implements Stream. A callback that came too late is an xrun.
func (s *malgoStream) Stats() StreamStats {
	n := StreamStats{Callbacks: s.callbacks.Load()}
	if s.gate != nil {
		n.Callbacks += s.gate.rested.Load()
		n.Xruns, n.Resting = s.gate.late.Load(), s.gate.resting.Load() != 0
	}
	return n
}

// counts says whether a late callback is an xrun. A sound server keeps what is captured until it is fetched, and a device that
// goes nowhere has no buffer.
func (s *malgoStream) counts() bool {
	return s.granted.Backend == BackendALSA || s.granted.Backend == BackendPulse && s.kind == PlaybackDevice
}

// Rest implements Stream: what is captured comes in pieces of restPiece.
func (s *malgoStream) Rest(on bool) {
	if s.gate == nil {
		return
	}
	v := uint32(0)
	if on {
		v = 1
	}
	s.gate.resting.Store(v)
}

// Wake implements Stream: miniaudio's thread cannot be woken.
func (s *malgoStream) Wake() bool { return false }

// Flush implements Stream: the owner stops and starts the device, and between the two calls emptied.
func (s *malgoStream) Flush(emptied func()) {
	select {
	case s.flush <- emptied:
	default: // one is on its way
	}
}

// own makes every call for the device, from the first to the last. Nobody else may.
func (s *malgoStream) own(c *malgoContext, cfg StreamConfig, p place, ready chan<- error) {
	defer close(s.done)
	defer s.card.release(c)
	dev, err := s.start(c, cfg, p)
	ready <- err
	if err != nil {
		return
	}
	tell := time.NewTimer(500 * time.Millisecond) // by then the callback has asked for its priority
	defer tell.Stop()
wait:
	for {
		select {
		case <-s.closing:
			break wait
		case emptied := <-s.flush: // never from the callback, where Stop would wait for itself
			err := dev.Stop()
			if err == nil {
				emptied()
				if s.gate != nil {
					s.gate.last.Store(0) // it was not late, but stopped
				}
				err = dev.Start()
			}
			if err != nil {
				s.card.log.Warn("audio.flush", "device", s.granted.Device, "err", err) // the keeper sees that nothing calls back
			}
		case <-tell.C:
			if got := s.policy.Load(); got != 0 && s.card.reported.CompareAndSwap(false, true) {
				s.card.log.Info("audio.thread", "fifo_priority", max(got, 0), "realtime", got > 0, "device", s.granted.Device)
			}
		}
	}
	_ = dev.Stop()
	dev.Uninit() // exactly once: twice is a double free
}

func (s *malgoStream) start(c *malgoContext, cfg StreamConfig, p place) (*malgo.Device, error) {
	mkind, data := malgo.Playback, s.onPlayback
	if s.kind == CaptureDevice {
		mkind, data = malgo.Capture, s.onCapture
	}
	d := malgo.DefaultDeviceConfig(mkind)
	d.SampleRate = CardRate
	d.PeriodSizeInFrames = uint32(cfg.Period * CardRate / time.Second)
	d.Periods = uint32(cfg.Periods)
	if p.backend == BackendPulse && s.kind == PlaybackDevice {
		// PulseAudio has no periods: it holds one length (tlength, ADJUST_LATENCY), for which miniaudio takes a single period. That
		// of 5 ms ran dry once or twice a second on a machine that was idle; the 15 ms that ALSA would hold did not.
		d.PeriodSizeInFrames *= d.Periods
		d.Periods = uint32(pulseMost*CardRate/time.Second) / d.PeriodSizeInFrames // what the server may hold, if its sink must
	}
	d.PerformanceProfile = malgo.LowLatency
	d.NoPreSilencedOutputBuffer = 1 // render fills it all
	d.NoFixedSizedCallback = 1      // the default puts one more period between callback and card
	d.Resampling.Algorithm = malgo.ResampleAlgorithmLinear
	d.Resampling.Linear.LpfOrder = 8 // for cards that cannot do 48 kHz; order 4, the default, lets images through
	sub := malgo.SubConfig{Format: malgo.FormatS16, Channels: 1, ShareMode: malgo.Shared}
	if p.name != "" {
		id := cDeviceID(p.name)
		defer freeC(id) // miniaudio has copied it by then
		sub.DeviceID = id
	}
	if s.kind == CaptureDevice {
		d.Capture, d.Pulse.StreamNameCapture = sub, "microphone"
	} else {
		d.Playback, d.Pulse.StreamNamePlayback = sub, "speaker"
	}
	s.gate = newGate(s.kind)
	runtime.AddCleanup(s, freeC, unsafe.Pointer(s.gate))
	d.PUserData = (*byte)(unsafe.Pointer(s.gate))

	c.listen()
	dev, err := malgo.InitDevice(c.Context, d, malgo.DeviceCallbacks{Data: data})
	lines := c.unlisten()
	if err != nil {
		if c.backend == BackendPulse {
			s.card.leaked.Add(1)
		}
		return nil, err
	}
	if s.gate != nil && !s.gate.install(dev) {
		s.gate = nil
	}
	s.granted = s.readBack(dev, lines, d, cfg, p)
	if s.gate != nil && s.counts() {
		s.gate.countLate(s.granted.Queued())
	}
	if err := s.begin(dev, p.backend); err != nil {
		dev.Uninit()
		return nil, err
	}
	return dev, nil
}

// begin starts a device. A PulseAudio stream is filled before its sink asks for anything, and the sink may ask two seconds later: what
// fills it is silence, which nobody drops, and is no callback.
func (s *malgoStream) begin(dev *malgo.Device, backend string) error {
	if s.gate == nil || backend != BackendPulse || s.kind != PlaybackDevice {
		return dev.Start()
	}
	s.Rest(true)
	err := dev.Start()
	s.gate.rested.Store(0)
	s.gate.last.Store(0)
	s.Rest(false)
	return err
}

func (c *malgoContext) listen() {
	c.linesMu.Lock()
	c.lines = nil
	c.linesMu.Unlock()
	c.SetLogProc(func(line string) {
		c.linesMu.Lock()
		defer c.linesMu.Unlock()
		if len(c.lines) < 100 {
			c.lines = append(c.lines, strings.TrimRight(line, "\n"))
		}
	})
}

func (c *malgoContext) unlisten() []string {
	c.SetLogProc(nil)
	c.linesMu.Lock()
	defer c.linesMu.Unlock()
	return c.lines
}

var (
	bufferLine = regexp.MustCompile(`Buffer Size: (\d+)\*(\d+)`)
	targetLine = regexp.MustCompile(`Playback actual attr: .*tlength=(\d+), prebuf=\d+, minreq=(\d+)`)
	nameLine   = regexp.MustCompile(`^  (.+) \((Playback|Capture)\)$`)
)

// readBack learns what was granted. malgo shows the rate; period and count stand only in what miniaudio logs at the end of
// its initialisation. If that ever changes its wording we report what we asked for (TestGrantedIsRead would notice).
func (s *malgoStream) readBack(dev *malgo.Device, lines []string, d malgo.DeviceConfig, cfg StreamConfig, p place) Granted {
	g := Granted{Backend: p.backend, Device: p.id, Name: p.name, Period: int(d.PeriodSizeInFrames), Periods: int(d.Periods), Kept: s.kept}
	g.Rate = int(dev.PlaybackInternalSampleRate())
	channels := int(dev.PlaybackInternalChannels())
	bytes := malgo.SampleSizeInBytes(dev.PlaybackInternalFormat())
	if s.kind == CaptureDevice {
		g.Rate = int(dev.CaptureInternalSampleRate())
	}
	target, least := 0, 0
	for _, l := range lines {
		if f := bufferLine.FindStringSubmatch(l); f != nil {
			g.Period, _ = strconv.Atoi(f[1])
			g.Periods, _ = strconv.Atoi(f[2])
		} else if f := targetLine.FindStringSubmatch(l); f != nil {
			target, _ = strconv.Atoi(f[1])
			least, _ = strconv.Atoi(f[2])
		} else if f := nameLine.FindStringSubmatch(l); f != nil {
			g.Name = f[1]
		}
	}
	// There the server says how much it holds for us, which is as much as the sink holds and twice the least it asks for; what waits in
	// both is counted in our periods.
	if p.backend == BackendPulse && s.kind == PlaybackDevice {
		g.Period = int(cfg.Period * CardRate / time.Second)
		held := g.Period * cfg.Periods
		if frame := channels * bytes; frame > 0 {
			held = max(held, 2*(target-least)/frame)
		}
		g.Periods = (held + g.Period - 1) / g.Period
	}
	return g
}

func (s *malgoStream) onPlayback(out, _ []byte, _ uint32) { s.call(out) }
func (s *malgoStream) onCapture(_, in []byte, _ uint32)   { s.call(in) }

// call is miniaudio's callback. What it fills or reads is C memory: nothing is copied.
func (s *malgoStream) call(b []byte) {
	if len(b) < 2 {
		return
	}
	samples := unsafe.Slice((*int16)(unsafe.Pointer(&b[0])), len(b)/2)
	s.inside.Store(true)
	switch {
	case !s.closed.Load():
		if s.policy.Load() == 0 {
			s.thread.Store(thread())
			s.policy.Store(realtime(audioPrio))
		}
		s.fn(samples)
		s.callbacks.Add(1)
	case s.kind != CaptureDevice:
		clear(samples)
	}
	s.inside.Store(false)
}

// end tells the callback and the owner, and waits for the callback to have seen it.
func (s *malgoStream) end() {
	s.closed.Store(true)
	// Both sides write their flag before they read the other's, so a callback that still runs fn is seen here.
	for limit := time.Now().Add(100 * time.Millisecond); s.inside.Load() && time.Now().Before(limit); {
		runtime.Gosched()
	}
	s.closeOnce.Do(func() {
		// A card that was pulled out answers every wait at once and every write with an error, and miniaudio tries again for
		// ever: at this priority, on one processor, that leaves a twentieth of it to whoever is to end it.
		if s.policy.Load() > 0 {
			ordinary(s.thread.Load())
		}
		close(s.closing)
	})
}

// Close implements Stream.
func (s *malgoStream) Close() error {
	s.end()
	return s.card.awaitClosed(s.done, s.kind, s.granted.Device)
}

// awaitClosed waits until a device that was told to close has done so, and leaves it behind when it does not.
func (m *MalgoCard) awaitClosed(done <-chan struct{}, kind Kind, device string) error {
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-done:
		return nil
	case <-timeout.C:
		m.abandoned.Add(1)
		go func() { <-done; m.abandoned.Add(-1) }()
		return fmt.Errorf("audio: close %s %q: %w", kind, device, errHung)
	}
}
