package device

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
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
func (r *soundRoom) loseTheCard() {
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
	<-time.After(time.Second) // a press as short as a hush would have no words
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
	r.wait("the conditions to end", stateLimit, func() bool { return len(r.device.conds.List()) == 0 })
	t.Logf("%s: back after %v", r.air, time.Since(begin).Round(time.Millisecond))
	r.question("what time is it?", "what time is it")
}

func (r *soundRoom) holds(code condition.Code) bool { return r.device.conds.Holds(code) }

// Nobody presses and the card stays away: the answer that nobody hears ends all the same.
func TestALSAUnpluggedForGood(t *testing.T) {
	slow(t)
	r := newRoom(t, newALSAAir(t))
	r.device.coordinator.Ask("what is your name")
	r.wait("the answer to sound", turnLimit, r.device.Speaking)
	<-time.After(500 * time.Millisecond)
	r.air.lose()
	rec := r.turn()
	r.wait("quiet", stateLimit, r.device.Quiet)
	all := ms(audio.CardDuration(2 * (len(r.voice.take()))))
	t.Logf("%s after %.0f ms, %.1f of %.1f ms heard", rec.Reason, rec.DurationMS, rec.HeardMS, all)
	if rec.HeardMS < 300 || rec.HeardMS > all/2 {
		t.Errorf("%.1f of %.1f ms heard; want about a second", rec.HeardMS, all)
	}
	if !r.holds("sound.speaker") {
		t.Error("the loudspeaker is gone, and no condition says so")
	}
}

// A stream is cancelled while the companion speaks: its sound ends at once, and speech goes on to its last sample.
func TestStreamIsCutBesideSpeechOnALSA(t *testing.T) {
	slow(t)
	r := newRoom(t, newALSAAir(t))
	speaker := r.device.speakerAdapter()
	gen := r.device.speaker.Generation()
	content, speech := speaker.Open(coordinator.SourceContent, gen), speaker.Open(coordinator.SourceSpeech, gen)
	stream, err := r.synthesizer.Say(t.Context(), "rms", "once upon a time there was a shell that lay on a beach and listened.")
	if err != nil {
		t.Fatal(err)
	}
	words, err := r.voice.Say(t.Context(), "slt", "of course, I have stopped the stream for you, and I am still speaking.")
	if err != nil {
		t.Fatal(err)
	}
	content.Write(t.Context(), stream[:audio.Rate])
	speech.Write(t.Context(), words)
	speech.Close()
	<-time.After(500 * time.Millisecond)
	at := time.Now()
	content.(interface{ Cut() }).Cut()
	<-speech.Drained()
	first, _ := r.air.since(at)
	m, ok := find(r.recorded(at, time.Now()), words[audio.Rate:])
	if !ok || m.whole < 0.99 || m.last < len(words)-audio.Rate-audio.Rate/5 {
		t.Fatalf("beside the stream that was cut the speech is not alone and whole: %v", m)
	}
	if n := content.Heard(); n == 0 || n > audio.Rate*7/10 {
		t.Errorf("%d samples of the stream were heard; want about %d", n, audio.Rate/2)
	}
	t.Logf("from %v after the cut on the speech is there alone: %v", first.Add(audio.CardDuration(m.at)).Sub(at), m)
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
	r.wait("sound again", stateLimit, func() bool { return len(r.device.conds.List()) == 0 })
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
	for name, open := range map[string]func(*testing.T) air{
		"ALSA":       func(t *testing.T) air { return newALSAAir(t) },
		"PulseAudio": func(t *testing.T) air { return newPulseAir(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, open(t))
			cycle := func() {
				r.air.lose()
				r.wait("both halves to be missed", stateLimit, func() bool { return r.holds("sound.speaker") && r.holds("sound.microphone") })
				if err := r.air.back(); err != nil {
					t.Fatal(err)
				}
				r.wait("the conditions to end", stateLimit, func() bool { return len(r.device.conds.List()) == 0 })
			}
			for range 3 {
				cycle()
			}
			count := func() (goroutines, files, kB int) {
				debug.FreeOSMemory() // or what the heap once needed counts
				return runtime.NumGoroutine(), openFiles(t), statusOf(t, "VmRSS")
			}
			goroutines, files, memory := count()
			for range 20 {
				cycle()
			}
			r.wait("the goroutines to end", stateLimit, func() bool { return runtime.NumGoroutine() <= goroutines })
			g, f, m := count()
			t.Logf("20 times gone and back: %d goroutines (%d before), %d open files (%d), %d kB resident (%d)", g, goroutines, f, files, m, memory)
			if f > files+2 { // a player or recorder of the test may be about to end
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
