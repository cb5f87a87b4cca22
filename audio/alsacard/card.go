// Package alsacard is a sound card for tests and benchmarks: a real ALSA device as far as libasound and everything above it
// can tell, made of a clock. It is a plug-in in C (plugin/pcm_conch.c), compiled when it is first needed (gcc and
// libasound2-dev), loaded by libasound from a private configuration, and found by miniaudio under its name.
//
//	card := alsacard.Start(t, alsacard.Options{})
//	m, _ := audio.NewCard("alsa", log)
//	s, _ := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, speaker.Render)
//	pressed := time.Now()
//	speaker.Hush()
//	…
//	last, ok := card.Log().LastAudible(pressed, time.Time{}, 32) // last.Sub(pressed) is press to silence
//
// What it cannot say: a driver's own time to stop, USB's queues, a codec's delay (about 1 ms), the amplifier.
//
// Times. The plug-in stamps every frame with CLOCK_MONOTONIC, which is what Go's time.Time carries beside the calendar; Time
// and Monotonic turn one into the other (to within a microsecond).
package alsacard

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:embed plugin/pcm_conch.c
var source string

// Options of a card. Zero values: "conchcard", 48 kHz, 2 channels, periods of 16 frames and more, a stale ring on underrun.
type Options struct {
	Name      string
	Rate      int
	Channels  int
	MinPeriod int // frames; a card that refuses small periods
	MaxBuffer int // frames; one that refuses long buffers
	Rewind    Rewind
	Batch     bool // it has copied a period ahead, which nobody can take back, and says so
	Drift     int  // millionths by which it runs faster than it says
	Silence   bool // on underrun play silence; the kernel's own way is to play the stale ring again
	Mic       []int16
}

// Rewind is what becomes of frames that are taken back.
type Rewind string

// The ways in which cards give back, and do not.
const (
	RewindAll   Rewind = ""      // all that it has not played
	RewindNone  Rewind = "none"  // it says that it gives nothing back
	RewindLies  Rewind = "lies"  // it says that it gave them back, and plays them
	RewindError Rewind = "error" // it says that it would, and answers with an error
	RewindZero  Rewind = "zero"  // it says that it would, and gives none
	RewindHalf  Rewind = "half"  // it gives half of what it is asked for
)

// Card is a running simulation. Its methods may be called from any goroutine.
type Card struct {
	name, dir string
	control   []byte // mapped
}

// The control file; struct control in the plug-in.
const (
	offUnplugged, offMicEpoch, offOpens, offCloses = 0, 4, 8, 12
	offUnderruns, offOverruns                      = 16, 20
	offUnderrunFrames, offPlayed, offCaptured      = 24, 32, 40
	offPeriod, offBuffer, offChannels, offPolls    = 48, 52, 56, 60
	controlSize                                    = 64
)

// Stats is what the card counted.
type Stats struct {
	Opens, Closes  int // of both halves
	Underruns      int // how often the card came to the end of what was written, once anything was
	Overruns       int
	UnderrunFrames uint64 // frames it played (stale, or silence) for want of new ones
	PlayedFrames   uint64 // frames that were written
	CapturedFrames uint64
	Period, Buffer int // frames, granted to the last playback
	Channels       int
	Polls          int // grows without end when somebody polls a card that is gone
}

// Start makes a card for the length of a test and points libasound at it. Where it cannot be built the test is skipped with
// the reason, or fails where CI is set.
func Start(t testing.TB, o Options) *Card {
	t.Helper()
	c := ForChild(t, o)
	t.Setenv("ALSA_CONFIG_PATH", c.ConfigPath())
	return c // the mapping stays: a stream that was abandoned may still look at it
}

