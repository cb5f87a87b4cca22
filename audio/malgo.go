//go:build cgo

// The real card: miniaudio through malgo. This is the only file of conch that contains cgo; malgo_open.go finds the device,
// malgo_stream.go is an open one.
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
//   - On PulseAudio a device that fails to open leaves its connection behind, five open files, for good. So a device is
//     looked for before it is opened; attempts that failed all the same are counted, and at maxLeaked no more are made.
//   - malgo holds a lock while it lists devices, and its log function takes the same lock. So no log function is set except
//     while a device is being opened, when the granted buffer, which malgo does not show otherwise, is read from it.
//
// malgo takes one short global lock around a map look-up in every callback; our half locks nothing.

package audio

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <dlfcn.h>
#include "alsa_playback.h"

static void quiet(const char *file, int line, const char *function, int err, const char *fmt, ...) {
	(void)file; (void)line; (void)function; (void)err; (void)fmt;
}

// libasound writes its complaints to standard error, one for each attempt; the errors it returns say the same.
static void conch_quiet_alsa(void) {
	void *lib = dlopen("libasound.so.2", RTLD_NOW);
	int (*set)(void *) = lib ? (int (*)(void *))dlsym(lib, "snd_lib_error_set_handler") : NULL;
	if (set) set((void *)quiet);
}

// While nothing is to be played the callback is answered here, and while nobody listens what is captured is handed over in
// larger pieces: to enter Go three hundred times a second, only to clear a buffer or to write what nobody reads, cost more
// than all the rest of an idle appliance. malgo sets its own callback and offers no other, so ours is put in its
// place in the device. The head is the beginning of ma_device (miniaudio 0.11); that it is laid out so is checked by what must
// stand in it, the pointer that we gave as user data above all, and if it is not, nothing is put anywhere.
typedef void (*conch_data)(void *device, void *out, const void *in, unsigned frames);

typedef struct {
	unsigned resting;           // written by Go
	unsigned long long rested;  // read by Go: callbacks answered here
	unsigned long long late;    // read by Go: callbacks that came when the card had run dry, or had no room left
	long long last;             // ns, when a callback came; 0: none since the start, which Go sets
	long long buffer;           // ns that the card holds; 0: late ones are not counted
	conch_data data;            // malgo's
	unsigned piece;             // of capture: frames that are kept back while it rests
	unsigned room, fill;        // of kept: a piece, and callbacks beyond it
	short kept[];
} conch_gate;

typedef struct {
	void *context;
	int type;
	unsigned rate;
	int state;
	conch_data data;
	void *notify, *stop;
	void *user;
} conch_head;

// A card that runs dry does not tell: miniaudio has it go on, over what it played last. But when a callback comes the card has
// just been filled, or emptied, so that one which is further from the last than the buffer is long was too late.
static void conch_count(conch_gate *g) {
	struct timespec t;
	if (g->buffer == 0 || clock_gettime(CLOCK_MONOTONIC, &t) != 0) return;
	long long now = (long long)t.tv_sec * 1000000000 + t.tv_nsec;
	long long last = __atomic_exchange_n(&g->last, now, __ATOMIC_SEQ_CST);
	if (last != 0 && now - last > g->buffer) __atomic_fetch_add(&g->late, 1, __ATOMIC_SEQ_CST);
}

static void conch_rest(void *device, void *out, const void *in, unsigned frames) {
	conch_gate *g = ((conch_head *)device)->user;
	conch_count(g);
	int resting = __atomic_load_n(&g->resting, __ATOMIC_SEQ_CST);
	if (in != NULL && out == NULL && (resting || g->fill > 0)) { // capture, mono, 16 bit
		if (frames > g->room - g->fill) { // a piece of its own size; what was kept goes first
			if (g->fill > 0) g->data(device, NULL, g->kept, g->fill);
			g->fill = 0;
			g->data(device, NULL, in, frames);
			return;
		}
		memcpy(g->kept + g->fill, in, (size_t)frames * 2);
		g->fill += frames;
		if (resting && g->fill < g->piece) {
			__atomic_fetch_add(&g->rested, 1, __ATOMIC_SEQ_CST);
			return;
		}
		frames = g->fill;
		g->fill = 0;
		g->data(device, NULL, g->kept, frames);
		return;
	}
	if (out == NULL || !resting) {
		g->data(device, out, in, frames);
		return;
	}
	memset(out, 0, (size_t)frames * 2); // mono, 16 bit
	__atomic_fetch_add(&g->rested, 1, __ATOMIC_SEQ_CST);
}

