package gpio

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Volume is what a volume key asks for.
type Volume int

// What there is to ask for.
const (
	Softer Volume = -1
	Mute   Volume = 0
	Louder Volume = 1
)

// volumeKeys by code (linux/input-event-codes.h).
var volumeKeys = map[uint16]Volume{113: Mute, 114: Softer, keyLouder: Louder}

const keyLouder = 115 // KEY_VOLUMEUP

// volumeOf is what an event of a device asks for; a key that is held repeats, but for mute.
func volumeOf(kind, code uint16, value int32) (Volume, bool) {
	v, ok := volumeKeys[code]
	return v, ok && kind == evKey && value != valueUp && (v != Mute || value != valueRepeat)
}

// VolumeKeys are those of every input device that has them and no letters: of speakerphones and remotes, and not of a keyboard, whose
// owner may want them elsewhere. They are not grabbed. One that is the button as well is grabbed by that, which brings them along
// (KeysOptions.Volume).
type VolumeKeys struct {
	Dev   string        // where input/ is; empty: /dev
	Every time.Duration // how often one looks for devices; 0: 5 s
}

// Run tells of each until ctx ends. Devices come and go.
func (v VolumeKeys) Run(ctx context.Context, on func(Volume)) error {
	var running sync.WaitGroup
	defer running.Wait()
	var mu sync.Mutex
	open := map[string]bool{}
	look := time.NewTicker(cmp.Or(v.Every, 5*time.Second))
	defer look.Stop()
	for {
		all, _ := InputDevices(v.Dev)
		for _, d := range all {
			mu.Lock()
			known := open[d.Path]
			mu.Unlock()
			if known || d.Typed || !d.Volume {
				continue
			}
			f, err := os.OpenFile(d.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
			if err != nil {
				continue // it has gone again
			}
			mu.Lock()
			open[d.Path] = true
			mu.Unlock()
			running.Go(func() {
				_ = readVolume(ctx, f, on)
				_ = f.Close()
				mu.Lock()
				defer mu.Unlock()
				delete(open, d.Path)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// readVolume reads one device until it is gone or ctx ends.
func readVolume(ctx context.Context, f *os.File, on func(Volume)) error {
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	var buf [64 * 24]byte
	for {
		n, err := f.Read(buf[:len(buf)/inputEvent*inputEvent])
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || n == 0 {
			return errors.Join(fmt.Errorf("%w: the device is gone", ErrNoKeys), err)
		}
		for ev := range slices.Chunk(buf[:n-n%inputEvent], inputEvent) {
			kind, code := binary.NativeEndian.Uint16(ev[inputTime:]), binary.NativeEndian.Uint16(ev[inputTime+2:])
			if v, ok := volumeOf(kind, code, int32(binary.NativeEndian.Uint32(ev[inputTime+4:]))); ok {
				on(v)
			}
		}
	}
}
