package device

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/control"
	"conch/gpio"
)

// Muted means that the capture device is closed: nothing that one has to believe, and the light says so only once it is a
// fact (TURNS.md 6). It survives a restart. Who presses is told in words, and how to end it: hold the button.

// mute is the wish and the fact.
type mute struct {
	mu     sync.Mutex    // one change at a time
	told   chan struct{} // one token: the fact has changed
	wish   atomic.Bool
	closed atomic.Bool           // no capture device is open, by wish
	unshut atomic.Pointer[error] // why it may still be open, though it was closed
}

// muteLimit is how long a card may take to close: a second (audio.Stream), and the keeper's next look. Our choice.
const muteLimit = 5 * time.Second

// errMuted stands where a microphone that does not work has its reason.
var errMuted = errors.New("switched off (conch mute off, or hold the button for five seconds)")

// logMute says what the microphone is from now on.
const logMute = "mic.muted" // muted

// SetMuted closes the capture device and keeps it closed, or opens it again. When it returns nil, that is so: after muting no
// capture device is open. It survives a restart, unless a condition says that the disk does not take it.
func (d *Device) SetMuted(muted bool) error {
	d.mute.mu.Lock()
	defer d.mute.mu.Unlock()
	if err := d.mic.SetMuted(muted); err != nil {
		return err
	}
	d.log.Info(logMute, "muted", muted)
	d.memory.KeepMuted(muted)
	return nil
}

// closeCapture is the microphone's hook: it returns when the wish is a fact.
func (d *Device) closeCapture(muted bool) error {
	m := &d.mute
	m.wish.Store(muted)
	k := d.keepers.microphone.Load()
	if k == nil { // not before Run, which asks for the wish
		return nil
	}
	k.SetOff(muted)
	if !muted {
		return nil // it may take as long as the card does
	}
	limit := time.NewTimer(muteLimit)
	defer limit.Stop()
	for !m.closed.Load() {
		if why := m.unshut.Load(); why != nil {
			return fmt.Errorf("mute: the microphone could not be closed: %w; pull its plug", *why)
		}
		select {
		case <-m.told:
		case <-limit.C:
			return fmt.Errorf("mute: the microphone has not been closed within %s; pull its plug", muteLimit)
		}
	}
	return nil
}

// captureOff is told by the keeper that it has closed the device by wish.
func (d *Device) captureOff(err error) {
	m := &d.mute
	if err != nil {
		m.unshut.Store(&err)
	} else {
		d.capture.Store(&soundState{err: errMuted})
		d.conds.Clear(condition.SoundMicrophone)
		d.conds.Clear(condition.SoundFlat)
		d.captureShut(true)
	}
	select {
	case m.told <- struct{}{}:
	default:
	}
}

// captureShut notes the fact, and shows it.
func (d *Device) captureShut(shut bool) {
	d.mute.closed.Store(shut)
	d.lights.muted(shut)
}

// openCapture opens the microphone; from here on it is not muted, whatever comes of it.
func (d *Device) openCapture(c audio.StreamConfig) (audio.Stream, error) {
	d.mute.unshut.Store(nil)
	d.captureShut(false)
	return d.mic.OpenOn(d.card, c)
}

// Muted says whether no capture device is open because a person wants it so: the fact.
func (d *Device) Muted() bool { return d.mute.closed.Load() }

// nothingCaptured is what a person is told who was not heard; empty: that there is no microphone.
func (d *Device) nothingCaptured() turn.Words {
	if d.mic.Muted() {
		return turn.WordsMuted
	}
	return ""
}

// unmuteByHand ends muting when the button was held for long: with the microphone closed nobody can ask for it aloud.
func (d *Device) unmuteByHand(e gpio.Event) {
	if e.Kind != gpio.LongPressed || !d.mute.wish.Load() {
		return
	}
	d.spawn(func() { // opening is not waited for
		if err := d.SetMuted(false); err != nil {
			d.log.Error(logMute, "err", err)
			return
		}
		d.loud().Cue(turn.CueReady, d.speaker.Generation())
	})
}

// muteMux serves the switch:
//
//	POST /mute  {"muted": true}  -> {"muted": true}, when it is a fact
func (d *Device) muteMux(mux *http.ServeMux) {
	mux.HandleFunc("POST /mute", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Muted bool `json:"muted"`
		}
		if control.Decode(w, r, &q) {
			control.Reply(w, map[string]bool{"muted": q.Muted}, d.SetMuted(q.Muted))
		}
	})
}
