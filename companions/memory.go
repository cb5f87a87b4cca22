package companions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"conch/companions/round"
)

const (
	defaultKeep = 50   // messages (ROOM.md 7)
	maxKeep     = 1000 // our choice
)

// Memory keeps the last messages of one room, in one file of the state directory:
//
//	{"memory":1,"room":"home"}                        the first line: whose it is
//	{"message":{"id":"01J…","from":"ada",…}}          what was said
//	{"message":{…,"to":["ben"]},"whispered":"ben"}    to ben alone: handed to nobody else
//	{"message":{…},"envelope":"…"}                    what another device said, as it signed it; corrected: "release":"…" as well
//	{"message":{…,"turn":"t-…"}}                      late words: in the place of the message of that turn that had none
//	{"correct":"01J…","text":"…"}                     of that message only this was heard
//
// Lines are appended and synced; when the file holds much more than is kept, or what was appended is in doubt, it is
// replaced as a whole (written beside, synced, renamed). So a power cut at any instant costs at most the line that was being
// written, and a torn last line is skipped when read. A disk that is full or read-only is told to Options.OnTrouble; the
// messages are then kept in memory and written as soon as that works again.
type Memory struct {
	// fixed after newMemory
	path string // empty: no file
	room string
	keep int
	disk diskWriter

	// guarded by mu
	mu       sync.Mutex
	messages []round.Message // oldest first, at most keep
	pending  []memoryLine    // that are not on the disk; at the bound the file is replaced as a whole
	rewrite  bool
	forget   bool // the file is to go, and stays away
	count    MemoryStats

	// owned by writing, and by newMemory before that
	lines int   // in the file
	err   error // of reading it
}

// MemoryStats count what became of the messages.
type MemoryStats struct {
	Messages int    `json:"messages"`
	Owed     int    `json:"owed"`    // lines that are not on the disk
	Skipped  uint64 `json:"skipped"` // lines that could not be read at the start
	Failures uint64 `json:"failures"`
}

type memoryLine struct {
	Memory    int               `json:"memory,omitempty"`
	Room      *string           `json:"room,omitempty"`
	Message   *round.Message    `json:"message,omitempty"`
	Whispered round.CompanionID `json:"whispered,omitempty"`
	Correct   round.MessageID   `json:"correct,omitempty"`
	Text      *string           `json:"text,omitempty"`
	Envelope  string            `json:"envelope,omitempty"`
	Release   string            `json:"release,omitempty"`
}

// lineOf is a message's line.
func lineOf(msg round.Message) memoryLine {
	l := memoryLine{Message: &msg, Envelope: string(msg.Envelope), Release: string(msg.Release)}
	l.Whispered, _ = msg.Whisper()
	return l
}

// newMemory reads what is there. Nothing that is wrong with the disk stops it.
func newMemory(dir, room string, keep int, log *slog.Logger, trouble func(string, error)) *Memory {
	if keep <= 0 {
		keep = defaultKeep
	}
	m := &Memory{room: room, keep: min(keep, maxKeep), disk: newDiskWriter("memory", log, trouble)}
	if dir == "" {
		return m
	}
	m.path = filepath.Join(dir, memoryFile(room))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.err = fmt.Errorf("memory: directory %s: %w (set state.dir to a place this user may write)", dir, err)
		return m
	}
	if err := m.read(); err != nil {
		m.err = err
	}
	return m
}

// memoryFile names the file of a room: readable, and different for every room.
func memoryFile(room string) string {
	slug := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return -1
	}, strings.ToLower(room))
	sum := sha256.Sum256([]byte(room))
	return fmt.Sprintf("room-%.32s-%x.jsonl", slug, sum[:4])
}

// read takes over what the file says.
func (m *Memory) read() error {
	f, err := os.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		m.rewrite = true // to begin with whose it is
		return nil
	}
	if err != nil {
		return fmt.Errorf("memory: %w (what was said before is not remembered)", err)
	}
	defer f.Close()
	whose := false
	whole, skipped, err := eachLine(f, func(data []byte) bool {
		m.lines++
		var l memoryLine
		if json.Unmarshal(data, &l) != nil {
			return false
		}
		switch {
		case l.Memory != 0:
			whose = l.Room != nil && *l.Room == m.room
		case !whose: // another room's, or nobody knows whose: never mix
			return false
		case l.Message != nil:
			l.Message.Envelope, l.Message.Release = []byte(l.Envelope), []byte(l.Release)
			m.keepMessage(*l.Message)
		case l.Correct != "" && l.Text != nil:
			m.correctMessage(l.Correct, *l.Text, []byte(l.Release))
		}
		return true
	})
	m.count.Skipped = uint64(skipped)
	m.rewrite = !whole || skipped > 0 || !whose
	if err != nil {
		return fmt.Errorf("memory: %s: %w (what was said before is remembered in part)", m.path, err)
	}
	return nil
}

