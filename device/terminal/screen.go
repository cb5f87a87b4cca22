// Package terminal is the screen of a person who talks with conch at a keyboard.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Screen is what a person at a terminal sees: what was said, line by line, and below it one line that says what the space
// bar would do now, with what is being typed behind it. Whatever is said goes above that line, and the line is drawn anew.
//
// It is the gpio.Prompter of the keyboard. Elsewhere (a pipe, a file) it only writes. From any goroutine.
type Screen struct {
	out io.Writer

	mu       sync.Mutex // guards out and what follows
	live     bool       // there is a line to draw
	doing    string
	typed    string
	entering bool   // a question was entered, and nobody has taken it yet
	entered  string // the last question typed: it need not be shown again with its answer
}

// newScreen writes to out.
func New(out io.Writer) *Screen { return &Screen{out: out} }

// clearLine: to the first column, and erase to the end (ECMA-48, EL).
const clearLine = "\r\x1b[K"

func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

// Say shows whole lines.
func (s *Screen) Say(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		fmt.Fprint(s.out, text)
		return
	}
	fmt.Fprint(s.out, clearLine+strings.ReplaceAll(text, "\n", "\r\n"))
	s.draw()
}

// Typing implements gpio.Prompter.
func (s *Screen) Typing(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed = line
	s.draw()
}

// Unfinished says that there is a line which is not finished.
func (s *Screen) Unfinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.typed != "" || s.entering
}

// Entered implements gpio.Prompter.
func (s *Screen) Entered(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed, s.entering = "", line != ""
	if line != "" {
		s.entered = line
		fmt.Fprintf(s.out, "%syou: %s\r\n", clearLine, line)
	}
	s.draw()
}

// Taken says that the question has been handed on.
func (s *Screen) Taken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entering = false
}

// Known says, once, that a person has just typed this question and sees it.
func (s *Screen) Known(question string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.entered != "" && s.entered == question
	s.entered = ""
	return same
}

// Show begins the line, or changes what it says is being done.
func (s *Screen) Show(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live && s.doing == doing {
		return
	}
	s.live, s.doing = true, doing
	s.draw()
}

// End takes the line away.
func (s *Screen) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		s.live = false
		fmt.Fprint(s.out, clearLine)
	}
}

// draw needs mu.
func (s *Screen) draw() {
	if s.live {
		fmt.Fprintf(s.out, "%s%s > %s", clearLine, s.doing, s.typed)
	}
}
