//go:build cgo

package audio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/audio"
	"conch/audio/alsacard"
)

// streamEnv makes a process of this test play a tone, with so many periods, until its standard input ends.
const streamEnv = "CONCH_TEST_STREAM"

func init() { children[streamEnv] = streams }

func streams() error {
	periods, err := strconv.Atoi(os.Getenv(streamEnv))
	if err != nil {
		return err
	}
	m, err := audio.NewCard("alsa", nil)
	if err != nil {
		return err
	}
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Volume: &full})
	str, err := s.OpenOn(m, audio.StreamConfig{Device: "alsa:conchcard", Periods: periods})
	if err != nil {
		return err
	}
	fmt.Println(str.Granted().Periods, str.Granted().Rewinds())
	go func() {
		src, second := s.Open(audio.SourceContent, s.Generation()), tone(time.Second) // 440 of its waves
		for src.Write(context.Background(), second) == len(second) {
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return str.Close()
}

// A stream of what makes a card run dry: it is faster than it says, and the process stands still for 30 ms again and again. With what
// a card holds that is given back nothing is heard of it; 5 ms x 3 ran dry each time. A stop that took longer, because the machine
// stood still too, counts for nobody.
func TestALSAUnderrunsAreNotHeard(t *testing.T) {
	n, every := 8, 250*time.Millisecond
	if os.Getenv("CONCH_TEST_AUDIO") != "" {
		n, every = 20, time.Second
	}
	for try := 1; ; try++ {
		short, _ := stopped(t, 3, n, every)
		long, step := stopped(t, 8, n, every)
		const own = 12000*2*math.Pi*440/audio.CardRate + 2
		t.Logf("0.5 %% too fast, stopped for 30 ms every %v: 5 ms x 3 ran dry in %d of %d stops, 5 ms x 8 in %d of %d (largest step %d, the tone's own %.0f)",
			every, short.dry, short.stops, long.dry, long.stops, step, own)
		if short.dry > 0 && 2*short.dry >= short.stops && long.stops > n/4 && long.dry == 0 && (long.others > 0 || float64(step) <= own) {
			return
		}
		if try == 3 {
			t.Fatal("three times in a row")
		}
	}
}

// dryness is how often a card ran dry.
type dryness struct {
	stops, dry int // stops of the process that took as long as they should; after so many of them it did
	others     int // frames at other times
}

func stopped(t *testing.T, periods, n int, every time.Duration) (d dryness, step int) {
	card := alsacard.Start(t, alsacard.Options{Drift: 5000, Silence: true})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", streamEnv, periods))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	said, err := bufio.NewReader(out).ReadString('\n')
	if want := fmt.Sprintln(periods, true); err != nil || said != want {
		t.Fatalf("it plays with %q, %v; want %q", said, err, want)
	}
	r := &rewound{t: t, card: card, log: card.Log()}
	r.pass(500 * time.Millisecond)
	began := time.Now()
	type stop struct{ from, to time.Time }
	var stops []stop
	for range n {
		r.pass(every)
		from := time.Now()
		_ = cmd.Process.Signal(unix.SIGSTOP)
		<-time.After(30 * time.Millisecond)
		to := time.Now()
		_ = cmd.Process.Signal(unix.SIGCONT)
		if to.Sub(from) < 33*time.Millisecond {
			stops = append(stops, stop{from, to.Add(100 * time.Millisecond)})
		}
	}
	r.pass(every)
	d.stops = len(stops)
	dry := make([]bool, len(stops))
spans:
	for _, s := range r.log.Spans {
		if s.Kind == alsacard.Played || s.Frames == 0 || s.At.Before(began) {
			continue
		}
		for i, at := range stops {
			if s.At.After(at.from) && s.At.Before(at.to) {
				dry[i] = true
				continue spans
			}
		}
		d.others += s.Frames
	}
	for _, x := range dry {
		if x {
			d.dry++
		}
	}
	return d, r.largestStep()
}

// What the package comment promises of a press, for a card that gives back what it has not played and for one that does not.
func TestBoundsAreThosePromised(t *testing.T) {
	const fade = 2 * time.Millisecond
	gives := audio.Granted{Rate: audio.CardRate, Period: 240, Periods: 8, Margin: 48}
	if b := gives.Bound(fade); b != 8500*time.Microsecond || audio.CardDuration(audio.RewindStep) != 500*time.Microsecond {
		t.Errorf("silent within %v, in steps of %v; want 8.5 ms and 0.5 ms", b, audio.CardDuration(audio.RewindStep))
	}
	keeps := audio.Granted{Rate: audio.CardRate, Period: 240, Periods: 3}
	if b := keeps.Bound(fade); b != 22*time.Millisecond {
		t.Errorf("silent within %v; want 22 ms", b)
	}
}
