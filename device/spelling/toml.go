package spelling

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// TOML is what is wrong with a text that is no TOML, for a person who wrote a setting and not a grammar: on which line, and what may stand
// there. The value stays unsaid: it may be a secret.
func TOML(text string, err error) (line int, say string) {
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
	if key, _, ok := strings.Cut(lines[min(line, len(lines))-1], "="); ok && plainKey.MatchString(strings.TrimSpace(key)) {
		of = strings.TrimSpace(key) + ": "
	}
	for _, w := range tomlWords {
		if m := w.said.FindStringSubmatch(parse.Message); m != nil {
			if w.words == twice { // the line is that of the second one
				return line, fmt.Sprintf(w.words, m[1])
			}
			return line, of + w.words
		}
	}
	return line, of + "this is no TOML: KEY = VALUE below a [section], one a line; text stands in quotes"
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}$`)

const twice = "%s is set twice: keep one of the two lines"

// tomlWords are the parser's sentences (BurntSushi/toml 1.6: lex.go, parse.go, error.go), and ours.
var tomlWords = []struct {
	said  *regexp.Regexp
	words string
}{
	{regexp.MustCompile(`^Key '(.*)' (?:has already been defined|was already created)`), twice},
	{regexp.MustCompile(`end table name|table array name|table name|table separator`), "a section's name stands in brackets, as in [audio]"},
	{regexp.MustCompile(`strings cannot contain newlines|unexpected EOF; expected ('"|"'|.""")`), "the text in quotes has no end: put a quotation mark behind it"},
	{regexp.MustCompile(`expected two hex|expected four hex|expected eight hex|invalid escape|Escaped character`),
		`a \ in "…" begins something special: write \\, or '…' instead of "…"`},
	{regexp.MustCompile(`expected a top-level item to end`), "something stands behind the value: one setting a line, and # before a remark; text with blanks stands in quotes"},
	{regexp.MustCompile(`expected value but found "?'?\\n|unexpected EOF; expected value`), "there is no value behind ="},
	{regexp.MustCompile(`expected '\.' or '=', but got|expected key separator|unexpected EOF$`), "there is no = behind the key: KEY = VALUE"},
	{regexp.MustCompile(`key name appears blank|unexpected '='|keys cannot start`), "there is no key before ="},
	{regexp.MustCompile(`array terminator|unexpected comma|inline table|newlines not allowed`),
		`a list is ["a", "b"]: a comma between two, and ] at its end`},
	{regexp.MustCompile(`leading zeroes`), "a number does not begin with 0"},
	{regexp.MustCompile(`out of range`), "this number is too large"},
	{regexp.MustCompile(`(?i)invalid (float|integer|datetime)|expected a digit|must start with a digit|not an? (binary|octal|hexadecimal)|sign with non`),
		`this is no number: digits, and a . before a fraction; text stands in quotes`},
	{regexp.MustCompile(`expected value but found "?'?=`), "there are two = in this line"},
	{regexp.MustCompile(`expected value but found`), `text stands in quotes, as in name = "hall"; true and false do not`},
	{regexp.MustCompile(`control char|is not a table`), "this is no text that can be read as a setting"},
}
