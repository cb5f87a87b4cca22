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
	notePrefix    = string(KindMembers) + "."
)

// noteMethod is the row of a note's method; nil: it is none.
func noteMethod(name string) *method {
	rest, ok := strings.CutPrefix(name, notePrefix)
	if !ok || rest == "" || len(name) > maxNoteMethod || strings.ContainsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return nil
	}
	return &method{name, KindMembers, 1, maxNote + envelopeOverhead, unpackNote, nil}
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
