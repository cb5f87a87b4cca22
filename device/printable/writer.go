package printable

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"conch/device/redact"
)

// Writer is what stands between all that a program prints and a terminal. What would steer a terminal is written as text: control
// characters other than newline and tab, characters that turn the direction of writing, and the line breaks of Unicode as \u and four hexadecimal
// digits, which is the same character in JSON; bytes that are no UTF-8 as U+FFFD. Secrets are left out (package redact). From any goroutine.
type Writer struct {
	to io.Writer

	mu   sync.Mutex // guards what follows, and the order in to
	held []byte     // the beginning of a character whose end has not come
}

// NewWriter makes a Writer before to; of a Writer it is the same one.
func NewWriter(to io.Writer) *Writer {
	if w, ok := to.(*Writer); ok {
		return w
	}
	return &Writer{to: to}
}

// Behind is what a Writer writes to, and w itself where it is none: to ask whether it is a terminal, and for a screen that does by itself
// what a Writer would (Escape).
func Behind(w io.Writer) io.Writer {
	if p, ok := w.(*Writer); ok {
		return p.to
	}
	return w
}

// Write takes text of whoever it is.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, held := redact.Bytes(p), []byte(nil)
	if len(w.held) > 0 || !harmless(out) {
		out, held = escape(append(w.held, out...))
	}
	w.held = append(w.held[:0:0], held...)
	if len(out) > 0 {
		if _, err := w.to.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Escape is what Write makes of a whole text.
func Escape(s string) string {
	s = redact.Text(s)
	if harmless([]byte(s)) {
		return s
	}
	out, held := escape([]byte(s))
	if len(held) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return string(out)
}

// escape also says what it left: the beginning of a character.
func escape(data []byte) (out, held []byte) {
	out = make([]byte, 0, len(data)+16)
	for len(data) > 0 && utf8.FullRune(data) {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError:
			out = utf8.AppendRune(out, r)
		case steers(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, data[:size]...)
		}
		data = data[size:]
	}
	return out, data
}

// Steer writes a control sequence of our own, and text of ours around it. Nothing that anybody else has said may be in it.
func (w *Writer) Steer(sequence string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.to, sequence) // a screen that went away: its loss
}

// harmless is most of what is printed.
func harmless(p []byte) bool {
	for _, c := range p {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// steers says whether a character does something to a terminal instead of being shown.
func steers(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0, // C0, DEL, C1
		r == '\u061c', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', // direction (UAX 9, 2)
		r == '\u2028', r == '\u2029': // line and paragraph
		return true
	}
	return false
}
