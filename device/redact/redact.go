// Package redact takes secrets out of all that conch prints, logs, publishes or answers. The writers at the border apply it, not their callers:
//
//	configuration, environment, key files ──> Add, Setting, Arguments: what is secret here
//	terminal, log, report  printable.Writer, printable.Escape, service.Ring ──┐
//	socket, page           Handler; messages of the page's WebSocket          ├──> Text
//	Home Assistant, room   before a payload is published                      ──┘
//
// Text replaces what is known, wherever it stands and also URL-encoded, in JSON, in base64 and in hexadecimal digits, and what has the form of a
// secret: user and password of a URL, values of its query, its fragment, credentials of a header, keys of vendors. Host and port stay.
//
// A known secret of 8 characters or more is replaced anywhere, one of 4 to 7 as a whole word. A shorter one, a short number and a word of conch's
// own is replaced only where its form shows it: text would be stars.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Mark stands in the place of a secret.
const Mark = "[secret]"

const (
	least     = 4    // characters of a secret that is replaced by its letters
	anywhere  = 8    // characters from which on it need not be a word of its own
	maxKnown  = 4096 // secrets; one more, and the oldest is forgotten
	maxSecret = 4096 // bytes of one; of a longer one, the beginning counts
)

// ours are words that conch says of itself, and that people take as passwords.
var ours = strings.Fields("admin auto conch false home homeassistant host http https localhost mqtt mqtts none null password room secret token true user wss")

// known are the secrets of this process.
var known struct {
	mu    sync.Mutex
	order []string // oldest first
	has   map[string]bool
	now   atomic.Pointer[set] // nil: none, or others since
}

// set is what is replaced, and is not changed any more.
type set struct {
	long  *strings.Replacer
	whole []string // those that must be words of their own
	heads []string // of which a beginning may stand before an ellipsis
}

// Add makes values known as secrets, from any goroutine. Spaces around one do not count.
func Add(values ...string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, v := range values {
		v = strings.TrimSpace(v)
		v = v[:min(len(v), maxSecret)]
		if utf8.RuneCountInString(v) < least || known.has[v] || slices.Contains(ours, strings.ToLower(v)) || len(v) < 6 && number(v) {
			continue
		}
		if known.has == nil {
			known.has = map[string]bool{}
		}
		if len(known.order) == maxKnown {
			delete(known.has, known.order[0])
			known.order = slices.Delete(known.order, 0, 1)
		}
		known.has[v] = true
		known.order = append(known.order, v)
		known.now.Store(nil)
	}
}

func number(s string) bool { return strings.Trim(s, "0123456789.") == "" }

// replacements are those of now.
func replacements() *set {
	if s := known.now.Load(); s != nil {
		return s
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	s := &set{}
	var long []string
	for _, v := range known.order {
		short := utf8.RuneCountInString(v) < anywhere || number(v)
		if !short {
			s.heads = append(s.heads, v)
		}
		for _, form := range forms(v) {
			if short && len(form) < 2*anywhere {
				s.whole = append(s.whole, form)
			} else {
				long = append(long, form)
			}
		}
	}
	longest := func(a, b string) int { return len(b) - len(a) } // of two that begin alike
	slices.SortStableFunc(long, longest)
	slices.SortStableFunc(s.whole, longest)
	var pairs []string
	for _, form := range slices.Compact(long) {
		pairs = append(pairs, form, Mark)
	}
	if len(pairs) > 0 {
		s.long = strings.NewReplacer(pairs...)
	}
	known.now.Store(s)
	return s
}

// forms are the ways in which a secret may be written.
func forms(v string) []string {
	plain, _ := json.Marshal(v) // a string
	quoted := string(plain[1 : len(plain)-1])
	twice, _ := json.Marshal(quoted)
	var loose bytes.Buffer
	e := json.NewEncoder(&loose)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // into memory
	goQuoted := strconv.Quote(v)
	all := []string{v, strings.ToLower(v), strings.ToUpper(v), quoted, string(twice[1 : len(twice)-1]), strings.Trim(loose.String(), "\"\n"),
		goQuoted[1 : len(goQuoted)-1], html.EscapeString(v),
		url.QueryEscape(v), url.PathEscape(v), url.UserPassword("", v).String()[1:], hex.EncodeToString([]byte(v)),
		strings.ToUpper(hex.EncodeToString([]byte(v)))}
	for before := range 3 { // base64 of a text that has it in its middle, at each of three places
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + v))
		first, last := (before*8+5)/6, (before+len(v))*8/6 // digits that are of v alone
		if inner := text[first:last]; len(inner) >= anywhere {
			all = append(all, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// known replaces the secrets of s that are known.
func (r *set) replace(s string) string {
	if r.long != nil {
		s = r.long.Replace(s)
	}
	for _, word := range r.whole {
		s = replaceWord(s, word)
	}
	const cut = "…"
	if len(r.heads) == 0 || !strings.Contains(s, cut) {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, cut)
		if !ok {
			b.WriteString(s)
			return b.String()
		}
		most := 0
		for _, v := range r.heads {
			for n := min(len(v)-1, len(before)); n >= least && n > most; n-- {
				if strings.HasSuffix(before, v[:n]) {
					most = n
				}
			}
		}
		if b.WriteString(before[:len(before)-most]); most > 0 {
			b.WriteString(Mark)
		}
		b.WriteString(cut)
		s = after
	}
}

// replaceWord replaces a word where no letter or digit stands beside it.
func replaceWord(s, word string) string {
	if !strings.Contains(s, word) {
		return s
	}
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			b.WriteString(s[done:])
			return b.String()
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+len(word):])
		if !part(before) && !part(after) {
			b.WriteString(s[done:at] + Mark)
			done = at + len(word)
		}
		at += len(word)
	}
}

// Known is s without the secrets that are known; what only looks like one stays.
func Known(s string) string { return replacements().replace(s) }

// Text is s without secrets. Text(Text(s)) is Text(s).
func Text(s string) string { return shapes(Known(s)) }

// Bytes is Text for who writes bytes; p itself where there is nothing to hide.
func Bytes(p []byte) []byte {
	s := string(p)
	if t := Text(s); t != s {
		return []byte(t)
	}
	return p
}
