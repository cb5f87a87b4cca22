package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/gpio"
)

func decode(d *keyDecoder, data string) (keys []key) {
	d.feed([]byte(data), func(k key) { keys = append(keys, k) })
	return keys
}

func chars(s string) (keys []key) {
	for _, r := range s {
		keys = append(keys, key{code: keyChar, char: r})
	}
	return keys
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []key
	}{
		{"letters, also beyond ASCII", "aé 好", chars("aé 好")},
		{"Enter, Backspace, Ctrl-W, Ctrl-U, Ctrl-C, Ctrl-D", "\r\x7f\x17\x15\x03\x04",
			[]key{{code: keyEnter}, {code: keyBackspace}, {code: keyWord}, {code: keyClear}, {code: keyStop}, {code: keyEnd}}},
		{"F1 and F5 are nothing", "\x1bOP\x1b[15~a", chars("a")},
		{"arrows and their neighbours, in both modes", "\x1b[A\x1bOB\x1b[C\x1b[D\x1b[H\x1b[4~\x1b[3~",
			[]key{{code: keyOlder}, {code: keyNewer}, {code: keyRight}, {code: keyLeft}, {code: keyHome}, {code: keyLast}, {code: keyDelete}}},
		{"by words: Ctrl and Alt with arrows, Alt-b and Alt-f", "\x1b[1;5C\x1b[1;3D\x1bb\x1bf",
			[]key{{code: keyWordRight}, {code: keyWordLeft}, {code: keyWordLeft}, {code: keyWordRight}}},
		{"Ctrl-A, -E, -K, -Z, -L", "\x01\x05\x0b\x1a\x0c", []key{{code: keyHome}, {code: keyLast}, {code: keyRest}, {code: keyPause}, {code: keyRedraw}}},
		{"what is pasted is no key, and its lines are one", "\x1b[200~ a\rb\x03\x1b[A\x1b[201~\r", []key{{code: keyPasted, char: ' '},
			{code: keyPasted, char: 'a'}, {code: keyPasted, char: ' '}, {code: keyPasted, char: 'b'}, {code: keyEnter}}},
		{"kitty: arrows, and their release", "\x1b[1;1:1A\x1b[1;1:3A\x1b[3;1:2~", []key{{keyOlder, 0, keyDown}, {keyOlder, 0, keyUp}, {keyDelete, 0, keyRepeat}}},
		{"kitty: Alt-b and Ctrl-Z", "\x1b[98;3u\x1b[122;5u", []key{{code: keyWordLeft}, {code: keyPause}}},
		{"Alt-x is nothing", "\x1bxa", chars("a")},
		{"invalid UTF-8 is nothing", "a\xff\xc3(b", chars("a(b")},
		{"the terminal knows kitty's protocol", "\x1b[?0u", []key{{code: keyReport}}},
		{"kitty: space down, repeated, up", "\x1b[32;1:1;32u\x1b[32;1:2;32u\x1b[32;1:3u", []key{
			{keyChar, ' ', keyDown}, {keyChar, ' ', keyRepeat}, {keyChar, ' ', keyUp}}},
		{"kitty: a capital letter by its text", "\x1b[97:65;2:1;65u", []key{{keyChar, 'A', keyDown}}},
		{"kitty: Ctrl-C, with num lock on", "\x1b[99;133u", []key{{code: keyStop}}},
		{"kitty: Enter and Backspace", "\x1b[13u\x1b[127;1:1u", []key{{code: keyEnter}, {code: keyBackspace}}},
		{"kitty: a shift key alone is nothing", "\x1b[57441;2:1u", nil},
		{"a sequence without end is bounded", "\x1b[" + string(slices.Repeat([]byte{'1'}, 100)) + "a", chars(string(slices.Repeat([]byte{'1'}, 100-maxSequence+1)) + "a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d keyDecoder
			if got := decode(&d, c.in); !slices.Equal(got, c.want) {
				t.Errorf("%q\n got %v\nwant %v", c.in, got, c.want)
			}
			if d.pending() {
				t.Errorf("%q is left", d.held)
			}
		})
	}
}

