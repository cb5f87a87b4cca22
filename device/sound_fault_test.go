package device

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/coordinator/turn"
)

// Faults of the sound itself, on a whole device. The longer ones are left to make test-audio.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("CONCH_TEST_AUDIO") == "" {
		t.Skip("takes long: set CONCH_TEST_AUDIO=1 (make test-audio does)")
	}
}

func TestPulseAudioKilledInAnAnswer(t *testing.T) {
	slow(t)
	newRoom(t, newPulseAir(t)).loseTheCard()
}

func TestALSAUnpluggedInAnAnswer(t *testing.T) {
	slow(t)
	newRoom(t, newALSAAir(t)).loseTheCard()
}

// loseTheCard takes the card away in the middle of an answer. It is said what is wrong, nothing burns, a press still makes a
// turn that ends in words and IDLE; and when the card is there again all is well without anybody's help.
func (r *room) loseTheCard() {
	t := r.t
	r.ask("tell me a story.")
	r.wait("the story to sound", turnLimit, r.device.Speaking)
	<-time.After(time.Second)
	lost := time.Now()
	r.air.lose()
	r.wait("both halves to be missed", stateLimit, func() bool { return r.holds("sound.speaker") && r.holds("sound.microphone") })
	noticed := time.Since(lost)

	cpu := processTime(t)
	r.hand.Press()
	r.wait("the press to be taken", 2*time.Second, func() bool { return r.device.coordinator.State() == turn.Listening })
	<-time.After(time.Second)
	used := processTime(t) - cpu
	if used > 500*time.Millisecond {
		t.Errorf("%v of processor time in the second after the card was missed", used)
	}
	r.hand.Release()
	story := r.turn()
	dumb := r.turn()
	r.wait("quiet", stateLimit, r.device.Quiet)
	t.Logf("%s: missed after %v; %v of processor time in the next second; the story: %s, %.1f ms heard; a press without a card: %s %q after %.0f ms",
		r.air, noticed.Round(time.Millisecond), used.Round(time.Millisecond), story.Reason, story.HeardMS, dumb.Reason, dumb.Words, dumb.DurationMS)
	if dumb.Reason != "failed" || dumb.Words == "" {
		t.Errorf("a press without a card ended %+v; want it failed, with words", dumb)
	}
	if s := r.device.coordinator.State(); s != turn.Idle {
		t.Errorf("state %s; want IDLE", s)
	}

	if err := r.air.back(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r.wait("the conditions to end", stateLimit, func() bool { return len(r.device.conds.list()) == 0 })
	t.Logf("%s: back after %v", r.air, time.Since(begin).Round(time.Millisecond))
	r.question("what time is it?", "what time is it")
}

func (r *room) holds(code string) bool {
	return slices.ContainsFunc(r.device.conds.list(), func(c Condition) bool { return c.Code == code })
}

// A sound server that stands still holds nobody up: not the button, not the next turn, not the end of the program.
func TestPulseAudioFrozen(t *testing.T) {
	slow(t)
	before := runtime.NumGoroutine()
	a := newPulseAir(t)
	r := newRoom(t, a)
	r.ask("tell me a story.")
	r.wait("the story to sound", turnLimit, r.device.Speaking)
	a.server.Freeze()
	defer a.server.Thaw()
	<-time.After(time.Second)
	at := time.Now()
	r.hand.Press()
	r.wait("the press to be taken", 2*time.Second, func() bool { return r.device.coordinator.State() == turn.Listening })
	took := time.Since(at)
	<-time.After(2 * time.Second)
	r.hand.Release()
	a.server.Thaw()
	story, dumb := r.turn(), r.turn()
	t.Logf("the press was taken after %v; the story: %s; the press: %s %q", took, story.Reason, dumb.Reason, dumb.Words)
	if story.Reason != "interrupted" {
		t.Errorf("the story ended %+v; want it interrupted", story)
	}
	r.wait("quiet", stateLimit, r.device.Quiet)
	r.wait("sound again", stateLimit, func() bool { return len(r.device.conds.list()) == 0 })
	r.question("what time is it?", "what time is it")

	a.server.Freeze()
	<-time.After(time.Second)
	at = time.Now()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	t.Logf("ended after %v beside a frozen server", time.Since(at).Round(time.Millisecond))
	a.server.Thaw()
	r.wait("the calls that were left behind to come back", stateLimit, func() bool { return runtime.NumGoroutine() <= before+3 }) // the recorder's
}

func TestTwentyTimesUnplugged(t *testing.T) {
	slow(t)
	for _, a := range []air{newALSAAir(t), newPulseAir(t)} {
		t.Run(strings.ReplaceAll(a.String(), " ", "_"), func(t *testing.T) {
			r := newRoom(t, a)
			cycle := func() {
				r.air.lose()
				r.wait("both halves to be missed", stateLimit, func() bool { return r.holds("sound.speaker") && r.holds("sound.microphone") })
				if err := r.air.back(); err != nil {
					t.Fatal(err)
				}
				r.wait("the conditions to end", stateLimit, func() bool { return len(r.device.conds.list()) == 0 })
			}
			for range 3 {
				cycle()
			}
			count := func() (goroutines, files, kB int) {
				runtime.GC()
				return runtime.NumGoroutine(), openFiles(t), statusOf(t, "VmRSS")
			}
			goroutines, files, memory := count()
			for range 20 {
				cycle()
			}
			r.wait("the goroutines to end", stateLimit, func() bool { return runtime.NumGoroutine() <= goroutines })
			g, f, m := count()
			t.Logf("%s, 20 times gone and back: %d goroutines (%d before), %d open files (%d), %d kB resident (%d)", a, g, goroutines, f, files, m, memory)
			if f > files {
				t.Errorf("%d open files; %d before", f, files)
			}
			if m > memory+8192 {
				t.Errorf("%d kB resident; %d before", m, memory)
			}
			r.question("what time is it?", "what time is it")
		})
	}
}

// processTime is what this process has used of the processors; its children do not count.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// statusOf reads a number of /proc/self/status.
func statusOf(t *testing.T, key string) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	t.Fatalf("no %s in /proc/self/status", key)
	return 0
}
