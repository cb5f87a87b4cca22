package membership

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"conch/companions/round"
	"conch/mqtt"
)

// What the room says, and what is done about it.

// HandleNote takes what the room says (mqtt.Config.OnNote). It never waits: Run does what is to be done.
func (m *Membership) HandleNote(from round.DeviceID, n mqtt.Note) {
	if !m.bounds.allowed(from, n) {
		return
	}
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
	case noteList, noteAdmitted, noteRemoved, noteRefused, noteRenewed, noteRenamed, noteMoved, noteWindow, noteOrigins:
		if from != room.Host {
			return fmt.Errorf("%w: it does not keep the room", ErrOtherHost)
		}
		return m.fromHost(n)
	case noteAsk, noteAdmit, noteRemove, noteRenew, noteLeft, noteRename, noteAck, noteOpen, noteShut:
		if !host {
			return nil // said to the host
		}
		return m.fromMember(member, n)
	}
	return nil // of a later version
}

// fromMember is what the host is told.
func (m *Membership) fromMember(member Member, n mqtt.Note) error {
	from := member.ID
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
		welcome, err := m.admit(Party{b.Device, b.Key, b.Name}, from, b.Window)
		if errors.Is(err, ErrUnannounced) && !m.bounds.limits.asked(from, noteOpen) {
			m.tell([]Change{{What: Outdated, Device: from, Name: member.Name}})
		}
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
		err = m.removeFor(from, b.Device, b.Guests)
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
		return m.remove("", from)
	case noteRename:
		return m.renames(from, n)
	case noteAck:
		b, err := read[ack](n)
		if err != nil {
			return err
		}
		return m.accepted(*b)
	case noteOpen, noteShut:
		b, err := read[openBody](n)
		if err != nil {
			return err
		}
		if !goodRequest(b.Request) {
			return fmt.Errorf("membership: %s: no window", n.Method)
		}
		if n.Method == noteShut {
			m.shutWindow(from, b.Request, from)
			return nil
		}
		if err := m.opened(from, b.Request); err != nil {
			m.say(note(noteRefused, answerBody{Request: b.Request, To: from, Why: refusal(err)}))
			return err
		}
	}
	return nil
}

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
	case noteMoved:
		b, err := read[movedBody](n)
		if err != nil {
			return err
		}
		m.release(b.To)
		return nil
	case noteWindow:
		b, err := read[windowBody](n)
		if err != nil || !goodRequest(b.Window) {
			return err
		}
		m.windowNote(b)
		return nil
	case noteOrigins:
		b, err := read[originsBody](n)
		if err != nil {
			return err
		}
		return m.origins(b)
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
	m.requests.answered(b.Request, a)
	return nil
}
