package terminal

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"conch/gpio"
)

// counter is a clock that moves by a millisecond each time it is read.
func counter() func() time.Duration {
	var now time.Duration
	return func() time.Duration { now += ms; return now }
}

// drive runs a console over what write sends through a pipe, and gives its events and its screen.
func drive(t *testing.T, text string) (events []gpio.Event, screen string) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	go func() {
		defer out.Close()
		_, _ = out.WriteString(text)
	}()
	var b bytes.Buffer
	source := Open(in, Options{Screen: New(&b), Clock: counter()})
	if _, ok := source.(*Lines); !ok {
		t.Fatalf("a pipe gives %T; want Lines", source)
	}
	if err := source.Run(t.Context(), func(ev gpio.Event) { events = append(events, ev) }); err != nil {
		t.Fatal(err)
	}
	return events, b.String()
}

func kinds(events []gpio.Event) string {
	var words []string
	for _, ev := range events {
		w := ev.Kind.String()
		if ev.Kind == gpio.Asked {
			w += "(" + ev.Text + ")"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, in, want, screen string }{
		{"a question and the end", "ask what time is it\n", "asked(what time is it) eof", ""},
		{"the last line needs no newline", "ask what time is it", "asked(what time is it) eof", ""},
		{"a press and a release", "press\nwait 1ms\nrelease\n", "touched pressed released eof", ""},
		{"the end releases", "press\n", "touched pressed released eof", ""},
		{"quit ends, and what follows is not read", "quit\nask late\n", "quit", ""},
		{"comments, empty lines, spaces, carriage returns", "# hello\n\n   \n  press  \r\nrelease\r\n", "touched pressed released eof", ""},
		{"an unknown line is said and passed over", "dance\nask hello\n", "asked(hello) eof", "line 1: \"dance\": must be press, release, ask TEXT, wait 2s or quit\n"},
		{"a second press begins anew", "press\npress\nrelease\nrelease\n", "touched pressed touched pressed released eof", "line 4: release: it is not pressed\n"},
		{"ask without text", "ask \n", "eof", "line 1: ask what? ask TEXT\n"},
		{"wait without a time", "wait for me\n", "eof", "line 1: wait \"for me\": must be a time like 2s or 500ms, at most 10m\n"},
		{"wait too long", "wait 11m\n", "eof", "line 1: wait \"11m\": must be a time like 2s or 500ms, at most 10m\n"},
		{"press with more", "press now\n", "eof", "line 1: press stands alone, without \"now\"\n"},
		{"not UTF-8", "ask \xff\n", "eof", "line 1: not UTF-8 text; passed over\n"},
		{"control characters are spaces", "ask a\x1b[2Jb\tc\n", "asked(a [2Jb c) eof", ""},
		{"a line that is too long", "ask " + strings.Repeat("x", 5000) + "\nask y\n", "asked(y) eof", "line 1: longer than 4096 bytes; passed over\n"},
		{"a line that is too long, at the end", strings.Repeat("x", 1<<20), "eof", "line 1: longer than 4096 bytes; passed over\n"},
		{"nothing at all", "", "eof", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, screen := drive(t, c.in)
			if got := kinds(events); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if screen != c.screen {
				t.Errorf("screen %q\nwant   %q", screen, c.screen)
			}
		})
	}
}

// Nobody types: the end of the context must still be seen.
func TestLinesEndWithTheirContext(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	got := make(chan gpio.Event, 8)
	go func() { done <- NewLines(in, Options{}).Run(ctx, func(ev gpio.Event) { got <- ev }) }()
	_, _ = out.WriteString("press\n")
	<-got
	<-got
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v; want nil", err)
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"ask hi\npress\n", "wait 2s\n", "\xff\n#\n\r\n", strings.Repeat("x", maxLine+1) + "\n"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		type result struct {
			line    string
			tooLong bool
		}
		run := func(step int) (all []result) {
			var s lineSplitter
			on := func(line []byte, tooLong bool) {
				if len(line) > maxLine {
					t.Fatalf("a line of %d bytes", len(line))
				}
				all = append(all, result{string(line), tooLong})
				c, err := parseLine(line)
				if err == nil && (c.wait < 0 || c.wait > maxWait || strings.ContainsFunc(c.text, unicode.IsControl)) {
					t.Fatalf("%q gives %+v", line, c)
				}
			}
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				s.feed(rest[:n], on)
				rest = rest[n:]
			}
			s.end(on)
			return all
		}
		whole, cuts := run(len(data)+1), run(int(cut)+1)
		if len(whole) != len(cuts) {
			t.Fatalf("%d lines in one piece, %d in pieces of %d", len(whole), len(cuts), cut+1)
		}
		for i := range whole {
			if whole[i] != cuts[i] {
				t.Fatalf("line %d: %v in one piece, %v in pieces of %d", i, whole[i], cuts[i], cut+1)
			}
		}
	})
}

// Where every line is a question, a first word that is a command elsewhere is not one.
func TestPlainLines(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	go func() {
		defer out.Close()
		_, _ = out.WriteString("press the grapes?\n\n  wait for me \x1b[2Jplease\n\xff\nquit\nlate\n")
	}()
	var b bytes.Buffer
	var events []gpio.Event
	if err := NewLines(in, Options{Screen: New(&b), Plain: true}).Run(t.Context(), func(ev gpio.Event) { events = append(events, ev) }); err != nil {
		t.Fatal(err)
	}
	const want = "asked(press the grapes?) asked(wait for me  [2Jplease) quit"
	if got := kinds(events); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := b.String(), "line 4: not UTF-8 text; passed over\n"; got != want {
		t.Errorf("screen %q; want %q", got, want)
	}
}
