package printable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "kitchen", "kitchen"},
		{"OSC 52 writes the clipboard", "\x1b]52;c;cm0gLXJm\x07kitchen", "�]52;c;cm0gLXJm�kitchen"},
		{"C1 introducer", "a\u009b31mb", "a�31mb"},
		{"a run of controls is one sign", "a\x00\x01\x1b\x7fb", "a�b"},
		{"line breaks and tabs", "a\r\n\tb\u2028c\u0085d", "a b c d"},
		{"spaces that people type", "a\u00a0b\u3000c  d", "a\u00a0b\u3000c  d"},
		{"direction", "a\u202ebc\u2066d\u2069\u200fe", "abcde"},
		{"what is not seen", "a\u200bd\ufeffa\u00adx\u2060\u3164\u034f\U000e0041", "adax"},
		{"joiners in Latin", "a\u200dd\u200ca", "ada"},
		{"a family", "👨\u200d👩\u200d👧\u200d👦", "👨\u200d👩\u200d👧\u200d👦"},
		{"a heart with two people", "👩\u200d❤️\u200d👨 👩🏽\u200d⚕️", "👩\u200d❤️\u200d👨 👩🏽\u200d⚕️"},
		{"the flag of England", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!"},
		{"letters hidden behind a flag", "🏴" + strings.Repeat("\U000e0061", 40) + "x", "🏴" + strings.Repeat("\U000e0061", 7) + "x"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Hindi", "क्\u200dष", "क्\u200dष"},
		{"Sinhala", "ශ්\u200dරී", "ශ්\u200dරී"},
		{"Vietnamese, taken apart", "Vie\u0323\u0302t", "Vie\u0323\u0302t"},
		{"Arabic number sign", "\u0600١٢", "\u0600١٢"},
		{"a tower of marks", "a" + strings.Repeat("\u0301", 100), "a" + strings.Repeat("\u0301", 8)},
		{"no UTF-8", "a\xff\xfeb\xed\xa0\x80c", "a�b�c"},
		{"no character", "a\uffffb\ufdd0", "a�b�"},
	} {
		got := Text(c.text)
		if got != c.want {
			t.Errorf("%s: Text(%+q) = %+q; want %+q", c.name, c.text, got, c.want)
		}
		if IsText(c.text) != (c.text == c.want) {
			t.Errorf("%s: IsText(%+q) = %v", c.name, c.text, IsText(c.text))
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"Ada": true, "Großtante José": true, "می\u200cخواهم": true, "小さい": true, "👨\u200d👩\u200d👧": true, "3": true,
		"": false, " Ada": false, "Ada\n": false, "\u0301": false, "\u3164": false, "A\u202eda": false, "A\x1bda": false, "A\u200dda": false, "\xff": false,
	} {
		if got := IsName(name); got != want {
			t.Errorf("IsName(%+q) = %v; want %v", name, got, want)
		}
	}
	if got := Name(strings.Repeat("ä", 1000)); got != strings.Repeat("ä", 39)+"…" {
		t.Errorf("a long name is shown as %q", got)
	}
	if got := Name(strings.Repeat("a", 40)); got != strings.Repeat("a", 40) {
		t.Errorf("a name of 40 letters is shown as %q", got)
	}
	if got := Quote("say \"a\\b\"\n\x1b[2J"); got != `"say \"a\\b\" `+"�"+`[2J"` {
		t.Errorf("Quote = %s", got)
	}
}

// TestWriter: whatever is printed, and however it is cut, nothing of it steers a terminal, and JSON means what it meant.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	if NewWriter(w) != w || Behind(w) != &out || Behind(&out) != &out {
		t.Error("a Writer before a Writer")
	}
	for _, part := range []string{"a\x1b", "]52;c;x\x07\n\t", "\xc2", "\x9b31m", "ä€"[:3], "ä€"[3:], "\xe2\x80", "\xae", "\xff\r\n", "👩\u200d❤️\u200d👨\u2028"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	w.Steer("\r\x1b[K")
	want := "a\\u001b]52;c;x\\u0007\n\t\\u009b31mä€\\u202e�\\u000d\n👩\u200d❤️\u200d👨\\u2028\r\x1b[K"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}

	text := "\x1b]52;c;x\x07\u009b\x7f\u202e\\\u2066\u2028\"<👩\u200d❤️\u200d👨"
	out.Reset()
	if err := json.NewEncoder(w).Encode(map[string]string{"name": text}); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["name"] != text {
		t.Errorf("%s: %v, %q; want %q", out.String(), err, back["name"], text)
	}
}

// Steers says whether text could do something to a terminal.
func dangerous(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"Ada", "\x1b]52;c;x\x07", "a\u202eb", "👨\u200d👩\u200d👧", "ශ්\u200dරී", "\xed\xa0\x80", "🏴\U000e0067\U000e007f", "a\u0301\u200d\n"} {
		f.Add(s, uint(1))
	}
	f.Fuzz(func(t *testing.T, s string, cut uint) {
		text := Text(s)
		switch {
		case dangerous(text), strings.ContainsAny(text, "\n\t\u2028\u2029"), !utf8.ValidString(text):
			t.Errorf("Text(%+q) = %+q", s, text)
		case Text(text) != text:
			t.Errorf("Text twice: %+q, then %+q", text, Text(text))
		case IsName(s) && (Text(s) != s || s == ""):
			t.Errorf("%+q is a name and is shown as %+q", s, text)
		}
		if name := Name(s); dangerous(name) || utf8.RuneCountInString(strings.Map(func(r rune) rune {
			if unicode.Is(unicode.M, r) || r == zwj || r == zwnj || tag(r) {
				return -1
			}
			return r
		}, name)) > maxName {
			t.Errorf("Name(%+q) = %+q", s, name)
		}
		var whole, halves bytes.Buffer
		_, _ = NewWriter(&whole).Write([]byte(s))
		w, n := NewWriter(&halves), int(cut%uint(len(s)+1))
		_, _ = w.Write([]byte(s[:n]))
		_, _ = w.Write([]byte(s[n:]))
		if dangerous(whole.String()) || whole.String() != halves.String() {
			t.Errorf("written at once %+q, cut at %d %+q", whole.String(), n, halves.String())
		}
		if esc := Escape(s); dangerous(esc) || !strings.HasPrefix(esc, whole.String()) {
			t.Errorf("Escape(%+q) = %+q; Write makes %+q", s, esc, whole.String())
		}
	})
}
