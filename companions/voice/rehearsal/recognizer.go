package rehearsal

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"conch/companions/voice/kit"
	"conch/companions/voice/program"
)

// Recognizer makes words of sound (24 kHz); names are those that may be said. Hear may be called from several goroutines and ends
// with ctx.
type Recognizer interface {
	Hear(ctx context.Context, pcm []int16, names []string) (Heard, error)
	fmt.Stringer
}

// Heard is what a recognizer makes of an utterance.
type Heard struct {
	Text   string // lower case, no punctuation; empty when no word was understood
	Words  bool   // words were listened for: without it, Text is empty because nobody can
	Failed bool   // they were, and that did not work: it took too long, mostly
	Length time.Duration
	Level  float64 // dB below full scale, of the whole utterance
}

// NewRecognizer takes pocketsphinx where it is installed, and only measures where it is not.
func NewRecognizer() Recognizer {
	for _, name := range []string{"pocketsphinx_continuous"} {
		if path, err := exec.LookPath(name); err == nil {
			return &sphinx{path: path, children: program.New(2, 20*time.Second, 64<<10), names: newPronouncer()}
		}
	}
	return Meter{}
}

// Meter is a recognizer without words: length and level.
type Meter struct{}

func (Meter) String() string {
	return "a level meter only (install pocketsphinx and pocketsphinx-en-us)"
}

// Hear measures.
func (Meter) Hear(_ context.Context, pcm []int16, _ []string) (Heard, error) {
	return measure(pcm), nil
}

func measure(pcm []int16) Heard {
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	h := Heard{Length: time.Duration(len(pcm)) * time.Second / Rate, Level: -96}
	if sum > 0 {
		h.Level = max(-96, 10*math.Log10(sum/float64(len(pcm))/(32768*32768)))
	}
	return h
}

// sphinx is pocketsphinx 0.8 with the US English model: 16 kHz on standard input, one line per utterance it finds.
type sphinx struct {
	path     string
	children program.Children
	names    *pronouncer
}

// Limits of what is given to pocketsphinx: it needs about half the length of the speech on a Pi's core.
const (
	maxListen  = 30 * Rate // samples; the beginning is kept
	sphinxRate = 16000
	quiet      = -70 // dB: nobody spoke
)

func (s *sphinx) String() string { return "pocketsphinx" }

func (s *sphinx) Hear(ctx context.Context, pcm []int16, names []string) (Heard, error) {
	h := measure(pcm)
	h.Words = true
	if h.Level < quiet {
		return h, nil
	}
	// Half a second of near silence on both ends: its voice detector cuts the first and last word otherwise.
	const pad = sphinxRate / 2
	speech := kit.Resample(pcm[:min(len(pcm), maxListen)], Rate, sphinxRate)
	padded := make([]int16, pad+len(speech)+pad)
	for i := range padded {
		padded[i] = int16(i*7919%5) - 2
	}
	copy(padded[pad:], speech)
	args := []string{"-infile", "/dev/stdin", "-logfn", "/dev/null", "-time", "yes"}
	dictionary := s.names.dictionary(ctx, names)
	if dictionary != nil {
		defer dictionary.Close()
		args = append(args, "-dict", "/dev/fd/3")
	}
	out, err := s.children.Run(ctx, kit.WAV(padded, sphinxRate), dictionary, s.path, args...)
	if err != nil {
		return h, fmt.Errorf("rehearsal: hear: %w", err)
	}
	h.Text = heardWords(string(out), names)
	return h, nil
}

// How probable pocketsphinx must find a name, chosen on 90 lines that call somebody and 200 that do not, in two of flite's voices: within
// a line hardly anybody is called.
const (
	surelyAtEnds = 0.15 // the first two words and the last two
	surelyWithin = 0.4
	hardly       = 0.05 // the last word, where it is the breath behind the last one: "huh"
)

// heardWords reads what pocketsphinx says with -time yes: each utterance as a line, then its words, a line each, with their times and a
// probability. A word that it knows in several pronunciations has the number of the one that was said.
func heardWords(out string, names []string) string {
	type word struct {
		text string
		name bool
		sure float64
	}
	var all []word
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0][0] == '[' || f[0][0] == '<' || f[0][0] == '+' { // the utterance, a noise, a silence
			continue
		}
		sure, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			continue // an utterance of four words
		}
		text, number, _ := strings.Cut(strings.TrimSuffix(f[0], ")"), "(")
		w := word{text: text, sure: sure}
		if i, err := strconv.Atoi(number); err == nil && i >= firstName && i-firstName < len(names) {
			w = word{names[i-firstName], true, sure}
		}
		all = append(all, w)
	}
	if n := len(all); n > 1 && all[n-1].sure < hardly {
		all = all[:n-1]
	}
	var words []string
	for i, w := range all {
		least := surelyAtEnds
		if i > 1 && i < len(all)-2 {
			least = surelyWithin
		}
		switch {
		case !w.name:
			words = append(words, strings.ToLower(w.text))
		case w.sure >= least && (i == 0 || all[i-1].text != w.text): // it may find one name twice in one word
			words = append(words, strings.ToLower(w.text))
		}
	}
	return strings.Join(words, " ")
}
