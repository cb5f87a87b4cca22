// Package terminal is a person who talks with conch at a keyboard: the screen (screen.go; what is drawn on it: page.go, text.go), the
// keys (keyboard.go, keys.go), the line that is typed (edit.go), and the lines of whoever has no terminal (lines.go). TERMINAL.md has
// the pictures.
package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"conch/device/language"
	"conch/device/printable"
)

// Screen is what a person at a terminal sees. On a terminal it draws a page; elsewhere (a pipe, a file) it writes lines. What it is given
// may be somebody else's words: none of them steers the terminal. From any goroutine.
type Screen struct {
	out  io.Writer // what is said is escaped before it
	file *os.File  // the terminal behind it; nil: none
	look Look      // but for its size

	mu      sync.Mutex // guards out and what follows
	page    page
	entered string // the last question typed: it need not be shown again with its answer

	entering bool // a question was entered, and nobody has taken it yet
}

// New is a screen that writes to out.
func New(out io.Writer) *Screen {
	s := &Screen{out: printable.Behind(out)}
	if f, ok := s.out.(*os.File); ok {
		s.On(f)
	}
	return s
}

// On says which terminal there is behind what the screen writes to, if it is one. Before anything is shown.
func (s *Screen) On(out io.Writer) {
	if f, ok := printable.Behind(out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		l := s.look.Language
		s.file, s.look = f, lookOf(os.Getenv)
		s.look.Language = l
	}
}

// In says in which language people read it, before anything is shown; English, if nobody does.
func (s *Screen) In(l language.Language) { s.look.Language = l }

// Draws says that words can be shown while they are said.
func (s *Screen) Draws() bool { return s.file != nil && s.look.Moves }

// lookOf is what a terminal can show by its environment: TERM, NO_COLOR (no-color.org) and the locale (locale(7)). Where no locale
// is set at all, as in a container, the terminal is taken for one of this century.
func lookOf(env func(string) string) Look {
	kind := env("TERM")
	l := Look{Moves: !slices.Contains([]string{"", "dumb", "unknown"}, kind)}
	l.Colour = l.Moves && env("NO_COLOR") == "" && !strings.HasPrefix(kind, "vt1") && !strings.HasPrefix(kind, "vt2")
	l.Strikes = slices.ContainsFunc([]string{"xterm", "tmux", "kitty", "foot", "alacritty", "wezterm", "ghostty", "konsole", "vte", "gnome", "st-"},
		func(p string) bool { return strings.HasPrefix(kind, p) }) || strings.HasPrefix(kind, "screen") && env("TMUX") != ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(env(name)); locale != "" {
			l.ASCII = !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
			break
		}
	}
	return l
}

// sized is the look with the size of now.
func (s *Screen) sized() Look {
	l := s.look
	if width, height, err := term.GetSize(int(s.file.Fd())); err == nil {
		l.Width, l.Height = width, height
	}
	return l
}

// happens draws what an event does to the page. Needs mu.
func (s *Screen) happens(ev event) {
	var out string
	if s.page, out = s.page.step(s.sized(), ev); out != "" {
		_, _ = io.WriteString(s.out, out)
	}
}

// Write writes lines: a log, for one, goes above the prompt.
func (s *Screen) Write(b []byte) (int, error) {
	s.Say(string(b))
	return len(b), nil
}

// steer writes a control sequence of ours.
func (s *Screen) steer(sequence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, sequence)
}

// Say shows whole lines.
func (s *Screen) Say(text string) { s.say(text, false) }

// Note shows whole lines that explain, and can wait until nobody speaks.
func (s *Screen) Note(text string) { s.say(text, true) }

func (s *Screen) say(text string, note bool) {
	if text == "" {
		return
	}
	text = printable.Escape(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		_, _ = io.WriteString(s.out, text)
		return
	}
	s.happens(lines{text, note})
}

// Meet says who may speak, so that each has a colour from the beginning, and the same one each time.
func (s *Screen) Meet(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		s.page.hue(printable.Name(n))
	}
}

// You shows what a person has said or asked.
func (s *Screen) You(text string) {
	text = printable.Text(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		_, _ = fmt.Fprintf(s.out, "%s: %s\n", s.look.Language.Phrase("terminal.you"), text)
		return
	}
	s.happens(asked{text})
}

// Speaks shows how far somebody has come, where that can be drawn anew.
func (s *Screen) Speaks(sp Speech) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && sp.Who != "" && sp.Heard != "" {
		s.happens(speaking{sp.harmless()})
	}
}

// Said shows what somebody has said. cut says how that was cut short; empty: it was not.
func (s *Screen) Said(sp Speech, cut string) {
	sp = sp.harmless()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.happens(said{sp, cut})
		return
	}
	if sp.Heard == "" && cut == "" {
		return
	}
	if sp.Place != "" {
		sp.Who += " (" + sp.Place + ")"
	}
	if cut != "" {
		cut = " … (" + cut + ")"
	}
	_, _ = fmt.Fprintf(s.out, "%s: %s%s\n", sp.Who, sp.Heard, cut)
}

// Says shows what somebody has said elsewhere.
func (s *Screen) Says(who, place, text string) {
	s.Said(Speech{Who: who, Place: place, Heard: text}, "")
}

func (sp Speech) harmless() Speech {
	sp.Who, sp.Place = printable.Name(sp.Who), printable.Name(sp.Place)
	sp.Heard, sp.Rest = strings.TrimSpace(printable.Text(sp.Heard)), printable.Text(sp.Rest)
	return sp
}

// Typing shows the line that is being typed, after each change. at is where the cursor is, in bytes.
func (s *Screen) Typing(line string, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.happens(typing{line, at})
	}
}

// Unfinished says that there is a line which is not finished, or whose question nobody has taken yet.
func (s *Screen) Unfinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page.typed != "" || s.entering
}

// Entered says that Enter was struck; line is empty where it was no question.
func (s *Screen) Entered(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entering = line != ""
	s.page.typed, s.page.at = "", 0
	if line != "" {
		s.entered = line
		s.happens(asked{line})
		return
	}
	s.happens(typing{})
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

// Show begins the prompt, or changes what it says.
func (s *Screen) Show(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.page.live && s.page.state == state {
		return
	}
	s.happens(doing{state})
}

// End takes away what is not above.
func (s *Screen) End() { s.now(closed{}) }

// Leave takes away what is drawn anew, before somebody else has the terminal for a while.
func (s *Screen) Leave() { s.now(erased{}) }

// Redraw draws it again: over what is there, if the terminal has another size; below it, if somebody else has written there.
func (s *Screen) Redraw(others bool) {
	if others {
		s.now(lost{})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.happens(typing{s.page.typed, s.page.at})
	}
}

// Clear begins a new screen; what is above can still be scrolled to where the terminal keeps it.
func (s *Screen) Clear() {
	if s.look.Moves {
		s.steer("\x1b[H\x1b[2J")
	}
	s.Redraw(true)
}

func (s *Screen) now(ev event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.happens(ev)
	}
}
