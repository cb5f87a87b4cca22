package device

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/audio/pulsetest"
	"conch/audio/wav"
	"conch/companions/voice"
	"conch/companions/voice/rehearsal"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
	"conch/gpio"
	"conch/gpio/twin"
)

// A soundRoom is a whole device as shipped on a card that is as real as this machine allows, with a person in it: a hand on the
// button, a synthesizer (flite) at the microphone, and a recorder at the loudspeaker. Nothing of ours is replaced but the metal;
// the one addition is that what the voice's synthesizer makes is kept, so that a recording can be compared with it.
//
//	flite ─> air.say ─> card ─> mic ─> realtime client ─> rehearsal server ─> pocketsphinx, rules, flite ─┐
//	air.since <─ card <─ speaker <──────────────────────────────────────────────── keptSpeech <───────────┘
type soundRoom struct {
	t           *testing.T
	air         air
	device      *Device
	hand        *twin.Button
	server      *rehearsal.Server
	voice       *keptSpeech
	synthesizer rehearsal.Synthesizer // of the person
	recognizer  rehearsal.Recognizer
	log         *eventLog
	begun       time.Time // zero of the device's clock
	turns       chan control.Turn
	end         func() error // ends the device and waits for it; may be called again
	last        []int16      // what was judged last
}

// air is what is between a card and a person.
type air interface {
	card(testing.TB) (card *audio.MalgoCard, playback, capture string)
	say(pcm []int16) error                     // CardRate, into the microphone; returns when it has been said
	since(from time.Time) (time.Time, []int16) // CardRate, what the loudspeaker played, and when the first of it
	reached(t time.Time) bool                  // the recording reaches to t
	lose()                                     // the card is unplugged, the server killed
	back() error                               // and there again
	String() string
}

// needSpeech skips where the programs that speak and hear are missing.
func needSpeech(t *testing.T) (rehearsal.Synthesizer, rehearsal.Recognizer) {
	t.Helper()
	synthesizer, recognizer := rehearsal.NewSynthesizer(), rehearsal.NewRecognizer()
	if s := synthesizer.String(); !strings.Contains(s, "flite") {
		t.Skip("missing: flite (make deps-test installs it)")
	}
	if s := recognizer.String(); !strings.Contains(s, "pocketsphinx") {
		t.Skip("missing: pocketsphinx (make deps-test installs it)")
	}
	return synthesizer, recognizer
}

// afternoon is what the clock on the wall says in a room: an answer that is the same every time.
var afternoon = time.Date(2026, time.March, 4, 15, 0, 0, 0, time.UTC)

func newRoom(t *testing.T, a air) *soundRoom {
	t.Helper()
	r := &soundRoom{t: t, air: a, begun: time.Now(), turns: make(chan control.Turn, 100), log: &eventLog{}}
	r.synthesizer, r.recognizer = needSpeech(t)
	r.voice = &keptSpeech{Synthesizer: rehearsal.NewSynthesizer()}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the device's log:\n%s", r.log.text())
			r.keep()
		}
	})
	card, playback, capture := a.card(t)
	now := since(r.begun)
	r.hand = twin.NewButton(gpio.ButtonOptions{Clock: now})
	r.server = rehearsal.New(rehearsal.Options{Log: log, Synthesizer: r.voice})
	cfg := config.Default()
	cfg.State.Dir, cfg.Voice.Kind = "", "rehearsal"
	cfg.Audio.Playback, cfg.Audio.Capture = playback, capture
	cfg.Turn.Commit = time.Minute // a busy machine understands slowly
	var err error
	r.device, err = New(cfg, Options{Log: log, Card: card, Now: now, Voices: []voice.Kind{r.server.Kind()}, Buttons: []gpio.Events{r.hand},
		Clock: func() time.Time { return afternoon }, OnTurn: func(rec control.Turn) { r.turns <- rec }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.device.Run(ctx) }()
	r.end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(shutdownLimit):
			return fmt.Errorf("the device had not ended %v after it was told to", shutdownLimit)
		}
	})
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
	if err := r.device.WaitReady(ctx, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if c := r.device.conds.List(); len(c) > 0 {
		t.Fatalf("a new device has conditions: %+v", c)
	}
	return r
}

// Waits of these tests: each far above what the thing takes, on a machine that has other things to do.
const (
	shutdownLimit = 10 * time.Second
	turnLimit     = 90 * time.Second
	stateLimit    = 15 * time.Second
)

