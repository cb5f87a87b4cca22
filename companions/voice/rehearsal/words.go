package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"conch/device/pattern"
)

var (
	ones = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	// What pocketsphinx makes of "to": it must not be read as a number, and "for" must not as four.
	fillers = []string{"to", "too", "a", "an", "and", "the", "percent", "number"}
)

// spell writes a number below a thousand in words: every synthesizer reads those alike.
func spell(n int) string {
	switch {
	case n < 0 || n > 999:
		return strconv.Itoa(n)
	case n < 20:
		return ones[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + " " + ones[n%10]
	case n%100 == 0:
		return ones[n/100] + " hundred"
	}
	return ones[n/100] + " hundred and " + spell(n%100)
}

const largest = 1e6 // number that is read; a larger one is this

// number1 reads the first number in words or digits.
func number1(words []string) (n int, ok bool) {
	for _, w := range words {
		if d, err := strconv.ParseUint(w, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return int(min(d, largest)), true
		}
		if i := slices.Index(ones, w); i >= 0 {
			n, ok = n+i, true
			continue
		}
		if i := slices.Index(tens, w); i >= 2 {
			n, ok = n+10*i, true
			continue
		}
		switch {
		case large(w):
			n, ok = int(min(int64(max(n, 1))*map[string]int64{"hundred": 100, "thousand": 1000, "million": largest}[w], largest)), true
		case ok && !slices.Contains(fillers, w):
			return n, true
		}
	}
	return n, ok
}

var quotation = pattern.New(`"(?:[^"\\]|\\.)*"`)

// unquoted is a text with its quotations as they were before (printable.Quoted).
func unquoted(text string) string {
	return quotation().ReplaceAllStringFunc(text, func(q string) (s string) {
		if json.Unmarshal([]byte(q), &s) != nil {
			return q
		}
		return s
	})
}

// plain makes a sentence of a tool's output, which may be JSON, and is quoted where it is no apology.
func plain(output string) string {
	if rest, ok := strings.CutPrefix(output, "result of "); ok {
		_, output, _ = strings.Cut(rest, ": ")
		_ = json.Unmarshal([]byte(output), &output) // what is no quotation stays
	} else if !strings.HasPrefix(output, "{") {
		output = unquoted(output)
	}
	var v any
	if json.Unmarshal([]byte(output), &v) != nil {
		return strings.TrimSpace(output)
	}
	return plainValue(v)
}

func plainValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case m:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+": "+plainValue(v[k]))
		}
		return strings.Join(parts, ", ") + "."
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, plainValue(x))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

// after is what follows the last of a word; nothing when it is not there.
func after(words []string, word string) []string {
	for i, w := range slices.Backward(words) {
		if w == word {
			return words[i+1:]
		}
	}
	return nil
}

// What is typed as people write it is read as it is said: "1.5", "-5", "1,000", "8pm".
var asWritten = []struct {
	as func() *regexp.Regexp
	is string
}{
	{pattern.New(`(\d),(\d\d\d)`), "$1$2"},
	{pattern.New(`(^|\s)[-−](\d)`), "$1 minus $2"},
	{pattern.New(`(\d)\.(\d)`), "$1 point $2"},
	{pattern.New(`(\d)([ap]m)\b`), "$1 $2"},
}

// normal makes words of a sentence: lower case, letters and digits only.
func normal(text string) []string {
	text = strings.ToLower(strings.NewReplacer("'", "", "’", "").Replace(text))
	for _, w := range asWritten {
		text = w.as().ReplaceAllString(text, w.is)
	}
	return strings.FieldsFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c > 0x7f)
	})
}

// all tells whether one of each group of alternatives is among the words.
func all(groups ...string) func([]string) bool {
	return func(words []string) bool {
		for _, g := range groups {
			if !slices.ContainsFunc(strings.Split(g, "|"), func(w string) bool { return slices.Contains(words, w) }) {
				return false
			}
		}
		return true
	}
}

// begins is all, where the first group is of the first word.
func begins(verb string, groups ...string) func([]string) bool {
	return func(words []string) bool { return len(words) > 0 && all(verb)(words[:1]) && all(groups...)(words[1:]) }
}

// politely is how a wish begins that is put politely, and what is meant by it.
var politely = [][2]string{
	{"please", ""}, {"okay", ""}, {"ok", ""}, {"hey", ""}, {"so", ""}, {"now", ""}, {"yes", ""}, {"no", ""}, {"oh", ""}, {"and", ""},
	{"can you", ""}, {"could you", ""}, {"would you", ""}, {"will you", ""}, {"i want you to", ""}, {"id like you to", ""}, {"let us", ""},
	{"i want to hear", "play"}, {"i want to listen to", "play"}, {"id like to hear", "play"}, {"id like to listen to", "play"},
	{"i want to call", "call"}, {"id like to call", "call"},
	{"can i have a", "set a"}, {"i need a", "set a"}, {"i want a", "set a"}, {"id like a", "set a"}, {"give me a", "set a"},
}

// plainly is a wish without what is polite, and without the name of whom it is said to.
func plainly(words, name []string) []string {
	text := " " + strings.ReplaceAll(strings.Join(words, " "), "i would like", "id like") + " "
	for cut := true; cut; {
		cut = false
		for _, w := range append(politely, [2]string{strings.Join(name, " "), ""}) {
			if rest, ok := strings.CutPrefix(text, " "+w[0]+" "); ok && w[0] != "" {
				text, cut = " "+strings.TrimPrefix(w[1]+" "+rest, " "), true
			}
		}
	}
	if left := strings.Fields(strings.TrimSuffix(text, " please ")); len(left) > 0 {
		return left
	}
	return words
}

// onlyTells says whether a sentence, put plainly, wants nothing done, whatever words are in it: "the radio is broken", "don't stop", "what is a
// timer".
func onlyTells(words []string) bool {
	switch {
	case begins("i|we|he|they|it|its|that|thats|there|theres|my|our|his|her|their|im|ive|ill|nobody|somebody|dont|never|why")(words):
		return true
	case begins("the|this")(words):
		return len(words) > 6 || all("is|are|was|were|has|had")(words)
	case !isQuestion(words) && !begins("remember|remembered|remind|play|playing")(words) && all("is|are|was|were")(words[:min(3, len(words))]):
		return true // "quiet people are wise"
	}
	return isQuestion(words) && all("a|an")(words) && !all("there|i|we")(words)
}

func isQuestion(words []string) bool {
	return begins("what|whats|which|who|whos|when|where|how|why|is|are|was|do|does|did|has|have")(words)
}

func large(word string) bool { return word == "hundred" || word == "thousand" || word == "million" }

func numeral(word string) bool {
	_, ok := number1([]string{word})
	return ok
}
