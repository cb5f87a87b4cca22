package bench

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/device/benchtest"
	"conch/device/tone"
)

// player is a program that others use, playing the bench's tone on the simulated card.
type player struct {
	name  string
	label string // in the picture
	needs string // program without which it is skipped, and the package that has it
	costs string // what the log of a card does not show
	start func(b *testing.B, card *alsacard.Card) (play, stop func())
}

// BenchmarkSilenceOthers is what others reach on the same simulated card, with the same judge: from the moment at which they are told
// to stop until the last audible sample. What it costs is in the row: the largest step at the cut, in those of the tone itself (1 is
// no click), and whether the device was stopped and has to be started again. Their way from a button to that moment is not in it.
func BenchmarkSilenceOthers(b *testing.B) {
	for _, p := range []player{ // the first two as PortAudio's blocking calls end by Stop and by Abort
		{"blocking-1024-silence", "blocking writes of 1,024 frames, then silence", "cc gcc", "what was heard: an estimate", blocking(1024, "silence")},
		{"blocking-1024-abort", "blocking writes of 1,024 frames, aborted", "cc gcc", "what was heard: an estimate", blocking(1024, "abort")},
		{"blocking-512-abort", "blocking writes of 512 frames, aborted", "cc gcc", "what was heard: an estimate", blocking(512, "abort")},
		{"aplay", "aplay, killed", "aplay alsa-utils", "what was heard: unknown", aplay},
		{"mpv", "mpv, stopped", "mpv mpv", "what was heard: forgotten at the stop", mpv},
	} {
		b.Run(p.name, func(b *testing.B) {
			program, pkg, _ := strings.Cut(p.needs, " ")
			if _, err := exec.LookPath(program); err != nil {
				why := fmt.Sprintf("SKIPPED: %s is not here (apt-get install %s)", program, pkg)
				benchtest.Report(b, benchtest.Result{What: "stop to silence, p99", Unit: "ms", Note: why})
				b.Skip(why)
			}
			for range b.N {
				card := alsacard.Start(b, alsacard.Options{})
				play, stop := p.start(b, card)
				log := card.Log()
				var took []float64
				cut := cut{}
				for i := range benchtest.Presses(100) {
					began := time.Now()
					play()
					await(b, p.name, func() bool {
						at, ok := log.FirstAudible(began, threshold)
						return ok && time.Since(at) > briefly
					})
					time.Sleep(time.Duration(i*37%200) * 100 * time.Microsecond) // spread over the period
					edge := time.Now()
					stop()
					await(b, p.name, func() bool { return time.Since(edge) > 100*time.Millisecond })
					last, ok := log.LastAudible(edge, time.Time{}, threshold)
					if !ok {
						last = edge
					}
					took = append(took, milliseconds(last.Sub(edge)))
					cut.add(log, edge, last)
				}
				slices.Sort(took)
				compared(b, "stop to silence, p99", took, cut.String()+"; "+p.costs)
				drawn(b, benchtest.Strip{Label: p.label, Group: benchtest.Others, Costs: cut.String(), MS: took})
			}
		})
	}
}

// ships are the figures of what ships, idle, in this run.
var ships []float64

// compared is a row for which nothing is promised.
func compared(b *testing.B, what string, sorted []float64, costs string) {
	b.Helper()
	q := benchtest.Quantile
	note := fmt.Sprintf("p50 %.1f p95 %.1f p99 %.1f max %.1f; %s", q(sorted, .5), q(sorted, .95), q(sorted, .99), q(sorted, 1), costs)
	if len(ships) > 0 {
		note = fmt.Sprintf("p50 x %.2f, p99 x %.2f of what ships; ", q(sorted, .5)/q(ships, .5), q(sorted, .99)/q(ships, .99)) + note
	}
	fmt.Printf("  %s: n %d  %s\n", b.Name(), len(sorted), note)
	benchtest.Report(b, benchtest.Result{What: what, Figure: q(sorted, .99), Unit: "ms", N: len(sorted), Note: note})
}