func (m *Memory) index(id round.MessageID) int {
	return slices.IndexFunc(m.messages, func(o round.Message) bool { return o.ID == id })
}

func (m *Memory) keepMessage(msg round.Message) bool {
	if m.index(msg.ID) >= 0 {
		return false
	}
	if i := slices.IndexFunc(m.messages, msg.Stands); i >= 0 { // what was said there, in its words
		m.messages[i] = msg
		return true
	}
	if len(m.messages) >= m.keep {
		m.messages = slices.Delete(m.messages, 0, len(m.messages)-m.keep+1)
	}
	m.messages = append(m.messages, msg)
	return true
}

func (m *Memory) correctMessage(id round.MessageID, text string, release []byte) bool {
	i := m.index(id)
	if i >= 0 {
		m.messages[i].Text, m.messages[i].Release = text, release
	}
	return i >= 0
}

// Recent are the messages, oldest first.
func (m *Memory) Recent() []round.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages)
}

func (m *Memory) message(id round.MessageID) (round.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.index(id); i >= 0 {
		return m.messages[i], true
	}
	return round.Message{}, false
}

// add remembers a message. It does not wait for the disk.
func (m *Memory) add(msg round.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.keepMessage(msg) {
		return
	}
	m.owe(lineOf(msg))
}

// correct replaces a message's text by what was heard of it, as the envelope release says.
func (m *Memory) correct(id round.MessageID, text string, release []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.correctMessage(id, text, release) {
		m.owe(memoryLine{Correct: id, Text: &text, Release: string(release)})
	}
}

// owe queues a line for the writer; needs mu.
func (m *Memory) owe(l memoryLine) {
	if m.path == "" || m.forget {
		return
	}
	if m.rewrite || len(m.pending) >= m.keep {
		m.rewrite, m.pending = true, nil // the file is going to be replaced as a whole
	} else {
		m.pending = append(m.pending, l)
	}
	poke(m.disk.wake)
}

// forgetFile has the writer delete the file, and write none any more.
func (m *Memory) forgetFile() {
	m.mu.Lock()
	m.forget, m.rewrite, m.pending = true, false, nil
	m.mu.Unlock()
	poke(m.disk.wake)
}

// writing is a goroutine of Room.Run.
func (m *Memory) writing(done <-chan struct{}) {
	if m.path == "" {
		return
	}
	if m.err != nil {
		m.disk.tell(m.err)
	}
	m.disk.run(done, m.write)
}

// write brings the disk up to date.
func (m *Memory) write() (wrote bool, err error) {
	m.mu.Lock()
	if m.forget {
		m.mu.Unlock()
		if err := forgetFile(m.path); err != nil {
			return true, err
		}
		return false, nil
	}
	pending, rewrite := m.pending, m.rewrite || m.lines+len(m.pending) > 4*m.keep+16
	var all []round.Message
	if rewrite {
		all = slices.Clone(m.messages)
	}
	m.pending, m.rewrite = nil, false
	m.mu.Unlock()
	switch {
	case rewrite:
		err = m.replace(all)
	case len(pending) > 0:
		err = m.append(pending)
	default:
		return false, nil
	}
	if err != nil { // how much of it arrived is in doubt
		m.mu.Lock()
		m.rewrite, m.pending = true, nil
		m.count.Failures++
		m.mu.Unlock()
		err = fmt.Errorf("memory: %s: %w (free some space, or set state.dir; until then it is lost with the power)", m.path, err)
	}
	return true, err
}

func (m *Memory) append(lines []memoryLine) error {
	var b bytes.Buffer
	for _, l := range lines {
		if err := json.NewEncoder(&b).Encode(l); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	m.lines += len(lines)
	return err
}

func (m *Memory) replace(all []round.Message) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	err := enc.Encode(memoryLine{Memory: 1, Room: &m.room})
	for _, msg := range all {
		err = errors.Join(err, enc.Encode(lineOf(msg)))
	}
	if err == nil {
		err = ReplaceFile(m.path, b.Bytes())
	}
	if err == nil {
		m.lines = len(all) + 1
	}
	return err
}

func (m *Memory) stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.count
	s.Messages, s.Owed = len(m.messages), len(m.pending)
	if m.path != "" && m.rewrite && !m.forget {
		s.Owed = len(m.messages)
	}
	return s
}
