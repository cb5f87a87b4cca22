package rehearsal

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"time"
)

// Recognizer makes words of sound (24 kHz). Hear may be called from several goroutines and ends with ctx.
type Recognizer interface {
	Hear(ctx context.Context, pcm []int16) (Heard, error)
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
			return &sphinx{path: path, children: newChildren(2, 20*time.Second, 64<<10)}
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
func (Meter) Hear(_ context.Context, pcm []int16) (Heard, error) { return measure(pcm), nil }

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
	children children
}

// Limits of what is given to pocketsphinx: it needs about half the length of the speech on a Pi's core.
const (
	maxListen  = 30 * Rate // samples; the beginning is kept
	sphinxRate = 16000
	quiet      = -70 // dB: nobody spoke
)

func (s *sphinx) String() string { return "pocketsphinx" }

func (s *sphinx) Hear(ctx context.Context, pcm []int16) (Heard, error) {
	h := measure(pcm)
	h.Words = true
	if h.Level < quiet {
		return h, nil
	}
	// Half a second of near silence on both ends: its voice detector cuts the first and last word otherwise.
	const pad = sphinxRate / 2
	speech := resample(pcm[:min(len(pcm), maxListen)], Rate, sphinxRate)
	padded := make([]int16, pad+len(speech)+pad)
	for i := range padded {
		padded[i] = int16(i*7919%5) - 2
	}
	copy(padded[pad:], speech)
	out, err := s.children.run(ctx, wav(padded, sphinxRate), s.path, "-infile", "/dev/stdin", "-logfn", "/dev/null")
	if err != nil {
		return h, fmt.Errorf("rehearsal: hear: %w", err)
	}
	var words []string
	for _, w := range strings.Fields(string(out)) {
		if w[0] == '[' || w[0] == '<' || w[0] == '+' { // noises
			continue
		}
		if i := strings.IndexByte(w, '('); i > 0 { // a variant pronunciation, the(2)
			w = w[:i]
		}
		words = append(words, strings.ToLower(w))
	}
	h.Text = strings.Join(words, " ")
	return h, nil
}