// keptSpeech keeps what it made. It begins at once: flite's first 200 ms are silence, in which a lost syllable would be lost.
type keptSpeech struct {
	rehearsal.Synthesizer
	mu   sync.Mutex
	made []int16
}

func (k *keptSpeech) Say(ctx context.Context, voice, text string) ([]int16, error) {
	pcm, err := k.Synthesizer.Say(ctx, voice, text)
	for len(pcm) > 0 && pcm[0] > -200 && pcm[0] < 200 {
		pcm = pcm[1:]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made = append(k.made, pcm...)
	return pcm, err
}

// take returns what was made since the last take.
func (k *keptSpeech) take() []int16 {
	k.mu.Lock()
	defer k.mu.Unlock()
	made := k.made
	k.made = nil
	return made
}

// eventLog keeps a device's log for the test's own.
type eventLog struct {
	mu   sync.Mutex
	data []byte
}

func (l *eventLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, b...)
	return len(b), nil
}

func (l *eventLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}

// wait polls: what it waits for runs by the card's clock, and nobody else would say.
func (r *soundRoom) wait(what string, limit time.Duration, cond func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := wait.Until(ctx, cond); err != nil {
		r.t.Fatalf("not within %v: %s (state %s, conditions %+v)", limit, what, r.device.coordinator.State(), r.device.conds.List())
	}
}

// ask holds the button and says text; it returns when the button was let go.
func (r *soundRoom) ask(text string) (pressed, released time.Time) {
	r.t.Helper()
	pcm, err := r.synthesizer.Say(context.Background(), "slt", text)
	if err != nil {
		r.t.Fatal(err)
	}
	pressed = time.Now()
	r.hand.Press()
	<-time.After(200 * time.Millisecond) // people take a breath
	if err := r.air.say(audio.Upsample(pcm)); err != nil {
		r.t.Fatalf("saying %q: %v", text, err)
	}
	<-time.After(100 * time.Millisecond)
	released = time.Now()
	r.hand.Release()
	return pressed, released
}

// turn waits for the end of a turn.
func (r *soundRoom) turn() control.Turn {
	r.t.Helper()
	select {
	case rec := <-r.turns:
		return rec
	case <-time.After(turnLimit):
		r.t.Fatalf("no turn ended within %v (state %s)", turnLimit, r.device.coordinator.State())
		panic("unreachable")
	}
}

// recorded is what sounded from a moment on until to, once the recording reaches there.
func (r *soundRoom) recorded(from, to time.Time) []int16 {
	r.t.Helper()
	r.wait("the recording to reach the end of the turn", stateLimit, func() bool { return r.air.reached(to) })
	first, pcm := r.air.since(from)
	r.last = pcm[:max(0, min(len(pcm), int(to.Sub(first)*audio.CardRate/time.Second)))]
	return r.last
}

// keep leaves the recording that was judged last for who wants to listen to it: go test -artifacts.
func (r *soundRoom) keep() {
	name := filepath.Join(r.t.ArtifactDir(), "recording.wav")
	f, err := os.Create(name)
	if err == nil {
		var w *wav.File
		if w, err = wav.NewFile(f, audio.CardRate); err == nil {
			err = errors.Join(binary.Write(w, binary.LittleEndian, r.last), w.Close(), f.Close())
		}
	}
	r.t.Logf("the recording that was judged last: %s (kept with -artifacts), error %v", name, err)
}

// at is a moment of the device's clock.
func (r *soundRoom) at(d time.Duration) time.Time { return r.begun.Add(d) }

// match says what of an original (samples of Rate) is in a recording (frames of CardRate).
type match struct {
	first, last int     // sample of the original: the first and the last that is there at full level
	audible     int     // the first one that could have been found: what is before is silence
	next        int     // the first one behind last that would have been found if it were there
	at, end     int     // frame of the recording at which first and last are
	whole       float64 // the share of the original between the two that is there
	jumps       []int   // frames by which the recording was late (gaps) or early, each in the midst of the original
}

const (
	block  = 120                  // frames that are there or not as a whole: 2.5 ms
	window = audio.CardRate / 100 // 10 ms: enough to recognise a place by
	giveUp = audio.CardRate / 2   // of the original not found, one after the other: there is no more

	tellable = 20 // from silence
)

