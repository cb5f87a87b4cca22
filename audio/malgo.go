//go:build cgo

// This is the only file of conch that contains cgo: what stands before the callbacks of miniaudio, and an ALSA device that is played
// without it.

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
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gen2brain/malgo"
	"golang.org/x/sys/unix"
)

func quietALSA() { C.conch_quiet_alsa() }

// applicationName must be C memory: miniaudio keeps the pointer. One for the life of the process.
var applicationName = sync.OnceValue(func() *byte { return (*byte)(unsafe.Pointer(C.CString("conch"))) })

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

// newGate makes a gate of a playback or capture device, for its owner to free when that is gone.
func newGate(kind Kind) *gate {
	piece, room := CardFrames(restPiece), 0
	if kind == CaptureDevice {
		room = piece + CardFrames(gateRoom)
	}
	p := C.calloc(1, C.sizeof_conch_gate+2*C.size_t(room))
	g := (*C.conch_gate)(p)
	g.piece, g.room = C.uint(piece), C.uint(room)
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

// countLate has late callbacks counted of a device that does not run yet.
func (g *gate) countLate(buffer time.Duration) {
	(*C.conch_gate)(unsafe.Pointer(g)).buffer = C.longlong(buffer)
}

// alsaPCM is conch_pcm: an ALSA playback device, and C memory. One goroutine makes all calls but Rest and Stop, on one thread.
type alsaPCM struct{ p *C.conch_pcm }

// openPCM opens a card by the name that ALSA knows it by; an unix.Errno says why not. A card wakes at the ends of its own periods
// (libasound raises avail_min to one), so what is written should end there too: piece divides it, or is 1 where nothing can.
func openPCM(name string, period, periods, wake int) (alsaPCM, error) {
	d := alsaPCM{(*C.conch_pcm)(C.calloc(1, C.sizeof_conch_pcm))}
	d.p.wake = C.int(wake)
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if err := errno(C.conch_pcm_open(d.p, c, CardRate, C.uint(period), C.uint(periods))); err != nil {
		C.free(unsafe.Pointer(d.p))
		return alsaPCM{}, err
	}
	d.p.piece = 1
	if d.p.period%RewindStep == 0 {
		d.p.piece = d.p.period
	}
	return d, nil
}

func (d alsaPCM) piece() int { return int(d.p.piece) }

func errno(code C.int) error {
	if code < 0 {
		return unix.Errno(-code)
	}
	return nil
}

func (d alsaPCM) granted() (name string, period, buffer int, batch bool) {
	return C.GoString(&d.p.name[0]), int(d.p.period), int(d.p.buffer), d.p.batch != 0
}

func (d alsaPCM) start() error { return errno(C.conch_pcm_start(d.p)) }

// wait returns when there is room for a period, when something is written to the descriptor given, and now and then without.
func (d alsaPCM) wait() error { return errno(C.conch_pcm_wait(d.p)) }

// avail is how many frames can be written; delay how long the next of them will wait before it sounds, in frames; hollow how many
// of those that wait are silence that nobody rendered.
func (d alsaPCM) avail() (room, delay, hollow int) {
	return int(d.p.avail), int(d.p.delay), int(min(d.p.hollow, C.ulonglong(d.p.buffer)))
}

// taken is how many frames of those written the driver has taken by now.
func (d alsaPCM) taken() int { return int(C.conch_pcm_taken(d.p)) }

// counts says of a driver that copies ahead that it counts as taken what it has copied.
func (d alsaPCM) counts() { d.p.ahead = 0 }

func (d alsaPCM) rewindable() int { return int(C.conch_pcm_rewindable(d.p)) }

func (d alsaPCM) rewind(frames int) (int, error) {
	got := C.conch_pcm_rewind(d.p, C.uint(frames))
	if got < 0 {
		return 0, unix.Errno(-got)
	}
	return int(got), nil
}

// write returns false where the card had run dry, and plays silence instead.
func (d alsaPCM) write(frames []int16) (bool, error) {
	if len(frames) == 0 {
		return true, nil
	}
	n := C.conch_pcm_write(d.p, (*C.int16_t)(unsafe.Pointer(&frames[0])), C.uint(len(frames)))
	return n > 0, errno(n)
}

func (d alsaPCM) silence(frames int) error { return errno(C.conch_pcm_silence(d.p, C.uint(frames))) }

// rest may be called from anywhere, as may stop and rested, as long as close was not.
func (d alsaPCM) rest(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&d.p.resting)), v)
}

func (d alsaPCM) resting() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&d.p.resting))) != 0
}

func (d alsaPCM) stop()          { atomic.StoreUint32((*uint32)(unsafe.Pointer(&d.p.closing)), 1) }
func (d alsaPCM) rested() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.p.rested))) }

func (d alsaPCM) xruns() uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&d.p.xruns))) }

func (d alsaPCM) close() { C.conch_pcm_close(d.p) }
func (d alsaPCM) free()  { C.free(unsafe.Pointer(d.p)) }
