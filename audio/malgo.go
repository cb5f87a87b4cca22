//go:build cgo

// The real card: miniaudio through malgo. This is the only file of conch that contains cgo.
//
//	OpenPlayback ─> owner goroutine ─ InitDevice, Start ─> miniaudio's thread ─> render
//	Close        ─> owner goroutine ─ Stop, Uninit            (never the other way round)
//
// What miniaudio does to those who trust it decided the shape of this file (each observed on 0.11.25):
//
//   - A call may hang for as long as a sound server is silent. So every call runs in a goroutine that can be left behind;
//     those left behind are counted, and at maxAbandoned nothing more is opened.
//   - Stopping a device from its own callback never returns. So a stream's owner goroutine makes all calls for it.
//   - With no list of backends it ends, silently, in a device that goes nowhere. So exactly one backend is named per context.
//   - A card that was unplugged, or a server that died, reports nothing: see keeper.go.
//   - malgo holds a lock while it lists devices, and its log function takes the same lock. So no log function is set except
//     while a device is being opened, when the granted buffer, which malgo does not show otherwise, is read from it.
//
// malgo takes one short global lock around a map look-up in every callback; our half locks nothing.

package audio

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

static void quiet(const char *file, int line, const char *function, int err, const char *fmt, ...) {
	(void)file; (void)line; (void)function; (void)err; (void)fmt;
}

// libasound writes its complaints to standard error, one for each attempt; the errors it returns say the same.
static void conch_quiet_alsa(void) {
	void *lib = dlopen("libasound.so.2", RTLD_NOW);
	int (*set)(void *) = lib ? (int (*)(void *))dlsym(lib, "snd_lib_error_set_handler") : NULL;
	if (set) set((void *)quiet);
}
*/
import "C"

