package terminal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/gpio"
)

// terminal is a pseudo terminal: person is what types and looks, program what conch has as standard input.
type terminal struct {
	person, program *os.File
	mu              sync.Mutex
	seen            strings.Builder // owned by mu: what the program has shown
	done            chan struct{}
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: /dev/ptmx: %v", err)
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tt := &terminal{person: os.NewFile(uintptr(master), "ptmx"), program: program, done: make(chan struct{})}
	go func() { // ends when the program's side is closed
		defer close(tt.done)
		buf := make([]byte, 1024)
		for {
			n, err := tt.person.Read(buf)
			tt.mu.Lock()
			tt.seen.Write(buf[:n])
			tt.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		program.Close()
		<-tt.done
		tt.person.Close()
	})
	return tt
}

func (tt *terminal) shown() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.seen.String()
}

func (tt *terminal) settings(t *testing.T) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(tt.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// session is a keyboard that runs in a terminal.
type session struct {
	press atomic.Uint64 // the latest
	seen  atomic.Bool   // the screen called a question unfinished while it was handed on

	*terminal
	t        *testing.T
	keyboard *Keyboard
	screen   *Screen
	events   chan gpio.Event
	done     chan error
	found    unix.Termios
	cancel   context.CancelFunc
}

func startKeyboard(t *testing.T, term string) *session {
	t.Setenv("TERM", term)
	tt := openTerminal(t)
	s := &session{terminal: tt, t: t, events: make(chan gpio.Event, 64), done: make(chan error, 1), found: tt.settings(t)}
	screen := New(tt.program)
	screen.Show(State{})
	source := Open(tt.program, Options{Screen: screen})
	keyboard, ok := source.(*Keyboard)
	if !ok {
		t.Fatalf("a terminal gives %T; want Keyboard", source)
	}
	s.keyboard, s.screen = keyboard, screen
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	go func() {
		s.done <- keyboard.Run(ctx, func(ev gpio.Event) {
			if ev.Kind == gpio.Pressed {
				s.press.Store(ev.Press)
			}
			if ev.Kind == gpio.Asked {
				s.seen.Store(screen.Unfinished())
			}
			s.events <- ev
		})
	}()
	t.Cleanup(func() { cancel(); s.wait() })
	for tt.settings(t).Lflag&unix.ICANON != 0 { // until Run has taken the terminal
		<-time.After(ms)
	}
	return s
}

// wait is for the end of Run, and checks that the terminal is as it was.
func (s *session) wait() {
	s.t.Helper()
	if s.done == nil {
		return
	}
	if err := <-s.done; err != nil {
		s.t.Errorf("Run = %v; want nil", err)
	}
	s.done = nil
	if now := s.settings(s.t); now != s.found {
		s.t.Errorf("the terminal is left with %+v\nit was found with %+v", now, s.found)
	}
}

func (s *session) types(text string) {
	s.t.Helper()
	if _, err := s.person.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) want(want string) {
	s.t.Helper()
	var got []gpio.Event
	for range strings.Fields(strings.ReplaceAll(want, "asked(what time is it)", "asked")) {
		got = append(got, <-s.events)
	}
	if kinds(got) != want {
		s.t.Fatalf("got %s\nwant %s", kinds(got), want)
	}
}

func TestKeyboardInAPlainTerminal(t *testing.T) {
	s := startKeyboard(t, "dumb")
	s.types(" ")
	s.want("touched pressed")
	s.types(" ")
	s.want("released")
	s.types(" ")
	s.want("touched pressed")
	s.keyboard.CaptureEnded(s.press.Load())
	s.types("what time is it\r")
	s.want("asked(what time is it)")
	s.types("  ") // a line is empty again: talk; twice at once is a key held and let go
	s.want("touched pressed released")
	s.types("q\r")
	s.want("quit")
	s.wait()
	if shown := s.shown(); !strings.Contains(shown, "> what time is it") || strings.Contains(shown, kittyAsk) {
		t.Errorf("the screen shows %q", shown)
	}
}

// A device that begins anew waits for whoever types. Between Enter and the question's turn there is no moment at which nothing is under
// way, or the question would be lost.
func TestAQuestionIsUnfinishedUntilItIsTaken(t *testing.T) {
	s := startKeyboard(t, "dumb")
	s.types("what time is it\r")
	s.want("asked(what time is it)")
	if !s.seen.Load() {
		t.Error("while the question is handed on the screen says that nothing is under way")
	}
	for s.screen.Unfinished() {
		<-time.After(ms)
	}
	s.types("q\r")
	s.want("quit")
	s.wait()
}

func TestKeyboardWithReleases(t *testing.T) {
	s := startKeyboard(t, "xterm-kitty")
	s.types("\x1b[?0u") // as the terminal answers
	for !strings.Contains(s.shown(), kittyPush) {
		<-time.After(ms)
	}
	s.types("\x1b[32;1:1;32u")
	s.want("touched pressed")
	<-time.After(400 * ms) // really held; it may be longer without harm
	s.types("\x1b[32;1:3u")
	s.want("released")
	s.types("\x1b[99;5u")
	s.want("quit")
	s.wait()
	if shown := s.shown(); !strings.Contains(shown, kittyAsk) {
		t.Errorf("the terminal was not asked: %q", shown)
	}
	for !strings.HasSuffix(s.shown(), kittyPop) {
		<-time.After(ms)
	}
}

func TestKeyboardEnds(t *testing.T) {
	for name, end := range map[string]func(*session){
		"with Ctrl-C":      func(s *session) { s.types("\x03"); s.want("quit") },
		"with Ctrl-D":      func(s *session) { s.types("\x04"); s.want("quit") },
		"with its context": func(s *session) { s.cancel() },
		"with a signal": func(s *session) {
			if err := unix.Kill(unix.Getpid(), unix.SIGTERM); err != nil {
				s.t.Fatal(err)
			}
			s.want("quit")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startKeyboard(t, "dumb")
			end(s)
			s.wait()
		})
	}
}

func TestRestoreGivesTheTerminalBackAtOnce(t *testing.T) {
	s := startKeyboard(t, "dumb")
	s.keyboard.Restore()
	s.keyboard.Restore()
	if now := s.settings(t); now != s.found {
		t.Errorf("left with %+v; found with %+v", now, s.found)
	}
}

// A SIGCONT that is late, or somebody else's, comes while Ctrl-Z is being carried out: the shell that has the terminal then has it as it was.
func TestNobodyTakesTheTerminalWhileItStops(t *testing.T) {
	s := startKeyboard(t, "dumb")
	stops := make(chan bool)
	s.keyboard.stop = func() { stops <- true; <-stops }
	t.Cleanup(func() { close(stops) }) // or a failure would wait for it
	for range 2 {
		s.types("\x1a")
		<-stops
		if err := unix.Kill(unix.Getpid(), unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if now := s.settings(t); now != s.found {
				t.Fatalf("the shell has a terminal with %+v\nit was found with %+v", now, s.found)
			}
			<-time.After(ms)
		}
		shown := len(s.shown())
		stops <- true
		for s.settings(t).Lflag&unix.ICANON != 0 || len(s.shown()) == shown { // it has it again, and shows the prompt
			<-time.After(ms)
		}
	}
	s.types("q\r")
	s.want("quit")
	s.wait()
}
