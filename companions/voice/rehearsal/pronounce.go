package rehearsal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"conch/companions/voice/program"
	"conch/device/system"
)

// pronouncer teaches pocketsphinx names.
//
// Its language model was made from text in which hardly anybody is called, so that it takes "Ada, what time is it" for "in what time is
// it" although its dictionary has the name. A word that can be said in several ways is one word to that model, though: names are added to
// the dictionary as further pronunciations of a word with which people begin and end sentences. The number of the pronunciation, which
// pocketsphinx prints with each word's time, tells who was meant.
type pronouncer struct {
	base     string // its dictionary; "": there is none that could be added to
	flite    string // says how what is not in it is spoken; "": nothing does
	children program.Children

	mu      sync.Mutex
	of      string // the names that lines are for
	lines   []byte
	guesses int // that may still be made for them
}

const (
	host        = "oh" // of "john", "well", "sir" and all of them together the one with the most names right for those that nobody said
	firstName   = 100  // of the numbers that are no pronunciation of the dictionary's own
	mostNames   = 32
	sphinxWords = "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict"
	longestName = 40 // bytes
	mostGuesses = 8  // whoever speaks waits for them, once
)

func newPronouncer() *pronouncer {
	p := &pronouncer{children: program.New(1, 5*time.Second, 4<<10)}
	if _, err := os.Stat(sphinxWords); err == nil {
		p.base = sphinxWords
	}
	p.flite, _ = exec.LookPath("flite")
	return p
}

// dictionary is the base with the names in it, as a file in memory; nil: the recognizer's own has to do, which hears all but the names.
func (p *pronouncer) dictionary(ctx context.Context, names []string) *os.File {
	if p.base == "" || len(names) == 0 {
		return nil
	}
	base, err := os.Open(p.base)
	if err != nil {
		return nil
	}
	defer base.Close()
	lines := p.linesFor(ctx, base, names[:min(len(names), mostNames)])
	all, err := system.MemoryFile("conch-dictionary")
	if err != nil {
		return nil
	}
	if _, err = base.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(all, base)
	}
	if err == nil {
		_, err = all.Write(lines)
	}
	if err != nil {
		all.Close()
		return nil
	}
	return all
}

// linesFor are the names' lines in the dictionary's form. Those of the latest names are kept.
func (p *pronouncer) linesFor(ctx context.Context, base io.Reader, names []string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := strings.Join(names, "\n")
	if p.lines != nil && p.of == of {
		return p.lines
	}
	p.guesses = mostGuesses
	known := lookUp(base, names)
	lines := []byte{}
	for i, name := range names {
		if phones := p.spoken(ctx, name, known); phones != "" {
			lines = fmt.Appendf(lines, "%s(%d) %s\n", host, firstName+i, phones)
		}
	}
	p.of, p.lines = of, lines
	return lines
}

// lookUp finds the words of the names in a dictionary.
func lookUp(base io.Reader, names []string) map[string]string {
	known := map[string]string{}
	for _, n := range names {
		for _, w := range nameWords(n) {
			known[w] = ""
		}
	}
	for lines := bufio.NewScanner(base); lines.Scan(); {
		if w, phones, _ := strings.Cut(lines.Text(), " "); phones != "" {
			if got, wanted := known[w]; wanted && got == "" {
				known[w] = phones
			}
		}
	}
	return known
}

func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
}

// spoken is how a name sounds; "": nobody knows.
func (p *pronouncer) spoken(ctx context.Context, name string, known map[string]string) string {
	var all []string
	for _, w := range nameWords(name) {
		phones := known[w]
		if phones == "" {
			phones = p.guess(ctx, w)
		}
		if phones == "" {
			return ""
		}
		all = append(all, phones)
	}
	return strings.Join(all, " ")
}

// guess asks flite how a word that no dictionary has is spoken; its sounds are the dictionary's, but for one name.
func (p *pronouncer) guess(ctx context.Context, word string) string {
	if p.flite == "" || p.guesses == 0 || len(word) > longestName || !plainName(word) {
		return ""
	}
	p.guesses--
	out, err := p.children.Run(ctx, nil, nil, p.flite, "-ps", "-t", word, "none")
	if err != nil {
		return ""
	}
	phones := slices.DeleteFunc(strings.Fields(strings.ToUpper(string(out))), func(s string) bool { return s == "PAU" })
	for i, s := range phones {
		if s == "AX" {
			phones[i] = "AH"
		}
	}
	return strings.Join(phones, " ")
}

// maySay are the names that a transcription's prompt asks to expect.
func maySay(prompt string) []string {
	list, ok := strings.CutPrefix(prompt, namesPrompt)
	if !ok {
		return nil
	}
	var names []string
	for n := range strings.SplitSeq(strings.TrimSuffix(list, "."), ",") {
		if n = strings.TrimSpace(n); n != "" && len(n) <= longestName && len(names) < mostNames {
			names = append(names, n)
		}
	}
	return names
}

// namesPrompt is how conch begins a transcription's prompt with the names that may be said.
const namesPrompt = "Names: "