static int conch_install(void *device, conch_gate *g, unsigned rate) {
	conch_head *h = device;
	if (h->user != (void *)g || h->rate != rate || h->data == NULL) return 0;
	g->data = h->data;
	h->data = conch_rest;
	return 1;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gen2brain/malgo"
	"golang.org/x/sys/unix"
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
	C.conch_quiet_alsa()
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

// cDeviceID is miniaudio's device id, a union whose ALSA and PulseAudio members are 256 characters, in C memory: a Go pointer
// in the configuration would break the rules of cgo.
func cDeviceID(name string) unsafe.Pointer {
	size := len(malgo.DeviceID{})
	p := C.calloc(1, C.size_t(size))
	copy(unsafe.Slice((*byte)(p), min(size, 256)-1), name)
	return p
}

func freeC(p unsafe.Pointer) { C.free(p) }

// gate is conch_gate: C memory, since the audio thread looks at it without entering Go.
type gate struct {
	resting atomic.Uint32
	rested  atomic.Uint64
	late    atomic.Uint64
	last    atomic.Int64
}

// gateRoom is more than a callback brings.
const gateRoom = 200 * time.Millisecond

// newGate makes a gate that is freed with s: by then the device is gone.
func newGate(s *malgoStream) *gate {
	piece, room := CardFrames(restPiece), 0
	if s.kind == CaptureDevice {
		room = piece + CardFrames(gateRoom)
	}
	p := C.calloc(1, C.sizeof_conch_gate+2*C.size_t(room))
	g := (*C.conch_gate)(p)
	g.piece, g.room = C.uint(piece), C.uint(room)
	runtime.AddCleanup(s, func(p unsafe.Pointer) { C.free(p) }, p)
	return (*gate)(p)
}

// install puts the gate before malgo's callback of a device that does not run yet; false if that is not possible.
func (g *gate) install(dev *malgo.Device) bool {
	if unsafe.Offsetof(g.rested) != unsafe.Offsetof(C.conch_gate{}.rested) || unsafe.Offsetof(g.late) != unsafe.Offsetof(C.conch_gate{}.late) ||
		unsafe.Offsetof(g.last) != unsafe.Offsetof(C.conch_gate{}.last) || unsafe.Sizeof(*dev) != unsafe.Sizeof(uintptr(0)) {
		return false
	}
	device := **(**unsafe.Pointer)(unsafe.Pointer(dev)) // malgo.Device is one field: a pointer to the pointer to the ma_device
	return C.conch_install(device, (*C.conch_gate)(unsafe.Pointer(g)), CardRate) != 0
}

// count has late callbacks counted of a device that does not run yet.
func (g *gate) count(buffer time.Duration) {
	(*C.conch_gate)(unsafe.Pointer(g)).buffer = C.longlong(buffer)
}

// pcm is conch_pcm: an ALSA playback device, and C memory. One goroutine makes all calls but Rest and Stop, on one thread.
type pcm struct{ p *C.conch_pcm }

// openPCM opens a card by the name that ALSA knows it by; an unix.Errno says why not. A card wakes at the ends of its own periods
// (libasound raises avail_min to one), so what is written should end there too: piece divides it, or is 1 where nothing can.
func openPCM(name string, period, periods, wake int) (pcm, error) {
	d := pcm{(*C.conch_pcm)(C.calloc(1, C.sizeof_conch_pcm))}
	d.p.wake = C.int(wake)
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if err := errno(C.conch_pcm_open(d.p, c, CardRate, C.uint(period), C.uint(periods))); err != nil {
		C.free(unsafe.Pointer(d.p))
		return pcm{}, err
	}
	d.p.piece = 1
	if d.p.period%RewindStep == 0 {
		d.p.piece = d.p.period
	}
	return d, nil
}

func (d pcm) piece() int { return int(d.p.piece) }

func errno(code C.int) error {
	if code < 0 {
		return unix.Errno(-code)
	}
	return nil
}

func (d pcm) granted() (name string, period, buffer int, batch bool) {
	return C.GoString(&d.p.name[0]), int(d.p.period), int(d.p.buffer), d.p.batch != 0
}

func (d pcm) start() error { return errno(C.conch_pcm_start(d.p)) }

// wait returns when there is room for a period, when something is written to the descriptor given, and now and then without.
func (d pcm) wait() error { return errno(C.conch_pcm_wait(d.p)) }

// room is how many frames can be written; delay how long the next of them will wait before it sounds, in frames; hollow how many
// of those that wait are silence that nobody rendered.
func (d pcm) room() (room, delay, hollow int) {
	return int(d.p.avail), int(d.p.delay), int(min(d.p.hollow, C.ulonglong(d.p.buffer)))
}

// taken is how many frames of those written the driver has taken by now.
func (d pcm) taken() int { return int(C.conch_pcm_taken(d.p)) }

// counts says of a driver that copies ahead that it counts as taken what it has copied.
func (d pcm) counts() { d.p.ahead = 0 }

func (d pcm) rewindable() int { return int(C.conch_pcm_rewindable(d.p)) }

func (d pcm) rewind(frames int) (int, error) {
	got := C.conch_pcm_rewind(d.p, C.uint(frames))
	if got < 0 {
		return 0, unix.Errno(-got)
	}
	return int(got), nil
}

// write returns false where the card had run dry, and plays silence instead.
func (d pcm) write(frames []int16) (bool, error) {
	if len(frames) == 0 {
		return true, nil
	}
	n := C.conch_pcm_write(d.p, (*C.int16_t)(unsafe.Pointer(&frames[0])), C.uint(len(frames)))
	return n > 0, errno(n)
}

func (d pcm) silence(frames int) error { return errno(C.conch_pcm_silence(d.p, C.uint(frames))) }

// rest may be called from anywhere, as may stop and rested, as long as close was not.
func (d pcm) rest(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&d.p.resting)), v)
}

func (d pcm) resting() bool { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&d.p.resting))) != 0 }

func (d pcm) stop()          { atomic.StoreUint32((*uint32)(unsafe.Pointer(&d.p.closing)), 1) }
func (d pcm) rested() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.p.rested))) }

func (d pcm) xruns() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.p.xruns))) }

func (d pcm) close() { C.conch_pcm_close(d.p) }
func (d pcm) free()  { C.free(unsafe.Pointer(d.p)) }