// find compares to the sample: the sinks of these tests deliver what they are given. But a server that was held up leaves
// a gap, and the place is looked for anew behind it. ok is false when nothing of the original is there.
func find(recording, original []int16) (m match, ok bool) {
	const (
		piece = audio.Rate / 20 // 50 ms
		start = piece / 10      // of it: tells most places apart, at a tenth of the work
	)
	if len(original) < 2*piece || len(recording) < 4*piece {
		return m, false
	}
	frames := audio.Upsample(original)
	// A loud piece is looked for everywhere, at Rate; a gap in it, or a cut before it, makes another one necessary.
	half := make([]int16, len(recording)/2)
	for i := range half {
		half[i] = recording[2*i]
	}
	offset, gain := 0, 0.0
	for _, probe := range loudest(original, piece, min(2*audio.Rate, len(half))) {
		best, at := 0.8, -1
		for i := 0; i+piece <= len(half); i++ {
			if likeness(half[i:i+start], original[probe:probe+start]) < 0.8 {
				continue
			}
			if c := likeness(half[i:i+piece], original[probe:probe+piece]); c > best {
				best, at = c, i
			}
		}
		if at >= 0 {
			offset, gain = place(recording, frames, 2*probe, 2*(at-probe)-960, 2*(at-probe)+960)
		}
		if gain != 0 {
			break
		}
	}
	if gain == 0 {
		return m, false
	}

	m.first, m.audible = -1, -1
	told, there, tried, missing := 0, 0, 0, 0 // tried: not again before this frame
	on := false                               // the last block that could be told was there
	for b := 0; b+block <= len(frames) && missing < giveUp; b += block {
		same, all, end := blockAt(recording, frames, b, offset, gain)
		if all < block/4 {
			continue // as good as silent: nothing can be told
		}
		if m.audible < 0 {
			m.audible = b / 2
		}
		if same < all*3/4 && b >= tried {
			tried = b + window
			back := audio.CardRate / 20
			if m.first < 0 {
				back = giveUp // the offset is that of a piece further on, with all gaps before it
			}
			if o, g := place(recording, frames, b, offset-back, offset+audio.CardRate/4); g != 0 && o != offset {
				if m.first >= 0 {
					m.jumps = append(m.jumps, o-offset)
				}
				offset = o
				same, all, end = blockAt(recording, frames, b, offset, gain)
			}
		}
		told += all
		there += same
		missing += block
		switch {
		case same >= all*3/4 && (on || all >= block/2):
			// It goes on, or begins (again) with more than a few quiet frames, which anything may equal.
		case !on || 4*same < all: // a quarter: it was cut in there
			on = false
			continue
		}
		if m.first < 0 {
			m.first, m.at, told, there = b/2, b+offset, all, same
		}
		on = same >= all*3/4
		m.last, m.end, m.whole, missing = end/2, end+offset, float64(there)/float64(told), 0
	}
	for m.next = m.last + 1; m.next < len(original) && gain*math.Abs(float64(original[m.next])) < tellable; m.next++ {
	}
	return m, m.first >= 0
}

// loudest are the beginnings of pieces among the first most samples, the loudest one first.
func loudest(original []int16, piece, most int) (at []int) {
	for p := 0; p+piece <= min(len(original), most); p += piece {
		at = append(at, p)
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Compare(energy(original[b:b+piece]), energy(original[a:a+piece]))
	})
	return at
}

// place is the offset between from and to at which the recording continues with the frames from b on, and the gain; 0 if none.
func place(recording, frames []int16, b, from, to int) (offset int, gain float64) {
	if b+window > len(frames) {
		return 0, 0
	}
	best := 0.9995 // the same samples at another volume, but for rounding
	for o := max(from, -b); o <= to && b+o+window <= len(recording); o++ {
		if c := likeness(recording[b+o:b+o+window], frames[b:b+window]); c > best {
			best, offset = c, o
			gain = math.Sqrt(energy(recording[b+o:b+o+window]) / energy(frames[b:b+window]))
		}
	}
	return offset, gain
}

// blockAt counts the frames of a block that can be told from silence, those that are there, and the last of them.
func blockAt(recording, frames []int16, b, offset int, gain float64) (same, all, last int) {
	for i := b; i < b+block; i++ {
		want, j := gain*float64(frames[i]), i+offset
		if math.Abs(want) < tellable || j < 0 || j >= len(recording) {
			continue
		}
		if all++; math.Abs(float64(recording[j])-want) <= 3+0.02*math.Abs(want) {
			same, last = same+1, i
		}
	}
	return same, all, last
}

