package cascade

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// lines stands between a server's stream and go-openai, which drops an error that is not quite the one it knows, and takes a stream that
// says nothing for one that has ended. Lines that are no data are left out; an error becomes a chunk that has one; the end that a stream
// announces is noted, and that there was a line that belongs to no stream.
type lines struct {
	io.Closer
	from  *bufio.Reader
	begun bool
	rest  []byte
	*notes
}

const mostLine = 1 << 20

var errLine = errors.New("a line without end")

func newLines(body io.ReadCloser, n *notes) *lines {
	return &lines{Closer: body, from: bufio.NewReaderSize(newlines{body}, 16<<10), notes: n}
}

// newlines reads a bare CR, which may end a line of a stream, as a newline: JSON has none in its strings.
type newlines struct{ io.Reader }

func (n newlines) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	for i, b := range p[:k] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return k, err
}

// begin skips a byte order mark. JSON in the place of a stream, one answer or a list of chunks on
// however many lines, becomes lines of one.
func (l *lines) begin() error {
	l.begun = true
	if mark, err := l.from.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = l.from.Discard(3)
	}
	for {
		b, err := l.from.Peek(1)
		switch {
		case err != nil:
			return err
		case b[0] == ' ', b[0] == '\n', b[0] == '\t':
			_, _ = l.from.Discard(1)
			continue
		case b[0] != '{' && b[0] != '[':
			return nil
		}
		break
	}
	var first json.RawMessage
	var all []json.RawMessage
	var text, read bytes.Buffer
	d := json.NewDecoder(io.TeeReader(io.LimitReader(l.from, mostLine), &read))
	if d.Decode(&first) == nil {
		read.Next(int(d.InputOffset()))
		if json.Unmarshal(first, &all) != nil {
			all = []json.RawMessage{first}
		}
	}
	for _, one := range all {
		text.WriteString("data: ")
		_ = json.Compact(&text, one)
		text.WriteByte('\n')
	}
	l.from = bufio.NewReaderSize(io.MultiReader(&text, &read, l.from), 16<<10)
	return nil
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next is the next line of data; what comes without its end before the stream's is a line, too.
func (l *lines) next() error {
	if !l.begun {
		if err := l.begin(); err != nil {
			return err
		}
	}
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostLine {
			return errLine
		}
		if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
	data = bytes.TrimSpace(data)
	if !ok && bytes.HasPrefix(bytes.TrimSpace(line), []byte(`{"`)) { // without the frame of a stream: an error, or all of it
		data, ok = bytes.TrimSpace(line), true
	}
	switch {
	case !ok, len(data) == 0:
		if text := bytes.TrimSpace(line); !ok && len(text) > 0 && !slices.ContainsFunc([]string{":", "event:", "id:", "retry:"}, func(field string) bool {
			return bytes.HasPrefix(text, []byte(field))
		}) {
			l.odd.Store(true)
		}
		return nil
	case string(data) == "[DONE]":
		l.done.Store(true)
	case data[0] == '{':
		data = append([]byte(`{"choices":[],`), bytes.TrimSpace(data[1:])...) // a second "choices" takes its place
		if bytes.HasSuffix(data, []byte(",}")) {
			data = []byte("{}")
		}
	default:
		l.odd.Store(true)
		return nil
	}
	l.rest = append(append([]byte("data: "), data...), '\n', '\n')
	return nil
}
