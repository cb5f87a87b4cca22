package mqtt

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Note is a word about the room itself (who belongs to it, whose certificate is due), carried like everything else: signed,
// guarded, never delivered late. What it means is for whoever reads it (mqtt/membership).
type Note struct {
	Method string          // begins with "members."
	Body   json.RawMessage // an object
}

// Bounds of a note.
const (
	maxNote       = 32 << 10 // bytes of the body
	maxNoteMethod = 40
	notePrefix    = string(kindMembers) + "."
)

// noteMethod is the row of a note's method; nil: it is none.
func noteMethod(name string) *method {
	rest, ok := strings.CutPrefix(name, notePrefix)
	if !ok || rest == "" || len(name) > maxNoteMethod || strings.ContainsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return nil
	}
	return &method{name, kindMembers, 1, maxNote + envelopeOverhead, unpackNote, nil}
}

func unpackNote(e *Envelope, params []byte) *Refusal {
	if len(params) == 0 || params[0] != '{' || !json.Valid(params) {
		return refuse(ReasonFields, "params: want an object")
	}
	e.Note = &Note{Method: e.Method, Body: params}
	return nil
}

// check says whether a note can be sent.
func (n Note) check() error {
	switch {
	case noteMethod(n.Method) == nil:
		return fmt.Errorf("mqtt: note %.60q: want %sWORD", n.Method, notePrefix)
	case len(n.Body) > maxNote:
		return fmt.Errorf("mqtt: note %s: %d bytes; at most %d", n.Method, len(n.Body), maxNote)
	case len(n.Body) == 0 || n.Body[0] != '{' || !json.Valid(n.Body) || !utf8.Valid(n.Body):
		return fmt.Errorf("mqtt: note %s: its body is no object", n.Method)
	}
	return nil
}

// SendNote publishes a note under this device's name, like Send: it never waits, and without a link the note is dropped and
// counted, so that whoever needs an answer asks again.
func (c *Client) SendNote(n Note) {
	if err := n.check(); err != nil {
		c.stats.unsent(unsentInvalid, 1, err.Error())
		return
	}
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		c.stats.unsent(unsentOffline, 1, n.Method)
		return
	}
	switch dropped, ok := l.out.push(c.waited(), n); {
	case !ok:
		c.stats.unsent(unsentOffline, 1, n.Method)
	case dropped > 0:
		c.stats.unsent(unsentFull, dropped, n.Method)
	}
}

func (c *Client) publishNote(l *link, n Note) {
	m := noteMethod(n.Method)
	l.mu.Lock()
	seq := l.guard.seq()
	l.mu.Unlock()
	c.put(l, m.kind, m.qos, seal(c.cfg.Room, c.cfg.Identity, m, l.session, seq, n.Body))
}