func TestEscapeAloneClearsAfterAWhile(t *testing.T) {
	var d keyDecoder
	got := decode(&d, "\x1b")
	if len(got) != 0 || !d.pending() {
		t.Fatalf("got %v at once; want to wait for what follows", got)
	}
	d.flush(func(k key) { got = append(got, k) })
	if !slices.Equal(got, []key{{code: keyClear}}) || d.pending() {
		t.Errorf("got %v after the wait", got)
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"hello \r", "\x1b[32;1:3u\x1b[?1u", "\x1b\x1b[\x1bO\xc3", "\x1b[999999999999999999999;;u"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		run := func(step int) (all []key) {
			var d keyDecoder
			line := newEditor()
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				d.feed(rest[:n], func(k key) {
					all = append(all, k)
					if (k.code == keyChar || k.code == keyPasted) && !unicode.IsPrint(k.char) {
						t.Fatalf("%q gives the character %U", data, k.char)
					}
					line.edit(k)
				})
				rest = rest[n:]
				if len(d.held) > maxSequence+1 {
					t.Fatalf("%d bytes held", len(d.held))
				}
			}
			if utf8.RuneCountInString(line.text) > maxTyped {
				t.Fatalf("a line of %d", len(line.text))
			}
			return all
		}
		whole, cuts := run(len(data)+1), run(int(cut)+1)
		if !slices.Equal(whole, cuts) {
			t.Fatalf("%q\nin one piece %v\nin pieces of %d %v", data, whole, cut+1, cuts)
		}
	})
}

func TestTalkKey(t *testing.T) {
	every := func(from, to, gap int) (at []int) {
		for ; from <= to; from += gap {
			at = append(at, from)
		}
		return at
	}
	for _, c := range []struct {
		name    string
		strikes []int // ms
		until   int
		want    string
	}{
		{"once starts", []int{0}, 5000, "touched@0 pressed@0"},
		{"twice starts and stops", []int{0, 2000}, 5000, "touched@0 pressed@0 released@2000"},
		{"three times starts again", []int{0, 2000, 4000}, 5000, "touched@0 pressed@0 released@2000 touched@4000 pressed@4000"},
		{"held, the repeats are no strikes", append([]int{0}, every(500, 3000, 33)...), 5000, "touched@0 pressed@0 released@2975"},
		{"held with a fast repeat", append([]int{0}, every(200, 3000, 10)...), 5000, "touched@0 pressed@0 released@3000"},
		{"held, after it the next starts", append(append([]int{0}, every(500, 3000, 33)...), 4000), 5000, "touched@0 pressed@0 released@2975 touched@4000 pressed@4000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k talkKey
			var out []gpio.Event
			for at := range c.until {
				if slices.Contains(c.strikes, at) {
					k, out = k.strike(timeOf(at), keyDown, out)
				}
				k, out = k.tick(timeOf(at), out)
			}
			if got := texts(out); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func timeOf(milliseconds int) time.Duration { return time.Duration(milliseconds) * ms }

func TestTalkKeyWithReleases(t *testing.T) {
	k := talkKey{real: true}
	var out []gpio.Event
	for _, s := range []struct {
		at    int
		state keyState
	}{{0, keyDown}, {500, keyRepeat}, {900, keyUp}, {2000, keyDown}, {2100, keyUp}, {4000, keyDown}, {4100, keyUp}, {9000, keyUp}} {
		k, out = k.strike(timeOf(s.at), s.state, out)
	}
	const want = "touched@0 pressed@0 released@900 touched@2000 pressed@2000 touched@4000 released@4000"
	if got := texts(out); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if k.busy() {
		t.Error("busy after the last release")
	}
}

func TestTalkKeyAfterTheRecordingEndedByItself(t *testing.T) {
	for _, real := range []bool{false, true} {
		t.Run(fmt.Sprintf("real=%v", real), func(t *testing.T) {
			k := talkKey{real: real}
			var out []gpio.Event
			strike := func(at int) {
				k, out = k.strike(timeOf(at), keyDown, out)
				k, out = k.strike(timeOf(at+50), keyUp, out)
			}
			strike(0)
			k = k.captureEnded()
			strike(70_000)
			if got, want := texts(out), "touched@0 pressed@0 touched@70000 pressed@70000"; got != want {
				t.Errorf("got %s; want %s", got, want)
			}
		})
	}
}

const ms = time.Millisecond

func texts(events []gpio.Event) string {
	var words []string
	for _, ev := range events {
		words = append(words, fmt.Sprintf("%s@%g", ev.Kind, float64(ev.At)/float64(ms)))
	}
	return strings.Join(words, " ")
}
