package aloud

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"conch/device/pattern"
)

// Plain turns what a model writes into what can be read aloud, while it is written: no markdown, code block, address or
// emoji. What cannot be decided yet is held, in bounds, until more comes. It is pure.
type Plain struct {
	held   string // not decided
	inLine bool   // something of the line was seen
	fence  string // the mark that ends the code block that this is in; "": none
	last   rune   // that was written
	coded  strings.Builder
}

// Bounds of what is held, in bytes, and of what is kept of code in case that nothing else is said.
const (
	mostHeld  = 400
	mostURL   = 2000
	mostCoded = 1000
)

// Write takes more text, and returns what can be said of it.
func (p *Plain) Write(text string) string { return p.turn(text, false) }

// Flush returns the rest. An answer that is nothing but code is read as it is.
func (p *Plain) Flush(silent bool) string {
	out := p.turn("", true)
	if silent && strings.TrimSpace(out) == "" {
		out = p.coded.String()
	}
	return out
}

func (p *Plain) turn(text string, end bool) string {
	p.held += text
	var out strings.Builder
	for p.held != "" {
		n, said, ok := p.next(p.held, end)
		if !ok {
			break
		}
		p.held = p.held[n:]
		if said != "" {
			out.WriteString(said)
			p.last, _ = utf8.DecodeLastRuneInString(said)
		}
	}
	return out.String()
}

// next decides about the beginning of s: how much of it is taken, and what is said in its place; false: more is needed.
func (p *Plain) next(s string, end bool) (n int, said string, ok bool) {
	switch {
	case p.fence != "":
		return p.code(s, end)
	case !p.inLine:
		return p.lineStart(s, end)
	}
	if !end && !utf8.FullRuneInString(s) {
		return 0, "", false
	}
	c, size := utf8.DecodeRuneInString(s)
	switch c {
	case '\n':
		p.inLine = false
		return size, "\n", true
	case '`':
		return size, "", true
	case '*', '_', '~':
		return p.emphasis(s, c, end)
	case '[':
		return p.bracket(s, 0, end)
	case '!':
		if len(s) == 1 && !end {
			return 0, "", false
		}
		if strings.HasPrefix(s, "![") {
			return p.bracket(s, 1, end)
		}
	case '<':
		return p.tag(s, end)
	case '\\':
		if len(s) == 1 && !end {
			return 0, "", false
		}
		next, n := utf8.DecodeRuneInString(s[1:])
		if unicode.IsPunct(next) || unicode.IsSymbol(next) {
			return 1 + n, sounding(next), true
		}
		return size, "", true
	case '$':
		if strings.HasPrefix(s, "$$") {
			return 2, "", true
		}
	case 'h', 'H', 'w', 'W':
		if n, said, ok := p.address(s, end); n > 0 || !ok {
			return n, said, ok
		}
	}
	return size, sounding(c), true
}

// code passes over a line of a code block, and remembers the beginning of it.
func (p *Plain) code(s string, end bool) (int, string, bool) {
	i := strings.IndexByte(s, '\n')
	if i < 0 && !end && len(s) < mostHeld {
		return 0, "", false
	}
	line := s
	if i >= 0 {
		line = s[:i+1]
	}
	if strings.HasPrefix(strings.TrimSpace(line), p.fence) {
		p.fence = ""
	} else if p.coded.Len()+len(line) <= mostCoded {
		p.coded.WriteString(line)
	}
	return len(line), "", true
}

var (
	heading = pattern.New(`^(#{1,6}|>+)[ \t]`)
	item    = pattern.New(`^[-*+•–][ \t]+(\[[ xX]\][ \t]+)?`)
	number  = pattern.New(`^(\d{1,3})[.)][ \t]+`)
	rule    = pattern.New(`^([-*_=][ \t]*){3,}\n?$`)
	cells   = pattern.New(`^[|:\- \t]*$`)
)

// lineStart decides what begins a line.
func (p *Plain) lineStart(s string, end bool) (int, string, bool) {
	body := strings.TrimLeft(s, " \t")
	lead := len(s) - len(body)
	if body == "" {
		return lead, "", true
	}
	whole := end || strings.Contains(body, "\n")
	few := !whole && len(body) < 8
	c := body[0]
	switch {
	case c == '\n':
		return lead + 1, "\n", true
	case strings.HasPrefix(body, "```"), strings.HasPrefix(body, "~~~"):
		i := strings.IndexByte(body, '\n')
		if i < 0 && !end {
			return 0, "", false
		}
		p.fence = body[:3]
		if i < 0 {
			return len(s), "", true
		}
		return lead + i + 1, "", true
	case c == '|':
		i := strings.IndexByte(body, '\n')
		if i < 0 && !end && len(body) < mostHeld {
			return 0, "", false
		}
		line := body
		if i >= 0 {
			line = body[:i+1]
		}
		return lead + len(line), row(line), true
	case few && strings.IndexByte("`~#>-*+=_", c) >= 0, few && c < utf8.RuneSelf && unicode.IsDigit(rune(c)), few && strings.HasPrefix(body, "\xe2"):
		if !decided(body) {
			return 0, "", false
		}
	}
	if strings.IndexByte("-*_=", c) >= 0 {
		line, _, _ := strings.Cut(body, "\n")
		if rule().MatchString(line) {
			if !whole && len(body) < mostHeld {
				return 0, "", false
			}
			return lead + len(line), "", true
		}
	}
	p.inLine = true
	if m := heading().FindString(body); m != "" {
		return lead + len(m), "", true
	}
	if m := item().FindString(body); m != "" {
		return lead + len(m), "", true
	}
	if m := number().FindStringSubmatch(body); m != nil {
		return lead + len(m[0]), m[1] + ", ", true
	}
	return lead, "", true
}

