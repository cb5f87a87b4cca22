package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/gpio"
)

const (
	maxLine = 4096             // bytes; what is longer is refused whole
	maxWait = 10 * time.Minute // of one wait line
)

// Lines reads commands, one a line, from a pipe or a file:
//
//	press      the button goes down        wait 2s    nothing more is read for so long
//	release    the button goes up          quit       end
//	ask TEXT   a question, as if spoken    ?, help    what may be written here
//	# …        nothing; so is an empty line
//
// A line that is none of these is answered on the screen and passed over. At the end of the input a press that is still on
// is released, then EOF is reported.
//
// With InTurn a question waits until it may be asked, and nothing but what must come after it waits with it: other questions,
// wait while nothing is pressed, quit and the end. A press and a release act as they are read.
type Lines struct {
	// fixed before Run
	in      *os.File
	options Options
	free    func() bool // nil: a question is asked at once

	// owned by Run
	pressed bool
	number  int          // of the line
	later   chan waiting // what waits for its turn; nil without free

	queued atomic.Int64 // of later, and not reported yet
}

// waiting is an event that waits for its turn, or somebody who waits until all before it have had theirs.
type waiting struct {
	ev   gpio.Event
	then chan struct{} // not nil: closed instead
}

// maxWaiting is how many questions may wait; beyond it nothing more is read, as with any pipe.
const maxWaiting = 64

// NewLines reads commands from a file that is no terminal.
func NewLines(in *os.File, o Options) *Lines {
	o.fill()
	return &Lines{in: in, options: o}
}

func (l *Lines) String() string {
	return "lines on standard input (press, release, ask TEXT, wait 2s, quit)"
}

// InTurn makes questions wait for each other: free says that the next may be asked. Before Run. One that has to wait, and what has
// to wait behind it, is reported on a goroutine of its own, which ends before Run does.
func (l *Lines) InTurn(free func() bool) { l.free = free }

// freeEvery is how often a question that waits looks whether it may be asked.
const freeEvery = 5 * time.Millisecond

// CaptureEnded implements gpio.Events. A press that lost its recording is still a press until its release.
func (l *Lines) CaptureEnded(uint64) {}

// Touchable implements gpio.Events: a program writes lines.
func (*Lines) Touchable() bool { return false }

// Call calls f: whoever waits for a person does not hang.
func (l *Lines) Call(f func()) bool { f(); return true }

// Run implements gpio.Events. It returns nil when the input has ended or quit was read.
func (l *Lines) Run(ctx context.Context, on func(gpio.Event)) error {
	r, err := newReader(ctx, l.in)
	if err != nil {
		return err
	}
	defer r.close()
	if l.free != nil {
		l.later = make(chan waiting, maxWaiting)
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			l.inTurn(ctx, on)
		}()
		defer func() {
			close(l.later)
			<-asked
		}()
	}
	var (
		split lineSplitter
		buf   = make([]byte, 4096)
	)
	quit := false
	line := func(text []byte, tooLong bool) {
		if !quit {
			quit = l.line(ctx, text, tooLong, on)
		}
	}
	for !quit {
		n, err := r.read(ctx, buf, -1)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			if split.end(line); quit {
				return nil
			}
			if l.pressed {
				on(gpio.Event{Kind: gpio.Released, At: l.options.Clock()})
			}
			l.put(ctx, gpio.Event{Kind: gpio.EOF, At: l.options.Clock()}, on)
			return nil
		case err != nil:
			return fmt.Errorf("gpio: read standard input: %w", err)
		}
		split.feed(buf[:n], line)
	}
	return nil
}

// inTurn reports what waits, one after the other, until there is no more.
func (l *Lines) inTurn(ctx context.Context, on func(gpio.Event)) {
	for w := range l.later {
		if w.then != nil {
			close(w.then)
			continue
		}
		for w.ev.Kind == gpio.Asked && ctx.Err() == nil && !l.free() {
			pause(ctx, freeEvery)
		}
		if ctx.Err() == nil {
			w.ev.At = l.options.Clock()
			on(w.ev)
		}
		l.queued.Add(-1)
	}
}

// put reports an event when it is its turn.
func (l *Lines) put(ctx context.Context, ev gpio.Event, on func(gpio.Event)) {
	if l.later == nil || l.queued.Load() == 0 && (ev.Kind != gpio.Asked || l.free()) {
		on(ev)
		return
	}
	l.queued.Add(1)
	l.wait(ctx, waiting{ev: ev})
}

func (l *Lines) wait(ctx context.Context, w waiting) {
	select {
	case l.later <- w:
	case <-ctx.Done():
	}
}