// drawn tells figures to the picture and to the benchmark's line.
func drawn(b *testing.B, strip benchtest.Strip) {
	b.Helper()
	if strip.Group != "" {
		benchtest.Report(b, benchtest.Result{Strip: &strip})
	}
	b.ReportMetric(benchtest.Quantile(strip.MS, .5), "p50-ms")
	b.ReportMetric(benchtest.Quantile(strip.MS, .99), "p99-ms")
	b.ReportMetric(benchtest.Quantile(strip.MS, 1), "max-ms")
	b.ReportMetric(0, "ns/op")
}

func await(b *testing.B, what string, cond func() bool) {
	b.Helper()
	for limit := time.Now().Add(30 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) { // a look
		if time.Now().After(limit) {
			b.Fatalf("%s: nothing for 30 s", what)
		}
	}
}

// cut is what cuts did to the sound, where the card did not run dry just then: that clicks by itself.
type cut struct {
	own, worst         float64 // largest step before an edge, and behind one
	n, clicks, stopped int     // cuts; of them those with a step larger than the tone's own, and those after which the device stood
}

// add looks at the card's log around a cut.
func (c *cut) add(log *alsacard.Log, edge, last time.Time) {
	own, _, dry := steps(log, edge.Add(-20*time.Millisecond), edge)
	step, stopped, dryToo := steps(log, edge, last.Add(5*time.Millisecond))
	if dry || dryToo || own == 0 {
		return
	}
	c.own, c.worst = max(c.own, own), max(c.worst, step)
	c.n++
	if step > 1.05*own {
		c.clicks++
	}
	if stopped {
		c.stopped++
	}
}

// String says what they cost.
func (c *cut) String() string {
	click, stop := "no click", "runs on"
	if c.clicks > 0 {
		click = fmt.Sprintf("%d of %d click (up to %.1f steps)", c.clicks, c.n, c.worst/c.own)
	}
	if c.stopped > 0 {
		stop = "started anew"
	}
	return click + ", " + stop
}

// steps is the largest difference between two samples that sounded one after the other, where a card that stands is at 0, whether it
// was stopped, and whether it ran dry.
func steps(log *alsacard.Log, from, to time.Time) (most float64, stopped, dry bool) {
	prev, known := 0, false
	next := func(v int) {
		if known {
			most = max(most, float64(max(v-prev, prev-v)))
		}
		prev, known = v, true
	}
	first := len(log.Spans)
	for first > 0 && log.Spans[first-1].Time(log.Spans[first-1].Frames).After(from) {
		first--
	}
	for _, s := range log.Spans[first:] {
		if s.At.After(to) {
			break
		}
		switch s.Kind {
		case alsacard.Stopped:
			stopped = true
			next(0)
		case alsacard.Played:
			for j, v := range s.Samples {
				if t := s.Time(j); !t.Before(from) && t.Before(to) {
					next(int(v))
				}
			}
		default:
			dry = true
		}
	}
	return most, stopped, dry
}

// What a cut costs is seen: a fade nothing, a hard one a step, and a card that ran dry is nobody's cut.
func TestCut(t *testing.T) {
	t0 := time.Now()
	at := func(ms float64) time.Time { return t0.Add(time.Duration(ms * float64(time.Millisecond))) }
	played := func(from time.Time, n, faded int) alsacard.Span {
		s := alsacard.Span{Kind: alsacard.Played, At: from, Rate: audio.CardRate, Frames: n, Samples: make([]int16, n)}
		for i := range s.Samples {
			v := float64(tone.At(i, audio.CardRate))
			if left := n - i; left < faded {
				v *= float64(left) / float64(faded)
			}
			s.Samples[i] = int16(v)
		}
		return s
	}
	silent := alsacard.Span{Kind: alsacard.Played, At: at(40), Rate: audio.CardRate, Frames: 480, Samples: make([]int16, 480)}
	const whole, broken = 40 * audio.CardRate / 1000, 40*audio.CardRate/1000 - 36 // 36 frames are three quarters of a wave
	edge, last := at(35), at(40)
	for _, c := range []struct {
		name  string
		spans []alsacard.Span
		n     int
		want  string
	}{
		{"faded", []alsacard.Span{played(t0, whole, 96), silent}, 1, "no click, runs on"},
		{"cut hard", []alsacard.Span{played(t0.Add(36*time.Second/audio.CardRate), broken, 0), silent}, 1, "1 of 1 click"},
		{"stopped", []alsacard.Span{played(t0.Add(36*time.Second/audio.CardRate), broken, 0), {Kind: alsacard.Stopped, At: at(40), Rate: audio.CardRate}}, 1, "started anew"},
		{"ran dry", []alsacard.Span{played(t0, whole, 96), {Kind: alsacard.Replayed, At: at(40), Rate: audio.CardRate, Frames: 1, Samples: []int16{9000}}}, 0, "no click"},
	} {
		var got cut
		got.add(&alsacard.Log{Spans: c.spans}, edge, last)
		if got.n != c.n || !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: %d cuts: %s; want %d and %q", c.name, got.n, &got, c.n, c.want)
		}
	}
}

