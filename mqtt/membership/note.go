package membership

import (
	"encoding/json"
	"errors"
	"fmt"

	"conch/companions/round"
	"conch/mqtt"
)

// Methods of notes (doc.go has the table).
const (
	noteAsk      = "members.ask"
	noteList     = "members.list"
	noteAdmit    = "members.admit"
	noteAdmitted = "members.admitted"
	noteRemove   = "members.remove"
	noteRemoved  = "members.removed"
	noteRefused  = "members.refused"
	noteRenew    = "members.renew"
	noteRenewed  = "members.renewed"
	noteLeft     = "members.left"
	noteRename   = "members.rename"
	noteRenamed  = "members.renamed"
	noteAck      = "members.ack"
	noteMoved    = "members.moved"
	noteOpen     = "members.open"
	noteShut     = "members.shut"
	noteWindow   = "members.window"
	noteOrigins  = "members.origins"
)

// Bodies of notes.
type (
	askBody struct {
		Have uint64 `json:"have"` // version of the asker's list
	}
	listBody struct {
		Room    string   `json:"room"`
		Version uint64   `json:"version"`
		At      int64    `json:"at,omitempty"`
		Members []listed `json:"members"` // none: the room has ended
		Claim   *claim   `json:"claim,omitempty"`
	}
	admitBody struct {
		Request string         `json:"request"`
		Device  round.DeviceID `json:"device"`
		Key     []byte         `json:"key"`
		Name    string         `json:"name"`
		Window  string         `json:"window,omitempty"` // of members.open; an older host knows none
	}
	openBody struct { // also of members.shut
		Request string `json:"request"` // names the window
	}
	windowBody struct {
		Window string         `json:"window"`
		Device round.DeviceID `json:"device"` // whose it is
		Open   bool           `json:"open"`
		WaitMS int64          `json:"waitMs,omitempty"` // open: until it admits
		By     round.DeviceID `json:"by,omitempty"`     // shut: whose press or word did it
	}
	originsBody struct {
		Room    string                            `json:"room"`
		Version uint64                            `json:"version"`
		Origins map[round.DeviceID]round.DeviceID `json:"origins,omitempty"` // device: who let it in
		Removed []removal                         `json:"removed,omitempty"`
	}
	removeBody struct {
		Request string         `json:"request"`
		Device  round.DeviceID `json:"device"`
		Guests  bool           `json:"guests,omitempty"` // those, too, that it let in
	}
	answerBody struct {
		Request string          `json:"request"`
		To      round.DeviceID  `json:"to"`
		Welcome json.RawMessage `json:"welcome,omitempty"`
		Why     string          `json:"why,omitempty"` // a key of refusals
	}
	renewBody struct {
		Key []byte `json:"key"`
	}
	renewedBody struct {
		To   round.DeviceID `json:"to"`
		Cert []byte         `json:"cert"`
	}
	leftBody  struct{}
	movedBody struct {
		To round.DeviceID `json:"to"`
	}
)

// refusals are the host's reasons on the wire.
var refusals = map[string]error{
	"full": ErrFull, "member": ErrNoMember, "host": ErrHost, "disk": ErrDisk, "name": ErrName, "taken": ErrTaken,
	"announce": ErrUnannounced, "window": ErrWindow, "early": ErrEarly, "removed": ErrKeptOut, "often": ErrOften,
}

// ErrDisk is the host's word that its disk did not take it.
var ErrDisk = errors.New("the device that keeps the room could not write it down; is its disk full?")

func refusal(err error) string {
	for why, e := range refusals {
		if errors.Is(err, e) {
			return why
		}
	}
	return "disk"
}

func note(method string, body any) mqtt.Note {
	b, err := mqtt.JSON(body)
	if err != nil {
		return mqtt.Note{Method: method} // which SendNote refuses and counts; nothing here cannot be encoded
	}
	return mqtt.Note{Method: method, Body: b}
}

// list is the note that says who belongs to the room.
func (r *record) list() mqtt.Note {
	return note(noteList, listBody{Room: r.ID, Version: r.Version, At: r.At, Members: r.Members, Claim: r.Claim})
}

// read reads a note's body.
func read[T any](n mqtt.Note) (*T, error) {
	v := new(T)
	if err := lenient(n.Body, maxBody, v); err != nil {
		return nil, fmt.Errorf("membership: %s: %w", n.Method, err)
	}
	return v, nil
}

// maxBody is a note's bound (mqtt).
const maxBody = 32 << 10

func goodRequest(s string) bool { return s != "" && len(s) <= maxName }