// settle waits until all that waits has had its turn. Not while something is pressed: what waits then, waits for the release.
func (l *Lines) settle(ctx context.Context) {
	if l.later == nil || l.pressed {
		return
	}
	then := make(chan struct{})
	l.wait(ctx, waiting{then: then})
	select {
	case <-then:
	case <-ctx.Done():
	}
}

// line carries out one line and says whether it was the last.
func (l *Lines) line(ctx context.Context, line []byte, tooLong bool, on func(gpio.Event)) (quit bool) {
	if ctx.Err() != nil {
		return true
	}
	l.number++
	if tooLong {
		l.complain("longer than %d bytes; passed over", maxLine)
		return false
	}
	parse := parseLine
	if l.options.Plain {
		parse = plainLine
	}
	c, err := parse(line)
	if err != nil {
		l.complain("%v", err)
		return false
	}
	now := l.options.Clock()
	switch c.verb {
	case "press":
		l.pressed = true // where it was already, a release was lost
		on(gpio.Event{Kind: gpio.Touched, At: now})
		on(gpio.Numbered(gpio.Event{Kind: gpio.Pressed, At: now}))
	case "release":
		if !l.pressed {
			l.complain("release: it is not pressed")
			return false
		}
		l.pressed = false
		on(gpio.Event{Kind: gpio.Released, At: now})
	case "ask":
		l.put(ctx, gpio.Event{Kind: gpio.Asked, At: now, Text: c.text}, on)
	case "wait":
		l.settle(ctx)
		pause(ctx, c.wait)
	case "help":
		text := "lines: " + allowedLines + "\n"
		if l.options.Help != nil {
			text = l.options.Help()
		}
		l.options.Screen.Say(text)
	case "quit":
		l.put(ctx, gpio.Event{Kind: gpio.Quit, At: now}, on)
		return true
	}
	return false
}

func (l *Lines) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(l.options.Screen, "line %d: %s\n", l.number, fmt.Sprintf(format, args...))
}

// command is one line, understood. An empty verb is an empty line.
type command struct {
	verb string
	text string
	wait time.Duration
}

const allowedLines = "press, release, ask TEXT, wait 2s or quit"

func parseLine(line []byte) (command, error) {
	if !utf8.Valid(line) {
		return command{}, errors.New("not UTF-8 text; passed over")
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "?":
		return command{verb: "help"}, nil
	case "press", "release", "quit", "help":
		if rest != "" {
			return command{}, fmt.Errorf("%s stands alone, without %q", verb, short(rest))
		}
		return command{verb: verb}, nil
	case "ask":
		if rest = plain(rest); rest == "" {
			return command{}, errors.New("ask what? ask TEXT")
		}
		return command{verb: verb, text: rest}, nil
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxWait {
			return command{}, fmt.Errorf("wait %q: must be a time like 2s or 500ms, at most %s", short(rest), "10m")
		}
		return command{verb: verb, wait: d}, nil
	}
	if verb == "" || strings.HasPrefix(verb, "#") {
		return command{}, nil
	}
	return command{}, fmt.Errorf("%q: must be %s", short(verb), allowedLines)
}

// plainLine is a line that is a question; "q" and "quit" end, as at the keyboard.
func plainLine(line []byte) (command, error) {
	if !utf8.Valid(line) {
		return command{}, errors.New("not UTF-8 text; passed over")
	}
	switch text := plain(string(line)); text {
	case "":
		return command{}, nil
	case "q", "quit":
		return command{verb: "quit"}, nil
	case "?", "help":
		return command{verb: "help"}, nil
	default:
		return command{verb: "ask", text: text}, nil
	}
}

// plain is text without control characters: what a person asks may end up in a terminal or a log.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// lineSplitter cuts a stream into lines and holds at most maxLine bytes of it.
type lineSplitter struct {
	held []byte
	skip bool // the line is too long; its rest is passed over
}

func (s *lineSplitter) feed(data []byte, line func(text []byte, tooLong bool)) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		part := data
		if end >= 0 {
			part = data[:end]
		}
		if len(s.held)+len(part) > maxLine {
			s.skip, part = true, nil
		}
		s.held = append(s.held, part...)
		if end < 0 {
			return
		}
		data = data[end+1:]
		s.hand(line)
	}
}

// end hands over what has no newline behind it.
func (s *lineSplitter) end(line func(text []byte, tooLong bool)) {
	if s.skip || len(s.held) > 0 {
		s.hand(line)
	}
}

func (s *lineSplitter) hand(line func(text []byte, tooLong bool)) {
	if s.skip {
		line(nil, true)
	} else {
		line(s.held, false)
	}
	s.held, s.skip = s.held[:0], false
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
