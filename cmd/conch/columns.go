package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"conch/device/printable"
)

// columns is how wide the terminal is that w writes to; other, where it writes to none. COLUMNS counts for both (POSIX, XBD 8.3).
func columns(w io.Writer, other int) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(narrowest, n)
	}
	f, ok := printable.Behind(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return other
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n <= 0 { // a terminal that does not know, as a serial line's
		return 80
	}
	return max(narrowest, n)
}

// narrowest is as narrow as text is wrapped; below, the terminal does it.
const narrowest = 20

// wrapped is text in lines of at most width letters, broken at blanks; a longer word stands alone. A width of 0: one line.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case width > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// twoColumns writes rows of a word and what it means, the meanings below each other; where there is little room each below its word.
func twoColumns(b *strings.Builder, indent string, rows [][2]string, width int) {
	left := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= mostLeft {
			left = max(left, n)
		}
	}
	hanging := strings.Repeat(" ", len(indent)+left+2)
	if width > 0 && width-len(hanging) < leastRight {
		hanging, left = indent+"    ", -1
	}
	for _, r := range rows {
		lines := wrapped(r[1], max(0, width-len(hanging)))
		if r[1] == "" {
			lines = nil
		}
		b.WriteString(indent + r[0])
		if n := utf8.RuneCountInString(r[0]); n <= left && len(lines) > 0 {
			b.WriteString(strings.Repeat(" ", left-n+2) + lines[0])
			lines = lines[1:]
		}
		b.WriteString("\n")
		for _, l := range lines {
			b.WriteString(hanging + l + "\n")
		}
	}
}

// A word of more letters stands alone; a column of less room for what it means is none.
const (
	mostLeft   = 24
	leastRight = 26
)
