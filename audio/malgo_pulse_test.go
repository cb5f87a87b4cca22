//go:build cgo

package audio_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/audio/pulsetest"
)

func percentiles(d []time.Duration) (p50, most time.Duration) {
	slices.Sort(d)
	return d[len(d)/2].Round(10 * time.Microsecond), d[len(d)-1].Round(10 * time.Microsecond)
}

// tail returns the last n samples.
func tail(s []int16, n int) []int16 { return s[max(0, len(s)-n):] }

func TestPulsePlaysATone(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "auto")
	s, err := m.OpenPlayback(audio.StreamConfig{Device: pulsetest.Speaker}, sine(440))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if g := s.Granted(); g.Backend != "pulseaudio" || g.Device != "pulse:speaker" || g.Rate != 48000 || g.Period != 240 || g.Periods != 3 {
		t.Errorf("granted %+v", g)
	}
	tape, err := server.Record()
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Stop()
	// Any 200 ms will do: on a busy machine the server leaves gaps, which is not what this is about.
	if !tape.WaitFor(5*time.Second, func(s []int16) bool { return len(s) > 9600 && math.Abs(frequency(tail(s, 9600), 48000)-440) < 3 }) {
		t.Errorf("no 440 Hz at the monitor; last %.1f Hz", frequency(tail(tape.Stop(), 9600), 48000))
	}
}

func TestPulseCapturesATone(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "pulse")
	var mu sync.Mutex
	var heard []int16
	s, err := m.OpenCapture(audio.StreamConfig{Device: pulsetest.Mic}, func(in []int16) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, in...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	said := make([]int16, 3*48000)
	sine(700)(said)
	cancel, played := make(chan struct{}), make(chan error, 1)
	go func() { played <- server.Play(cancel, said) }()
	defer func() { close(cancel); t.Log("player:", <-played) }()
	await(t, "700 Hz in the microphone", 5*time.Second, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) > 9600 && math.Abs(frequency(tail(heard, 9600), 48000)-700) < 3
	})
}

func TestPulseListsStableNames(t *testing.T) {
	pulsetest.Start(t)
	m := newCard(t, "pulse")
	list, err := m.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		line := string(d.Kind) + " " + d.ID
		if d.Default {
			line += " default"
		}
		got = append(got, line)
	}
	for _, want := range []string{"playback pulse:speaker default", "playback pulse:micbus", "capture pulse:mic default"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	_, err = m.OpenPlayback(audio.StreamConfig{Device: "pulse:speakr"}, func([]int16) {})
	if err == nil || !strings.Contains(err.Error(), `no device "pulse:speakr" (did you mean "pulse:speaker"?)`) {
		t.Errorf("open pulse:speakr: %v", err)
	}
}

