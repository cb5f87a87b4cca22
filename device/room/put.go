package room

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"

	"conch/companions/round"
	"conch/companions/talk"
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

// Put asks as if text had been spoken, to whom it is put in particular; it returns when the question is in the inboxes.
func (d *Driver) Put(text string, to ...round.Participant) { d.put(newTurn(), text, to...) }

// put: the words are known at once, so that a round costs nothing even where nobody else is.
func (d *Driver) put(id turn.ID, text string, to ...round.Participant) {
	d.post(talk.Asked{Turn: id, To: to}) // before the turn begins, so that its end finds it
	d.host.Post(turn.Asked{At: d.o.Now(), Turn: id, Text: text})
	d.words(id, text)
}

// Ask asks as if the text had been spoken, and waits until the turn has ended.
func (d *Driver) Ask(ctx context.Context, text string, to ...round.Participant) (control.Turn, error) {
	id := newTurn()
	ch := d.waiters.expect(id)
	defer d.waiters.forget(id)
	d.put(id, text, to...)
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
