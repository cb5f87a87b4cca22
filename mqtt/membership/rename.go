package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"conch/companions/round"
	"conch/device/printable"
	"conch/mqtt"
)

// Errors of renaming.
var (
	ErrName  = fmt.Errorf("a name has 1 to %d bytes that can be shown and said, and is no id", maxName)
	ErrTaken = errors.New("another device of the room has that name")
)

type renameBody struct {
	Request string         `json:"request"`
	Device  round.DeviceID `json:"device"`
	Name    string         `json:"name"`
}

// Rename calls a device of the room by another name, in everybody's list. The host decides; elsewhere it is asked. The device itself learns it
// from the list (Renamed), and keeps it as long as it is in the room, whatever its configuration calls it.
func (m *Membership) Rename(ctx context.Context, id round.DeviceID, name string) error {
	name = strings.TrimSpace(name)
	room := m.Room()
	switch {
	case room == nil:
		return ErrNotPaired
	case !m.Member(id):
		return fmt.Errorf("%w: %s", ErrNoMember, id)
	case !goodName(name), mqtt.CheckDevice(round.DeviceID(name)) == nil:
		return ErrName
	case m.IsHost():
		return m.rename(id, name, m.id.ID())
	}
	_, err := m.requests.ask(ctx, func(request string) mqtt.Note { return note(noteRename, renameBody{request, id, name}) })
	if errors.Is(err, ErrNoHost) {
		return fmt.Errorf("%w; or it runs an older conch, which renames nobody: upgrade it", err)
	}
	return err
}

// rename is the host's part; by asked for it.
func (m *Membership) rename(id round.DeviceID, name string, by round.DeviceID) error {
	var changes []Change
	err := m.edit(func(r *record) error {
		i := r.find(id)
		switch {
		case !r.isHost():
			return errNotHost
		case i < 0:
			return fmt.Errorf("%w: %s", ErrNoMember, id)
		case !goodName(name), mqtt.CheckDevice(round.DeviceID(name)) == nil:
			return ErrName
		case slices.ContainsFunc(r.Members, func(l listed) bool { return l.ID != id && printable.Key(l.Name) == printable.Key(name) }):
			return ErrTaken
		case r.Members[i].Name == name:
			return nil
		}
		r.Members[i].Name = name
		r.Version++
		r.At = m.stamp()
		if err := m.keep(r); err != nil {
			return err
		}
		changes = []Change{{What: Renamed, Device: id, Name: name, By: by}}
		return nil
	})
	if len(changes) > 0 {
		m.tell(changes)
		m.sendList(false)
	}
	return err
}

// renames is a member's request.
func (m *Membership) renames(from round.DeviceID, n mqtt.Note) error {
	b, err := read[renameBody](n)
	if err != nil {
		return err
	}
	if !goodRequest(b.Request) {
		return fmt.Errorf("membership: %s: no request", n.Method)
	}
	if err := m.rename(b.Device, b.Name, from); err != nil {
		m.say(note(noteRefused, answerBody{Request: b.Request, To: from, Why: refusal(err)}))
		return err
	}
	m.say(note(noteRenamed, answerBody{Request: b.Request, To: from}))
	return nil
}
