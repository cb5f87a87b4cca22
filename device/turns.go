package device

import (
	"context"
	"fmt"

	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/announce"
)

// turnEnded is called by the coordinator once per turn; it does not block.
func (d *Device) turnEnded(r coordinator.Record) {
	d.turns.Add(1)
	d.lights.TurnEnded(r)
	t := d.room.TurnEnded(r)
	if d.opts.OnTurn != nil {
		d.opts.OnTurn(t)
	}
}

// spent is told of a press of which no turn comes: the button may take the next tap as a beginning, and the floor is free.
func (d *Device) spent(id turn.ID) {
	d.presses.recording.ended(id)
	d.room.Spent(id)
}

// speech is told by the coordinator what becomes of an answer.
func (d *Device) speech(e coordinator.SpeechEvent) {
	d.lights.Speech(e)
	d.room.Speech(e)
}

// Say has the companion say text as soon as in allows, and waits for the outcome. What has not begun when ctx ends is taken back:
// whoever asked is not there to hear what became of it.
func (d *Device) Say(ctx context.Context, text string, in inject.Injection) (string, error) {
	in.Prompt = announce.WordForWord + text
	select {
	case o := <-d.coordinator.Announce(ctx, coordinator.Announcement{Injection: in, Text: text}):
		return o.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("say: %w", ctx.Err())
	}
}

// Hush silences the device without a press, as the room does.
func (d *Device) Hush() { d.coordinator.Hush(d.now(), d.speaker.Drop()) }
