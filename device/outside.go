package device

import (
	"context"
	"fmt"
	"time"

	"conch/audio"
	"conch/companions"
	"conch/coordinator"
	"conch/device/join"
	"conch/device/wait"
)

// What rehearsals and benchmarks, which stand around whole devices, see of one besides what a person sees.

// Room is the way to the other companions; nil: one companion and no broker.
func (d *Device) Room() *companions.Room { return d.room.Room }

// Coordinator owns the turns.
func (d *Device) Coordinator() *coordinator.Coordinator { return d.coordinator }

// Put asks as Ask does, and returns when the question is in the inboxes.
func (d *Device) Put(text string) { d.room.Put(text) }

// Settled says that the device has done what follows from what it was told.
func (d *Device) Settled() bool {
	return d.coordinator.Settled() && d.room.Settled()
}

// Pairing is the person's way into a room, and out of it.
func (d *Device) Pairing() *join.Pairing { return d.pairing }

// Restarting says that Run is about to return ErrRestart.
func (d *Device) Restarting() bool { return d.restarting.Load() }

// WaitSound waits for the loudspeaker's device.
func (d *Device) WaitSound(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := wait.Until(ctx, func() bool { return d.sound.Sounds() && d.coordinator.Online() })
	if err != nil {
		return fmt.Errorf("no sound after %s: %s", limit, d.sound.Words())
	}
	return nil
}

// Granted is what the loudspeaker's device gave.
func (d *Device) Granted() audio.Granted { return d.sound.Granted() }

// SetMuted closes the microphone, or opens it again (sound.Card).
func (d *Device) SetMuted(muted bool) error { return d.sound.SetMuted(muted) }

// Muted says whether no microphone is open because a person wants it so.
func (d *Device) Muted() bool { return d.sound.Muted() }

// Audible says that the card has not yet played the last sample that is not silence, LastAudible when it has.
func (d *Device) Audible() bool { return d.audible() }

// LastAudible: see Audible.
func (d *Device) LastAudible() time.Duration { return d.speaker.LastAudible() }
