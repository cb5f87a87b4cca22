package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A person is at a terminal: types, and sees what a terminal shows.
type person struct {
	t        *testing.T
	keys     *os.File // what is typed
	terminal *os.File // the program's side
	program  *exec.Cmd
	log      bytes.Buffer // standard error; read after wait
	found    unix.Termios
	from     int // of the screen: what sees looks at begins there

	mu   sync.Mutex
	seen bytes.Buffer
	ends chan struct{} // closed when the program's side is closed
}

// sitDown starts conch run in a pseudo terminal of its own.
func sitDown(t *testing.T, args ...string) *person {
	t.Helper()
	return sitAt(t, append([]string{"run"}, args...)...)
}

// sitAt starts conch in a pseudo terminal of its own.
func sitAt(t *testing.T, args ...string) *person {
	t.Helper()
	return sitWith(t, func(*exec.Cmd) {}, args...)
}

// sitWith is the same with another environment.
func sitWith(t *testing.T, change func(*exec.Cmd), args ...string) *person {
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
	p := &person{t: t, keys: os.NewFile(uintptr(master), "ptmx"), ends: make(chan struct{})}
	if p.terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	p.found = p.settings()
	go func() { // ends when the program's side is closed
		defer close(p.ends)
		buf := make([]byte, 4096)
		for {
			n, err := p.keys.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	dir := t.TempDir()
	p.program = exec.CommandContext(t.Context(), "conch", args...)
	p.program.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=dumb", "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state",
		"XDG_RUNTIME_DIR=" + dir, "XDG_CONFIG_HOME=" + dir, "CONCH_AUDIO_BACKEND=null", "CONCH_LOG_LEVEL=info"}
	p.program.Stdin, p.program.Stdout, p.program.Stderr = p.terminal, p.terminal, &p.log
	p.program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	change(p.program)
	if err := p.program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.program.Process.Kill() // ended already, unless the test has failed
		p.terminal.Close()
		<-p.ends
		p.keys.Close()
		if t.Failed() {
			t.Logf("screen:\n%s\nlog:\n%s", p.screen(), p.log.String())
		}
	})
	return p
}

func (p *person) settings() unix.Termios {
	p.t.Helper()
	s, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *s
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// waits is what a person does who listens or talks. Nothing depends on how long it really takes.
func (p *person) waits(d time.Duration) { <-time.After(d) }

// screen is what the terminal shows: carriage return, line feed and erase to the end of the line are carried out; a long
// line is not wrapped.
func (p *person) screen() string {
	p.mu.Lock()
	text := strings.ReplaceAll(p.seen.String(), "\x1b[K", "\x00")
	p.mu.Unlock()
	var lines []string
	var line []rune
	at := 0
	for _, r := range text {
		switch r {
		case '\r':
			at = 0
		case '\n':
			lines, line, at = append(lines, string(line)), nil, 0 // preceded by a carriage return in any case: see sees
		case '\x00':
			line = line[:at]
		default:
			if line = line[:max(at, len(line))]; at == len(line) {
				line = append(line, r)
			} else {
				line[at] = r
			}
			at++
		}
	}
	lines = append(lines, string(line))
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // a terminal that cannot erase is written over with spaces
	}
	return strings.Join(lines, "\n")
}

// sees waits until the screen has it.
func (p *person) sees(pattern string) {
	p.t.Helper()
	if !soon(func() bool { return p.shows(pattern) }) {
		p.t.Fatalf("the screen never showed %q", pattern)
	}
}

// shows says whether the screen has it now.
func (p *person) shows(pattern string) bool {
	return regexp.MustCompile("(?m)" + pattern).MatchString(p.screen()[p.from:])
}

// looksAnew takes for seen what stands above the last line.
func (p *person) looksAnew() { p.from = strings.LastIndexByte(p.screen(), '\n') + 1 }

// stops has the program stand still, as it does on a machine that is busy with something else.
func (p *person) stops(d time.Duration) {
	p.t.Helper()
	for _, s := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := p.program.Process.Signal(s); err != nil {
			p.t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			p.waits(d)
		}
	}
}

