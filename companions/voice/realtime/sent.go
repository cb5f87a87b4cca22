package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"conch/coordinator/turn"
)

type sentKind uint8

const (
	sentSession sentKind = iota + 1
	sentHistory
	sentText
	sentOutput
	sentClear
	sentCommit
	sentCreate
	sentCancel
	sentTruncate
	sentDelete
)

func (k sentKind) String() string {
	return [...]string{"?", "session.update", "history", "text", "tool output", "clear", "commit", "response.create", "response.cancel", "truncate",
		"delete"}[k]
}

// sentEvent is what an error's event_id leads back to.
type sentEvent struct {
	id   string
	kind sentKind
	turn turn.ID

	response turn.ResponseID // of sentCancel
}

// sentEvents remembers the latest.
type sentEvents struct {
	ring [64]sentEvent
	next int
}

func (s *sentEvents) add(e sentEvent) {
	s.ring[s.next] = e
	s.next = (s.next + 1) % len(s.ring)
}

// find forgets what it finds: an error is told once.
func (s *sentEvents) find(id string) (sentEvent, bool) {
	for i, e := range s.ring {
		if id != "" && e.id == id {
			s.ring[i] = sentEvent{}
			return e, true
		}
	}
	return sentEvent{}, false
}

// send encodes an event under a new id. A writer that takes nothing any more costs the session.
func (r *conversation) send(s sentEvent, encode func(id string) any) {
	if r.link == nil {
		return
	}
	r.eventNo++
	s.id = "conch_" + strconv.FormatUint(r.eventNo, 10)
	b, err := json.Marshal(encode(s.id))
	if err != nil {
		r.log.Error(logGarbage, "err", fmt.Errorf("encode: %w", err))
		return
	}
	if len(r.pending) >= maxPending {
		r.drop(errors.New("the server does not read"))
		return
	}
	r.sent.add(s)
	r.pending = append(r.pending, b)
}
