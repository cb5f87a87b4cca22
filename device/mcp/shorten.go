package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// shortener lets what comes pass, and cuts every text in a line that is too long while it is read: an answer of any length takes no more
// memory than maxMessage, and is an answer still.
type shortener struct {
	from io.Reader

	message int  // bytes of this line that passed
	text    bool // inside a text
	escape  int  // bytes that belong to an escape; -1: behind a backslash
	length  int  // bytes of this text that passed
	cut     bool // the rest of this text is dropped
}

func (s *shortener) Read(p []byte) (int, error) {
	for {
		n, err := s.from.Read(p)
		kept := 0
		for _, c := range p[:n] {
			if c == '\n' { // never inside a text: JSON writes it as an escape
				*s = shortener{from: s.from}
			} else if s.message++; !s.keeps(c) {
				s.message--
				continue
			} else if s.message > maxMessage {
				return 0, errMessage
			}
			p[kept] = c
			kept++
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// messages are the lines of a command that the protocol can read. The others are passed over, up to maxMessage bytes of them in a minute.
type messages struct {
	lines *bufio.Reader     // of a shortener
	noise func(text string) // is given each of the others

	rest    []byte // of a message
	skipped int    // bytes of the others, since …
	since   time.Time
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.lines.ReadBytes('\n')
		if m.rest = messageIn(line); m.rest != nil {
			break
		}
		if now := time.Now(); now.Sub(m.since) > time.Minute {
			m.skipped, m.since = 0, now
		}
		if m.skipped += len(line); len(bytes.TrimSpace(line)) > 0 {
			m.noise(string(line[:min(len(line), 200)]))
		}
		switch {
		case m.skipped > maxMessage, errors.Is(err, errMessage) && !bytes.HasPrefix(line, []byte("{")):
			return 0, errNoise
		case err != nil:
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// messageIn is the message that a line holds, whatever stands around it; nil: none.
func messageIn(line []byte) []byte {
	at := bytes.IndexByte(line, '{')
	if at < 0 {
		return nil
	}
	var found json.RawMessage
	if json.NewDecoder(bytes.NewReader(line[at:])).Decode(&found) != nil {
		return nil
	}
	if _, err := jsonrpc.DecodeMessage(found); err != nil {
		return nil
	}
	return append(found, '\n')
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
