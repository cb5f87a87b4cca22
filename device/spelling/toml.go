package spelling

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"conch/device/pattern"
)

// MaxTOML is how many bytes a text may have: the example has 16 kB.
const MaxTOML = 256 << 10

// maxPath is how many names and brackets may be around a value: the parser's memory grows with the square of them.
const maxPath = 8

// refusedError is a text that the parser does not see.
type refusedError struct {
	line int
	say  string
}

func (r refusedError) Error() string { return fmt.Sprintf("line %d: %s", r.line, r.say) }

// Decode reads TOML into v. What could fill the memory it refuses before it is parsed.
func Decode(text string, v any) (toml.MetaData, error) {
	if err := bounded(text); err != nil {
		return toml.MetaData{}, err
	}
	return toml.Decode(text, v)
}

// bounded walks through the text as the parser does up to its first mistake, and refuses what is too large or too deep.
func bounded(text string) error {
	if len(text) > MaxTOML {
		return refusedError{1, fmt.Sprintf("there are %d bytes, more than the %d allowed: leave out what is no setting", len(text), MaxTOML)}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return refusedError{1 + strings.Count(text[:i], "\n"), "there are zero bytes, as a power cut leaves them: write the file again, or take a copy (UTF-8)"}
	}
	var names [maxPath + 1]int // of each bracket that is open
	path, open := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			i += end(text[i:], "\n", "\n", false) - 1
		case '"', '\'':
			quote := text[i : i+1]
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], triple) {
				i += 2 + end(text[i+3:], triple, triple, c == '"') + 3
				for n := 0; n < 2 && strings.HasPrefix(text[min(len(text), i+1):], quote); n++ { // two may stand before the three
					i++
				}
				continue
			}
			i += end(text[i+1:], quote, "\n", c == '"') + 1
		case '.':
			names[open]++
			path++
		case '[', '{':
			if open++; open <= maxPath {
				names[open] = 0
			}
			path++
		case ']', '}':
			if open > 0 {
				path -= names[open] + 1
				open--
			}
		case ',', '\n':
			if c == ',' || open == 0 {
				path -= names[open]
				names[open] = 0
			}
		}
		if path >= maxPath {
			say := fmt.Sprintf("more than %d names or brackets are in each other: a setting is KEY = VALUE below a [section]", maxPath)
			return refusedError{1 + strings.Count(text[:min(i, len(text))], "\n"), say}
		}
	}
	return nil
}

// end is where one of two marks begins, or where the text ends. What stands behind a backslash is no mark, if there are escapes.
func end(text, mark, other string, escapes bool) int {
	for i := 0; i < len(text); i++ {
		if escapes && text[i] == '\\' {
			i++
		} else if strings.HasPrefix(text[i:], mark) || strings.HasPrefix(text[i:], other) {
			return i
		}
	}
	return len(text)
}

// TOML is what is wrong with a text that is no TOML, for a person who wrote a setting and not a grammar: on which line, and what may stand
// there. The value stays unsaid: it may be a secret.
func TOML(text string, err error) (line int, say string) {
	if refused := (refusedError{}); errors.As(err, &refused) {
		return refused.line, refused.say
	}
	parse := toml.ParseError{}
	if !errors.As(err, &parse) {
		return 1, "this is no TOML: KEY = VALUE below a [section], one a line"
	}
	line = max(1, parse.Position.Line)
	lines := strings.Split(text, "\n")
	// What the end of a line, or of the file, was to bring is missing on the last line before that has anything.
	for line > 1 && (line > len(lines) || strings.TrimSpace(lines[line-1]) == "") {
		line--
	}
	if strings.Contains(parse.Message, "end table name") { // the end of the line before is what it met
		for n := line; n > 0; n-- {
			if strings.HasPrefix(strings.TrimSpace(lines[n-1]), "[") {
				line = n
				break
			}
		}
	}
	of := ""
	if key, _, ok := strings.Cut(lines[min(line, len(lines))-1], "="); ok && plainKey().MatchString(strings.TrimSpace(key)) {
		of = strings.TrimSpace(key) + ": "
	}
	for _, w := range tomlWords {
		if m := w.said().FindStringSubmatch(parse.Message); m != nil {
			if w.words == twice { // the line is that of the second one
				return line, fmt.Sprintf(w.words, m[1])
			}
			return line, of + w.words
		}
	}
	return line, of + "this is no TOML: KEY = VALUE below a [section], one a line; text stands in quotes"
}

var plainKey = pattern.New(`^[A-Za-z0-9_.-]{1,60}$`)

const twice = "%s is set twice: keep one of the two lines"

// tomlWords are the parser's sentences (BurntSushi/toml 1.6: lex.go, parse.go, error.go), and ours.
var tomlWords = []struct {
	said  func() *regexp.Regexp
	words string
}{
	{pattern.New(`^Key '(.*)' (?:has already been defined|was already created)`), twice},
	{pattern.New(`end table name|table array name|table name|table separator`), "a section's name stands in brackets, as in [audio]"},
	{pattern.New(`strings cannot contain newlines|unexpected EOF; expected ('"|"'|.""")`), "the text in quotes has no end: put a quotation mark behind it"},
	{pattern.New(`expected two hex|expected four hex|expected eight hex|invalid escape|Escaped character`),
		`a \ in "…" begins something special: write \\, or '…' instead of "…"`},
	{pattern.New(`expected a top-level item to end`), "something stands behind the value: one setting a line, and # before a remark; text with blanks stands in quotes"},
	{pattern.New(`expected value but found "?'?\\n|unexpected EOF; expected value`), "there is no value behind ="},
	{pattern.New(`expected '\.' or '=', but got|expected key separator|unexpected EOF$`), "there is no = behind the key: KEY = VALUE"},
	{pattern.New(`key name appears blank|unexpected '='|keys cannot start`), "there is no key before ="},
	{pattern.New(`array terminator|unexpected comma|inline table|newlines not allowed`),
		`a list is ["a", "b"]: a comma between two, and ] at its end`},
	{pattern.New(`leading zeroes`), "a number does not begin with 0"},
	{pattern.New(`out of range`), "this number is too large"},
	{pattern.New(`(?i)invalid (float|integer|datetime)|expected a digit|must start with a digit|not an? (binary|octal|hexadecimal)|sign with non`),
		`this is no number: digits, and a . before a fraction; text stands in quotes`},
	{pattern.New(`expected value but found "?'?=`), "there are two = in this line"},
	{pattern.New(`expected value but found`), `text stands in quotes, as in name = "hall"; true and false do not`},
	{pattern.New(`control char|is not a table`), "this is no text that can be read as a setting"},
}
