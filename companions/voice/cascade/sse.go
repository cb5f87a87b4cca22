package cascade

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// lines stands between a server's stream and go-openai, which drops an error that is not quite the one it knows, and takes a stream that
// says nothing for one that has ended. Lines that are no data are left out; an error becomes a chunk that has one; the end that a stream
// announces is noted, and that there was a line that belongs to no stream.
type lines struct {
	io.Closer
	from *bufio.Reader
	rest []byte
	*notes
}

const mostLine = 1 << 20

var errLine = errors.New("a line without end")

func newLines(body io.ReadCloser, n *notes) *lines {
	return &lines{Closer: body, from: bufio.NewReaderSize(body, 16<<10), notes: n}
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