// ForChild makes a card for another process, which finds it if its ALSA_CONFIG_PATH is ConfigPath.
func ForChild(t testing.TB, o Options) *Card {
	t.Helper()
	dir := t.TempDir()
	if err := Build(dir); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	c, err := New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Build compiles the plug-in into dir.
func Build(dir string) error {
	if runtime.GOOS != "linux" {
		return errors.New("alsacard: only Linux has ALSA")
	}
	src := filepath.Join(dir, "pcm_conch.c")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		return err
	}
	out, err := exec.Command("gcc", "-O2", "-Wall", "-fPIC", "-DPIC", "-shared", "-o", filepath.Join(dir, library), src, "-lasound").CombinedOutput()
	if err != nil {
		return fmt.Errorf("alsacard: build the plug-in: %w (apt-get install gcc libasound2-dev): %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

const library = "libasound_module_pcm_conch.so"

// New writes the configuration of a card whose plug-in Build has put into dir. Nothing is found under its name until
// ALSA_CONFIG_PATH is ConfigPath (Start does that).
func New(dir string, o Options) (*Card, error) {
	o.Name = cmp.Or(o.Name, "conchcard")
	o.Rate, o.Channels, o.MinPeriod = orElse(o.Rate, 48000), orElse(o.Channels, 2), orElse(o.MinPeriod, 16)
	xrun := "replay"
	if o.Silence {
		xrun = "silence"
	}
	batch, rewind := 0, o.Rewind
	if o.Batch {
		batch = 1
	}
	if rewind == RewindAll {
		rewind = "all"
	}
	c := &Card{name: o.Name, dir: dir}
	conf := fmt.Sprintf(`# Without the usual definitions: a test must not find this machine's own cards.
pcm_type.conch { lib %q }
pcm.%s {
	type conch
	control %q
	log %q
	mic %q
	xrun %s
	rate %d
	channels %d
	min_period %d
	max_buffer %d
	rewind %s
	batch %d
	drift %d
	hint { show on description "A card made of a clock" }
}
`, filepath.Join(dir, library), o.Name, c.path("control"), c.path("log"), c.path("mic"), xrun, o.Rate, o.Channels, o.MinPeriod,
		orElse(o.MaxBuffer, 65536), rewind, batch, o.Drift)
	for name, content := range map[string][]byte{"asound.conf": []byte(conf), "control": make([]byte, controlSize), "log": nil, "mic": pcm(o.Mic)} {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("alsacard: %w", err)
		}
	}
	f, err := os.OpenFile(c.path("control"), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("alsacard: %w", err)
	}
	defer func() { _ = f.Close() }() // the mapping stays
	if c.control, err = unix.Mmap(int(f.Fd()), 0, controlSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("alsacard: map the control file: %w", err)
	}
	return c, nil
}

func orElse(v, other int) int {
	if v == 0 {
		return other
	}
	return v
}

func pcm(samples []int16) []byte {
	b := make([]byte, 0, 2*len(samples))
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

func (c *Card) path(name string) string { return filepath.Join(c.dir, name) }

// ConfigPath is what ALSA_CONFIG_PATH must be.
func (c *Card) ConfigPath() string { return c.path("asound.conf") }

// Device is the card's identity for audio.StreamConfig.
func (c *Card) Device() string { return "alsa:" + c.name }

// Name is what libasound knows it by.
func (c *Card) Name() string { return c.name }

// Log is the card's log, read from its beginning.
func (c *Card) Log() *Log { return &Log{path: c.path("log")} }

func (c *Card) word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&c.control[off])) }

func (c *Card) long(off int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.control[off]))) // a page begins at a multiple of 8
}

// Unplug pulls the cable: whoever uses the card learns it at its next period, and it cannot be opened.
func (c *Card) Unplug() { atomic.StoreUint32(c.word(offUnplugged), 1) }

// Halt lets the card stand still, without an error: nothing is played any more, and nobody woken. Replug ends it for who opens it anew.
func (c *Card) Halt() { atomic.StoreUint32(c.word(offUnplugged), 2) }

// Replug puts it back. A stream that was open stays dead, as it would.
func (c *Card) Replug() { atomic.StoreUint32(c.word(offUnplugged), 0) }

// Feed lets the microphone hear pcm (mono, the card's rate) from now on, then silence.
func (c *Card) Feed(samples []int16) error {
	atomic.AddUint32(c.word(offMicEpoch), 1)                // odd: silence, lest a piece of it be heard that is not the beginning
	err := os.WriteFile(c.path("mic"), pcm(samples), 0o600) // the same file: the card has it open
	atomic.AddUint32(c.word(offMicEpoch), 1)
	return err
}

// Stats reads the counters.
func (c *Card) Stats() Stats {
	n := func(off int) int { return int(atomic.LoadUint32(c.word(off))) }
	return Stats{Opens: n(offOpens), Closes: n(offCloses), Underruns: n(offUnderruns), Overruns: n(offOverruns),
		UnderrunFrames: c.long(offUnderrunFrames), PlayedFrames: c.long(offPlayed), CapturedFrames: c.long(offCaptured),
		Period: n(offPeriod), Buffer: n(offBuffer), Channels: n(offChannels), Polls: n(offPolls)}
}

// The pair that ties Go's clock to CLOCK_MONOTONIC: time.Time reads the same clock, but from an origin it keeps to itself.
var origin, originNS = func() (time.Time, int64) {
	best := time.Hour
	var at time.Time
	var ns int64
	for range 20 { // the narrowest of some pairs, should the goroutine be interrupted between the two readings
		before := time.Now()
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		if d := time.Since(before); d < best {
			best, at, ns = d, before.Add(d/2), ts.Nano()
		}
	}
	return at, ns
}()

// Time is the Go time of a reading of CLOCK_MONOTONIC.
func Time(ns int64) time.Time { return origin.Add(time.Duration(ns - originNS)) }

// Monotonic is the reading of CLOCK_MONOTONIC at t, which must come from time.Now.
func Monotonic(t time.Time) int64 { return originNS + int64(t.Sub(origin)) }
