package membership

import (
	"context"
	"crypto/ed25519"
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
	}
	admitBody struct {
		Request string         `json:"request"`
		Device  round.DeviceID `json:"device"`
		Key     []byte         `json:"key"`
		Name    string         `json:"name"`
	}
	removeBody struct {
		Request string         `json:"request"`
		Device  round.DeviceID `json:"device"`
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
	leftBody struct{}
)

// refusals are the host's reasons on the wire.
var refusals = map[string]error{"full": ErrFull, "member": ErrNoMember, "host": ErrHost, "disk": ErrDisk}

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
	return note(noteList, listBody{Room: r.ID, Version: r.Version, At: r.At, Members: r.Members})
}

// sendList tells everybody, if this device keeps the room, who belongs to it, or that there is no room any more.
func (m *Membership) sendList(ended bool) {
	m.mu.Lock()
	r := m.rec
	m.mu.Unlock()
	if r == nil || !r.isHost() {
		return
	}
	if r = r.clone(); ended {
		r.Version, r.Members = r.Version+1, []listed{}
	} else {
		r.At = m.stamp()
	}
	m.say(r.list())
}

// askLeave tells the host, and waits a moment for its list without this device, or for the end of the connection.
func (m *Membership) askLeave(ctx context.Context, gone <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	m.say(note(noteLeft, leftBody{}))
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// HandleNote takes what the room says (mqtt.Config.OnNote). It never waits: Run does what is to be done.
func (m *Membership) HandleNote(from round.DeviceID, n mqtt.Note) {
	m.post(func() {
		if err := m.handle(from, n); err != nil {
			m.trouble(n.Method+" from "+string(from), err)
		}
	})
}

// handle is one note.
func (m *Membership) handle(from round.DeviceID, n mqtt.Note) error {
	room := m.Room()
	if room == nil || from == m.id.ID() {
		return nil
	}
	member, ok := room.Member(from)
	if !ok {
		return ErrStranger
	}
	host := room.Host == m.id.ID()
	if host && member.Pending && room.Foreign { // there is no connection of its own that would show it
		m.Confirm(from)
	}
	switch n.Method {
	case noteList, noteAdmitted, noteRemoved, noteRefused, noteRenewed:
		if from != room.Host {
			return fmt.Errorf("%w: it does not keep the room", ErrOtherHost)
		}
		return m.fromHost(n)
	case noteAsk, noteAdmit, noteRemove, noteRenew, noteLeft:
		if !host {
			return nil // said to the host
		}
		return m.fromMember(from, n)
	}
	return nil // of a later version
}

// read reads a note's body.
func read[T any](n mqtt.Note) (*T, error) {
	v := new(T)
	if err := strict(n.Body, maxBody, v); err != nil {
		return nil, fmt.Errorf("membership: %s: %w", n.Method, err)
	}
	return v, nil
}

// maxBody is a note's bound (mqtt).
const maxBody = 32 << 10

// fromMember is what the host is told.
func (m *Membership) fromMember(from round.DeviceID, n mqtt.Note) error {
	switch n.Method {
	case noteAsk:
		b, err := read[askBody](n)
		if err != nil {
			return err
		}
		return m.asked(b.Have)
	case noteAdmit:
		b, err := read[admitBody](n)
		if err != nil {
			return err
		}
		if len(b.Key) != ed25519.PublicKeySize || mqtt.Fingerprint(b.Key) != b.Device || !goodRequest(b.Request) {
			return fmt.Errorf("membership: %s: a key that is not the device's", n.Method)
		}
		welcome, err := m.admit(Party{b.Device, b.Key, b.Name})
		if err != nil {
			m.say(note(noteRefused, answerBody{Request: b.Request, To: from, Why: refusal(err)}))
			return err
		}
		m.say(note(noteAdmitted, answerBody{Request: b.Request, To: from, Welcome: welcome}))
	case noteRemove:
		b, err := read[removeBody](n)
		if err != nil {
			return err
		}
		if !goodRequest(b.Request) {
			return fmt.Errorf("membership: %s: no request", n.Method)
		}
		err = m.Remove(context.Background(), b.Device)
		if err != nil && !errors.Is(err, ErrNoMember) { // asked twice
			m.say(note(noteRefused, answerBody{Request: b.Request, To: from, Why: refusal(err)}))
			return err
		}
		m.say(note(noteRemoved, answerBody{Request: b.Request, To: from}))
	case noteRenew:
		b, err := read[renewBody](n)
		if err != nil {
			return err
		}
		return m.renew(from, b.Key)
	case noteLeft:
		return m.remove(from)
	}
	return nil
}

func goodRequest(s string) bool { return s != "" && len(s) <= maxName }

// fromHost is what the host says.
func (m *Membership) fromHost(n mqtt.Note) error {
	switch n.Method {
	case noteList:
		b, err := read[listBody](n)
		if err != nil {
			return err
		}
		return m.listed(b)
	case noteRenewed:
		b, err := read[renewedBody](n)
		if err != nil || b.To != m.id.ID() {
			return err
		}
		return m.renewedBy(b.Cert)
	}
	b, err := read[answerBody](n)
	if err != nil || b.To != m.id.ID() {
		return err
	}
	a := answer{welcome: b.Welcome}
	switch {
	case n.Method == noteRefused:
		if a.err = refusals[b.Why]; a.err == nil {
			a.err = ErrDisk
		}
	case n.Method == noteAdmitted && len(b.Welcome) == 0:
		return fmt.Errorf("membership: %s: no welcome", n.Method)
	}
	m.answered(b.Request, a)
	return nil
}
