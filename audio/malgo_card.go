//go:build cgo

// The real card: miniaudio through malgo. malgo_open.go finds the device, malgo_stream.go is an open one, malgo.go is what is C.
//
//	OpenPlayback ─> owner goroutine ─ InitDevice, Start ─> miniaudio's thread ─> render
//	Close        ─> owner goroutine ─ Stop, Uninit            (never the other way round)
//
// What miniaudio does to those who trust it decided the shape of these files (each observed on 0.11.25):
//
//   - A call may hang for as long as a sound server is silent. So every call runs in a goroutine that can be left behind;
//     those left behind are counted, and at maxAbandoned nothing more is opened.
//   - Stopping a device from its own callback never returns. So a stream's owner goroutine makes all calls for it.
//   - With no list of backends it ends, silently, in a device that goes nowhere. So exactly one backend is named per context.
//   - A card that was unplugged, or a server that died, reports nothing: see keeper.go.
//   - On PulseAudio a device that fails to open leaves its connection behind, five open files, for good. So a device is
//     looked for before it is opened; attempts that failed all the same are counted, and at maxLeaked no more are made.
//   - malgo holds a lock while it lists devices, and its log function takes the same lock. So no log function is set except
//     while a device is being opened, when the granted buffer, which malgo does not show otherwise, is read from it.
//
// malgo takes one short global lock around a map look-up in every callback; our half locks nothing.

package audio

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gen2brain/malgo"
)

// backendNull is ma_backend_null. malgo.BackendNull is one too small (it is ma_backend_custom): malgo's list lacks an entry.
const backendNull = malgo.Backend(14)

// Our choices, not miniaudio's.
const (
	openTimeout  = 3 * time.Second        // PipeWire takes 14 ms, a card that spins up some 100
	closeTimeout = 800 * time.Millisecond // Stream.Close promises a second
	maxAbandoned = 16                     // each holds a thread and a device
	maxLeaked    = 64                     // each holds five open files, of 1024
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
	leaked    atomic.Int64
	reported  atomic.Bool // the audio thread's priority has been logged

	mu       sync.Mutex // of contexts, and of the refs in them
	contexts map[string]*malgoContext
	stiff    map[string]string // why devices, by identity, were found not to give back what they have; guarded by mu
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
	quietALSA()
	m := &MalgoCard{backend: backend, log: log, setup: make(chan struct{}, 1), contexts: map[string]*malgoContext{}, stiff: map[string]string{}}
	return m, nil
}

// Abandoned counts the calls into the sound system that never came back.
func (m *MalgoCard) Abandoned() int { return int(m.abandoned.Load()) }

// Spent says that nothing will be opened any more before the process has begun anew: too many calls never came back, or too
// many attempts left their connection behind.
func (m *MalgoCard) Spent() bool {
	return m.Abandoned() >= maxAbandoned || m.leaked.Load() >= maxLeaked
}

// noRewind has a device opened by miniaudio from now on.
func (m *MalgoCard) noRewind(device string, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stiff[device] = strings.ReplaceAll(why.Error(), "\n", ": ")
}

// stiffness is why a device is opened so; empty: it is not.
func (m *MalgoCard) stiffness(device string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stiff[device]
}

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
	found := make(chan []rawDevice, 2) // not a variable: a call that was given up may still return (2: with may ask twice)
	err := m.with(backend, func(c *malgoContext) error {
		infos, err := c.Devices(malgoKind(kind))
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
