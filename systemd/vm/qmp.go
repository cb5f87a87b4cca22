package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// wire is one conversation in lines of JSON, as both QEMU's monitor and the guest's agent hold it: a command, its answer,
// and now and then an event, which is passed over.
type wire struct {
	what string
	path string
	conn net.Conn
	in   *bufio.Reader
}

type answer struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
	Event string `json:"event"`
}

// maxLine bounds an answer: the agent's largest is a file's piece or a command's output, in base64.
const maxLine = 64 << 20

func dialWire(ctx context.Context, what, path string) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("vm: %s: %w", what, err)
	}
	return &wire{what: what, path: path, conn: conn, in: bufio.NewReaderSize(conn, 1<<20)}, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// call sends one command and decodes what it returns into out, if that is not nil. After an error of the conversation
// itself, as opposed to one of the command, the wire is of no use any more.
func (w *wire) call(limit time.Duration, command string, args, out any) error {
	_ = w.conn.SetDeadline(time.Now().Add(limit))
	request := map[string]any{"execute": command}
	if args != nil {
		request["arguments"] = args
	}
	data, err := json.Marshal(request)
	if err == nil {
		_, err = w.conn.Write(append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("vm: %s: %s: %w", w.what, command, err)
	}
	for {
		a, err := w.read()
		switch {
		case err != nil:
			return fmt.Errorf("vm: %s: %s: %w", w.what, command, err)
		case a.Error != nil:
			return &commandError{w.what, command, a.Error.Desc}
		case a.Event != "" || a.Return == nil: // an event, or the greeting
			continue
		case out != nil:
			return json.Unmarshal(a.Return, out)
		}
		return nil
	}
}

// commandError: the other side understood and said no.
type commandError struct{ what, command, text string }

func (e *commandError) Error() string {
	return fmt.Sprintf("vm: %s: %s: %s", e.what, e.command, e.text)
}

func (w *wire) read() (a answer, err error) {
	var line []byte
	for {
		part, err := w.in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return a, err
		}
		if len(line) > maxLine {
			return a, fmt.Errorf("an answer of more than %d bytes", maxLine)
		}
	}
	for len(line) > 0 && line[0] == 0xff { // the agent's mark of a new beginning
		line = line[1:]
	}
	return a, json.Unmarshal(line, &a)
}

// monitor gives QEMU an order of its human monitor: snapshots have no other way in the QEMU of Debian 12. Silence means it
// was carried out.
func (g *Guest) monitor(limit time.Duration, line string) error {
	var said string
	if err := g.qmp.call(limit, "human-monitor-command", map[string]any{"command-line": line}, &said); err != nil {
		return err
	}
	if said != "" {
		return fmt.Errorf("vm: QEMU: %s: %s", line, said)
	}
	return nil
}
