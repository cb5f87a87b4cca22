package companions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"conch/companions/round"
)

// The ledger's files in the state directory.
const (
	LedgerFile    = "ledger.jsonl"
	LedgerOldFile = "ledger.1.jsonl" // what was LedgerFile before it was full

	maxLedger  = 4 << 20 // bytes of LedgerFile; then it becomes LedgerOldFile, and the one before that is gone
	maxEntries = 2048    // that wait for the disk; at the bound the oldest is dropped and counted
)

// Ledger writes entries as JSON lines, each with the time on the wall, from a goroutine of its own, so that no disk holds
// up the room. It is not synced: after a power cut its last seconds may be missing and its last line torn.
type Ledger struct {
	// fixed after newLedger
	dir   string
	limit int64
	disk  diskWriter

	// guarded by mu
	mu       sync.Mutex
	waiting  []ledgerLine
	count    LedgerStats
	wordless bool // nothing that was said is written (redact.go)
	forget   bool // and what was written with words is to go

	// owned by writing
	file *os.File
	size int64
	torn bool // the file does not end with a line's end
}

// LedgerStats count what became of the entries.
type LedgerStats struct {
	Written uint64 `json:"written"`
	Waiting int    `json:"waiting"`
	Dropped uint64 `json:"dropped"` // at the bound, while the disk failed
	Bytes   int64  `json:"bytes"`   // of the file
}

// ledgerLine is an entry with the time that people know.
type ledgerLine struct {
	Time time.Time `json:"time"`
	round.Entry
}

func newLedger(dir string, log *slog.Logger, trouble func(string, error)) *Ledger {
	return &Ledger{dir: dir, limit: maxLedger, disk: newDiskWriter("ledger", log, trouble)}
}

// add queues an entry; it does not wait for the disk.
func (l *Ledger) add(e round.Entry) {
	line := ledgerLine{time.Now().UTC(), e}
	l.mu.Lock()
	if len(l.waiting) >= maxEntries {
		l.waiting = append(l.waiting[:0], l.waiting[1:]...)
		l.count.Dropped++
	}
	l.waiting = append(l.waiting, line)
	l.mu.Unlock()
	poke(l.disk.wake)
}

// writing is a goroutine of Room.Run.
func (l *Ledger) writing(done <-chan struct{}) { l.disk.run(done, l.write) }

// write brings the file up to date, or says that it could not.
func (l *Ledger) write() (wrote bool, err error) {
	l.mu.Lock()
	lines, wordless, forget := l.waiting, l.wordless, l.forget
	l.waiting, l.forget = nil, false
	l.mu.Unlock()
	if forget {
		if err := forgetLedger(l.dir); err != nil {
			l.mu.Lock()
			l.forget, l.waiting = true, append(lines, l.waiting...)
			l.mu.Unlock()
			return true, err
		}
	}
	if len(lines) == 0 {
		return forget, nil
	}
	if wordless {
		for i := range lines {
			lines[i].Entry = redacted(lines[i].Entry)
		}
	}
	n, err := l.append(lines)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count.Written += uint64(n)
	l.count.Bytes = l.size
	if err == nil {
		return true, nil
	}
	l.waiting = append(lines[n:], l.waiting...) // these first, and of them the latest
	if over := len(l.waiting) - maxEntries; over > 0 {
		l.waiting = l.waiting[over:]
		l.count.Dropped += uint64(over)
	}
	const remedy = "free some space, or set state.dir; the room goes on, and what happens now may be missing there"
	return true, fmt.Errorf("ledger: %s: %w (%s)", filepath.Join(l.dir, LedgerFile), err, remedy)
}

// append writes lines and says how many of them are in the file.
func (l *Ledger) append(lines []ledgerLine) (n int, err error) {
	defer l.close()
	for n < len(lines) {
		if err := l.open(); err != nil {
			return n, err
		}
		var b bytes.Buffer
		if l.torn {
			b.WriteByte('\n')
		}
		batch := 0
		for _, line := range lines[n:] {
			data, err := json.Marshal(line)
			if err != nil { // a number that JSON cannot hold
				data = fmt.Appendf(nil, `{"kind":%q,"why":%q}`, line.Kind, err.Error())
			}
			if l.size+int64(b.Len()+len(data)) >= l.limit && (l.size > 0 || batch > 0) {
				break
			}
			b.Write(data)
			b.WriteByte('\n')
			batch++
		}
		if batch == 0 {
			if err := l.rotate(); err != nil {
				return n, err
			}
			continue
		}
		wrote, err := l.file.Write(b.Bytes())
		if err != nil {
			l.torn = l.torn || wrote > 0
			if wrote > 0 && l.file.Truncate(l.size) == nil {
				l.torn = false
			} else {
				l.size += int64(wrote)
			}
			return n, err
		}
		l.size += int64(wrote)
		l.torn = false
		n += batch
	}
	return n, nil
}

// open opens the file for one batch: it may have been taken away since the last one, and nobody is to find a file open that
// a disk cannot be unmounted with.
func (l *Ledger) open() error {
	if l.file != nil {
		return nil
	}
	path := filepath.Join(l.dir, LedgerFile)
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Mode().Perm() != 0o600 { // of an older conch: what people said is for nobody else
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size, l.torn = f, st.Size(), false
	if last := make([]byte, 1); l.size > 0 {
		if _, err := f.ReadAt(last, l.size-1); err == nil {
			l.torn = last[0] != '\n'
		}
	}
	return nil
}

// rotate makes the full file the old one.
func (l *Ledger) rotate() error {
	l.close()
	return os.Rename(filepath.Join(l.dir, LedgerFile), filepath.Join(l.dir, LedgerOldFile))
}

func (l *Ledger) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *Ledger) stats() LedgerStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.count
	s.Waiting = len(l.waiting)
	return s
}

// ReadLedger reads a ledger: a file, or a state directory with the old file and the new one. Lines that are torn or no
// entries are skipped and counted.
func ReadLedger(path string) (entries []round.Entry, skipped int, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("ledger: %w", err)
	}
	files := []string{path}
	if st.IsDir() {
		files = []string{filepath.Join(path, LedgerOldFile), filepath.Join(path, LedgerFile)}
	}
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) && st.IsDir() {
			continue
		}
		if err != nil {
			return entries, skipped, fmt.Errorf("ledger: %w", err)
		}
		_, bad, err := eachLine(f, func(data []byte) bool {
			var e round.Entry
			if json.Unmarshal(data, &e) != nil || e.Kind == "" {
				return false
			}
			entries = append(entries, e)
			return true
		})
		f.Close()
		skipped += bad
		if err != nil {
			return entries, skipped, fmt.Errorf("ledger: %s: %w", file, err)
		}
	}
	return entries, skipped, nil
}
