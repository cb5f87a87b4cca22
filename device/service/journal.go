// Package service is what a service manager and an appliance have to do with each other: what it is told (sd_notify), the watchdog
// that is fed while every loop goes round, and a log for which nobody waits.
package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"conch/device/config"
	"conch/device/printable"
	"conch/device/system"
)

// The log has one rule besides what stands in it: nobody waits for it. A journal that is being rotated, a pipe whose reader
// sleeps, a terminal that was stopped with Ctrl-S: what is written waits in a Spill, and beyond its bound is dropped and counted.
//
//	coordinator, callbacks of others ──> slog ──> Spill.Write ──> [ 1024 lines, 1 MiB ] ──> goroutine ──> stderr
//	                                              never waits       then: lost, counted        may wait
//
// Under systemd standard error is the journal: it has a clock of its own, so lines carry none, and begin with the priority it
// sorts by (sd-daemon(3)).

// Bounds of a Spill. Our choices: a second of the most talkative debug log.
const (
	spillLines = 1024
	spillBytes = 1 << 20
	spillEnd   = 2 * time.Second // what the last lines may take when the program ends
)

// Spill is a Writer that never makes its caller wait.
type Spill struct {
	// fixed
	to      io.Writer
	journal bool
	lost    func(n uint64) []byte // the line that tells of lost ones
	lines   chan []byte
	ended   chan struct{}

	// atomic
	waiting atomic.Int64 // bytes
	dropped atomic.Uint64

	mu     sync.RWMutex // of closed against Write
	closed bool
}

// NewSpill starts the goroutine that writes to w; Close ends it.
func NewSpill(w io.Writer) *Spill {
	s := &Spill{to: w, lines: make(chan []byte, spillLines), ended: make(chan struct{}), journal: isJournal(w)}
	s.lost = func(n uint64) []byte {
		if s.journal {
			return fmt.Appendf(nil, "<4>event=log.lost lines=%d\n", n)
		}
		return fmt.Appendf(nil, "level=WARN event=log.lost lines=%d\n", n)
	}
	go s.write()
	return s
}

// NewScreenSpill is one for what people read: lost lines are said in their words.
func NewScreenSpill(w io.Writer) *Spill {
	s := &Spill{to: w, lines: make(chan []byte, spillLines), ended: make(chan struct{})}
	s.lost = func(n uint64) []byte {
		return fmt.Appendf(nil, "conch: (%d pieces of this were lost: nobody read them)\n", n)
	}
	go s.write()
	return s
}

// Write takes p, or drops it at the bound. It reports no error: whoever writes has nobody to tell.
func (s *Spill) Write(p []byte) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed || s.waiting.Add(int64(len(p))) > spillBytes {
		if !s.closed {
			s.waiting.Add(int64(-len(p)))
		}
		s.dropped.Add(1)
		return len(p), nil
	}
	select {
	case s.lines <- append([]byte(nil), p...):
	default:
		s.waiting.Add(int64(-len(p)))
		s.dropped.Add(1)
	}
	return len(p), nil
}

// Lost is how many pieces were dropped so far and not told of.
func (s *Spill) Lost() uint64 { return s.dropped.Load() }

func (s *Spill) write() {
	defer close(s.ended)
	for p := range s.lines {
		s.waiting.Add(int64(-len(p)))
		_, _ = s.to.Write(p) // there is nobody to tell
		if n := s.dropped.Swap(0); n > 0 {
			_, _ = s.to.Write(s.lost(n))
		}
	}
}

// Close waits for what was written, for at most spillEnd: a reader that sleeps keeps nobody from ending. What is written
// later is dropped.
func (s *Spill) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.lines)
	s.mu.Unlock()
	t := time.NewTimer(spillEnd)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C: // its goroutine ends when the reader wakes up, or with the process
	}
}

// isJournal says whether w is the journal: systemd names its device and inode (systemd.exec(5), JOURNAL_STREAM), because a
// program's output may have been turned elsewhere since.
func isJournal(w io.Writer) bool {
	f, ok := printable.Behind(w).(*os.File)
	if !ok {
		return false
	}
	var dev, ino uint64
	if n, err := fmt.Sscanf(os.Getenv("JOURNAL_STREAM"), "%d:%d", &dev, &ino); n != 2 || err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	device, inode, ok := system.Place(info)
	return ok && device == dev && inode == ino
}

// journalHandler writes lines as the journal wants them: one handler for each priority.
type journalHandler struct{ by [4]slog.Handler }

// priorities of syslog(3), as sd-daemon(3) spells them: debug, informational, warning, error.
var priorities = [4]string{"<7>", "<6>", "<4>", "<3>"}

func priority(l slog.Level) int {
	switch {
	case l < slog.LevelInfo:
		return 0
	case l < slog.LevelWarn:
		return 1
	case l < slog.LevelError:
		return 2
	}
	return 3
}

func newJournalHandler(w io.Writer, json bool, o slog.HandlerOptions) slog.Handler {
	replace := o.ReplaceAttr
	o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return replace(groups, a)
	}
	h := &journalHandler{}
	for i, p := range priorities {
		to := prefixed{p, w}
		if json {
			h.by[i] = slog.NewJSONHandler(to, &o)
		} else {
			h.by[i] = slog.NewTextHandler(to, &o)
		}
	}
	return h
}

func (h *journalHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.by[0].Enabled(ctx, l)
}

func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.by[priority(r.Level)].Handle(ctx, r)
}

func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := &journalHandler{}
	for i := range h.by {
		n.by[i] = h.by[i].WithAttrs(attrs)
	}
	return n
}

func (h *journalHandler) WithGroup(name string) slog.Handler {
	n := &journalHandler{}
	for i := range h.by {
		n.by[i] = h.by[i].WithGroup(name)
	}
	return n
}

// prefixed writes a line with something before it, in one piece.
type prefixed struct {
	prefix string
	to     io.Writer
}

func (p prefixed) Write(line []byte) (int, error) {
	if _, err := p.to.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// LiveLogger logs to w as the configuration wants it: one event a line, the event's name under "event". Its level can be
// turned.
func LiveLogger(c config.Log, w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.Slog())
	o := options(level)
	if s, ok := w.(*Spill); ok && s.journal {
		return slog.New(newJournalHandler(w, c.Format == "json", *o)), level
	}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o)), level
	}
	return slog.New(slog.NewTextHandler(w, o)), level
}

func options(level slog.Leveler) *slog.HandlerOptions {
	return &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.MessageKey {
			a.Key = "event"
		}
		return a
	}}
}

// NewLogger is a LiveLogger whose level stays.
func NewLogger(c config.Log, w io.Writer) *slog.Logger {
	log, _ := LiveLogger(c, w)
	return log
}
