package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// typesInto strikes keys as bytes and returns the lines that were entered.
func typesInto(e *editor, text string) (entered []string) {
	var d keyDecoder
	on := func(k key) {
		if k.code == keyEnter {
			entered = append(entered, e.enter())
			return
		}
		e.edit(k)
	}
	d.feed([]byte(text), on)
	d.flush(on)
	return entered
}

func TestEditing(t *testing.T) {
	for _, c := range []struct{ name, keys, want string }{ // the cursor is a bar
		{"characters, beyond ASCII too", "hé 好", "hé 好|"},
		{"Backspace, also of nothing", "\x7fab\x7f", "a|"},
		{"arrows, and in between", "ac\x1b[Db", "ab|c"},
		{"Home and End", "bc\x01a\x05d", "abcd|"},
		{"Delete, and Ctrl-D in the middle", "abcd\x1b[H\x1b[3~\x04", "|cd"},
		{"Ctrl-W takes a word", "one two \x17", "one |"},
		{"Ctrl-K takes the rest", "one two\x1b[1;5D\x0b", "one |"},
		{"Ctrl-U and Escape take all", "one\x15two\x1b[D\x1b", "|"},
		{"by words", "one two three\x1bb\x1bb\x1bf", "one two |three"},
		{"up is the question before, down comes back", "first\rsecond\rthi\x1b[A\x1b[A\x1b[B", "second|"},
		{"down to what was being typed", "first\rthi\x1b[A\x1b[B", "thi|"},
		{"nothing is no question to go back to, and the same one twice is one", "a\r\r \rb\rb\r\x1b[A\x1b[A", "a|"},
		{"what is pasted", "\x1b[200~ a\nb\x1b[201~", " a b|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEditor()
			typesInto(e, c.keys)
			if got := e.text[:e.at] + "|" + e.text[e.at:]; got != c.want {
				t.Errorf("%q gives %q; want %q", c.keys, got, c.want)
			}
		})
	}
}

func TestEditingIsBounded(t *testing.T) {
	e := newEditor()
	entered := typesInto(e, strings.Repeat("é", maxTyped+5)+"\r")
	if len(entered) != 1 || utf8.RuneCountInString(entered[0]) != maxTyped || e.text != "" {
		t.Errorf("%d characters entered, %q left; want %d and nothing", utf8.RuneCountInString(entered[0]), e.text, maxTyped)
	}
	for i := range maxKept + 20 {
		typesInto(e, strings.Repeat("x", i+1)+"\r")
	}
	if e.past.Len() != maxKept {
		t.Errorf("%d questions kept; want %d", e.past.Len(), maxKept)
	}
}
