package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"conch/device/language"
	"conch/device/printable"
	"conch/device/system"
)

// How a question ends that is not answered.
var (
	errSkip = errors.New("skipped")
	errLeft = errors.New("left") // said by Run
)

// An asker puts questions to a person at a terminal. Where nobody is asked, each has the answer that Enter would give.
type asker struct {
	in     *os.File
	out    io.Writer
	nobody bool
	lang   language.Language // of the questions

	question string // the last one; for whoever reads JSON
	choices  []string
	answer   string // that Enter gives
}

// say prints a paragraph in the width of the terminal; what begins with spaces is indented on every line.
func (a *asker) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintln(a.out, wrap(printable.Text(strings.TrimSuffix(line, "\n")), a.width()))
	}
}

// width is the terminal's, within what can be read.
func (a *asker) width() int {
	const usual, least, most = 80, 16, 100
	if a.in == nil {
		return usual
	}
	if w, _, err := term.GetSize(int(a.in.Fd())); err == nil && w > 0 {
		return min(max(w-1, least), most)
	}
	return usual
}

// wrap breaks a line between words; what stands in columns hangs below the last of them.
func wrap(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	const columns, wide = 24, 60
	hang := len(line) - len(strings.TrimLeft(line, " "))
	if i := strings.LastIndex(line[:min(columns, len(line))], "  "); i >= hang && width >= wide {
		hang = i + 2
	}
	var b strings.Builder
	b.WriteString(line[:hang])
	at := hang
	for i, word := range strings.Fields(line[hang:]) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", hang))
			at = hang
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// line asks for a line; Enter gives the answer in brackets.
func (a *asker) line(ctx context.Context, question, enter string) (string, error) {
	a.question, a.answer = question, enter
	if a.nobody {
		return enter, nil
	}
	bracket := ""
	if enter != "" {
		bracket = " [" + enter + "]"
	}
	fmt.Fprint(a.out, wrap(printable.Text(question+bracket), a.width())+" ")
	text, err := typed(ctx, a.in)
	if err != nil {
		fmt.Fprintln(a.out)
		return "", err
	}
	switch text = strings.TrimSpace(text); text {
	case "":
		return enter, nil
	case "s", "skip":
		return "", errSkip
	}
	return text, nil
}

// What is typed for yes and no, in whichever language.
var (
	yesWords = []string{"y", "yes", "j", "ja", "sí", "si", "o", "oui"}
	noWords  = []string{"n", "no", "nein", "non"}
)

// yes asks for yes or no.
func (a *asker) yes(ctx context.Context, question string, enter bool) (bool, error) {
	words := map[bool]string{true: "Y/n", false: "y/N"}[enter]
	for {
		text, err := a.line(ctx, question, words)
		a.answer = map[bool]string{true: "y", false: "n"}[enter]
		if err != nil {
			return false, err
		}
		switch text = strings.ToLower(text); {
		case slices.Contains(yesWords, text):
			return true, nil
		case slices.Contains(noWords, text):
			return false, nil
		case text == strings.ToLower(words):
			return enter, nil
		}
		a.say("%s", a.lang.Phrase("setup.yes_or_no"))
	}
}

// choose asks for one of several, by number or by a word; enter is the index that Enter takes.
func (a *asker) choose(ctx context.Context, question string, choices []choice, enter int) (int, error) {
	a.choices = nil
	for i, c := range choices {
		a.choices = append(a.choices, c.word)
		a.say("  %2d  %s", i+1, c.text)
	}
	for {
		text, err := a.line(ctx, question, strconv.Itoa(enter+1))
		a.answer = choices[enter].word
		if err != nil {
			return 0, err
		}
		for i, c := range choices {
			if text == strconv.Itoa(i+1) || strings.EqualFold(text, c.word) {
				return i, nil
			}
		}
		a.say("%s", a.lang.Phrase("setup.none_of_these", "text", strconv.Quote(text), "n", len(choices)))
	}
}

type choice struct{ word, text string }

// hidden asks for what is not shown while it is typed.
func (a *asker) hidden(ctx context.Context, question string) (string, error) {
	a.question, a.answer = question, ""
	if a.nobody {
		return "", nil
	}
	fd := int(a.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("setup: %w", err)
	}
	fmt.Fprint(a.out, wrap(question+" ("+a.lang.Phrase("setup.hidden")+")", a.width())+" ")
	text, err := await(ctx, func() (string, error) {
		b, err := term.ReadPassword(fd)
		return string(b), err
	})
	_ = term.Restore(fd, before)
	fmt.Fprintln(a.out)
	if text = strings.TrimSpace(text); err == nil && (text == "s" || text == "skip") {
		return "", errSkip
	}
	return text, err
}

// await returns when read does, or ctx ends: the read itself cannot be ended then, but the program is about to be.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := read()
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		if r.err != nil { // Ctrl-D, or the terminal is gone
			return "", errLeft
		}
		return r.text, nil
	case <-ctx.Done():
		return "", errLeft
	}
}

// typed waits for a line, and takes none where ctx ends first: a terminal can be read when it has a whole one. It reads no further
// than its line: what is typed ahead is the next question's.
func typed(ctx context.Context, in *os.File) (string, error) {
	const look, most = 100 * time.Millisecond, 4096
	for {
		first, err := system.Wait(look, in)
		switch {
		case ctx.Err() != nil:
			return "", errLeft
		case err != nil:
			return "", fmt.Errorf("setup: %w", err)
		case first < 0:
			continue
		}
		break
	}
	var line []byte
	for one := make([]byte, 1); len(line) < most; {
		n, _ := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		default: // Ctrl-D, or the terminal is gone
			return "", errLeft
		}
	}
	return string(line), nil
}
