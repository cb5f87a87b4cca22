package state

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"conch/device/condition"
	"conch/device/config"
)

// Memory is a Store at work: nobody waits for a disk to have the volume remembered, and what could not be written is a condition
// and is tried again. Where there is no state directory everything works, and is forgotten.
type Memory struct {
	// fixed
	store *Store // nil: there is no state directory
	conds *condition.Book
	saves chan struct{} // one token: the volume has changed
	asked sync.Mutex    // one change of the volume from the control socket at a time

	// atomic
	volume     atomic.Int64
	volumeFrom atomic.Pointer[string] // as Row.Origin
	night      atomic.Pointer[tonight]
	configured atomic.Pointer[int] // audio.volume as somebody has set it; nil: nobody has
}

// tonight is the volume of the hours of device.quiet; nil: it is day.
type tonight struct {
	percent int
	from    string
}

// muteName is the value that says whether nobody is to be listened to.
const muteName = "mute"

type keptMute struct{ Muted bool }

// retry is how often a full disk is tried again. Our choice.
const retry = 5 * time.Second

// Remember opens the state directory, and says whether the microphone is to be closed. There is a file of that only where
// somebody has wished: one that cannot be read may say that nobody is to be listened to, and a held button is enough to end that.
func Remember(c *config.Config, conds *condition.Book) (m *Memory, muted bool) {
	m = &Memory{conds: conds, saves: make(chan struct{}, 1)}
	volume, from := c.Audio.Volume, c.Origin(volumeKey)
	m.configure(c)
	if c.State.Dir != "" {
		s, err := Open(c.State.Dir)
		m.store = s
		if err == nil {
			s.Tidy()
			var kept keptVolume
			var have bool
			switch have, err = s.Load(volumeName, &kept); {
			case kept.counts(have, c):
				volume, from = kept.Percent, remembered
			case have: // from now on it is this one that a word changes
				m.saves <- struct{}{}
			}
			var wish keptMute
			wished, unread := s.Load(muteName, &wish)
			muted = unread != nil || wished && wish.Muted
			err = errors.Join(err, unread)
			if c.StateUnsure && s.Fresh() { // what a person wished may stand elsewhere
				muted = true
				err = errors.Join(err, s.Save(muteName, keptMute{true}))
			}
		}
		if err != nil {
			m.conds.Set(condition.StateUnwritable, err.Error(), "free some space, or set state.dir; until then volume and usage are forgotten at restart")
		}
	}
	m.setVolume(volume, from)
	return m, muted
}

// Dir is the state directory; empty: there is none.
func (m *Memory) Dir() string {
	if m.store == nil {
		return ""
	}
	return m.store.Dir
}

// Run writes the volume until ctx ends, and tries again what could not be written.
func (m *Memory) Run(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	save := func() { _ = m.saveVolume() } // the condition says it
	again := time.NewTicker(retry)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			select {
			case <-m.saves:
				save()
			default:
			}
			return nil
		case <-m.saves:
			save()
		case <-again.C:
			switch {
			case m.store.Owes():
				_ = m.Wrote(m.store.Settle())
			case m.conds.Holds(condition.StateUnwritable): // nothing has wanted to be written since
				_ = m.Wrote(m.store.Writable())
			}
		}
	}
}

func (m *Memory) saveVolume() error {
	select {
	case <-m.saves: // this is it
	default:
	}
	return m.Save(volumeName, keptVolume{int(m.volume.Load()), m.configured.Load()})
}

// Wrote makes a condition of what could not be written, and takes it back when err is nil.
func (m *Memory) Wrote(err error) error {
	if err != nil {
		m.conds.Set(condition.StateUnwritable, err.Error(), "free some space, or set state.dir; until then what changes is forgotten at restart")
	} else {
		m.conds.Clear(condition.StateUnwritable)
	}
	return err
}

// Save replaces name by v, as Store.Save does. What could not be written is a condition.
func (m *Memory) Save(name string, v any) error {
	if m.store == nil {
		return nil
	}
	return m.Wrote(m.store.Save(name, v))
}

// Load reads name into v, where there is one. What cannot be read is a condition, which says what is lost by it.
func (m *Memory) Load(name string, v any, lost string) {
	if m.store == nil {
		return
	}
	if _, err := m.store.Load(name, v); err != nil {
		m.conds.Set(condition.StateUnreadable, err.Error(), lost+"; look at the disk if this comes again")
	}
}

// Forget removes name for good.
func (m *Memory) Forget(name string) {
	if m.store == nil {
		return
	}
	if err := m.store.Remove(name); err != nil {
		_ = m.Wrote(err)
	}
}

// KeepMuted remembers whether nobody is to be listened to, before it returns.
func (m *Memory) KeepMuted(muted bool) { _ = m.Save(muteName, keptMute{muted}) } // the condition says it

// Volume is the volume in percent, as it sounds.
func (m *Memory) Volume() int {
	if n := m.night.Load(); n != nil {
		return n.percent
	}
	return int(m.volume.Load())
}

// Night has the volume be at most so many percent until Day; what is asked for meanwhile is not kept.
func (m *Memory) Night(most int) {
	m.night.Store(&tonight{min(most, int(m.volume.Load())), quietHours})
}

// Day brings back the volume that is kept.
func (m *Memory) Day() { m.night.Store(nil) }

// VolumeFrom is where it comes from, as config.Row.Origin says it.
func (m *Memory) VolumeFrom() string {
	if n := m.night.Load(); n != nil {
		return n.from
	}
	return *m.volumeFrom.Load()
}

// KeepVolume remembers a volume that was asked for. It does not wait.
func (m *Memory) KeepVolume(percent int) {
	if m.night.Load() != nil {
		m.night.Store(&tonight{percent, untilDay})
		return
	}
	m.setVolume(percent, remembered)
	m.saveSoon()
}

// ConfigureVolume takes and keeps a volume that was written down while the device runs: the latest wish counts.
func (m *Memory) ConfigureVolume(c *config.Config) {
	m.configure(c)
	m.setVolume(c.Audio.Volume, c.Origin(volumeKey))
	m.saveSoon()
}

// configure notes what somebody has set.
func (m *Memory) configure(c *config.Config) {
	if c.Unset(volumeKey) {
		m.configured.Store(nil)
		return
	}
	volume := c.Audio.Volume
	m.configured.Store(&volume)
}

func (m *Memory) setVolume(percent int, from string) {
	m.volume.Store(int64(percent))
	m.volumeFrom.Store(&from)
}

func (m *Memory) saveSoon() {
	select {
	case m.saves <- struct{}{}:
	default: // one is waiting already; the writer takes the newest value
	}
}
