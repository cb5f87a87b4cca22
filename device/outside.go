package device

import (
	"time"

	"conch/companions"
	"conch/coordinator"
	"conch/device/join"
	"conch/device/sound"
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

// Sound is the microphone and the loudspeaker.
func (d *Device) Sound() *sound.Card { return d.sound }

// Audible says that the card has not yet played the last sample that is not silence, LastAudible when it has.
func (d *Device) Audible() bool { return d.audible() }

// LastAudible: see Audible.
func (d *Device) LastAudible() time.Duration { return d.speaker.LastAudible() }