// decided says that a short beginning of a line is surely none of the marks: a letter has come.
func decided(body string) bool {
	return strings.IndexFunc(body, func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.So, r) }) >= 0
}

// row is a line of a table: its cells, between commas.
func row(line string) string {
	if cells().MatchString(strings.TrimRight(line, "\n")) {
		return ""
	}
	var all []string
	for c := range strings.SplitSeq(strings.Trim(line, "| \t\n"), "|") {
		var inner Plain
		inner.inLine = true
		if c = strings.TrimSpace(inner.Write(strings.TrimSpace(c)) + inner.Flush(false)); c != "" {
			all = append(all, c)
		}
	}
	return strings.Join(all, ", ") + "\n"
}

// emphasis drops marks, and keeps what is between words for what it is.
func (p *Plain) emphasis(s string, c rune, end bool) (int, string, bool) {
	n := len(s) - len(strings.TrimLeft(s, string(c)))
	if n == len(s) && !end {
		return 0, "", false
	}
	next, _ := utf8.DecodeRuneInString(s[n:])
	switch inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }; {
	case n > 1:
		return n, "", true
	case c == '*' && unicode.IsDigit(next) && unicode.IsDigit(p.last), c == '*' && next == ' ' && p.last == ' ':
		return n, "×", true
	case c == '_' && inWord(next) && inWord(p.last):
		return n, " ", true
	case c == '~' && unicode.IsDigit(next):
		return n, "≈", true
	}
	return n, "", true
}

var footnote = pattern.New(`^\^?[\d, ]+$`)

// bracket reads a link or an image as its text, and a note's number as nothing.
func (p *Plain) bracket(s string, at int, end bool) (int, string, bool) {
	shut := strings.IndexAny(s, "]\n")
	if shut < 0 && !end && len(s) < mostHeld {
		return 0, "", false
	}
	if shut < 0 || s[shut] == '\n' {
		return at + 1, "", true
	}
	text := s[at+1 : shut]
	n := shut + 1
	if n == len(s) && !end {
		return 0, "", false
	}
	if n < len(s) && s[n] == '(' {
		i := strings.IndexAny(s[n:], ")\n")
		if i < 0 && !end && len(s) < mostURL {
			return 0, "", false
		}
		if i >= 0 {
			n += i + 1
		} else {
			n = len(s)
		}
	} else if footnote().MatchString(text) {
		return n, "", true
	}
	var inner Plain
	inner.inLine = true
	return n, inner.Write(text) + inner.Flush(false), true
}

var tags = pattern.New(`^</?([a-zA-Z][a-zA-Z0-9]*)([ \t/][^<>\n]*)?>`)

// tag drops one of HTML.
func (p *Plain) tag(s string, end bool) (int, string, bool) {
	if m := tags().FindStringSubmatch(s); m != nil {
		switch strings.ToLower(m[1]) {
		case "br", "p", "li", "div":
			return len(m[0]), "\n", true
		}
		return len(m[0]), "", true
	}
	if strings.HasPrefix(s, "<http") {
		return 1, "", true
	}
	maybe := len(s) == 1 || s[1] == '/' || unicode.IsLetter(rune(s[1]))
	if maybe && !end && len(s) < 100 && !strings.ContainsAny(s[1:], "<>\n") {
		return 0, "", false
	}
	return 1, "<", true
}

var addresses = []string{"https://", "http://", "www."}

// address reads of one no more than its host; 0 taken: this is none.
func (p *Plain) address(s string, end bool) (int, string, bool) {
	if unicode.IsLetter(p.last) || unicode.IsDigit(p.last) {
		return 0, "", true
	}
	low := strings.ToLower(s[:min(len(s), 8)])
	for _, a := range addresses {
		if len(low) < len(a) && strings.HasPrefix(a, low) && !end {
			return 0, "", false
		}
		if !strings.HasPrefix(low, a) {
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"'`)]}|", r) || r > 0x2000 })
		if n < 0 && !end && len(s) < mostURL {
			return 0, "", false
		}
		if n < 0 {
			n = len(s)
		}
		n = len(strings.TrimRight(s[:n], ".,;:!?*_"))
		if n <= len(a) {
			return 0, "", true
		}
		host := s[len(a):n]
		if i := strings.IndexAny(host, "/?#:"); i >= 0 {
			host = host[:i]
		}
		return n, strings.TrimPrefix(host, "www."), true
	}
	return 0, "", true
}

// sounding is what is said of a single rune.
func sounding(c rune) string {
	switch {
	case c == utf8.RuneError, c == '\u200d', c >= 0xfe00 && c <= 0xfe0f, c >= 0x1f3fb && c <= 0x1f3ff, c >= 0xe0000 && c <= 0xe007f, c == 0x20e3:
		return ""
	case c == '°', c == '№', c == '™':
		return string(c)
	case c == '→', c == '⇒':
		return ", "
	case c == '\u00a0', c == '\u202f', c == '\t', c == '\u3000':
		return " "
	case unicode.IsControl(c), unicode.Is(unicode.Cf, c), unicode.Is(unicode.So, c), unicode.Is(unicode.Co, c):
		return ""
	}
	return string(c)
}
