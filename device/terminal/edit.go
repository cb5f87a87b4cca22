package terminal

import (
	"errors"
	"slices"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	maxTyped  = 1000 // runes of a typed question
	maxKept   = 100  // questions to go back to
	probe     = '\t' // asks the editor what it holds
	noMoreKey = "no more keys"
)

// editor is the line that is being typed. golang.org/x/term edits it and goes back in time; what it would draw is thrown away, for it
// knows neither characters that are two columns wide nor a text that grows above its prompt.
type editor struct {
	line *term.Terminal
	keys editorKeys
	past history

	text string
	at   int // of the cursor, in bytes of text
}

// editorKeys are keys on their way to the editor.
type editorKeys struct{ held []byte }

var errNoKey = errors.New(noMoreKey)

func (k *editorKeys) Read(b []byte) (int, error) {
	if len(k.held) == 0 {
		return 0, errNoKey
	}
	n := copy(b, k.held)
	k.held = k.held[n:]
	return n, nil
}

func (k *editorKeys) Write(b []byte) (int, error) { return len(b), nil }

func newEditor() *editor {
	e := &editor{}
	e.line = term.NewTerminal(&e.keys, "")
	e.line.History = &e.past
	e.line.AutoCompleteCallback = func(text string, at int, key rune) (string, int, bool) {
		if key != probe {
			return "", 0, false
		}
		e.text, e.at = text, at
		return text, at, true
	}
	return e
}

// editing is what the editor knows a key by.
var editing = map[keyCode]string{
	keyBackspace: "\x7f", keyDelete: "\x1b[3~", keyLeft: "\x1b[D", keyRight: "\x1b[C", keyOlder: "\x1b[A", keyNewer: "\x1b[B",
	keyHome: "\x01", keyLast: "\x05", keyWordLeft: "\x1b[1;3D", keyWordRight: "\x1b[1;3C", keyWord: "\x17", keyClear: "\x05\x15", keyRest: "\x0b",
	keyEnd: "\x1b[3~", // Ctrl-D, of a line that is not empty
}

// edit applies a key and says whether text or cursor changed.
func (e *editor) edit(k key) bool {
	sequence, ok := editing[k.code]
	if k.code == keyChar || k.code == keyPasted {
		sequence, ok = string(k.char), utf8.RuneCountInString(e.text) < maxTyped
	}
	if !ok {
		return false
	}
	text, at := e.text, e.at
	e.put(sequence)
	return e.text != text || e.at != at
}

// enter takes the line away.
func (e *editor) enter() string {
	line := e.put("\r")
	return line
}

func (e *editor) put(sequence string) (line string) {
	e.keys.held = append(e.keys.held, sequence...)
	if text, err := e.line.ReadLine(); err == nil {
		line = text
	}
	e.keys.held = append(e.keys.held, probe)
	_, _ = e.line.ReadLine()
	return line
}

// history are questions, the latest first; in memory alone, for they are what somebody said.
type history struct{ lines []string }

// Add implements term.History.
func (h *history) Add(line string) {
	if plain(line) == "" || len(h.lines) > 0 && h.lines[0] == line {
		return
	}
	h.lines = slices.Insert(h.lines, 0, line)
	h.lines = h.lines[:min(len(h.lines), maxKept)]
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History.
func (h *history) At(i int) string { return h.lines[i] }
