package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

// sender is what goes to the server in this session, in order.
type sender struct {
	log     *slog.Logger
	full    func(why error) // the writer takes nothing any more: it costs the session
	link    *link           // nil while there is none
	pending [][]byte        // encoded, for the writer
	sent    sentEvents
	number  uint64
	raw     []byte
}

// send encodes an event under a new id.
func (s *sender) send(e sentEvent, encode func(id string) any) {
	if s.link == nil {
		return
	}
	s.number++
	e.id = "conch_" + strconv.FormatUint(s.number, 10)
	b, err := json.Marshal(encode(e.id))
	if err != nil {
		s.log.Error(logGarbage, "err", fmt.Errorf("encode: %w", err))
		return
	}
	if len(s.pending) >= maxPending {
		s.full(errors.New("the server does not read"))
		return
	}
	s.sent.add(e)
	s.pending = append(s.pending, b)
}

// cancel stops an answer at the server: without an id, the live one.
func (s *sender) cancel(e sentEvent) {
	e.kind = sentCancel
	s.send(e, func(id string) any {
		return wireEvent{Type: "response.cancel", EventID: id, ResponseID: string(e.response)}
	})
}

// speech sends samples, at the rate that the server hears.
func (s *sender) speech(pcm []int16) {
	var frame []byte
	select {
	case frame = <-s.link.back:
	default:
	}
	frame, s.raw = appendFrame(frame, s.raw, pcm)
	s.pending = append(s.pending, frame)
}

// asks notes that an answer was asked for; false: the session was lost over it.
func (s *sender) asks() bool {
	if s.link != nil {
		s.link.asks()
	}
	return s.link != nil
}
