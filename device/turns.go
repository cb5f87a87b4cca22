package device

import (
	"context"
	"fmt"
	"time"

	"conch/companions/skills"
	"conch/coordinator"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/announce"
	"conch/device/control"
)

const (
	logAgain = "turn.again"    // seconds: the last answer is said once more, because somebody pressed twice
	againTTL = 5 * time.Second // for the floor of a room
)

// turnEnded is called by the coordinator once per turn; it does not block.
func (d *Device) turnEnded(r coordinator.Record) {
	d.turns.Add(1)
	d.lights.TurnEnded(r)
	d.again.Ended(r)
	go d.missed.Heard(string(r.Turn), r.Whole || r.Reason == turn.Done.String()) // it may wait for the disk
	t := d.room.TurnEnded(r)
	d.feed.Post(control.EventTurn, t)
	if d.opts.OnTurn != nil {
		d.opts.OnTurn(t)
	}
}

// sayAgain says the last answer once more. The two presses were no question, however much of one was recorded: the second begins as it
// is released, and is cut here.
func (d *Device) sayAgain() {
	pcm := d.again.Last()
	if pcm == nil || d.spentAt.Load() > int64(d.now()-time.Second) { // who hammers at an alert wants it to end, and no more
		return
	}
	d.log.Info(logAgain, "seconds", len(pcm)/skills.Rate)
	d.coordinator.HushRoom(d.now(), d.speaker.Drop())
	d.coordinator.InjectSound(context.Background(), pcm, "again", againTTL)
}

// spent is told of a press of which no turn comes: the button may take the next tap as a beginning, and the floor is free.
func (d *Device) spent(id turn.ID) {
	d.spentAt.Store(int64(d.now()))
	d.presses.recording.ended(id)
	d.room.Spent(id)
}

// askKept is told of a question that was kept for a session: in the room it asks for an answer as a press does. It says whether nobody else
// is there to give one.
func (d *Device) askKept(id turn.ID) (alone bool) {
	alone = d.room.Alone()
	d.room.Pressed(d.now(), id, alone)
	return alone
}

// elsewhere is what the room has heard of persons, and whether a companion that lives elsewhere has the floor.
func (d *Device) elsewhere() (spoken uint64, companion bool) {
	if p := d.floor.Load(); p != nil {
		c, ok := p.Companion()
		companion = ok && !d.room.Houses(c)
	}
	return d.room.Spoken(), companion
}

// speech is told by the coordinator what becomes of an answer.
func (d *Device) speech(e coordinator.SpeechEvent) {
	d.lights.Speech(e)
	d.room.Speech(e)
}

// Say has the companion say text as soon as in allows, and waits for the outcome. What has not begun when ctx ends is taken back:
// whoever asked is not there to hear what became of it.
func (d *Device) Say(ctx context.Context, text string, in inject.Injection) (string, error) {
	in.Prompt = announce.WordForWord(text)
	select {
	case o := <-d.coordinator.Announce(ctx, coordinator.Announcement{Injection: in, Text: text}):
		d.missed.Said(text, o)
		return o.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("say: %w", ctx.Err())
	}
}

// Hush silences the device without a press, as the room does.
func (d *Device) Hush() { d.coordinator.Hush(d.now(), d.speaker.Drop()) }