// blocking is a loop of blocking writes, as programs on PortAudio have it, which looks between two of them whether it should stop.
func blocking(frames int, end string) func(*testing.B, *alsacard.Card) (play, stop func()) {
	return func(b *testing.B, card *alsacard.Card) (play, stop func()) {
		dir := b.TempDir()
		src, exe := filepath.Join(dir, "blocking.c"), filepath.Join(dir, "blocking")
		if err := os.WriteFile(src, benchtest.Blocking, 0o600); err != nil {
			b.Fatal(err)
		}
		if out, err := exec.Command("cc", "-O2", "-o", exe, src, "-lasound", "-lm").CombinedOutput(); err != nil {
			b.Fatalf("cc: %v\n%s", err, out)
		}
		in := program(b, exe, card.Name(), fmt.Sprint(frames), end)
		say := func(what string) func() {
			return func() { _, _ = io.WriteString(in, what) } // a program that has ended is noticed by its silence
		}
		return say("p"), say("s")
	}
}

// program runs until the benchmark is over, or its standard input.
func program(b *testing.B, name string, args ...string) io.WriteCloser {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return in
}

// toneFile is some seconds of the bench's tone as the card takes it: 48 kHz, two channels, 16 bits, nothing else.
func toneFile(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "tone.raw")
	var raw []byte
	for i := range 5 * audio.CardRate {
		v := uint16(tone.At(i, audio.CardRate))
		raw = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(raw, v), v)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// aplay is started anew each time.
func aplay(b *testing.B, card *alsacard.Card) (play, stop func()) {
	file := toneFile(b)
	var cmd *exec.Cmd
	return func() {
			if cmd != nil {
				_ = cmd.Wait() // it was killed
			}
			cmd = exec.Command("aplay", "-q", "-D", card.Name(), "-t", "raw", "-f", "S16_LE", "-r", "48000", "-c", "2", file)
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
		}, func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
}

// mpv is one that lives on.
func mpv(b *testing.B, card *alsacard.Card) (play, stop func()) {
	file, socket := toneFile(b), filepath.Join(b.TempDir(), "mpv")
	program(b, "mpv", "--no-config", "--no-terminal", "--no-video", "--idle", "--ao=alsa", "--audio-device=alsa/"+card.Name(), "--input-ipc-server="+socket,
		"--demuxer=rawaudio", "--demuxer-rawaudio-format=s16le", "--demuxer-rawaudio-rate=48000", "--demuxer-rawaudio-channels=2")
	var conn net.Conn
	await(b, "mpv", func() bool {
		c, err := net.Dial("unix", socket)
		conn = c
		return err == nil
	})
	b.Cleanup(func() { _ = conn.Close() })
	go func() { // its answers; ends with the connection
		for sc := bufio.NewScanner(conn); sc.Scan(); {
			continue
		}
	}()
	say := func(words ...string) {
		line, _ := json.Marshal(map[string][]string{"command": words}) // strings
		_, _ = conn.Write(append(line, '\n'))
	}
	return func() { say("loadfile", file) }, func() { say("stop") }
}
