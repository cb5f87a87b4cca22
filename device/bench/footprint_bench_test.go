package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio/alsacard"
	"conch/device/benchtest"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

const (
	fullMiB    = 46 // APPLIANCE.md 5
	footMethod = "conch as it is built, run without a terminal on the simulated ALSA card, the broker of its room and the voice's client in it, the voice's " +
		"server in another process; VmRSS of /proc/PID/status, the most of five looks a second. All of VmRSS is judged, as the budget has it: what is its own " +
		"(RssAnon) and what is mapped of files (RssFile, mostly the program itself: clean pages, which the kernel takes back where memory is short, " +
		"but which it must read again from the disk). How much of the files is mapped differs from run to run: " +
		"idle, where they are most of what there is, is judged in the guest with a Pi's kernel and memory (make vm, TestFootprint), and printed here"
)

// BenchmarkFootprint is the memory of the appliance: idle, and with ten timers, a book, then a radio, and a question over it.
func BenchmarkFootprint(b *testing.B) {
	for range b.N {
		r := footprintRig(b)
		fmt.Println("method:", footMethod)
		show := func(what string, d time.Duration) processCost {
			c, err := sampleProcess(b.Context(), r.pid, d)
			if err != nil {
				b.Fatal(err)
			}
			fmt.Printf("  %-38s RSS at most %.1f MiB; at its end %.1f: its own %.1f, of files %.1f\n", what, c.peak, c.rss, c.rss-c.file, c.file)
			return c
		}
		idle := show("idle, 60 s", time.Minute)
		note := fmt.Sprintf("its own %.1f, of files %.1f", idle.rss-idle.file, idle.file)
		benchtest.Report(b, benchtest.Result{What: "memory idle", Figure: idle.peak, Unit: "MiB", Note: note + "; judged in the guest"})
		for i := range 10 {
			r.ask(b, fmt.Sprintf("set a timer for %d minutes", 50+i), "is set")
		}
		most := show("ten timers", time.Second)
		for _, play := range []string{"play moby dick", "play station loop"} {
			r.ask(b, play, "")
			if c := show("ten timers, "+play, 20*time.Second); c.peak > most.peak {
				most = c
			}
			r.plays(b)
		}
		talked := make(chan struct{})
		go func() { // awaited below
			defer close(talked)
			r.ask(b, "what time is it", "")
		}()
		if c := show("ten timers, a radio, and it answers", 10*time.Second); c.peak > most.peak {
			most = c
		}
		<-talked
		r.plays(b)
		benchtest.AtMost(b, "memory with a book, a radio and ten timers", most.peak, fullMiB, "MiB",
			fmt.Sprintf("its own %.1f, of files %.1f", most.rss-most.file, most.file))
		b.ReportMetric(0, "ns/op")
	}
}

// footRig is a running appliance.
type footRig struct {
	pid    int
	remote *control.Remote
}

func (r footRig) ask(b *testing.B, text, want string) {
	var a control.Answer
	if err := r.remote.Do(b.Context(), "POST", "/ask", map[string]string{"text": text}, &a); err != nil || !strings.Contains(a.Text, want) {
		b.Errorf("%s: %+v %v", text, a, err)
	}
}

// plays fails where nothing plays.
func (r footRig) plays(b *testing.B) {
	var s control.Status
	if err := r.remote.Do(b.Context(), "GET", "/status", nil, &s); err != nil || s.State != "IDLE" || s.Quiet {
		b.Errorf("nothing plays: %s, quiet %v, %v", s.State, s.Quiet, err)
	}
}

func footprintRig(b *testing.B) footRig {
	dir := b.TempDir()
	conch := filepath.Join(dir, "conch")
	if out, err := exec.Command("go", "build", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", conch, "conch/cmd/conch").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	card := alsacard.Start(b, alsacard.Options{})
	mp3(b, filepath.Join(dir, "library", "Moby Dick.mp3"), "600", "1", "64")
	mp3(b, filepath.Join(dir, "radio", "loop.mp3"), "60", "2", "128")
	station := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		broadcast(r.Context(), w, filepath.Join(dir, "radio", "loop.mp3"))
	}))
	b.Cleanup(station.Close)

	voice := exec.Command(conch, "rehearse", "--serve", "127.0.0.1:0")
	said, err := voice.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	begin(b, voice)
	line, err := bufio.NewReader(said).ReadString('\n') // rehearsal voice at ws://…
	_, rest, ok := strings.Cut(line, " at ")
	if err != nil || !ok {
		b.Fatalf("the voice said %q: %v", line, err)
	}
	url, _, _ := strings.Cut(rest, " ")

	var cfg config.Config
	cfg.State.Runtime = filepath.Join(dir, "state")
	args := []string{"run"}
	for _, s := range []string{
		"state.dir=" + cfg.State.Runtime, "state.runtime=" + cfg.State.Runtime, "button.source=none", "device.quiet=00:00-23:59", "voice.url=" + url,
		"audio.playback=" + card.Device(), "audio.capture=" + card.Device(), "library.folder=" + filepath.Join(dir, "library"), "radio.stations=loop=" + station.URL,
	} {
		args = append(args, "--set", s)
	}
	run := exec.Command(conch, args...)
	run.Env = append(os.Environ(), "OPENAI_API_KEY=sk-rehearsal")
	begin(b, run)
	remote, _, err := waitReady(b.Context(), cfg, 30*time.Second)
	if err != nil {
		b.Fatal(err)
	}
	return footRig{run.Process.Pid, remote}
}

// begin starts a program, and ends it with the benchmark.
func begin(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// mp3 is noise, so that a decoder has all to do.
func mp3(b *testing.B, path, seconds, channels, kbits string) {
	b.Helper()
	wav := filepath.Join(b.TempDir(), "noise.wav")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	for _, line := range [][]string{
		{"sox", "-n", "-r", "44100", "-b", "16", "-c", channels, wav, "synth", seconds, "pinknoise", "vol", "0.2"},
		{"lame", "--quiet", "-b", kbits, wav, path},
	} {
		if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%s: %v (make deps-test installs it)\n%s", line[0], err, out)
		}
	}
}

// broadcast sends a file again and again, two seconds ahead and from there in its time.
func broadcast(ctx context.Context, w http.ResponseWriter, path string) {
	const perSecond = 128_000 / 8
	song, err := os.ReadFile(path)
	if err != nil {
		return // who listens hears nothing, and the benchmark fails
	}
	w.Header().Set("Content-Type", "audio/mpeg")
	begun := time.Now()
	for sent := 0; wait.For(ctx, 50*time.Millisecond) == nil; {
		for due := perSecond * (2*time.Second + time.Since(begun)) / time.Second; sent < int(due); {
			at := sent % len(song)
			n, err := w.Write(song[at:min(at+4096, len(song))])
			if sent += n; err != nil {
				return
			}
		}
		_ = http.NewResponseController(w).Flush() // who has gone is found by the next Write
	}
}
