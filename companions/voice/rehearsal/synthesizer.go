package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"time"

	"conch/companions/voice/kit"
	"conch/companions/voice/program"
)

// Synthesizer makes sound (24 kHz) of words. Say may be called from several goroutines and ends with ctx. An unknown voice is
// spoken with some voice.
type Synthesizer interface {
	Say(ctx context.Context, voice, text string) ([]int16, error)
	fmt.Stringer
}

// voices maps the service's voices to those of flite and espeak-ng, so that companions sound different from each other.
// flite's own names and espeak-ng's behind "espeak:" are taken too.
var voices = map[string]struct{ flite, espeak string }{
	"marin":   {"slt", "en-us+f3"},
	"cedar":   {"rms", "en-us+m3"},
	"alloy":   {"awb", "en-gb-scotland"},
	"ash":     {"kal16", "en-us+m1"},
	"ballad":  {"", "en-gb+m7"},
	"coral":   {"", "en-us+f2"},
	"echo":    {"", "en-us+m5"},
	"sage":    {"", "en-gb+f4"},
	"shimmer": {"", "en-us+f5"},
	"verse":   {"", "en-gb-x-rp+m2"},
	"slt":     {"slt", "en-us+f3"},
	"rms":     {"rms", "en-us+m3"},
	"awb":     {"awb", "en-gb-scotland"},
	"kal":     {"kal", "en-us+m1"},
	"kal16":   {"kal16", "en-us+m1"},
}

const espeakPrefix = "espeak:"

// Voice is the voice to ask the rehearsal for when a card wants another service's: name itself where it is known here, else
// one of the known, always the same for a name. A session is refused a voice it does not know, as by the service.
func Voice(name string) string {
	if name == "" || voiceName("", name) == nil {
		return name
	}
	known := []string{"ash", "ballad", "coral", "echo", "sage", "shimmer", "verse"} // not those of the cards that come along
	sum := 0
	for _, c := range []byte(name) {
		sum = (sum*31 + int(c)) % 9973
	}
	return known[sum%len(known)]
}

// voiceName is the rule for a voice given by name.
func voiceName(path string, v any) *violation {
	s, _ := v.(string)
	if _, ok := voices[s]; ok || strings.HasPrefix(s, espeakPrefix) && plainName(s[len(espeakPrefix):]) {
		return nil
	}
	return wrongValue(path, s, []string{
		"alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse", "slt", "rms", "awb", "kal", "kal16", "espeak:NAME",
	})
}

// plainName keeps what becomes an argument of a program to a name.
func plainName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !('0' <= c && c <= '9') && c != '-' && c != '+' && c != '_') {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

// NewSynthesizer takes flite and espeak-ng where they are installed, and tones where neither is.
func NewSynthesizer() Synthesizer {
	m := &synth{children: program.New(2, 20*time.Second, 64<<20)}
	m.flite, _ = exec.LookPath("flite")
	m.espeak, _ = exec.LookPath("espeak-ng")
	if m.flite == "" && m.espeak == "" {
		return Tones{}
	}
	return m
}

type synth struct {
	flite, espeak string // paths; empty when not installed
	children      program.Children
}

func (s *synth) String() string {
	switch {
	case s.espeak == "":
		return "flite"
	case s.flite == "":
		return "espeak-ng"
	}
	return "flite and espeak-ng"
}

func (s *synth) Say(ctx context.Context, voice, text string) ([]int16, error) {
	text = speakable(text)
	if text == "" {
		return nil, nil
	}
	v := voices[voice]
	if name, ok := strings.CutPrefix(voice, espeakPrefix); ok && plainName(name) {
		v.flite, v.espeak = "", name
	}
	if v.espeak == "" {
		v = voices["marin"]
	}
	var out []byte
	var err error
	switch {
	case s.flite != "" && (v.flite != "" || s.espeak == ""):
		name := cmp.Or(v.flite, "slt")
		out, err = s.children.Run(ctx, []byte(text+"\n"), nil, s.flite, "-voice", name, "-f", "/dev/stdin", "-o", "/dev/stdout")
	default:
		out, err = s.children.Run(ctx, []byte(text+"\n"), nil, s.espeak, "--stdin", "--stdout", "-b", "1", "-v", v.espeak)
	}
	if err != nil {
		return nil, fmt.Errorf("rehearsal: speak: %w", err)
	}
	pcm, rate, err := kit.ParseWAV(out)
	if err != nil {
		return nil, fmt.Errorf("rehearsal: speak: %w", err)
	}
	if len(pcm) == 0 {
		return nil, errors.New("rehearsal: speak: the synthesizer made no sound")
	}
	return kit.Resample(pcm, rate, Rate), nil
}

// speakable drops what a synthesizer cannot read or reads as a command: controls, markup, symbols.
func speakable(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case c < ' ', c == '<', c == '>', c == '[', c == ']', c == '{', c == '}', c == '\\', c == '|', c == '`', c == 0x7f:
			return ' '
		case c == '’':
			return '\''
		}
		return c
	}, text))
}

// Tones speaks where there is no program that does: one short tone per syllable, so that there is something to hear and to
// interrupt. Its pitch follows the voice.
type Tones struct{}

func (Tones) String() string { return "tones only (install flite or espeak-ng)" }

// Say hums.
func (Tones) Say(_ context.Context, voice, text string) ([]int16, error) {
	const syllable = Rate * 18 / 100
	base := 180.0
	for _, c := range voice {
		base += float64(c % 7 * 6)
	}
	var pcm []int16
	vowel := false
	for i, c := range strings.ToLower(text) {
		v := strings.ContainsRune("aeiouy0123456789", c)
		switch {
		case v && !vowel:
			f := base * (1 + 0.06*float64(i%5))
			for k := range syllable {
				shape := math.Sin(math.Pi * float64(k) / syllable)
				pcm = append(pcm, int16(5000*shape*math.Sin(2*math.Pi*f*float64(k)/Rate)))
			}
		case c == ' ' || c == '.' || c == ',':
			pcm = append(pcm, make([]int16, Rate*4/100)...)
		}
		vowel = v
	}
	return pcm, nil
}