import (
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

// backendNull is ma_backend_null. malgo.BackendNull is one too small (it is ma_backend_custom): malgo's list lacks an entry.
const backendNull = malgo.Backend(14)

// Our choices, not miniaudio's.
const (
	openTimeout  = 3 * time.Second        // PipeWire takes 14 ms, a card that spins up some 100
	closeTimeout = 800 * time.Millisecond // Stream.Close promises a second
	maxAbandoned = 16                     // each holds a thread and a device
	audioPrio    = 50                     // SCHED_FIFO: above the Go threads, below the kernel's own (99 would be above)
)

var errHung = errors.New("no answer from the sound system (the call was abandoned)")

// MalgoCard is the Card of a machine with a sound system. Its methods may be called from any goroutine.
type MalgoCard struct {
	// fixed after New
	backend string
	log     *slog.Logger

	setup     chan struct{} // holds one token: whoever has it may list or open; all such calls are made one after the other
	abandoned atomic.Int64
	reported  atomic.Bool // the audio thread's priority has been logged

	mu       sync.Mutex // of contexts, and of the refs in them
	contexts map[string]*malgoContext
}

// malgoContext is one connection to one backend, shared by the streams opened through it.
type malgoContext struct {
	*malgo.AllocatedContext
	backend string
	refs    int  // open streams, and the card itself until it is retired
	hung    bool // a call in it never came back: it can neither be used nor freed

	linesMu sync.Mutex
	lines   []string // what miniaudio logged while a device was being opened
}

// NewCard returns the card for backend: "alsa", "pulse" (also "pulseaudio"), "null", or "auto", which decides anew at every
// open: PulseAudio when a server answers, else ALSA hardware, else null, and says which in Granted.Backend.
func NewCard(backend string, log *slog.Logger) (*MalgoCard, error) {
	switch backend {
	case "", "auto":
		backend = "auto"
	case "pulse", BackendPulse:
		backend = BackendPulse
	case BackendALSA, BackendNull:
	default:
		return nil, fmt.Errorf("audio: backend = %q: must be auto, alsa, pulse or null", backend)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	C.conch_quiet_alsa()
	m := &MalgoCard{backend: backend, log: log, setup: make(chan struct{}, 1), contexts: map[string]*malgoContext{}}
	return m, nil
}

// Abandoned counts the calls into the sound system that never came back.
func (m *MalgoCard) Abandoned() int { return int(m.abandoned.Load()) }

// Close frees what the card holds. Streams still open keep their part until they are closed.
func (m *MalgoCard) Close() {
	m.mu.Lock()
	all := m.contexts
	m.contexts = map[string]*malgoContext{}
	m.mu.Unlock()
	for _, c := range all {
		m.release(c)
	}
}

// Better reports whether something better than g could be opened now: a null device was granted because there was nothing
// else, and now there is. The keeper asks.
func (m *MalgoCard) Better(g Granted) bool {
	return m.backend == "auto" && g.Backend == BackendNull && m.choose()[0] != BackendNull
}

// choose lists the backends to try for a device that does not name its own.
func (m *MalgoCard) choose() []string {
	if m.backend != "auto" {
		return []string{m.backend}
	}
	var list []string
	if pulseAnswers() {
		list = append(list, BackendPulse)
	}
	if alsaHardware() {
		list = append(list, BackendALSA)
	}
	if len(list) == 0 { // not as a last resort: a server or card that is there and refuses must be heard of
		return []string{BackendNull}
	}
	return list
}

// Devices lists what the chosen backends have, playback first. null is not listed: it is not a device.
func (m *MalgoCard) Devices() ([]Device, error) {
	var all []Device
	var errs []error
	backends := m.choose()
	if m.backend == "auto" { // ALSA's own names are worth listing even when none of them is hardware
		backends = []string{BackendALSA}
		if pulseAnswers() {
			backends = []string{BackendPulse, BackendALSA}
		}
	}
	for _, backend := range backends {
		for _, kind := range []Kind{PlaybackDevice, CaptureDevice} {
			list, err := m.list(backend, kind)
			if err != nil {
				errs = append(errs, fmt.Errorf("audio: list %s devices of %s: %w", kind, backend, err))
				break
			}
			all = append(all, list...)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, errors.Join(errs...)
}

// list asks one backend for its devices of one kind.
func (m *MalgoCard) list(backend string, kind Kind) ([]Device, error) {
	if backend == BackendNull {
		return nil, nil
	}
	mkind := malgo.Playback
	if kind == CaptureDevice {
		mkind = malgo.Capture
	}
	found := make(chan []rawDevice, 2) // not a variable: a call that was given up may still return (2: with may ask twice)
	err := m.with(backend, func(c *malgoContext) error {
		infos, err := c.Devices(mkind)
		if err != nil {
			return err
		}
		var raw []rawDevice
		for _, i := range infos {
			name, _, _ := strings.Cut(string(i.ID[:]), "\x00")
			raw = append(raw, rawDevice{name: name, text: i.Name(), isDefault: i.IsDefault != 0})
		}
		found <- raw
		return nil
	})
	if err != nil {
		return nil, err
	}
	return identify(backend, kind, <-found, "/proc/asound", "/sys/class/sound"), nil
}

// OpenPlayback implements Card.
func (m *MalgoCard) OpenPlayback(c StreamConfig, render func(out []int16)) (Stream, error) {
	return m.open(PlaybackDevice, c, render)
}

// OpenCapture implements Card.
func (m *MalgoCard) OpenCapture(c StreamConfig, take func(in []int16)) (Stream, error) {
	return m.open(CaptureDevice, c, take)
}

func (m *MalgoCard) open(kind Kind, c StreamConfig, fn func([]int16)) (Stream, error) {
	if c.Period == 0 {
		c.Period = 5 * time.Millisecond
	}
	if c.Periods == 0 {
		c.Periods = 3
	}
	places, err := m.places(kind, c.Device)
	if err != nil {
		return nil, fmt.Errorf("audio: open %s: %w", kind, err)
	}
	var errs []error
	for _, p := range places {
		s, err := m.openAt(kind, c, p, fn)
		if err == nil {
			return s, nil
		}
		errs = append(errs, fmt.Errorf("audio: open %s %q: %w", kind, p.id, explain(err)))
		if errors.Is(err, errHung) {
			break
		}
	}
	err = errors.Join(errs...)
	if c.Device != "" {
		err = errs[len(errs)-1] // of hw and plughw the second says more: it can fail for fewer reasons
	}
	if c.Device != "" && !errors.Is(err, errHung) {
		// The name may simply not be there: then the names that are say more than any code.
		list, lerr := m.list(places[0].backend, kind)
		if lerr == nil {
			if _, merr := Match(list, c.Device); merr != nil {
				err = fmt.Errorf("audio: open %s: %w", kind, merr)
			}
		}
	}
	return nil, err
}

// place is one way to open a device.
type place struct {
	backend string
	id      string // stable identity, for people and Granted
	name    string // as the backend wants it; empty: the backend's default
}

// places turns an identity or pattern into what to try, in order. It lists devices only when it must.
func (m *MalgoCard) places(kind Kind, want string) ([]place, error) {
	if want == "" {
		var all []place
		for _, backend := range m.choose() {
			if backend != BackendALSA {
				all = append(all, place{backend, backend + ":default", ""})
				continue
			}
			// Never ALSA's "default": it leads to dmix, whose period is 21 ms.
			list, err := m.list(backend, kind)
			if err != nil && m.backend == BackendALSA {
				return nil, fmt.Errorf("list devices of alsa: %w", explain(err))
			}
			for _, d := range list {
				if d.hardware() {
					all = append(all, alsaPlaces(d.ID)...)
				}
			}
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("no %s device in %s (plugged in? enabled in config.txt? see: aplay -l)", kind, m.backend)
		}
		return all, nil
	}
	if want == BackendNull {
		return []place{{BackendNull, BackendNull, ""}}, nil
	}
	if !isPattern(want) {
		if name, ok := strings.CutPrefix(want, "alsa:"); ok && name != "" {
			return alsaPlaces(want), nil
		}
		if name, ok := strings.CutPrefix(want, "pulse:"); ok && name != "" {
			return []place{{BackendPulse, want, name}}, nil
		}
	}
	list, err := m.kindDevices(kind)
	if err != nil {
		return nil, err
	}
	d, err := Match(list, want)
	if err != nil {
		return nil, err
	}
	if d.Backend == BackendALSA {
		return alsaPlaces(d.ID), nil
	}
	return []place{{d.Backend, d.ID, strings.TrimPrefix(d.ID, "pulse:")}}, nil
}

func (m *MalgoCard) kindDevices(kind Kind) ([]Device, error) {
	all, err := m.Devices()
	var list []Device
	for _, d := range all {
		if d.Kind == kind {
			list = append(list, d)
		}
	}
	return list, err
}

// alsaPlaces: the bare hardware first, since miniaudio converts what must be converted and the period is then the card's own.
func alsaPlaces(id string) []place {
	name := strings.TrimPrefix(id, "alsa:")
	if !strings.HasPrefix(name, "CARD=") {
		return []place{{BackendALSA, id, name}}
	}
	return []place{{BackendALSA, id, "hw:" + name}, {BackendALSA, id, "plughw:" + name}}
}

// with runs f in a context of backend, one call at a time and bounded in time. A PulseAudio context dies with its server and
// does not say so: when f fails in an old one, it is tried once more in a new one.
func (m *MalgoCard) with(backend string, f func(*malgoContext) error) error {
	if m.Abandoned() >= maxAbandoned {
		return fmt.Errorf("%d calls into the sound system never came back: restart conch, or the sound server", maxAbandoned)
	}
	timeout := time.NewTimer(openTimeout)
	defer timeout.Stop()
	select {
	case m.setup <- struct{}{}:
		defer func() { <-m.setup }()
	case <-timeout.C:
		return errHung
	}
	for {
		got := make(chan *malgoContext, 1)
		fresh := m.current(backend) == nil
		err := m.bounded(openTimeout, func() error {
			c, err := m.context(backend)
			got <- c
			return err
		})
		if err != nil {
			return err
		}
		c := <-got
		err = m.bounded(openTimeout, func() error { return f(c) })
		switch {
		case errors.Is(err, errHung):
			m.retire(c, true)
		case err != nil && !fresh && backend == BackendPulse:
			m.retire(c, false)
			continue
		}
		return err
	}
}

// bounded runs f in a goroutine of its own and leaves it behind when it does not return in time. f must not touch what its
// caller reads after errHung.
func (m *MalgoCard) bounded(limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-timeout.C:
		m.abandoned.Add(1)
		go func() { // it may come back when the server does
			m.log.Debug("audio.returned", "err", <-done)
			m.abandoned.Add(-1)
		}()
		return errHung
	}
}

// applicationName must be C memory: miniaudio keeps the pointer. One for the life of the process.
var applicationName = sync.OnceValue(func() *byte { return (*byte)(unsafe.Pointer(C.CString("conch"))) })

func (m *MalgoCard) current(backend string) *malgoContext {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contexts[backend]
}

// context returns the shared context of backend, made when there is none.
func (m *MalgoCard) context(backend string) (*malgoContext, error) {
	if c := m.current(backend); c != nil {
		return c, nil
	}
	id, ok := map[string]malgo.Backend{BackendPulse: malgo.BackendPulseaudio, BackendALSA: malgo.BackendAlsa, BackendNull: backendNull}[backend]
	if !ok {
		return nil, fmt.Errorf("no backend %q", backend)
	}
	// A socket nobody listens on is found out here for nothing: each context leaves 200 bytes behind for good (malgo's log).
	if backend == BackendPulse && !pulseAnswers() {
		return nil, errors.New("no PulseAudio server answers (running? see: pactl info; PULSE_SERVER names another)")
	}
	cfg := malgo.ContextConfig{
		// Not ThreadPriorityRealtime: that asks for FIFO 99, is refused where the limit is 95, and is inherited by whatever
		// thread Go starts from the callback. The callback asks for itself: see realtime.
		ThreadPriority: malgo.ThreadPriorityNormal,
		Alsa:           malgo.AlsaContextConfig{UseVerboseDeviceEnumeration: 1}, // card names; without: card indices, which change
		Pulse:          malgo.PulseContextConfig{PApplicationName: applicationName()},
	}
	ctx, err := malgo.InitContext([]malgo.Backend{id}, cfg, nil)
	if err != nil {
		return nil, err
	}
	c := &malgoContext{AllocatedContext: ctx, backend: backend, refs: 1}
	m.mu.Lock()
	m.contexts[backend] = c
	m.mu.Unlock()
	return c, nil
}

func (m *MalgoCard) retire(c *malgoContext, hung bool) {
	m.mu.Lock()
	if hung {
		c.hung = true
	}
	mine := m.contexts[c.backend] == c
	if mine {
		delete(m.contexts, c.backend)
	}
	m.mu.Unlock()
	if mine {
		m.release(c)
	}
}

// release drops one reference; the last one frees, unless a call is still lost in there.
func (m *MalgoCard) release(c *malgoContext) {
	m.mu.Lock()
	c.refs--
	free := c.refs == 0 && !c.hung
	m.mu.Unlock()
	if free {
		_ = m.bounded(closeTimeout, func() error {
			err := c.Uninit()
			c.Free()
			return err
		})
	}
}

// openAt starts the owner goroutine of a stream and waits for the device to run.
func (m *MalgoCard) openAt(kind Kind, cfg StreamConfig, p place, fn func([]int16)) (Stream, error) {
	var last atomic.Pointer[malgoStream] // each attempt has a stream of its own: one that was given up may still be at work
	err := m.with(p.backend, func(c *malgoContext) error {
		s := &malgoStream{card: m, kind: kind, fn: fn, closing: make(chan struct{}), done: make(chan struct{})}
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

	closing   chan struct{} // closed by end
	closeOnce sync.Once
	done      chan struct{} // closed by the owner when the device is gone

	// atomic; written by the callback
	callbacks atomic.Uint64
	inside    atomic.Bool // the callback is running fn, or about to look at closed
	closed    atomic.Bool
	policy    atomic.Int64 // 0: not asked yet; else the FIFO priority got, or -1 for none
}

func (s *malgoStream) Granted() Granted  { return s.granted }
func (s *malgoStream) Callbacks() uint64 { return s.callbacks.Load() }

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
	mkind, data := malgo.Playback, s.play
	if s.kind == CaptureDevice {
		mkind, data = malgo.Capture, s.take
	}
	d := malgo.DefaultDeviceConfig(mkind)
	d.SampleRate = CardRate
	d.PeriodSizeInFrames = uint32(cfg.Period * CardRate / time.Second)
	d.Periods = uint32(cfg.Periods)
	d.PerformanceProfile = malgo.LowLatency
	d.NoPreSilencedOutputBuffer = 1 // render fills it all
	d.NoFixedSizedCallback = 1      // the default puts one more period between callback and card
	d.Resampling.Algorithm = malgo.ResampleAlgorithmLinear
	d.Resampling.Linear.LpfOrder = 8 // for cards that cannot do 48 kHz; order 4, the default, lets images through
	sub := malgo.SubConfig{Format: malgo.FormatS16, Channels: 1, ShareMode: malgo.Shared}
	if p.name != "" {
		id := cDeviceID(p.name)
		defer C.free(id) // miniaudio has copied it by then
		sub.DeviceID = id
	}
	if s.kind == CaptureDevice {
		d.Capture, d.Pulse.StreamNameCapture = sub, "microphone"
	} else {
		d.Playback, d.Pulse.StreamNamePlayback = sub, "speaker"
	}

	c.listen()
	dev, err := malgo.InitDevice(c.Context, d, malgo.DeviceCallbacks{Data: data})
	lines := c.unlisten()
	if err != nil {
		return nil, err
	}
	s.granted = s.readBack(dev, lines, d, p)
	if err := dev.Start(); err != nil {
		dev.Uninit()
		return nil, err
	}
	return dev, nil
}

// cDeviceID is miniaudio's device id, a union whose ALSA and PulseAudio members are 256 characters, in C memory: a Go pointer
// in the configuration would break the rules of cgo.
func cDeviceID(name string) unsafe.Pointer {
	size := len(malgo.DeviceID{})
	p := C.calloc(1, C.size_t(size))
	copy(unsafe.Slice((*byte)(p), min(size, 256)-1), name)
	return p
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
	targetLine = regexp.MustCompile(`Playback actual attr: .*tlength=(\d+)`)
	nameLine   = regexp.MustCompile(`^  (.+) \((Playback|Capture)\)$`)
)

// readBack learns what was granted. malgo shows the rate; period and count stand only in what miniaudio logs at the end of
// its initialisation. If that ever changes its wording we report what we asked for (TestGrantedIsRead would notice).
func (s *malgoStream) readBack(dev *malgo.Device, lines []string, d malgo.DeviceConfig, p place) Granted {
	g := Granted{Backend: p.backend, Device: p.id, Name: p.name, Period: int(d.PeriodSizeInFrames), Periods: int(d.Periods)}
	g.Rate = int(dev.PlaybackInternalSampleRate())
	channels := int(dev.PlaybackInternalChannels())
	bytes := malgo.SampleSizeInBytes(dev.PlaybackInternalFormat())
	if s.kind == CaptureDevice {
		g.Rate = int(dev.CaptureInternalSampleRate())
	}
	target := 0
	for _, l := range lines {
		if f := bufferLine.FindStringSubmatch(l); f != nil {
			g.Period, _ = strconv.Atoi(f[1])
			g.Periods, _ = strconv.Atoi(f[2])
		} else if f := targetLine.FindStringSubmatch(l); f != nil {
			target, _ = strconv.Atoi(f[1])
		} else if f := nameLine.FindStringSubmatch(l); f != nil {
			g.Name = f[1]
		}
	}
	// PulseAudio was asked to hold one period, its own share included (tlength, ADJUST_LATENCY), and says what is left for us.
	// The count that miniaudio reports there is the room for more, which is not used.
	if frame := channels * bytes; target > 0 && frame > 0 && g.Period > 0 {
		held := max(target/frame, int(d.PeriodSizeInFrames))
		g.Periods = (held + g.Period - 1) / g.Period
	}
	return g
}

// play is miniaudio's callback. It fills the buffer in place; malgo's slice is C memory, nothing is copied.
func (s *malgoStream) play(out, _ []byte, _ uint32) {
	if len(out) < 2 {
		return
	}
	samples := unsafe.Slice((*int16)(unsafe.Pointer(&out[0])), len(out)/2)
	s.inside.Store(true)
	if s.closed.Load() {
		clear(samples)
	} else {
		if s.policy.Load() == 0 {
			s.policy.Store(realtime(audioPrio))
		}
		s.fn(samples)
		s.callbacks.Add(1)
	}
	s.inside.Store(false)
}

func (s *malgoStream) take(_, in []byte, _ uint32) {
	if len(in) < 2 {
		return
	}
	s.inside.Store(true)
	if !s.closed.Load() {
		if s.policy.Load() == 0 {
			s.policy.Store(realtime(audioPrio))
		}
		s.fn(unsafe.Slice((*int16)(unsafe.Pointer(&in[0])), len(in)/2))
		s.callbacks.Add(1)
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
	s.closeOnce.Do(func() { close(s.closing) })
}

// Close implements Stream.
func (s *malgoStream) Close() error {
	s.end()
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-s.done:
		return nil
	case <-timeout.C:
		s.card.abandoned.Add(1)
		go func() { <-s.done; s.card.abandoned.Add(-1) }()
		return fmt.Errorf("audio: close %s %q: %w", s.kind, s.granted.Device, errHung)
	}
}

// explain puts what to do behind miniaudio's words.
func explain(err error) error {
	switch {
	case errors.Is(err, malgo.ErrBusy), errors.Is(err, malgo.ErrAlreadyInUse):
		return fmt.Errorf("device busy (another program holds it; see: fuser -v /dev/snd/*)")
	case errors.Is(err, malgo.ErrAccessDenied):
		return fmt.Errorf("access denied (is the user in group audio?)")
	case errors.Is(err, malgo.ErrDoesNotExist), errors.Is(err, malgo.ErrNoDevice):
		return fmt.Errorf("no such device (unplugged? see: conch audio list)")
	case errors.Is(err, malgo.ErrNoBackend):
		return fmt.Errorf("the sound library is missing or does not answer (%w; install libasound2 or libpulse0)", err)
	}
	return err
}
