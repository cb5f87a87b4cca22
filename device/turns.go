package device

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/control"
)

// waiters are those who asked something and wait for the turn's end.
type waiters struct {
	mu sync.Mutex
	of map[turn.ID]chan control.Turn // each with room for one
}

// expect notes that somebody waits for the end of a turn. The turn must not have begun.
func (w *waiters) expect(id turn.ID) <-chan control.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[turn.ID]chan control.Turn{}
	}
	ch := make(chan control.Turn, 1)
	w.of[id] = ch
	return ch
}

func (w *waiters) forget(id turn.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, id)
}

func (w *waiters) tell(t control.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch, ok := w.of[t.Turn]; ok {
		ch <- t // room for one, and each turn ends once
		delete(w.of, t.Turn)
	}
}

// turnEnded is called by the coordinator once per turn; it does not block.
func (d *Device) turnEnded(r coordinator.Record) {
	d.turns.Add(1)
	t := control.Turn{Event: "turn.end", Device: d.cfg.Device.Name, Who: d.nameOf(d.voices.whose(r.Who)), Record: r}
	d.last.Store(&t)
	d.waiters.tell(t)
	d.lights.turnEnded(r)
	if d.room != nil {
		d.talk.ended(r)
	}
	if d.opts.OnTurn != nil {
		d.opts.OnTurn(t)
	}
}

// speech is told by the coordinator what becomes of an answer.
func (d *Device) speech(e coordinator.SpeechEvent) {
	d.lights.speech(e)
	d.talk.speech(e)
}

// Ask asks as if the text had been spoken, and waits until the turn has ended.
func (d *Device) Ask(ctx context.Context, text string, to ...round.Participant) (control.Turn, error) {
	id := newTurn()
	ch := d.waiters.expect(id)
	defer d.waiters.forget(id)
	d.ask(id, text, to...)
	select {
	case t := <-ch:
		return t, nil
	case <-ctx.Done():
		return control.Turn{}, fmt.Errorf("ask: the turn %s has not ended: %w", id, ctx.Err())
	}
}

// newTurn names a turn that does not begin with a press. Eight digits where the coordinator's own have six, so that they differ.
func newTurn() turn.ID {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return turn.ID("t-" + hex.EncodeToString(b[:]))
}

// announcement is what the model is told so that an announcement is said as it was written.
const announcement = "Say this to the room, word for word: "

// sayTTL is how long an announcement may wait for a live turn or for the connection.
const sayTTL = time.Minute

// Say has the companion say text when it is quiet, and waits for the outcome. What has not begun when ctx ends is taken back:
// whoever asked is not there to hear what became of it.
func (d *Device) Say(ctx context.Context, text string) (string, error) {
	select {
	case o := <-d.coordinator.InjectWhile(ctx, announcement+text, text, coordinator.PriorityNormal, "", sayTTL):
		return o.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("say: %w", ctx.Err())
	}
}

// Why says in plain sentences who spoke last and why. Alone there is no vote, and still something to tell.
func (d *Device) Why() string {
	if d.room != nil {
		return d.room.Why()
	}
	if t := d.last.Load(); t != nil {
		return t.Why()
	}
	return "Nobody has said anything here yet."
}

// Hush silences the device without a press, as the room does.
func (d *Device) Hush() { d.coordinator.Hush(d.now(), d.speaker.Drop()) }

// Press and Release move the contact of the control socket's button.
func (d *Device) Press() { d.hand.Set(true) }

// Release: see Press.
func (d *Device) Release() { d.hand.Set(false) }
