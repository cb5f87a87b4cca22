package room

import (
	"sync"

	"conch/companions/talk"
	"conch/coordinator/turn"
)

// spentPress finds the press that began no turn: the room and the coordinator are told of it side by side, and either may be the first
// that knows.
type spentPress struct {
	mu            sync.Mutex
	pressed, over turn.ID // the last press that was told, and the last one that began no turn
}

// Spent: no turn comes of the press of id, which may be about to be told. Else it would have the floor for as long as a question may take.
func (d *Driver) Spent(id turn.ID) { d.spent.note(d, &d.spent.over, id) }

// note puts id into one of the two, and ends a press that is in both.
func (s *spentPress) note(d *Driver, in *turn.ID, id turn.ID) {
	s.mu.Lock()
	*in = id
	both := s.over == s.pressed
	s.mu.Unlock()
	if both && d.Room != nil {
		d.post(talk.TurnEnded{Turn: id, Generation: d.host.Generation()})
	}
}
