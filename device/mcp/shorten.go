package mcp

import (
	"io"
	"time"
)

// Bounds of one message of a server. Our choices: what a model is given of an output is 16 KiB, and a character may be written in
// six bytes; a list of a hundred tools with their schemas has some 200 kB.
const (
	maxString  = 96 << 10 // bytes of one text; a multiple of four, so that base64 stays base64
	maxTexts   = 512 << 10
	maxMessage = 1 << 20
	laterTexts = 256 // bytes of one text beyond maxTexts
)

// Errors of what comes.
const (
	errMessage = plain("it sent a message that is larger than can be read")
	errNoise   = plain("it prints without end")
)

// shortener lets messages pass, one a line, and cuts every text in them that is too long while it is read: an answer of any length
// takes no more memory than maxMessage, and is an answer still.
type shortener struct {
	from  io.Reader
	plain bool              // lines that are no message are skipped, up to maxMessage of them; else (an event stream) they pass
	noise func(text string) // is told of them; nil: nobody is

	message int  // bytes of this line that passed
	skip    bool // the rest of this line
	text    bool // inside a text
	escape  int  // bytes that belong to an escape; -1: behind a backslash
	length  int  // bytes of this text that passed
	cut     bool // the rest of this text is dropped
}

func (s *shortener) Read(p []byte) (int, error) {
	for skipped, since := 0, time.Now(); ; {
		n, err := s.from.Read(p)
		kept := 0
		for _, c := range p[:n] {
			if !s.pass(c) {
				continue
			}
			p[kept] = c
			kept++
			if s.message > maxMessage {
				return 0, errMessage
			}
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
		if !s.plain || s.message > 0 {
			continue
		}
		if now := time.Now(); now.Sub(since) > time.Minute {
			skipped, since = 0, now
		}
		if skipped += n; skipped > maxMessage {
			return 0, errNoise
		}
		if s.noise != nil {
			s.noise(string(p[:min(n, 200)]))
		}
	}
}

// pass says whether a byte stays.
func (s *shortener) pass(c byte) bool {
	if c == '\n' { // never inside a text: JSON writes it as an escape
		blank := s.message == 0
		*s = shortener{from: s.from, plain: s.plain, noise: s.noise}
		return !(s.plain && blank)
	}
	if s.skip {
		return false
	}
	if s.plain && s.message == 0 && c != '{' && c != '[' {
		s.skip = c != ' ' && c != '\t' && c != '\r'
		return false
	}
	if s.keeps(c) {
		s.message++
		return true
	}
	return false
}

// keeps follows the texts of a message.
func (s *shortener) keeps(c byte) bool {
	switch {
	case !s.text:
		s.text, s.length, s.cut, s.escape = c == '"', 0, false, 0
		return true
	case s.escape < 0: // behind a backslash
		s.escape = 0
		if c == 'u' {
			s.escape = 4
		}
	case s.escape > 0:
		s.escape--
	case c == '"':
		s.text = false
		return true
	default:
		most := maxString
		if s.message > maxTexts {
			most = laterTexts
		}
		if s.length >= most && c&0xC0 != 0x80 { // at a character
			s.cut = true
		}
		if c == '\\' {
			s.escape = -1
		}
	}
	s.length++
	return !s.cut
}
