package vm

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// small is as much memory as Linux sees on a Pi Zero 2 W (417 MiB; of what it is given it keeps 37 for itself), and one
// processor.
func small(t *testing.T) *box {
	t.Helper()
	b := start(t, Options{From: shared.readyDir(t), Memory: 512, Seen: 454})
	b.settled()
	t.Logf("the guest sees %s", strings.Join(strings.Fields(b.run("grep MemTotal /proc/meminfo; nproc")), " "))
	b.well(3 * time.Minute)
	return b
}

// process is what the kernel counts of the service's process.
type process struct {
	rss, peak   int // KiB
	anon, files int // KiB of rss: its own, and what is mapped of files: the kernel takes that back where memory is short
	cpu         float64
}

func (p process) String() string {
	return fmt.Sprintf("RSS %.1f MiB (its own %.1f, of files %.1f)", float64(p.rss)/1024, float64(p.anon)/1024, float64(p.files)/1024)
}

func (b *box) process() (p process) {
	b.t.Helper()
	out := b.run("p=$(systemctl show conch -p MainPID --value); grep -E 'VmRSS|VmHWM|RssAnon|RssFile' /proc/$p/status; cut -d ' ' -f 14,15 /proc/$p/stat; getconf CLK_TCK")
	var user, system, hz float64
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		switch {
		case f[0] == "VmRSS:":
			p.rss = number(b.t, f[1])
		case f[0] == "VmHWM:":
			p.peak = number(b.t, f[1])
		case f[0] == "RssAnon:":
			p.anon = number(b.t, f[1])
		case f[0] == "RssFile:":
			p.files = number(b.t, f[1])
		case len(f) == 2:
			user, _ = strconv.ParseFloat(f[0], 64)
			system, _ = strconv.ParseFloat(f[1], 64)
		case len(f) == 1:
			hz = float64(number(b.t, f[0]))
		}
	}
	p.cpu = (user + system) / hz
	return p
}

// TestFootprint: memory idle and talking, processor idle, from exec to ready. Memory is the same on a Pi, to a megabyte;
// emulated, a second of processor is much less than one of a Pi's, so that is printed and not judged.
func TestFootprint(t *testing.T) {
	b := small(t)
	p := b.properties("ActiveEnterTimestampMonotonic", "ExecMainStartTimestampMonotonic")
	t.Logf("exec to ready: %.0f ms (emulated)", millis(p["ActiveEnterTimestampMonotonic"])-millis(p["ExecMainStartTimestampMonotonic"]))
	b.run("sleep 10")
	const idle = 60
	before := b.process()
	b.run(fmt.Sprintf("sleep %d", idle))
	after := b.process()
	t.Logf("idle: %v, processor %.1f %% of this emulated core", after, 100*(after.cpu-before.cpu)/idle)
	b.run("conch ask tell me a story >/dev/null 2>&1 &")
	b.hand(2*time.Minute, "until sound 60s\nwait 10s")
	talking := b.process()
	t.Logf("talking: %v, at most %.1f MiB since the start", talking, float64(talking.peak)/1024)
	if after.rss > 30<<10 || talking.peak > 46<<10 { // APPLIANCE.md 5
		t.Errorf("RSS is %d KiB idle, want 30 MiB; at most %d KiB talking, want 46 MiB", after.rss, talking.peak)
	}
}

// TestGrowth talks for a quarter of an hour and longer where CONCH_VM_SOAK says so: the second half needs no more memory
// than the first.
func TestGrowth(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CONCH_VM_SOAK"))
	if err != nil {
		t.Skip("how long? CONCH_VM_SOAK=15m (make vm-soak)")
	}
	b := small(t)
	halves := [2]int{}
	questions := []string{"what time is it", "tell me a story", "set the volume to 40 percent", "what can you do", "what is the capital of france"}
	begun, n := time.Now(), 0
	for ; time.Since(begun) < length; n++ {
		// A press ends what does not end by itself.
		b.hand(3*time.Minute, fmt.Sprintf("ask %s\nuntil sound 60s\nwait 2500ms\npress\nwait 300ms\nrelease\nuntil quiet 30s", questions[n%len(questions)]))
		half := min(1, int(2*time.Since(begun)/length))
		p := b.process()
		halves[half] = max(halves[half], p.rss)
		if n%10 == 0 {
			t.Logf("%s: %d questions, RSS %.1f MiB", time.Since(begun).Round(time.Second), n+1, float64(p.rss)/1024)
		}
	}
	t.Logf("%d questions in %s: RSS at most %.1f MiB in the first half, %.1f MiB in the second", n, length, float64(halves[0])/1024, float64(halves[1])/1024)
	if halves[1] > halves[0]+halves[0]/10+1024 {
		t.Errorf("it grows: at most %d KiB in the first half, %d KiB in the second", halves[0], halves[1])
	}
	if p := b.properties("NRestarts"); p["NRestarts"] != "0" {
		t.Errorf("it was restarted %s times", p["NRestarts"])
	}
}
