package service

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/device/config"
)

// sleeper is a reader that sleeps until it is woken.
type sleeper struct {
	awake chan struct{}
	got   bytes.Buffer
}

func (s *sleeper) Write(p []byte) (int, error) {
	<-s.awake
	return s.got.Write(p)
}

// Whoever writes never waits; what is beyond the bounds is lost and counted; what was taken arrives in order.
func TestSpillNeverWaits(t *testing.T) {
	for name, c := range map[string]struct{ lines, length int }{
		"many lines": {5000, 20},
		"long lines": {40, 100 << 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sleeper{awake: make(chan struct{})}
			spill := NewSpill(s)
			start := time.Now()
			for i := range c.lines {
				line := fmt.Sprintf("%06d%s\n", i, strings.Repeat("x", c.length-7))
				if n, err := spill.Write([]byte(line)); n != len(line) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if d := time.Since(start); d > 0 {
				t.Errorf("%s: it took %s", name, d)
			}
			lost := spill.Lost()
			if lost == 0 || int(lost) >= c.lines {
				t.Errorf("%s: %d of %d lost", name, lost, c.lines)
			}
			if kept := (c.lines - int(lost)) * c.length; kept > spillBytes+2*c.length {
				t.Errorf("%s: %d bytes were kept; the bound is %d", name, kept, spillBytes)
			}
			close(s.awake)
			spill.Close()
			lines := strings.Split(strings.TrimSpace(s.got.String()), "\n")
			told, arrived, last := 0, 0, -1
			for _, l := range lines {
				if _, err := fmt.Sscanf(l, "level=WARN event=log.lost lines=%d", &told); err == nil {
					continue
				}
				n := 0
				if _, err := fmt.Sscanf(l, "%06d", &n); err != nil || n <= last {
					t.Fatalf("%s: %.20q comes after line %d", name, l, last)
				}
				last = n
				arrived++
			}
			if told != int(lost) || arrived+told != c.lines {
				t.Errorf("%s: %d lines arrived, %d are said to be lost, of %d", name, arrived, told, c.lines)
			}
		})
	}
}

// A reader that never wakes up keeps nobody from ending, and what comes after the end is dropped and counted.
func TestSpillEndsWithoutItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{awake: make(chan struct{})}
		spill := NewSpill(s)
		fmt.Fprintln(spill, "one")
		start := time.Now()
		spill.Close()
		spill.Close()
		if d := time.Since(start); d != spillEnd {
			t.Errorf("it took %s to end; want %s", d, spillEnd)
		}
		fmt.Fprintln(spill, "two")
		close(s.awake) // or the bubble would never end
		synctest.Wait()
		if got := s.got.String(); got != "one\nlevel=WARN event=log.lost lines=1\n" {
			t.Errorf("written: %q", got)
		}
	})
}

// In the journal: the priority in front, neither time nor level, attributes and groups as ever.
func TestJournalLines(t *testing.T) {
	for format, want := range map[string]string{
		"text": "<7>event=a turn=t-1\n<6>event=b turn=t-1\n<4>event=c turn=t-1 text=\"two\\nlines\"\n<3>event=d turn=t-1 g.x=1\n",
		"json": "<7>{\"event\":\"a\",\"turn\":\"t-1\"}\n<6>{\"event\":\"b\",\"turn\":\"t-1\"}\n<4>{\"event\":\"c\",\"turn\":\"t-1\",\"text\":\"two\\nlines\"}\n<3>{\"event\":\"d\",\"turn\":\"t-1\",\"g\":{\"x\":1}}\n",
	} {
		var out bytes.Buffer
		spill := NewSpill(&out)
		spill.journal = true
		log, level := LiveLogger(config.Log{Level: "debug", Format: format}, spill)
		log = log.With("turn", "t-1")
		log.Debug("a")
		log.Info("b")
		log.Warn("c", "text", "two\nlines")
		log.WithGroup("g").Error("d", "x", 1)
		level.Set(slog.LevelError)
		log.Warn("e")
		spill.Close()
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, out.String(), want)
		}
	}
}

// Standard error is the journal only where it is the very file that systemd names.
func TestJournalIsRecognised(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, v := range []string{"", "1:2", "nonsense", "1", ":"} {
		t.Setenv("JOURNAL_STREAM", v)
		if isJournal(f) {
			t.Errorf("JOURNAL_STREAM=%q: taken for the journal", v)
		}
	}
	if isJournal(&bytes.Buffer{}) {
		t.Error("a buffer is no journal")
	}
}
