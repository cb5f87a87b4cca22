package sound

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
)

// Options are what a Card is made of.
type Options struct {
	Audio      config.Audio
	Board      string     // whose levels are set where nobody has
	Card       audio.Card // nil: that of Audio.Backend
	Anyway     bool       // go on without a sound system that can be used
	Volume     int        // percent
	Muted      bool       // from the beginning
	Conditions *condition.Book
	Log        *slog.Logger
	Now        func() time.Duration
	Elsewhere  *audio.Elsewhere // where the sound may be, instead of at the card, which is put into it; nil: nowhere

	// What becomes of an utterance; on the microphone's goroutine.
	Sink    func(id string, pcm []int16)
	Started func(id string)
	Ended   func(id string, h Heard)
	Any     bool // every sound is taken for speech
	Lost    func(id string)

	KeepMuted func(bool) // remembers the wish
	ShowMuted func(bool) // shows the fact
}

// Card is the sound card of a device: a speaker and a microphone, each on a half of the card that is kept open, and the switch
// that keeps the microphone's closed.
type Card struct {
	// fixed after New
	Speaker *audio.Speaker
	Mic     *audio.Mic
	o       Options
	card    audio.Card
	speech  *speech

	playback, capture half
	mute              mute
}

// half is one half of the card. Whoever opens it sets its fields, anybody reads them.
type half struct {
	name string // as the logs call it; fixed

	// atomic
	state  atomic.Pointer[state] // what it is doing, as its keeper last said; nil: not open yet
	keeper atomic.Pointer[audio.Keeper]
}

type state struct {
	granted audio.Granted
	err     error // nil: it runs
}

// open is what a half that runs has been granted.
func (h *half) open() (audio.Granted, bool) {
	if s := h.state.Load(); s != nil && s.err == nil {
		return s.granted, true
	}
	return audio.Granted{}, false
}

// call is Call of the keeper that there is by then. A card that is lost calls back; a sound system that is spent does not, and a
// new process is the remedy.
func (h *half) call(card audio.Card, f func()) bool {
	keeper := h.keeper.Load()
	return !card.Spent() && keeper != nil && keeper.Call(f)
}

// New makes speaker and microphone; nothing is opened before RunPlayback and RunCapture.
func New(o Options) (*Card, error) {
	c := &Card{o: o, card: o.Card, playback: half{name: "speaker"}, capture: half{name: "microphone"}, mute: mute{told: make(chan struct{}, 1)},
		speech: newSpeech()}
	if c.card == nil {
		card, err := audio.NewCard(o.Audio.Backend, o.Log)
		switch {
		case err == nil:
			c.card = card
		case o.Anyway:
			c.card = noCard{err}
		default:
			return nil, fmt.Errorf("%w: %w", control.ErrRefused, err)
		}
	}
	c.Speaker = audio.NewSpeaker(audio.SpeakerConfig{Fade: o.Audio.Fade, Now: o.Now, Volume: &o.Volume, Cues: &o.Audio.CueVolume})
	heard := c.Speaker.LastAudible
	if e := o.Elsewhere; e != nil {
		e.Card, e.Silenced, e.Now = c.card, c.Speaker.Silenced, o.Now
		c.card, heard = e, func() time.Duration { return max(c.Speaker.LastAudible(), e.Since()) }
	}
	c.Mic = audio.NewMic(audio.MicConfig{
		Preroll: o.Audio.Preroll, Now: o.Now, Loud: heard, Sink: c.speech.sink(o.Sink), Started: o.Started, Lost: o.Lost,
		Ended: func(id string, got audio.Captured) {
			o.Ended(id, Heard{Samples: got.Held, Flat: got.Flat && c.flat(), Empty: !o.Any && c.speech.empty(id)})
		},
		Stirred: func() { o.Conditions.Clear(condition.SoundFlat) },
		Mute:    c.closeCapture,
	})
	c.mute.wish.Store(o.Muted)
	if o.Muted {
		return c, c.Mic.SetMuted(true)
	}
	return c, nil
}

// RunPlayback keeps the loudspeaker's half open until ctx ends.
func (c *Card) RunPlayback(ctx context.Context) error {
	c.keep(ctx, &c.playback, audio.KeeperConfig{
		Open: func(s audio.StreamConfig) (audio.Stream, error) {
			c.o.levels() // of both halves; a card that was plugged in again has forgotten them
			return c.Speaker.OpenOn(c.card, s)
		},
		Up:     c.slow,
		Stream: Playback(c.o.Audio),
	})
	return nil
}

