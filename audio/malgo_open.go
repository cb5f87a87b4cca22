//go:build cgo

package audio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gen2brain/malgo"
)

// OpenPlayback implements Card.
func (m *MalgoCard) OpenPlayback(c StreamConfig, render func(out []int16)) (Stream, error) {
	return m.open(PlaybackDevice, c, render)
}

// OpenCapture implements Card.
func (m *MalgoCard) OpenCapture(c StreamConfig, take func(in []int16)) (Stream, error) {
	return m.open(CaptureDevice, c, take)
}

func (m *MalgoCard) open(kind Kind, c StreamConfig, fn func([]int16)) (Stream, error) {
	c.Period = cmp.Or(c.Period, 5*time.Millisecond)
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
	return slices.DeleteFunc(all, func(d Device) bool { return d.Kind != kind }), err
}

// alsaPlaces: the bare hardware first, since miniaudio converts what must be converted and the period is then the card's own.
func alsaPlaces(id string) []place {
	name := strings.TrimPrefix(id, "alsa:")
	if !strings.HasPrefix(name, "CARD=") {
		return []place{{BackendALSA, id, name}}
	}
	return []place{{BackendALSA, id, "hw:" + name}, {BackendALSA, id, "plughw:" + name}}
}

// present says whether PulseAudio answers through c and has the device. A connection that died with its server fails here,
// where nothing is left behind.
func (m *MalgoCard) present(c *malgoContext, kind Kind, name string) error {
	if m.leaked.Load() >= maxLeaked {
		return fmt.Errorf("%d attempts failed and left their connections behind: restart conch", maxLeaked)
	}
	infos, err := c.Devices(malgoKind(kind))
	if err != nil {
		return err
	}
	for _, i := range infos {
		if id, _, _ := strings.Cut(string(i.ID[:]), "\x00"); id == name || name == "" {
			return nil
		}
	}
	return malgo.ErrDoesNotExist
}

func malgoKind(kind Kind) malgo.DeviceType {
	if kind == CaptureDevice {
		return malgo.Capture
	}
	return malgo.Playback
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
