package device

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/audio"
	chime "conch/audio/alarm"
	"conch/audio/cue"
	clips "conch/audio/words"
	"conch/companions/voice/rehearsal"
	"conch/companions/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/language"
)

// The ports of the coordinator, made of the drivers. Nothing is decided here.

// speakerAdapter is the coordinator's Speaker.
type speakerAdapter struct {
	*audio.Speaker
	cue    func(turn.Cue) []int16
	cues   bool // the ready cue sounds in any case (APPLIANCE.md 3)
	volume func(percent int)
}

func (s speakerAdapter) Open(kind coordinator.SourceKind, generation uint64) coordinator.Source {
	switch kind {
	case coordinator.SourceContent:
		return s.Speaker.Open(audio.SourceContent, generation)
	case coordinator.SourceWords:
		return s.Speaker.Open(audio.SourceWords, generation)
	case coordinator.SourceCall:
		return s.Speaker.Open(audio.SourceCall, generation)
	default:
		return s.Speaker.Open(audio.SourceSpeech, generation)
	}
}

// Drop leaves a Hush in force: the coordinator's own drops are not the press that the edge may become.
func (s speakerAdapter) Drop() uint64 { return s.Flush() }

func (s speakerAdapter) Cue(c turn.Cue, generation uint64) coordinator.Source {
	if pcm := s.cue(c); len(pcm) > 0 && (s.cues || c == turn.CueReady || c == turn.CueRinging) {
		return s.Play(pcm, c == turn.CueThinking || c == turn.CueRinging, generation)
	}
	return nil
}

func (s speakerAdapter) StopCue(turn.Cue) { s.StopLoop() }

func (s speakerAdapter) SetVolume(percent int) {
	s.Speaker.SetVolume(percent)
	s.volume(percent)
}

// dial is what a knob turns.
type dial struct{ *Device }

func (l dial) Change(to func(int) int) int {
	percent, _ := l.memory.ChangeVolume(func(now int) (int, error) { return to(now), nil }, l.speaker.SetVolume)
	return percent
}

// Tick is a short tone, as loud as it is now. What sounds already tells by itself.
func (l dial) Tick() {
	if !l.Audible() {
		l.speaker.Play(cue.Samples("volume"), false, l.speaker.Generation())
	}
}

// micAdapter is the coordinator's Mic.
type micAdapter struct {
	*audio.Mic
	captured func(bool)
	ended    func(turn.ID) // its recording is over
	deaf     func() bool   // there is no microphone
	lost     func(id string)
}

func (m micAdapter) Open(id turn.ID, at time.Duration) {
	m.captured(false) // until the first frame
	m.Mic.Open(string(id), at)
	if m.deaf() { // nothing will come
		m.lost(string(id))
	}
}

func (m micAdapter) End(id turn.ID, up, tail time.Duration) {
	m.ended(id)
	m.Mic.End(string(id), up, tail)
}

func (m micAdapter) Discard(id turn.ID) {
	m.ended(id)
	m.Mic.Discard(string(id))
}

// lentPause is without a frame of a microphone that somebody has borrowed: it was muted meanwhile, or is new.
const lentPause = 100 * time.Millisecond

func (m micAdapter) Lend(sink func([]int16)) (back func()) {
	m.captured(false)
	var last time.Time
	return m.Mic.Lend(func(pcm []int16) {
		now := time.Now()
		if now.Sub(last) > lentPause { // the light says that somebody hears; muted, that nobody does
			m.captured(true)
		}
		last = now
		sink(pcm)
	})
}

// phrases are the coordinator's Phrases: clips that were made when conch was built, so that they need nothing installed.
type phrases struct {
	language language.Language
	conds    *condition.Book
	log      *slog.Logger
}

func (p phrases) Phrase(w turn.Words) []int16 {
	pcm, err := clips.Samples(p.language, p.plainer(w))
	if err != nil { // every word of turn has a clip, by test
		p.log.Error("words.missing", "err", err)
	}
	return pcm
}

// plainer are the words for a turn that failed: where the cause is known better than the turn knows it, that.
func (p phrases) plainer(w turn.Words) string {
	if w != turn.WordsOffline {
		return string(w)
	}
	for _, better := range []condition.Code{condition.KeyBroken, condition.ClockWrong, condition.NetworkLost} {
		if p.conds.Holds(better) {
			return better.Clip()
		}
	}
	return string(w)
}

// wordsText is what a clip says, in the language of details.
func wordsText(w turn.Words) string { return clips.Text(language.English, string(w)) }

// earcon maps the machine's cues to the shipped sounds.
func earcon(c turn.Cue) []int16 { return cue.Samples(c.String()) }

// localVoice says a text without the session, with the synthesizer of this machine, where there is one, in the language that it is in.
type localVoice struct {
	rehearsal.Synthesizer
	languages []string // that people speak
	otherwise string   // of a text that does not show its language
}

func (v localVoice) Speak(ctx context.Context, text string) ([]int16, error) {
	voice := ""
	l := words.Known().LanguageOf(text, v.otherwise, append(v.languages, v.otherwise, string(language.English)))
	if l != string(language.English) {
		voice = "espeak:" + l
	}
	return v.Say(ctx, voice, text)
}

// alarm is what alerts sound like: a chime, and what they are about now and then, where this machine has a voice. Its first field is fixed.
type alarm struct {
	voice namesVoice

	mu   sync.Mutex
	text string // that was said last
	said []int16
}

// pausedFor is how long a chime dies away before words; our choice.
const pausedFor = audio.Rate / 5

func (a *alarm) round(ctx context.Context, text string, round int) []int16 {
	pcm := chime.Samples(round)
	a.mu.Lock()
	defer a.mu.Unlock()
	if text == "" || round%3 != 2 && (round == 1 || text == a.text) { // what joins is told at once
		return pcm
	}
	if a.text != text {
		said, err := a.voice.Speak(ctx, text)
		if err != nil {
			return pcm
		}
		a.text, a.said = text, said
	}
	return slices.Concat(pcm, make([]int16, pausedFor), a.said)
}

// namesVoice says a sentence with somebody's name in it, in the language of the device. What it would garble, a clip without the name says.
type namesVoice struct {
	rehearsal.Synthesizer
	language language.Language
}

var errUnreadable = errors.New("no voice of this machine can read that")

func (v namesVoice) Speak(ctx context.Context, text string) ([]int16, error) {
	plain, latin := true, true
	for _, r := range text {
		plain = plain && r < utf8.RuneSelf
		latin = latin && (!unicode.IsLetter(r) || unicode.Is(unicode.Latin, r))
	}
	switch {
	case plain && v.language == language.English:
		return v.Say(ctx, "", text)
	case !latin:
		return nil, errUnreadable
	}
	if _, err := exec.LookPath("espeak-ng"); err != nil { // flite reads English letters
		return nil, err
	}
	return v.Say(ctx, "espeak:"+v.language.Voice(), text)
}
