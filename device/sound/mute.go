package sound

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/device/condition"
	"conch/device/control"
)

// Muted means that the capture device is closed: nothing that one has to believe, and the light says so only once it is a
// fact (TURNS.md 6). It survives a restart. Who presses is told in words, and how to end it: hold the button.

// mute is the wish and the fact.
type mute struct {
	mu   sync.Mutex    // one change at a time, and the keeper that it is made with
	told chan struct{} // one token: the fact has changed

	// atomic
	wish   atomic.Bool
	closed atomic.Bool           // no capture device is open, by wish
	unshut atomic.Pointer[error] // why it may still be open, though it was closed
}

// muteLimit is how long a card may take to close: a second (audio.Stream), and the keeper's next look. Our choice.
const muteLimit = 5 * time.Second

// ErrMuted stands where a microphone that does not work has its reason.
var ErrMuted = errors.New("switched off (conch mute off, or hold the button for five seconds)")

// LogMute says what the microphone is from now on.
const LogMute = "mic.muted" // muted

// SetMuted closes the capture device and keeps it closed, or opens it again. When it returns nil, that is so: after muting no
// capture device is open. It survives a restart, unless a condition says that the disk does not take it.
func (c *Card) SetMuted(muted bool) error {
	c.mute.mu.Lock()
	defer c.mute.mu.Unlock()
	if err := c.Mic.SetMuted(muted); err != nil {
		return err
	}
	c.o.Log.Info(LogMute, "muted", muted)
	c.o.KeepMuted(muted)
	return nil
}

// closeCapture is the microphone's hook: it returns when the wish is a fact.
func (c *Card) closeCapture(muted bool) error {
	m := &c.mute
	m.wish.Store(muted)
	k := c.capture.keeper.Load()
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
func (c *Card) captureOff(err error) {
	m := &c.mute
	if err != nil {
		m.unshut.Store(&err)
	} else {
		c.capture.state.Store(&state{err: ErrMuted})
		c.o.Conditions.Clear(condition.SoundMicrophone)
		c.o.Conditions.Clear(condition.SoundFlat)
		c.captureShut(true)
	}
	select {
	case m.told <- struct{}{}:
	default:
	}
}

// captureShut notes the fact, and shows it.
func (c *Card) captureShut(shut bool) {
	c.mute.closed.Store(shut)
	c.o.ShowMuted(shut)
}

// openCapture opens the microphone; from here on it is not muted, whatever comes of it.
func (c *Card) openCapture(s audio.StreamConfig) (audio.Stream, error) {
	c.mute.unshut.Store(nil)
	c.captureShut(false)
	return c.Mic.OpenOn(c.card, s)
}

// Muted says whether no capture device is open because a person wants it so: the fact.
func (c *Card) Muted() bool { return c.mute.closed.Load() }

// WishMuted says whether a person wants it so: the wish.
func (c *Card) WishMuted() bool { return c.mute.wish.Load() }

// Serve serves the switch:
//
//	POST /mute  {"muted": true}  -> {"muted": true}, when it is a fact
func (c *Card) Serve(mux *http.ServeMux) {
	mux.HandleFunc("POST /mute", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Muted bool `json:"muted"`
		}
		if control.Decode(w, r, &q) {
			control.Reply(w, map[string]bool{"muted": q.Muted}, c.SetMuted(q.Muted))
		}
	})
}
