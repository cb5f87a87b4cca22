package cascade

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"conch/companions/voice/kit"
	"conch/companions/voice/program"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// Stages that programs of this machine do, as children, in place of a server.

const (
	programLimit = 30 * time.Second
	programs     = 2 // at once
)

// earHere is a recognizer of this machine.
type earHere struct {
	target
	languages []string
	run       program.Children
	sphinx    rehearsal.Recognizer
}

func newEarHere(t target, languages []string) *earHere {
	e := &earHere{target: t, languages: languages, run: program.New(programs, programLimit, 64<<10)}
	if t.program == "pocketsphinx" {
		e.sphinx = rehearsal.NewRecognizer()
	}
	return e
}

func (e *earHere) hear(ctx context.Context, pcm []int16, names string) (string, error) {
	if e.sphinx != nil {
		h, err := e.sphinx.Hear(ctx, pcm, namesOf(names))
		if err == nil && !h.Words {
			err = &missing{settingHear, e.program, "not installed"}
		}
		return h.Text, err
	}
	if err := e.found(settingHear); err != nil {
		return "", err
	}
	path, err := e.find()
	if err != nil {
		return "", err
	}
	args := []string{"-m", e.model, "-f", "-", "-nt", "-np", "-l", "auto"}
	if len(e.languages) == 1 {
		args[len(args)-1] = e.languages[0]
	}
	if names != "" {
		args = append(args, "--prompt", names)
	}
	out, err := e.run.Run(ctx, kit.WAV(kit.Resample(pcm, kit.Rate, heardRate), heardRate), nil, path, args...)
	if err != nil {
		return "", fmt.Errorf("cascade: hear: %s: %w", e.program, failing(ctx, err))
	}
	return transcript{text: strings.Join(strings.Fields(string(out)), " ")}.words(pcm, names), nil
}

// namesOf are those of a prompt.
func namesOf(prompt string) []string {
	list, ok := strings.CutPrefix(strings.TrimSuffix(prompt, "."), "Names: ")
	if !ok {
		return nil
	}
	return strings.Split(list, ", ")
}

func (e *earHere) ready(context.Context) error { return e.found(settingHear) }
func (e *earHere) warm(context.Context) error  { return e.found(settingHear) }
func (e *earHere) cold(time.Time) bool         { return false }

// missing is a program that is not on this machine, or without its model: nobody mends that but a person.
type missing struct {
	setting, program string
	lack             string // not installed
}

func (m *missing) Error() string             { return fmt.Sprintf("%s = %q is %s", m.setting, m.program, m.lack) }
func (m *missing) Words() (turn.Words, bool) { return turn.WordsServerError, false }

// Settings that name a stage.
const (
	settingHear  = "voice.hear"
	settingSpeak = "voice.speak"
)

// there says that a program, and its model where it needs one, are on this machine; nil: they are.
func (t target) there(setting string) *missing {
	if _, err := t.find(); err != nil {
		return &missing{setting, t.program, "not installed"}
	}
	if needsModel(filepath.Base(t.program)) {
		if f, err := os.Stat(t.model); err != nil || f.IsDir() {
			return &missing{setting, t.program + " " + t.model, "without the file of its model"}
		}
	}
	return nil
}

// found is the same, as an error.
func (t target) found(setting string) error {
	if m := t.there(setting); m != nil {
		return m
	}
	return nil
}

// failing is what a program that was run ended with: no network has anything to do with it.
func failing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &unusable{turn.WordsServerError, err.Error()}
}

// mouthHere is a synthesizer of this machine.
type mouthHere struct {
	target
	voice string
	run   program.Children
}

func newMouthHere(t target, voice string) *mouthHere {
	return &mouthHere{target: t, voice: voice, run: program.New(programs, programLimit, mostSound)}
}

func (m *mouthHere) say(ctx context.Context, text, language string, on func([]int16) bool) error {
	if err := m.found(settingSpeak); err != nil {
		return err
	}
	t := m.target
	if language != english && slices.Contains(englishOnly, filepath.Base(t.program)) {
		if other, ok := installed(speaking, t.program, language); ok {
			t = other
		} else if !latin(text) {
			return fmt.Errorf("cascade: speak: %w", &unusable{turn.WordsServerError, t.program + " speaks English alone; install espeak-ng"})
		}
	}
	path, err := t.find()
	if err != nil {
		return err
	}
	var args []string
	switch filepath.Base(t.program) {
	case "flite":
		args = []string{"-f", "/dev/stdin", "-o", "/dev/stdout"}
		if plainName(m.voice) {
			args = append(args, "-voice", m.voice)
		}
	case "espeak-ng":
		args = []string{"--stdin", "--stdout", "-b", "1"}
		args = append(args, "-v", m.espeak(language))
	case "piper":
		args = []string{"--model", m.model, "--output_file", "-"}
	}
	out, err := m.run.Run(ctx, []byte(legible(text)+"\n"), nil, path, args...)
	if err != nil {
		return fmt.Errorf("cascade: speak: %s: %w", t.program, failing(ctx, err))
	}
	pcm, rate, err := kit.ParseWAV(out)
	switch {
	case err != nil:
		return fmt.Errorf("cascade: speak: %s: %w", t.program, &unusable{turn.WordsServerError, err.Error()})
	case len(pcm) == 0:
		return fmt.Errorf("cascade: speak: %s: %w", t.program, &unusable{turn.WordsServerError, "it made no sound"})
	}
	on(kit.Resample(pcm, rate, kit.Rate))
	return nil
}

// espeak is the name of a voice of espeak-ng that speaks the language: the one that was chosen, where it does, else with its variant.
func (m *mouthHere) espeak(language string) string {
	if filepath.Base(m.program) != "espeak-ng" || !plainName(m.voice) {
		return cmp.Or(language, english)
	}
	own, variant, varied := strings.Cut(m.voice, "+")
	if code, _, _ := strings.Cut(own, "-"); language == "" || code == language || len(code) != 2 {
		return m.voice
	}
	if varied {
		return language + "+" + variant
	}
	return language
}

// latin says whether a text has no letters but Latin ones.
func latin(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

// plainName keeps what becomes an argument of a program to a name.
func plainName(s string) bool {
	return s != "" && len(s) <= 40 && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+_") == ""
}

// legible drops what such a program reads as a command, or as the name of a sign.
func legible(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune("<>[]{}\\|`", c) {
			return ' '
		}
		if c == '’' {
			return '\''
		}
		return c
	}, text))
}

func (m *mouthHere) ready(context.Context) error { return m.found(settingSpeak) }
func (m *mouthHere) cold(time.Time) bool         { return false }

// warm has it say one short word that nobody hears: whether it can is seen by that alone.
func (m *mouthHere) warm(ctx context.Context) error {
	return m.say(ctx, "Hm.", english, func([]int16) bool { return true })
}
