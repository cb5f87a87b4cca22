package companions

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"conch/device/system"
)

const (
	maxLine      = 1 << 20         // bytes of a line that is read; a longer one is skipped
	diskPatience = 5 * time.Second // between two tries to write what could not be written
)

// diskWriter brings a file up to date from a goroutine of its own, so that no disk holds up the room. That it cannot, and that it can
// again, is told once each.
type diskWriter struct {
	of      string // "memory", "ledger"
	log     *slog.Logger
	trouble func(string, error)
	wake    chan struct{} // one token when something waits
	failed  bool          // owned by run
}

func newDiskWriter(of string, log *slog.Logger, trouble func(string, error)) diskWriter {
	return diskWriter{of: of, log: log, trouble: trouble, wake: make(chan struct{}, 1)}
}

// run writes what waits, and a last time when done is closed. write says whether there was anything to write.
func (w *diskWriter) run(done <-chan struct{}, write func() (wrote bool, err error)) {
	timer := time.NewTimer(diskPatience)
	defer timer.Stop()
	try := func() {
		wrote, err := write()
		if wrote {
			w.tell(err)
		}
		if timer.Stop(); err != nil {
			timer.Reset(diskPatience)
		}
	}
	for {
		try()
		select {
		case <-w.wake:
		case <-timer.C:
		case <-done:
			try()
			return
		}
	}
}

func (w *diskWriter) tell(err error) {
	switch {
	case err != nil && !w.failed:
		w.log.Warn(logRoomDisk, "of", w.of, "err", err)
	case err == nil && w.failed:
		w.log.Info(logRoomDisk, "of", w.of, "over", true)
	default:
		return
	}
	w.failed = err != nil
	w.trouble(w.of, err)
}

// eachLine calls see with every line that ends, and counts those it refuses, that are too long, or that do not end; whole
// says that the last line ended.
func eachLine(r io.Reader, see func([]byte) bool) (whole bool, skipped int, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	long := false
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			long, line = true, line[:0]
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if long || len(line) > 0 {
				return false, skipped + 1, nil
			}
			return true, skipped, nil
		case err != nil:
			return false, skipped, err
		}
		if data := bytes.TrimSpace(line); long || len(data) > 0 && !see(data) {
			skipped++
		}
		long, line = false, line[:0]
	}
}

// ReplaceFile puts data in the place of a file, so that after a power cut there is the old one or the new one.
func ReplaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // a no-op once renamed
	_, err = tmp.Write(data)
	if e := tmp.Sync(); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return system.SyncDirectory(filepath.Dir(path))
}
