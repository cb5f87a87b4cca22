package device

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/voice/hostiletest"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
)

// Every way in which servers misbehave, against the whole device: nothing ends it, every turn ends, once, and what a person is
// told is what happened; no answer is given twice, and when the server behaves again the conversation goes on. A few turns of
// each; CONCH_TEST_HOSTILE=1 (make test-hostile) has thirty, and prints what it saw.
func TestHostileServers(t *testing.T) {
	turns, most, long := 3, 16, os.Getenv("CONCH_TEST_HOSTILE") != ""
	if long {
		turns = 30
	} else {
		t.Parallel()
	}
	var mu sync.Mutex
	var rows []string
	before := heapMB()
	places := make(chan struct{}, most)
	var wg sync.WaitGroup
	for i, m := range hostiletest.Modes {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(m.Name, func(t *testing.T) {
				row := meetHostile(t, m, turns)
				mu.Lock()
				defer mu.Unlock()
				rows = append(rows, fmt.Sprintf("%02d %s", i, row))
			})
		})
	}
	wg.Wait()
	after := heapMB()
	sort.Strings(rows)
	t.Logf("%d modes of %d turns; memory %.1f MB before, %.1f MB after\n%-32s %6s %6s %5s %7s %7s %15s  %s\n%s", len(rows), turns, before, after,
		"   mode", "faults", "turns", "lost", "heard s", "cut ms", "MB start, end", "told", strings.Join(rows, "\n"))
	if long && after > before+32 { // else others are at work
		t.Errorf("memory has grown from %.1f to %.1f MB", before, after)
	}
}

func heapMB() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// meetHostile has a device and its person meet one mode, and returns its line of the table.
func meetHostile(t *testing.T, mode hostiletest.Mode, turns int) string {
	server, err := hostiletest.Start(mode)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b := newBox(t, boxOptions{address: server.Address(), config: func(c *config.Config) {
		c.Turn.Reconnect = 2 * time.Second
		if !mode.Patient {
			c.Turn.Commit, c.Turn.Response = 6*time.Second, 5*time.Second
		}
	}})
	start := heapMB()
	told := map[string]int{}
	heard, apart, cuts := 0.0, 0.0, 0
	for i := range turns {
		n := len(b.turnsEnded())
		switch i % 3 {
		case 0:
			b.ask("short")
		case 1:
			b.say(300 * time.Millisecond)
		case 2: // a long one, and a press in the middle of it
			b.question("long")
			b.until("speaking, or over", func() bool { return b.Speaking() || len(b.turnsEnded()) > n })
			b.pause(700 * time.Millisecond)
			k := len(b.turnsEnded())
			b.talk(300 * time.Millisecond)
			b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > max(k, n+1) })
			b.quiet()
		}
		for _, r := range b.turnsEnded()[n:] {
			heard += r.HeardMS / 1000
			if !slices.Contains(mode.Told, r.Words) && r.Words != string(turn.WordsNoMicrophone) { // a machine that is too busy for its own card
				t.Errorf("turn %s ended %s and was told as %q; want one of %q", r.Turn, r.Reason, r.Words, mode.Told)
			}
			if own := mode.Endless || mode.Ours; !own && r.HeardMS > 3100 || i%3 < 2 && !own && r.HeardMS > 650 {
				t.Errorf("turn %s: %.0f ms were heard: more than the answer is", r.Turn, r.HeardMS)
			}
			told[word(r)]++
			if ms, cut := server.Cut(string(r.Turn)); cut && r.Reason == turn.InterruptedByPress.String() {
				apart, cuts = max(apart, math.Abs(r.HeardMS-float64(ms))), cuts+1
			}
		}
	}
	end := heapMB()
	sessions, faults := server.Told()
	server.Heal()
	b.pause(200 * time.Millisecond)
	b.until("online again", b.coordinator.Online)
	if r := b.ask("short"); r.Words != "" { // what is left of the last fault
		t.Logf("after the last fault: %q", r.Words)
	}
	b.fine()
	cut := "-"
	if cuts > 0 {
		cut = fmt.Sprintf("%.0f", apart)
		if apart > 200 {
			t.Errorf("an interrupted answer was heard to %.0f ms beside where the server was told", apart)
		}
	}
	var words []string
	for w, n := range told {
		words = append(words, fmt.Sprintf("%s %d", w, n))
	}
	sort.Strings(words)
	return fmt.Sprintf("%-29s %6d %6d %5d %7.1f %7s %7.1f %7.1f  %s", mode.Name, faults, len(b.turnsEnded()), sessions-1, heard, cut, start, end, strings.Join(words, ", "))
}

// word is how a turn ended, for people.
func word(r control.Turn) string {
	if r.Words != "" {
		return r.Words
	}
	return r.Reason
}