// RunCapture keeps the microphone's half open until ctx ends, except while it is muted.
func (c *Card) RunCapture(ctx context.Context) error {
	c.keep(ctx, &c.capture, audio.KeeperConfig{
		Open:   c.openCapture,
		Up:     func(audio.Granted) { c.o.Conditions.Clear(condition.SoundFlat) }, // of the one before
		Stream: Capture(c.o.Audio),
		Off:    c.captureOff,
	})
	return nil
}

func (c *Card) keep(ctx context.Context, h *half, k audio.KeeperConfig) {
	code, up := condition.Code("sound."+h.name), k.Up
	k.Name, k.Log, k.Better = h.name, c.o.Log, c.card.Better
	k.Up = func(g audio.Granted) {
		up(g)
		h.state.Store(&state{granted: g})
		if c.none(g) {
			c.o.Conditions.Set(code, "no "+h.name+": there is no sound card, and no sound server",
				"plug a card in, or see that its driver is loaded (conch audio list, conch doctor); it is taken by itself")
			return
		}
		c.o.Conditions.Clear(code)
	}
	k.Down = func(err error) {
		h.state.Store(&state{err: err})
		c.o.Conditions.Set(code, err.Error(), "plug it in again or choose another (conch audio list); it comes back by itself")
	}
	keeper := audio.NewKeeper(k)
	c.mute.mu.Lock()
	h.keeper.Store(keeper)
	keeper.SetOff(h == &c.capture && c.mute.wish.Load())
	c.mute.mu.Unlock()
	keeper.Run(ctx)
}

// CallPlayback and CallCapture have f called by what keeps the half of the card open (service.Loop).
func (c *Card) CallPlayback(f func()) bool { return c.playback.call(c.card, f) }

// CallCapture: see CallPlayback.
func (c *Card) CallCapture(f func()) bool { return c.capture.call(c.card, f) }

// Absent says that there is no sound card: a null device is open in place of the loudspeaker, and no microphone but such a one.
func (c *Card) Absent() bool {
	out, sounds := c.playback.open()
	in, hears := c.capture.open()
	return sounds && out.Backend == audio.BackendNull && (!hears || in.Backend == audio.BackendNull)
}

// Known says that both halves are open, or why they are not is known.
func (c *Card) Known() bool { return c.playback.state.Load() != nil && c.capture.state.Load() != nil }

// Sounds says that a loudspeaker is open.
func (c *Card) Sounds() bool { _, ok := c.playback.open(); return ok }

// Hears says that a microphone is open: that of the card, or of a page that has the sound.
func (c *Card) Hears() bool {
	_, ok := c.capture.open()
	return c.seated() || ok && !c.Deaf()
}

// Deaf says that there is no microphone, and that a null device stands in for it. One that is being opened anew may come in time.
func (c *Card) Deaf() bool {
	g, ok := c.capture.open()
	return ok && c.none(g) && !c.seated()
}

// seated says that a page has the sound.
func (c *Card) seated() bool { return c.o.Elsewhere != nil && c.o.Elsewhere.At() != nil }

// none says that a null device was taken because there is no other.
func (c *Card) none(g audio.Granted) bool {
	return g.Backend == audio.BackendNull && c.o.Audio.Backend == "auto"
}

// Granted is what the loudspeaker's device gave, as long as it is open.
func (c *Card) Granted() audio.Granted { g, _ := c.playback.open(); return g }

// Audible is what the loudspeaker's device gave, if that makes a sound.
func (c *Card) Audible() (audio.Granted, bool) {
	g, ok := c.playback.open()
	return g, ok && g.Backend != audio.BackendNull
}

// Bound is how long the open loudspeaker may still sound after a press; 0: none is open.
func (c *Card) Bound() time.Duration {
	if g, ok := c.playback.open(); ok {
		return g.Bound(c.o.Audio.Fade)
	}
	return 0
}

// Xruns are those of both halves: all, and those of the last hour.
func (c *Card) Xruns() (all, recent uint64) {
	for _, h := range []*half{&c.playback, &c.capture} {
		if k := h.keeper.Load(); k != nil {
			all += k.Xruns()
			recent += k.XrunsLastHour()
		}
	}
	return all, recent
}