func TestPulseKilledAndBack(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "pulse")
	up, down := make(chan audio.Granted, 10), make(chan error, 10)
	k := audio.NewKeeper(audio.KeeperConfig{
		Name:   "speaker",
		Open:   func(c audio.StreamConfig) (audio.Stream, error) { return m.OpenPlayback(c, sine(440)) },
		Stream: audio.StreamConfig{Device: pulsetest.Speaker},
		Up:     func(g audio.Granted) { up <- g }, Down: func(err error) { down <- err },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	receive(t, "up", up)
	for range 2 {
		server.Kill()
		_ = receive(t, "down", down)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		receive(t, "up again", up)
		tape, err := server.Record()
		if err != nil {
			t.Fatal(err)
		}
		heard := tape.WaitFor(5*time.Second, func(s []int16) bool { return math.Abs(frequency(tail(s, 9600), 48000)-440) < 3 })
		tape.Stop()
		if !heard {
			t.Error("no sound after the server came back")
		}
	}
	if n := m.Abandoned(); n != 0 {
		t.Errorf("%d calls abandoned", n)
	}
}

// A server that is frozen answers nothing: opening and closing end in time, with an error, and all is well afterwards.
func TestPulseFrozenHoldsNobodyUp(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "pulse")
	s, err := m.OpenPlayback(audio.StreamConfig{Device: pulsetest.Speaker}, sine(440))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "callbacks", 3*time.Second, func() bool { return s.Stats().Callbacks > 10 })
	server.Freeze()
	thaw := sync.OnceFunc(server.Thaw)
	defer thaw()
	ended := make(chan error, 2)
	go func() { ended <- s.Close() }()
	closed := receive(t, "end of Close", ended)
	go func() {
		_, err := m.OpenPlayback(audio.StreamConfig{Device: pulsetest.Speaker}, sine(440))
		ended <- err
	}()
	if err := receive(t, "end of open", ended); err == nil {
		t.Error("a frozen server opened a stream")
	}
	t.Logf("close: %v; %d calls abandoned", closed, m.Abandoned())
	thaw()
	await(t, "the lost calls to come back", 10*time.Second, func() bool { return m.Abandoned() == 0 })
	s, err = m.OpenPlayback(audio.StreamConfig{Device: pulsetest.Speaker}, sine(440))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestPulseFallsSilent(t *testing.T) {
	server := pulsetest.Start(t)
	m := newCard(t, "pulse")
	var on atomic.Bool
	s, err := m.OpenPlayback(audio.StreamConfig{Device: pulsetest.Speaker}, gate(&on))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tape, err := server.Record()
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Stop()
	loud := func(s []int16) bool { s = tail(s, 480); return len(s) == 480 && s[0] > 4000 && s[479] > 4000 }
	quiet := func(s []int16) bool { s = tail(s, 480); return len(s) == 480 && s[0] == 0 && s[479] == 0 }
	const n = 30
	var pressed []time.Time
	for range n {
		on.Store(true)
		if !tape.WaitFor(5*time.Second, loud) {
			t.Fatal("no sound at the monitor")
		}
		pressed = append(pressed, time.Now())
		on.Store(false)
		if !tape.WaitFor(5*time.Second, quiet) {
			t.Fatal("no silence at the monitor")
		}
	}
	tape.Stop()
	var delays []time.Duration
	for i, from := range pressed {
		to := time.Time{}
		if i+1 < n {
			to = pressed[i+1].Add(-time.Millisecond)
		}
		// The next sound begins within the stretch: look at the first silence after the flag.
		if at, ok := firstQuiet(tape, from, to); ok {
			delays = append(delays, at.Sub(from))
		}
	}
	if len(delays) < n {
		t.Fatalf("%d of %d silences found", len(delays), n)
	}
	p50, most := percentiles(delays)
	t.Logf("PulseAudio %+v: flag to silence at the monitor p50 %v, max %v (n=%d)", s.Granted(), p50, most, n)
	if p50 > 25*time.Millisecond {
		t.Errorf("p50 %v; want less than 25 ms", p50)
	}
}