func energy(pcm []int16) (e float64) {
	for _, v := range pcm {
		e += float64(v) * float64(v)
	}
	return e
}

// likeness is the normalized correlation of two stretches: 1 for the same at any volume.
func likeness(a, b []int16) float64 {
	var ab, aa, bb int64
	for i, x := range a {
		y := int64(b[i])
		ab += int64(x) * y
		aa += int64(x) * int64(x)
		bb += y * y
	}
	if aa == 0 || bb == 0 || ab <= 0 {
		return 0
	}
	return float64(ab) / math.Sqrt(float64(aa)*float64(bb))
}

// wordsIn counts how many of the words in want are in got, and how many there are.
func wordsIn(got, want string) (found, all int) {
	have := strings.Fields(strings.ToLower(got))
	for _, w := range strings.Fields(strings.ToLower(want)) {
		if all++; slices.Contains(have, strings.Trim(w, ".,!?")) {
			found++
		}
	}
	return found, all
}

// pulseAir is the private PulseAudio.
type pulseAir struct {
	server *pulsetest.Server
	tape   *pulsetest.Tape
}

func newPulseAir(t *testing.T) *pulseAir {
	t.Helper()
	p := &pulseAir{server: pulsetest.Start(t)}
	if err := p.record(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.tape.Stop() })
	return p
}

func (p *pulseAir) record() (err error) {
	p.tape, err = p.server.Record()
	return err
}

func (p *pulseAir) card(t testing.TB) (*audio.MalgoCard, string, string) {
	return openCard(t, "pulse"), pulsetest.Speaker, pulsetest.Mic
}

func (p *pulseAir) say(pcm []int16) error { return p.server.Play(nil, pcm) }

func (p *pulseAir) since(from time.Time) (time.Time, []int16) {
	samples := p.tape.Samples()
	i := max(0, min(len(samples), int(from.Sub(p.tape.Time(0))*pulsetest.Rate/time.Second)))
	return p.tape.Time(i), samples[i:]
}

func (p *pulseAir) reached(t time.Time) bool {
	n := len(p.tape.Samples())
	return n > 0 && p.tape.Time(n).After(t)
}

func (p *pulseAir) lose() { p.server.Kill() }

func (p *pulseAir) back() error {
	p.tape.Stop()
	if err := p.server.Restart(); err != nil {
		return err
	}
	return p.record()
}

func (p *pulseAir) String() string { return "PulseAudio" }

// alsaAir is the simulated ALSA card.
type alsaAir struct {
	sim *alsacard.Card
	log *alsacard.Log
}

func newALSAAir(t *testing.T) *alsaAir {
	t.Helper()
	sim := alsacard.Start(t, alsacard.Options{})
	return &alsaAir{sim, sim.Log()}
}

func (a *alsaAir) card(t testing.TB) (*audio.MalgoCard, string, string) {
	return openCard(t, "alsa"), a.sim.Device(), a.sim.Device()
}

func (a *alsaAir) say(pcm []int16) error {
	if err := a.sim.Feed(pcm); err != nil {
		return err
	}
	<-time.After(audio.CardDuration(len(pcm)))
	return nil
}

func (a *alsaAir) since(from time.Time) (time.Time, []int16) {
	_ = a.log.Update() // what is not there yet is missed by whoever asked
	var pcm []int16
	for _, s := range a.log.Spans {
		if s.Frames == 0 || !s.Time(s.Frames).After(from) {
			continue
		}
		i := int(s.At.Sub(from) * audio.CardRate / time.Second)
		for n := i + s.Frames - len(pcm); n > 0; n-- {
			pcm = append(pcm, 0)
		}
		for j, v := range s.Samples {
			if i+j >= 0 {
				pcm[i+j] = v
			}
		}
	}
	return from, pcm
}

func (a *alsaAir) reached(t time.Time) bool { return a.log.End().After(t) }

func (a *alsaAir) lose() { a.sim.Unplug() }

func (a *alsaAir) back() error { a.sim.Replug(); return nil }

func (a *alsaAir) String() string { return "the simulated ALSA card" }

func openCard(t testing.TB, backend string) *audio.MalgoCard {
	t.Helper()
	card, err := audio.NewCard(backend, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(card.Close)
	return card
}