// Words say what both halves are, for people.
func (c *Card) Words() string {
	none := "no sound card, no sound server"
	if c.o.Audio.Backend == audio.BackendNull { // by wish: nothing is wrong
		none = "audio.backend = \"null\""
	}
	text := c.playback.words("loudspeaker", none) + "; " + c.capture.words("microphone", none)
	g, ok := c.Audible()
	switch {
	case !ok:
	case c.Speaker.HardDrops():
		text += fmt.Sprintf("; cut off hard at a press (its own buffer is %.0f ms)", ms(g.Queued()))
	default:
		text += fmt.Sprintf("; silent within %.0f ms of a press", ms(g.Bound(c.o.Audio.Fade)))
	}
	return text
}

func (h *half) words(what, none string) string {
	switch s := h.state.Load(); {
	case s == nil:
		return what + " not open yet"
	case s.err != nil:
		return "no " + what + ": " + s.err.Error()
	case s.granted.Backend == audio.BackendNull:
		return "no " + what + " (" + none + ")"
	default:
		return what + " " + s.granted.Name
	}
}

// A press must be silence within Promise; the loudspeaker's part of that is its bound (audio/FACTS.md 4.1: a sample waits for up
// to a period more than the buffer, then comes the fade), and the rest needs a little, too.
const (
	Promise = 30 * time.Millisecond
	tight   = 27 * time.Millisecond
)

// slow tells of a card that was opened with a buffer longer than it was asked for.
func (c *Card) slow(g audio.Granted) {
	bound := g.Bound(c.o.Audio.Fade)
	if bound > tight {
		c.o.Log.Warn("audio.slow", "device", g.Device, "period_frames", g.Period, "periods", g.Periods, "rate_hz", g.Rate,
			"bound_ms", ms(bound), "wanted_ms", ms(Promise))
	}
	if bound <= Promise || g.Backend == audio.BackendNull {
		c.o.Conditions.Clear(condition.SoundSlow)
		return
	}
	what := fmt.Sprintf("falls silent up to %.0f ms after a press, not within %.0f", ms(bound), ms(Promise))
	if c.Speaker.HardDrops() {
		what = fmt.Sprintf("is cut off at a press, with a click: by itself it would go on for %.0f ms", ms(bound))
	}
	c.o.Conditions.Set(condition.SoundSlow, fmt.Sprintf("the loudspeaker %s %s (its buffer is %d frames x %d)", g.Name, what, g.Period, g.Periods),
		"set audio.period_ms and audio.periods lower, name the card itself (alsa:CARD=..., conch audio list), or take another card; "+
			"conch bench silence measures it")
}

// flat is told that somebody held the button and the microphone gave the same value all the time, and says whether that is a
// fault. Nobody learns here why: a switch on the microphone, its slider, its cable, another device that was meant. Some microphones
// hold back what they take for noise, and then nobody has spoken, which is no question either. On a virtual card it is what a quiet
// room sounds like.
func (c *Card) flat() bool {
	g, ok := c.capture.open()
	switch {
	case !ok:
	case g.Backend == audio.BackendTwin:
		return false
	case c.none(g): // sound.microphone says it
	case g.Backend == audio.BackendNull:
		c.o.Conditions.Set(condition.SoundFlat, "there is no microphone: audio.backend is null", "set audio.backend to auto, or type what you ask")
	default:
		c.o.Conditions.Set(condition.SoundFlat, "the microphone "+g.Name+" gave no sound at all while the button was held",
			"see that it is not switched off, by a switch of its own or in alsamixer, and that it is the right one "+
				"(conch audio list, conch audio test); this goes by itself with the first sound")
	}
	return true
}

// noCard stands for a sound system that cannot be used at all: each attempt says why.
type noCard struct{ err error }

func (c noCard) OpenPlayback(audio.StreamConfig, func([]int16)) (audio.Stream, error) {
	return nil, c.err
}

func (c noCard) OpenCapture(audio.StreamConfig, func([]int16)) (audio.Stream, error) {
	return nil, c.err
}

func (noCard) Better(audio.Granted) bool { return false }
func (noCard) Spent() bool               { return false }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