// leaves waits for the end, which must be a clean one: status 0, and the terminal as it was found.
func (p *person) leaves() {
	p.t.Helper()
	if err := p.program.Wait(); err != nil {
		p.t.Errorf("%v: %v; want status 0", p.program.Args, err)
	}
	if now := p.settings(); now != p.found {
		p.t.Errorf("the terminal is left with %+v\nit was found with %+v", now, p.found)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := regexp.MustCompile(`(^|[^\r])\n`).FindIndex(p.seen.Bytes()); i != nil {
		p.t.Errorf("a line feed without a carriage return at byte %d: the next line would not begin at the left", i[0])
	}
}

func TestPersonAtATerminal(t *testing.T) {
	t.Parallel()
	p := sitDown(t)
	p.sees(`^button  keyboard`)
	p.sees(`^\[space talks\] >$`)

	// A typed question is answered, and what is being typed meanwhile stays whole.
	p.types("what is two plus two\r")
	p.sees(`^you: what is two plus two$`)
	p.types("tell me a st")
	p.sees(`^Ada: 2 plus 2 is 4\.\n\[space talks\] > tell me a st$`)
	p.types("ory\r")
	p.sees(`^you: tell me a story\n\[(Ada speaks|answering); space silences\] >$`)

	// Space silences an answer and listens; space again ends it. Without a microphone that is no question, and is told.
	p.waits(500 * time.Millisecond)
	p.types(" ")
	p.sees(`^Ada: .* \(cut after [0-9.]+ s\)\n\[listening; space sends\] >$`)
	p.waits(500 * time.Millisecond)
	p.types(" ")
	p.sees(`^conch: there is no microphone: audio\.backend is null\n +-> set audio.backend to auto, .*\n\[space talks\] >$`)
	if got := p.screen(); strings.Contains(got, "I cannot hear") {
		t.Errorf("it is said twice:\n%s", got)
	}
	p.types(" ") // and by itself from then on
	p.waits(500 * time.Millisecond)
	p.types(" ")
	p.sees(`^conch: I cannot hear the microphone\. .*\n\[space talks\] >$`)

	p.types("  ") // at once: how long it was must not depend on when this machine reads the second
	p.sees(`^conch: that was too short to be a question\n\[space talks\] >$`)

	p.types("q\r")
	p.leaves()
	if got := p.screen(); strings.Count(got, "what is two plus two") != 1 || strings.Contains(got, "you: q") {
		t.Errorf("the question stands there twice, or the q as one:\n%s", got)
	}
}

// Where there is neither card nor server the prompt says so, as the README shows it; a press is told of once.
func TestPersonWithoutAMicrophone(t *testing.T) {
	t.Parallel()
	p := sitWith(t, func(cmd *exec.Cmd) {
		cmd.Env = append(slices.DeleteFunc(cmd.Env, func(e string) bool { return e == "CONCH_AUDIO_BACKEND=null" }),
			"ALSA_CONFIG_PATH=/dev/null", "PULSE_SERVER=unix:/nonexistent")
	}, "run")
	p.sees(`^sound +no loudspeaker|^sound +loudspeaker`)
	if p.shows(`^sound +loudspeaker`) {
		t.Skip("this machine has a card that cannot be hidden")
	}
	p.sees(`^\[no microphone; type a question\] >$`)
	p.types(" ")
	p.sees(`^conch: I cannot hear the microphone.*\n\[no microphone; type a question\] >$`)
	p.types("tell me a story\r")
	p.sees(`^\[(Ada speaks|answering); space silences\] >$`)
	p.waits(500 * time.Millisecond)
	p.types(" ") // silences, and listens to nothing
	p.sees(`^Ada: .* \(cut after [0-9.]+ s\)\n\[no microphone; type a question\] >$`)
	p.types("q\r")
	p.leaves()
	if got := p.screen(); strings.Contains(got, "space talks]") {
		t.Errorf("it offers to listen:\n%s", got)
	}
}

func TestTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*person)
	}{
		{"Ctrl-C", func(p *person) { p.types("\x03") }},
		{"Ctrl-D", func(p *person) { p.types("\x04") }},
		{"SIGTERM", func(p *person) { _ = p.program.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT while it listens", func(p *person) {
			p.types(" ")
			p.sees(`^\[listening; space sends\] >$`)
			_ = p.program.Process.Signal(syscall.SIGINT)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := sitDown(t)
			p.sees(`^\[space talks\] >$`)
			c.end(p)
			p.leaves()
		})
	}
}

// Ctrl-Z gives the terminal to the shell as that knows it, and fg brings the prompt back. Where no shell waits, it goes on.
func TestCtrlZAndBack(t *testing.T) {
	t.Parallel()
	p := sitWith(t, func(c *exec.Cmd) {
		c.Path, c.Args, c.Env, c.Stderr = "/bin/sh", []string{"sh", "-i"}, append(c.Env, "PS1=sh> "), c.Stdout
	})
	p.sees(`^sh>$`)
	p.types("conch run\r")
	for range 3 {
		p.sees(`^\[space talks\] >$`)
		p.looksAnew()
		p.types("\x1a")
		p.sees(`sh>$`)
		if now := p.settings(); now != p.found {
			t.Fatalf("the shell has a terminal with %+v\nit was found with %+v", now, p.found)
		}
		p.looksAnew()
		p.types("fg\r")
	}
	p.sees(`^\[space talks\] >$`)
	p.types("q\r")
	p.sees(`^sh>$`)
	p.types("exit\r")
	p.leaves()

	p = sitDown(t)
	p.sees(`^\[space talks\] >$`)
	p.types("\x1awhat")
	p.sees(`^\[space talks\] > what$`)
	p.types("\x15q\r")
	p.leaves()
}

// Whoever has another language reads it at the terminal, too.
func TestTheTerminalIsInTheLanguageOfWhoTypes(t *testing.T) {
	t.Parallel()
	p := sitDown(t, "--set", "device.language=de")
	p.sees(`^Knopf {3}Tastatur`)
	p.sees(`^\[Leertaste spricht\] >$`)
	p.types("?\r")
	p.sees(`^ {2}Leertaste +sprechen, noch einmal: abschicken; .*\n {2}Zeile, Eingabe +eine Frage\n {2}\?, help +dies hier$`)
	p.types("tell me a story\r")
	p.sees(`^du: tell me a story\n\[(Ada spricht|antworte); Leertaste macht Ruhe\] >$`)
	p.waits(500 * time.Millisecond)
	p.types(" ")
	p.sees(`^Ada: .* \(abgebrochen nach [0-9.]+ s\)\n\[höre zu; Leertaste schickt ab\] >$`)
	p.types(" ")
	p.sees(`^\[Leertaste spricht\] >$`)
	p.types("q\r")
	p.leaves()
}