// A sink that may take sound back renders ahead while it is idle, and asks for none before that is played: two seconds are no
// reason to give it up, and no glitch. What sounds then is whole, and a press is silence as soon as on any other sink.
func TestPulseSinkThatRendersAhead(t *testing.T) {
	server := pulsetest.Start(t)
	if _, err := server.Control("load-module", "module-null-sink", "sink_name=ahead", "rate=48000", "channels=1"); err != nil {
		t.Fatal(err)
	}
	m := newCard(t, "pulse")
	var off atomic.Bool
	var asked, late atomic.Uint64 // callbacks, and those that the machine may have brought too late
	tone, last := sine(440), time.Time{}
	up, down := make(chan audio.Granted, 10), make(chan error, 100)
	var k *audio.Keeper
	k = audio.NewKeeper(audio.KeeperConfig{
		Name: "speaker",
		Open: func(c audio.StreamConfig) (audio.Stream, error) {
			last = time.Time{}
			s, err := m.OpenPlayback(c, func(out []int16) {
				asked.Add(1)
				now := time.Now()
				if !last.IsZero() && now.Sub(last) > 12*time.Millisecond {
					late.Add(1)
				}
				last = now
				if tone(out); off.Load() {
					clear(out)
				}
			})
			if n := asked.Load(); n > 0 {
				t.Errorf("%d callbacks before the sink has asked: what they bring waits for it, and a press does not reach it", n)
			}
			return s, err
		},
		Stream: audio.StreamConfig{Device: "pulse:ahead"},
		Up: func(g audio.Granted) {
			if told := k.Xruns(); told > late.Load() {
				t.Errorf("%d xruns are told at the start; %d callbacks came late", told, late.Load())
			}
			up <- g
		},
		Down: func(err error) { down <- err },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	g := receive(t, "up", up)
	tape, err := server.RecordSource("ahead.monitor") // not before: with its monitor recorded the sink is not idle
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Stop()
	if !tape.WaitFor(10*time.Second, func(s []int16) bool { return len(s) >= 48000 && breaks(tail(s, 48000), 440) == 0 }) {
		t.Errorf("no second of the tone is whole; the last has %d breaks", breaks(tail(tape.Samples(), 48000), 440))
	}
	pressed := time.Now()
	off.Store(true)
	if !tape.WaitFor(5*time.Second, func(s []int16) bool {
		return len(s) > 4800 && !slices.ContainsFunc(tail(s, 4800), func(v int16) bool { return v != 0 })
	}) {
		t.Fatal("no silence at the monitor")
	}
	if heard, ok := tape.LastAudible(pressed, time.Time{}, 0); ok && heard.Sub(pressed) > g.Bound(0)+100*time.Millisecond {
		t.Errorf("silent %v after the flag; want %v, or a little more on a busy machine", heard.Sub(pressed), g.Bound(0))
	}
	select {
	case err := <-down:
		t.Errorf("given up %d times, at first with %v", k.Lost(), err)
	default:
	}
}

// A sink that takes 300 ms at once is given as much: speech is whole, is told to be over no sooner than it is, and the bound says how
// late a press is silence there.
func TestPulseSinkThatTakesLongPieces(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{Channels: 1})
	server := pulsetest.Start(t)
	if _, err := server.Control("load-module", "module-alsa-sink", "sink_name=pieces", "device="+strings.TrimPrefix(card.Device(), "alsa:"),
		"rate=48000", "channels=1", "tsched=0", "fragments=3", "fragment_size=9600"); err != nil {
		t.Fatal(err)
	}
	m, s := newCard(t, "pulse"), audio.NewSpeaker(audio.SpeakerConfig{})
	up, down := make(chan audio.Granted, 10), make(chan error, 100)
	k := audio.NewKeeper(audio.KeeperConfig{
		Name:   "speaker",
		Open:   func(c audio.StreamConfig) (audio.Stream, error) { return s.OpenOn(m, c) },
		Stream: audio.StreamConfig{Device: "pulse:pieces"},
		Up:     func(g audio.Granted) { up <- g }, Down: func(err error) { down <- err },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	go func() { k.Run(ctx); ended <- struct{}{} }()
	go func() { _ = s.Run(ctx); ended <- struct{}{} }()
	defer func() { cancel(); <-ended; <-ended }()
	g := receive(t, "up", up)

	const length = 3 * audio.Rate
	said := make([]int16, length)
	for i := range said {
		said[i] = int16(16000 * math.Sin(2*math.Pi*440*float64(i)/audio.Rate))
	}
	src := s.Open(audio.SourceSpeech, s.Generation())
	src.Write(ctx, said)
	src.Close()
	await(t, "the end", 15*time.Second, func() bool { return drained(src) })
	over := time.Now()
	<-time.After(time.Second) // if anything is left, it sounds now
	log := card.Log().Samples()
	from := slices.IndexFunc(log, audible)
	to := len(log)
	for to > from && !audible(log[to-1]) {
		to--
	}
	if from < 0 || to-from < 2*length-480 || to-from > 2*length+480 {
		t.Fatalf("%d frames sound; want %d", to-from, 2*length)
	}
	if n := breaks(log[from+480:to-480], 440); n > 0 {
		t.Errorf("the tone has %d breaks", n)
	}
	last, _ := card.Log().LastAudible(time.Time{}, time.Time{}, 32)
	if last.After(over.Add(20 * time.Millisecond)) {
		t.Errorf("told to be over %v before its end", last.Sub(over))
	}

	loop := s.Play(said, true, s.Generation())
	await(t, "sound", 5*time.Second, func() bool { return loop.Heard() > audio.Rate })
	pressed := time.Now()
	s.Drop()
	<-time.After(2 * time.Second)
	last, ok := card.Log().LastAudible(pressed, time.Time{}, 32)
	if silent := last.Sub(pressed); !ok || silent > g.Bound(3*time.Millisecond) || g.Bound(0) > time.Second {
		t.Errorf("silent %v after a press (%v); the bound says %v", silent, ok, g.Bound(3*time.Millisecond))
	}
	select {
	case err := <-down:
		t.Errorf("given up %d times, at first with %v", k.Lost(), err)
	default:
	}
}

func audible(v int16) bool { return v > 32 || v < -32 }

// breaks counts where samples are no tone of that frequency, at most one a millisecond.
func breaks(samples []int16, hz float64) int {
	n, last := 0, -48
	for i := 2; i < len(samples); i++ {
		next := 2*math.Cos(2*math.Pi*hz/audio.CardRate)*float64(samples[i-1]) - float64(samples[i-2])
		if math.Abs(next-float64(samples[i])) > 100 && i-last >= 48 || i-2 > last && samples[i] == 0 && samples[i-1] == 0 && samples[i-2] == 0 {
			n, last = n+1, i
		}
	}
	return n
}

// firstQuiet is when the first of 240 silent samples after from was played.
func firstQuiet(tape *pulsetest.Tape, from, to time.Time) (time.Time, bool) {
	samples := tape.Samples()
	run := 0
	for i := max(0, int(from.Sub(tape.Time(0))*48000/time.Second)); i < len(samples); i++ {
		if !to.IsZero() && tape.Time(i).After(to) {
			return time.Time{}, false
		}
		if samples[i] != 0 {
			run = 0
		} else if run++; run == 240 {
			return tape.Time(i - run + 1), true
		}
	}
	return time.Time{}, false
}
